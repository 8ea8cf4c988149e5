"""A question to patterns by rules, without a model: its names are entities, its verbs and nouns relations.

"Where was the director of X born?": from X along DIRECTED_BY, then along BORN_IN, to what is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from graph.asking.names import Linked, NameIndex
from graph.folding import wording_key
from graph.patterns.canonical import pattern_of
from graph.patterns.conditions import TRUE, Condition, Test, both
from graph.patterns.pattern import Edge, Part, Pattern, edge_between, named, relation_name
from graph.relations import is_denied, is_plain, normalise

_WH = re.compile(
    r"^\W*(?:(?P<before>in|on|at|by|for|with|of|from|to)\s+)?"
    r"(?P<wh>who|whom|whose|what|which|where|when|how\s+(?:is|are|was|were|do|does|did))\b",
    re.IGNORECASE,
)
_ASKS = re.compile(r"^\W*(?:please\s+)?(?:list|name|show|give|tell|find|all|the|me|us|every|of)\b", re.IGNORECASE)
_RELATIVE = re.compile(r"\b(?:that|which|who|whose)\b|(?<=\bof)\s", re.IGNORECASE)
_AUXILIARY = frozenset("is are was were be been do does did has have had can could will would the a an".split())
_ASKING = _AUXILIARY | frozenset("who whom whose what which please list name show give tell me".split())
_ANY_RELATION = frozenset("how related relation relationship connected connection between and to with".split())
_OF_PLACE_OR_TIME = frozenset("BORN_IN DIED_IN LOCATED_IN PUBLISHED_IN".split())
_PLACE_OR_TIME = {"where": ("in", "at"), "when": ("in", "on")}


@dataclass(frozen=True)
class _Hop:
    """A relation's wording; `forward`: the known end is its subject."""

    wording: str
    forward: bool


class RuleReader:
    """Patterns of a question from the most exact to the widest; none where it names no entity."""

    def __init__(self, index: NameIndex, hops: int) -> None:
        self._index = index
        self._hops = hops

    def read(self, question: str) -> tuple[Pattern, ...]:
        links = self._index.linked(question)
        if not links:
            return ()
        names = list(dict.fromkeys(link.name for link in links))
        if len(names) > 1:
            return tuple(dict.fromkeys(self._between(question, links, names)))
        return tuple(dict.fromkeys(self._around(question, links[0])))

    def reads_all(self, question: str) -> bool:
        """Whether the first pattern says every word of the question, with relations of the vocabulary alone and names
        of one entity each: then a model has nothing to add."""
        links = self._index.linked(question)
        names = {link.name for link in links}
        if not 1 <= len(names) <= 2 or any(len(link.entities) != 1 for link in links):
            return False
        said = set(_ASKING)
        if len(names) == 2:
            wording = _content(question[links[0].end : links[1].start])
            said |= set(wording.split()) if is_plain(wording) else _ANY_RELATION
        else:
            hops, noun = self._hops_said(question, links[0])
            if not hops or not all(is_plain(hop.wording) for hop in hops):
                return False
            said |= {word for hop in hops for word in hop.wording.split()}
            said |= {"where", "when"} if _known(hops[-1].wording) in _OF_PLACE_OR_TIME else set()
            said |= set(noun.split()) if self._index.type_of(noun) else set()
        for link in reversed(links):
            question = f"{question[: link.start]} {question[link.end :]}"
        return said.issuperset(wording_key(question.replace("’s ", " ").replace("'s ", " ")).split())

    def _between(self, question: str, links: Sequence[Linked], names: Sequence[str]) -> Iterator[Pattern]:
        """What relates the first two, at first directly; then what is said of each."""
        first, second = names[:2]
        ends: Condition = both((named("a", first), named("b", second)))
        wording = question[links[0].end : next(link.start for link in links if link.name == second)]
        if _known(wording) is not None and not is_denied(wording):
            edge, _ = edge_between("r", "a", "b", (wording.strip(),))
            yield pattern_of([[Part(((replace(edge, directed=False),),), (), ends)]])
        for hops in range(1, self._hops + 1):
            yield pattern_of([[Part(((Edge("r", "a", "b", False, (), 1, hops),),), (), ends)]])
        yield pattern_of([[Part(((Edge("r", "a", "b", False),),), (), named("a", name))] for name in names[:4]])

    def _around(self, question: str, link: Linked) -> Iterator[Pattern]:
        """Along the relations that the question says, then along any."""
        hops, noun = self._hops_said(question, link)
        type_ = self._index.type_of(noun) if noun else None
        asked: Condition = Test(f"x{len(hops)}", "type", "in", (type_,)) if type_ else TRUE
        if hops:
            if type_:
                yield self._chain(link.name, hops, asked)
            yield self._chain(link.name, hops)
        any_: Condition = Test("x1", "type", "in", (type_,)) if type_ else TRUE
        if type_:
            yield pattern_of([[Part(((Edge("r", "x0", "x1", False),),), (), both((named("x0", link.name), any_)))]])
        yield pattern_of([[Part(((Edge("r", "x0", "x1", False),),), (), named("x0", link.name))]])

    def _chain(self, name: str, hops: Sequence[_Hop], asked: Condition = TRUE) -> Pattern:
        edges, notes = [], []
        for at, hop in enumerate(hops):
            ends = (f"x{at}", f"x{at + 1}") if hop.forward else (f"x{at + 1}", f"x{at}")
            edge, note = edge_between(f"r{at}", *ends, (hop.wording,))
            # Of a wording that the vocabulary does not know, which end is meant is a guess.
            edges.append(edge if _known(hop.wording) is not None else replace(edge, directed=False))
            notes += [note] if note else []
        return pattern_of([[Part((tuple(edges),), (), both((named("x0", name), asked)))]], notes)

    def _hops_said(self, question: str, link: Linked) -> tuple[list[_Hop], str]:
        """The relations from the entity outwards, and the noun after which or what."""
        before, after = question[: link.start], question[link.end :]
        after = re.split(r"[,;?!]|\.\s", after)[0]
        wh = _WH.match(before) or _WH.match(question)
        word = wh["wh"].lower() if wh else ""
        rest = before[wh.end() :] if wh and wh.end() <= len(before) else before
        while not wh and (verb := _ASKS.match(rest)):
            rest = rest[verb.end() :]
        noun, rest = _noun(rest) if word in ("which", "what") or not wh else ("", rest)
        hops = list(reversed(_phrases(rest)))
        outer = _content(after, leading=True)
        if outer:
            past = re.search(r"\bdid\W*$", before, re.IGNORECASE) is not None
            outer = _completed(outer, wh["before"] if wh else None, word, past)
            hops.append(_Hop(outer, True))
        elif len(hops) > 1 or not hops:
            hops = hops or ([_Hop(noun, True)] if noun and _known(noun) is not None else [])
        return hops[: self._hops], noun


