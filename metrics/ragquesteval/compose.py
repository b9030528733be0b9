# SPDX-License-Identifier: Apache-2.0
"""From the answers to one item's questions to its precision and recall.

`official` follows the evaluation code of CRUD-RAG (RAGQuestEval; Lyu et al., ACM
TOIS 2025, arXiv:2401.17043), `corrected` the paper's formulas (1) and (2); where they are silent it is ours.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from .fold import fold
from .tally import NOT_APPLICABLE
from .words import cut

UNANSWERABLE = "无法推断"  # the protocol's
MISALIGNED = "misaligned"
Values = tuple[float | str, float | str]  # precision and recall, or the reason why there is none

_STOPS = re.compile(r"[\W_]+")
_DECLINES = re.compile("无法.{0,10}?推断")
_NOT_STATED = re.compile("(?:没有?|并?未)(?:明确|具体|直接)?(?:提[到及供]|说明|给出|指出|涉及|介绍|交代|写明)")
_LEADS_IN = re.compile(
    "(?:答案?|回答|结论|因此|所以|很?抱歉|对不起|"
    "(?:根据|依据|从).{0,8}(?:文[本章字]?|信息|内容|材料|报道|资料)[中里内]?(?:来?看)?)$"
)
_LONGEST = 30  # characters of a clause that says no more than that there is no answer


def token_f1(expected: str, answer: str) -> float:
    """Return the F1 (harmonic mean) over jieba tokens as multisets, in [0, 1]; 1 of two empty texts."""
    golds, given = (Counter(cut(text)) for text in (expected, answer))
    if not golds or not given:
        return float(golds == given)
    return 2 * (golds & given).total() / (golds.total() + given.total())


def declines(answer: str) -> bool:
    """Whether an answer, as `corrected` reads it, gives none: `无法推断`, loosely written, or nothing at all.

    Every clause has to be one that says `无法推断` ("根据文本无法推断。"), or that something is not stated
    ("文中没有提到"), or no more than "答案" or "根据原文"; and one at least is of the first kind. What says more
    ("一季度3亿元，二季度无法推断") is an answer.
    """
    clauses = [clause for clause in _STOPS.split(fold(answer).replace(" ", "")) if clause]
    if not clauses:
        return True
    saying = [bool(_DECLINES.search(clause)) for clause in clauses]
    return any(saying) and all(
        len(clause) <= _LONGEST and (said or _NOT_STATED.search(clause) or _LEADS_IN.match(clause))
        for clause, said in zip(clauses, saying, strict=True)
    )


def official(expected: Sequence[str], answers: Sequence[str]) -> Values:
    """Precision and recall as the authors' code has them: the mean F1 of what is answered, and the share of it.

    Answers are matched by position, surplus ones ignored; the reference's that are exactly `无法推断` are left out.
    Both values are 0 where nothing is left or answered, "misaligned" where a position needed is not there.
    """
    kept = [i for i, text in enumerate(expected) if text != UNANSWERABLE]
    if not kept:
        return 0.0, 0.0
    if kept[-1] >= len(answers):
        return MISALIGNED, MISALIGNED
    answered = [i for i in kept if answers[i] != UNANSWERABLE]
    if not answered:
        return 0.0, 0.0
    precision = sum(token_f1(expected[i], answers[i]) for i in answered) / len(answered)
    return precision, 1 - (len(kept) - len(answered)) / len(kept)


def corrected(expected: Sequence[str], answers: Mapping[int, str]) -> Values:
    """Precision and recall as the paper defines them, over the questions that the reference answers.

    Answers are by the index of their question. "not_applicable" twice where the reference answers nothing, and for
    precision where the generated text answers nothing; "misaligned" twice where a question has no reply.
    """
    kept = [i for i, text in enumerate(expected) if not declines(text)]
    if not kept:
        return NOT_APPLICABLE, NOT_APPLICABLE
    if any(i not in answers for i in kept):
        return MISALIGNED, MISALIGNED
    answered = [i for i in kept if not declines(answers[i])]
    if not answered:
        return NOT_APPLICABLE, 0.0
    precision = sum(token_f1(fold(expected[i]), fold(answers[i])) for i in answered) / len(answered)
    return precision, len(answered) / len(kept)
