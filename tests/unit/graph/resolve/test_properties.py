"""Whatever the names are: no order matters, nothing forbidden meets, each name has one owner."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from core.graph import MergeRule
from core.ledger.entities import Said, Verdict
from graph.resolve.compare import forbidden
from graph.resolve.corpus import corpus_of
from graph.resolve.fold import surface
from graph.resolve.resolution import resolve
from graph.resolve.rules import Rules

WORDS = (
    "GPT gpt M1 MiniMax Adam optimizer model models LA Lightning Attention attention BERT BART Smith John J. Jane "
    "supervised unsupervised 3 4 7B 40k v2 II Schrödinger Schroedinger the LLM large language 深度学习 深度學習 "
    "dataset Person's C++ -"
).split()
TYPES = ("", "Model", "Person", "Dataset", "Place")
TEXTS = ("Lightning Attention (LA) is", "a Large language model (LLM)", "LA (Los Angeles)", "")

names = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).flatmap(
    lambda words: st.sampled_from((" ", "-")).map(lambda gap: gap.join(words))
)
documents = st.sampled_from(("d1", "d2", "d3"))
rows = st.lists(
    st.builds(Said, documents, names, st.sampled_from(TYPES), names, st.sampled_from(TYPES), st.sampled_from(TEXTS)),
    max_size=14,
)
texts = st.lists(st.tuples(documents, st.sampled_from(TEXTS)), max_size=3)
rules = st.lists(st.builds(MergeRule, first=names, second=names, kind=st.sampled_from(("force", "forbid"))), max_size=3)
verdicts = st.lists(st.builds(Verdict, names, names, st.booleans(), st.just(""), st.just("m")), max_size=3)


@settings(max_examples=150, deadline=None)
@given(rows, texts, rules, verdicts, st.randoms(use_true_random=False))
def test_no_order_matters(
    said: list[Said], defined: list[tuple[str, str]], made: list[MergeRule], told: list[Verdict], chance: object
) -> None:
    before = resolve(corpus_of(said, defined), made, told, 5)
    shuffled = [list(part) for part in (said, defined, made)]
    for part in shuffled:
        chance.shuffle(part)  # type: ignore[attr-defined]
    assert resolve(corpus_of(shuffled[0], shuffled[1]), shuffled[2], told, 5) == before


@settings(max_examples=200, deadline=None)
@given(rows, texts, verdicts)
def test_a_cluster_never_holds_a_forbidden_pair(
    said: list[Said], defined: list[tuple[str, str]], told: list[Verdict]
) -> None:
    found = resolve(corpus_of(said, defined), (), told, 100)
    for entity in found.entities:
        for first, second in combinations((entity.name, *entity.aliases), 2):
            assert not forbidden(first, second), (first, second)


@settings(max_examples=150, deadline=None)
@given(rows, rules)
def test_rules_are_kept(said: list[Said], made: list[MergeRule]) -> None:
    pairs = {frozenset((rule.first, rule.second)): rule for rule in made}  # of two rules on a pair the last counts
    kept = Rules(list(pairs.values()))
    forced_apart = any(kept.group(surface(min(pair))) == kept.group(surface(max(pair))) for pair in kept.forbidden)
    if forced_apart:
        return
    owners = resolve(corpus_of(said), list(pairs.values())).owners
    for left, right in combinations(owners, 2):
        pair = frozenset((left.name, right.name))
        rule = pairs.get(pair)
        if rule is not None and rule.kind == "force":
            assert left.entity_id == right.entity_id
        if rule is not None and rule.kind == "forbid" and left.document_id != right.document_id:
            assert left.entity_id != right.entity_id


@settings(max_examples=150, deadline=None)
@given(rows, texts)
def test_each_name_of_each_document_has_one_owner(said: list[Said], defined: list[tuple[str, str]]) -> None:
    found = resolve(corpus_of(said, defined))
    places = {(name, row.document_id) for row in said for name in (row.subject, row.object)}
    assert sorted((owner.name, owner.document_id) for owner in found.owners) == sorted(places)
    ids = [entity.id for entity in found.entities]
    assert len(ids) == len(set(ids)) and {owner.entity_id for owner in found.owners} == set(ids)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(max_size=12), min_size=1, max_size=6))
def test_no_name_is_too_odd(odd: list[str]) -> None:
    resolve(corpus_of([Said("d1", name, "", "x", "", name) for name in odd], [("d1", text) for text in odd]))
