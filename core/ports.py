"""Protocols by which one room reaches another without importing it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.graph import (
    Entity,
    Extractor,
    GraphEstimate,
    GraphReport,
    GraphResult,
    GraphView,
    Merge,
    MergeRule,
)
from core.types import (
    Answer,
    CheckReport,
    Collection,
    Document,
    Event,
    FigureRef,
    Filter,
    Health,
    Job,
    KeptReplies,
    Metadata,
    PageView,
    Replace,
    SearchResult,
    Turn,
)

Vectors = NDArray[np.float32]
SparseVector = tuple[NDArray[np.int32], NDArray[np.float32]]
"""(indices, weights) of the terms that are not zero, (nnz,) each; indices ascending, each once, weights above 0."""
OnEvent = Callable[[Event], Awaitable[None]]


class SparseEncoder(Protocol):
    """Text to weights over a vocabulary of learned terms; the score of a pair is the dot product, higher is better.

    It belongs to an embedder and shares its loaded model and its lock.
    """

    @property
    def fingerprint(self) -> str:
        """Names model, revision and how many terms are kept; vectors of two fingerprints can't be compared."""

    def passages(self, texts: Sequence[str]) -> list[SparseVector]:
        """One vector a text, in the order of the texts."""

    def query(self, text: str) -> SparseVector: ...

    def both(self, texts: Sequence[str]) -> tuple[Vectors, list[SparseVector]]:
        """The embedder's `passages` and these, in one pass through the model where it gives both at once."""


class Embedder(Protocol):
    """Text to unit vectors. Implementations are thread-safe; on the CPU they run one batch at a time."""

    @property
    def sparse(self) -> SparseEncoder | None:
        """None for a model that gives dense vectors only."""

    @property
    def fingerprint(self) -> str:
        """Names model, revision and dimension; another fingerprint means vectors that can't be compared."""

    def passages(self, texts: Sequence[str]) -> Vectors:
        """(n, dim) float32, each row of length 1."""

    def query(self, text: str) -> Vectors:
        """(dim,) float32, of length 1."""


@dataclass(frozen=True)
class Scored:
    """Scores of texts for one question, (n,) float32, higher is better; `cut`: how many texts were longer than the
    model was given; `notes`: what a person should know of how they came about."""

    scores: NDArray[np.float32]
    cut: int = 0
    notes: tuple[str, ...] = ()


class Reranker(Protocol):
    """Scores passages with the question beside them. Thread-safe; on the CPU one batch at a time."""

    @property
    def fingerprint(self) -> str:
        """Names provider, model and longest input, for the trace."""

    @property
    def batch_size(self) -> int:
        """Most texts of one call; scores of two calls can be compared."""

    @property
    def stops(self) -> bool:
        """Whether a call is over after `within_s`; a model on this machine's CPU can't be stopped in a batch."""

    def scores(self, query: str, texts: Sequence[str], *, within_s: float = float("inf")) -> Scored:
        """A cross-encoder's raw logits, unbounded; a listwise model's are minus the rank. No texts, no call.

        Raises ServiceError and LLMError, and TimeoutError where it `stops` and the time is over.
        """


HOW_ASKED = "how this endpoint gives JSON"  # kept beside replies, and of no one's text


class ReplyCache(Protocol):
    """Replies of a language model by the hash of everything that was asked."""

    def get(self, key: str) -> str | None: ...

    def put(self, key: str, model: str, reply: str, prompt: str = "") -> None:
        """`prompt` is the name and version of the prompt that was answered, for a person to see."""

    def own(self, key: str, document_id: str) -> None:
        """That reply was made for that document, and goes when the last such document goes."""


class Index(Protocol):
    """A projection of the ledger's chunks that can be dropped and rebuilt."""

    @property
    def of_embedder(self) -> bool:
        """Whether it holds what one embedder made, and is of no use to another."""

    def sync(self, document_id: str = "") -> None:
        """Make the projection equal to the ledger, for all documents or for one; of one it costs nothing more in a
        library of many."""

    def rebuild(self) -> None:
        """Forget what is held, and read the ledger anew."""


@dataclass(frozen=True)
class Walked:
    """Where a walk from what a question names ended: (chunk id, share of it), best first.

    `spread` says over how many chunks, as the perplexity of the shares: 1 where all of it ended in one; `known` is how
    many it could have reached.
    """

    ranking: list[tuple[str, float]]
    spread: float = 1.0
    known: int = 0


