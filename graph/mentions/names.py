"""The names that stand in titles, headings and sentences, found without a model."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.text import sentences
from graph.acronyms import definitions
from graph.mentions.tokens import key

_LONGEST = 20  # tokens of a name; longer titles are found by their short form
_DISAMBIGUATED = re.compile(r"^(.*\S)\s*\([^()]*\)$")  # Mercury (planet)
_SUBTITLE = re.compile(r"(?::\s+|\s+[–—-]\s+|,\s+|：|——)")
_NUMBERING = re.compile(r"^(?:(?:section|chapter|appendix)\s+)?(?:[A-Z]?\d+(?:\.\d+)*|[IVXLC]+|[A-Z])[.)]?\s+", re.I)
_WORD = re.compile(r"[^\W_]+(?:['’.&/_-][^\W_]+)*")
_NAMED = re.compile(r"[A-ZÀ-ÖØ-ÞΑ-ΩА-ЯŁŚŻČŠŽŐŰİ]|^[^\W\d_].*[0-9]$")  # has a capital, or a number behind
_INSIDE = frozenset("of the de la von van bin al ibn du del der le da di".split())  # Bank of England
_LEADING = frozenset(  # capitals at the beginning of a sentence
    "a an the this that these those it its we our they their he she his her i you your there here in on at by for from "
    "with as and but or if when while where which who what how why to of is are was were be has have had can may not "
    "no all each every both some many most such other however thus hence then also since although moreover furthermore "
    "after before during between under over figure table section equation appendix algorithm theorem lemma chapter let "
    "given using based see compared first second third finally specifically".split()
)
_POSSESSIVE = re.compile("['’]s?$")


def usable(name: str) -> bool:
    """Whether it can tell anything apart: not a number, a lone Latin letter or a word that begins sentences."""
    parts = key(name)
    if not parts or len(parts) > _LONGEST or all(part in _LEADING or part.isdigit() for part in parts):
        return False
    return len(parts) > 1 or len(parts[0]) > 1


def short_forms(title: str) -> list[str]:
    """The title and what it is called for short: without '(film)', without its subtitle, ':', ',' or '-' before it."""
    forms = [title.strip()]
    if match := _DISAMBIGUATED.match(forms[-1]):
        forms.append(match[1])
    before = _SUBTITLE.split(forms[-1], maxsplit=1)[0].strip()
    forms.append(before)
    return [form for form in dict.fromkeys(forms) if usable(form)]


def headings(section: str) -> list[str]:
    """The headings of a section's path, without their numbers."""
    bare = [_NUMBERING.sub("", part.strip()) for part in section.split(" › ")]
    return [name for name in dict.fromkeys(bare) if usable(name)]


def capitalised(text: str) -> Iterator[str]:
    """Runs of words with capitals and of identifiers (bge-m3, GPT-4o, HeronNet): 'Bank of England', 'Adam'."""
    run: list[re.Match[str]] = []
    for match in _WORD.finditer(text):
        word = match[0]
        named = bool(_NAMED.search(word))
        if not run and not named:
            continue
        apart = bool(run) and text[run[-1].end() : match.start()].strip(" \u00a0") != ""
        if run and (apart or not (named or word in _INSIDE)):
            yield from _run(text, run)
            run = []
        if named or run:
            run.append(match)
    yield from _run(text, run)


def _run(text: str, run: list[re.Match[str]]) -> Iterator[str]:
    run = list(run)
    while run and run[-1].group() in _INSIDE:
        run.pop()
    while run and run[0].group().lower() in _LEADING:
        run.pop(0)
    if run:
        name = _POSSESSIVE.sub("", text[run[0].start() : run[-1].end()])
        if usable(name):
            yield name


def acronyms(text: str) -> Iterator[tuple[str, str]]:
    """(short, long) where a text defines one: 'mixture of experts (MoE)'."""
    for start, end in sentences(text):
        sentence = text[start:end]
        for found in definitions(sentence):
            short, long = sentence[slice(*found.short)], sentence[slice(*found.long)]
            if usable(long):
                yield short, long
