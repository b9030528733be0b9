"""What a comparison of several runs says in words, of each against the first and of how they rank."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from compared_runs import ROUGE, ask, fail, run, together, words

import quadrag
from quadrag.baselines.core.result import Asked, Result
from quadrag.baselines.report.compared.comparison import compare_runs
from quadrag.baselines.report.compared.glance.leader import glance_several
from quadrag.baselines.report.compared.paired.pairs import pair_results
from quadrag.baselines.report.compared.said.rankings import tell_rankings
from quadrag.baselines.report.compared.several import tabulate_several
from quadrag.baselines.tables.grid import Detail, Verdict
from quadrag.baselines.tables.language import speak


def test_of_several_runs_p_values_are_adjusted_and_rankings_compared() -> None:
    rng = np.random.RandomState(3)
    base = rng.random_sample(60)
    noise = rng.normal(0, 1, 60)
    shift = noise - noise.mean() + 2.1 / 60**0.5 * noise.std()
    level = base.copy()
    level[[0, 8]] = level[[8, 0]]
    runs = [run(base, corrected=0.3), run(base + shift, corrected=0.5), run(level, corrected=0.1)]
    (alone,) = compare_runs([("a", runs[0]), ("b", runs[1])], every=False).lines
    assert alone.cells[3].text == "better"
    _, grid = tabulate_several([(str(at), one) for at, one in enumerate(runs)])
    assert [line.cells[1].text for line in grid.lines] == [alone.cells[2].text, "0.0"]
    told = "Official and corrected rank 3 runs otherwise. rouge_l: almost the same (Spearman 0.87, Kendall 0.82)."
    assert told in [note for note in grid.notes if isinstance(note, Detail)]
    assert not any("change places" in note for note in grid.notes), "two are equal by one profile"
    runs[2] = run(base + 2 * shift, corrected=0.4)
    _, grid = tabulate_several([(str(at), one) for at, one in enumerate(runs)])
    assert "By the corrected profile runs change places: rouge_l B 50.0, C 40.0." in grid.notes
    runs[2] = run(base - 0.1, corrected=0.1)
    _, grid = tabulate_several([(str(at), one) for at, one in enumerate(runs)])
    assert not any("runs otherwise" in note or "change places" in note for note in grid.notes), "the same by both"


def test_a_run_that_failed_stands_where_its_failures_count_as_wrong() -> None:
    # The same function thrice, but that one raises an error on four of the questions that it would answer wrong.
    poor, good = [0.2] * 12 + [0.1] * 8, [0.6] * 12 + [0.1] * 8
    runs = [run(poor), run(good), fail(run([*good[:16], None, None, None, None])), run([0.5] * 12 + [0.15] * 8)]
    named = list(zip(("poor", "good", "raising", "close"), runs, strict=True))
    failed = "raising has 47.5{}, but failed on 4 of 20 (38.0 if these count as wrong)."
    for order in (named, named[::-1]):
        (grid,) = tabulate_several(order, every=False)
        assert [line.label for line in grid.lines] == ["good", "raising", "close", "poor"]
        assert failed.format(" on rouge_l") in grid.notes
        assert "The best first, what failed counted as wrong." in grid.notes
        assert grid.notes[0] == (
            "good leads on rouge_l with 40.0: better than poor (p 0.001); equal to raising on the 16 questions that "
            "both scored; not decided against close."
        )
        looked = (
            "For the run that leads, picked by its value, p is multiplied by 6, the number of pairs of runs: it is "
            "another p than that of a table."
        )
        assert looked in grid.notes
        assert not any("change places" in note for note in grid.notes), "they stand by the corrected values"
    glance = glance_several(named)
    assert glance is not None and [line.label for line in glance.lines][:2] == ["good", "raising"]
    told, why = [note for note in glance.notes if isinstance(note, Verdict)]
    assert "equal to raising on the 16 questions that both scored" in told and "with 40.0" in told
    assert why == failed.format("")
    assert glance.lines[1].cells[3].text == "equal to good on the 16 questions that both scored"


def test_of_several_runs_each_is_told_of_in_words_and_why_it_is_not_compared() -> None:
    rng = np.random.RandomState(4)
    base, asked = rng.random_sample(40), ask(40, ["x"])
    noise = rng.normal(0, 1, 40)
    close = base + noise - noise.mean() + 2.1 / 40**0.5 * noise.std()
    strange = run(base, asked={key: one._replace(sha256="other") for key, one in asked.items()})
    runs = [run(values, asked=asked) for values in (base, base + 0.1, close, close)]
    pair = pair_results(runs[0], runs[2], ROUGE)
    assert pair is not None and 0.025 < pair.p < 0.05, "alone it would be decided"
    _, grid = tabulate_several([(str(at), one) for at, one in enumerate([*runs, strange])])
    better, chance, _, *notes = grid.notes
    assert better.startswith("B is better than A on rouge_l: +10.0 points (95% ")
    assert re.fullmatch(r"C minus A: Not decided on rouge_l: \S+ points, which may be chance \(95% .*\)\.", chance)
    assert [line.cells[4].text for line in grid.lines] == ["< 0.001", *[f"{2 * pair.p:.3f}"] * 2]
    (brief,) = tabulate_several([(str(at), one) for at, one in enumerate([*runs, strange])], every=False)
    odd = "The interval is of one difference alone, p by Holm's rule of all, and decides on rouge_l."
    assert f"C minus A: {odd}" in notes and f"C, D minus A: {odd}" in brief.notes
    assert [line.cells[-1].text for line in grid.lines] == ["better", "not decided", "not decided"]
    assert any("(Holm, 3 differences)" in note for note in grid.notes)
    assert "E minus A: Not compared, no question is in both: rouge_l." in notes
    unsure = run(base + noise - noise.mean() + 0.01, asked=asked)
    _, grid = tabulate_several([(str(at), one) for at, one in enumerate([*[runs[0]] * 13, unsure])])
    assert any(note.startswith("N minus A: Not decided on rouge_l: ") for note in grid.notes), "N begins so too"


def split_in_two(values: Sequence[float]) -> Result:
    """A run whose items and rows stand in the splits test and full."""
    found = run(values)
    found.run.inputs.splits = ["test", "full"]
    found.items = [row | {"split": split} for split in found.run.inputs.splits for row in found.items]
    found.scores = [row | {"split": split} for split in found.run.inputs.splits for row in found.scores]
    return found


def asked_in_two(text: str) -> dict[tuple[str, str, str], Asked]:
    """What ten questions ask in either split."""
    return {
        (config, split, name): one._replace(sha256=f"{text}{name}")
        for (config, _, name), one in ask(10, ["x"]).items()
        for split in ("test", "full")
    }


def graded(grades: Sequence[int]) -> Result:
    """A run whose answers are right (1), wrong (-1) or missing (0), by CRAG's metrics."""
    measured: dict[str, Callable[[int], float]] = {
        "accuracy": lambda grade: float(grade == 1),
        "hallucination": lambda grade: float(grade == -1),
        "truthfulness": float,
        "missing": lambda grade: 0.0,
    }
    return together(
        *(run([measure(one) for one in grades], metric="truthfulness", key=key) for key, measure in measured.items())
    )


