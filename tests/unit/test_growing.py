"""Passages that grow by their neighbours, within their room."""

from core.types import Chunk, Span
from retrieval.growing import Room, grown


def parent(position: int, size: int = 100, page: int = 1, document: str = "d", reference: bool = False) -> Chunk:
    text = str(position % 10) * size
    return Chunk(
        id=f"{document}{position}",
        document_id=document,
        position=position,
        text=text,
        spans=(Span(page=page, start=0, end=size),),
        is_reference=reference,
    )


def runs(
    found: list[Chunk], parents: list[Chunk], count: int = 5, passage: int = 300, every: int = 10_000
) -> list[str]:
    near = {(chunk.document_id, chunk.position): chunk for chunk in parents}
    return [" ".join(chunk.id for chunk in run) for _, run in grown(found, near, count, Room(passage, every))]


def test_it_takes_in_the_shorter_neighbour_first_and_keeps_the_order_of_the_text() -> None:
    parents = [parent(0, 90), parent(1), parent(2, 50), parent(3, 200)]
    assert runs([parents[1]], parents) == ["d0 d1 d2"]
    assert runs([parents[1]], parents, passage=160) == ["d1 d2"]
    assert runs([parents[1]], parents, passage=151) == ["d1 d2"]
    assert runs([parents[1]], parents, passage=150) == ["d1"]  # the line break between the two counts


def test_a_parent_in_a_passage_is_no_second_one() -> None:
    parents = [parent(0), parent(1), parent(2), parent(9)]
    assert runs([parents[0], parents[1], parents[3]], parents, passage=201) == ["d0 d1", "d9"]
    assert runs(parents[:3], parents, count=2, passage=201) == ["d0 d1", "d2"]


def test_other_documents_pages_and_references_stay_outside() -> None:
    assert runs([parent(0)], [parent(0), parent(1, document="e")]) == ["d0"]
    assert runs([parent(0)], [parent(0), parent(1, page=3)]) == ["d0"]
    assert runs([parent(0)], [parent(0), parent(1, page=2)]) == ["d0 d1"]
    assert runs([parent(0)], [parent(0), parent(1, reference=True)]) == ["d0"]


def test_all_have_room_for_so_much() -> None:
    apart = [parent(0), parent(10), parent(20)]
    assert runs(apart, apart, every=200) == ["d0", "d10"]
    assert runs(apart, apart, every=50) == ["d0"]  # the first is there even so
    near = [parent(0), parent(1), parent(10)]
    assert runs([near[0], near[2]], near, every=150) == ["d0"]
