"""Tables of a document: found by rules and by white space, their captions, and those that go on over pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from core.text import text_of
from core.types import Block, Box, Cell, Page, Span, Table, TableRow
from ingest import plausible
from ingest.aligned import grid_of
from ingest.captions import Caption, captions_of
from ingest.drawing import Drawing
from ingest.grids import Edge, Grid, GridCell, Rules, complete, fill, grids_of, merged_edges, rules_of, touches
from ingest.regions import aligned_blocks, between_rules, goes_on_below, inside
from ingest.words import Word, around, spans_of, text_of_words

_NEAR = 45.0  # points between a table and its caption at most
_OPEN = 8.0  # points that a rule goes on beyond the cells that it closes: the table is wider than they are
_SAME_COLUMN = 6.0  # points that a column may move from one page to the next
_WHOLE = 0.97  # share of the page's width: a background, whose edges are no rules
_EDGE = 0.09  # share of the page's height, above and below, where a line beside the table is no text between two


@dataclass(frozen=True)
class Found:
    """A table of one page, before it is joined to that of the next."""

    page: Page
    grid: Grid
    caption: Caption | None
    opens_page: bool  # nothing stands above it
    ends_page: bool


def find_tables(
    pages: Sequence[Page],
    blocks: Sequence[Block],
    drawings: Sequence[Drawing],
    words: Sequence[Sequence[Word]],
    pictures: Sequence[Sequence[Box]],
) -> tuple[Table, ...]:
    """Tables in the order of pages, and on a page from the top. 1 to 10 ms a page.

    Of each page there are its drawing, its words, and the boxes of its figures: what is in one is no table of its own.
    """
    by_page: dict[int, list[Block]] = {}
    for block in blocks:
        by_page.setdefault(block.span.page, []).append(block)
    runs: list[list[Found]] = []
    for page, drawing, held, boxes in zip(pages, drawings, words, pictures, strict=True):
        before = runs[-1][-1] if runs else None
        for found in tables_of_page(page, by_page.get(page.number, []), drawing, held, boxes):
            if before is not None and _goes_on(before, found):
                runs[-1].append(found)
            else:
                runs.append([found])
    return tuple(_table(run) for run in runs if len(run) > 1 or run[0].grid.rows > 1)


def tables_of_page(
    page: Page, blocks: Sequence[Block], drawing: Drawing, words: Sequence[Word], pictures: Sequence[Box]
) -> list[Found]:
    """From the top. One of a single row is among them where it may go on from the page before, or on the next."""
    if not words:
        return []
    captions = captions_of(page, blocks)
    edges = merged_edges(drawing)
    grids = _ruled(page, words, edges)
    grids += _open(page, words, rules_of(edges), captions, [grid.box for grid in grids])
    named = [caption for caption in captions if caption.kind == "table"]
    grids = [g for g in grids if _captioned(g.box, named)[0] or not any(_lies_in(g.box, box) for box in pictures)]
    grids += _loose(page, words, captions, [*drawing.images, *pictures, *(grid.box for grid in grids)])
    grids.sort(key=lambda grid: (round(grid.box[1]), grid.box[0]))
    tied = _tied([grid.box for grid in grids], named)
    return [_found(page, words, grid, tied.get(number)) for number, grid in enumerate(grids)]


# --- where they are


def _ruled(page: Page, words: Sequence[Word], edges: Sequence[Edge]) -> list[Grid]:
    rules = rules_of(edges)
    found = []
    for grid in grids_of(edges):
        fill(grid, page, words)
        at_edge = grid.box[1] < 0.2 * page.height or grid.box[3] > 0.8 * page.height
        lone = grid.rows == 1 and grid.columns > 1 and at_edge
        if not (plausible.is_ruled_table(grid) or lone) or not _is_closed(grid, rules):
            continue
        if not goes_on_below(words, rules, grid.box):
            complete(grid)
            fill(grid, page, words)
            found.append(grid)
    return found


def _is_closed(grid: Grid, rules: Rules) -> bool:
    """Whether the cells end where the rules above and below them end."""
    left, top, right, bottom = grid.box
    return not any(
        min(abs(rule[1] - top), abs(rule[1] - bottom)) < 3
        and rule[0] < right
        and rule[2] > left
        and (rule[0] < left - _OPEN or rule[2] > right + _OPEN)
        for rule in rules.across
    )


def _open(
    page: Page, words: Sequence[Word], rules: Rules, captions: Sequence[Caption], taken: Sequence[Box]
) -> list[Grid]:
    found: list[Grid] = []
    boxes = [*taken]
    for region in between_rules(page, words, rules, captions, boxes):
        background = region.box[2] - region.box[0] > _WHOLE * page.width
        if background or any(touches(region.box, box) for box in boxes):
            continue
        grid = grid_of(page, inside(words, region.box), region)
        if grid and plausible.is_open_table(page, grid, *_captioned(region.box, captions)):
            found.append(grid)
            boxes.append(grid.box)
    return found


def _lies_in(box: Box, picture: Box) -> bool:
    """With its middle, and not much the larger one."""
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return (
        picture[0] <= x <= picture[2]
        and picture[1] <= y <= picture[3]
        and box[3] - box[1] < 1.3 * (picture[3] - picture[1])
    )


def _loose(page: Page, words: Sequence[Word], captions: Sequence[Caption], taken: Sequence[Box]) -> list[Grid]:
    kept = [*taken, *(caption.box for caption in captions)]
    free = [word for word in words if not any(touches(word.box, box) for box in kept)]
    found: list[Grid] = []
    for region in aligned_blocks(free):
        grid = grid_of(page, inside(free, region.box), region)
        if grid and plausible.is_loose_table(page, grid, *_captioned(region.box, captions)):
            found.append(grid)
    return found


def _captioned(box: Box, captions: Sequence[Caption]) -> tuple[bool, bool]:
    """(whether a table's caption is near, whether a figure's is nearer)"""
    near: dict[str, float] = {}
    for caption in captions:
        near[caption.kind] = min(near.get(caption.kind, _NEAR), _distance(box, caption))
    table, figure = near.get("table", _NEAR), near.get("figure", _NEAR)
    return table < _NEAR, figure < table


def _distance(box: Box, caption: Caption) -> float:
    """Points between a table and a caption above or below it; without end where the one is not above the other."""
    left, top, right, bottom = caption.box
    if min(box[2], right) - max(box[0], left) < 0.3 * min(box[2] - box[0], right - left):
        return float("inf")
    return max(box[1] - bottom, top - box[3], 0.0)


def _tied(boxes: Sequence[Box], captions: Sequence[Caption]) -> dict[int, Caption]:
    """Each table with a caption of its own: those above, those below or the nearest, whichever ties the most."""
    ways = [_tied_by(boxes, captions, side) for side in ("any", "above", "below")]
    return max(ways, key=lambda way: (len(way), -sum(_distance(boxes[n], caption) for n, caption in way.items())))


def _tied_by(boxes: Sequence[Box], captions: Sequence[Caption], side: str) -> dict[int, Caption]:
    pairs = sorted(
        (_distance(box, caption), number, at)
        for number, box in enumerate(boxes)
        for at, caption in enumerate(captions)
        if _distance(box, caption) < _NEAR and (side == "any" or (caption.box[1] < box[1]) == (side == "above"))
    )
    found: dict[int, Caption] = {}
    used: set[int] = set()
    for _, number, at in pairs:
        if number not in found and at not in used:
            found[number] = captions[at]
            used.add(at)
    return found


def _found(page: Page, words: Sequence[Word], grid: Grid, caption: Caption | None) -> Found:
    own = {id(word) for cell in grid.cells for word in cell.words}
    high, low = page.height * _EDGE, page.height * (1 - _EDGE)
    skip = caption.box if caption else (0.0, 0.0, 0.0, 0.0)
    others = [w for w in words if id(w) not in own and not touches(w.box, skip) and not touches(w.box, grid.box)]
    return Found(
        page=page,
        grid=grid if grid.header >= 0 else replace(grid, header=_header_rows(page, grid)),
        caption=caption,
        opens_page=not any(high < w.box[3] < grid.box[1] + 1 for w in others),
        ends_page=not any(grid.box[3] - 1 < w.box[1] < low for w in others),
    )


# --- heads


def _header_rows(page: Page, grid: Grid) -> int:
    """Of a ruled table: its first row where that names what stands below; more while a head goes over columns."""
    at = grid.at()
    count = 0
    while count + 1 < max(grid.rows, 2):  # a lone row is a header whose table goes on on the next page
        row = [at[count, column] for column in range(grid.columns) if (count, column) in at]
        cells = list({id(cell): cell for cell in row}.values())
        texts = [text_of_words(page, cell.words) for cell in cells if cell.words]
        numbers = sum(plausible.is_number(text) for text in texts)
        if not texts or 2 * numbers > len(texts) or (count == 0 and len(texts) < 2):
            break
        deep = max(cell.row + cell.rows for cell in cells)
        groups = any(1 < cell.columns < grid.columns for cell in cells)
        count += 1
        if not groups and deep <= count:
            break
    return count


# --- going on over pages


def _goes_on(above: Found, below: Found) -> bool:
    """Whether the second is the first one's rest: next page, nothing between, the same columns, no new caption."""
    if below.page.number != above.page.number + 1 or not (above.ends_page and below.opens_page):
        return False
    caption = below.caption
    if caption and not caption.continued and (above.caption is None or caption.label != above.caption.label):
        return False
    one, other = _edges(above.grid), _edges(below.grid)
    return len(one) == len(other) and all(abs(a - b) < _SAME_COLUMN for a, b in zip(one, other, strict=True))


