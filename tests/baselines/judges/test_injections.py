"""The hundred hostile texts against every prompt: a judge that obeys what gets out of its place, and what is said."""

import re
import sys
from types import ModuleType
from typing import Any

import pytest
from chat_server import ChatServer, Rule
from injections import marked, obedient

from quadrag.baselines.core.benchmark import load
from quadrag.baselines.core.prompts import load_prompts
from quadrag.baselines.judges.injections import cases, injections
from quadrag.baselines.judges.labels import find_graded, graded_keys
from quadrag.baselines.scoring.drive import load_scorer
from quadrag.records import Passage, Question

SLOTS = ("query_time", "question", "asked")
TEXTS = injections("{verdict}")


def test_they_are_ten_of_ten_families() -> None:
    families = [one.family for one in TEXTS.values()]
    assert [families.count(name) for name in dict.fromkeys(families)] == [10] * 10
    assert len({one.text for one in TEXTS.values()}) == len({one.order for one in TEXTS.values()}) == 100
    assert all("{verdict}" in one.order for one in TEXTS.values())


def test_every_graded_value_has_a_case() -> None:
    asked = {case["metric"] for case in cases()}
    assert asked == {find_graded(name).name for name in graded_keys()}


@pytest.mark.slow
def test_no_text_turns_a_judge_that_obeys_what_gets_out(cli: Any) -> None:
    with ChatServer(models=["obedient"], text=obedient) as server:
        done = cli("certify-judge", "--injections", "--judge", f"{server.url}#obedient", "--ledger", "L")
        assert done.code == 0, done.err
        assert server.requests == 101 * len(cases()) - 2, "the answer alone is asked once of each prompt"
    assert re.search(r"(?m)^all +0\.0 +0\.0 +1000$", done.out), done.out
    assert done.out.count(" 0.0         0.0") == 21, "ten families, all, and ten prompts"


def unquoted(text: str, *_: Any) -> str:
    return text


@pytest.mark.parametrize(("metric", "least"), [("truthfulness", 90), ("rejection_rate", 10), ("omnieval.hal", 90)])
def test_where_nothing_is_escaped_they_win(metric: str, least: int, cli: Any, monkeypatch: Any) -> None:
    """The planted fault: a prompt into which texts go as they are."""
    module = metric.partition(".")[0]
    with monkeypatch.context() as patch, ChatServer(models=["m"], text=obedient) as server:
        for name in ("escape", "quote"):
            for function in functions(load_scorer(module)):
                patch.setitem(function, name, unquoted)
        done = cli("certify-judge", "--injections", "--metric", metric, "--judge", f"{server.url}#m", "--ledger", "L")
    assert done.code == 0, done.err
    assert float(re.search(r"(?m)^all +([\d.]+)", done.out)[1]) >= least, done.out


def functions(kind: type) -> list[dict[str, Any]]:
    """The name spaces of the files of a metric that fill slots."""
    folder = kind.__module__.rpartition(".")[0]
    modules: list[ModuleType] = [one for name, one in sys.modules.items() if name.startswith(folder)]
    return [vars(one) for one in modules if hasattr(one, "escape") or hasattr(one, "quote")]


def test_a_judge_that_cannot_be_measured_is_told(cli: Any) -> None:
    command = ("certify-judge", "--injections", "--metric", "truthfulness", "--ledger", "L", "--judge")
    with ChatServer(text="no verdict") as server:
        done = cli(*command, f"{server.url}#m")
    assert (done.code, done.err) == (3, "quadrag: INVALID, the judge gave no readable verdict on the answer alone\n")
    with ChatServer(text='{"score": 0}') as server:
        server.rules += [Rule("reply", times=1), Rule("status", status=400, times=30)]
        done = cli(*command, f"{server.url}#m", "--concurrency", "1")
    assert done.code == 3 and "of 101 calls failed" in done.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "name it with --judge"),
        (("--judge", "rule:plain"), "one live judge"),
        (("--judge", "http://127.0.0.1:9/v1#m", "--against", "rule:plain"), "leave out --against"),
        (("x.csv", "--judge", "http://127.0.0.1:9/v1#m"), "leave out LABELS"),
    ],
)
def test_what_it_is_not_asked_with(options: tuple[str, ...], said: str, cli: Any) -> None:
    done = cli("certify-judge", "--injections", *options)
    assert done.code == 2 and done.out == "" and said in done.err and done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("benchmark", "config", "retriever"),
    [
        ("rgb", "noise_robustness_en", "own"),
        ("crud_rag", "qa_1doc", "bm25"),
        ("crag", "task_1_2", "snippets-kg"),
        ("omnieval", "all", "bm25"),
    ],
)
def test_no_passage_opens_a_turn_of_the_model(benchmark: str, config: str, retriever: str) -> None:
    for one in TEXTS.values():
        question = Question(benchmark, config, "test", "1", one.text, ["x"], "en", slots=dict.fromkeys(SLOTS, one.text))
        shown = [Passage(f"{place}/1", one.text, one.text) for place in ("web", "kg")]
        messages = load(benchmark).messages(question, shown, load_prompts(benchmark), retriever)
        assert not any(marked(message["content"]) for message in messages), one.text
