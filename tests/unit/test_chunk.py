from __future__ import annotations

import re
from collections import Counter
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from core.text import text_of
from core.types import Block, Chunk, Page, Span
from ingest.chunk import chunk_document
from ingest.pdf import ParsedDocument

Kind = Literal["heading", "text", "list", "caption", "footnote", "reference"]
Drawn = tuple[Kind, int, str]  # kind, level, text
LONG = "The heron waits in the shallow water for an hour and then it strikes. "


def parsed(*pages: list[Drawn]) -> ParsedDocument:
    blocks, made = [], []
    for number, drawn in enumerate(pages, 1):
        text = ""
        for kind, level, piece in drawn:
            text += "\n" if text else ""
            blocks.append(
                Block(kind=kind, level=level, span=Span(page=number, start=len(text), end=len(text) + len(piece)))
            )
            text += piece
        made.append(Page(number=number, width=1, height=1, text=text, boxes=((0.0, 0.0, 0.0, 0.0),) * len(text)))
    return ParsedDocument(title="", pages=tuple(made), blocks=tuple(blocks), gaps=())


def chunked(document: ParsedDocument, child: int = 200, parent: int = 800) -> tuple[list[Chunk], list[Chunk]]:
    return chunk_document("doc", "sha", document, child, parent)


def words(texts: list[str]) -> Counter[str]:
    return Counter(word for text in texts for word in re.findall(r"\w+", text))


word = st.text(alphabet="abcdeAB1é模", min_size=1, max_size=12)
mark = st.sampled_from([" ", " ", " ", ". ", ", ", "! ", " -- ", "。", " ... "])
prose = st.lists(st.tuples(word, mark), min_size=1, max_size=120).map(lambda p: "".join(w + m for w, m in p).strip())
block = st.one_of(
    st.tuples(st.just("text"), st.just(0), prose),
    st.tuples(st.just("heading"), st.integers(1, 4), word),
    st.tuples(st.sampled_from(["reference", "list", "caption", "footnote"]), st.just(0), prose),
    st.tuples(st.just("text"), st.just(0), st.just("----")),
)
documents = st.lists(st.lists(block, max_size=8), min_size=1, max_size=4)


@settings(max_examples=150, deadline=None)
@given(documents)
def test_properties(pages: list[list[Drawn]]) -> None:
    document = parsed(*pages)
    texts = {page.number: page.text for page in document.pages}
    parents, children = chunked(document)
    for level in (parents, children):
        assert all(chunk.text == text_of(chunk.spans, texts) for chunk in level)
        assert words([chunk.text for chunk in level]) == words(list(texts.values()))
        assert all(re.search(r"\w", chunk.text) for chunk in level)
        assert [chunk.position for chunk in level] == list(range(len(level)))
    assert len({chunk.id for chunk in parents + children}) == len(parents) + len(children)
    assert all(len(chunk.text) <= 800 for chunk in parents)
    assert all(len(chunk.text) <= 250 for chunk in children)
    by_id = {chunk.id: chunk for chunk in parents}
    for child in children:
        parent = by_id[child.parent_id]
        assert child.text in parent.text or len(child.spans) > 1
        assert {span.page for span in child.spans} <= {span.page for span in parent.spans}


def test_parents_keep_to_their_section_and_hold_its_heading() -> None:
    document = parsed(
        [
            ("heading", 1, "1 Birds"),
            ("heading", 2, "1.1 Herons"),
            ("text", 0, LONG * 8),
            ("heading", 2, "1.2 Storks"),
            ("text", 0, LONG * 8),
            ("heading", 1, "2 Fish"),
            ("text", 0, LONG),
        ]
    )
    parents, children = chunked(document)
    assert [chunk.text.split("\n")[0] for chunk in parents] == ["1 Birds", "1.2 Storks", "2 Fish"]
    assert [chunk.section for chunk in parents] == ["1 Birds › 1.1 Herons", "1 Birds › 1.2 Storks", "2 Fish"]
    assert children[0].text.startswith("1 Birds\n1.1 Herons\nThe heron") and children[0].section == parents[0].section
    assert all(chunk.text.endswith("strikes.") for chunk in children)


def test_a_tiny_subsection_is_put_together_with_the_next() -> None:
    document = parsed([("heading", 2, "1.1 A"), ("text", 0, LONG), ("heading", 2, "1.2 B"), ("text", 0, LONG)])
    assert len(chunked(document)[0]) == 1


def test_a_sentence_over_the_page_s_end_is_one_chunk_of_two_spans() -> None:
    document = parsed([("text", 0, LONG * 3 + "It goes on to the")], [("text", 0, "next page of it. " + LONG * 3)])
    parents, children = chunked(document)
    assert [span.page for span in parents[0].spans] == [1, 2]
    crossing = [chunk for chunk in children if "goes on to the\nnext page of it." in chunk.text]
    assert len(crossing) == 1 and len(crossing[0].spans) == 2


def test_references_are_marked_and_apart() -> None:
    document = parsed(
        [
            ("text", 0, LONG),
            ("heading", 1, "References"),
            ("reference", 0, "[1] A. Smith. Herons. 2017."),
            ("heading", 1, "A More"),
            ("text", 0, LONG),
        ]
    )
    parents, children = chunked(document)
    assert [chunk.is_reference for chunk in parents] == [False, True, False]
    assert parents[1].text == "References\n[1] A. Smith. Herons. 2017." and children[1].is_reference


def test_the_same_paragraph_twice_has_two_ids_and_a_second_run_the_same() -> None:
    document = parsed([("heading", 1, "A"), ("text", 0, LONG)], [("heading", 1, "A"), ("text", 0, LONG)])
    first, second = chunked(document), chunked(document)
    assert first == second
    assert len({chunk.id for chunk in first[1]}) == len(first[1]) == 2


def test_an_item_a_caption_and_a_footnote_stay_whole_where_they_fit() -> None:
    item = "• The heron waits. It waits for long. " + LONG
    for kind in ("list", "caption", "footnote"):
        document = parsed([("text", 0, LONG * 2), (kind, 0, item.strip()), (kind, 0, item.strip())])
        _, children = chunked(document, child=150)
        assert sum(item.strip() in chunk.text for chunk in children) == 2


def test_footnotes_come_last_under_the_section_of_their_page() -> None:
    document = parsed(
        [
            ("heading", 1, "1 Birds"),
            ("text", 0, LONG + "It goes on to"),
            ("footnote", 0, "1 A note of the first page."),
        ],
        [("text", 0, "the next page. " + LONG), ("footnote", 0, "2 A note of the second page.")],
    )
    parents, children = chunked(document)
    assert "It goes on to\nthe next page." in parents[0].text
    assert [chunk.text for chunk in parents[1:]] == ["1 A note of the first page.", "2 A note of the second page."]
    assert {chunk.section for chunk in children} == {"1 Birds"}
