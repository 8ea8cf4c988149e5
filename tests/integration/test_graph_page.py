"""The graph's pages in a real browser: over a scripted library, with names that look like markup."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from core.errors import LibraryBusy, NotFound
from core.graph import Entity, GraphData, GraphResult, GraphView, Relation
from core.types import Filter, PageView
from graph.asking.names import index_of
from graph.view import view_of
from tests.support.browser import NO_WEBGL, browsing, expect, served
from tests.support.fake_graph import evidence, row
from tests.support.fake_merges import MERGE
from tests.support.fake_service import QUOTE, FakeService

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.integration
HOSTILE = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script> ${window.hacked=1} {{x}} \"'`"
ENTITIES = (
    Entity(id="heron", name="HeronNet", type="Model", mentions=3),
    Entity(id="atlas", name="Atlas", type="Dataset", mentions=2),
    Entity(id="egret", name="Egret-2", type="Model", mentions=1),
    Entity(id="bad", name=HOSTILE, type=HOSTILE, mentions=1),
    Entity(id="alone", name="Tern", mentions=1),
    Entity(id="end", name="Gull", mentions=1),
)


def said(subject: str, relation: str, target: str) -> Relation:
    return Relation(subject=subject, relation=relation, object=target, triples=("t",), documents=("d",))


RELATIONS = (
    said("heron", "TRAINED_ON", "atlas"),
    said("heron", "OUTPERFORMS", "egret"),
    said("egret", "COMPARED_WITH", "heron"),
    said("bad", HOSTILE, "heron"),
    said("heron", "USES", "heron"),
    said("alone", "USES", "end"),
)


class Drawn(FakeService):
    """A library whose graph is ENTITIES and RELATIONS."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.data = GraphData(version="1", entities=ENTITIES, relations=RELATIONS)
        self.limits: list[Sequence[str]] = []

    async def graph_view(
        self,
        entity: str = "",
        *,
        hops: int = 1,
        limit: int = 300,
        documents: Sequence[str] = (),
        filters: Filter | None = None,
    ) -> GraphView:
        self.limits.append(tuple(documents))
        if "graph_view" in self.fail:
            raise self.fail["graph_view"]
        around = [item for item in self.data.entities if item.id == entity] or index_of(self.data).entities(entity)
        if entity and not around:
            raise NotFound(f"no entity is called {entity!r}")
        return view_of(self.data, around, hops=hops, limit=limit)

    async def entities(self, query: str = "", *, limit: int = 50) -> list[Entity]:
        return [item for item in self.data.entities if query.casefold() in item.name.casefold()][:limit]

    async def query_graph(self, question: str = "", *, entity: str = "", **_: object) -> GraphResult:
        by_id = {item.id: item for item in self.data.entities}
        document = next(iter(self.documents.values()))
        quote = evidence(QUOTE if entity != "bad" else HOSTILE).model_copy(
            update={"document_id": document.id, "document": document.name}
        )
        rows = [
            row(by_id[found.subject], found.relation, by_id[found.object], quote)
            for found in self.data.relations
            if entity in (found.subject, found.object)
        ]
        return GraphResult(rows=tuple(rows), backend="networkx")

    async def read_page(
        self, document: str, page: int, *, highlight: str = "", image: bool = True
    ) -> tuple[PageView, bytes]:
        view, png = await super().read_page(document, page, highlight=highlight, image=image)
        data = io.BytesIO()
        Image.new("RGB", (612, 792), "white").save(data, "PNG")
        return view, data.getvalue() if png else b""


async def lit(page: Page) -> int:
    """How many pixels of the drawing are neither white nor transparent."""
    picture = Image.open(io.BytesIO(await page.locator("#stage").screenshot())).convert("L")
    return sum(picture.histogram()[:200])


async def choose(page: Page, name: str) -> None:
    await page.locator("#rows button.name", has_text=name).first.click()
    await page.wait_for_selector("#details .relations")


@pytest.mark.parametrize("width", [1280, 420])
async def test_the_graph_is_drawn_and_said_as_a_table(width: int) -> None:
    async with served(Drawn()) as url, browsing(url, "/graph", width) as page:
        await page.wait_for_selector("#rows table")
        said = await page.inner_text("#said")
        assert said == "The graph has 6 entities and 6 relations. Shown: all 6 entities."
        assert await page.locator("#rows tbody tr").count() == 6  # the relation to itself too
        await page.wait_for_timeout(500)
        assert await lit(page) > 300
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        legend = await page.locator("#legend li").all_inner_texts()
        assert [" ".join(legend[at].split()) for at in (0, -1)] == ["Model 2", "no type 2"]


async def test_a_chosen_entity_shows_its_relations_with_quotes_and_their_page() -> None:
    async with served(Drawn()) as url, browsing(url, "/graph") as page:
        await page.wait_for_selector("#rows table")
        await choose(page, "Egret-2")
        assert "Egret-2" in await page.inner_text("#details h2")
        assert QUOTE in await page.inner_text("#details .quotes li >> nth=0")
        await page.click("#details .quotes a >> nth=0")
        await page.wait_for_selector("#page img")
        assert await page.inner_text("#page blockquote") == QUOTE
        await expect(page.locator("#page img")).to_have_js_property("naturalWidth", 612)
        assert "page 2 of 3" in await page.inner_text("#page")


