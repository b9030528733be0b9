"""What is said of failures and of three runs has its Chinese, whoever it is said of."""

from __future__ import annotations

import pytest

from quadrag.baselines.tables.language import speak_note

LINES = (
    "A: 1 of 60 items failed (1 api_error), official leaves them out, corrected counts them as wrong, "
    "replies that are empty or cut by length are scored as they are (9 more): accuracy, "
    "accuracy_bounded.",
    "A: 1 of 60 items failed (1 api_error), official leaves them out, corrected counts them as wrong: "
    "accuracy, accuracy_bounded.",
    "A, B: 3–4 of 60 replies are empty or cut by length, they are scored as they are: accuracy.",
    "A: 3 of 60 verdicts could not be read, official makes values of them, corrected counts them as wrong: accuracy.",
    "5 of 10 splits of A, B: 1–2 of 12 items failed (1–2 api_error), official leaves them out, corrected "
    "counts them as wrong: accuracy, accuracy_bounded.",
    "5 of 10 splits of A, B: 1–2 of 12 replies are empty, they are scored as they are: accuracy, accuracy_bounded.",
    "C: by corrected not decided against B on all 5 splits/accuracy, +31.7 (95% -6.0 to 60.0; p 0.080).",
    "c: by corrected not decided against a on all 5 splits/accuracy, +31.7 (95% -6.0 to 60.0; p 0.080, by Holm 0.160).",
    "E: by corrected better than A on noise_robustness_en_original: noise_0/accuracy, +58.3 (95% 17.2 to "
    "82.8; p 0.008, by Holm 0.047).",
    "E: by corrected better than A on accuracy, +58.3 (95% 17.2 to 82.8; p 0.008).",
    "A has no value by noise_robustness_zh: all 5 splits/accuracy, the others are compared with B.",
    "A has no value by accuracy, the others are compared with B.",
    "A, C minus B: accuracy can only rise with length; the better answers are 2.5–5.1 times as long.",
    "D: INVALID, noise_robustness_en_original noise_20: 3 of 12 replies are empty, more than "
    "--max-failed 0.2: accuracy, accuracy_bounded.",
    "D: INVALID, 8 of 10 splits: 3–5 of 12 items failed (api_error, empty reply), more than --max-failed "
    "0.2; each: --verbose.",
    "All answers right, or all wrong, in noise_60: RGB gives each kind of passage a fixed place, and a "
    "system that takes one by its place has 0 or 100; --option order=per_item mixes them.",
    "A, B: All answers right, or all wrong, in noise_60: RGB gives each kind of passage a fixed place, "
    "and a system that takes one by its place has 0 or 100; --option order=per_item mixes them.",
    "6 of 6 answers are the same text but for numbers, 'The answer is item …'.",
    "B: All 6 answers are the same text but for numbers, 'The answer is item …'.",
    "B: 6 of 54 answers are empty, official leaves them out of rouge_l, bleu, length; if these are "
    "failures, let the function raise.",
    "No judge was asked: error_correction rests on what a phrase finds.",
    "No published value stands beside what is marked !.",
    "For the run that leads, picked by its value, p is multiplied by 15, the number of pairs of runs: it "
    "is another p than that of a table.",
    "These numbers measure nothing: the questions are made-up samples. The papers' values stand in "
    "tables for orientation, in no chart.",
    "A: bleu: corrected, the other profile, says the opposite: v3 is better, +7.6 points (95% 1.0 to 9.0; p < 0.001).",
    "summary test: 1 of 8 replies are empty, official leaves them out, corrected counts them as wrong: all metrics.",
    "INVALID, negative_rejection_en test: 3 of 12 replies are cut by length, more than --max-failed 0.2: "
    "rejection_rate, unsupported_correct; name a larger --max-tokens and another --out, or take them as "
    "they are with --max-failed 1.",
    "73.3 if the 1 left out count as wrong",
)


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_wholly_in_chinese(line: str) -> None:
    spoken = speak_note(line, "zh", ("A", "B", "C"))
    assert not {"the", "and", "of", "are", "by"} & {*spoken.split()}, spoken
