"""The tables that the page alone has: retrieval against answers, and what a second run changed in a matrix."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from quadrag.baselines.page.answers import collect_answers
from quadrag.baselines.page.changes import list_changes
from quadrag.baselines.report.compared.comparison import compare_runs
from quadrag.baselines.report.compared.glance.two import glance_pair
from quadrag.baselines.report.compared.matrix_change import tabulate_changes
from quadrag.baselines.report.found import tabulate_found
from quadrag.baselines.runs.finished import read_runs
from quadrag.baselines.tables.grid import Verdict
from quadrag.measure.comparison import Comparison
from quadrag.measure.evaluation import Evaluation

RUN = ("run", "omnieval", "all", "--data-dir", "sample", "--limit", "60")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two runs of OmniEval's sample, the second of which is shown one passage."""
    from quadrag.cli import main

    root = tmp_path_factory.mktemp("runs")
    assert main([*RUN, "--out", str(root / "a")]) == 0
    assert main([*RUN, "--top-k", "1", "--out", str(root / "b")]) == 0
    return [str(root / "a"), str(root / "b")]


@pytest.fixture
def results(folders):
    return [parts[0] for _, parts in read_runs(folders)]


def test_answers_are_told_apart_by_what_was_found(results):
    [grid] = tabulate_found(results[1])
    lines = [json.loads(line) for line in (Path(results[1].folder) / "items.jsonl").open(encoding="utf-8")]
    recall = [line["retrieval_ranking.recall@1"]["official"] for line in lines]
    found = {"nothing found": recall.count(0), "a part found": sum(0 < one < 1 for one in recall)}
    counts = {line.label: int(line.cells[2].text) for line in grid.lines}
    assert counts == {name: count for name, count in found.items() if count} | {"all found": recall.count(1)}
    assert sum(count for *_, count in grid.dots) == len(lines) == 60
    rouge = [line["omnieval_overlap.rouge_l"]["official"] for line in lines]
    mean = sum(one for one, share in zip(rouge, recall, strict=True) if share == 1) / recall.count(1)
    last = grid.lines[-1].cells
    assert last[0].figure.value == 100 and last[1].figure.value == pytest.approx(100 * mean)


def test_no_table_where_nothing_was_searched(cli):
    assert cli("run", "rgb", "noise_robustness_en", "--data-dir", "sample", "--limit", "2", "--out", "r").code == 0
    [(_, [result])] = read_runs(["r"])
    assert tabulate_found(result) == []


def test_the_difference_of_two_matrices_is_that_of_their_cells(results):
    changes = tabulate_changes(list(zip("ab", results, strict=True)))
    assert [grid.title.partition(": ")[2].split()[0] for grid in changes] == ["rouge_l", "f1", "em", "map", "mrr"]
    change = next(grid for grid in changes if "map by" in grid.title)
    rows = [{(row["slice"], row["key"]): row for row in one.scores if row["profile"] == "official"} for one in results]
    before, after = (found["topic=banking/retail", "map"]["value"] for found in rows)
    line = next(line for line in change.lines if line.label == " retail")
    assert line.cells[-1].figure.value == pytest.approx(100 * (after - before)) != 0
    assert line.cells[-1].text == f"{100 * (after - before):+.1f}" and change.form == "change"
    assert tabulate_changes([("a", results[0])] * 2)[0].lines[1].cells[-1].text == "0.0"


def test_a_comparison_is_a_forest_of_headlines_with_its_verdict(results):
    grid = compare_runs([("a", results[0]), ("b", results[1])])
    drawn = {line.label: line.cells for line in grid.lines if line.cells[2].figure}
    assert sorted(label.rpartition("/")[2] for label in drawn) == ["f1", "map", "mrr", "rouge_l"], "no macro means"
    assert all(cells[0].figure is None for cells in drawn.values()), "the difference alone is drawn"
    assert [note for note in grid.notes if isinstance(note, Verdict)], "said in words"
    several = compare_runs([(name, results[0]) for name in "abc"])
    assert several.form == "runs" and list(several.names) == ["a", "b", "c"]


