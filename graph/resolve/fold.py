"""Names without the differences of form that never tell two things apart."""

from __future__ import annotations

import re
import unicodedata

from graph.resolve.han import SIMPLIFIED

_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−﹣－⁃"), "-")
_QUOTES = dict.fromkeys(map(ord, "‘’‚‛′`´ʼ＇“”„‟″«»\"'"), "'")
_DOTS = dict.fromkeys(map(ord, "・･·•‧"), " ")
_SAME = _DASHES | _QUOTES | _DOTS | dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"), "")
_CJK = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_ARTICLE = re.compile(r"^(?:[Tt]he|an?)\s+(?=\S)")  # 'A' in capitals may be a name: A* search
_POSSESSIVE = re.compile(r"(?<=\w)'s?(?!\w)")
_TOKEN = re.compile(
    rf"\d+(?:\.\d+)*[a-zµ%]{{0,2}}(?![^\W\d_{_CJK}])"  # 7b, 80k, 3.5, 4o
    rf"|\d+(?:\.\d+)*"
    rf"|[{_CJK}]+"
    rf"|[^\W\d_{_CJK}]+"
    r"|[+#*]+"
)
_GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ø": "oe", "å": "aa", "æ": "ae", "œ": "oe"})
_BARE = str.maketrans({"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})
_CYRILLIC = dict(
    zip(
        "абвгдеёжзийклмнопрстуфхцчшщъыьэюяіїєґ",
        "a b v g d e e zh z i y k l m n o p r s t u f kh ts ch sh shch . y . e yu ya i i e g".replace(".", "-").split(),
        strict=True,
    )
)
_GREEK = dict(
    zip("αβγδεζηθικλμνξοπρσςτυφχψω", "a v g d e z i th i k l m n x o p r s s t y f ch ps o".split(), strict=True)
)
_SCRIPTS = str.maketrans({k: v.replace("-", "") for k, v in (_CYRILLIC | _GREEK).items()})
_SPELLINGS = (  # British and American; both sides are folded, so that a word which only looks so does no harm
    (re.compile(r"(?<=\w{3})is(?=(?:e|es|ed|er|ers|ing|ation|ations|able)$)"), "iz"),
    (re.compile(r"(?<=\w{2})our(?=s?$|al$|ed$|ing$|ful$)"), "or"),
    (re.compile(r"(?<=\w{3}[aeiou])ll(?=(?:ed|ing|er|ers)$)"), "l"),
    (re.compile(r"(?<=\w{3})tre(?=s?$)"), "ter"),
    (re.compile(r"(?<=\w{2})yse(?=(?:d|r|rs|s)?$)"), "yze"),
)
_IRREGULAR = {"corpora": "corpus", "criteria": "criterion", "phenomena": "phenomenon", "schemata": "schema"}
_ENDINGS = (  # of a plural, and what it may stand for
    ("ies", ("y", "ie")),
    ("ices", ("ix", "ex", "ice")),
    ("yses", ("ysis",)),
    ("eses", ("esis", "ese")),
    ("sses", ("ss",)),
    ("xes", ("x", "xe")),
    ("ches", ("ch", "che")),
    ("shes", ("sh",)),
    ("uses", ("us", "use")),
    ("ases", ("as", "ase")),
    ("ves", ("ve", "f", "fe")),
)
_NO_PLURAL = ("ss", "us", "is")


def surface(name: str) -> str:
    """As it stands, with blanks made one and full-width forms made plain: what rules are about."""
    return " ".join(unicodedata.normalize("NFKC", name).split())


def plain(name: str) -> str:
    """Kinds of dash, apostrophe and middle dot made one; traditional Chinese made simplified; case kept."""
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).translate(_SAME))
    return " ".join(_POSSESSIVE.sub("", text.translate(SIMPLIFIED)).split())


def tokens(name: str) -> tuple[str, ...]:
    """Lower case; letters apart from digits ('GPT-4' and 'GPT4': gpt, 4), sizes whole ('7b', '80k'), CJK in runs."""
    text = _ARTICLE.sub("", plain(name).strip("' "))
    text = re.sub(r"(?<=\b[A-Za-z])\.(?=[A-Za-z]\b)", "", text)  # U.S.A.
    text = text.casefold().replace("&", " and ").replace("'", "")
    found = tuple(_without_long_mark(token) for token in _TOKEN.findall(text))
    return found or (surface(name).casefold(),)


def key(parts: tuple[str, ...]) -> str:
    """Equal for names that differ in blanks, hyphens and dots alone; two numbers stay two ('2 7b' is not '27b')."""
    joined = ""
    for part in parts:
        both = joined[-1:].isdigit() and part[:1].isdigit()
        joined += f" {part}" if both or (joined[-1:].isalpha() and _after_unit(joined, part)) else part
    return joined


def singulars(word: str) -> tuple[str, ...]:
    """What the word may be the plural of, itself left out."""
    if word in _IRREGULAR:
        return (_IRREGULAR[word],)
    if len(word) < 3 or not word.endswith("s") or word.endswith(_NO_PLURAL) or not word.isalpha():
        return ()
    found = [word[: -len(end)] + one for end, ones in _ENDINGS if word.endswith(end) for one in ones]
    return tuple(dict.fromkeys([*found, word[:-1]]))


def spelling(word: str) -> str:
    """American for British."""
    for pattern, replacement in _SPELLINGS:
        word = pattern.sub(replacement, word)
    return word


def latin(word: str) -> frozenset[str]:
    """The ways to write the word with plain Latin letters: without marks, and as German and Nordic names are."""
    word = unicodedata.normalize("NFC", word).translate(_SCRIPTS)
    return frozenset(_unmarked(form) for form in (word.translate(_GERMAN), word.translate(_BARE)))


def is_cjk(token: str) -> bool:
    return bool(re.match(f"[{_CJK}]", token))


def _unmarked(word: str) -> str:
    if word.isascii():
        return word
    # Marks of Latin letters only: that of が or й makes another letter.
    parts = unicodedata.normalize("NFD", word)
    kept = "".join(c for at, c in enumerate(parts) if not (unicodedata.combining(c) and _latin_before(parts, at)))
    return unicodedata.normalize("NFC", kept)


def _latin_before(text: str, at: int) -> bool:
    while at > 0 and unicodedata.combining(text[at]):
        at -= 1
    return text[at].isascii()


def _without_long_mark(token: str) -> str:
    """コンピューター is also written コンピュータ."""
    return token[:-1] if len(token) > 3 and token.endswith("ー") else token


def _after_unit(joined: str, part: str) -> bool:
    """Whether a letter that ends a number ('7b') would run into what follows."""
    return bool(re.search(r"\d[a-zµ]{1,2}$", joined)) and part[:1].isalnum()
