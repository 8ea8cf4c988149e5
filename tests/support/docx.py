"""DOCX files made by hand: the XML of their parts in a ZIP archive."""

from __future__ import annotations

import zipfile
from pathlib import Path

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
STYLES = """
<w:style w:styleId="T"><w:name w:val="Title"/></w:style>
<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
<w:style w:styleId="H2"><w:name w:val="heading 2"/></w:style>
<w:style w:styleId="Mine"><w:name w:val="My section"/><w:basedOn w:val="H2"/></w:style>
<w:style w:styleId="Loop"><w:name w:val="loop"/><w:basedOn w:val="Loop"/></w:style>
<w:style w:styleId="TOC1"><w:name w:val="toc 1"/></w:style>
<w:style w:styleId="Cap"><w:name w:val="caption"/></w:style>
"""
NUMBERING = """
<w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/>
<w:lvlText w:val="%1."/></w:lvl><w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/>
<w:lvlText w:val="%1.%2)"/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="8"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="x"/></w:lvl>
</w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num>
"""


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def p(text: str = "", style: str = "", inner: str = "", properties: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{properties}</w:pPr>{run(text) if text else ''}{inner}</w:p>"


def item(text: str, number: int, depth: int = 0) -> str:
    return p(text, properties=f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{number}"/></w:numPr>')


def cell(content: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{content}</w:tc>"


def table(*rows: str) -> str:
    return "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in rows) + "</w:tbl>"


def docx(path: Path, body: str, title: str = "", namespace: str = W, prolog: str = "", **parts: str) -> Path:
    """A DOCX file; `parts` are further XML parts by name ('footnotes')."""

    def part(root: str, content: str) -> str:
        return f'{prolog}<w:{root} xmlns:w="{namespace}">{content}</w:{root}>'

    core = (
        '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></cp:coreProperties>'
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", part("document", f"<w:body>{body}</w:body>"))
        archive.writestr("word/styles.xml", part("styles", STYLES))
        archive.writestr("word/numbering.xml", part("numbering", NUMBERING))
        archive.writestr("docProps/core.xml", core)
        for name, content in parts.items():
            archive.writestr(f"word/{name}.xml", part(name, content))
    return path
