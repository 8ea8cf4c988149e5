"""Build the sample papers: samples/src/*.md -> samples/*.pdf.

The papers are invented. The output is the same bytes on every run.
Needs reportlab: pip install reportlab; python samples/make_samples.py
"""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from reportlab.graphics.charts.barcharts import VerticalBarChart
from reportlab.graphics.charts.legends import Legend
from reportlab.graphics.charts.lineplots import LinePlot
from reportlab.graphics.shapes import Drawing, String
from reportlab.lib import colors
from reportlab.lib.enums import TA_CENTER, TA_JUSTIFY
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.platypus import (
    BaseDocTemplate,
    CondPageBreak,
    Frame,
    FrameBreak,
    KeepTogether,
    NextPageTemplate,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
)

HERE = Path(__file__).resolve().parent
PAGE_W, PAGE_H = A4
MARGIN, GAP, TITLE_H = 52, 18, 100
TOP, BOTTOM = PAGE_H - 60, 58
FULL = TOP - BOTTOM
COLUMN = (PAGE_W - 2 * MARGIN - GAP) / 2
NOTICE = "Invented sample paper for Quaere, not real research"

DARK, LIGHT = colors.HexColor("#1f4e79"), colors.HexColor("#c98b2b")

BODY = ParagraphStyle(
    "body", fontName="Times-Roman", fontSize=10, leading=12.2,
    alignment=TA_JUSTIFY, spaceAfter=5, embeddedHyphenation=1,
    allowWidows=0, allowOrphans=0,
)  # fmt: skip
STYLES = {
    "title": ParagraphStyle(
        "title", fontName="Helvetica-Bold", fontSize=16, leading=19.5,
        alignment=TA_CENTER, spaceAfter=7, leftIndent=50, rightIndent=50,
    ),
    "authors": ParagraphStyle(
        "authors", fontName="Times-Roman", fontSize=11, leading=14, alignment=TA_CENTER
    ),
    "affiliation": ParagraphStyle(
        "affiliation", fontName="Times-Italic", fontSize=9.5, leading=12,
        alignment=TA_CENTER,
    ),
    "h2": ParagraphStyle(
        "h2", fontName="Helvetica-Bold", fontSize=11.5, leading=14,
        spaceBefore=7, spaceAfter=4,
    ),
    "h3": ParagraphStyle(
        "h3", fontName="Helvetica-Bold", fontSize=10, leading=12.5,
        spaceBefore=4, spaceAfter=3,
    ),
    "caption": ParagraphStyle(
        "caption", fontName="Times-Roman", fontSize=8.5, leading=10.2,
        spaceBefore=2, spaceAfter=4,
    ),
    "reference": ParagraphStyle(
        "reference", fontName="Times-Roman", fontSize=8.5, leading=10.2,
        leftIndent=15, firstLineIndent=-15, spaceAfter=3,
    ),
}  # fmt: skip
AXES = ("categoryAxis", "valueAxis", "xValueAxis", "yValueAxis")

# Where long words may be broken at a line end.
BREAKS = [
    "ac-cel-er-a-tor", "bio-foul-ing", "com-mer-cial", "con-duc-tiv-ity",
    "con-nec-tion", "con-volu-tional", "fore-casts", "har-monic", "lim-i-ta-tion",
    "mea-sured", "net-work", "pa-ram-e-ters", "pe-riod", "prac-tical", "pre-dicted",
    "pres-sure", "read-ings", "re-current", "re-sid-ual", "sa-lin-ity", "sta-tions",
    "train-ing", "un-der-es-ti-mated", "un-cer-tainty", "val-i-da-tion",
]  # fmt: skip
SOFT = {word.replace("-", ""): word.replace("-", "\u00ad") for word in BREAKS}


class Source(NamedTuple):
    meta: dict[str, str]
    blocks: list[str]


def read_source(path: Path) -> Source:
    """Split a source file into its `key: value` head and its blocks."""
    head, *blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    meta = dict(line.split(": ", 1) for line in head.splitlines())
    return Source(meta, blocks)


# Figures


def chart_frame(title: str) -> Drawing:
    drawing = Drawing(COLUMN, 130)
    drawing.add(String(4, 118, title, fontName="Helvetica", fontSize=7.5))
    return drawing


