"""MRR, nDCG and recall, by ir-measures (the extra `report`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.types import Passage
from eval.questions import Question
from eval.run import Ranking


@dataclass(frozen=True)
class Ranked:
    """Item ids in the order found, without repeats, and the grade of each relevant one."""

    found: tuple[str, ...]
    relevant: dict[str, int]


def ranked(question: Question, passages: Sequence[Passage]) -> Ranked:
    """Pages in the order of the passages, of each passage first the page of the child that was found."""
    by_page = any(evidence.page is not None for evidence in question.evidence)
    found: dict[str, None] = {}
    for passage in passages:
        pages = (passage.page, *(span.page for span in passage.spans)) if by_page else (None,)
        found |= dict.fromkeys(_item(passage.document, page) for page in pages)
    relevant: dict[str, int] = {}
    for evidence in question.evidence:
        item = _item(evidence.doc, evidence.page)
        relevant[item] = max(relevant.get(item, 0), evidence.grade)
    return Ranked(tuple(found), relevant)


def _item(document: str, page: int | None) -> str:
    return document if page is None else f"{document}#{page}"


def measured(rankings: Sequence[Ranked], depth: int) -> Ranking | None:
    """Means over the questions; None where ir-measures is not installed."""
    try:
        import ir_measures
        from ir_measures import RR, R, nDCG
    except ImportError:
        return None
    names = {"mrr": RR, "ndcg_at_5": nDCG @ 5, "recall_at_1": R @ 1, "recall_at_3": R @ 3, "recall_at_5": R @ 5}
    names |= {"ndcg_at_10": nDCG @ 10, "recall_at_10": R @ 10} if depth >= 10 else {}
    asked = dict(enumerate(rankings))
    relevant = [ir_measures.Qrel(str(q), i, grade) for q, one in asked.items() for i, grade in one.relevant.items()]
    found = [ir_measures.ScoredDoc(str(q), i, -n) for q, one in asked.items() for n, i in enumerate(one.found)]
    means = ir_measures.calc_aggregate(names.values(), relevant, found)
    values = {name: round(float(means[measure]), 4) for name, measure in names.items()}
    return Ranking.model_validate({"depth": depth, **values})
