"""What `quaere eval` shows a person."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from eval.rates import Interval
from eval.run import Intervals, Outcome, Rates, Run

MISSES_SHOWN = 10


def show_run(run: Run) -> None:
    table = _table("", "n", "page@5", "95 %", "quote@5", "95 %")
    whole = Rates(n=run.n, page_hit_at_5=run.page_hit_at_5, quote_hit_at_5=run.quote_hit_at_5)
    _add(table, "all", whole, run.intervals)
    for groups, spread in ((run.by_language, run.intervals.by_language), (run.by_type, run.intervals.by_type)):
        table.add_section()
        for name, rates in groups.items():
            _add(table, name, rates, spread[name])
    Console().print(table)
    print("\n".join(_notes(run)))
    missed = [one for one in run.per_question if not one.page_hit]
    if missed:
        print("\n".join(["no page found for:", *_misses(missed)]))


def _notes(run: Run) -> list[str]:
    setup = run.setup
    notes = [f"{setup.questions} over {setup.documents} documents ({setup.chunks} chunks), {setup.embedder}"]
    notes.append(f"channels {', '.join(setup.channels)}; {run.ms_median:.0f} ms a search, 95 % within {run.ms_p95:.0f}")
    if (ranking := run.ranking) is not None:
        values = ranking.model_dump(exclude={"depth"}, exclude_none=True)
        notes.append(", ".join(f"{name.replace('_at_', '@')} {value:.3f}" for name, value in values.items()))
    if run.unanswerable:
        notes.append(f"{run.unanswerable} unanswerable questions left out")
    if run.passages_left_off:
        notes.append(f"{run.passages_left_off} passages left off: more than 10,000 characters for one question")
    return [*notes, *(f"{count} searches did without: {reason}" for reason, count in run.degraded.items())]


def _misses(missed: Sequence[Outcome]) -> list[str]:
    lines = [f"  {one.id}: {textwrap.shorten(one.question, 90, placeholder=' …')}" for one in missed[:MISSES_SHOWN]]
    more = len(missed) - MISSES_SHOWN
    return [*lines, f"  … and {more} more"] if more > 0 else lines


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for number, name in enumerate(columns):
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    return table


def _add(table: Table, name: str, rates: Rates, spread: Intervals) -> None:
    page, quote = rates.page_hit_at_5, rates.quote_hit_at_5
    cells = (_share(page), _between(spread.page_hit_at_5), _share(quote), _between(spread.quote_hit_at_5))
    table.add_row(name, str(rates.n), *cells)


def _share(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:.3f}"


def _between(interval: Interval | None) -> str:
    return "" if interval is None else f"{interval[0]:.2f}–{interval[1]:.2f}"
