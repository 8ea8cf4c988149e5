"""Every vector compared: what is nearest, whatever came and went before."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from retrieval.exact import ExactVectors

# (comes or goes, a few whole numbers as its vector, which one goes)
changes = st.lists(
    st.tuples(st.booleans(), st.lists(st.integers(-3, 3), min_size=4, max_size=4), st.integers(0, 10**6)), max_size=30
)


@given(
    changes, st.lists(st.integers(-3, 3), min_size=4, max_size=4), st.integers(1, 6), st.sampled_from(["", "d1", "x"])
)
def test_nearest_first_and_of_equals_the_smaller_id(
    steps: list[tuple[bool, list[int], int]], asked: list[int], k: int, only: str
) -> None:
    index, held = ExactVectors(), dict[str, np.ndarray]()
    for number, (comes, numbers, choice) in enumerate(steps):
        if comes or not held:
            held[f"c{number}"] = np.array(numbers, dtype=np.float32)
            index.add({f"c{number}": (f"d{number % 3}", held[f"c{number}"])})
        else:
            gone = sorted(held)[choice % len(held)]
            del held[gone]
            index.remove([gone])
    assert index.held() == set(held) and len(index) == len(held)
    assert index.held("d1") == {item for item in held if int(item[1:]) % 3 == 1}
    query = np.array(asked, dtype=np.float32)
    searched = {item: row for item, row in held.items() if not only or f"d{int(item[1:]) % 3}" == only}

    def cosine(row: np.ndarray) -> float:
        return float(row @ query / max(np.linalg.norm(row) * np.linalg.norm(query), 1e-12))

    found = index.search(query, k, (only,) if only else ())
    assert len(found) == min(k, len(searched)) == len({item for item, _ in found})
    assert np.allclose(
        [score for _, score in found], sorted(map(cosine, searched.values()), reverse=True)[:k], atol=1e-5
    )
    assert np.allclose([score for _, score in found], [cosine(searched[item]) for item, _ in found], atol=1e-5)
    assert found == sorted(found, key=lambda hit: (-hit[1], hit[0]))


def test_there_is_room_for_more_than_at_first() -> None:
    index = ExactVectors()
    vectors = np.eye(8, dtype=np.float32)[np.arange(3000) % 8]
    index.add({f"{n:04}": ("d", row) for n, row in enumerate(vectors)})
    assert index.search(vectors[5], 3) == [("0005", 1.0), ("0013", 1.0), ("0021", 1.0)]
