"""Whether a phrase names something, and the form in which it is kept."""

from __future__ import annotations

import re
import unicodedata

MAX_NAME = 100  # characters
MAX_WORDS = 10
DETERMINERS = frozenset(
    "the a an this that these those our their its his her my your such each every both all some any another other no "
    "several many most more few one two three such same own said".split()
)
PRONOUNS = frozenset(
    "it they we he she i you them him us me itself themselves himself herself who whom which what that this these "
    "those there here one ones none someone something anyone anything everyone everything nothing others".split()
)
# Words that name nothing by themselves, nor in a row of their kind: 'the proposed method', 'experimental results'.
GENERIC = frozenset(
    "model models method methods methodology approach approaches technique techniques system systems framework "
    "frameworks algorithm algorithms architecture architectures network networks module modules component components "
    "layer layers block blocks mechanism mechanisms strategy strategies scheme schemes procedure process pipeline "
    "paper papers work works study studies article section sections chapter appendix figure figures fig table tables "
    "equation equations eq algorithm author authors researcher researchers team people group groups person "
    "result results experiment experiments experimental evaluation evaluations analysis performance accuracy score "
    "scores number numbers value values set sets data dataset datasets corpus corpora benchmark benchmarks task tasks "
    "problem problems question questions answer answers example examples case cases setting settings baseline "
    "baselines state art sota way ways part parts aspect aspects type types kind kinds form forms variety range "
    "feature features property properties advantage advantages benefit benefits limitation limitations issue issues "
    "step steps stage stages phase phases level levels version versions variant variants term terms thing things "
    "document documents text texts passage passages sentence sentences word words page pages following above below "
    "proposed previous prior existing current new novel recent different various certain particular general "
    "following main key final first second third last next former latter original standard common traditional "
    "conventional competitive strong better best good high higher highest low lower large larger small smaller "
    "significant substantial important improvement improvements increase decrease gain gains change changes "
    "information knowledge time times year years day days amount total order use usage training test testing "
    "inference evaluation learning subject object relation entity name unknown none null n/a na other others etc "
    "al et contribution contributions conclusion introduction abstract fact reason reasons goal aim purpose".split()
)
_MARKS = " \t\n\"'“”‘’«»()[]{}<>*_`,;:.!?…·|"
_ENUMERATION = re.compile(
    r"(?:fig(?:ure)?|tab(?:le)?|sec(?:tion)?|eq(?:uation)?|appendix|chapter|algorithm|page|step)\.?\s*[\dA-Z]?[\d.]*|"
    r"\d+(?:\.\d+)+\.\s.*",  # '2.2. Training': a section's number and heading
    re.IGNORECASE,
)


def name_key(name: str) -> str:
    """The form by which two spellings of a name are compared within a chunk: 'the  Mini-Max' and 'mini max'."""
    words = re.sub(r"[\W_]+", " ", unicodedata.normalize("NFKC", name).casefold()).split()
    while len(words) > 1 and words[0] in DETERMINERS:
        words = words[1:]
    return " ".join(words)


def clean_name(name: str) -> str:
    """Without a determiner in front, marks around it, and line breaks in it."""
    name = _trimmed(re.sub(r"(?<=\w)- (?=\w)", "-", " ".join(name.split())))
    first, _, rest = name.partition(" ")
    while rest and first.casefold() in DETERMINERS and not (first[0].isupper() and rest[0].isupper()):
        name = _trimmed(rest)
        first, _, rest = name.partition(" ")
    return name


def _trimmed(name: str) -> str:
    while name and name[0] in _MARKS and not (name[0] in "([{" and _closed(name)):
        name = name[1:]
    while name and name[-1] in _MARKS and not (name[-1] in ")]}" and _closed(name)):
        name = name[:-1]
    return name


def _closed(name: str) -> bool:
    """Whether its brackets come in pairs and do not enclose all of it."""
    pairs = all(name.count(left) == name.count(right) for left, right in ("()", "[]", "{}"))
    return pairs and not (name[0] in "([{" and name[-1] in ")]}")


def problem(name: str) -> str:
    """Why a cleaned phrase can't be a node of the graph; '' where it can."""
    if not name:
        return "empty name"
    words = re.findall(r"[^\W_]+", name.casefold())
    if not words or not any(char.isalpha() or char.isdigit() for char in name):
        return "empty name"
    if len(name) > MAX_NAME or len(words) > MAX_WORDS:
        return "long name"
    if len(name) == 1 and name.isascii():
        return "generic name"
    says_nothing = all(word in PRONOUNS or word in DETERMINERS or word in GENERIC for word in words)
    return "generic name" if says_nothing or _ENUMERATION.fullmatch(name) else ""
