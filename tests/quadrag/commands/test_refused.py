"""Bad input of every kind: one line on stderr, exit code 2, nothing made."""

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from chat_server import ChatServer

from quadrag.gone import GONE

DEAD = "http://127.0.0.1:9/v1#m"
RGB = ("rgb", "negative_rejection_en", "--data-dir", "sample")
RUN = ("run", *RGB, "--out", "out")
SCORE = ("--benchmark", "rgb", "--config", "negative_rejection_en", "--data-dir", "sample")
GOOD = {"id": 0, "query": "q", "answer": ["a"], "positive": ["p"], "negative": ["n"]}


def plain(n=12):
    return [{"id": i, "answer": "insufficient information"} for i in range(n)]


# What is typed, and what of it, or near to it, the line names.
TYPED = [
    ("rnu", "nearest: run"),
    ("xyzzy", "known: demo, list"),
    ("run rgb --nonsense", "--nonsense"),
    ("run rgb noise_robustness_en --max-token 5 --tempreature=1", "nearest: --temperature"),
    ("run", "rgb"),
    ("run rgb", "noise_robustness_zh"),
    ("run rbg noise_robustness_zh", "nearest: rgb"),
    ("run rgb --config noise_robustness_zh", "'--config'"),
    ("run rgb noise_robustnes_zh --llm DEAD --ledger L", "nearest: noise_robustness_zh"),
    ("RUN --split tset", "nearest: test"),
    ("RUN --retriever nonsense", "nonsense"),
    ("RUN --option nois_ratio=1", "nearest: noise_ratio"),
    ("RUN --option noise_ratio", "NAME=VALUE"),
    ("RUN --option noise_ratio=NaN", "noise_ratio"),
    ("RUN --option order=random", "per_item"),
    ("RUN --original", "--original"),
    ("RUN --all", "--all"),
    ("run rgb --all --recipe rgb-table1-chatgpt", "--recipe"),
    ("run --recipe rgb-tabel1-chatgpt", "nearest: rgb-table1-chatgpt"),
    ("run --recipe rgb-table7-chatgpt", "nearest: rgb-table7-chatgpt-en"),
    ("run --recipe none.yaml", "none.yaml"),
    ("run --recipe rgb-table1-chatgpt", "gpt-3.5-turbo"),
    ("run crag --recipe rgb-table1-chatgpt --llm DEAD", "crag"),
    ("list rbg", "nearest: rgb"),
    ("list --json", "--json"),
    ("RUN --prompts none.yaml", "--prompts"),
    ("RUN --limit 0", "'0'"),
    ("RUN --samples 1.5", "'1.5'"),
    ("RUN --temperature -0.1", "'-0.1'"),
    ("RUN --temperature nan", "--temperature"),
    ("RUN --retry cutt", "'cutt'"),
    ("RUN --budget -1 --prices p.yaml", "'-1'"),
    ("RUN --profile best", "official"),
    ("RUN --rag http://h/x --llm DEAD", "llm"),
    ("RUN --rag http://h/x --retriever none", "retriever"),
    ("RUN --rag http://h/x --temperature 1", "sampling"),
    ("RUN --judge-format json", "--judge-format"),
    ("RUN --temperature 0", "temperature"),
    ("RUN --max-tokens 5 --llm extractive", "max_tokens"),
    ("RUN --llm nonsense", "http://host:port"),
    ("RUN --llm ftp://x/v1", "ftp"),
    ("RUN --llm gpt-4o", "http://host:port/v1#model"),
    ("RUN --judge extractive", "extractive"),
    ("run crag task_1_2 --data-dir sample --option judge_failure=excluded", "judge_failure"),
    ("run rgb noise_robustness_en --data-dir sample --judge http://127.0.0.1:9/v1#j", "--judge"),
    ("run rgb negative_rejection_en --data-dir nowhere", "nowhere"),
    ("run rgb negative_rejection_en --data-dir empty", "en_refine.json"),
    ("run rgb negative_rejection_en --data-dir sample --out file/deeper", "file"),
    ("run rgb negative_rejection_en --data-dir sample --out full", "full"),
    ("run rgb negative_rejection_en --data-dir sample --out astray", "--out"),
    ("score mine.jsonl SCORE --out /proc/x", "/proc/x"),
    ("questions RGB --out /proc/x", "/proc/x"),
    ("label runs/a", "--people"),
    ("construct review x --sampel 3", "nearest: --sample"),
    ("show a --wrong 3", "'3'"),
    ("show a b --wrong", "--worse"),
    ("questions rgb", "noise_robustness_zh"),
    ("report a b --out both.html", "--out"),
    ("report .", "run.json"),
    ("report . .", "."),
    ("prepare rgb --config noise_zh --data-dir sample", "noise_robustness_zh"),
    ("harness lmeval", "choose from 'lm-eval', 'inspect'"),
    ("push ORG --run r", "--run"),
    ("recall rgb noise_robustness_en", "crag"),
    ("trec nowhere", "nowhere"),
    ("errors nowhere", "--judge"),
    ("certify-judge openqa-eval --against rule:plain", "certify each judge"),
    ("score none.jsonl SCORE", "none.jsonl"),
    ("score mine.jsonl --benchmark rgb --config negative_rejection", "negative_rejection_en"),
    ("score mine.jsonl --benchmark rgb --data-dir sample", "--config"),
    ("score mine.jsonl SCORE --limit 5", "--limit"),
    ("score mine.jsonl SCORE --out full", "full"),
    ("score mine.jsonl SCORE --out mine.jsonl", "mine.jsonl"),
    ("score mine.jsonl mine.jsonl SCORE", "mine.jsonl"),
    *(
        (f"run rgb x {name}", f"{name} is gone; {then}")
        for name, then in GONE.items()
        if re.fullmatch("--[a-z-]+", name) and name != "--ledger"  # which `run` has
    ),
]