def style_axes(chart) -> None:
    chart.x, chart.y, chart.width, chart.height = 26, 16, COLUMN - 36, 88
    for axis in (getattr(chart, n, None) for n in AXES):
        if axis is not None:
            axis.labels.fontName, axis.labels.fontSize = "Helvetica", 7


def add_legend(drawing: Drawing, names: list[str]) -> None:
    legend = Legend()
    legend.x, legend.y = COLUMN - 2, 127
    legend.boxAnchor, legend.alignment = "ne", "right"
    legend.fontName, legend.fontSize = "Helvetica", 7
    legend.columnMaximum, legend.dx, legend.dy, legend.deltay = 2, 7, 5, 9
    legend.strokeColor, legend.dxTextSpace = None, 4
    legend.colorNamePairs = list(zip((LIGHT, DARK), names, strict=True))
    drawing.add(legend)


def drift_figure() -> Drawing:
    drawing, plot = chart_frame("Loss of salinity (PSU) by day"), LinePlot()
    style_axes(plot)
    days = range(0, 91, 15)
    fouled = (0, 0.14, 0.31, 0.45, 0.61, 0.78, 0.93)
    cleaned = (0, 0.04, 0.06, 0.10, 0.12, 0.16, 0.18)
    plot.data = [list(zip(days, loss, strict=True)) for loss in (fouled, cleaned)]
    for i, colour in enumerate((LIGHT, DARK)):
        plot.lines[i].strokeColor, plot.lines[i].strokeWidth = colour, 1.5
    plot.xValueAxis.valueMin, plot.xValueAxis.valueMax = 0, 90
    plot.xValueAxis.valueStep = 15
    plot.yValueAxis.valueMin, plot.yValueAxis.valueMax = 0, 1
    plot.yValueAxis.valueStep, plot.yValueAxis.labelTextFormat = 0.25, "%.2f"
    drawing.add(plot)
    add_legend(drawing, ["not cleaned", "cleaned every 21 days"])
    return drawing


def bar_chart(data: list, names: list[str], top: int, step: int) -> VerticalBarChart:
    chart = VerticalBarChart()
    style_axes(chart)
    chart.data, chart.categoryAxis.categoryNames = data, names
    chart.valueAxis.valueMin, chart.valueAxis.valueMax = 0, top
    chart.valueAxis.valueStep = step
    chart.groupSpacing, chart.barSpacing = 8, 1
    chart.barLabels.fontName, chart.barLabels.fontSize = "Helvetica", 6.5
    chart.barLabels.nudge = 5
    for i, colour in enumerate((LIGHT, DARK)):
        chart.bars[i].fillColor, chart.bars[i].strokeColor = colour, None
    return chart


def areas_figure() -> Drawing:
    drawing = chart_frame("Mean absolute error (cm)")
    data = [(4.1, 4.7, 6.5), (2.9, 3.4, 5.1)]
    chart = bar_chart(data, ["Orrin Sound", "Velmar Estuary", "Kettle Bay"], 8, 2)
    chart.barLabelFormat = "%.1f"
    drawing.add(chart)
    add_legend(drawing, ["Egret-2", "HeronNet"])
    return drawing


def alarms_figure() -> Drawing:
    drawing = chart_frame("False alarms per month")
    months = ["Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    chart = bar_chart([(6, 8, 9, 11, 3, 2, 1, 1, 1)], months, 12, 3)
    chart.barLabelFormat = "%d"
    for month in range(4, 9):
        chart.bars[(0, month)].fillColor = DARK
    drawing.add(chart)
    add_legend(drawing, ["before the filter", "with the filter"])
    return drawing


FIGURES = {"drift": drift_figure, "areas": areas_figure, "alarms": alarms_figure}


# Blocks


def soft_hyphens(text: str) -> str:
    return re.sub(r"[a-z]+", lambda m: SOFT.get(m[0], m[0]), text)


def figure(block: str) -> KeepTogether:
    name, caption = block.removeprefix("figure: ").split(" | ")
    drawing, text = FIGURES[name](), Paragraph(caption, STYLES["caption"])
    return KeepTogether([Spacer(1, 4), drawing, text, Spacer(1, 4)])


def table(block: str) -> KeepTogether:
    caption, *lines = block.removeprefix("table: ").splitlines()
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines]
    grid = Table(rows, hAlign="CENTER", rowHeights=13)
    grid.setStyle(
        [
            ("FONT", (0, 0), (-1, -1), "Times-Roman", 8.5),
            ("FONT", (0, 0), (-1, 0), "Times-Bold", 8.5),
            ("ALIGN", (1, 0), (-1, -1), "CENTER"),
            ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
            ("LINEABOVE", (0, 0), (-1, 0), 1, colors.black),
            ("LINEBELOW", (0, 0), (-1, 0), 0.5, colors.black),
            ("LINEBELOW", (0, -1), (-1, -1), 1, colors.black),
        ]
    )
    return KeepTogether([Spacer(1, 2), Paragraph(caption, STYLES["caption"]), grid, Spacer(1, 9)])