def test_metrics_that_mirror_each_other_count_once_in_holms_rule_and_one_that_ties_on_all_not_at_all() -> None:
    wrong = [-1] * 20
    better = graded(wrong), graded([1] * 6 + wrong[6:])
    notes = words(*better, every=False)
    assert not any("Holm" in note for note in notes), "one question"
    assert notes[0].startswith("B is better on ") and ". The rest: better on " in notes[0]
    found = words(graded(wrong), graded([1] * 6 + [0] * 6 + wrong[12:]), every=False)
    assert any("(Holm, 3 differences)" in note and "mirror" not in note for note in found), found
    two = [graded(grades) for grades in (wrong, [1] * 6 + wrong[6:], [-1] * 13 + [1] * 7)]
    (told,) = [note for note in tabulate_several(list(zip("ABC", two, strict=True)))[1].notes if "(Holm" in note]
    assert "(Holm, 2 differences)" in told and "mirror each other question by question" in told


def ranked(values: dict[str, float], judge: str = "j", llm: str = "m") -> Result:
    """A run with these values of truthfulness under both profiles."""
    found = run([0.5] * 6, metric="truthfulness", key="truthfulness")
    found.run.inputs.judge, found.run.inputs.llm = judge, llm
    (row,) = [row for row in found.scores if row["profile"] == "official" and row["slice"] == "all"]
    found.scores = [
        {**row, "key": key, "value": value, "profile": profile}
        for key, value in values.items()
        for profile in ("official", "corrected")
    ]
    return found


