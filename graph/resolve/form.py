"""What is to be known of a name when it is compared with others, computed once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from graph.resolve.fold import is_cjk, key, latin, plain, singulars, spelling, surface, tokens

_ROMAN = re.compile(r"(?=..)(?:X{0,3})(?:IX|IV|V?I{0,3})")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_COUNTS = {
    word: str(number)
    for words in (
        "zero one two three four five six seven eight nine ten",
        "zeroth first second third fourth fifth sixth seventh eighth ninth tenth",
    )
    for number, word in enumerate(words.split())
}
SMALL = frozenset("of the for and in on to from by with a an at as via und der die das von de la du".split())
GENERIC = frozenset(
    "model models algorithm algorithms method methods optimizer optimizers dataset datasets benchmark benchmarks "
    "corpus corpora library libraries framework frameworks architecture architectures technique techniques approach "
    "system systems metric metrics score scores task tasks toolkit package gpu gpus data set inc corp corporation ltd "
    "llc gmbh company co v ver version dr prof professor mr mrs ms sir "
    "模型 算法 数据集 优化器 方法 框架 公司 基准 系统 任务 모델 알고리즘 데이터셋".split()
)
"""Heads and titles that add nothing to a proper name: the Adam optimizer is Adam."""
VARIANT = frozenset(
    "base large small tiny mini nano micro medium xl xxl xs huge giant big instruct chat code coder math vision vl "
    "lite light pro plus max ultra turbo flash preview distil distill distilled quantized zero flan wide deep fast "
    "faster fastest mask masked sparse dense fine coarse local global soft hard online offline static dynamic "
    "non not no without anti un pre post semi self multi single cross bi uni few many dual double half full partial "
    "hybrid extended improved modified new old original early late left right upper lower top bottom high low long "
    "short train training test testing dev validation val english chinese german french multilingual monolingual "
    "medical legal biomedical clinical draft guard reward verified hard easy robust".split()
)
"""Words that make another thing of what they stand beside: GPT-4 Turbo, pre-training, the test set."""


@dataclass(frozen=True)
class Form:
    name: str
    tokens: tuple[str, ...]
    key: str
    numbers: tuple[str, ...]
    """Digits, Roman numerals and number words, in order."""
    words: tuple[str, ...]
    """All other tokens, in American spelling; words like 'of' left out."""

    @cached_property
    def surface(self) -> str:
        return surface(self.name)

    @cached_property
    def content(self) -> tuple[str, ...]:
        """Words that are not mere heads; all of them where there are no others."""
        return tuple(word for word in self.words if word not in GENERIC) or self.words

    @cached_property
    def heads(self) -> tuple[str, ...]:
        return () if self.content == self.words else tuple(word for word in self.words if word in GENERIC)

    @cached_property
    def sorted_latin(self) -> str:
        """What likeness is measured on: plain Latin letters, words in alphabetical order."""
        return " ".join(sorted([*(min(latin(word)) for word in self.words), *self.numbers]))

    @cached_property
    def is_acronym(self) -> bool:
        """Capitals, with digits or a small plural s: LLM, GPUs, T5, R-CNN."""
        letters = "".join(char for char in self.surface if char.isalpha())
        bare = letters[:-1] if letters.endswith("s") else letters
        return 1 < len(self.key) <= 12 and len(self.words) <= 3 and bool(bare) and bare.isupper() and bare.isascii()

    @cached_property
    def is_code(self) -> bool:
        """A letter or two and a number: M1, H800, V3."""
        return bool(re.fullmatch(r"[a-z]{1,2}\d{1,4}", self.key)) and self.surface[:1].isupper()

    @cached_property
    def is_cjk(self) -> bool:
        return any(map(is_cjk, self.key))

    @cached_property
    def is_capitalised(self) -> bool:
        """Every word of the name begins with a capital and goes on in small letters: John Smith, Adam, G. Hinton."""
        parts = [part for part in re.split(r"[^\w]+", plain(self.name)) if part]
        return bool(parts) and all(part[:1].isupper() and not part[1:2].isupper() for part in parts)

    @cached_property
    def is_plain(self) -> bool:
        """Capitalised and with no other capitals, as the names of people and places are."""
        return self.is_capitalised and not re.search(r"[^\W\d_][A-Z]", plain(self.name))

    @cached_property
    def may_be_short(self) -> bool:
        """Whether the name could be the end of a longer one: with a number, one proper name, or with initials."""
        proper = len(self.content) == 1 and self.is_capitalised
        return bool(self.numbers) or proper or any(len(word) == 1 for word in self.words)

    @cached_property
    def letters(self) -> frozenset[str]:
        """Of three words or more the first letters, of all words and of all but small ones."""
        if self.numbers or len(self.tokens) < 3:
            return frozenset()
        large = [token[0] for token in self.tokens if token not in SMALL]
        return frozenset(("".join(token[0] for token in self.tokens), "".join(large)))

    @cached_property
    def is_brief(self) -> bool:
        """So short that it may stand for much: M1, LA."""
        return self.is_code or len(self.key) <= 2

    @cached_property
    def is_distinctive(self) -> bool:
        """One thing in whichever document: with a number or inner capitals, an acronym, of three words or more, or a
        word in small letters."""
        if self.is_brief:
            return False
        return bool(self.numbers) or self.is_acronym or len(self.words) > 2 or not self.is_plain

    @cached_property
    def singular_keys(self) -> frozenset[str]:
        """Keys of what the name may be the plural of. One that ends in a capital S is none: AWS."""
        last = self.tokens[-1] if self.tokens else ""
        if self.surface.endswith("S"):
            return frozenset()
        if self.surface[-2:-1].isupper() and self.surface.endswith("s"):  # GPUs, where 'us' is no ending
            return frozenset({self.key[:-1]})
        return frozenset(key((*self.tokens[:-1], one)) for one in singulars(last))


@lru_cache(maxsize=100_000)
def form(name: str) -> Form:
    parts = tokens(name)
    romans = {word.casefold() for word in re.findall(r"(?<=\s)[IVX]+\b", plain(name)) if _ROMAN.fullmatch(word)}
    numbers: list[str] = []
    words: list[str] = []
    for part in parts:
        number = _number(part, romans)
        if number:
            numbers.append(number)
        elif part not in SMALL or len(parts) == 1:
            words.append(spelling(part))
    return Form(name, parts, key(tuple(map(spelling, parts))), tuple(numbers), tuple(words))


def _number(token: str, romans: set[str]) -> str:
    """'' where it is no number."""
    if token[0].isdigit():
        ordinal = _ORDINAL.fullmatch(token)
        return ordinal[1] if ordinal else token
    if token in romans:
        return str(_value(token))
    return _COUNTS.get(token, "")


def _value(roman: str) -> int:
    values = [{"i": 1, "v": 5, "x": 10}[char] for char in roman]
    return sum(-value if value < max(values[at:]) else value for at, value in enumerate(values))
