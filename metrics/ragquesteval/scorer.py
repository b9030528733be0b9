# SPDX-License-Identifier: Apache-2.0
"""RAGQuestEval's three rounds with the judge: questions from the reference, its answers, the prediction's.

Of the answers to an item's questions, `official` follows the evaluation code of CRUD-RAG (Lyu et al., ACM TOIS 2025,
arXiv:2401.17043), `corrected` the paper's formulas (1) and (2); where they are silent it is ours.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import jieba

from .prompts import PROMPTS, READERS, SLOTS, to_answer
from .scoring import NOT_APPLICABLE, Column, Item, Rounds, Scorer, fold, row, string, strings
from .slots import ask_user, fill, instructions
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


def says_nothing(answer: str, profile: str) -> bool:
    return answer == UNANSWERABLE if profile == "official" else declines(answer)


def compose(expected: Sequence[str], answers: Mapping[int, str], profile: str) -> Values:
    """Return precision and recall: the mean F1 of what is answered, and the share of it.

    Both are over the questions that the reference answers; `answers` are by the index of their question. "misaligned"
    twice where one of these has no reply. Where the reference answers nothing "official" has 0 twice, "corrected"
    "not_applicable"; where the generated text answers nothing the first is so, and recall 0.
    """
    official = profile == "official"
    nothing: float | str = 0.0 if official else NOT_APPLICABLE
    kept = [i for i, text in enumerate(expected) if not says_nothing(text, profile)]
    if not kept:
        return nothing, nothing
    if any(i not in answers for i in kept):
        return MISALIGNED, MISALIGNED
    answered = [i for i in kept if not says_nothing(answers[i], profile)]
    if not answered:
        return nothing, 0.0
    plain = str if official else fold
    precision = sum(token_f1(plain(expected[i]), plain(answers[i])) for i in answered) / len(answered)
    # As the authors' code computes it, which may differ in the last digit.
    recall = 1 - (len(kept) - len(answered)) / len(kept) if official else len(answered) / len(kept)
    return precision, recall


_UNPARSABLE = "unparsable"
Entry = tuple[list[str], list[str] | None]  # questions, and answers or None where a file does not speak of them
Asking = Generator[list[Any], list[Any], str]


def read_cache(source: Any) -> tuple[dict[str, Entry], str]:
    """Read a question file, or its mapping: entries by id, and 8 hex digits of the sha256 of what was used of them.

    It maps ids to `question` (or `questions`), `answers` and `key_info`, which is not used, and is never written. In
    upstream's, lists of questions are empty (730 of 2,000 for hallucination modification) and lists of answers too
    short.
    """
    name = "question_cache"
    if isinstance(source, str | Path):
        name = str(source)
        try:
            source = json.loads(Path(source).read_text(encoding="utf-8-sig"))
        except (OSError, ValueError, RecursionError) as error:
            what = getattr(error, "strerror", None) or "no JSON in UTF-8"
            raise ValueError(f"{name}: {what}; expected a file like upstream's *_quest_gt_save.json") from None
    entries: dict[str, Entry] = {}
    for key, value in source.items() if isinstance(source, Mapping) else [("", source)]:
        if not isinstance(key, str) or not isinstance(value, Mapping):
            raise ValueError(f"{name} holds {type(value).__name__}; expected a mapping from ids to mappings")
        listed, answered = value.get("question", value.get("questions")), value.get("answers")
        questions = strings([] if listed is None else listed, f"{name}[{key!r}]['question']")
        answers = strings([] if answered is None else answered, f"{name}[{key!r}]['answers']")
        entries[key] = questions, None if questions and answered is None else answers
    text = json.dumps(entries, ensure_ascii=True, sort_keys=True)
    return entries, hashlib.sha256(text.encode()).hexdigest()[:8]


def _lacks(item: Item, profile: str) -> str | None:
    if not (item["reference"] or "").strip():
        return NOT_APPLICABLE
    empty = profile == "official" and not item["prediction"]
    return item["state"] or ("empty" if empty else None)


class _Unscored(Exception):
    """An item has no value; the exception's text is the reason."""


