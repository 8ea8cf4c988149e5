"""HTML: what a reader of the page sees, in blocks, and nothing else."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from core.errors import CorruptDocument, InvalidInput, NoText, QuaereError
from ingest.formats.html import read_html
from ingest.pdf import ParsedDocument
from tests.support.parsed import anchors, blocks, page_texts


def html(folder: Path, body: str | bytes, head: str = "", max_pages: int = 3000) -> ParsedDocument:
    path = folder / "a.html"
    content = (
        body if isinstance(body, bytes) else f"<!doctype html><html><head>{head}</head><body>{body}</body>".encode()
    )
    path.write_bytes(content)
    return read_html(path, max_pages)


def test_blocks_and_inline_text(tmp_path: Path) -> None:
    parsed = html(
        tmp_path,
        "<h1>On <i>Gulls</i></h1><p>The <b>gull</b>\n eats <a href='http://x.org/secret'>fish</a> &amp; bread,\n"
        "10<sup>-3</sup> kg of H<sub>2</sub>O.<p>Next<br>line<ul><li>one<li>two<ol start=3><li>three</ol></ul>"
        "<blockquote>Said by Ada.</blockquote><pre>def f():\n    return 1\n</pre><dl><dt>gull<dd>a bird</dl>",
        head="<title>Gulls &ndash; a study</title>",
    )
    assert parsed.title == "Gulls – a study"
    assert blocks(parsed) == [
        ("heading", "On Gulls"),
        ("text", "The gull eats fish & bread, 10⁻³ kg of H₂O."),
        ("text", "Next\nline"),
        ("list", "- one"),
        ("list", "- two"),
        ("list", "3. three"),
        ("text", "Said by Ada."),
        ("text", "def f():\n    return 1"),
        ("text", "gull"),
        ("text", "a bird"),
    ]


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>SECRET</script>",
        "<style>SECRET</style>",
        "<noscript>SECRET</noscript>",
        "<template><p>SECRET</p></template>",
        "<nav><a href='/'>SECRET</a></nav>",
        "<div role='navigation'>SECRET</div>",
        "<div hidden>SECRET</div>",
        "<div style='color:red; display : none'><p>SECRET</p></div>",
        "<span aria-hidden='true'>SECRET</span>",
        "<!-- SECRET -->",
        "<p><!-- SECRET --></p>",
        "<footer>SECRET</footer>",
        "<select><option>SECRET</option></select>",
        "<a class='headerlink' href='#x'>SECRET</a>",
        "<svg><text>SECRET</text></svg>",
        "<iframe>SECRET</iframe>",
        "<?php SECRET ?>",
    ],
)
def test_what_nobody_sees_is_dropped(tmp_path: Path, hidden: str) -> None:
    parsed = html(tmp_path, f"<p>Before {hidden} after.</p><p>Then {hidden}</p>tail")
    text = "\n".join(page_texts(parsed))
    assert "SECRET" not in text
    assert [word for word in ("Before", "after.", "Then", "tail") if word in text] == [
        "Before",
        "after.",
        "Then",
        "tail",
    ]


def test_a_table_has_its_spans_resolved_and_one_header(tmp_path: Path) -> None:
    parsed = html(
        tmp_path,
        "<table id=t1><caption>Table 1. <b>Errors</b></caption>"
        "<thead><tr><th rowspan=2>Model<th colspan=2>Error<tr><th>cm<th>percent</thead>"
        "<tr><td rowspan=2>Heron<td>1<td>2<tr><td>3<td>4"
        "<tr><td colspan=3>At night<tr hidden><td>SECRET<tr><td>Egret<td><p>5<p>cm<td></table>",
    )
    assert blocks(parsed) == [
        ("caption", "Table 1. Errors"),
        ("table", "Model | Error cm | Error percent\nHeron | 1 | 2\nHeron | 3 | 4\nAt night\nEgret | 5 cm |"),
    ]
    assert anchors(parsed) == [["t1"]]


def test_a_table_that_only_places_blocks_is_no_table(tmp_path: Path) -> None:
    parsed = html(
        tmp_path,
        "<table><tr><td><h1>Gulls</h1><p>They fly.</td>"
        "<td><table><tr><th>a<th>b<tr><td>1<td>2</table></td></tr></table>",
    )
    assert blocks(parsed) == [("heading", "Gulls"), ("text", "They fly."), ("table", "a | b\n1 | 2")]


def test_pages_and_the_nearest_ids(tmp_path: Path) -> None:
    parsed = html(
        tmp_path,
        "<h1>Gulls</h1><p>Intro.</p><section id=methods><h2>Methods</h2><p>We <span id=word>counted</span>.</p>"
        "<div id=sites><p>At two sites.</p></div></section>"
        "<h2><span id=results>Results</span><a class=headerlink href=#results>¶</a></h2><p>Few gulls.</p>"
        "<h2>Thanks</h2><p>To Ada.</p>",
    )
    assert page_texts(parsed) == [
        "Gulls\nIntro.",
        "Methods\nWe counted.\nAt two sites.",
        "Results\nFew gulls.",
        "Thanks\nTo Ada.",
    ]
    assert anchors(parsed) == [[], ["methods", "sites"], ["results"], ["results"]]
    assert parsed.pages[1].anchor_at(parsed.pages[1].text.index("two sites")) == "sites"


def test_marks_of_footnotes_go_and_footnotes_stay(tmp_path: Path) -> None:
    parsed = html(
        tmp_path, "<p>It flies.<sup><a href='#fn1'>[1]</a></sup> It lands.</p><ol><li id=fn1>Up to 90 km.</ol>"
    )
    assert blocks(parsed) == [("text", "It flies. It lands."), ("list", "1. Up to 90 km.")]


def test_formulas(tmp_path: Path) -> None:
    parsed = html(
        tmp_path,
        "<p>Let <math alttext='x^2'><mi>x</mi><mn>2</mn></math> be, and <math><semantics><mi>y</mi>"
        "<annotation encoding='application/x-tex'>y_1</annotation></semantics></math>.</p>",
    )
    assert blocks(parsed) == [("text", "Let $x^2$ be, and $y_1$.")]


@pytest.mark.parametrize(
    ("encoding", "declared", "text"),
    [
        ("utf-8", "", "naïve façade"),
        ("utf-16", "", "naïve façade"),
        ("gb18030", "<meta charset=gb2312>", "潮汐站的水位记录"),
        (
            "shift_jis",
            '<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS">',
            "水位の予測を研究する",
        ),
        ("iso-8859-1", "<meta charset=iso-8859-1>", "naïve façade"),
        ("utf-8", "<meta charset=iso-8859-1>", "naïve façade"),
        ("cp1252", "<meta charset=no-such-thing>", "“naïve” façade"),
    ],
)
def test_encodings(tmp_path: Path, encoding: str, declared: str, text: str) -> None:
    parsed = html(tmp_path, f"<html><head>{declared}<title>t</title></head><body><p>{text}</p>".encode(encoding))
    assert page_texts(parsed) == [text]


def test_xhtml_with_entities_of_its_own_opens_no_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("SECRET")
    parsed = html(
        tmp_path,
        f'<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html [<!ENTITY x SYSTEM "file://{secret}">]>'
        f'<html xmlns="http://www.w3.org/1999/xhtml"><body><p>Text &x; here &eacute;.</p></body></html>'.encode(),
    )
    assert "SECRET" not in parsed.pages[0].text and "here é." in parsed.pages[0].text


DEEP = 100_000


@pytest.mark.parametrize(
    "body",
    [
        "<div>" * DEEP + "deep" + "</div>" * DEEP,
        "<div><p>x" * DEEP,
        "<b>" * DEEP + "x",
        "<ul><li>x" * DEEP,
        "<table><tr><td>" * DEEP + "x",
        "<h1>a" * DEEP,
        "<table>" + "<tr><td rowspan=65534 colspan=1000>x" * 5_000 + "</table>",
        "<table>" + "<tr>" * DEEP + "</table>",
        "<p>" + "<a id=x>" * DEEP,
        "<" * DEEP,
        "<p>" + "<a id=x></a> " * DEEP,
        "<sup><a href=#x>" * 1_000 + "word <i>word</i> " * DEEP,
        "<p>" + "x<br>" * DEEP,
        "<img alt=x>" * DEEP,
        "<!--" * DEEP,
        "&" * DEEP + "&#xffffffff;&#0;&#xd800;",
        "<p " + "a=b " * DEEP + ">x",
    ],
    ids=lambda body: body[:20],
)
def test_hostile_html_ends_soon(tmp_path: Path, body: str) -> None:
    start = time.process_time()
    try:
        html(tmp_path, f"<p>First.</p>{body}")
    except QuaereError as error:
        assert error.hint
    assert time.process_time() - start < 15


def test_what_is_nested_too_deep_is_a_gap(tmp_path: Path) -> None:
    parsed = html(tmp_path, "<p>First.</p>" + "<div>" * DEEP + "deep" + "</div>" * DEEP)
    assert page_texts(parsed) == ["First."] and "nested too deep" in parsed.gaps[0].reason
    assert html(tmp_path, "<div>" * 1500 + "deep").gaps == ()


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", CorruptDocument),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4, CorruptDocument),
        (b"<html><script>only();</script></html>", NoText),
        (b"<!-- -->", NoText),
        (b"<html><body>" + b"<p>words of a page</p>" * 9000, InvalidInput),
    ],
)
def test_refused(tmp_path: Path, content: bytes, kind: type[QuaereError]) -> None:
    with pytest.raises(kind) as error:
        html(tmp_path, content, max_pages=3)
    assert error.value.hint
