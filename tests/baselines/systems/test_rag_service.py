"""A RAG service asked over real HTTP: what it is sent, what is read of its replies, what is kept, what fails how."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rag_server import RagServer, Rule

from quadrag.baselines.core.benchmark import load
from quadrag.baselines.core.prompts import load_service_prompts
from quadrag.baselines.core.task import Task, load_questions
from quadrag.baselines.systems.rag.reply import NoAnswer, Unreadable, read_reply
from quadrag.baselines.systems.rag.service import RagService, asked_text
from quadrag.chat.ledger import Ledger
from quadrag.chat.reply import Failure
from quadrag.errors import QuadragError
from quadrag.records import Passage, Question

DOCUMENTS = [
    ("d1", "Harbour", "The harbour of Brinmouth was opened in 1884. Its crane was built by the Harrow brothers."),
    ("d2", "Mill", "The mill at Harrowmere grinds oats. It burnt down in 1911 and was never built again."),
    ("d3", "Bridge", "The bridge over the Lune has nine arches and was paid for by a lottery."),
]
WORDS = {name: load_service_prompts(name) for name in ("rgb", "crud_rag", "crag", "omnieval")}


def question(number, query="When was the harbour opened?", **more):
    fields = {"references": ["SECRET GOLD"], "language": "en", "relevant": ("gold-id",), **more}
    return Question("rgb", "noise_robustness_en", "noise_0", str(number), query, **fields)


def asked(count):
    return [question(n, f"When was harbour number {n} opened?") for n in range(count)]


@pytest.fixture
def server():
    with RagServer(DOCUMENTS) as running:
        yield running


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "L") as opened:
        yield opened


def ask(spec, questions, ledger, how="bare", **options):
    with RagService(spec, ledger=ledger, **options) as service:
        return service.ask(questions, WORDS[questions[0].benchmark], how), service.spent


@pytest.mark.parametrize(
    ("spec", "contract", "posted"),
    [
        ("http://h:1/rag", "json", "http://h:1/rag"),
        ("http://h:1/rag/", "json", "http://h:1/rag/"),
        ("HTTP://h:1/rag", "json", "HTTP://h:1/rag"),
        ("http://h:1/ask?site=a", "json", "http://h:1/ask?site=a"),
        ("http://h:1/v1", "openai", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1#m", "openai", "http://h:1/v1/chat/completions"),
        ("http://h:1/rag#m", "openai", "http://h:1/rag/v1/chat/completions"),
        ("https://h/x/chat/completions?api-version=2", "openai", "https://h/x/chat/completions?api-version=2"),
    ],
)
def test_the_address_says_the_contract(spec, contract, posted):
    service = RagService(spec, ledger=None)
    assert (service.contract, service.spec.urls) == (contract, (posted,))
    assert service.parameters == {"contract": contract}


@pytest.mark.parametrize(
    ("spec", "options", "words"),
    [
        ("provider:m", {}, "is no address"),
        ("local:m", {}, "is no address"),
        ("http://", {}, "is not a base URL"),
        ("http://ann:secretsecret@h/rag", {"parameters": {"temperature": 0.0}}, "is sent no temperature"),
        ("http://h/rag", {"budget": 1.0}, "leave it out"),
        ("http://h/rag", {"concurrency": 0}, "concurrency 0"),
        ("http://h/rag", {"body": "absent.json"}, "cannot read fields"),
        ("http://h/rag", {"body": "list.json"}, "holds no JSON object"),
        ("http://h/rag", {"body": "own.json"}, "which quadrag itself sends"),
        ("http://h/rag", {"body": "nan.json"}, "cannot read fields"),
    ],
)
def test_what_cannot_be_used_is_one_line(tmp_path, monkeypatch, ledger, spec, options, words):
    monkeypatch.chdir(tmp_path)
    for name, text in {"list": "[]", "own": '{"question": "x"}', "nan": '{"a": NaN}'}.items():
        Path(f"{name}.json").write_text(text)
    with pytest.raises(QuadragError, match=words) as caught:
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


@pytest.mark.parametrize(
    ("benchmark", "configs"),
    [
        ("rgb", ["noise_robustness_en", "counterfactual_robustness_zh"]),
        ("crud_rag", [config for config, _ in load("crud_rag").campaign()]),
        ("crag", ["qa"]),
        ("omnieval", ["all"]),
    ],
)
def test_every_question_of_the_samples_has_its_words(benchmark, configs):
    for config in configs:
        split = {"omnieval": "auto", "crag": "public"}.get(benchmark)
        questions, _ = load_questions(Task(benchmark, config, split, "sample"), load(benchmark))
        for one in questions:
            for how in ("bare", "protocol"):
                text = asked_text(one, WORDS[one.benchmark], how)
                assert one.slots.get("question", one.slots.get("begin", one.query)) in text
                slots = {f"{{{name}}}" for name in ("query", "question", "event", "begin", "hallu_continue")}
                assert not any(slot in text for slot in slots)
            if benchmark == "crud_rag" and config != "continuation":
                assert "<response>" in text
    if benchmark != "crud_rag":
        assert asked_text(one, WORDS[one.benchmark], "bare") == one.slots.get("question", one.query)


PLAIN = [
    ([], Unreadable, "a JSON list"),
    ("x", Unreadable, "a JSON string"),
    ({}, Unreadable, 'no "answer"; found the keys none'),
    ({"response": "x", "docs": []}, Unreadable, "found the keys response, docs"),
    ({"answer": None}, NoAnswer, "the answer is null"),
    ({"answer": 7}, Unreadable, "answer is a number"),
    ({"answer": {"text": "x"}}, Unreadable, "answer is a object"),
    ({"answer": "x", "passages": "y"}, Unreadable, "passages are a string"),
    ({"answer": "x", "passages": {}}, Unreadable, "passages are a object"),
    ({"answer": "x", "passages": ["y"]}, Unreadable, "passage 0 is a string"),
    ({"answer": "x", "passages": [{}, {"text": 3}]}, Unreadable, "text of passage 1 is a number"),
    ({"answer": "x", "passages": [{"id": [1]}]}, Unreadable, "id of passage 0"),
    ({"answer": "x", "passages": [{"id": True}]}, Unreadable, "id of passage 0 is a boolean"),
    ({"answer": "x", "passages": [{"score": "0.3"}]}, Unreadable, "score of passage 0"),
    ({"answer": "x", "passages": [{"score": float("nan")}]}, Unreadable, "score of passage 0"),
    ({"answer": "x", "passages": [{"score": 10**400}]}, Unreadable, "score of passage 0"),
    ({"error": {"message": "overloaded"}}, NoAnswer, "overloaded"),
    ({"answer": None, "error": "gone"}, NoAnswer, "gone"),
    ({"answer": "Sorry.", "error": "rate limit"}, NoAnswer, "rate limit"),
]
CHAT = [
    ({}, Unreadable, "no choices"),
    ({"choices": []}, Unreadable, "no choices"),
    ({"choices": [{}]}, Unreadable, "no message"),
    ({"choices": [{"message": {"content": None}}]}, NoAnswer, "content is null"),
    ({"choices": [{"message": {"content": 7}}]}, Unreadable, "content is a number"),
    ({"error": {"message": "no such index"}}, NoAnswer, "no such index"),
    ({"choices": [{"message": {"content": "Sorry."}}], "error": "rate limit"}, NoAnswer, "rate limit"),
]


@pytest.mark.parametrize(
    ("contract", "reply", "kind", "words"),
    [*(("json", *one) for one in PLAIN), *(("openai", *one) for one in CHAT)],
)
def test_replies_that_are_not_of_their_form_say_how(contract, reply, kind, words):
    with pytest.raises(kind, match=words):
        read_reply(contract, reply)


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
        read = read_reply(contract, reply)
    except (Unreadable, NoAnswer) as error:
        assert str(error)
        return
    assert isinstance(read["text"], str)
    for place, passage in enumerate(read["passages"] or ()):
        assert passage.id and all(isinstance(part, str) for part in passage[:3]), place
        json.dumps(passage, allow_nan=False)


def test_parts_of_a_passage_may_be_lacking():
    reply = {"answer": "", "passages": [{}, {"id": 7, "text": None}, {"id": "", "title": "t", "score": 2}]}
    assert read_reply("json", reply)["passages"] == (
        Passage("rag/0", "", ""),
        Passage("7", "", ""),
        Passage("rag/2", "t", "", 2.0),
    )
    assert read_reply("json", {"answer": "x"})["passages"] is None
    assert read_reply("json", {"answer": "", "passages": None})["passages"] is None
    assert read_reply("json", {"answer": "x", "passages": []})["passages"] == ()


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


def test_a_chat_completion_keeps_reasoning_apart_and_odd_entries_keep_their_rank():
    message = {"content": "<think>hm</think> yes", "annotations": [{"type": "file"}], "context": "none"}
    read = read_reply("openai", {"choices": [{"message": message}], "sources": [3, "a text", {"metadata": 4}]})
    assert (read["text"], read["reasoning"]) == ("yes", "hm")
    assert read["passages"] == (Passage("rag/0", "", ""), Passage("rag/1", "", "a text"), Passage("rag/2", "", ""))
    bare = read_reply("openai", {"choices": [{"message": {"content": [{"text": "a"}, {"text": "b"}]}}], "sources": []})
    assert bare["text"] == "ab" and bare["passages"] is None
    cut = {"choices": [{"message": {"content": None}, "finish_reason": "length"}]}
    assert read_reply("openai", cut)["text"] == ""


def test_replies_are_kept_whole_and_asked_for_once(server, ledger):
    first, spent = ask(server.url, asked(9), ledger, concurrency=3)
    assert spent["calls"] == 9 and server.requests == 9 and 1 <= server.most_in_flight <= 3
    again, spent = ask(server.url, asked(9), ledger)
    assert spent == {**spent, "calls": 0, "cached": 9} and server.requests == 9
    assert [(r.text, r.passages, r.latency) for r in again] == [(r.text, r.passages, r.latency) for r in first]
    stored = [json.loads(text) for (text,) in sqlite3.connect(ledger.path).execute("SELECT value FROM replies")]
    assert all(set(row["reply"]) == {"answer", "passages"} and len(row["reply"]["passages"]) == 3 for row in stored)


def test_two_services_share_no_reply(server, ledger, tmp_path):
    (tmp_path / "more.json").write_text('{"site": "b"}')
    with RagServer(DOCUMENTS[1:]) as other:
        for spec, options in (
            (server.url, {}),
            (other.url, {}),
            (server.url + "?site=a", {}),
            (server.url, {"name": "x"}),
            (other.url, {"name": "x"}),
            (server.url, {"body": tmp_path / "more.json"}),
            (server.chat + "#small", {}),
            (other.chat + "#small", {}),
        ):
            _, spent = ask(spec, [question(1)], ledger, **options)
            assert (spent["calls"], spent["cached"]) == (1, 0), spec
        assert (server.requests, other.requests) == (5, 3)
        assert server.bodies[3]["site"] == "b"


def test_another_password_in_the_address_is_the_same_service(server, ledger):
    ask(server.url, [question(1)], ledger)
    _, spent = ask(server.url.replace("//", "//ann:a-long-password@"), [question(1)], ledger)
    assert spent["cached"] == 1
    assert "password" not in RagService("http://ann:a-long-password@h/rag", ledger=None).model


def test_a_name_is_one_line(ledger):
    assert RagService("http://h/rag", ledger=ledger, name=" my\n rag ").model == "rag:my rag"
    assert RagService("http://h/rag", ledger=ledger, name=" ").model == "rag:h/rag"


def test_names_go_before_models_and_models_before_addresses(server, ledger):
    assert RagService("http://h:1/rag", ledger=None).model == "rag:h:1/rag"
    assert RagService("http://h:1/rag", ledger=None, name="mine").model == "rag:mine"
    assert RagService("http://h:1/v1#m", ledger=None).model == "rag:m"
    assert RagService("http://h:1/v1#m", ledger=None, name="mine").model == "rag:mine"
    assert RagService(server.chat, ledger=ledger).model == "rag:small"
    server.models = ["a", "b"]
    with pytest.raises(QuadragError, match="holds 2 models"):
        _ = RagService(server.chat, ledger=ledger).model
    with pytest.raises(QuadragError, match="append #MODEL"):
        _ = RagService(server.chat, ledger=ledger, replay=True).model


def test_a_replay_asks_nothing_and_says_what_it_lacks(server, ledger):
    ask(server.url, asked(2), ledger)
    server_url, requests = server.url, server.requests
    replies, _ = ask(server_url, asked(3), ledger, replay=True)
    assert [type(reply).__name__ for reply in replies] == ["Served", "Served", "Failure"]
    assert replies[2].detail.startswith("not asked") and server.requests == requests
    with pytest.raises(QuadragError, match="lacks 1 of 1 replies of 'rag:other'"):
        ask(server_url, asked(1), ledger, replay=True, name="other")


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule",
    [
        Rule("status", times=2, status=503),
        Rule("status", times=2, status=429, headers={"Retry-After": "0.1"}),
        Rule("drop", times=1),
        Rule("body", times=2, body="<html>it works</html>"),
        Rule("body", times=2, body={"error": {"message": "overloaded"}}),
    ],
    ids=lambda rule: f"{rule.action} {rule.status}",
)
def test_what_may_pass_is_tried_again(server, ledger, rule):
    server.rules.append(rule)
    replies, spent = ask(server.url, asked(4), ledger, concurrency=2)
    assert all(reply.text for reply in replies) and spent["failed"] == 0 and spent["retries"] >= 1


def test_a_service_that_takes_too_long_is_unscored(server, ledger):
    server.rules.append(Rule("stall", match="number 1", seconds=1.5))
    replies, _ = ask(server.url, asked(3), ledger, timeout=0.3, retries=0, concurrency=1)
    assert [isinstance(reply, Failure) for reply in replies] == [False, True, False]
    assert replies[1].reason == "api_error" and "no reply within 0.3 s" in replies[1].detail


@pytest.mark.parametrize(
    ("body", "reason", "words"),
    [
        ({"response": "x"}, "unparsable", 'no "answer"; found the keys response'),
        ({"answer": "x", "passages": "none"}, "unparsable", "passages are a string"),
        ({"answer": None}, "api_error", "the answer is null"),
        ([1], "unparsable", "a JSON list"),
    ],
)
def test_a_reply_of_another_form_is_one_failure_and_is_not_kept(server, ledger, body, reason, words):
    server.rules.append(Rule("body", match="number 1", body=body))
    replies, spent = ask(server.url, asked(3), ledger, concurrency=1)
    assert [getattr(reply, "reason", "ok") for reply in replies] == ["ok", reason, "ok"]
    assert words in replies[1].detail and "\n" not in replies[1].detail
    assert spent["retries"] == 0 and len(ledger) == 2
    server.rules.clear()
    replies, spent = ask(server.url, asked(3), ledger)
    assert all(reply.text for reply in replies) and spent["calls"] == 1


def test_a_reply_of_another_form_is_no_dead_service_to_one_that_has_answered(server, ledger):
    ask(server.url, asked(1), ledger)
    server.rules.append(Rule("body", match="number 1", body={}))
    replies, _ = ask(server.url, asked(2), ledger)
    assert getattr(replies[1], "reason", None) == "unparsable"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "path", "words"),
    [
        (Rule("body", body={"response": "x"}), "/rag", 'no "answer"; found the keys response; expected {"answer"'),
        (Rule("body", body="<html>welcome</html>"), "/rag", "the reply is no JSON ('<html>welcome</html>')"),
        (Rule("body", body={"error": "index is empty"}), "/rag", "the reply is an error: index is empty"),
        (
            Rule("status", status=422, body={"detail": "no query"}),
            "/rag",
            "answered 422: no query; it was sent a JSON obj",
        ),
        (Rule("status", status=500), "/rag", "answered 500: injected; see the server's log"),
        (None, "/wrong", "answered 404: Not Found; correct the address, which is asked as it stands"),
        (None, "/wrong", "; a model's or a service's chat endpoint is typed as --rag http://HOST:PORT/v1#MODEL"),
        (
            Rule("body", body={"choices": []}),
            "/rag",
            "docs/own-system.md; a model's or a service's chat endpoint is typed",
        ),
        (
            None,
            "/v1x#small",
            "a service of the JSON form is typed with its whole address, as --rag http://HOST:PORT/rag",
        ),
    ],
)
def test_a_dead_service_is_one_line(server, ledger, rule, path, words):
    if rule:
        server.rules.append(rule)
    with pytest.raises(QuadragError) as caught:
        ask(server.base + path, asked(6), ledger, concurrency=2, retries=1)
    assert words in str(caught.value) and ("no JSON" not in words or "start the server" not in str(caught.value))
    assert "\n" not in str(caught.value)
    assert server.requests <= 2 * 3, "the rest is not asked"


def test_nobody_there_is_one_line(ledger):
    with pytest.raises(QuadragError, match="start the server or correct its address"):
        ask("http://127.0.0.1:9/rag", asked(3), ledger)


def test_the_key_is_sent_and_never_shown(server, ledger, monkeypatch, capfd):
    key, token = "quadrag-key-0123456789", "hf_token0123456789"
    monkeypatch.setenv("HF_TOKEN", token)
    ask(server.url, asked(1), ledger)
    assert server.authorizations == {""}, "a token for the Hub goes to the Hub alone"
    monkeypatch.setenv("QUADRAG_API_KEY", key)
    server.key = key
    server.rules.append(Rule("merge", match="number 2", body={"answer": f"your key is {key}, your token {token}"}))
    replies, _ = ask(server.url, asked(3), ledger)
    assert replies[2].text == f"your key is {key}, your token {token}" and f"Bearer {key}" in server.authorizations
    server.key = "another"
    with pytest.raises(QuadragError, match="set QUADRAG_API_KEY to a valid one") as caught:
        ask(server.url, asked(1), ledger, name="fresh")
    assert key not in str(caught.value) and "bad key: Bearer ***" in str(caught.value)
    said = capfd.readouterr().err
    assert said.count("repeats a secret") == 1 and key not in said and token not in said


def test_parameters_and_further_fields_reach_a_chat_service(server, ledger, tmp_path):
    (tmp_path / "more.json").write_text('{"data_sources": [{"type": "azure_search"}]}')
    service = RagService(
        server.chat + "#small",
        ledger=ledger,
        parameters={"temperature": 0.0, "top_p": None, "seed": 3},
        body=tmp_path / "more.json",
    )
    service.ask([question(1)], WORDS[question(1).benchmark], "bare")
    service.close()
    sent = server.bodies[0]
    assert (sent["temperature"], sent["seed"], sent["data_sources"]) == (0.0, 3, [{"type": "azure_search"}])
    assert "top_p" not in sent and "contract" not in sent
    assert (
        set(service.parameters) == {"contract", "temperature", "seed", "body"} and len(service.parameters["body"]) == 16
    )


def test_what_utf8_cannot_hold_is_one_failure(server, ledger):
    replies, _ = ask(server.url, [question(0), question(1, "half \ud83d")], ledger)
    assert replies[0].text and isinstance(replies[1], Failure)
    server.rules.append(Rule("merge", body={"answer": "half \ud83d", "passages": []}))
    (reply,), _ = ask(server.url, [question(2)], ledger)
    assert reply.text == "half \ud83d"
