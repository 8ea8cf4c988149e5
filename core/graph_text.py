"""Rows of the knowledge graph as lines for a reader: a person at a terminal, an MCP host, a language model."""

from __future__ import annotations

from core.graph import Evidence, GraphResult, GraphRow

SHOWN_QUOTES = 3


_CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), " ")


def one_line(text: str) -> str:
    """Names and quotes come from documents: they must not begin a line of ours, or command a terminal."""
    return " ".join(text.translate(_CONTROLS).split())


def statement(row: GraphRow) -> str:
    """'BERT —[TRAINED_ON: was trained on]→ BookCorpus'."""
    wording = one_line(row.wording)
    said = f": {wording}" if wording and wording.casefold() != row.relation.replace("_", " ").casefold() else ""
    return f"{one_line(row.subject.name)} —[{one_line(row.relation)}{said}]→ {one_line(row.object.name)}"


def quoted(evidence: Evidence) -> str:
    return f"{one_line(evidence.document)}, page {evidence.page}: “{one_line(evidence.quote)}”"


def row_text(row: GraphRow, indent: str = "    ") -> str:
    """The statement, and below it its quotes with document and page."""
    more = len(row.evidence) - SHOWN_QUOTES
    lines = [statement(row), *(indent + quoted(said) for said in row.evidence[:SHOWN_QUOTES])]
    return "\n".join([*lines, f"{indent}and {more} more"] if more > 0 else lines)


def answer_line(result: GraphResult) -> str:
    """What was asked for, on one line; '' where there is nothing."""
    if result.relations:
        return "Related by: " + ", ".join(map(one_line, result.relations))
    if result.answers:
        return "Answer entities: " + ", ".join(one_line(entity.name) for entity in result.answers)
    return ""


def result_text(result: GraphResult) -> str:
    """All of it as plain text. Nothing found is said, never an empty text."""
    lines = [answer_line(result)] if result.rows or result.answers else [NOTHING]
    lines += [f"Note: {result.note}"] if result.note else []
    lines += [row_text(row) for row in result.rows]
    if result.truncated:
        lines.append(f"There are more than these {len(result.rows)} rows: raise `limit`, or ask for less at once.")
    of = f" of {result.backend}" if result.backend else ""
    if result.pattern:
        lines.append(f"Asked{of}, by {result.asked_by or 'its caller'}: {one_line(result.pattern)}")
    lines += [f"Note: {step.stage}: {step.degraded}" for step in result.trace if step.degraded]
    return "\n".join(line for line in lines if line)


NOTHING = "The knowledge graph holds no relation that fits."
