"""The lexical index that chunks come to and go from gives rank_bm25's own scores."""

import random

import numpy as np
from rank_bm25 import BM25Plus

from retrieval.bm25 import _Growing


def test_what_came_and_went_scores_as_if_it_had_been_built_at_once() -> None:
    dice, growing, held = random.Random(1), _Growing(), dict[str, list[str]]()
    terms = [f"t{n}" for n in range(40)]
    for step in range(300):
        if held and dice.random() < 0.4:
            gone = dice.choice(sorted(held))
            growing.remove(gone)
            del held[gone]
        else:
            held[f"c{step}"] = dice.choices(terms, k=dice.randint(1, 20))
            growing.add(f"c{step}", f"d{step % 7}", held[f"c{step}"])
    whole = BM25Plus([held[item] for item in growing.ids])
    assert np.array_equal(whole.get_scores(["t1", "t2", "none"]), growing.get_scores(["t1", "t2", "none"]))
    assert {term: growing.idf.get(term) for term in whole.idf} == whole.idf
    for n in range(7):
        assert growing.held(f"d{n}") == {item for item in held if int(item[1:]) % 7 == n}
    for item in held:
        growing.remove(item)
    assert growing.corpus_size == 0 and not growing.holding and not growing.held()
