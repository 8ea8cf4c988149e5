"""The frozen models that cross a floor. Pages are 1-based everywhere.

Coordinates are PDF points with the origin at the top left of the page as it is shown (after rotation).
"""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictStr,
    field_validator,
    model_validator,
)

DocumentStatus = Literal["processing", "ready", "ready_with_gaps", "failed"]
DocumentFormat = Literal["pdf", "markdown", "text", "html", "docx"]
JobState = Literal["queued", "running", "done", "failed", "cancelled"]
Replace = Literal["path", "name", "never"]
RouteKind = Literal["fact", "relation", "summary", "chat"]
Box = tuple[float, float, float, float]  # left, top, right, bottom


def _as_boxes(boxes: object) -> object:
    return np.asarray(boxes, dtype=np.float32).reshape(-1, 4)


# (n, 4) float32: a tuple a character would take six times the memory.
Boxes = Annotated[NDArray[np.float32], BeforeValidator(_as_boxes)]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Gap(Frozen):
    """A page that could not be read, or not all of it, and why. page 0 means the document as a whole."""

    page: int = Field(ge=0)
    reason: str


def _as_day(value: object) -> object:
    """ISO days only: pydantic would take 2024 for a moment of 1970, and cut a time off."""
    if value is None or value == "":
        return None
    if type(value) is date:
        return value
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value.strip()):
        try:
            return date.fromisoformat(value.strip())
        except ValueError as error:
            raise ValueError(f"there is no day {value.strip()!r}") from error
    raise ValueError(f"{value!r} is no day: write YYYY-MM-DD")


def _as_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    stripped = tuple(dict.fromkeys(tag.strip() for tag in tags))
    if any(not 0 < len(tag) <= 100 for tag in stripped):
        raise ValueError("a tag has 1 to 100 characters")
    return stripped


def _as_language(language: str) -> str:
    language = language.strip().lower().replace("_", "-")
    if language and not re.fullmatch(r"[a-z]{2,3}(-[a-z0-9]{2,8})*", language):
        raise ValueError(f"{language!r} is no language code such as en, de or zh-hans")
    return language


FieldType = Literal["text", "number", "date", "boolean"]
FieldValue = StrictBool | Annotated[float, Field(allow_inf_nan=False)] | StrictStr  # a date is 'YYYY-MM-DD'
FieldValues = FieldValue | tuple[FieldValue, ...]
Day = Annotated[date | None, BeforeValidator(_as_day)]
Tags = Annotated[tuple[str, ...], AfterValidator(_as_tags)]
Language = Annotated[str, AfterValidator(_as_language)]
DEFAULT_COLLECTION = "default"
# What a manifest's line or a filter says of every document, and what Document calls its own.
RESERVED_FIELDS = frozenset(
    "id name path title document documents sha256 format pages chunks status gaps error added_at collection tags tag "
    "language published_at valid_until published_from published_to fields field needs_review include_expired as_of "
    "filters".split()
)


class FieldSpec(Frozen):
    """A field that the documents of a collection have, beside what every document has."""

    name: str
    type: FieldType = "text"
    allowed: tuple[str, ...] = Field(default=(), description="the only values there may be; empty is any")
    required: bool = False
    many: bool = Field(default=False, description="a document may have several values; a search asks for any of them")

    @field_validator("name")
    @classmethod
    def _usable(cls, name: str) -> str:
        if name in RESERVED_FIELDS:
            raise ValueError(f"{name!r} is a name that every document has already")
        if not name.isidentifier() or len(name) > 64:
            raise ValueError(f"{name!r} is no name for a field: letters, digits and _ only")
        return name


class Collection(Frozen):
    """Documents that share their fields. 'default' is always there."""

    name: str
    title: str = ""
    fields: tuple[FieldSpec, ...] = ()
    review_undated: bool = Field(
        default=False, description="a document with neither published_at nor valid_until is marked needs_review"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not re.fullmatch(r"\w[\w-]{0,63}", self.name):
            raise ValueError(f"{self.name!r} is no name for a collection: letters, digits, _ and - only")
        names = [field.name for field in self.fields]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"the field {name!r} is declared twice")
        return self

    def field(self, name: str) -> FieldSpec | None:
        return next((field for field in self.fields if field.name == name), None)