def flowables(block: str) -> list:
    """Turn one block of a source file into what reportlab lays out."""
    if block.startswith("### "):
        return [CondPageBreak(45), Paragraph(block[4:], STYLES["h3"])]
    if block.startswith("## "):
        return [CondPageBreak(65), Paragraph(block[3:], STYLES["h2"])]
    if block.startswith("table: "):
        return [table(block)]
    if block.startswith("figure: "):
        return [figure(block)]
    if block.startswith("[1] "):
        return [Paragraph(line, STYLES["reference"]) for line in block.splitlines()]
    return [Paragraph(soft_hyphens(block), BODY)]


# Pages


def columns(top: float, height: float) -> list[Frame]:
    pad = dict.fromkeys([f"{s}Padding" for s in ("left", "right", "top", "bottom")], 0)
    xs, y = (MARGIN, MARGIN + COLUMN + GAP), top - height
    return [Frame(x, y, COLUMN, height, **pad) for x in xs]


def draw_header(meta: dict[str, str]):
    def draw(canvas, doc) -> None:
        canvas.setFont("Times-Italic", 8.5)
        canvas.drawString(MARGIN, PAGE_H - 40, meta["running"])
        canvas.drawRightString(PAGE_W - MARGIN, PAGE_H - 40, meta["venue"])
        canvas.setLineWidth(0.4)
        canvas.line(MARGIN, PAGE_H - 45, PAGE_W - MARGIN, PAGE_H - 45)

    return draw


def draw_footer(canvas, doc) -> None:
    canvas.setFont("Times-Roman", 8.5)
    canvas.drawString(MARGIN, 36, NOTICE)
    canvas.drawRightString(PAGE_W - MARGIN, 36, f"Page {doc.page}")


def page_template(name: str, frames: list[Frame], meta: dict[str, str]) -> PageTemplate:
    return PageTemplate(name, frames, onPage=draw_header(meta), onPageEnd=draw_footer)


def title_block(meta: dict[str, str]) -> list[Paragraph]:
    parts = ("title", "authors", "affiliation")
    return [Paragraph(meta[part], STYLES[part]) for part in parts]


def layout(source: Source, last_height: float) -> tuple[bytes, int]:
    """Lay out a paper whose later pages have columns of `last_height` points.

    Return the PDF and its number of pages.
    """
    meta, buffer = source.meta, BytesIO()
    title = Frame(MARGIN, TOP - TITLE_H, PAGE_W - 2 * MARGIN, TITLE_H)
    first = [title, *columns(TOP - TITLE_H, FULL - TITLE_H)]
    doc = BaseDocTemplate(
        buffer, pagesize=A4, invariant=1, title=meta["title"], author=meta["authors"],
        subject=NOTICE, keywords=meta["keywords"], creator="samples/make_samples.py",
    )  # fmt: skip
    doc.addPageTemplates(
        [
            page_template("first", first, meta),
            page_template("rest", columns(TOP, last_height), meta),
        ]
    )
    story = [*title_block(meta), NextPageTemplate("rest"), FrameBreak()]
    doc.build(story + [part for block in source.blocks for part in flowables(block)])
    return buffer.getvalue(), doc.page


def build(path: Path) -> Path:
    """Write the PDF of one source file, its last page in even columns."""
    source, out = read_source(path), HERE / f"{path.stem}.pdf"
    for height in range(240, int(FULL), 10):
        pdf, pages = layout(source, height)
        if pages == 2:
            out.write_bytes(pdf)
            return out
    raise SystemExit(f"{path.name} does not fit on two pages")


def main() -> None:
    for path in sorted((HERE / "src").glob("*.md")):
        out = build(path)
        print(f"{out.name}: {out.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
