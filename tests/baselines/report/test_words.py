"""What a comparison says in words: who is better, what is undecided, and what would decide it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from compared_runs import ROUGE, ask, fail, run, span, together, words

from quadrag.baselines.core.result import Result
from quadrag.baselines.report.compared.comparison import compare_runs
from quadrag.baselines.report.compared.paired.pairs import pair_results, pair_slices
from quadrag.baselines.report.compared.said.verdict import write_pair
from quadrag.baselines.tables.language import speak
from quadrag.stats import Interval, Pair, items_needed


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


@pytest.mark.parametrize(
    ("p", "p_holm", "told"),
    [
        (0.008, 0.07, "p 0.008, by Holm 0.070: not decided"),
        (0.00001, 0.0001, "p < 0.001: worse"),
        (0.0001, 0.002, "p < 0.001, by Holm 0.002: worse"),
        (0.2, None, "p 0.200: not decided"),
    ],
)
def test_the_line_of_a_difference_tells_the_p_that_its_interval_goes_with(p: float, p_holm: float, told: str) -> None:
    pair = Pair(-0.746, Interval(-0.875, -0.453), 8, p, "flips", 0.2, 8, p_holm)
    assert write_pair(ROUGE, pair) == f"rouge_l -74.6 points (95% -87.5 to -45.3), n 8, {told}"


def test_runs_without_a_question_of_one_metric_in_common_say_so_first() -> None:
    values = [0.1, 0.5, 0.9] * 4
    told = "Nothing to compare: the two have no metric of a split in common."
    assert words(run(values), run(values, metric="omnieval", key="hal"))[0] == told
    assert told not in words(run(values), run(values))


def test_a_headline_tells_its_own_p_where_holms_rule_raised_it() -> None:
    low, better = np.full(40, 0.2), np.full(40, 0.2) + 0.1 * (np.arange(40) % 4 == 0)
    one, two = together(run(low), run(low, key="bleu")), together(run(better), run(better[::-1], key="bleu"))
    assert re.search(r"; p (< )?0\.\d+, by Holm 0\.\d+\)", words(one, two)[0])


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
    told = f"To show a difference of this size would probably take: about {float(f'{more:.2g}'):,.0f} more"
    assert needed(run(first), run(second)) == f"{told} questions, but only 700 are left (rouge_l)."
    for whose in ("sample", "own", "unverified"):
        on_others = run(first), run(second)
        on_others[0].run.provenance = whose
        assert needed(*on_others).endswith(" more questions (rouge_l)."), "nothing is known of more of them"
    whole = [np.tile(one, 8) for one in (first, first + (noise - noise.mean()) + 0.002)]
    assert needed(*map(run, whole)).endswith(" more questions, but none is left (rouge_l).")
    hal = {"metric": "omnieval", "key": "hal"}
    assert words(run(first, **hal), run(second, **hal))[0].startswith("Not decided on hal: +1.0 points, which")
    wide = first + 100 * (noise - noise.mean()) + 0.01
    assert needed(run(first), run(wide)).endswith(": more than 1,000,000 questions (rouge_l).")


def test_what_is_the_same_is_said_to_be_the_same() -> None:
    first = np.random.RandomState(0).random_sample(100)
    assert words(run(first), run(first))[0] == "No difference on any question by rouge_l."
    swapped = [*first[1::2], *first[::2]]
    swapped[::2], swapped[1::2] = first[1::2], first[::2]
    said = span(run(first), run(swapped))
    undecided = words(run(first), run(swapped))
    assert undecided[0] == f"Not decided on rouge_l: 0.0 points, which may be chance ({said})."
    assert not [line for line in undecided if "would probably take" in line], "no difference to show"


def test_the_same_on_a_part_says_on_which_part_and_what_failed() -> None:
    first = np.random.RandomState(0).random_sample(20)
    asked: Any = {"asked": ask(20, ["x"])}
    same = "No difference on any question by rouge_l (on the 15 questions that both scored"
    failed = fail(run([*first[:15], *[None] * 5], **asked))
    told = words(run(first, **asked), failed)[0]
    assert told.startswith(f"{same}; 5 failed in B). But corrected, the other profile, counts what failed as wrong: -")
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
        (6, 4, 0, ["Not decided on accuracy: +66.7 points, which may be chance (95% 1.0 to 99.0; p 0.062)."]),
        (46, 12, 4, ["B is better on accuracy: +17.4 points (95% 0.0 to 33.3; p 0.049)."]),
    ],
)  # fmt: skip
def test_where_interval_and_test_disagree_the_test_decides(n: int, gained: int, lost: int, said: list[str]) -> None:
    first = [0.0] * gained + [1.0] * lost + [0.0] * (n - gained - lost)
    second = [1.0] * gained + [0.0] * lost + [0.0] * (n - gained - lost)
    accuracy = {"metric": "rgb_accuracy", "key": "accuracy"}
    told = words(run(first, **accuracy), run(second, **accuracy))
    assert {*said, "The interval alone would say otherwise; p decides on accuracy."} <= {*told}


@pytest.mark.parametrize("changed, needed", [(2, ["about 25 more questions (accuracy, truthfulness)"]), (1, [])])
def test_what_more_questions_would_show_is_told_once_and_not_of_a_single_one(changed: int, needed: list[str]) -> None:
    def both(value: float) -> Result:
        values = [0.0] * 8 + [value] * changed
        one = run(values, metric="rgb_accuracy", key="accuracy")
        other = run([2 * each - 1 for each in values], metric="truthfulness", key="truthfulness")
        one.items = [row | more for row, more in zip(one.items, other.items, strict=True)]
        one.scores += other.scores
        return one

    told = words(both(0.0), both(1.0))
    start = "To show differences of this size would probably take: "
    assert told[0].startswith("Not decided on accuracy") and "not decided on truthfulness" in told[0]
    assert [note for note in told if note.startswith(start)] == [f"{start}{one}." for one in needed]


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


def test_lengths_have_a_difference_and_no_verdict_and_cost_no_other_metric_power() -> None:
    low = np.linspace(0.1, 0.6, 40)

    def both(gain: float) -> Result:
        return together(run(low + gain), run(gain * (100 + np.arange(40)), key="length"))

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


@pytest.mark.parametrize(
    ("lengths", "values", "key", "told"),
    [
        (
            (5, 24),
            (0.0, 1.0),
            "accuracy",
            "accuracy can only rise with length; the better answers are 4.8 times as long.",
        ),
        (
            (24, 5),
            (1.0, 0.0),
            "accuracy",
            "accuracy can only rise with length; the better answers are 4.8 times as long.",
        ),
        ((24, 5), (0.0, 1.0), "accuracy", None),  # the shorter ones are better
        ((10, 15), (0.0, 1.0), "accuracy", None),
        ((0, 20), (0.0, 1.0), "accuracy", None),  # empty answers are told of by themselves
        ((5, 24), (0.0, 1.0), "rouge_l", None),
    ],
)
def test_much_longer_answers_are_told_of_where_a_metric_rises_with_them(lengths, values, key, told):
    metric = "rgb_accuracy" if key == "accuracy" else "crud_overlap"
    runs = [run([value] * 20, metric=metric, key=key) for value in values]
    for one, length in zip(runs, lengths, strict=True):
        one.texts = {(("qa_1doc", "test", str(n)), 0): "x" * length for n in range(20)}
    runs[1].texts |= dict.fromkeys([*runs[1].texts][:12])  # what failed has no length
    found = [note for note in compare_runs([*zip("AB", runs, strict=True)]).notes if "times as long" in note]
    assert found == ([told] if told else [])
    assert all(
        speak(note, "zh").endswith("回答越长，accuracy 只增不减；更好一方的回答有另一方的 4.8 倍长。") for note in found
    )
