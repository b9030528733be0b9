"""What a comparison of two runs says, in Chinese: every branch of its words has its own."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

from quadrag.baselines.report.compared.names import name_places
from quadrag.baselines.report.compared.paired.pairs import Compared
from quadrag.baselines.report.compared.said.verdict import tell_headline
from quadrag.baselines.report.compared.said.words import tell_beside, tell_rule
from quadrag.baselines.tables.language import speak
from quadrag.stats import Pair

ACCURACY, WRONG = ("a", "b", "rgb_accuracy", "accuracy"), ("a", "b", "truthfulness", "hallucination")
OVERALL = (ACCURACY[0], "all 5 splits", *ACCURACY[2:])
NAMES = ["every", "my_rag v2"]
LABELS = name_places([ACCURACY, WRONG, OVERALL])


def pair(difference, p, low, high, n=40, spread=0.5):
    return Pair(difference, (low, high), n, p, "mcnemar", spread, n)


# Better, worse, undecided, the same, p and interval at odds in both ways, too small to be shown, too few questions.
PAIRS = [pair(0.1, 0.01, 0.02, 0.2), pair(-0.1, 0.01, -0.2, -0.02), pair(0.1, 0.5, -0.1, 0.3), pair(0, 1, -0.1, 0.1)]
PAIRS += [pair(0, 1, 0, 0, spread=0), pair(0.1, 0.2, 0.01, 0.3), pair(0.1, 0.01, -0.01, 0.3)]
PAIRS += [pair(0.001, 0.9, -0.1, 0.1), pair(0.1, 0.01, 0.02, 0.2, n=3)]
PAIRS += [replace(one, p_holm=min(1.0, 3 * one.p)) for one in PAIRS]


def tell_all():
    """Every sentence that pairs make: what is seen, what the other profile sees, what failed, how many are left."""
    seen = [(mine, None, (0, 0), None, 0) for mine in PAIRS]
    seen += [(mine, other, (0, 0), None, 0) for mine in PAIRS[:9:2] for other in PAIRS[:5]]
    seen += [(mine, PAIRS[0], (2, 3), None, 50) for mine in PAIRS[:9]]
    seen += [(PAIRS[2], None, (0, 0), left, 0) for left in (0, 900)]
    plain = Compared(PAIRS[0], None, 40, (0, 0), 3)
    for (mine, other, failed, left, asked), profile in product(seen, ("official", "corrected")):
        one = Compared(mine, other, asked, failed, 3 if mine.p_holm is not None else 1, left)
        for pairs in ({ACCURACY: one}, {WRONG: plain, ACCURACY: one}, {OVERALL: one._replace(splits=5), ACCURACY: one}):
            yield from [*tell_headline(pairs, profile, NAMES, LABELS), *tell_beside(pairs, profile, NAMES, LABELS)]
            yield from [*tell_rule(pairs.values()), *tell_rule(pairs.values(), True)]


def test_every_sentence_of_a_comparison_is_in_chinese():
    told = sorted(set(tell_all()))
    assert len(told) > 80
    english = re.compile(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}")
    assert [line for line in told if english.search(speak(line, "zh"))] == []


def test_what_another_profile_says_follows_what_the_shown_one_says():
    mine, other = replace(PAIRS[3], n=34), pair(-0.15, 0.01, -0.268, -0.018)
    [line] = tell_headline({ACCURACY: Compared(mine, other, 40, (0, 6))}, "official", NAMES, name_places([ACCURACY]))
    assert speak(line, "zh") == (
        "accuracy 上未分高下：0.0 个百分点，可能出于偶然（95% 区间 -10.0 至 10.0；p 1.000；在两次都有分的 34 题上；"
        "my_rag v2 有 6 题失败）。但另一口径（修正）分出高下：my_rag v2 更差，-15.0 个百分点"
        "（95% 区间 -26.8 至 -1.8；p 0.010）。"
    )
