"""What `quaere eval` shows a person."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from eval.compare import Comparison
from eval.judged import JudgedRun
from eval.multihop import MultihopRun
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


def show_runs(runs: Mapping[str, Run], failed: Mapping[str, str]) -> None:
    table = _table("", "n", "page@5", "95 %", "quote@5", "95 %", "MRR", "ms")
    for name, run in runs.items():
        whole = Rates(n=run.n, page_hit_at_5=run.page_hit_at_5, quote_hit_at_5=run.quote_hit_at_5)
        mrr = "–" if run.ranking is None else f"{run.ranking.mrr:.3f}"
        _add(table, name, whole, run.intervals, mrr, f"{run.ms_median:.0f}")
    Console().print(table)
    for name, why in failed.items():
        print(f"{name} could not be measured: {why}")


def show_multihop(run: MultihopRun) -> None:
    low, high = run.interval
    print(f"all gold passages among the first 8: {run.perfect_at_8:.3f} of {run.n} questions ({low:.2f} to {high:.2f})")
    indexing = "" if run.index_s is None else f", added in {run.index_s:,.0f} s"
    print(f"{run.passages:,} passages{indexing}; {run.ms_per_question:.0f} ms a question (95 %: {run.ms_p95:.0f})")
    print(f"channels {', '.join(run.channels)}; embedder {run.embedder}; language model {run.llm}")
    missed = [one for one in run.per_question if one.missing]
    for one in missed[:MISSES_SHOWN]:
        print(f"  {textwrap.shorten(one.question, 100, placeholder=' …')} lacks {'; '.join(one.missing)}")
    if len(missed) > MISSES_SHOWN:
        print(f"  and {len(missed) - MISSES_SHOWN} more")


def show_comparison(found: Comparison) -> None:
    table = _table("", "n", "before", "after", "change", "95 %")
    for at, level in (("page@5", found.page_hit_at_5), ("quote@5", found.quote_hit_at_5)):
        moved = "–" if level.before is None or level.after is None else f"{level.after - level.before:+.3f}"
        spread = "" if level.interval is None else f"{level.interval[0]:+.2f} to {level.interval[1]:+.2f}"
        table.add_row(at, str(level.n), _share(level.before), _share(level.after), moved, spread)
    Console().print(table)
    for kind, changes in (("worse", found.worse), ("better", found.better)):
        for change in changes:
            ranks = f"{change.rank_before or 'none'} → {change.rank_after or 'none'}"
            question = textwrap.shorten(change.question, 80, placeholder=" …")
            print(f"{kind} ({change.level}, passage {ranks}) {change.id}: {question}")
    for what, (before, after) in found.setup.items():
        print(f"differs: {what}: {before} → {after}")
    for which, ids in (("before", found.only_before), ("after", found.only_after)):
        if ids:
            print(f"only in the run {which}: {len(ids)} questions")


def show_judged(found: JudgedRun) -> None:
    table = _table("", "mean", "scored", "NaN", "unparsable", "failed")
    for name, one in found.metrics.items():
        mean = "–" if one.mean is None else f"{one.mean:.3f}"
        table.add_row(name, mean, *map(str, (one.scored, one.nan, one.unparsable, one.failed)))
    Console().print(table)
    print(f"{found.n} questions judged by {found.judge} in {found.seconds:.0f} s; ", end="")
    print(f"{found.unparsable_share:.0%} of the verdicts unparsable, which no mean holds")
    for answer in found.per_question:
        for name, verdict in answer.verdicts.items():
            if verdict.problem:
                detail = textwrap.shorten(verdict.detail, 100, placeholder=" …")
                print(f"{verdict.problem}: {name} of {answer.id}: {detail}")


def _notes(run: Run) -> list[str]:
    setup = run.setup
    notes = [f"{setup.questions} over {setup.documents} documents ({setup.chunks} chunks), {setup.embedder}"]
    notes.append(f"channels {', '.join(setup.channels)}; {run.ms_median:.0f} ms a search, 95 % within {run.ms_p95:.0f}")
    if run.indexing_s is not None:
        notes.append(f"adding the documents took {run.indexing_s:.0f} s")
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


def _add(table: Table, name: str, rates: Rates, spread: Intervals, *more: str) -> None:
    page, quote = rates.page_hit_at_5, rates.quote_hit_at_5
    cells = (_share(page), _between(spread.page_hit_at_5), _share(quote), _between(spread.quote_hit_at_5))
    table.add_row(name, str(rates.n), *cells, *more)


def _share(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:.3f}"


def _between(interval: Interval | None) -> str:
    return "" if interval is None else f"{interval[0]:.2f}–{interval[1]:.2f}"
