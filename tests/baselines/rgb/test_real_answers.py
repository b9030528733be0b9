"""Genuine answers of six models under four conditions, brought in by the script of docs/real-answers.md and scored.

The counts were taken by hand from the authors' files: answers that hold the phrase, of 60.
"""

import json
from pathlib import Path

import pytest
from pages import sections

from quadrag.cli import main

MODELS = ("gemma-3-27b-it", "gemma-3-4b-it", "openai_gpt-oss-120b", "openai_gpt-oss-20b", "qwen-3-32b", "qwen3-0.6b")
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


def test_what_a_phrase_finds_stands_beside_no_value_of_what_a_judge_finds(real_data, tmp_path, capsys):
    place, data = ("rgb", "counterfactual_robustness_en"), str(real_data("RGB"))
    rows = [{"id": n, "answer": "There are factual errors in the documents."} for n in range(60)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    score = ["score", str(tmp_path / "mine.jsonl"), "--benchmark", place[0], "--config", place[1], "--data-dir", data]
    assert main([*score, "--out", str(tmp_path / "both/mine")]) == 0
    cells = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines() if " of 60 " in line}
    assert "error_detection" in cells and "error_correction" not in cells, "nothing stands behind its n"
    assert main(["run", *place, "--retriever", "none", "--data-dir", data, "--out", str(tmp_path / "both/none")]) == 0
    capsys.readouterr()
    assert main(["report", str(tmp_path / "both")]) == 0
    shown = capsys.readouterr().out
    assert next(line.split()[-2:] for line in shown.splitlines() if "mine-en" in line) == ["–", "–"]
    assert "ED* = error_detection_judged; CR = error_correction." in " ".join(shown.split())