class Ragquesteval(Scorer):
    NAME, VERSION = "ragquesteval", "1.2.0"
    KEYS = ("precision", "recall")
    JUDGES = (1, 1)
    COLUMNS: ClassVar[Mapping[str, Column]] = {"ids": ("id", strings)}

    def __init__(self, *, question_cache: Any = None, prompts: Any = None, **common: Any) -> None:
        super().__init__(**common)
        self.words = instructions(prompts, PROMPTS, SLOTS)
        self.prompt = "\0".join(self.words[name] for name in sorted(self.words))
        self.cached = question_cache is not None
        self.entries, self.digest = read_cache(question_cache) if self.cached else ({}, "")

    @staticmethod
    def reference(value: Any, name: str) -> Any:
        return string(value, name, null=True)

    def items(self, predictions: Sequence[Any], references: Sequence[Any], **columns: Any) -> list[Item]:
        if self.cached and columns.get("ids") is None:
            raise ValueError("question_cache was given without ids; pass ids=[...], one per prediction")
        return super().items(predictions, references, **columns)

    def mark(self, item: Item, profile: str) -> Rounds:
        asked: list[Any] = []
        try:
            values: Values = yield from self._value(item, profile, asked)
        except _Unscored as lacking:
            values = str(lacking), str(lacking)
        return row(dict(zip(self.KEYS, values, strict=True)), ruled=not asked)

    def _value(self, item: Item, profile: str, asked: list[Any]) -> Generator[list[Any], list[Any], Values]:
        """Ask for what is not known, and note it in `asked`; each round is one of the judge's calls."""
        read_questions, read_answers = READERS[profile]
        prediction, reference = item["prediction"], item["reference"] or ""
        if why := _lacks(item, profile):
            raise _Unscored(why)
        questions, expected = self._known(item, profile)
        if questions is None:
            messages = ask_user(fill(self.words["questions"], {"text": reference}))
            questions = read_questions((yield from self._ask(messages, profile, asked)))
        elif questions:
            yield []
        if not questions:
            raise _Unscored(_UNPARSABLE if questions is None else "no_questions")
        if expected is None:
            reply = yield from self._ask(to_answer(self.words, reference, questions), profile, asked)
            found = read_answers(reply, len(questions))
            if profile == "corrected" and len(found or ()) < len(questions):
                raise _Unscored(_UNPARSABLE if found is None else MISALIGNED)
            expected = list((found or {}).values())  # "official" takes those that it can read for all there are
        else:
            yield []
        answers: dict[int, str] | None = {}
        is_blank = profile == "corrected" and not prediction.strip()
        if not is_blank and not all(says_nothing(text, profile) for text in expected):
            reply = yield from self._ask(to_answer(self.words, prediction, questions), profile, asked)
            answers = read_answers(reply, len(questions))
        if answers is None:
            raise _Unscored(_UNPARSABLE)
        if is_blank:
            answers = dict.fromkeys(range(len(expected)), UNANSWERABLE)  # an empty text answers nothing
        return compose(expected, answers, profile)

    def _ask(self, messages: list[dict[str, str]], profile: str, asked: list[Any]) -> Asking:
        asked.append(messages)
        (reply,) = yield [{"messages": messages}]
        text, why = self.hear(reply, profile)
        if text is None:
            raise _Unscored(why)
        return text

    def _known(self, item: Item, profile: str) -> tuple[list[str] | None, list[str] | None]:
        """Return what a question file has; `corrected` has empty and ill-fitting entries made anew."""
        questions, answers = self.entries.get(item.get("id", ""), (None, None))
        if profile == "official" or questions is None:
            return questions, answers
        if answers is None or len(answers) != len(questions):
            return questions or None, None
        return (questions, [re.sub("</?response>", "", text) for text in answers]) if questions else (None, None)

    def conditions(self, profile: str) -> dict[str, str]:
        questions = f"cache-{self.digest}" if self.cached else "judge"
        return {"questions": questions, "tokenizer": f"jieba-{jieba.__version__}"}


SCORER = Ragquesteval
