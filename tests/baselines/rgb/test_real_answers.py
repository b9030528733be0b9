"""Genuine answers of six models under four conditions, brought in by the script of docs/real-answers.md and scored.

The counts were taken by hand from the authors' files: answers that hold the phrase, of 60.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pages import sections

from quadrag.cli import main

MODELS = (
    "gemma-3-27b-it",
    "gemma-3-4b-it",
    "openai_gpt-oss-120b",
    "openai_gpt-oss-20b",
    "qwen-3-32b",
    "qwen3-0.6b",
)
DETECTED = {
    "bert_scores_run_1": (55, 60, 51, 36, 48, 60),
    "bert_scores_run_2": (55, 60, 43, 35, 52, 58),
    "bert_scores_run_3": (55, 60, 46, 40, 50, 60),
    "no_instruction": (0, 0, 0, 0, 0, 0),
}


@pytest.mark.slow
def test_the_pages_script_and_one_command_give_the_counts_by_hand(real_data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("rgb_answers").symlink_to(real_data("real_labels/rgb_answers"))
    Path("RGB").symlink_to(real_data("RGB"))
    steps = [step for section in sections("docs/real-answers.md") for step in section.steps]
    script = steps[0].text
    assert len(script.strip().splitlines()) <= 20
    exec(compile(script, "docs/real-answers.md", "exec"), {})
    files = sorted(str(path) for path in Path("answers").glob("*/*.jsonl"))
    assert len(files) == 24
    assert main(["score", *files, "--data-dir", str(real_data("RGB")), "--json"]) == 0
    rows = [row for row in json.loads(capsys.readouterr().out)["rows"] if row["profile"] == "official"]
    found = {}
    for file, model in zip(files, (row["name"] for row in rows if row["key"] == "error_detection"), strict=True):
        assert Path(file).stem == model
    for key in ("error_detection", "accuracy"):
        values = [round(row["value"] * row["n"]) for row in rows if row["key"] == key and row["n"] == 60]
        found[key] = dict(zip(((Path(file).parent.name, Path(file).stem) for file in files), values, strict=True))
    assert found["error_detection"] == {
        (condition, model): count
        for condition, counts in DETECTED.items()
        for model, count in zip(MODELS, counts, strict=True)
    }
    assert set(found["accuracy"].values()) == {0}, "shown wrong passages alone, none gave the right answer"
    judged = [row["not_run"] for row in rows if row["key"] == "error_detection_judged"]
    assert judged == ["no judge"] * 24
    shown = [step.prints for step in steps if step.prints]
    lines = [line for line in shown[0].splitlines() if line.strip()]
    assert [int(line.split()[2]) for line in lines] == list(found["error_detection"].values())
