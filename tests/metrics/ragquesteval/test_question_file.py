"""The file of questions that ragquesteval is given: it is only read, and what it lacks is asked for."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ragquesteval_judges import PROFILES, SHORT, Judge, asking, blocks, cells

# The question file


def test_the_question_file_is_read_only(metric: Any, tmp_path: Path) -> None:
    path = tmp_path / "quest_gt_save.json"
    path.write_text(json.dumps({"x": {}, "y": {"question": ["问"], "answers": []}}), "utf-8")
    path.chmod(0o444)
    before = path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.iterdir())
    replies = {"ASKING R": asking(["问"]), "ANSWERING R": blocks(["a"]), "ANSWERING P": blocks(["a"])}
    for profile in PROFILES:
        metric.compute(
            predictions=["P"] * 3,
            references=["R"] * 3,
            judge=Judge(replies),
            ids=["x", "y", "z"],
            question_cache=str(path),
            prompts=SHORT,
            profile=profile,
        )
    assert (path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.iterdir())) == before


def test_a_mapping_is_not_changed_and_signs_like_its_file(metric: Any, tmp_path: Path) -> None:
    entries: dict[str, Any] = {"x": {"key_info": ["k"], "question": ["问"], "answers": ["a"]}, "y": {}}
    plural = {"y": {"questions": [], "answers": []}, "x": {"questions": ["问"], "answers": ["a"]}}
    path = tmp_path / "q.json"
    path.write_text("\ufeff" + json.dumps(entries), "utf-8")
    kwargs = {"predictions": ["P"], "references": ["R"], "ids": ["x"], "prompts": SHORT}
    kept = json.dumps(entries)
    judge = Judge({"ANSWERING P": blocks(["a"])})
    fields = [
        metric.compute(**kwargs, judge=judge, question_cache=cache)["signature"].split("|")[3]
        for cache in (entries, plural, path)
    ]
    changed = {**plural, "x": {"questions": ["问"], "answers": ["b"]}}
    other = metric.compute(**kwargs, judge=judge, question_cache=changed)["signature"].split("|")[3]
    assert len(set(fields)) == 1 and re.fullmatch("questions:cache-[0-9a-f]{8}", fields[0]) and other != fields[0]
    assert json.dumps(entries) == kept


def test_an_entry_without_answers_is_answered_from_the_reference(metric: Any) -> None:
    judge = Judge({"ANSWERING R": blocks(["a"]), "ANSWERING P": blocks(["a"])})
    for profile in PROFILES:
        kwargs = {"ids": ["x"], "question_cache": {"x": {"question": ["问"]}}, "profile": profile, "prompts": SHORT}
        got = metric.compute(predictions=["P"], references=["R"], judge=judge, **kwargs)
        assert cells(got) == [1.0, 1.0] and judge.batches[-2:] == [["ANSWERING R"], ["ANSWERING P"]]


def test_tags_in_a_shipped_answer(score: Callable[..., Any]) -> None:
    # One answer of QuestAnswer2Docs is like this; the authors' pattern reads it back from a reply as it stands.
    odd = "</response>\n\n30岁以下的年轻人\n<response>"
    assert cells(score([odd], blocks([odd]))) == [1.0, 1.0]
    assert cells(score([odd], blocks(["30岁以下的年轻人"]), "corrected")) == [1.0, 1.0]


TASKS = [("QuestAnswer1Doc", 758, 0.9475), ("QuestAnswer2Docs", 784, 0.98)]


@pytest.mark.parametrize(("task", "answered", "ceiling"), TASKS)
def test_recall_ceiling_of_the_shipped_files(
    metric: Any, real_data: Callable[[str], Path], task: str, answered: int, ceiling: float
) -> None:
    """A judge that repeats the reference answers; it has to answer those that are missing or too few."""
    path = real_data("CRUD_RAG") / "src" / "quest_eval" / f"{task}_quest_gt_save.json"
    if not path.is_file():
        pytest.skip(f"no {path.name}")
    content = path.read_bytes()
    entries = json.loads(content)

    def judge(requests: list[Any]) -> list[str]:
        replies = []
        for request in requests:
            entry = entries[request[-1]["content"].splitlines()[0].split()[1]]
            fits = len(entry["answers"]) == len(entry["question"])
            replies.append(blocks(entry["answers"] if fits else [*entry["answers"], *entry["question"]]))
        return replies

    texts = {"predictions": list(entries), "references": list(entries), "ids": list(entries)}
    start = time.process_time()
    got = metric.compute(**texts, judge=judge, question_cache=path, prompts=SHORT)
    assert time.process_time() - start < 30
    assert got["n_total"] == got["n_scored"] == 800
    assert (got["precision"], got["recall"]) == (pytest.approx(ceiling), pytest.approx(ceiling))
    assert sum(row["recall"] for row in got["per_item"]) == answered
    corrected = metric.compute(**texts, judge=judge, question_cache=path, prompts=SHORT, profile="corrected")
    assert (corrected["precision"], corrected["recall"]) == (1.0, 1.0) and corrected["unscored"] == {}
    assert path.read_bytes() == content
