"""Names, types and wordings as they are compared: one form whatever the case and the width.

Both stores keep these beside what they were made from, so that a database compares without computing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from core.graph import Entity, Relation

_NO_WORD = re.compile(r"[\W_]+")


def fold(text: str) -> str:
    """NFKC and casefold: 'ＢＥＲＴ' and 'bert' are one. Blanks stay as they are."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def folded_names(name: str, aliases: Iterable[str] = ()) -> list[str]:
    """All names of an entity, folded, each once, sorted."""
    return sorted({fold(each) for each in (name, *aliases)})


def type_key(type_: str | None) -> str | None:
    """'ResearchPaper', 'research_paper' and 'Research Paper' are one type; None for none."""
    return _NO_WORD.sub("", fold(type_ or "")) or None


@lru_cache(maxsize=20_000)  # the same words come again and again
def wording_key(wording: str) -> str:
    """Its words, folded, one blank between them: 'WAS_TRAINED_ON' is 'was trained on'."""
    return " ".join(_NO_WORD.sub(" ", fold(wording)).split())


def node_keys(entity: Entity) -> dict[str, object]:
    """What a store keeps of an entity beside its own fields; None is no property."""
    return {"names": folded_names(entity.name, entity.aliases), "kind": type_key(entity.type)}


def edge_keys(relation: Relation) -> dict[str, object]:
    """What a store keeps of a relation beside its own fields."""
    return {"wording_keys": sorted({wording_key(wording) for wording in relation.wordings})}
