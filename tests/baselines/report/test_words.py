"""What a comparison says in words: who is better, what is undecided, and what would decide it."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from quadrag.baselines.core.result import Asked, Result, Stratum
from quadrag.baselines.report.compared.comparison import compare_runs, merge_runs
from quadrag.baselines.report.compared.pairs import list_differences, pair_results, pair_slices
from quadrag.baselines.report.compared.rankings import tell_rankings
from quadrag.baselines.report.compared.several import tabulate_several
from quadrag.data.files import SAMPLE_SOURCE
from quadrag.run_record import Inputs, RunRecord
from quadrag.stats import items_needed

ROUGE = ("qa_1doc", "test", "crud_overlap", "rouge_l")


def run(
    values: Sequence[float | None],
    *,
    metric: str = "crud_overlap",
    key: str = "rouge_l",
    asked: Mapping[Any, Asked] | None = None,
    corrected: float | None = None,
) -> Result:
    """A run of one metric over one split of CRUD-RAG."""
    inputs = Inputs(quadrag="0", benchmark="crud_rag", config="qa_1doc", splits=["test"], retriever="bm25", llm="m")
    place = {"benchmark": "crud_rag", "config": "qa_1doc", "split": "test"}
    items = [
        place | {"id": str(i), "sample": 0, f"{metric}.{key}": {"official": value, "corrected": value or 0.0}}
        for i, value in enumerate(values)
    ]
    known = [value for value in values if value is not None]
    rows = [
        place
        | {"slice": name, "metric": metric, "key": key, "profile": profile, "value": value, "interval": None}
        | {"n_total": len(values), "n_scored": len(known), "unscored": {}, "signature": "s"}
        for name in ("all", "macro:domain")
        for profile, value in (("official", float(np.mean(known))), ("corrected", corrected))
        if value is not None
    ]
    return Result(RunRecord(inputs), rows, items, asked=asked or {})


def fail(result: Result) -> Result:
    """The same run, whose items without a value failed."""
    for item in result.items:
        for entry in item.values():
            if isinstance(entry, dict) and entry["official"] is None:
                entry |= {"corrected": None, "reason": dict.fromkeys(("official", "corrected"), "raised")}
    return result


def ask(n: int, domains: Sequence[str], weights: Mapping[str, float] | None = None) -> dict[Any, Asked]:
    """Questions in domains by turns; in strata of one domain each, where these have weights."""
    found = {}
    for i in range(n):
        domain = domains[i % len(domains)]
        stratum = Stratum("all", domain, weights[domain]) if weights else None
        found["qa_1doc", "test", str(i)] = Asked(f"{i}", None, {"domain": domain}, stratum)
    return found


def words(first: Result, second: Result, **more: Any) -> list[str]:
    return compare_runs([("A", first), ("B", second)], **more).notes


def span(first: Result, second: Result) -> str:
    """The interval of a difference as it is said, of the second run less the first."""
    pair = pair_results(first, second, ROUGE)
    assert pair is not None
    low, high = pair.interval
    return f"95% {100 * low:.1f} to {100 * high:.1f}"


def test_the_better_run_is_named_with_the_difference() -> None:
    low, high = np.linspace(0.1, 0.6, 40), np.linspace(0.1, 0.6, 40) + 0.1 * np.sin(np.arange(40)) ** 2
    gap = f"{100 * (high - low).mean():.1f} points"
    said, turned = span(run(low), run(high)), span(run(high), run(low))
    assert words(run(low), run(high))[0] == f"B is better on rouge_l: +{gap} ({said})."
    assert words(run(high), run(low))[0] == f"B is worse on rouge_l: -{gap} ({turned})."
    hal = {"metric": "omnieval", "key": "hal"}
    assert words(run(low, **hal), run(high, **hal))[0] == f"B is worse on hal: +{gap} ({said})."
    assert words(run(high, **hal), run(low, **hal))[0].startswith(f"B is better on hal: -{gap} (")
    assert "Of hal lower is better." in words(run(high, **hal), run(low, **hal))
    long = {"metric": "crud_overlap", "key": "length"}
    assert not [line for line in words(run(low + 5, **long), run(low, **long)) if "on length" in line]


def test_what_is_undecided_is_told_with_what_would_decide_it() -> None:
    rng = np.random.RandomState(0)
    first = rng.random_sample(100)
    noise = rng.normal(0, 0.2, 100)
    second = first + noise - noise.mean() + 0.01
    pair = pair_results(run(first), run(second), ROUGE)
    assert pair is not None and pair.p > 0.05
    more = (items_needed(pair.difference, pair.spread) or 0) - 100

    def needed(first: Result, second: Result) -> str:
        return next(note for note in words(first, second) if note.startswith("To show a difference of this size"))

    said = f"Not decided on rouge_l: +1.0 points, which may be chance ({span(run(first), run(second))})."
    assert words(run(first), run(second))[0] == said
    told = f"To show a difference of this size would probably take: rouge_l about {float(f'{more:.2g}'):,.0f} more"
    assert needed(run(first), run(second)) == f"{told} questions, of which the split has 700."
    on_sample = run(first), run(second)
    on_sample[0].run.source = SAMPLE_SOURCE
    assert needed(*on_sample).endswith(" more questions."), "nothing is known of more samples"
    whole = [np.tile(one, 8) for one in (first, first + (noise - noise.mean()) + 0.002)]
    assert needed(*map(run, whole)).endswith(" more questions, of which the split has none.")
    hal = {"metric": "omnieval", "key": "hal"}
    assert words(run(first, **hal), run(second, **hal))[0].startswith("Not decided on hal: +1.0 points, which")
    wide = first + 100 * (noise - noise.mean()) + 0.01
    assert needed(run(first), run(wide)).endswith(": rouge_l more than 1,000,000 questions.")


def test_what_is_the_same_is_said_to_be_the_same() -> None:
    first = np.random.RandomState(0).random_sample(100)
    assert words(run(first), run(first))[0] == "B is the same as A on rouge_l: 0.0 points (95% 0.0 to 0.0)."
    swapped = [*first[1::2], *first[::2]]
    swapped[::2], swapped[1::2] = first[1::2], first[::2]
    said = span(run(first), run(swapped))
    undecided = words(run(first), run(swapped))
    assert undecided[0] == f"Not decided on rouge_l: 0.0 points, which may be chance ({said})."
    assert not [line for line in undecided if "would probably take" in line], "no difference to show"


def test_the_same_on_a_part_says_on_which_part_and_what_failed() -> None:
    first = np.random.RandomState(0).random_sample(20)
    asked: Any = {"asked": ask(20, ["x"])}
    same = "B is the same as A on rouge_l: 0.0 points (95% 0.0 to 0.0; on the 15 questions that both scored"
    failed = fail(run([*first[:15], *[None] * 5], **asked))
    assert words(run(first, **asked), failed)[0] == f"{same}; 5 failed in B)."
    part = run(first[:15], asked=ask(15, ["x"]))
    assert words(run(first, **asked), part)[0] == f"{same})."
    assert words(failed, part)[0] == f"{same}).", "the part has none of them"


def test_a_verdict_says_in_the_same_sentence_what_failed_and_what_the_other_profile_does_not_decide() -> None:
    """B has 30 of 100 more right where it answers, and 28 that A has right failed in it."""
    asked: Any = {"asked": ask(100, ["x"]), "metric": "rgb_accuracy", "key": "accuracy", "corrected": 0.5}
    first = run([0.0] * 30 + [1.0] * 70, **asked)
    second = fail(run([1.0] * 72 + [None] * 28, **asked))
    official, corrected = (words(first, second, profile=profile)[0] for profile in ("official", "corrected"))
    assert re.fullmatch(
        r"B is better on accuracy: \+41\.7 points \(95% .*?; on the 72 questions that both scored; "
        r"28 failed in B\)\. But corrected, the other profile, does not decide: \+2\.0 points, which may be "
        r"chance \(95% .*\)\.",
        official,
    )
    assert re.fullmatch(
        r"Not decided on accuracy: \+2\.0 points, which may be chance \(95% .*?; 28 failed in B and "
        r"count as wrong\)\. But official, the other profile, decides: B is better, \+41\.7 points \(.*\)\.",
        corrected,
    )
    assert not any("the other profile" in note for note in words(first, run([1.0] * 100, **asked))), "both decide"


def test_a_profile_that_says_the_opposite_is_told() -> None:
    rng = np.random.RandomState(1)
    first = 0.5 + 0.01 * rng.random_sample(60)
    second = [value + 0.1 + 0.01 * rng.random_sample() if at % 2 else None for at, value in enumerate(first)]
    pairs = [pair_results(run(first), run(second), ROUGE, profile) for profile in ("official", "corrected")]
    assert [pair and pair.difference > 0 for pair in pairs] == [True, False]
    told = words(run(first), run(second))[0]
    assert told.startswith("B is better on rouge_l: +")
    assert " But corrected, the other profile, says the opposite: B is worse, -" in told
    told = words(run(first, corrected=0.5), run(second, corrected=0.3), profile="corrected")
    assert told[0].startswith("B is worse on rouge_l: -")
    assert " But official, the other profile, says the opposite: B is better, +" in told[0]
    assert not any("opposite" in note for note in words(run(first), run(first + 0.1)))


def test_of_few_questions_it_is_said_that_they_are_few() -> None:
    told = "Too few questions to say which is better: 4 scored in both, 5 are needed."
    assert words(run([0.0] * 4), run([1.0] * 4))[0] == told
    assert told not in words(run([0.0] * 5), run([1.0] * 5))


@pytest.mark.parametrize(
    ("n", "gained", "lost", "said"),
    [
        (6, 4, 0, ["Not decided on accuracy: +66.7 points, which may be chance (95% 1.0 to 99.0)."]),
        (46, 12, 4, ["B is better on accuracy: +17.4 points (95% 0.0 to 33.3)."]),
    ],
)  # fmt: skip
def test_where_interval_and_test_disagree_the_test_decides(n: int, gained: int, lost: int, said: list[str]) -> None:
    first = [0.0] * gained + [1.0] * lost + [0.0] * (n - gained - lost)
    second = [1.0] * gained + [0.0] * lost + [0.0] * (n - gained - lost)
    accuracy = {"metric": "rgb_accuracy", "key": "accuracy"}
    told = words(run(first, **accuracy), run(second, **accuracy))
    assert {*said, "p decides where the interval says otherwise: accuracy."} <= {*told}


def test_few_questions_that_all_differ_alike_want_a_few_more() -> None:
    told = words(
        run([0.25] * 5, metric="rgb_accuracy", key="accuracy"), run([0.5] * 5, metric="rgb_accuracy", key="accuracy")
    )
    assert told[0].startswith("Not decided") and any(note.endswith(": accuracy a few more questions.") for note in told)


def test_a_metric_that_is_invalid_is_named() -> None:
    good, bad = run([0.5] * 10), run([0.5] * 10)
    bad.scores = [row | {"invalid": True, "value": None} for row in bad.scores]
    notes = words(good, bad)
    assert notes[0] == "Not compared, INVALID in B: rouge_l." and not any("scored in both: " in one for one in notes)
    assert words(bad, good)[0] == "Not compared, INVALID in A: rouge_l."
    assert words(bad, bad)[0] == "Not compared, INVALID in A and B: rouge_l."


def test_a_metric_that_cannot_be_paired_is_named_with_the_reason() -> None:
    first, none = run([0.5] * 10), run([None] * 9 + [0.5])
    assert words(first, run([0.5] * 8))[0] == "Not compared, the questions are not the same: rouge_l."
    left = run([0.5] * 9 + [None])
    assert words(none, left)[0] == "Not compared, no question was scored in both: rouge_l."


def test_slices_are_told_by_holms_rule() -> None:
    """One domain gains 0.2 throughout; by its own p alone another would be told of too."""
    rng = np.random.RandomState(6)
    asked = ask(240, ["finance", "music", "sports"])
    first = rng.random_sample(240)
    gains = np.zeros((80, 3))
    gains[:, 0] = 0.2 + rng.normal(0, 0.02, 80)
    noise = rng.normal(0, 1, 80)
    gains[:, 1] = noise - noise.mean() + 2.1 / 80**0.5 * noise.std()
    gains[:, 2] = noise - noise.mean()
    second = first + gains.ravel()
    pairs = pair_slices(run(first, asked=asked), run(second, asked=asked), ROUGE, "official", "domain")
    assert list(pairs) == ["finance", "music", "sports"] and [pair.n for pair in pairs.values()] == [80] * 3
    assert 0.025 < pairs["music"].p < 0.05 and pairs["sports"].p > 0.9
    notes = words(run(first, asked=asked), run(second, asked=asked))
    (told,) = [note for note in notes if note.startswith("By domain")]
    gap = f"{100 * gains[:, 0].mean():.1f}"
    assert told == f"By domain, p by Holm: B is better on rouge_l (finance +{gap})."
    one = ask(240, ["finance"])
    assert not any(note.startswith("By ") for note in words(run(first, asked=one), run(second, asked=one)))


def test_a_mean_over_groups_and_a_weighted_one_are_paired_as_such() -> None:
    rng = np.random.RandomState(2)
    asked = ask(60, ["finance", "music", "music"], {"finance": 3.0, "music": 1.0})
    first = rng.random_sample(60)
    second = first + np.where(np.arange(60) % 3 == 0, 0.3, -0.1) + rng.normal(0, 0.01, 60)
    gaps = [(second - first)[np.arange(60) % 3 == 0].mean(), (second - first)[np.arange(60) % 3 != 0].mean()]
    runs = run(first, asked=asked), run(second, asked=asked)
    macro = pair_results(*runs, ROUGE, grouping="domain")
    assert macro is not None and macro.difference == pytest.approx(sum(gaps) / 2)
    lines = {line.label: line.cells[2].text for line in compare_runs([("a", runs[0]), ("b", runs[1])]).lines}
    assert lines["qa_1doc: test/rouge_l, macro over domain"] == f"{50 * sum(gaps):+.1f}"
    assert [line.label for line in compare_runs([("a", runs[0]), ("b", runs[1])], every=False).lines] == [
        "qa_1doc: test/rouge_l"
    ]
    accuracy = {"metric": "truthfulness", "key": "accuracy", "asked": asked}
    place = ("qa_1doc", "test", "truthfulness", "accuracy_weighted")
    weighted = pair_results(run(first, **accuracy), run(second, **accuracy), place)
    assert weighted is not None and weighted.difference == pytest.approx((3 * gaps[0] + gaps[1]) / 4)
    accuracy["asked"] = ask(60, ["finance"])
    assert pair_results(run(first, **accuracy), run(second, **accuracy), place) is None, "without strata none"


def test_questions_that_hang_together_are_swapped_together() -> None:
    asked = ask(30, ["x"])
    tied = {key: one._replace(unit=str(int(key[2]) // 10)) for key, one in asked.items()}
    first, second = [0.0] * 30, [1.0] * 30
    apart, together = (pair_results(run(first, asked=one), run(second, asked=one), ROUGE) for one in (asked, tied))
    assert apart is not None and apart.p < 1e-6
    assert together is not None and together.p == 0.25
    merged = [merge_runs([run(values, asked=tied)]) for values in (first, second)]
    assert pair_results(*merged, ROUGE) == together, "what is kept of questions outlives the merging"


def test_other_gold_is_no_pair() -> None:
    asked = ask(10, ["x"])
    other = {key: one._replace(sha256="other") if key[2] != "3" else one for key, one in asked.items()}
    pair = pair_results(run([0.5] * 10, asked=asked), run([0.7] * 10, asked=other), ROUGE)
    assert pair is not None and pair.n == 1


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
    assert told in grid.notes
    runs[2] = run(base - 0.1, corrected=0.1)
    _, grid = tabulate_several([(str(at), one) for at, one in enumerate(runs)])
    assert not any("runs otherwise" in note for note in grid.notes), "both rank them the same"


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
    assert better.startswith("B is better on rouge_l: +10.0 points (95% ")
    assert re.fullmatch(r"C minus A: Not decided on rouge_l: \S+ points, which may be chance \(95% .*\)\.", chance)
    assert [line.cells[4].text for line in grid.lines] == ["< 0.001", *[f"{2 * pair.p:.3f}"] * 2]
    assert "C minus A: p decides where the interval says otherwise: rouge_l." in notes
    assert [line.cells[-1].text for line in grid.lines] == ["better", "not decided", "not decided"]
    assert any("Who looks at 3 differences finds some by chance" in note for note in grid.notes)
    assert "E minus A: Not compared, no question is in both: rouge_l." in notes
    unsure = run(base + noise - noise.mean() + 0.01, asked=asked)
    _, grid = tabulate_several([(str(at), one) for at, one in enumerate([*[runs[0]] * 13, unsure])])
    assert any(note.startswith("N minus A: Not decided on rouge_l: ") for note in grid.notes), "N begins so too"


def graded(grades: Sequence[int]) -> Result:
    """A run whose answers are right (1), wrong (-1) or missing (0), by CRAG's metrics."""
    parts = [
        run([measure(one) for one in grades], metric="truthfulness", key=key)
        for key, measure in {
            "accuracy": lambda grade: float(grade == 1),
            "hallucination": lambda grade: float(grade == -1),
            "truthfulness": float,
            "missing": lambda grade: 0.0,
        }.items()
    ]
    items = [dict(ChainMap(*rows)) for rows in zip(*(part.items for part in parts), strict=True)]
    return Result(parts[0].run, [row for part in parts for row in part.scores], items)