@pytest.mark.parametrize(("typed", "named"), TYPED, ids=[typed for typed, _ in TYPED])
def test_what_is_mistyped_or_cannot_be(refused, answers, typed, named):
    answers(plain())
    for folder, file in (("full", "thesis.tex"), ("empty", None)):
        Path(folder).mkdir()
        if file:
            Path(folder, file).write_text("years of work")
    Path("file").write_text("")
    Path("astray").symlink_to("/proc/nowhere")
    words = [word.replace("DEAD", DEAD) for word in typed.split(" ")]
    spread = {"RUN": RUN, "RGB": RGB, "SCORE": SCORE}
    line = refused(*(part for word in words for part in spread.get(word, (word,))))
    assert named in line, line


@pytest.mark.parametrize(
    ("prices", "more", "named"),
    [
        ("other: {input: 1, output: 2}", (), "'m'"),
        ("m: {input: -1, output: 2}", (), "-1"),
        ("m: [", (), "p.yaml"),
        ("m: {input: 1, output: 2}", ("--budget", "1"), "--max-tokens"),
        (None, (), "p.yaml"),
    ],
)
def test_prices_of_no_use(refused, prices, more, named):
    if prices:
        Path("p.yaml").write_text(prices)
    assert named in refused(*RUN, "--llm", DEAD, "--ledger", "L", "--prices", "p.yaml", *more, makes="L")


