"""DOCX: the text that Word shows, in blocks and pages, and the archives that are refused."""

from __future__ import annotations

import struct
import time
import zipfile
from pathlib import Path

import pytest

from core.errors import CorruptDocument, InvalidInput, NoText, PasswordNeeded, QuaereError
from ingest.formats.docx import read_docx
from tests.support.docx import STRICT, cell, docx, item, p, run, table
from tests.support.parsed import blocks, page_texts

PAGE_BREAK = '<w:r><w:br w:type="page"/></w:r>'
RENDERED = "<w:r><w:lastRenderedPageBreak/></w:r>"


def test_blocks(tmp_path: Path) -> None:
    parsed = read_docx(
        docx(
            tmp_path / "a.docx",
            p("On Gulls", "T")
            + p("Contents 1", "TOC1")
            + p("Introduction", "berschrift1")
            + p("The gull eats ", inner=f"<w:hyperlink>{run('fish')}</w:hyperlink>{run(' &amp; bread, 10')}"
                + run("-3", '<w:vertAlign w:val="superscript"/>') + run(" kg."))
            + p("Aims", "Mine")
            + item("one", 1) + item("one a", 1, 1) + item("one b", 1, 1) + item("two", 1) + item("dot", 2)
            + p("Table 1. Errors", "Cap")
            + table(cell(p("bird")) + cell(p("mass")), cell(p("gull")) + cell(p("1") + p("kg"))),
        ),
        100,
    )  # fmt: skip
    assert parsed.title == "On Gulls"
    assert [(block.level, *found) for block, found in zip(parsed.blocks, blocks(parsed), strict=True)] == [
        (1, "heading", "On Gulls"),
        (1, "heading", "Introduction"),
        (0, "text", "The gull eats fish & bread, 10⁻³ kg."),
        (2, "heading", "Aims"),
        (0, "list", "1. one"),
        (0, "list", "1.a) one a"),
        (0, "list", "1.b) one b"),
        (0, "list", "2. two"),
        (0, "list", "- dot"),
        (0, "caption", "Table 1. Errors"),
        (0, "table", "bird | mass\ngull | 1 kg"),
    ]


def test_what_word_does_not_show_is_dropped(tmp_path: Path) -> None:
    parsed = read_docx(
        docx(
            tmp_path / "a.docx",
            p(
                "Seen",
                inner=run("SECRET", "<w:vanish/>")
                + f'<w:del w:id="1">{run("SECRET")}<w:r><w:delText>SECRET</w:delText></w:r></w:del>'
                + "<w:r><w:instrText>SECRET</w:instrText></w:r>"
                + f'<w:ins w:id="2">{run(" and new")}</w:ins>'
                + '<w:commentReference w:id="0"/>',
            )
            + f"<w:sdt><w:sdtContent>{p('in a control')}</w:sdtContent></w:sdt>"
            + '<w:sdt><w:sdtPr><w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj></w:sdtPr>'
            + f"<w:sdtContent>{p('SECRET')}</w:sdtContent></w:sdt>",
            comments=f'<w:comment w:id="0">{p("SECRET")}</w:comment>',
        ),
        100,
    )
    assert page_texts(parsed) == ["Seen and new\nin a control"]


def test_merged_cells_nested_tables_and_frames(tmp_path: Path) -> None:
    restart, goes_on, wide = '<w:vMerge w:val="restart"/>', "<w:vMerge/>", '<w:gridSpan w:val="2"/>'
    parsed = read_docx(
        docx(
            tmp_path / "a.docx",
            table(
                cell(p("Model")) + cell(p("Error"), wide),
                cell(p("Heron"), restart) + cell(p("1")) + cell(p("2")),
                cell(p(""), goes_on) + cell(p("3")) + cell(table(cell(p("4")) + cell(p("5")))),
            )
            + table(cell(p("A frame", "berschrift1") + p("around text"))),
        ),
        100,
    )
    assert blocks(parsed) == [
        ("table", "Model | Error |\nHeron | 1 | 2\nHeron | 3 | 4 5"),
        ("heading", "A frame"),
        ("text", "around text"),
    ]