def test_metrics_that_mirror_each_other_count_once_in_holms_rule_and_one_that_ties_on_all_not_at_all() -> None:
    wrong = [-1] * 20
    better = graded(wrong), graded([1] * 6 + wrong[6:])
    notes = words(*better, every=False)
    assert not any("Holm" in note for note in notes), "one question"
    assert notes[0].startswith("B is better on ") and ". The rest: better on " in notes[0]
    found = words(graded(wrong), graded([1] * 6 + [0] * 6 + wrong[12:]), every=False)
    assert any("Who looks at 3 differences finds" in note and "mirror" not in note for note in found), found
    two = [graded(grades) for grades in (wrong, [1] * 6 + wrong[6:], [-1] * 13 + [1] * 7)]
    (told,) = [note for note in tabulate_several(list(zip("ABC", two, strict=True)))[1].notes if "Who looks" in note]
    assert "Who looks at 2 differences finds" in told and "mirror each other question by question" in told


def test_lengths_have_a_difference_and_no_verdict_and_cost_no_other_metric_power() -> None:
    low = np.linspace(0.1, 0.6, 40)

    def both(gain: float) -> Result:
        parts = [run(low + gain), run(gain * (100 + np.arange(40)), key="length")]
        items = [dict(ChainMap(*rows)) for rows in zip(*(part.items for part in parts), strict=True)]
        return Result(parts[0].run, [row for part in parts for row in part.scores], items)

    grid = compare_runs([("A", both(0)), ("B", both(0.1))], every=False)
    assert {line.label: [cell.text for cell in line.cells[2:]] for line in grid.lines} == {
        "qa_1doc: test/rouge_l": ["+10.0", "better"],
        "qa_1doc: test/length": ["+11.9", "–"],
    }
    assert [note.partition(" (")[0] for note in grid.notes if "points" in note or "Who looks" in note] == [
        "B is better on rouge_l: +10.0 points"
    ]
    drawn = [line.label for line in grid.lines if line.cells[2].figure]
    assert drawn == ["qa_1doc: test/rouge_l"], "a hollow sign would say that more or less may be chance"


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
    assert told.startswith("Judges rank 3 runs otherwise. j and k by accuracy: nearly reversed (Spearman -1.00,")
    mixed = [ranked({"accuracy": a, "hallucination": h}) for a, h in ((0.1, 0.4), (0.2, 0.5), (0.3, 0.3))]
    assert tell_rankings(mixed) == [
        "Metrics rank 3 runs otherwise. accuracy and hallucination: partly the same (Spearman 0.50, Kendall 0.33)."
    ]
    assert tell_rankings(mixed[:2]) == []


