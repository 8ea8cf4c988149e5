"""Runs side by side, as a picture (the extra `report`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from core.errors import InvalidInput
from eval.rates import Interval
from eval.run import Run

LEVELS = (("page", "#3b6fd4"), ("quote", "#2f9e6b"))
BAR = 0.38  # of the height that a run has


def write_png(file: Path, title: str, runs: Mapping[str, Run]) -> None:
    """Bars of page@5 and quote@5 with their 95 % intervals, a pair a run, the first on top. Raises InvalidInput."""
    try:
        from matplotlib.figure import Figure  # no pyplot: it keeps every figure, and asks for a display
    except ImportError:
        raise InvalidInput("a picture needs matplotlib", hint="pip install 'quaere[report]', or --no-png") from None
    figure = Figure(figsize=(8, 1.3 + 0.62 * len(runs)), dpi=150, layout="constrained")
    axes = figure.subplots()
    for number, (level, colour) in enumerate(LEVELS):
        at = [place + (number - 0.5) * BAR for place in range(len(runs))]
        values = [getattr(run, f"{level}_hit_at_5") or 0.0 for run in runs.values()]
        spreads = [getattr(run.intervals, f"{level}_hit_at_5") for run in runs.values()]
        axes.barh(at, values, BAR * 0.92, color=colour, label=f"{level}@5", xerr=_arms(values, spreads), capsize=2)
        for place, value, spread in zip(at, values, spreads, strict=True):
            said = "not known" if spread is None else f" {value:.3f}"
            axes.text(1.02, place, said, va="center", fontsize=8, color=colour)
    axes.set_yticks(range(len(runs)), list(runs))
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("share of the questions, with 95 % intervals", fontsize=9)
    figure.suptitle(title, fontsize=11)
    figure.legend(loc="outside lower right", ncols=2, frameon=False, fontsize=9)
    try:
        figure.savefig(file)
    except OSError as error:
        raise InvalidInput(f"{file} can't be written: {error.strerror}") from None


def _arms(values: list[float], spreads: list[Interval | None]) -> list[list[float]]:
    """Lengths of the intervals' arms to the left and to the right."""
    ends = [spread or (value, value) for value, spread in zip(values, spreads, strict=True)]
    pairs = list(zip(values, ends, strict=True))
    return [[max(v - low, 0.0) for v, (low, _) in pairs], [max(high - v, 0.0) for v, (_, high) in pairs]]
