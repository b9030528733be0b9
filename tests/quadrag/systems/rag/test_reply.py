"""What is read of a RAG service's replies: answers and passages in both contracts, and what is none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rag_asking import ask, question

from quadrag.chat.reply import NoText
from quadrag.reading import Unreadable
from quadrag.records import Passage
from quadrag.systems.service import RagTransport

PLAIN = [
    ([], Unreadable, "is a list"),
    ("x", Unreadable, "is a str"),
    ({}, Unreadable, "with the keys"),
    ({"text": "x", "docs": []}, Unreadable, "with the keys text, docs"),
    ({"answer": None}, Unreadable, "answer is None"),
    ({"answer": 7}, Unreadable, r"answer is an int \(7\)"),
    ({"answer": {"text": "x"}}, Unreadable, "answer is a dict"),
    ({"answer": "x", "passages": "y"}, Unreadable, "passages are a str"),
    ({"answer": "x", "passages": {}}, Unreadable, "passages are a dict"),
    ({"answer": "x", "passages": [[]]}, Unreadable, "passage 1 is a list"),
    ({"answer": "x", "passages": ["d", {}]}, Unreadable, "passage 2 is a dict"),
    ({"answer": "x", "passages": [{"id": "d"}, {"text": 3}]}, Unreadable, "passage 2 is a dict with the keys text"),
    ({"answer": "x", "passages": [{"id": [1]}]}, Unreadable, "passage 1 is a dict with the keys id; expected an id"),
]
CHAT = [
    ({}, Unreadable, "no choices, but the keys none"),
    ({"choices": [], "x": 1}, Unreadable, "no choices, but the keys choices, x"),
    ({"choices": [{}]}, Unreadable, "message"),
    ({"choices": [{"message": {"content": None}}]}, NoText, "content None"),
    ({"choices": [{"message": {"content": 7}}]}, NoText, "content 7"),
]


@pytest.mark.parametrize(
    ("contract", "reply", "kind", "words"),
    [*(("json", *one) for one in PLAIN), *(("openai", *one) for one in CHAT)],
)
def test_replies_that_are_not_of_their_form_say_how(contract, reply, kind, words):
    with pytest.raises(kind, match=words):
        RagTransport(contract).read(reply)


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


@pytest.mark.parametrize("contract", ["json", "openai"])
@given(st.data())
def test_any_json_is_read_or_refused(contract, data):
    reply = data.draw(_VALUES | _LIKELY[contract])
    try:
        read = RagTransport(contract).read(reply)
    except (Unreadable, NoText) as error:
        assert str(error)
        return
    assert isinstance(read.text, str)
    for place, passage in enumerate(read.passages):
        assert passage.id and all(isinstance(part, str) for part in passage[:3]), place
        json.dumps(passage, allow_nan=False)


def test_parts_of_a_passage_may_be_lacking():
    lacking = [
        {"text": ""},
        {"id": 7, "text": None, "score": float("nan")},
        {"id": "", "text": "", "title": "t", "score": 10**400},
    ]
    reply = {"answer": "", "passages": lacking}
    assert RagTransport("json").read(reply).passages == (
        Passage("rag/0", "", ""),
        Passage("7", "", ""),
        Passage("rag/2", "t", ""),
    )
    for nothing in ({}, {"passages": None}, {"passages": []}):
        assert RagTransport("json").read({"answer": "x", **nothing}).passages == ()


@pytest.mark.parametrize(
    "place", ["context", "search_results", "citations", "source_documents", "sources", "annotations"]
)
def test_passages_of_a_chat_completion_are_read_where_services_put_them(server, ledger, place):
    server.place = place
    (reply,), _ = ask(server.chat + "#small", [question(1)], ledger)
    found = server.search("When was the harbour opened?")
    address = "https://host/" if place == "citations" else ""
    assert [one.id for one in reply.passages] == [address + one.id for one in found]
    assert [one.text for one in reply.passages] == [("" if address else one.text) for one in found]
    assert reply.usage == {"prompt_tokens": 7, "completion_tokens": 3} and reply.finish_reason == "stop"


def test_a_chat_completion_keeps_reasoning_apart_and_odd_sources_are_not_read():
    message = {"content": "<think>hm</think> yes", "annotations": [{"type": "file"}], "context": "none"}
    read = RagTransport("openai").read(
        {"choices": [{"message": message}], "sources": [3, "a text", {"metadata": {"url": "u"}}]}
    )
    assert (read.text, read.reasoning) == ("yes", "hm")
    assert read.passages == (Passage("3", "", ""), Passage("rag/1", "", "a text"), Passage("u", "", ""))
    odd = RagTransport("openai").read({"choices": [{"message": message}], "sources": ["a text", {"metadata": 4}]})
    assert (odd.text, odd.passages) == ("yes", ())
    bare = RagTransport("openai").read(
        {"choices": [{"message": {"content": [{"text": "a"}, {"text": "b"}]}}], "sources": []}
    )
    assert bare.text == "ab" and bare.passages == ()
    cut = {"choices": [{"message": {"content": None}, "finish_reason": "length"}]}
    assert RagTransport("openai").read(cut).text == ""
