"""Whole runs against a RAG service: retrieval and generation measured apart, nothing asked twice, nothing lost."""

import json
from pathlib import Path

import pytest
from chat_server import ChatServer
from rag_runs import QA, lines, ranking, values
from rag_server import CHUNK, RagServer, Rule
from specs import spec_of

from quadrag.benchmark import load
from quadrag.data.builders import open_builder, rows
from quadrag.loading import load_questions
from quadrag.records import Passage, document_id
from quadrag.results import read_run
from quadrag.scoring.served import LEAST

pytestmark = pytest.mark.plugins


def test_retrieval_and_generation_are_measured_apart(run, server, stages):
    result = run(server.url)
    questions, _ = load_questions(QA, load("crud_rag"))
    retrieved, answers = lines("r/retrieved.jsonl"), lines("r/answers.jsonl")
    each = []
    for question, found, answer in zip(questions, retrieved, answers, strict=True):
        true = server.reply("/rag", {"question": question.query})
        assert found["passages"] == true["passages"] and answer["answer"] == true["answer"]
        ids = [document_id(Passage(one["id"], "", "")) for one in true["passages"]]
        each.append(sum(1 / (ids.index(gold) + 1) if gold in ids else 0 for gold in question.relevant) / 2)
    scores = ranking(result)
    assert scores["mrr_per_gold"]["value"] == pytest.approx(sum(each) / len(each)) and sum(each) > 0
    assert {"mrr", "map", "recall@1", "recall@5", "recall@8", "ndcg@5", "hit@1"} <= set(scores)
    assert values(result)["crud_overlap", "rouge_l"]["value"] > 0
    info = json.loads(Path("r/run.json").read_text())
    made = read_run(Path("r"))
    assert (made.llm, made.retriever) == ("rag:mine", "rag")
    assert (made.parameters, made.services) == ({"contract": "json"}, {"llm": server.url})
    assert len(info["latency_seconds"]) == 8 and info["latency"]["median"] > 0
    assert info["usage"]["llm"]["calls"] == 8 == server.requests
    assert info["service"].items() >= {"passages": 40, "questions": 8, "texts": True, "by": "id", "why": None}.items()
    gold = {text for question in questions for text in (question.references, *question.relevant)}
    assert not any(text in json.dumps(server.bodies, ensure_ascii=False) for text in gold)


def test_two_runs_are_equal_to_the_byte_and_a_third_needs_no_service(run, documents, stages):
    found = []
    for number in (1, 2):
        with RagServer(documents, latency=0.01 * number) as server:
            run(server.url, out=f"r{number}", ledger=f"L{number}", concurrency=3 * number)
            url, asked = server.url, server.requests
            assert asked == 8
            run(url, out=f"again{number}", ledger=f"L{number}")
            assert server.requests == asked
        replayed = run(url, out=f"replayed{number}", ledger=f"L{number}", replay=True)
        assert replayed.record.latency_seconds == json.loads(Path(f"r{number}/run.json").read_text())["latency_seconds"]
        found += [stages(Path(f"{folder}{number}")) for folder in ("r", "again", "replayed")]
    assert all(one == found[0] for one in found)


def test_passages_without_ids_are_known_by_their_text(run, server, documents):
    server.ids = False
    result = run(server.url)
    assert {one["id"] for row in lines("r/retrieved.jsonl") for one in row["passages"]} == {
        f"rag/{n}" for n in range(5)
    }
    assert result.record.service["by"] == "text"
    texts = {ident: "".join(text.split()) for ident, _, text in documents}
    questions, _ = load_questions(QA, load("crud_rag"))
    expected = []
    for question, row in zip(questions, lines("r/retrieved.jsonl"), strict=True):
        found = ["".join(one["text"].split()) for one in row["passages"]]
        hits = {g for g in question.relevant if any(len(t) >= LEAST and t in texts[g] for t in found)}
        expected.append(len(hits) / len(question.relevant))
    assert ranking(result)["recall@5"]["value"] == pytest.approx(sum(expected) / len(expected)) and sum(expected) > 0
    assert CHUNK > LEAST


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "laid_over", "why"),
    [
        ({"ids": False, "texts": False}, {}, "the system gave no id and no text of a gold document"),
        ({}, {"passages": None}, "the system gave no passages"),
    ],
)
def test_what_cannot_be_ranked_is_told_and_the_answers_are_scored(run, documents, settings, laid_over, why):
    with RagServer(documents, **settings) as server:
        server.rules.append(Rule("merge", body=laid_over))
        result = run(server.url)
    assert {row["not_run"] for row in ranking(result).values()} == {why}
    assert values(result)["crud_overlap", "rouge_l"]["value"] > 0


def test_a_search_that_finds_no_gold_document_is_zero(run):
    with RagServer([("ab" * 32, "", "x" * CHUNK)]) as server:
        result = run(server.url)
    assert {row["value"] for row in ranking(result).values()} == {0.0}


def test_ids_of_another_kind_are_not_ranked(run, documents):
    mangled = [(f"file-{number}.txt", "", f"{text[::-1]}") for number, (_, _, text) in enumerate(documents)]
    with RagServer(mangled) as server:
        result = run(server.url)
    assert {row["value"] for row in ranking(result).values()} == {None}
    assert all("no id and no text" in row["not_run"] for row in ranking(result).values())


@pytest.mark.slow
def test_omnieval_is_judged_by_the_passages_of_the_service(run, documents):
    builder, _ = open_builder("omnieval", "corpus", "sample", None)
    nodes = [(row["id"], row["title"] or "", row["contents"]) for row in rows(builder, "corpus")]
    task = spec_of("omnieval", "conversational_qa", "auto", "sample", limit=12)
    with RagServer(nodes) as server, ChatServer(models=["j"], text='{"prediction": 1}') as judge:
        result = run(server.url, task, judges=[judge])
        bodies = server.bodies
        passage = lines("r/retrieved.jsonl")[0]["passages"][0]["text"].splitlines()[1]
        shown = [passage in body["messages"][-1]["content"] for body in judge.bodies]
        assert 2 <= sum(shown) < len(shown), "for hal and utl alone"
        server.ids = False
        nameless = run(server.url, task, out="nameless", judges=[judge], name="nameless")
        server.ids, server.texts = True, False
        silent = run(server.url, task, out="silent", judges=[judge], name="silent")
    assert ranking(result)["mrr"]["value"] is not None and result.record.service["by"] == "id"
    assert any("history" in body for body in bodies)
    assert ranking(nameless)["mrr"]["value"] > 0 and nameless.record.service["by"] == "text"
    assert "not_run" not in values(result)["omnieval", "hal"] and "not_run" not in values(result)["omnieval", "utl"]
    assert values(silent)["omnieval", "hal"]["not_run"] == "the passages shown are not known"
    assert ranking(silent)["mrr"]["value"] == ranking(result)["mrr"]["value"], "ids alone are enough for ranks"
