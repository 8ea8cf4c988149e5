"""Runs side by side, as a page that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files

from markupsafe import Markup

from eval.rates import Interval
from eval.run import Outcome, Rates, Run

_PAGE = Markup("""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
<h1>{title}</h1>
<p>{about}</p>
{sections}
</html>
""")
_SECTION = Markup("<h2>{title}</h2>\n{body}")
_KEY = Markup(
    '<p class="key"><b><span class="page"></span>a page with the answer</b>'
    '<b><span class="quote"></span>the quote itself</b> among the first five passages; '
    "the line is the 95 % interval</p>"
)
_RUN = Markup('<div class="run"><strong>{name}</strong>{page}{quote}</div>')
_RATE = Markup(
    '<div class="rate {level}"><div class="track"><div class="bar" style="width:{percent}%"></div>{whisker}</div>'
    '<div class="number">{value} <small>{between}</small></div></div>'
)
_WHISKER = Markup('<div class="whisker" style="left:{left}%;width:{width}%"></div>')
_TABLE = Markup('<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>')
_CELL = {"": Markup("<td>{value}</td>"), "wrap": Markup('<td class="wrap">{value}</td>')}
_MARK = Markup('<td class="{kind}" title="{said}">{sign}</td>')
_MARKS = {"both": ("●", "page and quote"), "only-page": ("◐", "the page only"), "miss": ("○", "neither")}


def page(title: str, runs: Mapping[str, Run], failed: Mapping[str, str]) -> str:
    """HTML of the runs by name, in their order; `failed` are names that could not be measured, and why."""
    first = next(iter(runs.values()))
    setup = first.setup
    about = (
        f"{first.n} questions of {setup.questions} over {setup.documents} documents ({setup.chunks} chunks), "
        f"embedder {setup.embedder}, reranker {setup.reranker}, Quaere {setup.version}."
    )
    sections = [
        _section("Hits", _KEY + _joined(_run(name, run) for name, run in runs.items()) + _failures(failed)),
        _section("Order and time", _order(runs)),
        _section("By type of question, page / quote", _groups(runs, lambda run: run.by_type)),
        _section("By language of question, page / quote", _groups(runs, lambda run: run.by_language)),
    ]
    if len(runs) > 1:
        sections.append(_section("Questions in which they differ", _questions(runs)))
    return str(_PAGE.format(title=title, style=_style(), about=about, sections=_joined(sections)))


def _section(title: str, body: Markup) -> Markup:
    return _SECTION.format(title=title, body=body)


def _joined(parts: Iterable[Markup]) -> Markup:
    return Markup("\n").join(parts)


def _style() -> Markup:
    return Markup(files("eval").joinpath("report.css").read_text(encoding="utf-8"))


def _failures(failed: Mapping[str, str]) -> Markup:
    return _joined(
        Markup("<p><strong>{}</strong> could not be measured: {}</p>").format(*one) for one in failed.items()
    )


def _run(name: str, run: Run) -> Markup:
    return _RUN.format(
        name=name,
        page=_rate("page", run.page_hit_at_5, run.intervals.page_hit_at_5),
        quote=_rate("quote", run.quote_hit_at_5, run.intervals.quote_hit_at_5),
    )


def _rate(level: str, value: float | None, spread: Interval | None) -> Markup:
    if value is None or spread is None:
        return _RATE.format(level=level, percent=0, whisker="", value="–", between="not known")
    left, right = (100 * end for end in spread)
    whisker = _WHISKER.format(left=f"{left:.1f}", width=f"{right - left:.1f}")
    between = f"{spread[0]:.2f}–{spread[1]:.2f}"
    return _RATE.format(
        level=level, percent=f"{100 * value:.1f}", whisker=whisker, value=f"{value:.3f}", between=between
    )


def _order(runs: Mapping[str, Run]) -> Markup:
    rows = []
    for name, run in runs.items():
        order = [run.ranking.mrr, run.ranking.ndcg_at_5, run.ranking.recall_at_5] if run.ranking else [None] * 3
        times = [run.ms_median, run.ms_p95, run.indexing_s]
        scores = [_known(value, 3) for value in order] + [_known(value, 0) for value in times]
        rows.append([name, ", ".join(run.setup.channels), *scores])
    return _table(["", "channels", "MRR", "nDCG@5", "recall@5", "ms, median", "ms, 95 %", "indexing, s"], rows)


def _known(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _groups(runs: Mapping[str, Run], groups: Callable[[Run], Mapping[str, Rates]]) -> Markup:
    names = sorted({name for run in runs.values() for name in groups(run)})
    rows = []
    for name in names:
        found = [groups(run).get(name) for run in runs.values()]
        n = next(rates.n for rates in found if rates is not None)
        rows.append([f"{name} ({n})", *(_pair(rates) for rates in found)])
    return _table(["", *runs], rows)


def _pair(rates: Rates | None) -> str:
    return " / ".join(_known(value, 2) for value in (rates.page_hit_at_5, rates.quote_hit_at_5)) if rates else "–"


def _questions(runs: Mapping[str, Run]) -> Markup:
    """A row for each question that not all runs answer alike; the runs may have different questions."""
    rows: dict[str, dict[str, Outcome]] = {}
    for name, run in runs.items():
        for one in run.per_question:
            rows.setdefault(f"{one.id} · {one.question}", {})[name] = one
    lines = [
        _line(question, [_mark(found.get(name)) for name in runs])
        for question, found in rows.items()
        if len({_kind(found.get(name)) for name in runs}) > 1
    ]
    if not lines:
        return Markup("<p>None.</p>")
    key = "; ".join(f"{sign} {said}" for sign, said in _MARKS.values())
    head = _joined(Markup("<th>{}</th>").format(name) for name in ["", *runs])
    return Markup("<p>{}</p>").format(key) + _TABLE.format(head=head, rows=_joined(lines))


def _line(question: str, marks: Sequence[Markup]) -> Markup:
    return Markup("<tr>{}</tr>").format(_CELL["wrap"].format(value=question) + _joined(marks))


def _kind(one: Outcome | None) -> str:
    if one is None or not (one.page_hit or one.quote_hit):
        return "miss"
    return "both" if one.page_hit and one.quote_hit is not False else "only-page"


def _mark(one: Outcome | None) -> Markup:
    if one is None:
        return Markup("<td>–</td>")
    kind = _kind(one)
    sign, said = _MARKS[kind]
    return _MARK.format(kind=kind, sign=sign, said=said)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    heads = _joined(Markup("<th>{}</th>").format(name) for name in head)
    lines = (_joined(_CELL[""].format(value=value) for value in row) for row in rows)
    return _TABLE.format(head=heads, rows=_joined(Markup("<tr>{}</tr>").format(line) for line in lines))
