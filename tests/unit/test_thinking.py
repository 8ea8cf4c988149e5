import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.thinking import ThinkSplitter, split

REPLIES = [
    ("<think>plan</think>Answer.", "plan", "Answer."),
    ("\n <think>\nplan\n</think>\n\nAnswer.", "plan", "Answer."),
    ("plan without an opening</think>Answer.", "plan without an opening", "Answer."),
    ("<think>never closed", "never closed", ""),
    ("Answer.", "", "Answer."),
    ("The template is <think> reasoning </think> answer", "", "The template is <think> reasoning </think> answer"),
    ("<think>a</think>It writes <think>b</think> too", "a", "It writes <think>b</think> too"),
    ("<thinking about it", "", "<thinking about it"),
    ("a < b and b </ c", "", "a < b and b </ c"),
    ("", "", ""),
    ("<think></think>", "", ""),
]


@pytest.mark.parametrize(("reply", "thinking", "text"), REPLIES)
def test_whole_replies(reply: str, thinking: str, text: str) -> None:
    assert split(reply) == (thinking, text)


@given(st.sampled_from([reply for reply, _, _ in REPLIES]), st.data())
def test_any_cut_gives_the_same(reply: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(reply)), max_size=8)))
    pieces = [reply[a:b] for a, b in zip([0, *cuts], [*cuts, len(reply)], strict=True)]
    splitter = ThinkSplitter()
    given_out = "".join(splitter.feed(piece) for piece in pieces)
    assert splitter.finish() == split(reply)
    if "</think>" not in reply or reply.lstrip().startswith("<think>"):
        assert split(reply)[1].startswith(given_out.strip())
        assert "<think>plan" not in given_out


@given(st.text(alphabet="<>/think ab\n", max_size=40), st.integers(1, 5))
def test_streamed_text_is_a_beginning_of_the_answer(reply: str, size: int) -> None:
    splitter = ThinkSplitter()
    given_out = "".join(splitter.feed(reply[i : i + size]) for i in range(0, len(reply), size))
    if "</think>" not in reply:
        assert splitter.finish()[1].startswith(given_out.strip())
