"""`--estimate`: no model is asked, and what it says of calls and tokens is what the same run then comes to."""

import json
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule
from specs import spec_file

from quadrag import catalogue
from quadrag.chat.tokens import reckon
from quadrag.metric_record import metric_record
from quadrag.retrieval import search
from quadrag.retrieval.chunk import CL100K, count_tokens

pytestmark = pytest.mark.plugins

RUNS = [
    ("rgb", "noise_robustness_en", "--split", "noise_40"),
    ("rgb", "negative_rejection_zh"),
    ("rgb", "counterfactual_robustness_en"),
    ("crag", "qa", "--retriever", "none"),
    ("crag", "task_1_2", "--retriever", "snippets-kg"),
    ("crud_rag", "qa_1doc"),
    ("crud_rag", "continuation", "--samples", 2, "--seed", 5),
    ("omnieval", "extractive_qa", "--split", "auto"),
]
JUDGED = [run for run in RUNS if "noise_robustness_en" not in run]

REJECTION = ("run", "rgb", "negative_rejection_en", "--data-dir", "sample")


@pytest.fixture
def model():
    with ChatServer(models=["gpt-4"]) as running:
        yield running


@pytest.fixture
def readable():
    """A judge of every metric, that replies as the record of each says that a judge does."""
    replies = [pair for name in catalogue.metrics() for pair in metric_record(name).replies.items()]
    with ChatServer(models=["j"]) as running:
        running.rules += [Rule("reply", match=mark, message={"content": text}) for mark, text in replies]
        yield running


def stages(ran):
    assert ran.code == 0, ran.err
    return {one["stage"]: one for one in json.loads(ran.out)["stages"]}


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS, ids=lambda run: "-".join(map(str, run[:2])))
def test_calls_and_tokens_of_answers_are_those_of_the_run(cli, model, run):
    asked = ("run", *run, "--data-dir", "sample", "--llm", f"{model.url}#gpt-4", "--ledger", "L", "--out", "r")
    said = stages(cli(*asked, "--estimate", "--json"))
    assert model.requests == 0 and not Path("r").exists()
    assert cli(*asked).code == 0
    assert sum(one["calls"] for one in said.values()) == model.requests > 0
    if "entities" not in said:  # else the facts in a prompt depend on the entities that a model names
        sent = sum(3 + sum(4 + reckon(m["content"]) for m in body["messages"]) for body in model.bodies)
        assert said["answers"]["prompt_tokens"] == sent
        texts = [m["content"] for body in model.bodies for m in body["messages"]]
        tokens, chinese = sum(map(count_tokens(CL100K), texts)), any("的" in text for text in texts)
        assert sum(map(reckon, texts)) == pytest.approx(tokens, rel=0.5 if chinese else 0.15)
    again = stages(cli(*asked[:-1], "other", "--estimate", "--json"))
    assert {one["calls"] for one in again.values()} == {0}, "all is kept"
    assert sum(one["kept"] for one in again.values()) == model.requests


@pytest.mark.parametrize(
    "source",
    [pytest.param({}, marks=pytest.mark.slow), {"chunk_source": "files", "chunk_tokenizer": "cl100k_base"}],
)
def test_a_large_corpus_is_not_indexed_for_an_estimate(cli, model, monkeypatch, tmp_path, source):
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(search, "LARGE", 1000)
    place = ("run", "crud_rag", "summary", "--data-dir", "sample", *spec_file(retrieval=source))
    asked = (*place, "--llm", f"{model.url}#gpt-4", "--ledger", "L", "--out")
    said = json.loads(cli(*asked, "r", "--estimate", "--json").out)
    assert said["notes"] == [search.STAND_IN] and not list((tmp_path / "cache").glob("indexes/passages-*"))
    assert search.STAND_IN in " ".join(cli(*asked, "r", "--estimate").out.split())
    assert cli(*asked, "r").code == 0
    found = sum(3 + sum(4 + reckon(m["content"]) for m in body["messages"]) for body in model.bodies)
    assert said["stages"][0]["prompt_tokens"] == pytest.approx(found, rel=0.2)
    again = json.loads(cli(*asked, "other", "--fresh", "--estimate", "--json").out)
    assert "notes" not in again and again["stages"][0]["prompt_tokens"] == found, "the index stands"


@pytest.mark.slow
@pytest.mark.parametrize("run", JUDGED, ids=lambda run: "-".join(map(str, run[:2])))
def test_calls_of_a_judge_are_those_of_the_run(cli, model, readable, run):
    asked = ("run", *run, "--data-dir", "sample", "--llm", f"{model.url}#gpt-4", "--judge", f"{readable.url}#j")
    asked += ("--ledger", "L", "--out", "r")
    if run[0] == "crag":  # an echo has `I don't know` in it, which needs no judge
        model.state.text = "It may well be so."
    said = stages(cli(*asked, "--estimate", "--json"))
    assert readable.requests == model.requests == 0
    assert cli(*asked).code == 0
    judged = [one for one in said.values() if one["model"] == "j"]
    assert sum(one["calls"] for one in judged) == readable.requests > 0
    # With answers that stand, all that a judge is shown is known.
    answers = Path("r/answers.jsonl").read_text()
    Path("answers.jsonl").write_text(answers)
    more = ("--retriever", "none") if "none" in run else ()
    scored = ("score", "answers.jsonl", "--data-dir", "sample", *more, "--judge", f"{readable.url}#j", "--ledger", "L")
    kept = stages(cli(*scored, "--estimate", "--json"))
    assert {one["calls"] for one in kept.values()} == {0} and sum(one["kept"] for one in kept.values()) > 0


def test_a_model_that_is_loaded_here_is_not_loaded(cli):
    asked = (*REJECTION, "--llm", "local:nowhere", "--estimate", "--json")
    assert stages(cli(*asked))["answers"]["calls"] == 12


def test_every_judged_metric_shows_a_reply():
    judged = [n for n in catalogue.metrics() if any(key.needs == "judge" for key in metric_record(n).keys.values())]
    assert len(judged) == 5 and all(metric_record(name).replies for name in judged)