class Metadata(Frozen):
    """What is said of a document from outside. What is not set is left as it is."""

    title: str = Field(default="", max_length=1000, description="empty leaves the title that there is")
    collection: str = DEFAULT_COLLECTION
    tags: Tags = ()
    language: Language = ""
    published_at: Day = None
    valid_until: Day = Field(default=None, description="the last day on which the document holds")
    fields: dict[str, FieldValues | None] = Field(default={}, description="null takes a field away")


class Filter(Frozen):
    """Which documents a search looks at: those that fit everything that is set."""

    collection: str = Field(default="", description="name of a collection; empty is every one")
    documents: tuple[str, ...] = Field(default=(), description="ids or names; empty is all")
    tags: Tags = Field(default=(), description="documents with any of these tags, exactly")
    language: Language = Field(default="", description="a language code, e.g. en")
    published_from: Day = Field(default=None, description="published on this day (YYYY-MM-DD) or later")
    published_to: Day = Field(default=None, description="published on this day (YYYY-MM-DD) or before")
    fields: dict[str, FieldValues] = Field(
        default={}, description="the collection's own fields, e.g. country: an exact value, or a list of which any fits"
    )
    include_expired: bool = Field(default=False, description="also documents whose valid_until has passed")
    as_of: Day = Field(default=None, description="the day (YYYY-MM-DD) on which a document has to hold; empty is today")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.published_from and self.published_to and self.published_from > self.published_to:
            raise ValueError(f"published_from {self.published_from} is after published_to {self.published_to}")
        return self


class Selection(Frozen):
    """What a filter came to."""

    documents: tuple[str, ...] | None = Field(default=None, description="ids; None is every one, () is none")
    chosen: bool = Field(default=False, description="documents were named, not only described")
    expired: tuple[str, ...] = Field(default=(), description="names of those left out for being expired, with the day")


class Document(Frozen):
    id: str = Field(description="UUID5 of the file's SHA-256")
    name: str = Field(description="display name: the file's own name, never a path")
    title: str = Field(description="from metadata or the first page's largest text; the name where there is neither")
    sha256: str
    format: DocumentFormat = "pdf"
    pages: int = Field(ge=0)
    chunks: int = Field(default=0, ge=0, description="child chunks, the unit that is embedded")
    tables: int = Field(default=0, ge=0, description="of a PDF; one that goes on over pages counts once")
    figures: int = Field(default=0, ge=0, description="of a PDF: pictures and drawings that have a caption")
    status: DocumentStatus
    gaps: tuple[Gap, ...] = ()
    error: str = ""
    added_at: datetime
    collection: str = DEFAULT_COLLECTION
    tags: tuple[str, ...] = ()
    language: str = ""
    published_at: Day = None
    valid_until: Day = Field(default=None, description="the last day on which it holds")
    fields: dict[str, FieldValues] = Field(default={}, description="the collection's own; a date is YYYY-MM-DD")
    needs_review: bool = Field(default=False, description="undated, in a collection whose documents should not be")

    def expired(self, on: date) -> bool:
        return self.valid_until is not None and self.valid_until < on


class Span(Frozen):
    """A stretch of one page's text: characters start to end (end excluded) of `Page.text`."""

    page: int = Field(ge=1)
    start: int = Field(ge=0)
    end: int = Field(ge=0)


class Anchor(Frozen):
    """A name by which a place in a file can be linked: an HTML id, a heading's slug, a line 'L120'."""

    start: int = Field(ge=0, description="character of the page's text where it stands")
    name: str


class Page(Frozen):
    """A page's text in reading order, and a box for each of its characters (zero area for added blanks).

    Only a PDF has pages that can be drawn. Of other files a page is a stretch of the text, without size or boxes.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    number: int = Field(ge=1)
    width: float
    height: float
    text: str
    boxes: Boxes = Field(repr=False)
    anchors: tuple[Anchor, ...] = Field(default=(), description="in the order of the text")
    ocr: bool = Field(default=False, description="the text was read from the page's picture")

    def anchor_at(self, start: int) -> str:
        """The name nearest before that character; '' where there is none."""
        return next((anchor.name for anchor in reversed(self.anchors) if anchor.start <= start), "")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Page):
            return NotImplemented
        same = all(getattr(self, name) == getattr(other, name) for name in Page.model_fields if name != "boxes")
        return same and np.array_equal(self.boxes, other.boxes)

    __hash__ = None  # type: ignore[assignment]


class Block(Frozen):
    """One heading, paragraph, … of a page, as a span of the page's text."""

    kind: Literal["heading", "text", "list", "table", "figure", "caption", "formula", "footnote", "reference"]
    span: Span
    level: int = Field(default=0, ge=0, description="1 is the outermost heading; 0 for what is no heading")