def test_footnotes_stand_behind_their_paragraph(tmp_path: Path) -> None:
    parsed = read_docx(
        docx(
            tmp_path / "a.docx",
            p("It flies", inner=f'<w:r><w:footnoteReference w:id="5"/></w:r>{run(". It lands.")}') + p("Next."),
            footnotes=f'<w:footnote w:id="0" w:type="separator">{p("SECRET")}</w:footnote>'
            f'<w:footnote w:id="5">{p("Up to 90 km.")}</w:footnote>',
        ),
        100,
    )
    assert blocks(parsed) == [("text", "It flies. It lands."), ("footnote", "[1] Up to 90 km."), ("text", "Next.")]


def test_a_text_box_is_read_once(tmp_path: Path) -> None:
    box = f"<w:txbxContent>{p('In the box.')}</w:txbxContent>"
    parsed = read_docx(
        docx(
            tmp_path / "a.docx",
            p("Beside.", inner="<w:r><mc:AlternateContent xmlns:mc='urn:mc'><mc:Choice><w:drawing>"
              f"{box}</w:drawing></mc:Choice><mc:Fallback><w:pict>{box}</w:pict></mc:Fallback></mc:AlternateContent></w:r>"),
        ),
        100,
    )  # fmt: skip
    assert page_texts(parsed) == ["Beside.\nIn the box."]


def test_pages_are_those_that_word_laid_out(tmp_path: Path) -> None:
    parsed = read_docx(
        docx(
            tmp_path / "a.docx",
            p("One", "berschrift1")
            + p("first")
            + p("", inner=PAGE_BREAK)
            + p("", inner=RENDERED + run("second, with a sentence that goes on ") + RENDERED + run("on the third"))
            + p("Two", "berschrift1")
            + p("third")
            + p("fourth", properties="<w:pageBreakBefore/>")
            + p("the last of it", properties="<w:sectPr/>")
            + table(cell(p("a")) + cell(p("b")), cell(p("", inner=RENDERED + run("c"))) + cell(p("d"))),
        ),
        100,
    )
    assert page_texts(parsed) == [
        "One\nfirst",
        "second, with a sentence that goes on",
        "on the third\nTwo\nthird",
        "fourth\nthe last of it",
        "a | b",
        "a | b\nc | d",
    ]


def test_without_page_breaks_sections_are_pages(tmp_path: Path) -> None:
    body = p("On Gulls", "T") + p("One", "berschrift1") + p("text") + p("Two", "berschrift1") + p("text")
    assert page_texts(read_docx(docx(tmp_path / "a.docx", body), 100)) == ["On Gulls\nOne\ntext", "Two\ntext"]


def test_the_strict_dialect(tmp_path: Path) -> None:
    path = docx(tmp_path / "a.docx", p("One", "H2") + p("text"), title="On Gulls", namespace=STRICT)
    parsed = read_docx(path, 100)
    assert parsed.title == "On Gulls" and blocks(parsed) == [("heading", "One"), ("text", "text")]


def test_a_style_based_on_itself_and_odd_numbers(tmp_path: Path) -> None:
    odd = '<w:numPr><w:ilvl w:val="x"/><w:numId w:val="99"/></w:numPr><w:outlineLvl w:val="99999999999"/>'
    path = docx(tmp_path / "a.docx", p("text", "Loop", properties=odd) + p("", inner='<w:r><w:sym w:char="zz"/></w:r>'))
    assert blocks(read_docx(path, 100)) == [("list", "- text")]


# --- hostile archives


