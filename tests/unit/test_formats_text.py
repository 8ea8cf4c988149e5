"""Markdown and plain text: blocks, pages and anchors, encodings, and what is refused."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from core.errors import CorruptDocument, InvalidInput, NoText
from ingest.formats.markdown import read_markdown
from ingest.formats.plain import read_plain
from ingest.pdf import ParsedDocument
from tests.support.parsed import anchors, blocks, page_texts

PROSE = "The gulls of the harbour were counted for nine months, in wind and in rain, and none was counted twice."


def markdown(folder: Path, text: str, max_pages: int = 3000) -> ParsedDocument:
    path = folder / "a.md"
    path.write_text(text, encoding="utf-8")
    return read_markdown(path, max_pages)


def plain(folder: Path, content: str | bytes, max_pages: int = 3000) -> ParsedDocument:
    path = folder / "a.txt"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_plain(path, max_pages)


# --- Markdown


def test_markdown_blocks(tmp_path: Path) -> None:
    parsed = markdown(
        tmp_path,
        "# Gulls\n\nThe *gull* eats `fish` &amp; [bread](http://x.org/secret).\nIt flies.\n\n"
        "- one\n- two\n  1. three\n  2. four\n\n> Said by Ada.\n\n"
        "| bird | mass |\n|---|--:|\n| gull | 1 kg |\n| **tern** | 0.1 kg |\n\n"
        "```python\ndef f():\n    return 1\n```\n",
    )
    assert blocks(parsed) == [
        ("heading", "Gulls"),
        ("text", "The gull eats fish & bread. It flies."),
        ("list", "- one"),
        ("list", "- two"),
        ("list", "1. three"),
        ("list", "2. four"),
        ("text", "Said by Ada."),
        ("table", "bird | mass\ngull | 1 kg\ntern | 0.1 kg"),
        ("text", "def f():\n    return 1"),
    ]
    assert "secret" not in parsed.pages[0].text and len(parsed.pages[0].boxes) == 0


def test_a_footnote_stands_behind_what_refers_to_it(tmp_path: Path) -> None:
    parsed = markdown(tmp_path, "It flies[^far]. It lands.\n\nNext.\n\n[^far]: Up to *90* km.\n\n[^odd]: Never used.\n")
    assert blocks(parsed) == [
        ("text", "It flies. It lands."),
        ("footnote", "[far] Up to 90 km."),
        ("text", "Next."),
    ]


def test_formulas_stay_as_they_are_written(tmp_path: Path) -> None:
    parsed = markdown(tmp_path, "Let $a_1 * b_2 * c$ be given, for $5 and $6.\n\n$$\nx_1 * y_2\n$$\n")
    assert blocks(parsed) == [("text", "Let $a_1 * b_2 * c$ be given, for $5 and $6."), ("text", "x_1 * y_2")]


def test_html_in_markdown_is_read_as_html(tmp_path: Path) -> None:
    parsed = markdown(
        tmp_path,
        "<!-- a comment -->\n<script>alert(1)</script>\n\n<div><p>Seen <b>here</b></p></div>\n\n"
        "Text <span style='x'>inside</span><br>next <!-- not this -->line\n\n"
        "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>\n",
    )
    assert blocks(parsed) == [("text", "Seen here"), ("text", "Text inside\nnext line"), ("table", "a | b\n1 | 2")]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: 'On Gulls'\ntags: [a, b]\n---\n# Other\n\nText.", "On Gulls"),
        ('+++\ntitle = "On Gulls"\n+++\n\nText.', "On Gulls"),
        ("---\ndate: 2020-01-01\n---\n# On Gulls\n\nText.", "On Gulls"),
        ("On Gulls\n========\n\nText.", "On Gulls"),
        ("Text.\n\n---\n\nMore text.", ""),
    ],
)
def test_the_title(tmp_path: Path, text: str, title: str) -> None:
    parsed = markdown(tmp_path, text)
    assert parsed.title == title
    assert "tags" not in parsed.pages[0].text and "date:" not in parsed.pages[0].text


def test_a_page_for_each_section_with_its_anchor(tmp_path: Path) -> None:
    parsed = markdown(
        tmp_path,
        f"# On Gulls\n\n{PROSE}\n\n## What We Did\n\n{PROSE}\n\n### Results: part 1\n\n{PROSE}\n\n"
        f"## Results {{#out}}\n\n{PROSE}\n\n## Results\n\n{PROSE}\n",
    )
    assert [text.split("\n")[0] for text in page_texts(parsed)] == ["On Gulls", "What We Did", "Results", "Results"]
    assert anchors(parsed) == [["on-gulls"], ["what-we-did", "results-part-1"], ["out"], ["results"]]
    second = parsed.pages[1]
    assert second.anchor_at(second.text.index("Results: part 1")) == "results-part-1"
    assert second.anchor_at(20) == "what-we-did"


def test_a_long_section_is_cut_evenly_and_keeps_its_anchor(tmp_path: Path) -> None:
    parsed = markdown(tmp_path, "# One\n\n" + f"{PROSE}\n\n" * 100 + "# Two\n\nEnd.\n")
    lengths = [len(text) for text in page_texts(parsed)]
    assert lengths[-1] < 20 and all(2000 < length < 4000 for length in lengths[:-1])
    assert parsed.pages[2].anchor_at(0) == "one" and parsed.pages[-1].anchor_at(0) == "two"


def test_a_long_table_repeats_its_header_on_each_page(tmp_path: Path) -> None:
    rows = "\n".join(f"| {n} | {'x' * 40} |" for n in range(300))
    parsed = markdown(tmp_path, f"| number | value |\n|---|---|\n{rows}\n")
    assert len(parsed.pages) > 3
    assert all(text.startswith("number | value\n") for text in page_texts(parsed))


def test_references_are_marked(tmp_path: Path) -> None:
    parsed = markdown(tmp_path, "# A\n\nText.\n\n## References\n\n- Ada 1843. Notes.\n\n## Thanks\n\nMore.\n")
    assert [kind for kind, _ in blocks(parsed)] == ["heading", "text", "heading", "reference", "heading", "text"]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        "![[" * 60_000,
        "> " * 50_000 + "x",
        "- " * 50_000 + "x",
        "# a\n" * 20_000,
        "*a **a " * 30_000,
        "<div>" * 50_000 + "\n\nx",
        "`" * 100_000,
        "^[" * 50_000,
        "| a " * 5_000 + "|\n" + "|---" * 5_000 + "|\n| b |\n",
    ],
    ids=lambda text: text[:6],
)
def test_hostile_markdown_ends(tmp_path: Path, text: str) -> None:
    start = time.process_time()
    try:
        markdown(tmp_path, f"{text}\n\nThe end.")
    except (NoText, InvalidInput) as error:
        assert error.hint
    assert time.process_time() - start < 15


# --- plain text


def test_wrapped_lines_are_joined_and_verses_are_not(tmp_path: Path) -> None:
    parsed = plain(
        tmp_path,
        "ON GULLS\n\nThe gulls of the harbour were counted for nine months of work and\n"
        "it was found that the harbour had far fewer gulls than the fisher-\nmen had said.\n\n"
        "Gull on the sea\nGull in the air\n\n- one that\n  goes on\n- two\n\nbird    mass\ngull    1 kg\n",
    )
    assert parsed.title == "ON GULLS"
    assert [text for _, text in blocks(parsed)] == [
        "ON GULLS",
        "The gulls of the harbour were counted for nine months of work and it was found that the harbour had far "
        "fewer gulls than the fishermen had said.",
        "Gull on the sea\nGull in the air",
        "- one that goes on",
        "- two",
        "bird    mass\ngull    1 kg",
    ]


def test_headings_of_plain_text(tmp_path: Path) -> None:
    parsed = plain(
        tmp_path,
        f"Gulls\n=====\n\n{PROSE}\n\n1. Introduction\n\n{PROSE}\n\n1.1 Aims\n\n{PROSE}\n\n2. Methods\n\n{PROSE}\n\n"
        "1. buy bread\n\n2. buy milk\n\n3. go home\n",
    )
    found = [(block.level, text) for block, (_, text) in zip(parsed.blocks, blocks(parsed), strict=True) if block.level]
    assert found == [(1, "Gulls"), (1, "1. Introduction"), (2, "1.1 Aims"), (1, "2. Methods")]
    assert parsed.pages[1].anchor_at(0) == "L6"


def test_form_feeds_are_page_breaks(tmp_path: Path) -> None:
    parsed = plain(tmp_path, "first page\n\f\nsecond page\n\n1. Heading\n\ntext\n\fthird page")
    assert page_texts(parsed) == ["first page", "second page\n1. Heading\ntext", "third page"]


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", "naïve façade – 27 % fewer gulls"),
        ("utf-8-sig", "naïve façade"),
        ("utf-16", "naïve façade"),
        ("utf-16-le", "Gulls were counted in the harbour."),
        ("utf-16-be", "Gulls were counted in the harbour."),
        ("utf-32", "naïve façade"),
        ("gb18030", "本文研究了潮汐站的水位记录。结果表明，误差降低了百分之二十七。"),
        ("shift_jis", "この論文では、水位の予測を研究する。誤差は二十七パーセント低い。"),
        ("iso2022_jp", "この論文では、水位の予測を研究する。"),
        ("cp1252", "Die Größe der Möwen überrascht: “schön” – über 20 €."),
        ("latin-1", "El niño comió piñas en la montaña."),
        ("cp1251", "В этой работе изучается уровень воды в гавани."),
    ],
)
def test_encodings(tmp_path: Path, encoding: str, text: str) -> None:
    assert page_texts(plain(tmp_path, text.encode(encoding))) == [text]


def test_a_few_broken_bytes_do_not_make_it_another_encoding(tmp_path: Path) -> None:
    content = ("Die Größe der Möwen. " * 20).encode() + b"\xff" + b"Ende."
    assert "Größe der Möwen" in plain(tmp_path, content).pages[0].text


@pytest.mark.parametrize(
    "content",
    [
        os.urandom(5000),
        b"\x7fELF\x02\x01\x01" + bytes(300),
        b"\x89PNG\r\n\x1a\n" + os.urandom(300),
        bytes(range(256)) * 4,
    ],
    ids=["random", "elf", "png", "bytes"],
)
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(CorruptDocument, match="not text") as error:
        plain(tmp_path, content)
    assert error.value.hint


@pytest.mark.parametrize("read", [plain, markdown])
def test_empty_and_blank(tmp_path: Path, read) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(CorruptDocument, match="empty"):
        read(tmp_path, "")
    with pytest.raises(NoText):
        read(tmp_path, "\n \t\n")


def test_too_many_pages(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="more than the 2 pages"):
        plain(tmp_path, f"{PROSE}\n\n" * 90, max_pages=2)
    with pytest.raises(InvalidInput, match="more than 2 pages"):
        markdown(tmp_path, PROSE * 1000, max_pages=2)


def test_long_texts_take_time_in_proportion(tmp_path: Path) -> None:
    start = time.process_time()
    plain(tmp_path, ("A line of the text that is wrapped some-\nwhere in a word of the lan-\n" * 12_000))
    plain(tmp_path, "é" * 400_000 + "\n" + "a-" * 200_000)
    assert time.process_time() - start < 15


def test_one_endless_line(tmp_path: Path) -> None:
    parsed = plain(tmp_path, "x" * 50_000)
    assert sum(map(len, page_texts(parsed))) == 50_000 and max(map(len, page_texts(parsed))) <= 4000