class Cell(Frozen):
    """A cell of a table. Lines of its text are parted by a line break."""

    text: str
    box: Box
    spans: tuple[Span, ...] = Field(default=(), description="its words in the text of the row's page")
    repeated: bool = Field(default=False, description="merged with the cell left of it or above: its text again")


class TableRow(Frozen):
    page: int = Field(ge=1)
    box: Box
    cells: tuple[Cell, ...]
    spans: tuple[Span, ...] = Field(description="the row's words in the text of its page: what can be quoted")
    is_header: bool = False


class Table(Frozen):
    """A table, of one page or going on over several: rows have as many cells as the table has columns."""

    page: int = Field(ge=1, description="the page that it begins on")
    boxes: tuple[tuple[int, Box], ...] = Field(description="(page, box) of its part on each page")
    rows: tuple[TableRow, ...] = Field(description="a header that stands again on a later page is there again")
    caption: str = ""
    caption_spans: tuple[Span, ...] = ()

    @property
    def columns(self) -> int:
        return len(self.rows[0].cells)

    def rows_on(self, page: int) -> tuple[TableRow, ...]:
        """The rows that stand on that page, headers too."""
        return tuple(row for row in self.rows if row.page == page)


class Figure(Frozen):
    """A picture or drawing with a caption."""

    page: int = Field(ge=1)
    box: Box
    caption: str
    caption_spans: tuple[Span, ...] = ()
    png: bytes = Field(default=b"", repr=False, description="empty where it could not be drawn")
    description: str = Field(default="", description="by the vision model, where there is one; never quoted")


class FigureRef(Frozen):
    """A figure by its place in the document: `number` counts from 1, whatever number its caption gives it."""

    number: int = Field(ge=1)
    page: int = Field(ge=1)
    caption: str
    description: str = Field(default="", description="written by a vision model: no words of the document")


class Chunk(Frozen):
    """A child (about 600 characters, for finding) or a parent (about 1,200 to 2,000, for reading)."""

    id: str = Field(description="UUID5 of document hash, level, position and text")
    document_id: str
    parent_id: str = Field(default="", description="empty for a parent")
    position: int = Field(ge=0, description="order within the document and level")
    section: str = Field(default="", description="section path, ' › ' between levels")
    text: str = Field(description="what stands on the pages, and so what can be quoted")
    spans: tuple[Span, ...]
    is_reference: bool = Field(default=False, description="from the list of references")
    kind: Literal["text", "table", "description"] = Field(
        default="text", description="table: rows of one; description: of a figure, whose caption is the text"
    )
    indexed: str = Field(default="", description="what is embedded and indexed in place of the text; never quoted")

    @property
    def searched(self) -> str:
        return self.indexed or self.text

    @property
    def page(self) -> int:
        return self.spans[0].page


class Summary(Frozen):
    """Of a top-level section, or of the whole document where `section` is empty."""

    section: str
    text: str
    written_by: Literal["extraction", "llm"]
    spans: tuple[Span, ...] = Field(description="the sentences of the document that it is made of or rests on")


class ChannelHit(Frozen):
    """Where one channel placed a passage. rank is 1-based; score's scale is the channel's, higher is better."""

    channel: str
    rank: int = Field(ge=1)
    score: float


class Passage(Frozen):
    """A parent chunk handed to the reader, with the best child that found it."""

    chunk_id: str
    document_id: str
    document: str = Field(description="the document's display name")
    title: str
    page: int
    section: str = ""
    text: str
    spans: tuple[Span, ...]
    best_child: str = Field(description="text of the child chunk that was found")
    described: str = Field(
        default="", description="by a vision model, of the figure whose caption was found: no words of the document"
    )
    rows: str = Field(
        default="", description="of the table that was found: caption, and each row with its columns' names; not quoted"
    )
    score: float = Field(description="fused score, higher is better, no fixed range")
    channels: tuple[ChannelHit, ...] = ()


class PageBoxes(Frozen):
    page: int = Field(ge=1)
    boxes: tuple[Box, ...] = Field(description="one box a line of text")


