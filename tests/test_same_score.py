"""The same item has the same score on every route, to the last digit.

Here: a function in Python, `quadrag score`, a RAG service, what the harnesses score with, and the metric's module.
That lm-eval and Inspect print these very values their own tests hold, by the genuine commands.
"""

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import evaluate
import pytest
from harness_replies import ASKED, PROFILES, questions
from rag_server import RagServer

import quadrag
from quadrag.benchmark import load
from quadrag.catalogue import metric_folder
from quadrag.cli import main
from quadrag.harnesses.examination import Examination
from quadrag.records import Question, read_jsonl

Case = tuple[str, str, str, str]


def rows(path: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for _, row in read_jsonl(path)}


def values(items: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        ident: {name: entry for name, entry in item.items() if "." in name and "ranking" not in name}
        for ident, item in items.items()
    }


@pytest.fixture(scope="module", params=ASKED, ids=lambda case: f"{case[0]}-{case[1]}")
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


@pytest.fixture(scope="module")
def asked(case: Case) -> Iterator[dict[str, str | None]]:
    replies: dict[str, str | None] = {}
    for one in questions([case]):
        kinds: list[str | None] = [*one.replies, None]
        replies[one.question.id] = kinds[one.place % len(kinds)]
    yield replies


@pytest.fixture(scope="module")
def scored(case: Case, asked: dict[str, str | None], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    benchmark, config, split, retriever = case
    folder = tmp_path_factory.mktemp("scored")
    failed = {"state": "api_error"}
    given = [{"id": ident, "answer": text} | (failed if text is None else {}) for ident, text in asked.items()]
    lines = [json.dumps(one, ensure_ascii=False) for one in given]
    (folder / "answers.jsonl").write_text("\n".join(lines), encoding="utf-8")
    place = ["--benchmark", benchmark, "--config", config, "--split", split, "--data-dir", "sample"]
    place += ["--max-failed", "1"]
    place += ["--retriever", "none"] if retriever == "none" else []
    assert main(["score", str(folder / "answers.jsonl"), *place, "--out", str(folder / "out")]) == 0
    return values(rows(folder / "out" / "items.jsonl"))


@pytest.mark.slow
def test_a_function(case: Case, asked: dict[str, str | None], scored: dict[str, Any], tmp_path: Path) -> None:
    benchmark, config, split, _ = case

    def system(question: Any) -> str:
        answer = asked[question.id]
        if answer is None:
            raise ValueError("no answer")
        return answer

    out = tmp_path / "run"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quadrag.evaluate(benchmark, config, system, split=split, data_dir="sample", out=out, max_failed=1.0)
    ours = json.dumps(values(rows(out / "items.jsonl"))).replace('"raised"', '"api_error"')
    assert json.loads(ours) == scored


def test_what_the_harnesses_score_with(case: Case, asked: dict[str, str | None], scored: dict[str, Any]) -> None:
    benchmark, config, split, retriever = case
    examined = Examination(benchmark, config, split, {"data_dir": "sample", "retriever": retriever})
    assert values(examined.items(asked)) == scored


@pytest.mark.slow
def test_a_rag_service(case: Case, asked: dict[str, str | None], scored: dict[str, Any], tmp_path: Path) -> None:
    benchmark, config, split, _ = case
    texts = {ident: text for ident, text in asked.items() if text is not None}
    with RagServer([("d", "", "沛溪县第七届龙舟公开赛。")], answers=texts) as server:
        run = ["run", benchmark, config, "--split", split, "--data-dir", "sample", "--rag", server.url]
        run += ["--max-failed", "1"]
        assert main([*run, "--ledger", str(tmp_path / "ledger"), "--out", str(tmp_path / "run")]) == 0
    found = values(rows(tmp_path / "run" / "items.jsonl"))
    shared = {name for item in found.values() for name in item} & {name for item in scored.values() for name in item}
    assert shared or config == "negative_rejection_en", "RGB's rejection cannot be asked of a service"
    for ident in texts:
        for name in shared & found[ident].keys():
            assert found[ident][name] == scored[ident][name], (ident, name)


def test_the_modules_themselves(case: Case, asked: dict[str, str | None], scored: dict[str, Any]) -> None:
    name, config, split, retriever = case
    benchmark = load(name)
    examined = Examination(name, config, split, {"data_dir": "sample", "retriever": retriever})
    compared = 0
    for metric in benchmark.metrics(examined.spec):
        keys = [key for key in metric.keys if metric.find_lacking(key, False, False) is None]
        answered: list[Question] = [q for q in examined.questions if q.references is not None or metric.nothing]
        if not keys or metric.ranks:
            continue
        module = evaluate.load(str(metric_folder(metric.module)), metric.config)
        for profile in PROFILES:
            result = module.compute(
                predictions=[
                    None if (text := asked[q.id]) is None else benchmark.parse(config, text) for q in answered
                ],
                references=[metric.shape(q.references) for q in answered],
                states=[None if asked[q.id] is not None else "api_error" for q in answered],
                profile=profile,
                **benchmark.keywords(metric, answered, examined.spec),
            )
            for question, row in zip(answered, result["per_item"], strict=True):
                for key in keys:
                    assert row[key] == scored[question.id][f"{metric.module}.{key}"][profile], (question.id, key)
                    compared += 1
    assert compared
