"""`quadrag audit` and `quadrag report --without`: what is printed, what is refused, what a person's word changes."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quadrag.data.files import sample_dir
from quadrag.results.items import exclude
from quadrag.run.folder import read_runs

pytestmark = pytest.mark.plugins

RUN = ("run", "rgb", "noise_robustness_en", "--split", "noise_40", "--data-dir", "sample", "--out", "r")
REAL = [
    (
        "rgb",
        "RGB",
        {"zh_refine.json": 200, "zh_int.json": 60, "en_fact.json": 60},
        {
            ("noise_robustness_zh", "short_answer"): 55,
            ("information_integration_zh", "short_answer"): 16,
            ("noise_robustness_zh", "negative_with_answer"): 1,
            ("noise_robustness_zh", "positive_without_answer"): 2,
            ("information_integration_zh", "positive_without_answer"): 4,
            ("counterfactual_robustness_en", "duplicate_question"): 1,
            ("counterfactual_robustness_en", "negative_with_answer"): 1,
            ("counterfactual_robustness_en", "positive_without_answer"): 1,
        },
    ),
    (
        "crud_rag",
        "CRUD_RAG",
        {},
        {
            ("summary", "near_duplicate"): 136,
            ("summary", "duplicate_question"): 1,
            ("qa_1doc", "broken_reference"): 40,
            ("qa_2doc", "broken_reference"): 18,
        },
    ),
    ("crag", "CRAG", {}, {}),
]


def findings(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(("benchmark", "name", "lines", "expected"), REAL, ids=[case[0] for case in REAL])
def test_real_files(cli: Any, real_data: Any, benchmark: str, name: str, lines: dict[str, int], expected: Any) -> None:
    root = real_data(name)
    for file, count in lines.items():
        (path,) = root.rglob(file) or [None]
        if path is None or path.read_bytes().count(b"\n") != count:
            pytest.skip(f"{file} has not the {count} lines that the counts are of")
    done = cli("audit", benchmark, "--data-dir", root)
    assert done.code == 0, done.err
    assert Counter((one["config"], one["check"]) for one in findings(done.out)) == expected


def test_a_line_is_a_finding_and_what_is_not_there_is_named(cli: Any, tmp_path: Path) -> None:
    root = tmp_path / "RGB"
    root.mkdir()
    for name in ("en_refine.json", "zh_int.json"):
        shutil.copy(sample_dir("rgb") / name, root)
    done = cli("audit", "rgb", "--data-dir", "RGB")
    assert done.code == 0
    assert [list(one) for one in findings(done.out)] == [
        ["benchmark", "config", "split", "id", "check", "question", "evidence", "also", "confirmed"]
    ]
    absent = [line for line in done.err.splitlines() if "counterfactual_robustness_zh" in line]
    assert len(absent) == 1 and "zh_fact.json" in absent[0] and "1 short_answer" in done.err
    assert not any("noise_robustness_en (" in line for line in done.err.splitlines())


@pytest.mark.slow
def test_what_is_prepared_is_audited_without_a_folder(cli: Any, tmp_path: Path, monkeypatch: Any) -> None:
    shutil.copytree(sample_dir("omnieval"), tmp_path / "O")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    assert cli("prepare", "omnieval", "--data-dir", "O").code == 0
    done = cli("audit", "omnieval")
    assert done.code == 0 and findings(done.out) == findings(cli("audit", "omnieval", "--data-dir", "O").out)
    assert "long_form_qa (train)" in done.err


@pytest.fixture
def flag(cli: Any, tmp_path: Path) -> Callable[..., Any]:
    """A function that makes a run, and reports it without questions of it that are flagged as is told."""
    assert cli(*RUN).code == 0

    def report(*rows: dict[str, Any]) -> Any:
        place = {"benchmark": "rgb", "config": "noise_robustness_en", "split": "noise_40", "check": "short_answer"}
        lines = [json.dumps({**place, **row}) + "\n" for row in rows]
        (tmp_path / "f.jsonl").write_text("".join(lines))
        return cli("report", "r", "--without", "f.jsonl")

    return report


def value(report: Any, key: str) -> list[str]:
    """The two cells of a line of the report."""
    (line,) = [line for line in report.out.splitlines() if line.startswith(f"{key} ")]
    return line.split()[-2:]


def test_scores_with_and_without_flagged_questions(flag: Any, tmp_path: Path) -> None:
    items = [json.loads(line) for line in (tmp_path / "r" / "items.jsonl").read_text().splitlines()]
    right = {row["id"]: row["rgb_accuracy.accuracy"]["official"] for row in items}
    wrong = next(name for name, one in right.items() if one == 0)
    other = next(name for name, one in right.items() if one == 1)

    def percent(*left_out: str) -> str:
        kept = [one for name, one in right.items() if name not in left_out]
        return f"{100 * sum(kept) / len(kept):.1f}"

    done = flag(
        {"id": wrong}, {"id": wrong, "check": "later_date"}, {"id": "no such"}, {"id": other, "confirmed": False}
    )
    assert value(done, "accuracy") == [percent(), percent(wrong)]
    assert value(done, "n") == ["12", "11"]
    assert "later_date 1, short_answer 1" in done.out
    # A person's true counts as no word does; a fault found in another config first may be this one's too.
    done = flag({"id": wrong, "confirmed": True}, {"id": other, "split": "x", "also": ["noise_robustness_en/noise_40"]})
    assert value(done, "accuracy") == [percent(), percent(wrong, other)]


def test_a_run_without_none_of_its_questions_is_that_run(cli: Any) -> None:
    assert cli("run", "omnieval", "all", "--data-dir", "sample", "--limit", "40", "--out", "u").code == 0
    [(_, [result])] = read_runs(["u"])
    whole = {(score.key, score.profile): score for score in result.scores if score.slice == "all"}
    again = exclude(result, ()).scores
    assert len(again) == len(whole) and any(asked.unit for asked in result.asked.values())
    for score in again:
        own = whole[score.key, score.profile]
        assert (score.interval, score.counts) == (own.interval, own.counts), score.key
        assert score.value == pytest.approx(own.value)


def test_nothing_flagged_and_everything(flag: Any) -> None:
    done = flag({"id": "0", "benchmark": "crag"}, {"id": "0", "split": "noise_0"})
    assert value(done, "n") == ["12", "12"]
    done = flag(*({"id": str(number)} for number in range(12)))
    assert value(done, "n") == ["12", "0"] and value(done, "accuracy")[1] == "–"


@pytest.mark.parametrize(
    ("row", "named"),
    [({"id": 3}, "id"), ({"id": "3", "confirmed": "no"}, "confirmed"), ({"id": "3", "also": "x"}, "also")],
)
def test_a_file_that_holds_no_findings(flag: Any, row: dict[str, Any], named: str) -> None:
    done = flag(row)
    assert done.code == 2 and done.err.count("\n") == 1 and "f.jsonl:1 " in done.err and named in done.err