def _completed(wording: str, before: str | None, word: str, past: bool) -> str:
    """'trained' asked for by 'on which' is 'trained on', 'born' by 'where' is 'born in', 'did die' is 'died'."""
    verb, _, rest = wording.partition(" ")
    tenses = [f"{verb}{ending} {rest}".strip() for ending in (("d", "ed") if past else ())]
    places = [*([before] if before else []), *_PLACE_OR_TIME.get(word, ())]
    ways = [f"{each} {place}" for each in (*tenses, wording) for place in places]
    ways.insert(1 if before else 0, wording)
    return next((way for way in ways if _known(way) is not None), wording)


def _known(wording: str) -> str | None:
    """The relation that a wording means; None for none of the vocabulary."""
    return None if normalise(wording).relation == "RELATED_TO" else relation_name(wording)[0]


def _phrases(rest: str) -> list[_Hop]:
    """What stands before a name, a phrase for each relation: 'mother of', 'director of' of 'the mother of the director
    of the film'."""
    found: list[str] = []
    pieces = [phrase for each in _RELATIVE.split(rest) if (phrase := _content(each))]
    for at, piece in enumerate(pieces):
        if _known_part(piece) is None and at and at == len(pieces) - 1 and pieces[at - 1].endswith(" of"):
            break  # only says what kind of thing the name is
        if found and found[-1].endswith(" of") and {_known_part(found[-1]), _known_part(piece)} == {None}:
            found[-1] += f" {piece}"  # 'place of' and 'birth of'
            continue
        found.append(piece)
    hops = []
    for phrase in found:
        known = _known_part(phrase) or phrase
        # 'the place of birth of X' is said of X, as 'X's place of birth' is; 'director of' has its own direction.
        hops.append(_Hop(known, phrase.endswith(" of") and not known.endswith(" of")))
    return hops


def _known_part(phrase: str) -> str | None:
    """The phrase as far as the vocabulary knows it: 'founded' of 'founded the company'."""
    words = phrase.split()
    ways = (" ".join(words[:length]) for length in range(len(words), 0, -1))
    return next((way for way in ways if _known(way) is not None), None)


def _noun(rest: str) -> tuple[str, str]:
    """The words up to the first auxiliary, or the first word: ('datasets', 'is BERT trained on')."""
    words = rest.split()
    for at, word in enumerate(words[:4]):
        if word.lower() in _AUXILIARY:
            return " ".join(words[:at]), " ".join(words[at:])
    if len(words) > 1:
        return words[0], " ".join(words[1:])
    return (words[0] if words else ""), rest if not words or _known(rest) else ""


def _content(phrase: str, *, leading: bool = False) -> str:
    """Without auxiliaries and articles before and behind, and without the possessive before."""
    words = wording_key(phrase.replace("’", "'").removeprefix("'s") if leading else phrase).split()
    while words and words[0] in _AUXILIARY:
        words = words[1:]
    while words and words[-1] in _AUXILIARY:
        words = words[:-1]
    return " ".join(words)
