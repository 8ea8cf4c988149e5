"""REST under /v1/graph about names: which are the same, why, and what a person decides."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from core.graph import Merge, MergeRule
from core.ports import MergeService

Name = Annotated[str, Query(max_length=1000)]
Named = Annotated[str, Query(min_length=1, max_length=1000)]


def add_merges(router: APIRouter, service: MergeService) -> None:
    @router.get("/graph/merges")
    async def merges(
        q: Annotated[Name, Query(description="part of a name or of the reason")] = "",
        entity: Annotated[Name, Query(description="name or id: only its names, its own too")] = "",
        limit: Annotated[int, Query(ge=1, le=10_000)] = 100,
    ) -> list[Merge]:
        """Names that were found to stand for something of another name, by entity, each with its reason."""
        return await service.merges(query=q, entity=entity, limit=limit)

    @router.get("/graph/rules")
    async def rules() -> list[MergeRule]:
        """What people decided about names."""
        return await service.merge_rules()

    @router.post("/graph/rules", status_code=201)
    async def put_rule(rule: MergeRule) -> MergeRule:
        """`force`: the two are the same from now on; `forbid`: never, which undoes a merge. It takes the place of
        another rule about the two, and outlives the documents."""
        decide = service.merge_names if rule.kind == "force" else service.separate_names
        return await decide(rule.first, rule.second)

    @router.delete("/graph/rules")
    async def forget_rule(first: Named, second: Named) -> MergeRule:
        """The two are resolved again as if nobody had said anything."""
        return await service.forget_rule(first, second)