def _edges(grid: Grid) -> list[float]:
    lefts = [[cell.box[0] for cell in grid.cells if cell.column == column] for column in range(grid.columns)]
    return [min(places) for places in lefts if places]


# --- to values


def _table(run: Sequence[Found]) -> Table:
    first = run[0]
    head = _texts(first.page, first.grid)[: first.grid.header]
    rows: list[TableRow] = []
    for found in run:
        again = found is not first and _texts(found.page, found.grid)[: len(head)] == head
        count = found.grid.header if found is first else len(head) if again else 0
        rows += _rows(found, count)
    caption = next((found for found in run if found.caption), None)
    spans = _caption_spans(caption) if caption else ()
    return Table(
        page=first.page.number,
        boxes=tuple((found.page.number, found.grid.box) for found in run),
        rows=tuple(rows),
        caption=text_of(spans, {caption.page.number: caption.page.text}) if caption else "",
        caption_spans=spans,
    )


def _texts(page: Page, grid: Grid) -> list[list[str]]:
    at = grid.at()
    return [
        [text_of_words(page, at[row, column].words) if (row, column) in at else "" for column in range(grid.columns)]
        for row in range(grid.rows)
    ]


def _caption_spans(found: Found) -> tuple[Span, ...]:
    """The caption up to the first word of the table, where a block holds both."""
    if found.caption is None:
        return ()
    start, end = found.caption.start, found.caption.end
    end = min([end, *(w.start for cell in found.grid.cells for w in cell.words if start < w.start < end)])
    end = start + len(found.page.text[start:end].rstrip())
    return (Span(page=found.page.number, start=start, end=end),)


def _rows(found: Found, heads: int) -> Iterator[TableRow]:
    page, grid = found.page, found.grid
    at = grid.at()
    made = {id(cell): _cell(page, cell) for cell in grid.cells}
    for row in range(grid.rows):
        cells = []
        for column in range(grid.columns):
            owner = at.get((row, column))
            if owner is None:
                cells.append(Cell(text="", box=grid.box))
                continue
            cell = made[id(owner)]
            cells.append(cell if (owner.row, owner.column) == (row, column) else _again(cell))
        own = [cell for cell in grid.cells if cell.row == row] or [at[row, c] for c in range(grid.columns)]
        yield TableRow(
            page=page.number,
            box=around(cell.box for cell in own),
            cells=tuple(cells),
            spans=spans_of(page, [word for cell in own for word in cell.words]),
            is_header=row < heads,
        )


def _cell(page: Page, cell: GridCell) -> Cell:
    return Cell(text=text_of_words(page, cell.words), box=cell.box, spans=spans_of(page, cell.words))


def _again(cell: Cell) -> Cell:
    return cell.model_copy(update={"repeated": True})
