"""Tier 1: a name that is part of a longer one and stands for the same thing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

from graph.resolve.compare import compared
from graph.resolve.fold import is_cjk, plain
from graph.resolve.form import SMALL, Form, form
from graph.resolve.kinds import PERSON, family

_HEADS = {
    "method": "model models algorithm algorithms method methods optimizer optimizers architecture architectures "
    "technique techniques approach framework frameworks system systems library libraries toolkit package 模型 算法 "
    "优化器 方法 框架 系统 모델 알고리즘",
    "data": "dataset datasets benchmark benchmarks corpus corpora data set task tasks 数据集 基准 任务 데이터셋",
    "metric": "metric metrics score scores",
    "organisation": "inc corp corporation ltd llc gmbh company co 公司",
    "person": "dr prof professor mr mrs ms sir",
    "device": "gpu gpus",
}
_HEAD = {word: group for group, words in _HEADS.items() for word in words.split()}
_TYPES = {
    "method": "model method algorithm architecture technique approach system framework software tool library",
    "data": "dataset benchmark corpus collection task",
    "metric": "metric measure score",
    "organisation": "organization organisation company",
    "person": "person author researcher",
    "device": "device hardware",
}
_TYPE = {word: group for group, words in _TYPES.items() for word in words.split()}
_INITIALS = re.compile(r"(?:[A-Z]\.[\s-]?)+[A-Z][a-z]+")


def is_proper(form: Form, lower: Set[str]) -> bool:
    """The name of one thing and not a word for many: with digits or inner capitals, or in capitals that the texts
    never write small."""
    if form.numbers or form.is_acronym or re.search(r"[a-z][A-Z]|[A-Z]{2}", plain(form.name)):
        return True
    return form.is_capitalised and not all(word in lower or word in SMALL for word in form.content)


def is_common(names: Iterable[str], lower: Set[str]) -> bool:
    """Whether names of one thing show that it is no single thing: RL is reinforcement learning, so an RL algorithm is
    not RL."""
    return any(len(form(name).words) > 1 and not is_proper(form(name), lower) for name in names)


def by_head(bare: Form, headed: Form, type_: str, lower: Set[str]) -> str:
    """Why 'Adam optimizer' is Adam: the same name with a head that says what it is, which `type_`, the type of the
    bare one, does not deny. '' where it is not so."""
    if not headed.heads or bare.heads or bare.content != headed.content or bare.numbers != headed.numbers:
        return ""
    if not is_proper(bare, lower) or (bare.is_cjk and all(map(is_cjk, bare.content))):
        return ""
    group = head_group(headed)
    if not group or _TYPE.get(type_.casefold(), group) != group:
        return ""
    return f"'{' '.join(headed.heads)}' only says what {bare.surface} is"


def head_group(form: Form) -> str:
    """What the heads say that it is: 'method', 'data', …; '' where they contradict each other or are no heads."""
    groups = {_HEAD.get(word, "") for word in form.heads if word not in ("v", "ver", "version")}
    return groups.pop() if len(groups) == 1 else ""


def by_code(short: Form, long: Form) -> str:
    """'M1' in MiniMax-M1: a letter and a number that end a longer name with the same number."""
    if not short.is_code or not _ends(short, long):
        return ""
    return f"'{short.surface}' is the end of {long.surface}"


def by_owner(short: Form, long: Form, owners: Set[str]) -> str:
    """'GPT-4' in OpenAI GPT-4: a name with a number behind that of its maker. `owners`: keys of names in this document
    that are not known to be of a method or data."""
    if not short.numbers or not _ends(short, long):
        return ""
    before = "".join(long.tokens[: len(long.tokens) - len(short.tokens)])
    apart = re.fullmatch(rf"(?i){re.escape(before)}\s+\S.*", plain(long.name))
    if before not in owners or apart is None:
        return ""
    return f"{long.surface} is {short.surface} with its maker's name"


def by_surname(short: Form, long: Form, short_type: str, long_type: str) -> str:
    """'Smith' in John Smith, where one of the two is known to be a person or has initials."""
    if len(short.content) != 1 or len(long.content) < 2 or long.numbers or short.content[0] != long.content[-1]:
        return ""
    person = PERSON in (family(short_type), family(long_type)) or _INITIALS.fullmatch(plain(long.name))
    if not person or not short.is_capitalised or not long.is_capitalised:
        return ""
    return f"'{short.surface}' is the last name of {long.surface}"


def by_initial(short: Form, long: Form, short_type: str, long_type: str) -> str:
    """'J. Smith' and John Smith."""
    if not any(len(word) == 1 for word in short.words) or short.words[-1:] != long.words[-1:]:
        return ""
    pair = compared(short.name, long.name)
    known = PERSON in (family(short_type), family(long_type))
    if not pair.initials or pair.first or pair.second or pair.typos or not pair.shared:
        return ""
    if not (known or _INITIALS.fullmatch(plain(short.name))) or not long.is_capitalised or short.words == long.words:
        return ""
    return f"'{short.surface}' has the initials and the last name of {long.surface}"


def by_letters(short: Form, long: Form) -> str:
    """'LLM' and large language model: the first letters, three or more, of all words or all but small ones."""
    letters = acronym_letters(short)
    if not letters or letters not in long.letters:
        return ""
    return f"'{short.surface}' are the first letters of {long.surface}, and both stand in one document"


def acronym_letters(form: Form) -> str:
    """Without a plural's s; '' where they are fewer than three, or the name is no acronym of letters alone."""
    letters = form.key[:-1] if form.surface.endswith("s") else form.key
    return letters if form.is_acronym and len(letters) > 2 and letters.isalpha() else ""


def _ends(short: Form, long: Form) -> bool:
    count = len(short.tokens)
    more = long.tokens[:-count]
    return bool(more) and len(more) <= 2 and long.tokens[-count:] == short.tokens and long.numbers == short.numbers