async def test_names_from_documents_stay_text_everywhere() -> None:
    async with served(Drawn()) as url, browsing(url, "/graph") as page:
        await page.wait_for_selector("#rows table")
        await choose(page, "<img")
        assert await page.inner_text("#details h2") == HOSTILE
        assert await page.locator("#details img, #rows img, #legend img, main script").count() == 0
        await page.click("#details .quotes a >> nth=0")
        await page.wait_for_selector("#page blockquote")
        assert await page.inner_text("#page blockquote") == HOSTILE


async def test_a_search_is_in_the_address_and_survives_a_reload() -> None:
    service = Drawn()
    async with served(service) as url, browsing(url, "/graph") as page:
        await page.wait_for_selector("#rows table")
        await page.fill("#entity", "tern")
        await page.wait_for_selector("#names option", state="attached")
        assert await page.get_attribute("#names option", "value") == "Tern"
        await page.keyboard.press("Enter")
        await page.wait_for_selector("#said:has-text('away from Tern')")
        await page.reload()
        await page.wait_for_selector("#said:has-text('away from Tern')")
        assert await page.locator("#rows tbody tr").count() == 1
        await page.wait_for_selector("#details h2:has-text('Tern')")
        document = next(iter(service.documents))
        await page.select_option("#document", document)
        await page.wait_for_url("**document=**")
        await expect(page.locator("#said")).not_to_contain_text("Loading")
        assert service.limits[-1] == (document,)


async def test_a_node_that_is_clicked_is_chosen() -> None:
    service = Drawn()
    service.data = GraphData(version="2", entities=ENTITIES[4:], relations=RELATIONS[5:])
    async with served(service) as url, browsing(url, "/graph") as page:
        await page.wait_for_selector("#rows table")
        await page.wait_for_timeout(500)
        box = await page.locator("#stage").bounding_box()
        assert box is not None
        picture = Image.open(io.BytesIO(await page.locator("#stage").screenshot())).convert("RGB")
        blue = np.argwhere((np.asarray(picture) == (0, 114, 178)).all(axis=2))  # a node's colour
        y, x = blue[0]
        await page.mouse.click(box["x"] + int(x) + 1, box["y"] + int(y) + 3)
        await page.wait_for_selector("#details .relations")
        assert await page.inner_text("#details h2") in ("Tern", "Gull")


async def test_the_keyboard_alone_reaches_an_entity() -> None:
    async with served(Drawn()) as url, browsing(url, "/graph") as page:
        await page.wait_for_selector("#rows table")
        await page.focus("#rows button.name")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("#details .relations")
        assert await page.evaluate("document.activeElement.tagName") == "H2"


async def test_an_empty_graph_says_what_to_do() -> None:
    service = Drawn()
    service.data = GraphData(version="")
    async with served(service) as url, browsing(url, "/graph") as page:
        await page.wait_for_selector("#said:has-text('The knowledge graph is empty')")
        assert "quaere graph build" in await page.inner_text("#said")
        assert not await page.is_visible("#shown")
        service.documents.clear()
        await page.reload()
        await page.wait_for_selector("#said:has-text('Add documents first')")


async def test_an_unknown_entity_and_a_library_that_is_busy_are_said() -> None:
    service = Drawn()
    async with served(service) as url, browsing(url, "/graph?entity=nobody") as page:
        await page.wait_for_selector("#said.bad:has-text('nobody')")
        service.fail["graph_view"] = LibraryBusy("held by another <b>process</b>", hint="wait")
        await page.click("text=Show")
        await page.wait_for_selector("#said.bad:has-text('held by another <b>process</b> (wait)')")


async def test_without_webgl_the_table_is_there() -> None:
    async with served(Drawn()) as url, browsing(url, "/graph", flags=(NO_WEBGL,)) as page:
        await page.wait_for_selector("#stage:has-text('no WebGL')")
        await choose(page, "HeronNet")


async def test_a_merge_is_undone_and_a_rule_forgotten() -> None:
    service = Drawn()
    service.found = [MERGE, MERGE.model_copy(update={"name": HOSTILE, "reason": HOSTILE, "entity": HOSTILE})]
    async with served(service) as url, browsing(url, "/graph/merges") as page:
        await page.wait_for_selector("#merges table")
        assert HOSTILE in await page.inner_text("#merges tbody tr >> nth=1")
        assert await page.locator("#merges img").count() == 0
        await page.click("#merges tbody tr >> nth=0 >> text=Keep apart")
        await page.wait_for_selector("#rules >> text=is not the same as")
        assert [(rule.kind, rule.first, rule.second) for rule in service.rules] == [
            ("forbid", "Harbour Bridge", "the Bridge")
        ]
        await page.click("#rules >> text=Forget")
        await page.wait_for_selector("#rules >> text=None yet")
        assert service.rules == []


async def test_two_names_are_said_to_be_the_same_or_not() -> None:
    service = Drawn()
    async with served(service) as url, browsing(url, "/graph/merges", 420) as page:
        await page.wait_for_selector("#merges table")
        for button, kind in (("Are the same", "force"), ("Are not the same", "forbid")):
            await page.fill("#first", "Heron")
            await page.fill("#second", "HeronNet")
            await page.click(f"text='{button}'")
            await page.wait_for_selector("#said:has-text('from now on')")
            assert service.rules[-1].kind == kind
        assert await page.evaluate("document.documentElement.scrollWidth") <= 420


async def test_the_chat_page_leads_to_the_graph_and_back() -> None:
    async with served(Drawn()) as url, browsing(url, "/") as page:
        await page.wait_for_selector("#library .q-library")
        await page.click("#brand a[href='/graph']")
        await page.wait_for_selector("#rows table")
        await page.click("header h1 a")
        await page.wait_for_selector("#question")