class Mentions(Protocol):
    """A search channel that goes from what a question names to what that is named with, over several steps."""

    def search(self, query: str, found: Sequence[tuple[str, float]], k: int, documents: Sequence[str] = ()) -> Walked:
        """At most k chunks, of those documents only, where there are any.

        `found` are chunks that other channels found, with their scores: where to begin when nothing is named.
        """


class GraphService(Protocol):
    """What a library can say of its knowledge graph: the fourth tool, and what pages and commands show of it."""

    async def query_graph(
        self,
        question: str = "",
        *,
        entity: str = "",
        cypher: str = "",
        hops: int = 2,
        limit: int = 50,
        documents: Sequence[str] = (),
        filters: Filter | None = None,
    ) -> GraphResult:
        """Relations with the sentences that say so, asked for in exactly one of three ways: by a question in plain
        language, by an entity's name (what it is related to, up to `hops` (1 to 5) away), or by read-only Cypher.

        Only evidence of the documents that `documents` and `filters` leave counts. Where there is nothing, `note`
        says why. Raises InvalidInput where none or several of the three are given, or the Cypher can't be read.
        """

    async def graph_view(
        self,
        entity: str = "",
        *,
        hops: int = 1,
        limit: int = 300,
        documents: Sequence[str] = (),
        filters: Filter | None = None,
    ) -> GraphView:
        """A part of the graph that can be drawn, at most `limit` (1 to 1,000) entities: those around `entity` (a name
        or an id; NotFound where there is none), or without one those with the most relations."""

    async def entities(self, query: str = "", *, limit: int = 50) -> list[Entity]:
        """Entities with a name like `query`, the likest first; without one those with the most triples first."""

    async def estimate_graph(
        self, *, documents: Sequence[str] = (), by: Extractor = "auto", passes: int = 0, again: bool = False
    ) -> GraphEstimate:
        """What `build_graph` with the same arguments would read, and cost at most; nothing is asked of a model."""

    async def build_graph(
        self,
        *,
        documents: Sequence[str] = (),
        by: Extractor = "auto",
        passes: int = 0,
        again: bool = False,
        on_event: OnEvent | None = None,
    ) -> GraphReport:
        """Read triples from every passage that this extractor has not read yet, in place of what another one found.

        `by` auto: the extract role's model where there is one, else rules. `passes` 0: as the settings say. `again`:
        what was read before too; replies that are kept cost nothing. It can be stopped at any moment, and goes on
        where it was; the budget of a job holds, and `stopped` says so. Raises LLMNotConfigured for `by` llm.
        """


class MergeService(Protocol):
    """Which names are of one entity, why, and what a person decided about it."""

    async def merges(self, *, query: str = "", entity: str = "", limit: int = 100) -> list[Merge]:
        """Names that were found to stand for something of another name, or were kept apart from their like; by
        entity, then by name. `entity` is an id or a name: all names of it, its own too. `query` is part of a name,
        of the entity's, or of the reason."""

    async def merge_names(self, first: str, second: str) -> MergeRule:
        """From now on the two are one, in every document, whatever speaks against it; the same name twice joins
        what bears it in different documents. A rule that kept these two apart gives way.

        Names are as they stand in the documents; another case will do where only one fits. Raises NotFound (no
        document has that name), InvalidInput (other rules say that they differ).
        """

    async def separate_names(self, first: str, second: str) -> MergeRule:
        """From now on the two are never one: this undoes a merge. A rule that made these two one gives way.
        The same name twice keeps it apart in every document. Raises as `merge_names`."""

    async def forget_rule(self, first: str, second: str) -> MergeRule:
        """Leave these two to be resolved as if nobody had said anything. Raises NotFound."""

    async def merge_rules(self) -> list[MergeRule]:
        """By names."""


