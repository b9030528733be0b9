"""What two small models wrote, kept in docs/real-models, scored; each item was first read and counted by hand."""

import json
from pathlib import Path

import pytest

from quadrag.cli import main

ANSWERS = Path(__file__).parents[3] / "docs" / "real-models"
# How many of the questions of each split, the splits in their order.
ON_SAMPLE = {
    ("noise_robustness_en", "accuracy"): (11, 9, 10, 8, 10),
    ("information_integration_en", "accuracy"): (11, 10, 10),
    ("negative_rejection_en", "rejection_rate"): (2,),
    ("negative_rejection_en", "unsupported_correct"): (0,),
}
ON_REAL = {
    ("noise_robustness_zh", "accuracy"): (10, 10, 10, 10, 8),
    ("information_integration_zh", "accuracy"): (7, 7, 6),
    ("negative_rejection_zh", "rejection_rate"): (3,),  # one of them an answer that is right by chance
    ("counterfactual_robustness_en", "accuracy"): (0,),
    ("counterfactual_robustness_en", "error_detection"): (0,),
}


def count(config, key, data_dir, capsys):
    assert main(["score", str(ANSWERS / config / "qwen-1.5b.jsonl"), "--data-dir", str(data_dir), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    shown = [row for row in rows if (row["key"], row["profile"]) == (key, "official") and "all" not in row["split"]]
    return tuple(round(row["value"] * row["n"], 9) for row in sorted(shown, key=lambda row: row["split"]))


@pytest.mark.parametrize(("config", "key"), ON_SAMPLE)
def test_counts_on_the_sample(config, key, capsys):
    assert count(config, key, "sample", capsys) == ON_SAMPLE[config, key]


@pytest.mark.parametrize(("config", "key"), ON_REAL)
def test_counts_on_real_questions(config, key, real_data, capsys):
    assert count(config, key, real_data("RGB"), capsys) == ON_REAL[config, key]