def test_questions_that_got_better_are_counted_by_the_metrics_direction():
    first, second = (
        run(values, metric="truthfulness", key="missing") for values in ([0.0, 1.0, 1.0, None], [1.0, 0.0, 0.0, 0.0])
    )
    place = ("qa_1doc", "test", "truthfulness", "missing")
    gained = list_differences(first, second, place)
    assert {key[2]: gain for key, gain in gained.items()} == {"0": -1, "1": 1, "2": 1}
    assert list_differences(first, second, place, "corrected")["qa_1doc", "test", "3"] == 0


def test_of_three_runs_and_more_a_terminal_has_one_table_the_best_first_without_what_all_have_alike() -> None:
    wrong, some, most = (graded([1] * right + [-1] * (20 - right)) for right in (0, 6, 12))
    (grid,) = tabulate_several([("x", wrong), ("y", some), ("z", most)], every=False)
    runs = [(line.label, line.cells[0].text, line.cells[-1].text) for line in grid.lines if line.cells[0].text]
    assert [label for label, *_ in runs[:3]] == [" C z", " B y", " A x"]
    assert any(note.startswith("The same in every run that has it: missing ") for note in grid.notes)
    assert not any("missing" in line.label for line in grid.lines)
    many = [(f"s{at}", graded([1] * at + [-1] * (20 - at))) for at in range(20)]
    (grid,) = tabulate_several(many, every=False)
    assert grid.notes[0].startswith("Compared with A on ") and len(grid.lines) <= 60
    assert sum(note.startswith("T minus A") for note in grid.notes) == 0, "the table has it"