def test_table_chart_cards_words_and_python_go_by_one_p_adjusted_by_holms_rule(cli):
    assert cli("run", "rgb", "noise_robustness_en", "--data-dir", "sample", "--out", "r").code == 0
    (_, [first]), (_, [second]) = read_runs(["r", "r"])
    better = {"noise_60": 9, "noise_80": 6}  # questions of twelve; by mid-p 0.002 and 0.016, times 5 and 4 by Holm
    for at, result in enumerate((first, second)):
        seen = Counter()
        for line in result.items:
            seen[line["split"]] += 1
            number, won = seen[line["split"]], better.get(line["split"])
            value = float(at * (number <= won) if won else number == at + 1)  # elsewhere one is won and one lost
            line["rgb_accuracy.accuracy"] = {"official": value, "corrected": value}
    grid = compare_runs([("a", first), ("b", second)])
    overall, *by_split = [line for line in grid.lines if line.cells[2].figure]
    assert "all 5 splits" in overall.label and overall.cells[3].text == "better"
    cells = {line.label.partition(": ")[2].partition("/")[0]: line.cells for line in by_split}
    verdicts = {name: verdict.text for name, (*_, verdict) in cells.items()}
    assert len(cells) == 5 and [name for name, verdict in verdicts.items() if verdict == "better"] == ["noise_60"]
    assert verdicts["noise_80"] == "not decided" and cells["noise_80"][2].text == "+50.0"
    assert [name for name, (*_, cell, _) in cells.items() if cell.figure.sure] == ["noise_60"]
    assert grid.notes[0].startswith("b is better on accuracy: +25.0 points over all 5 splits (95% ")
    assert [cells[split][3].sub for split in ("noise_60", "noise_80")] == ["Holm 0.010", "Holm 0.062"]
    odd = "The interval is of one difference alone, p by Holm's rule of all, and decides on noise_80/accuracy."
    assert odd in grid.notes
    told = "Better or worse: p below 0.05 (Holm, 5 differences)."
    assert f"Percent, official profile. {told} Other metrics, and means over groups, are adjusted apart." in grid.notes
    both = Comparison(*(Evaluation(one, Path("r"), "official") for one in (first, second)))
    assert {both[f"noise_{noise}/accuracy"].decisive < 0.05 for noise in (0, 20, 40, 80)} == {False}
    assert both["noise_80/accuracy"].p == pytest.approx(2**-6)
    shown = " ".join(repr(both).split())
    assert re.search(r"noise_60/accuracy .* \+75\.0 \S+ to \S+ better 0\.010 noise_80", shown) and told in shown
    glance = glance_pair([("a", first), ("b", second)])
    cards = {line.label: [cell.text for cell in line.cells] for line in glance.lines}
    assert len(cards) == 6, "over all splits, then the first headline of each split"
    assert cards["all 5 splits/accuracy"][3] == "b is better"
    assert [cards["noise_60/accuracy"][at] for at in (0, 3)] == ["+75.0", "b is better"]
    assert cards["noise_60/accuracy"][2] == "a 66.7 → b 66.7", "as the runs' scores have it"
    assert cards["noise_0/accuracy"][3] == "not decided", "one is won and one lost"
    told = [line.cells[3].text for line in glance_pair([("b", second), ("a", first)]).lines]
    assert told == ["a is worse", *["not decided"] * 3, "a is worse", "not decided"]


def test_questions_won_and_lost_are_listed_the_greatest_difference_first(folders):
    answers = collect_answers(read_runs(folders))
    changes = list_changes(answers)
    index = answers.index
    at = [metric["label"] for metric in index["metrics"]].index(changes.metric)
    gains = [item["values"][1][at] - item["values"][0][at] for item in index["items"]]
    assert changes.counts == (sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains))
    assert changes.won[0].after - changes.won[0].before == pytest.approx(100 * max(gains)), "in percent"
    assert changes.lost[0].after - changes.lost[0].before == pytest.approx(100 * min(gains))
    assert {one.place for one in (*changes.won, *changes.lost)} <= {item["place"] for item in index["items"]}
    assert list_changes(collect_answers(read_runs(folders[:1]))) is None
    assert list_changes(collect_answers(read_runs([folders[0]] * 2))) is None, "no answer differs"
