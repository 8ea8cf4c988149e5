"""The relations that triples are put under, and which of them a wording means.

A wording is matched by the stems of its words, without auxiliaries and adverbs: exactly, or as a row of words in the
same order that ends with the same one ('was jointly trained from scratch on': TRAINED_ON). What is denied, and what
is not known, is RELATED_TO: the wording itself is kept beside the relation.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

RELATED_TO = "RELATED_TO"
SAME_AS = "SAME_AS"
IS_A = "IS_A"


@dataclass(frozen=True)
class Kind:
    """A relation. `wordings` stand between subject and object, `inverse` between object and subject."""

    name: str
    description: str
    wordings: tuple[str, ...] = ()
    inverse: tuple[str, ...] = ()
    symmetric: bool = False
    is_citation: bool = False


class Normalised(NamedTuple):
    """`inverted`: subject and object change places under this relation."""

    relation: str
    inverted: bool


def _words(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _kind(
    name: str, description: str, wordings: str, inverse: str = "", *, symmetric: bool = False, citation: bool = False
) -> Kind:
    return Kind(name, description, _words(wordings), _words(inverse), symmetric, citation)


KINDS: tuple[Kind, ...] = (
    _kind(
        "USES",
        "the subject uses, employs or adopts the object",
        "uses, utilizes, utilises, employs, adopts, leverages, relies on, makes use of, is equipped with, integrates, "
        "incorporates, applies, runs on, is powered by, verwendet, nutzt, benutzt, setzt ein, "
        "使用, 采用, 利用, 运用, 사용, 이용, 활용, 채택",
        "is used by, is used in, is adopted by, is adopted in, is employed in, is integrated into, "
        "is incorporated into, powers, wird verwendet von, wird verwendet in",
    ),
    _kind(
        "APPLIED_TO",
        "the subject serves, solves or is made for the object (a task, a problem)",
        "is applied to, is used for, is designed for, is intended for, is developed for, addresses, solves, tackles, "
        "targets, is used to solve, wird verwendet für, 用于, 应用于, 适用于, 解决",
    ),
    _kind(
        "PART_OF",
        "the subject is a part, member, section or layer of the object",
        "is part of, part of, belongs to, is included in, is contained in, is a component of, component of, "
        "is a module of, is a layer of, is a subset of, is a member of, member of, is a section of, is among, "
        "is composed into, gehört zu, ist teil von, 属于, 包含于, 속하다, 일부",
        "contains, comprises, includes, consists of, is composed of, has part, is made up of, is divided into, "
        "features, besteht aus, enthält, umfasst, 包含, 包括, 由组成, 포함, 구성",
    ),
    _kind(
        IS_A,
        "the subject is a kind or an instance of the object",
        "is, are, was, is a, is an, is the, is a type of, is a kind of, is a form of, is a variant of, is an instance "
        "of, is an example of, is a version of, is considered a, is known for being, instance of, type of, kind of, "
        "ist ein, ist eine, 是一种, 是一个, 是, 의 일종",
        "such as, for example, has instance",
    ),
    _kind(
        SAME_AS,
        "both names stand for one thing: an abbreviation, a former or another name",
        "is the same as, same as, also known as, known as, also called, is called, is named, is short for, stands "
        "for, is abbreviated as, is an abbreviation of, is an acronym for, abbreviates, alias of, formerly known as, "
        "denoted as, referred to as, auch bekannt als, kurz, 又称, 又名, 简称, 即, 라고도",
        symmetric=True,
    ),
    _kind(
        "BASED_ON",
        "the subject rests on or derives from the object",
        "is based on, based on, is built on, is built upon, builds on, builds upon, is derived from, derives from, "
        "is adapted from, is inspired by, is initialized from, is distilled from, is fine-tuned from, originates "
        "from, stems from, basiert auf, beruht auf, 基于, 源自, 源于, 기반, 바탕",
        "is the basis of, is the basis for, inspires, underlies, is the foundation of, gives rise to",
    ),
    _kind(
        "EXTENDS",
        "the subject enlarges, generalises or succeeds the object",
        "extends, generalizes, generalises, is an extension of, extension of, succeeds, follows, is the successor "
        "of, is the successor to, successor of, supersedes, replaces, erweitert, 扩展, 扩展了, 확장",
        "is extended by, is extended to, is the predecessor of, precedes, is replaced by, is succeeded by",
    ),
    _kind(
        "COMPARED_WITH",
        "the two are set side by side, without saying which is better",
        "is compared with, is compared to, compared with, compared to, is comparable to, is comparable with, is "
        "similar to, resembles, differs from, is different from, competes with, is on par with, matches, rivals, "
        "versus, vs, wird verglichen mit, 相比, 与相比, 비교",
        symmetric=True,
    ),
    _kind(
        "OUTPERFORMS",
        "the subject does better than the object",
        "outperforms, surpasses, exceeds, beats, is better than, performs better than, is superior to, improves over, "
        "improves on, improves upon, is faster than, is more accurate than, is more efficient than, outranks, is ahead "
        "of, improvement over, übertrifft, ist besser als, 优于, 超过, 超越, 胜过, 능가, 보다 우수",
        "is worse than, underperforms, lags behind, falls behind, is inferior to, performs worse than, is slower than, "
        "is less accurate than, is less efficient than",
    ),
    _kind(
        "TRAINED_ON",
        "the subject learned from the object (data, a task, hardware)",
        "is trained on, is trained with, is trained using, trained on, is pretrained on, is pre-trained on, is "
        "fine-tuned on, is finetuned on, is tuned on, learns from, is learned from, wird trainiert auf, wurde "
        "trainiert mit, 训练于, 上训练, 학습",
        "is used to train, is used for training, trains, is the training set of",
    ),
    _kind(
        "EVALUATED_ON",
        "the subject is measured on the object (a benchmark, a data set, a task)",
        "is evaluated on, is evaluated with, is tested on, is benchmarked on, is assessed on, is validated on, is "
        "measured on, performs on, performs well on, is run on, achieves on, achieves results on, wird evaluiert auf, "
        "评估于, 上评估, 上测试, 평가",
        "evaluates, benchmarks, assesses, is used to evaluate, is a benchmark for, measures, tests",
    ),
    _kind(
        "ACHIEVES",
        "the subject reaches the object (a score, a result)",
        "achieves, attains, reaches, obtains, scores, gets, yields, gains, has a score of, records, erreicht, erzielt, "
        "达到, 取得, 实现, 달성",
    ),
    _kind(
        "PROPOSES",
        "the subject (people, an organisation, a work) brings the object into the world",
        "proposes, introduces, presents, develops, creates, invents, releases, designs, publishes, open-sources, "
        "builds, produces, launches, discovers, makes, announces, schlägt vor, entwickelt, stellt vor, "
        "提出, 介绍, 发布, 开发, 推出, 发明, 제안, 개발, 발표, 공개",
        "is proposed by, is proposed in, is introduced by, is introduced in, is developed by, is created by, is "
        "presented in, is presented by, is designed by, is invented by, is released by, is produced by, is built by, "
        "is made by, wurde entwickelt von, wurde vorgeschlagen von",
    ),
    _kind(
        "AUTHORED_BY",
        "the subject (a work) was written or composed by the object",
        "is authored by, is written by, is composed by, is painted by, has author, author, wurde geschrieben von, "
        "verfasst von, 作者, 저자",
        "wrote, writes, authored, authors, composed, co-authored, is the author of, author of, painted, schrieb, "
        "编写, 撰写",
    ),
    _kind(
        "DIRECTED_BY",
        "the subject (a film, an institution) was directed or is led by the object",
        "is directed by, is led by, is headed by, is chaired by, has director, director, unter der regie von, 导演",
        "directed, directs, leads, heads, chairs, is the director of, director of, is the head of, is the ceo of, "
        "ceo of, is the president of, president of, leitet",
    ),
    _kind(
        "FOUNDED_BY",
        "the subject was founded by the object",
        "is founded by, is established by, is co-founded by, has founder, founder, wurde gegründet von, 由创立",
        "founded, founds, established, co-founded, is the founder of, founder of, gründete, 创立, 创办, 설립",
    ),
    _kind(
        "AFFILIATED_WITH",
        "the subject works at, studied at or plays for the object",
        "is affiliated with, is affiliated to, affiliated with, works at, works for, worked at, worked for, is "
        "employed by, is employed at, studied at, is educated at, graduated from, attended, is a professor at, "
        "professor at, plays for, played for, joined, is with, arbeitet bei, studierte an, "
        "就职于, 任职于, 毕业于, 소속",
        "employs staff, has member, has employee, hired",
    ),
    _kind(
        "LOCATED_IN",
        "the subject lies, lives or takes place in the object",
        "is located in, is located at, located in, is situated in, is in, lies in, is based in, is headquartered in, "
        "lives in, lived in, resides in, takes place in, took place in, is held in, is the capital of, is a city in, "
        "liegt in, befindet sich in, 位于, 坐落于, 위치",
        "is the location of, is home to, hosts, houses",
    ),
    _kind(
        "CAUSES",
        "the subject brings the object about",
        "causes, leads to, results in, triggers, induces, produces an increase in, drives, gives, is responsible for, "
        "is the cause of, brings about, contributes to, verursacht, führt zu, 导致, 引起, 造成, 유발, 야기",
        "is caused by, is due to, results from, arises from, is driven by, is a result of, is the result of, is "
        "triggered by, is attributed to",
    ),
    _kind(
        "IMPROVES",
        "the subject makes the object better or more",
        "improves, enhances, boosts, increases, strengthens, accelerates, speeds up, helps, facilitates, raises, "
        "verbessert, erhöht, 提高, 提升, 改善, 增强, 改进, 향상, 개선",
        "benefits from, is improved by, is enhanced by, improves with, profits from",
    ),
    _kind(
        "REDUCES",
        "the subject makes the object less, or prevents it",
        "reduces, decreases, lowers, mitigates, alleviates, minimizes, minimises, prevents, eliminates, limits, "
        "suppresses, verringert, reduziert, 减少, 降低, 缓解, 감소, 줄이다",
        "is reduced by, is limited by, is mitigated by, is prevented by, suffers from",
    ),
    _kind(
        "HAS_PROPERTY",
        "the object is a quality, size, value or ability of the subject",
        "has, have, had, possesses, exhibits, shows, supports, is characterized by, has a, has size, has parameters, "
        "provides, offers, enables, allows, requires, has value, is equal to, hat, besitzt, unterstützt, "
        "具有, 拥有, 支持, 가지다, 지원",
        "is a property of, is a feature of, is a characteristic of, is supported by",
    ),
    _kind(
        "PARENT_OF",
        "the subject is father or mother of the object",
        "is the father of, is the mother of, is the parent of, father of, mother of, parent of, has child, has son, "
        "has daughter, ist der vater von, ist die mutter von, 的父亲, 的母亲",
        "is the son of, is the daughter of, is the child of, son of, daughter of, child of, is born to, has father, "
        "has mother, has parent, ist der sohn von, ist die tochter von, 的儿子, 的女儿",
    ),
    _kind(
        "SPOUSE_OF",
        "the two are or were married",
        "is married to, married, marries, is the wife of, is the husband of, is the spouse of, wife of, husband of, "
        "spouse of, has spouse, is the widow of, ist verheiratet mit, heiratete, 的妻子, 的丈夫",
        symmetric=True,
    ),
    _kind(
        "SIBLING_OF",
        "the two are brothers or sisters",
        "is the brother of, is the sister of, is the sibling of, brother of, sister of, sibling of, has sibling",
        symmetric=True,
    ),
    _kind(
        "BORN_IN",
        "the subject was born in or on the object (a place, a day)",
        "is born in, is born at, is born on, born in, born on, born, has birthplace, place of birth, date of birth, "
        "birthplace, was founded in, is founded in, is established in, wurde geboren in, geboren in, "
        "出生于, 生于, 태어",
        "is the birthplace of, birthplace of",
    ),
    _kind(
        "DIED_IN",
        "the subject died in or on the object (a place, a day)",
        "died in, died at, died on, dies in, is buried in, place of death, date of death, starb in, 逝世于, 卒于",
    ),
    _kind(
        "CITES",
        "the subject (a work) refers to the object (a work)",
        "cites, refers to, references, mentions, quotes, zitiert, verweist auf, 引用, 인용",
        "is cited by, is cited in, is referenced by, is referenced in",
        citation=True,
    ),
    _kind(
        "PUBLISHED_IN",
        "the subject (a work) appeared in or at the object (a journal, a conference, a year)",
        "is published in, is published at, is published by, appeared in, appears in, is presented at, is submitted to, "
        "is available at, erschien in, 发表于, 出版于",
        citation=True,
    ),
    Kind(RELATED_TO, "anything else; the wording says what", ("is related to", "relates to", "is associated with")),
)
BY_NAME = {kind.name: kind for kind in KINDS}

_DENIED = frozenset("not no never neither nor without cannot nicht kein keine nie non".split()) | {"n't", "t"}
_DENIED_CJK = ("不", "未", "没有", "無", "无法", "안 ", "않")
_FILLERS = frozenset(
    "is are was were be been being am has have had does do did can could may might will would shall should must the a "
    "an also further furthermore directly jointly then both often usually generally mainly mostly largely primarily "
    "solely only widely commonly typically specifically significantly substantially considerably slightly notably "
    "effectively efficiently successfully consistently greatly highly well currently originally recently first "
    "later again still even much far itself its their his her our ist sind war wurde wird werden eine ein der die das "
    "already together thus therefore here".split()
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NO_WORD = re.compile(r"[^\w\u0400-\uffff]+")


def is_citation(relation: str) -> bool:
    """Whether it is of works, not of what they speak of."""
    return relation in BY_NAME and BY_NAME[relation].is_citation


def is_symmetric(relation: str) -> bool:
    return relation in BY_NAME and BY_NAME[relation].symmetric


@cache
def normalise(wording: str) -> Normalised:
    """The relation of any wording or name of one ('was trained on', 'TRAINED_ON', 'isTrainedOn', '基于').

    RELATED_TO for what is unknown or denied. About 20 µs the first time.
    """
    if wording.strip() in BY_NAME:
        return Normalised(wording.strip(), False)
    text = " ".join(_NO_WORD.sub(" ", _CAMEL.sub(" ", unicodedata.normalize("NFKC", wording)).casefold()).split())
    tokens = text.replace("_", " ").split()
    if is_denied(wording):
        return Normalised(RELATED_TO, False)
    plain, reduced = " ".join(tokens), _stems(tokens)
    exact, stemmed, cjk = _tables()
    found = exact.get(plain) or stemmed.get(reduced) or _within(reduced, stemmed)
    if found is None:
        found = next((known for words, known in cjk if words in plain), None)
    return found or Normalised(RELATED_TO, False)


def row(tokens: Sequence[str]) -> Normalised | None:
    """The relation of words in a row, by their stems and nothing else; None where it is not known."""
    reduced = _stems([token.casefold() for token in tokens])
    return _tables()[1].get(reduced) if reduced else None


def is_plain(wording: str) -> bool:
    """Whether it says a relation of the vocabulary and nothing beside it: 'trained on', not 'first trained on'."""
    tokens = wording.split()
    known = row(tokens)
    return known is not None and known.relation != RELATED_TO and _FILLERS.isdisjoint(tokens)


def is_denied(text: str) -> bool:
    """Whether a wording says that something is not so."""
    words = _NO_WORD.sub(" ", text.casefold().replace("_", " ")).split()
    return not _DENIED.isdisjoint(words) or any(mark in text for mark in _DENIED_CJK)


def stem(word: str) -> str:
    """A word without the endings of English verbs and plurals: uses, used, using and use are one. Crude, and enough
    to compare wordings."""
    for ending in ("ing", "ies", "ied", "es", "ed", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 2 and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl":
        word = word[:-1]  # plann(ed)
    return word


def _stems(tokens: Sequence[str]) -> tuple[str, ...]:
    return tuple(stem(token) for token in tokens if token not in _FILLERS)


def _within(reduced: tuple[str, ...], stemmed: dict[tuple[str, ...], Normalised]) -> Normalised | None:
    """The longest known wording whose words stand in this one in order, the last of both being the same."""
    fitting = [known for known in stemmed if known and known[-1:] == reduced[-1:] and _in_order(known, reduced)]
    return stemmed[max(fitting, key=lambda known: (len(known), known))] if fitting else None


def _in_order(wanted: tuple[str, ...], words: tuple[str, ...]) -> bool:
    rest: Iterator[str] = iter(words)
    return all(word in rest for word in wanted)


_Tables = tuple[dict[str, Normalised], dict[tuple[str, ...], Normalised], list[tuple[str, Normalised]]]


@cache
def _tables() -> _Tables:
    """By wording, by stems, and the wordings of scripts whose words have no blanks, longest first."""
    exact: dict[str, Normalised] = {}
    stemmed: dict[tuple[str, ...], Normalised] = {}
    cjk: list[tuple[str, Normalised]] = []
    for kind in KINDS:
        exact.setdefault(kind.name.casefold().replace("_", " "), Normalised(kind.name, False))
        for words, inverted in [*((w, False) for w in kind.wordings), *((w, True) for w in kind.inverse)]:
            known = Normalised(kind.name, inverted)
            if max(words) >= "\u3000":
                cjk.append((words, known))
                continue
            tokens = _NO_WORD.sub(" ", words.casefold()).split()
            exact.setdefault(" ".join(tokens), known)
            stemmed.setdefault(_stems(tokens), known)
    for kind in KINDS:  # 'X is outperformed by Y' where nothing else is said of those words
        for words in kind.wordings:
            if " " not in words and max(words) < "\u3000" and not kind.symmetric:
                stemmed.setdefault((*_stems([words]), "by"), Normalised(kind.name, True))
    stemmed.pop((), None)
    return exact, stemmed, sorted(cjk, key=lambda item: -len(item[0]))
