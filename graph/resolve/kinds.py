"""Families of the types that extractors give: a person is never a data set, but 'model' and 'method' tell nothing."""

from __future__ import annotations

from functools import cache

PERSON = "person"
_FAMILIES = {
    PERSON: "person people author researcher scientist human",
    "organisation": "organization organisation company institution institute university lab laboratory group team "
    "publisher agency government",
    "place": "location place country city region planet continent river mountain gpe",
    "artefact": "model method algorithm architecture technique approach system framework software tool library "
    "product component module layer optimizer dataset benchmark corpus collection metric measure score task problem "
    "hyperparameter parameter device hardware language",
    "substance": "element chemical substance material compound metal drug",
    "event": "event conference workshop competition",
    "work": "paper publication book article report work",
}
_GENERIC = frozenset({"", "concept", "other", "thing", "entity", "term", "misc", "miscellaneous", "unknown", "name"})
_BY_WORD = {word: family for family, words in _FAMILIES.items() for word in words.split()}


@cache
def family(type_: str) -> str:
    """'' for a type that says nothing; a type that is not known is a family of its own."""
    words = type_.casefold().replace("_", " ").split()
    if " ".join(words) in _GENERIC:
        return ""
    return next((_BY_WORD[word] for word in reversed(words) if word in _BY_WORD), "".join(words))


def clash(first: str, second: str) -> bool:
    """Of two families: whether one thing can't be both."""
    return bool(first and second) and first != second
