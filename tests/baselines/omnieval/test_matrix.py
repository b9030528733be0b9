"""OmniEval's matrix by the command line and on the page: its numbers, width, labels and profiles."""

import re

import pytest
from omnieval_runs import SAMPLE, narrow

from quadrag.baselines.omnieval.tables import TASKS, TOPICS


@pytest.mark.parametrize("labels", ["en", "zh"])
def test_the_matrix_fits_into_80_columns_and_holds_every_topic_and_task(house, judged, table, labels):
    code, out, _ = house.run("report", "judged", "--labels", labels, "-v")
    assert code == 0 and narrow(out)
    (matrix,) = re.findall(r"auto[,，] ?acc\n(.*)", out, re.S)
    lines = matrix.splitlines()
    at = ("en", "zh").index(labels)
    assert all(sum(line.startswith(f" {label[at]} ") for line in lines) == 1 for label in TOPICS.values())
    heads = "".join(lines[:2]).replace(" ", "")
    for label in TASKS.values():
        assert all(part in heads for part in label[at].replace(" ", "").split("\n"))
    found = house.scores("judged")
    for topic, label in TOPICS.items():
        (line,) = [line for line in lines if line.startswith(f" {label[at]} ")]
        places = [*(f"cell={topic}/{task}" for task in TASKS), f"topic={topic}"]
        values = [found[place, "acc", "official"]["value"] for place in places]
        shown = ["–" if value is None else "100.0" if value == 1 else f"{value * 100:.1f}" for value in values]
        assert line.removeprefix(f" {label[at]} ").split() == shown


@pytest.mark.parametrize(("split", "count"), [("human", 19), ("train", 18)])
def test_other_splits_run_with_a_matrix_of_what_they_hold(house, split, count):
    code, out, err = house.run("run", "omnieval", "all", "--split", split, *SAMPLE, "--out", split, "-v")
    assert (code, err) == (0, "") and narrow(out)
    found = house.scores(split)
    assert found["all", "rouge_l", "official"]["n_total"] == count
    assert f"{split}, rouge_l" in out


def test_one_task_alone_is_a_config(house):
    run = ("run", "omnieval", "contrast_qa", *SAMPLE, "--limit", "4", "--out", "contrast")
    code, out, err = house.run(*run)
    assert (code, err) == (0, "") and narrow(out)
    assert {ident.split("/")[3] for ident in house.lines("contrast", "answers.jsonl")} == {"contrast_qa"}
    code, _, err = house.run("run", "omnieval", "corpus", *SAMPLE)
    assert code == 2 and "holds no questions" in err and err.count("\n") == 1


def test_all_prints_the_papers_table_with_ours_under_it(house, judged):
    code, out, err = house.run(
        "run", "omnieval", "--all", *SAMPLE, *house.models(), "--limit", "6", "--out", "whole", "-v"
    )
    assert (code, err) == (0, "") and narrow(out)
    assert "Table 5. Models with retrieval and without\n" in out
    assert re.search(r"^qwen2.5-72b alone +– +– +32.22 +16.07 +37.88", out, re.M)
    found = house.scores("whole/all")
    keys = ("map", "mrr", "f1", "rouge_l", "acc", "hal", "com", "utl", "nac")
    line = " ".join(re.findall(r"^m bm25 \(ours\)(.*)$", out, re.M)[:2])
    values = [found["all", key, "official"]["value"] for key in keys]
    assert line.split() == ["–" if v is None else "100.0" if v == 1 else f"{v * 100:.1f}" for v in values]
    assert "Of hal lower is better." in out and "the authors' fine-tuned Qwen2.5-7B" in " ".join(out.split())
    code, out, _ = house.run("report", "whole", "--labels", "zh", "--html", "whole.html", "-v")
    assert code == 0 and narrow(out) and "零售银行" in out
    assert "全部主题" in (house.folder / "whole.html").read_text(encoding="utf-8")