@pytest.mark.parametrize(
    "recipe",
    [
        "[]",
        "benchmark: rgb",
        "benchmark: 5\nruns: [{config: negative_rejection_en}]",
        "benchmark: rgb\nruns: [{config: negative_rejection_en, retriever: [own]}]",
        "benchmark: rgb\nruns: [{config: negative_rejection_en, retreiver: none}]",
        "benchmark: rgb\ntemperature: hot\nruns: [{config: negative_rejection_en}]",
        "benchmark: rgb\nmodels: m\nruns: [{config: negative_rejection_en}]",
        "benchmark: [",
    ],
)
def test_a_recipe_of_another_form(refused, recipe):
    Path("mine.yaml").write_text(recipe)
    refused("run", "--recipe", "mine.yaml", "--data-dir", "sample", "--out", "out")


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("[]", "expected a mapping"),
        ("sytem: {}", "nearest: system"),
        ("system: {llm: extractive, sampling: {top_p: 0.5}}", "top_p"),
        ("system: {llm: 'http://h/v1#m', sampling: {top_p: 1.5}}", "top_p"),
        ("system: {llm: 'http://h/v1#m', sampling: {stop: ['']}}", "stop"),
        ("system: {llm: 'http://h/v1#m', api: completions}", "template"),
        ("retrieval: {top_k: 5}", "--top-k"),
        ("judges: {name: j}", "judges"),
        ("judges: [{name: j}]", "--judge"),
        ("calls: {max_reply_byts: 5}", "nearest: max_reply_bytes"),
        ("calls: {retries: many}", "'many'"),
        ("calls: {timeout: .nan}", "timeout is nan"),
    ],
)
def test_a_spec_file_that_cannot_be(refused, spec, named):
    Path("s.yaml").write_text(spec)
    assert named in refused(*RUN, "--spec", "s.yaml")


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ((GOOD, "not json"), "en_refine.json:2"),
        (('[{"id": 0}]',), "list"),
        (({k: v for k, v in GOOD.items() if k != "answer"},), "no answer"),
        ((GOOD, {**GOOD, "id": 1, "answer": None}), "answer is None"),
        (({**GOOD, "positive": "p"},), "positive"),
        (({**GOOD, "query": None},), "query"),
        ((GOOD, GOOD), "id 0"),
        ((), "en_refine.json"),
        (("\udcd6\udcd0",), "en_refine.json"),
    ],
)
def test_data_of_another_form(refused, rows, named):
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    Path("data").mkdir()
    Path("data/en_refine.json").write_text("\n".join(lines) + "\n", encoding="utf-8", errors="surrogateescape")
    for folder in (".", "data"):
        assert named in refused(*RUN[:3], "--data-dir", folder, "--out", "out")


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([*plain(), {"id": 99, "answer": "x"}], "'99'"),
        ([{"id": 0, "answer": "x", "split": 5}], "split 5"),
        ([{"id": "x " * 50_000, "answer": "y"}], " … "),
        (["x"], "mine.jsonl:1"),
        ([], "answers none"),
    ],
)
def test_answers_that_do_not_fit(refused, answers, rows, named):
    assert named in refused("score", answers(rows), *SCORE, "--out", "out")


def test_the_authors_file_of_another_noise_is_refused(refused, answers):
    path = answers([{"id": n, "prediction": "x", "noise_rate": 0.2, "label": [0]} for n in range(12)])
    there = ("--benchmark", "rgb", "--config", "noise_robustness_en", "--data-dir", "sample", "--split", "noise_40")
    assert "noise_20" in refused("score", path, *there)


def test_a_judge_that_no_metric_asks_is_not_asked(refused, answers):
    with ChatServer(models=["j"]) as judge:
        asked = ("--judge", f"{judge.url}#j", "--ledger", "L")
        place = ("--benchmark", "rgb", "--config", "noise_robustness_en", "--data-dir", "sample", "--split", "noise_0")
        assert "--judge" in refused("score", answers(plain()), *place, *asked, makes="L")
        assert judge.requests == 0


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="the extra is installed")
@pytest.mark.parametrize("retriever", ["dense", "hybrid", "hybrid-rerank"])
def test_a_retriever_without_its_extra_names_the_extra(refused, retriever):
    line = refused("run", "crud_rag", "qa_1doc", "--data-dir", "sample", "--retriever", retriever, "--out", "out")
    assert "sentence-transformers" in line and "'.[dense]'" in line


# Servers and ledgers.


def test_a_dead_server_leaves_no_answers(refused):
    for spec in (DEAD, "http://127.0.0.1:9/v1"):
        assert "127.0.0.1:9" in refused(*RUN, "--llm", spec, "--ledger", "L", makes=("L", "out"))
    assert not Path("out/answers.jsonl").exists() and not Path("out/scores.json").exists()


def test_a_server_without_the_model(refused):
    with ChatServer(models=["a", "b"]) as server:
        line = refused(*RUN, "--llm", server.url, "--ledger", "L", makes="L")
        assert "a, b" in line and "#MODEL" in line
        assert "model c" in refused(*RUN, "--llm", f"{server.url}#c", "--ledger", "L", makes=("L", "out"))


def test_a_ledger_that_has_nothing_or_is_none(refused):
    line = refused(*RUN, "--llm", DEAD, "--replay", "--ledger", "L", makes=("L", "out"))
    assert "the 12 replies" in line
    Path("diary").write_text("my diary")
    Path("folder").mkdir()
    for ledger in ("diary", "folder"):
        assert ledger in refused("run", *RGB, "--out", "other", "--llm", DEAD, "--ledger", ledger)
