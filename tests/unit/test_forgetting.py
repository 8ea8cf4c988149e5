"""A removed document leaves nothing in what is kept of a language model's replies."""

from __future__ import annotations

import json
from pathlib import Path

from core.settings import load_settings
from quaere.build import build
from tests.support.embedder import HashEmbedder
from tests.support.library_contract import contents
from tests.support.scripted_endpoint import LLMServer, Request, Scripted, answer

SHARED = "The tides of both harbours rise four metres above the mark in March."
ONE = f"# One\n\nThe harbour of Aden was measured in 1907 by two surveyors.\n\n# Shared\n\n{SHARED}\n"
TWO = f"# Two\n\nThe harbour of Brest was measured in 1912 by two surveyors.\n\n# Shared\n\n{SHARED}\n"


def reply(request: Request) -> Scripted:
    text = request.body["messages"][0]["content"]
    first = text.rpartition("<section>")[2].partition("[1] ")[2].partition("\n")[0]
    return answer(json.dumps({"sentences": [{"text": first or "It was measured.", "rests_on": [1]}]}))


async def test_what_was_written_for_a_document_goes_with_it_unless_another_shares_it(tmp_path: Path) -> None:
    for name, text in (("one.md", ONE), ("two.md", TWO)):
        (tmp_path / name).write_text(text)
    with LLMServer(reply) as server:

        def settings(name: str):  # type: ignore[no-untyped-def]
            llm = {"base_url": server.url, "model": "m"}
            return load_settings(library=tmp_path / name, llm=llm, ingest={"summaries": "llm"})

        both, alone = build(settings("both"), HashEmbedder()), build(settings("alone"), HashEmbedder())
        await alone.add_document(str(tmp_path / "one.md"))
        await both.add_document(str(tmp_path / "one.md"))
        asked = len(server.requests)
        two = await both.add_document(str(tmp_path / "two.md"))
        assert len(server.requests) == asked + 1  # the shared section was paid for already
        both._ledger.put("question", "m", "Brest was measured in 1912.", "write@1")
        assert "Brest" in repr(contents(both, settings("both"))["replies"])
        await both.remove_document(two.id)
        held = contents(both, settings("both"))
        assert held == contents(alone, settings("alone"))
        assert "Brest" not in repr(held) and "four metres" in repr(held["replies"])
        one = (await both.list_documents())[0]
        await both.remove_document(one.id)
        assert all(kept.prompt.startswith("how this endpoint") for kept in await both.kept_replies())
        await both.aclose()
        await alone.aclose()
