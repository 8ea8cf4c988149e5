"""The frozen models of the knowledge graph that cross a floor."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from core.types import Frozen, Span, TraceStep

Tier = Literal["same", "containment", "similarity", "llm", "forced"]
Extractor = Literal["auto", "rules", "llm"]


class Triple(Frozen):
    """A relation that one chunk states, as it was extracted: names are not resolved yet. The ledger keeps these."""

    id: str = Field(description="UUID5 of chunk, subject, wording and object")
    document_id: str
    chunk_id: str = Field(description="the parent chunk that it was read from")
    subject: str = Field(description="as it stands in the chunk")
    subject_type: str = ""
    relation: str = Field(description="of the small vocabulary, in capitals: TRAINED_ON")
    wording: str = Field(description="as the text has it: 'was trained on'")
    object: str = Field(description="as it stands in the chunk")
    object_type: str = ""
    quote: str = Field(description="verbatim from the chunk; it holds subject and object")
    spans: tuple[Span, ...] = Field(description="the quote's places")
    confidence: float = Field(default=1.0, ge=0, le=1, description="1 is best; of two passes their agreement")
    extracted_by: Literal["rules", "llm"] = "rules"
    is_citation: bool = Field(default=False, description="CITES and the like: of works, not of what they speak of")


class Entity(Frozen):
    """What one or more names stand for, after resolution."""

    id: str = Field(description="UUID5 of its name, and of what tells it apart from others of that name")
    name: str
    type: str = ""
    aliases: tuple[str, ...] = Field(default=(), description="its other names")
    documents: tuple[str, ...] = Field(default=(), description="ids of the documents that name it")
    mentions: int = Field(default=0, ge=0, description="triples that name it")


class Merge(Frozen):
    """Why a name belongs to an entity."""

    name: str
    entity_id: str
    entity: str = Field(description="the entity's name")
    into: str = Field(description="the name that it was found to be the same as")
    tier: Tier
    score: float = Field(default=1.0, ge=0, le=1)
    reason: str = Field(description="one line for a person")
    documents: tuple[str, ...] = Field(default=(), description="ids of the documents whose name this is")


class MergeRule(Frozen):
    """What a person decided: two names are the same, or never are. It outlives the documents that hold them."""

    first: str
    second: str
    kind: Literal["force", "forbid"]


class Relation(Frozen):
    """An edge between entities: all triples of one subject, relation and object."""

    subject: str = Field(description="entity id")
    relation: str
    object: str = Field(description="entity id")
    wordings: tuple[str, ...] = ()
    triples: tuple[str, ...] = Field(description="ids of the triples that say so")
    documents: tuple[str, ...] = Field(description="ids of the documents that say so")
    confidence: float = Field(default=1.0, ge=0, le=1, description="of the surest triple")
    is_citation: bool = False


class GraphData(Frozen):
    """The whole graph, as it is projected into a store. Sorted, so that equal graphs are equal."""

    version: str = Field(description="hash of all that it holds; a store that has it is up to date")
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()


class Evidence(Frozen):
    """Where a relation is said."""

    document_id: str
    document: str
    page: int = Field(ge=1)
    quote: str
    spans: tuple[Span, ...]
    chunk_id: str
    confidence: float = 1.0
    extracted_by: Literal["rules", "llm"] = "rules"


class GraphRow(Frozen):
    """One row of the one projection that every query has."""

    subject: Entity
    relation: str
    wording: str
    object: Entity
    evidence: tuple[Evidence, ...]


class GraphResult(Frozen):
    """What `query_graph` returns."""

    question: str = ""
    rows: tuple[GraphRow, ...] = ()
    answers: tuple[Entity, ...] = Field(default=(), description="what is asked for: the ends that were not named")
    relations: tuple[str, ...] = Field(default=(), description="where both ends were named: what relates them")
    pattern: str = Field(default="", description="the subgraph that was asked for, as canonical Cypher")
    asked_by: Literal["cypher", "slots", "rules", "entity", ""] = Field(
        default="", description="who made the pattern: a model's Cypher or slots, rules, or the caller"
    )
    exact: bool = Field(default=False, description="rules read every word of the question, and the graph has it")
    backend: str = Field(default="", description="neo4j or networkx")
    truncated: bool = Field(default=False, description="there are more rows than `limit`")
    note: str = Field(default="", description="what a person should know, e.g. why there is nothing")
    trace: tuple[TraceStep, ...] = ()


class NodeView(Frozen):
    """An entity as it is drawn: x and y lie between 0 and 1."""

    id: str
    name: str
    type: str = ""
    x: float
    y: float
    degree: int = Field(ge=0, description="relations of it in the whole graph")


class EdgeView(Frozen):
    source: str
    target: str
    relation: str
    documents: int = Field(ge=1)


class GraphView(Frozen):
    """A part of the graph that can be drawn: at most 1,000 nodes, positions computed here."""

    nodes: tuple[NodeView, ...]
    edges: tuple[EdgeView, ...]
    entities: int = Field(description="of the whole graph")
    relations: int = Field(description="of the whole graph")
    shown: str = Field(description="one line: what part this is")


class GraphEstimate(Frozen):
    """What extraction would cost, before it starts."""

    chunks: int = Field(description="still to be read")
    done: int = Field(description="read already by this extractor")
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float
    extractor: str


class GraphReport(Frozen):
    """What a build did."""

    extractor: str
    chunks: int = Field(description="read in this build")
    skipped: int = Field(description="read before, or without anything to read")
    failed: int
    kept: int = Field(description="triples")
    dropped: dict[str, int] = Field(default={}, description="how many by reason")
    entities: int
    relations: int
    stopped: str = Field(default="", description="why it ended early, e.g. the budget; empty when it is whole")
