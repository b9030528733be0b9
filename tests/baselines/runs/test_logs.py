"""Logs of lm-eval and Inspect as lines of answers: what is read, what is refused. No harness is needed."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from quadrag.baselines.runs.files.answers import lines
from quadrag.baselines.runs.files.logs import (
    inspect_answer,
    is_sample,
    read_inspect_log,
    read_sample,
    reader_of,
)
from quadrag.errors import QuadragError
from quadrag.records import write_jsonl

NO_CONTENT = "[no content]"


def test_samples_are_read_as_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    doc = {"id": "7", "config": "all", "split": "auto", "query": "?"}
    rows = [{"doc": doc, "resps": [[text]], "filtered_resps": [text]} for text in ("yes", "", NO_CONTENT)]
    assert not is_sample({"id": "7", "answer": "yes"})
    file = tmp_path / "samples_x.jsonl"
    write_jsonl(file, rows)
    place = doc
    assert [row for _, row in lines(file)] == [{**place, "answer": text} for text in ("yes", "", NO_CONTENT)]
    monkeypatch.setenv("LMEVAL_MODEL_NONE_ANSWER_PLACEHOLDER", NO_CONTENT)
    assert [row["answer"] for _, row in lines(file)] == ["yes", "", None]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"doc": {"question": "?"}, "resps": [["a"]], "filtered_resps": ["a"]}, ":1 is no sample of a quadrag task"),
        ({"id": 3, "answer": "a"}, ":1 is no sample of a quadrag task"),
        (
            {"doc": {"id": "7", "config": "all", "split": "auto"}, "resps": [], "filtered_resps": ["a", "b"]},
            r":1 has filtered_resps \['a', 'b'\]; expected one reply",
        ),
    ],
)
def test_other_samples_are_refused(row: dict[str, Any], said: str) -> None:
    with pytest.raises(QuadragError, match=said):
        read_sample("samples.jsonl:1", row)


def output(text: str | None, reason: str = "stop", error: str | None = None) -> SimpleNamespace:
    choices = [] if text is None else [object()]
    return SimpleNamespace(choices=choices, completion=text or "", stop_reason=reason, error=error)


@pytest.mark.parametrize(
    ("given", "text", "state"),
    [
        (output("yes"), "yes", "ok"),
        (output("<think>no</think> yes"), "yes", "ok"),
        (output(""), "", "ok"),
        (output("", "max_tokens"), None, "truncated"),
        (output("ye", "max_tokens"), "ye", "ok"),
        (output(None), None, "api_error"),
        (output("", error="overloaded"), None, "api_error"),
    ],
)
def test_an_output_is_an_answer_or_has_the_state_of_quadrag_run(given: Any, text: str | None, state: str) -> None:
    read = inspect_answer(given)
    assert (read.text, read.state) == (text, state)


@pytest.mark.skipif(find_spec("inspect_ai") is None, reason="Inspect is not installed")
def test_a_sample_that_failed_has_no_answer_and_one_that_was_cut_says_so(tmp_path: Path) -> None:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalError, EvalLog, EvalSample, EvalSpec, write_eval_log
    from inspect_ai.model import ModelOutput

    spec = EvalSpec(created="2026-01-01T00:00:00Z", task="t", dataset=EvalDataset(), model="m", config=EvalConfig())
    failed = EvalError(message="overloaded", traceback="", traceback_ansi="")
    samples = [
        EvalSample(
            id=str(at),
            epoch=1,
            input="?",
            target="",
            metadata={"config": "all", "split": "auto"},
            output=ModelOutput.from_content("m", "yes", stop_reason=stop),
            error=error,
        )
        for at, (error, stop) in enumerate(((None, "stop"), (failed, "stop"), (None, "max_tokens")))
    ]
    write_eval_log(EvalLog(eval=spec, samples=samples), str(tmp_path / "a.eval"))
    found = [(row["answer"], row["state"], row["finish_reason"]) for row in read_inspect_log(tmp_path / "a.eval")]
    assert found == [("yes", "ok", "stop"), (None, "api_error", "stop"), ("yes", "ok", "length")]


@pytest.mark.parametrize(
    ("name", "content", "reader"),
    [
        ("a.eval", "", read_inspect_log),
        ("b.json", '{"version": 2, "eval": {"task_registry_name": "x"}}', read_inspect_log),
        ("c.json", '{"results": []}', None),
        ("d.jsonl", '{"id": "1", "answer": "eval"}', None),
        ("none.json", None, None),
    ],
)
def test_a_log_is_known_by_its_name_or_content(name: str, content: str | None, reader: Any, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_text(content, "utf-8")
    assert reader_of(tmp_path / name) is reader


@pytest.mark.skipif(find_spec("inspect_ai") is not None, reason="Inspect is installed")
def test_without_inspect_a_log_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.eval").write_bytes(b"PK")
    with pytest.raises(
        QuadragError, match="is a log of Inspect, which is needed to read it; from the checkout: pip install"
    ):
        list(read_inspect_log(tmp_path / "a.eval"))


@pytest.mark.parametrize(
    ("summary", "said"),
    [
        ({"results": {}, "configs": {}, "n-shot": {}}, "is lm-eval's summary, which holds no answers; give samples_"),
    ],
)
def test_the_summary_of_a_harness_is_told_from_its_answers(summary: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = tmp_path / "results_2026.json"
    path.write_text(json.dumps(summary, indent=2), encoding="utf-8")
    with pytest.raises(QuadragError) as caught:
        list(lines(path))
    assert str(caught.value).startswith(f"{path} {said}") and "\n" not in str(caught.value)