def _place(page: int, anchor: str, ocr: bool) -> str:
    """'page 3', 'page 3 (#results)', 'page 3, OCR text'."""
    return f"page {page}" + (f" (#{anchor})" if anchor else "") + (", OCR text" if ocr else "")


class Citation(Frozen):
    """A verbatim quote: `quote` is character for character what stands in the text of the page."""

    number: int = Field(ge=1, description="the [n] of the answer's text")
    document_id: str
    document: str
    title: str
    page: int
    anchor: str = Field(default="", description="where in the file, e.g. an HTML id; empty in a PDF")
    section: str = ""
    quote: str
    spans: tuple[Span, ...]
    highlights: tuple[PageBoxes, ...] = ()
    ocr: bool = Field(default=False, description="the quote was read from a scan, and may be misread")
    figure: FigureRef | None = Field(default=None, description="the figure that it speaks of or stands beside")

    @property
    def place(self) -> str:
        return _place(self.page, self.anchor, self.ocr)


class Claim(Frozen):
    text: str
    citations: tuple[int, ...] = Field(description="numbers of the citations that support it")
    support: float | None = Field(default=None, ge=0, le=1, description="the reflector's score, 1 is best")


class Route(Frozen):
    kind: RouteKind
    question: str = Field(description="self-contained: a follow-up has its subject put back")
    documents: tuple[str, ...] = Field(default=(), description="ids that the search is limited to; empty is all")
    decided_by: Literal["rules", "llm"] = "rules"
    reason: str = ""


class ClaimScore(Frozen):
    support: float = Field(ge=0, le=1)
    problems: tuple[str, ...] = Field(default=(), description="e.g. 'number 42 is not in the quotes'")


class Reflection(Frozen):
    """The reflector's scores. It never changes an answer."""

    support: float = Field(ge=0, le=1, description="mean over claims; 0 where there is none")
    claims: tuple[ClaimScore, ...] = ()


class Usage(Frozen):
    """What language models cost, usable replies or not."""

    calls: int = Field(default=0, description="requests that were answered, cut or broken answers among them")
    cached_calls: int = Field(default=0, description="replies that were kept from before, at no cost")
    failed_calls: int = Field(default=0, description="of `calls`: those whose reply was no usable answer")
    estimated_calls: int = Field(default=0, description="of `calls`: those whose tokens the endpoint did not report")
    prompt_tokens: int = 0
    completion_tokens: int = Field(default=0, description="thinking among them")
    cost: float = Field(default=0.0, description="in the currency of the configured prices, or as reported")

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})


class KeptReplies(Frozen):
    """Replies of language models that the ledger keeps, of one model and prompt."""

    model: str
    prompt: str = Field(description="name and version of the prompt; empty where it was none of Quaere's own")
    replies: int
    characters: int
    newest: str = Field(description="when the last was kept, ISO 8601 in UTC; empty when it is not known")


class TraceStep(Frozen):
    stage: str = Field(description="router, retriever, reasoner, reflector")
    ms: float = Field(ge=0)
    summary: str = Field(description="one line for a person")
    degraded: str = Field(default="", description="what was left out and why; empty when nothing was")
    error: str = ""
    details: dict[str, str | int | float] = {}


class Answer(Frozen):
    question: str
    text: str = Field(description="the claims with [n] behind each")
    claims: tuple[Claim, ...]
    citations: tuple[Citation, ...]
    nearest: tuple[Passage, ...] = Field(default=(), description="shown when nothing supports an answer")
    written_by: Literal["quotation", "llm", "none"] = Field(
        description="'none': nothing in the library supports an answer, or none was asked for"
    )
    model: str = Field(default="", description="the language model that wrote it")
    partial: bool = False
    reflection: Reflection
    trace_id: str
    trace: tuple[TraceStep, ...]
    usage: Usage = Usage()


class Turn(Frozen):
    role: Literal["user", "assistant"]
    content: str


class PageView(Frozen):
    """What `read_page` returns beside the image, which only a PDF's page has."""

    document_id: str
    document: str
    title: str
    format: DocumentFormat = "pdf"
    page: int
    pages: int
    width: float
    height: float
    text: str
    anchor: str = Field(default="", description="where in the file the page begins, e.g. an HTML id")
    highlights: tuple[Box, ...] = ()
    gap: str = Field(default="", description="why the page has no text, or lacks some; empty when it is whole")
    ocr: bool = Field(default=False, description="the text was read from the page's picture, and may be misread")

    @property
    def place(self) -> str:
        return _place(self.page, self.anchor, self.ocr)