class Service(GraphService, MergeService, Protocol):
    """A library's whole contract: four tools for everyone, and what only the library's user may do.

    Implemented by the application itself, by a client of the process that owns the library, and by the
    handle that switches between the two.
    """

    async def ask(
        self,
        question: str,
        *,
        documents: Sequence[str] = (),
        filters: Filter | None = None,
        history: Sequence[Turn] = (),
        policy: str = "auto",
        on_event: OnEvent | None = None,
    ) -> Answer:
        """policy: 'auto' writes with the language model where one is configured, 'quote' never does.

        `documents` are ids or names, as in `filters`, which may name more conditions; all have to hold. Expired
        documents are left out unless `filters` includes them.
        """

    async def search_passages(
        self,
        query: str,
        *,
        top_k: int = 6,
        channels: Sequence[str] = (),
        documents: Sequence[str] = (),
        filters: Filter | None = None,
        explain: bool = False,
    ) -> SearchResult:
        """`explain` gives every candidate of every channel too, and what became of it."""

    async def read_page(
        self, document: str, page: int, *, highlight: str = "", image: bool = True
    ) -> tuple[PageView, bytes]:
        """The page, and a PNG of it with `highlight` (text that stands on it) marked; b'' without `image`, and for
        what has no pages that could be drawn: any format but PDF."""

    async def read_figure(self, document: str, number: int) -> tuple[FigureRef, bytes]:
        """A figure by its place in the document, from 1, and its PNG; b'' where it could not be drawn."""

    async def submit(
        self,
        path: str,
        *,
        name: str = "",
        metadata: Metadata | None = None,
        upload: bool = False,
        replace: Replace = "path",
    ) -> Job:
        """Copy the file at an absolute path of this machine into the library's queue; the file may then go.

        `upload`: the path is a passing one and says nothing of which document this is. `replace` names the document
        that gives way when this one is ready: 'path', an older version read from the same path; 'name', the one of
        that display name (InvalidInput where there are several); 'never', none.
        `metadata` is said of the document; of what it does not set, a new version of a document in the library keeps
        collection, tags, fields and language, and the same bytes again keep all.
        An unfinished job for the same is returned as it is. Raises NotFound, InvalidInput.
        """

    async def jobs(self) -> list[Job]:
        """The newest first; of those that are finished the newest 1,000 are kept."""

    async def job(self, job: str) -> Job:
        """`job` is an id or an unambiguous start of one (8 characters or more)."""

    async def watch(self, job: str, *, on_event: OnEvent | None = None) -> Job:
        """Tells the job as it is and each change, and returns it when it has ended. Leaving does not cancel it."""

    async def cancel(self, job: str) -> Job:
        """Nothing of a document that was not ready stays. What has ended stays as it is."""

    async def retry(self, job: str) -> Job:
        """Queue a job that failed or was cancelled again; any other is returned as it is."""

    async def add_document(
        self,
        path: str,
        *,
        name: str = "",
        metadata: Metadata | None = None,
        upload: bool = False,
        replace: Replace = "path",
        on_event: OnEvent | None = None,
    ) -> Document:
        """`submit`, waited for. Raises what the job failed of, Cancelled where it was cancelled."""

    async def edit_document(self, document: str, changes: Metadata) -> Document:
        """Change what is said of it: what `changes` does not set stays, and fields are merged (None takes one away).
        Nothing is parsed or embedded."""

    async def list_documents(self, filters: Filter | None = None) -> list[Document]:
        """All of them, expired ones too, or those that fit."""

    async def collections(self) -> list[Collection]: ...

    async def create_collection(self, collection: Collection, *, replace: bool = False) -> Collection:
        """Raises InvalidInput where it is there already, or `replace` does not fit a document of it."""

    async def remove_collection(self, name: str) -> Collection:
        """Raises InvalidInput while it has documents."""

    async def remove_document(self, document: str) -> Document:
        """`document` is an id, an unambiguous start of one (8 characters or more), or a display name."""

    async def reindex(self, *, on_event: OnEvent | None = None) -> Health: ...

    async def check(self, *, repair: bool = False) -> CheckReport:
        """Whether ledger, files, vectors and BM25 agree; `repair` mends what can be mended."""

    async def health(self) -> Health: ...

    async def kept_replies(self) -> list[KeptReplies]:
        """What is kept of language models' replies, by model and prompt."""

    async def clear_replies(self, *, model: str = "") -> int:
        """Forget the kept replies of that model, or all of them; how many they were."""

    async def trace(self, trace_id: str) -> str:
        """The stored trace of a question as JSON; `trace_id` may be its first characters. Raises NotFound."""