def test_entities_are_not_resolved(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("SECRET")
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    prolog = f'<!DOCTYPE x [<!ENTITY f SYSTEM "file://{secret}"><!ENTITY l0 "SECRET">{laughs}]>'
    path = docx(tmp_path / "a.docx", p("text &f; &l9; end"), prolog=prolog)
    try:
        assert "SECRET" not in read_docx(path, 100).pages[0].text
    except CorruptDocument as error:
        assert error.hint


def test_a_zip_bomb_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("word/document.xml", "w") as part:
        for _ in range(60):
            part.write(b" " * 1_000_000)
    start = time.process_time()
    with pytest.raises(CorruptDocument, match="unpacks to more than"):
        read_docx(path, 100)
    assert time.process_time() - start < 5


def test_a_declared_size_that_lies_is_no_way_around_the_limit(tmp_path: Path) -> None:
    path = docx(tmp_path / "a.docx", p("x" * 100_000))
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("word/document.xml")
    at = data.find(struct.pack("<L", info.file_size), data.find(b"PK\x01\x02"))
    data[at : at + 4] = struct.pack("<L", 10)
    path.write_bytes(data)
    with pytest.raises(CorruptDocument):
        read_docx(path, 100)
    data[at : at + 4] = struct.pack("<L", 0xFFFFFFF0)
    path.write_bytes(data)
    with pytest.raises(CorruptDocument, match="no document does"):
        read_docx(path, 100)


@pytest.mark.parametrize(
    "body",
    [
        "<w:tbl><w:tr><w:tc>" * 50_000 + p("deep") + "</w:tc></w:tr></w:tbl>" * 50_000,
        "<w:sdt><w:sdtContent>" * 60 + p("deep") + "</w:sdtContent></w:sdt>" * 60 + p("text"),
        "<w:p/>" * 300_000 + p("text"),
        p("", inner="<w:r><w:t>x</w:t></w:r>" * 100_000),
        table(*[cell(p("x"), '<w:gridSpan w:val="99999"/><w:vMerge w:val="restart"/>') * 2] * 2_000),
        p("", inner=PAGE_BREAK * 100_000) + p("text"),
        p("head", "H2") * 30_000,
    ],
    ids=["tables", "controls", "empty", "runs", "spans", "breaks", "headings"],
)
def test_hostile_documents_end_soon(tmp_path: Path, body: str) -> None:
    path = docx(tmp_path / "a.docx", body)
    start = time.process_time()
    try:
        read_docx(path, 3000)
    except QuaereError as error:
        assert error.hint
    assert time.process_time() - start < 20


@pytest.mark.parametrize(
    ("content", "kind", "says"),
    [
        (b"", CorruptDocument, "empty"),
        (b"hello", CorruptDocument, "not a DOCX"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "WordDocument".encode("utf-16-le"),
            CorruptDocument,
            "2007",
        ),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le"),
            PasswordNeeded,
            "encrypted",
        ),
        (b"PK\x03\x04" + bytes(200), CorruptDocument, "cut short"),
    ],
)
def test_refused(tmp_path: Path, content: bytes, kind: type[QuaereError], says: str) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(content)
    with pytest.raises(kind, match=says) as error:
        read_docx(path, 100)
    assert error.value.hint


def test_damage_anywhere_is_a_typed_error(tmp_path: Path) -> None:
    whole = docx(tmp_path / "whole.docx", p("text " * 300)).read_bytes()
    path = tmp_path / "a.docx"
    for at in range(0, len(whole), 17):
        path.write_bytes(whole[:at] + b"\xff\x00\xff" + whole[at + 3 :])
        try:
            read_docx(path, 100)
        except (CorruptDocument, PasswordNeeded, NoText) as error:
            assert error.hint
        path.write_bytes(whole[:at])
        with pytest.raises(CorruptDocument):
            read_docx(path, 100)


def test_no_text_and_too_many_pages(tmp_path: Path) -> None:
    with pytest.raises(NoText):
        read_docx(docx(tmp_path / "a.docx", p("")), 100)
    with pytest.raises(InvalidInput, match="more than the 2 pages"):
        read_docx(docx(tmp_path / "a.docx", p("text", inner=PAGE_BREAK) * 5), 2)
    with pytest.raises(CorruptDocument, match="not a Word document"):
        with zipfile.ZipFile(tmp_path / "b.docx", "w") as archive:
            archive.writestr("xl/workbook.xml", "<x/>")
        read_docx(tmp_path / "b.docx", 100)