def test_metrics_and_judges_that_rank_runs_otherwise_are_named() -> None:
    # Of hallucination less is better: three runs of judge j are ranked the same by both, and reversed by judge k.
    scores = [(0.1, 0.5), (0.2, 0.4), (0.3, 0.3)]
    mine = [ranked({"accuracy": a, "hallucination": h}, llm=f"m{n}") for n, (a, h) in enumerate(scores)]
    assert tell_rankings(mine) == []
    theirs = [ranked({"accuracy": a, "hallucination": h}, "k", f"m{2 - n}") for n, (a, h) in enumerate(scores)]
    (told,) = tell_rankings([*mine, *theirs])
    assert told.startswith("Judges rank 3 runs otherwise. j and k by accuracy: reversed (Spearman -1.00,")
    mixed = [ranked({"accuracy": a, "hallucination": h}) for a, h in ((0.1, 0.4), (0.2, 0.5), (0.3, 0.3), (0.4, 0.2))]
    (told,) = tell_rankings(mixed)
    assert isinstance(told, Detail), "only a specialist asks how metrics rank runs"
    assert told == (
        "Metrics rank 4 runs otherwise. accuracy and hallucination: almost the same (Spearman 0.80, Kendall 0.67)."
    )
    assert tell_rankings(mixed[:3]) == []


def test_of_three_runs_and_more_a_terminal_has_one_table_the_best_first_without_what_all_have_alike() -> None:
    wrong, some, most = (graded([1] * right + [-1] * (20 - right)) for right in (0, 6, 12))
    grid, values = tabulate_several([("x", wrong), ("y", some), ("z", most)], every=False)
    for table in (grid, values):
        assert [line.label for line in table.lines] == ["z", "y", "x"]
    assert grid.title.endswith(" accuracy") and values.columns == ["hallucination", "truthfulness"]
    assert [[cell.text for cell in line.cells] for line in values.lines] == [
        ["40.0↑", "20.0↑"],
        ["70.0↑", "-40.0↑"],
        ["100.0", "-100.0"],
    ]
    assert any(note.startswith("The same in every run that has it: missing ") for note in values.notes)
    assert "Marked ↑: better than x, ↓: worse." in values.notes
    many = [(f"s{at}", graded([1] * at + [-1] * (20 - at))) for at in range(20)]
    grid, values = tabulate_several(many, every=False)
    assert grid.notes == [
        "s19 leads on accuracy with 95.0: better than 8 runs (p 0.046 at most); not decided against 11 runs."
    ]
    looked = "For the run that leads, picked by its value, p is multiplied by 190, the number of pairs of runs: it is "
    assert f"{looked}another p than that of a table." in values.notes
    assert not re.search("runs|better", speak(grid.notes[0], "zh"))
    assert sum(note.startswith("s19 minus s0") for note in grid.notes) == 0, "the table has it"
    long = [(f"the-{name}-of-a-system", one) for name, one in many[:4]]
    long[0] = ("a" * 13, long[0][1])
    assert tabulate_several(long, every=False)[0].title.startswith("Differences from A, "), "a name is long"


def test_of_many_runs_one_that_failed_does_not_pass_for_equal_and_they_stand_by_their_differences() -> None:
    values = [1.0, 0.0] * 20
    flaky = fail(run([None if at < 12 and value else value for at, value in enumerate([*values])], corrected=0.35))
    part = run([1.0] * 10)
    runs = [("v1", run(values)), ("flaky", flaky), ("ext", part), ("v2", run([1.0] * 40)), ("v3", run(values))]
    asked, others = ask(40, ["x"]), {place: one._replace(sha256="o") for place, one in ask(10, ["x"]).items()}
    for name, one in runs:
        one.asked = others if name == "ext" else asked
    (grid,) = tabulate_several(runs, every=False)
    flaky, *others = grid.notes  # the best one is compared with none: none leads
    assert not any(isinstance(note, Verdict) for note in others), "the table has the other verdicts"
    told = r"flaky: by corrected worse than v1 on rouge_l, -15\.0 \(95% -\S+ to -\S+; p \S+\); 6 answers failed\."
    assert re.fullmatch(told, flaky), flaky
    assert not re.search("worse|failed", speak(flaky, "zh"))
    assert [line.label for line in grid.lines] == ["ext", "v2", "v1", "v3", "flaky"], "failed is wrong"
    assert [line.cells[-1].text for line in grid.lines] == ["–", "better", "–", "all equal", "all equal"]
    over = "Each value is over all that its run scored, a difference over the questions of both."
    assert f"Better or worse: p below 0.05. {over}" in grid.notes


