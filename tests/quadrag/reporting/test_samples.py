"""The spread between the samples of a run: worked by hand, for both profiles, on the terminal, as JSON, on the page."""

import json
from pathlib import Path

import pytest
from specs import spec_of

from quadrag.benchmark import load
from quadrag.loading import load_questions

pytestmark = pytest.mark.plugins

PLACE = ("rgb", "noise_robustness_en", "noise_0")
SCORE = ("score", "a.jsonl", "--benchmark", PLACE[0], "--config", PLACE[1], "--split", PLACE[2], "--data-dir", "sample")


def write(*right, failed=0):
    """Write a file of answers: of each sample the first so many are right, of the last one some failed."""
    questions, _ = load_questions(spec_of(*PLACE, data_dir="sample"), load("rgb"))
    lines = []
    for sample, count in enumerate(right):
        for at, question in enumerate(questions):
            lost = sample == len(right) - 1 and at >= len(questions) - failed
            answer = None if lost else " ".join(part[0] for part in question.references) if at < count else "who knows"
            lines.append(json.dumps({"id": question.id, "sample": sample, "answer": answer}))
    Path("a.jsonl").write_text("\n".join(lines), encoding="utf-8")


def test_each_metric_says_how_far_its_samples_lie_apart(cli):
    write(12, 6, 9, failed=2)
    rows = json.loads(cli(*SCORE, "--json").out)["rows"]
    found = {row["profile"]: row["samples"] for row in rows if row["key"] == "accuracy"}
    # Means 1, 1/2 and 9 of 12, or of the 10 that were answered.
    assert found["corrected"] == pytest.approx({"samples": 3, "sd": 0.25, "min": 0.5, "max": 1.0})
    assert found["official"] == pytest.approx({"samples": 3, "sd": 0.264575, "min": 0.5, "max": 1.0}, abs=1e-6)
    assert all("samples" in row for row in rows), "every metric"
    for more in ((), ("-v",)):
        out = cli(*SCORE, *more).out
        assert "spread between samples" in out and "Of 3 means, each over one answer a question" in out
        assert [line.split() for line in out.splitlines() if "26.5" in line][:1] == [
            ["accuracy", "26.5", "50.0", "100.0"]
        ]
    assert cli(*SCORE, "--out", "o").code == 0
    assert "spread between samples" in Path("o/report.html").read_text(encoding="utf-8")


def test_one_sample_has_no_spread(cli):
    write(9)
    assert "spread" not in cli(*SCORE, "-v").out
    assert not any("samples" in row for row in json.loads(cli(*SCORE, "--json").out)["rows"])