class Candidate(Frozen):
    """A child that a channel found, and what became of it: why its passage is there, or is not."""

    chunk_id: str
    document_id: str
    document: str
    page: int
    text: str = Field(description="its first 120 characters")
    channels: tuple[ChannelHit, ...]
    fused: float = Field(description="its own fused score, higher is better")
    rank: int = Field(ge=1, description="its parent's, once all is fused and reranked")
    logit: float | None = Field(default=None, description="the reranker's score of its parent, where it has one")
    passage: int = Field(default=0, description="number of the passage that holds it; 0: of none")
    why: str = Field(default="", description="why no passage holds it")

    @property
    def fate(self) -> str:
        return f"passage {self.passage}" if self.passage else self.why

    @property
    def line(self) -> str:
        """'resnet.pdf, page 3: dense 1, bm25 4; passage 1', with its rank in each channel."""
        ranks = ", ".join(f"{hit.channel} {hit.rank}" for hit in self.channels)
        return f"{self.document}, page {self.page}: {ranks}; {self.fate}"


class SearchResult(Frozen):
    query: str
    passages: tuple[Passage, ...]
    candidates: tuple[Candidate, ...] = Field(default=(), description="of all channels, best first, where asked for")
    trace: tuple[TraceStep, ...]


class Health(Frozen):
    version: str
    library: str
    ledger: str = Field(description="sqlite or postgresql; never a URL, which may hold a password")
    documents: int
    chunks: int
    vectors: int
    bm25_entries: int
    embedder: str
    llm: str = Field(description="model name, or 'none'")
    reranker: str = "none"
    graph: str = Field(default="none", description="what answers graph queries: neo4j or networkx, and since when")
    entities: int = Field(default=0, ge=0, description="of the knowledge graph")
    relations: int = Field(default=0, ge=0, description="of the knowledge graph")


class Finding(Frozen):
    """One thing in which a library's parts do not agree."""

    kind: str = Field(description="database, rows, stray, file, document, unfinished, embedder, embedding, …")
    what: str
    document: str = Field(default="", description="name and start of the id; empty where it is of no one document")
    done: str = Field(description="what was done, or what to do")
    mended: bool = False


class CheckReport(Frozen):
    documents: int
    chunks: int
    vectors: int
    bm25_entries: int
    repair: bool = Field(description="whether mending was asked for")
    findings: tuple[Finding, ...]

    @property
    def left(self) -> tuple[Finding, ...]:
        """What is not mended."""
        return tuple(finding for finding in self.findings if not finding.mended)


class JobError(Frozen):
    code: str
    message: str
    hint: str = ""


class Job(Frozen):
    """A file on its way into the library."""

    id: str
    kind: Literal["add"] = "add"
    name: str = Field(description="the file's display name")
    state: JobState = "queued"
    stage: str = Field(default="", description="parse, ocr, embed, summarise, index; the last one it came to")
    done: int = Field(default=0, ge=0, description="of `total`, in that stage: pages, or passages that are embedded")
    total: int = Field(default=0, ge=0, description="0 where it is not known")
    document_id: str = Field(default="", description="empty until it is done")
    outcome: Literal["", "added", "known", "replaced"] = Field(
        default="", description="known: the same bytes were there; replaced: an older version went"
    )
    error: JobError | None = None
    created_at: datetime
    updated_at: datetime

    @property
    def finished(self) -> bool:
        return self.state not in ("queued", "running")


class JobRequest(Frozen):
    """What a job needs to be done, and no guest is told."""

    source: str = Field(default="", description="absolute path that the file was read from; empty for an upload")
    sha256: str
    file: str = Field(default="", description="name of the library's own copy, while the job needs one")
    replace: Replace = "path"
    metadata: Metadata | None = None


class Event(Frozen):
    """What a running call tells: a stage that ended, a piece of the answer's text, or how far something is."""

    kind: Literal["stage", "text", "ingest", "job"]
    stage: TraceStep | None = None
    text: str = ""
    job: Job | None = None
    document: str = ""
    step: str = Field(default="", description="ingest: parse, ocr, chunk, embed, index, done, failed")
    done: int = 0
    total: int = 0
