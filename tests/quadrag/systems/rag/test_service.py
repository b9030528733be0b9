"""A RAG service asked over real HTTP: its address and name, what it is sent, what is kept."""

import pytest
from rag_asking import DOCUMENTS, ask, asked, question
from rag_server import RagServer

from quadrag.chat.policy import Budget, Prices
from quadrag.errors import QuadragError
from quadrag.records import Passage, Question
from quadrag.systems.service import RagService

pytestmark = pytest.mark.plugins


@pytest.mark.parametrize(
    ("end", "posted"),
    [
        ("/rag", "/rag"),
        ("/rag/", "/rag/"),
        ("/ask?site=a", "/ask?site=a"),
        ("/v1", "/v1/chat/completions"),
        ("/v1#m", "/v1/chat/completions"),
        ("/rag#m", "/rag/v1/chat/completions"),
        ("/x/chat/completions?api-version=2#m", "/x/chat/completions?api-version=2"),
    ],
)
def test_the_address_says_the_contract(server, ledger, end, posted):
    server.any_path = True
    ask(server.base.replace("http:", "HTTP:") + end, [question(1)], ledger)
    assert server.paths == [posted] and ("messages" in server.bodies[0]) is ("chat" in posted)


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("provider:m", {}),
        ("local:m", {}),
        ("http://", {}),
        ("http://me:secretsecret@h:/rag", {}),
        ("http://ann:secretsecret@h/rag", {"budget": Budget(1, "USD"), "prices": Prices({})}),
        ("http://h/rag", {"concurrency": 0}),
    ],
)
def test_what_cannot_be_used_is_one_line(ledger, spec, options):
    with pytest.raises(QuadragError) as caught:
        RagService(spec, ledger=ledger, **options)
    assert "\n" not in str(caught.value) and "secretsecret" not in str(caught.value)


def test_the_json_contract_sends_the_question_and_nothing_of_the_gold(server, ledger):
    replies, _ = ask(server.url, [question(7, passages=(Passage("7-0", "", "SECRET GOLD"),))], ledger)
    assert server.bodies == [
        {
            "id": "7",
            "question": "When was the harbour opened?",
            "benchmark": "rgb",
            "config": "noise_robustness_en",
            "split": "noise_0",
            "language": "en",
        }
    ]
    assert replies[0].text == "The harbour of Brinmouth was opened in 1884."
    first = replies[0].passages[0]
    assert first.id == "d1#0" and first.title == "Harbour" and first.text == DOCUMENTS[0][2][:120]
    assert first.score == server.search("When was the harbour opened?")[0].score


def test_turns_and_the_time_of_the_question_are_sent_in_both_forms(server, ledger):
    talk = question(1, history=(("a?", "A"), ("b?", None)), slots={"question": "c?", "asked": "c?"})
    talk = Question(**{**{f: getattr(talk, f) for f in talk.__dataclass_fields__}, "benchmark": "omnieval"})
    timed = Question("crag", "qa", "public", "2", "who?", [], "en", slots={"query_time": "03/10/2024, 23:19:21 PT"})
    for spec in (server.url, server.chat + "#small"):
        ask(spec, [talk], ledger)
        ask(spec, [timed], ledger)
    plain, dated, chat, dated_chat = server.bodies
    assert plain["history"] == [{"question": "a?", "answer": "A"}, {"question": "b?", "answer": None}]
    assert plain["question"] == "c?" and "query_time" not in plain
    assert dated["query_time"] == "03/10/2024, 23:19:21 PT" and dated["question"] == "who?" and "history" not in dated
    assert chat == {
        "model": "small",
        "messages": [
            {"role": "user", "content": "a?"},
            {"role": "assistant", "content": "A"},
            {"role": "user", "content": "b?\nc?"},
        ],
    }
    assert dated_chat["messages"] == [{"role": "user", "content": "who?\n\nQuery Time: 03/10/2024, 23:19:21 PT"}]


def test_replies_are_kept_and_asked_for_once(server, ledger):
    first, spent = ask(server.url, asked(9), ledger, concurrency=3)
    assert spent["calls"] == 9 and server.requests == 9 and 1 <= server.most_in_flight <= 3
    again, spent = ask(server.url, asked(9), ledger)
    assert spent["calls"] == 0 and server.requests == 9
    assert [(r.text, r.passages, r.latency) for r in again] == [(r.text, r.passages, r.latency) for r in first]
    assert all(len(reply.passages) == 3 for reply in again)


def test_two_services_share_no_reply(server, ledger):
    with RagServer(DOCUMENTS[1:]) as other:
        for spec, options in (
            (server.url, {}),
            (other.url, {}),
            (server.url + "?site=a", {}),
            (server.url, {"name": "x"}),
            (other.url, {"name": "x"}),
            (server.chat + "#small", {}),
            (other.chat + "#small", {}),
        ):
            _, spent = ask(spec, [question(1)], ledger, **options)
            assert spent["calls"] == 1, spec
        assert (server.requests, other.requests) == (4, 3)


def test_another_password_in_the_address_is_the_same_service(server, ledger):
    ask(server.url, [question(1)], ledger)
    _, spent = ask(server.url.replace("//", "//ann:a-long-password@"), [question(1)], ledger)
    assert spent["calls"] == 0
    assert "password" not in RagService("http://ann:a-long-password@h/rag", ledger=None).name


def test_names_go_before_models_and_models_before_addresses(server, ledger):
    assert RagService("http://h:1/rag", ledger=None).name == "rag:h:1/rag"
    assert RagService("http://h:1/rag", ledger=None, name="mine").name == "rag:mine"
    assert RagService("http://h:1/v1#m", ledger=None).name == "rag:m"
    assert RagService("http://h:1/v1#m", ledger=None, name="mine").name == "rag:mine"
    assert RagService(server.chat, ledger=ledger).name == "rag:small"
    server.models = ["a", "b"]
    for replay in (False, True):
        with pytest.raises(QuadragError, match="#MODEL"):
            RagService(server.chat, ledger=ledger, replay=replay)
