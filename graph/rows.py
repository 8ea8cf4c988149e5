"""From relations to the rows that everybody sees: what is related, and the sentences that say so."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from core.graph import Entity, Evidence, GraphRow, Relation, Triple
from core.ledger import Ledger

MOST_EVIDENCE = 10  # of one row, the surest


def rows_of(
    relations: Sequence[Relation],
    entities: Mapping[str, Entity],
    ledger: Ledger,
    documents: Collection[str] | None = None,
) -> tuple[GraphRow, ...]:
    """A row for each relation, in their order. Evidence is of `documents` only (None: of any); what has none left, or
    was removed in the meantime, is left out. Two queries of the ledger."""
    triples = {triple.id: triple for triple in ledger.triples.by_id([item for r in relations for item in r.triples])}
    owners = ledger.documents_by_id(triple.document_id for triple in triples.values())
    names = {item: owner.name for item, owner in owners.items() if documents is None or item in documents}
    rows = []
    for relation in relations:
        said = [triples[item] for item in relation.triples if item in triples]
        said = sorted((one for one in said if one.document_id in names), key=lambda one: (-one.confidence, one.id))
        if said and relation.subject in entities and relation.object in entities:
            rows.append(
                GraphRow(
                    subject=entities[relation.subject],
                    relation=relation.relation,
                    wording=said[0].wording,
                    object=entities[relation.object],
                    evidence=tuple(_evidence(one, names[one.document_id]) for one in said[:MOST_EVIDENCE]),
                )
            )
    return tuple(rows)


def _evidence(triple: Triple, document: str) -> Evidence:
    return Evidence(
        document_id=triple.document_id,
        document=document,
        page=triple.spans[0].page if triple.spans else 1,
        quote=triple.quote,
        spans=triple.spans,
        chunk_id=triple.chunk_id,
        confidence=triple.confidence,
        extracted_by=triple.extracted_by,
    )
