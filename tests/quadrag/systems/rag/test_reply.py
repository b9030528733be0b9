"""What is read of a RAG service's replies: answers and passages in both contracts, and what is none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rag_asking import ask, question

from quadrag.chat.reply import NoText
from quadrag.errors import Unreadable
from quadrag.records import Passage
from quadrag.systems.service import RagTransport

pytestmark = pytest.mark.plugins

CONTRACTS = {"json": RagTransport("http://h/rag", chat=False), "openai": RagTransport("http://h/v1", chat=True)}
PLAIN = [
    ([], Unreadable),
    ({}, Unreadable),
    ({"text": "x", "docs": []}, Unreadable),
    ({"answer": None}, Unreadable),
    ({"answer": 7}, Unreadable),
    ({"answer": {"text": "x"}}, Unreadable),
    ({"answer": "x", "passages": "y"}, Unreadable),
    ({"answer": "x", "passages": {}}, Unreadable),
    ({"answer": "x", "passages": [[]]}, Unreadable),
    ({"answer": "x", "passages": ["d", {}]}, Unreadable),
    ({"answer": "x", "passages": [{"id": "d"}, {"text": 3}]}, Unreadable),
    ({"answer": "x", "passages": [{"id": [1]}]}, Unreadable),
    ({"error": {"message": "overloaded"}}, ValueError),
]
CHAT = [
    ({}, ValueError),
    ({"choices": [], "x": 1}, ValueError),
    ({"choices": [{}]}, NoText),
    ({"choices": [{"message": {"content": None}}]}, NoText),
    ({"choices": [{"message": {"content": 7}}]}, NoText),
]


@pytest.mark.parametrize(
    ("contract", "reply", "kind"), [*(("json", *one) for one in PLAIN), *(("openai", *one) for one in CHAT)]
)
def test_replies_that_are_not_of_their_form_are_none(contract, reply, kind):
    with pytest.raises(kind):
        CONTRACTS[contract].read(reply)


_NAMES = [
    *("answer", "passages", "id", "text", "title", "score", "error", "message", "choices", "content", "usage"),
    *("context", "citations", "sources", "search_results", "source_documents", "annotations", "url_citation"),
    *("metadata", "finish_reason"),
]
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=4),
    max_leaves=12,
)
_LIKELY = {
    "json": st.fixed_dictionaries({"answer": st.text(max_size=3)}, optional={"passages": _VALUES}),
    "openai": st.builds(
        lambda message, more: {**more, "choices": [{"message": message}]},
        st.dictionaries(st.sampled_from(_NAMES), _VALUES, max_size=5),
        st.dictionaries(st.sampled_from(_NAMES), _VALUES, max_size=5),
    ),
}


@pytest.mark.parametrize("contract", CONTRACTS)
@given(st.data())
def test_any_likely_json_is_read_or_refused(contract, data):
    reply = data.draw(_LIKELY[contract])
    try:
        read = CONTRACTS[contract].read(reply)
    except (Unreadable, NoText, ValueError):
        return
    assert isinstance(read.text, str)
    for passage in read.passages:
        assert passage.id and all(isinstance(part, str) for part in passage[:3])
        json.dumps(passage, allow_nan=False)


@pytest.mark.parametrize("place", ["context", "search_results", "source_documents", "sources", "annotations"])
def test_passages_of_a_chat_completion_are_read_where_services_put_them(server, ledger, place):
    server.place = place
    (reply,), _ = ask(server.chat + "#small", [question(1)], ledger)
    found = server.search("When was the harbour opened?")
    assert [(one.id, one.text) for one in reply.passages] == [(one.id, one.text) for one in found]
    assert reply.usage == {"prompt_tokens": 7, "completion_tokens": 3} and reply.finish_reason == "stop"


def test_texts_that_a_chat_completion_names_are_passages_and_addresses_are_ids():
    whole = {"choices": [{"message": {"content": "yes"}}]}
    for sources, passages in (
        (
            {"citations": ["https://h/1", "https://h/2"]},
            (Passage("https://h/1", "", ""), Passage("https://h/2", "", "")),
        ),
        ({"sources": ["a text"]}, (Passage("rag/0", "", "a text"),)),
    ):
        assert CONTRACTS["openai"].read({**whole, **sources}).passages == passages


def test_a_chat_completion_keeps_reasoning_apart_and_odd_sources_are_not_read():
    message = {"content": "<think>hm</think> yes", "annotations": [{"type": "file"}], "context": "none"}
    for odd in ([{"metadata": 4}], "x", [], {"a": 1}):
        read = CONTRACTS["openai"].read({"choices": [{"message": message}], "sources": odd})
        assert (read.text, read.reasoning, read.passages) == ("yes", "hm", ())
    parts = {"choices": [{"message": {"content": [{"text": "a"}, {"text": "b"}]}}]}
    assert CONTRACTS["openai"].read(parts).text == "ab"
    cut = {"choices": [{"message": {"content": None}, "finish_reason": "length"}]}
    assert CONTRACTS["openai"].read(cut).text == ""