def test_a_metric_that_a_run_has_over_other_questions_is_not_the_same_in_all() -> None:
    same = [(name, split_in_two([0.0] * 10)) for name in ("v1", "v2", "v3")]
    other = split_in_two([1.0] * 10)
    for _, one in same:
        one.asked = asked_in_two("ours")
    other.asked = asked_in_two("theirs")
    grid, values = tabulate_several([*same, ("ext", other)], every=False)
    assert grid.title.endswith(" all 2 splits rouge_l") and values.title == "rouge_l by split"
    assert not any(note.startswith("The same in every") for note in values.notes)
    cells = [line.cells for table in (grid, values) for line in table.lines if line.label == "ext"]
    assert [cells[0][0].text, *(cell.text for cell in cells[1])] == ["100.0"] * 3


def test_over_all_splits_the_differences_of_several_runs_are_adjusted_together_and_apart_from_the_splits() -> None:
    runs = [
        (name, split_in_two([1.0] * right + [0.0] * (10 - right))) for name, right in zip("xyz", (0, 5, 5), strict=True)
    ]
    for _, one in runs:
        one.asked = asked_in_two("ours")
    grid, *_, last = tabulate_several(runs, every=False)
    told = [[cell.text for cell in line.cells[-2:]] for line in grid.lines]
    assert told == [["0.062", "not decided"]] * 2 + [["–", "–"]], "alone each has half of it, and would be decided"
    assert "p (Holm)" in grid.columns
    assert any("(Holm, 4 differences). Those over all splits are adjusted apart, for 2." in note for note in last.notes)


def test_of_several_runs_those_with_the_same_answers_are_named_once_and_a_raised_p_is_headed_so() -> None:
    poor, good = [0.2] * 12 + [0.1] * 8, [0.6] * 12 + [0.1] * 8
    runs = [run(values) for values in (poor, good, good, [0.5] * 12 + [0.15] * 8)]
    for one, text in zip(runs, "abbc", strict=True):
        one.texts = {(("qa_1doc", "test", str(n)), 0): f"{text}{n}" for n in range(20)}
    named = list(zip(("poor", "good", "again", "other"), runs, strict=True))
    (grid,) = tabulate_several(named, every=False)
    assert [note for note in grid.notes if "same texts" in note] == ["good, again: all answers are the same texts."]
    assert "p (Holm)" in grid.columns
    runs[2].texts[("qa_1doc", "test", "19"), 0] = "c"
    (grid,) = tabulate_several([named[0], named[2], ("base", run(poor))], every=False)
    assert not [note for note in grid.notes if "same texts" in note]
    assert "p" in grid.columns and "p (Holm)" not in grid.columns, "one difference alone is left to decide"


def test_an_oddity_of_unlike_totals_names_each_run_and_has_no_head(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)

    def measure(name: str, empty: int, raising: int) -> Result:
        def answer(question: Any) -> str:
            if int(question.id) < raising:
                raise ValueError("out of luck")
            return "" if int(question.id) < raising + empty else question.passages[0].text

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return quadrag.evaluate(
                "rgb", "noise_robustness_en", answer, split="noise_40", data_dir="sample", name=name
            ).result

    runs = [(f"r{at}", measure(f"r{at}", *how)) for at, how in enumerate([(0, 0), (4, 0), (3, 2), (0, 0)])]
    (grid,) = tabulate_several(runs, every=False)
    (told,) = [note for note in grid.notes if "are empty" in note]
    assert re.match(r"r1: 4 of 12 .*; r2: 3 of 10 ", told)


def test_the_first_run_with_a_value_is_what_the_others_are_compared_with() -> None:
    lost, poor, good = run([0.1] * 20), run([0.2] * 20), run([0.2] * 12 + [0.6] * 8)
    lost.run.invalid = ["summary test: 12 of 20 items failed"]
    for row in lost.scores:
        row |= {"value": None, "interval": None, "invalid": True}
    grid, *_ = tabulate_several([("lost", lost), ("poor", poor), ("good", good)], every=False)
    assert grid.title.startswith("Differences from poor, ")
    assert [(line.label, line.cells[-1].text) for line in grid.lines] == [
        ("good", "better"),
        ("poor", "–"),
        ("lost", "INVALID"),
    ]
