# SPDX-License-Identifier: Apache-2.0
"""RAGQuestEval's three rounds with the judge: questions from the reference, its answers, the prediction's."""

import hashlib
import json
import re
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import jieba

from .compose import MISALIGNED, UNANSWERABLE, Values, corrected, declines, official
from .json_reader import objects
from .prompts import (
    Reader,
    answers_corrected,
    answers_official,
    questions_corrected,
    questions_official,
    templates,
    to_answer,
    to_ask,
)
from .scoring import Column, Item, Rounds, Scorer, row, texts
from .tally import NOT_APPLICABLE, strings

KEYS = ("precision", "recall")
READERS = {
    "official": Reader(questions_official, answers_official),
    "corrected": Reader(lambda reply: questions_corrected(objects(reply, mend=False, inner=True)), answers_corrected),
}
NO_QUESTIONS, EMPTY, UNPARSABLE = "no_questions", "empty", "unparsable"


class Entry(NamedTuple):
    """What a question file says of an item; `answers` is None where it does not speak of them."""

    questions: list[str]
    answers: list[str] | None


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
    if not isinstance(source, Mapping):
        raise ValueError(f"{name} is {type(source).__name__}; expected a path, or a mapping from ids to questions")
    entries: dict[str, Entry] = {}
    for key, value in source.items():
        if not isinstance(key, str) or not isinstance(value, Mapping):
            raise ValueError(f"{name} maps {key!r} to {type(value).__name__}; expected strings to mappings")
        asked, told = value.get("question", value.get("questions")), value.get("answers")
        questions = strings([] if asked is None else asked, f"{name}[{key!r}]['question']")
        answers = strings([] if told is None else told, f"{name}[{key!r}]['answers']")
        entries[key] = Entry(questions, None if questions and told is None else answers)
    text = json.dumps(entries, ensure_ascii=True, sort_keys=True)
    return entries, hashlib.sha256(text.encode()).hexdigest()[:8]


class Unscored(Exception):
    """An item has no value; the exception's text is the reason."""


class Interview:
    """One item under one profile."""

    def __init__(self, scorer: "Ragquesteval", item: Item, profile: str) -> None:
        """Begin it."""
        self.scorer, self.profile, self.reader = scorer, profile, READERS[profile]
        self.prediction, self.reference = item["prediction"], item["reference"] or ""
        self.why = item["state"]
        if not self.reference.strip():
            self.why = NOT_APPLICABLE
        elif profile == "official" and self.prediction == "":
            self.why = EMPTY
        self.entry = scorer.entries.get(item.get("id", ""))
        self.asked = False

    def values(self) -> Generator[list[Any], list[Any], Values]:
        """Return precision and recall, asking for what is not known; each round is one of the judge's calls."""
        if self.why:
            raise Unscored(self.why)
        questions, expected = self._known()
        if questions is None:
            reply = yield from self._ask(to_ask(self.scorer.words, self.reference))
            questions = self.reader.questions(reply)
        elif questions:
            yield []
        if not questions:
            raise Unscored(UNPARSABLE if questions is None else NO_QUESTIONS)
        if expected is None:
            reply = yield from self._ask(to_answer(self.scorer.words, self.reference, questions))
            expected = self._expected(reply, len(questions))
        else:
            yield []
        answers: dict[int, str] = {}
        if self._needs_answers(expected):
            reply = yield from self._ask(to_answer(self.scorer.words, self.prediction, questions))
            found = self.reader.answers(reply, len(questions))
            if found is None:
                raise Unscored(UNPARSABLE)
            answers = found
        if self.profile == "official":
            return official(expected, list(answers.values()))
        if not self.prediction.strip():
            answers = dict.fromkeys(range(len(expected)), UNANSWERABLE)  # an empty text answers nothing
        return corrected(expected, answers)

    def _ask(self, messages: list[dict[str, str]]) -> Generator[list[Any], list[Any], str]:
        self.asked = True
        (reply,) = yield [{"messages": messages}]
        text, why = self.scorer.hear(reply, self.profile)
        if text is None:
            raise Unscored(why)
        return text

    def _known(self) -> tuple[list[str] | None, list[str] | None]:
        """Return what a question file has; `corrected` has empty and ill-fitting entries made anew."""
        if self.entry is None:
            return None, None
        questions, answers = self.entry
        if self.profile == "official":
            return questions, answers
        if answers is None or len(answers) != len(questions):
            return questions or None, None
        expected = [re.sub("</?response>", "", text) for text in answers]
        return (questions, expected) if questions else (None, None)

    def _expected(self, reply: str, n: int) -> list[str]:
        """Read the reference's answers: "official" takes those that it can read for all there are."""
        found = self.reader.answers(reply, n)
        if self.profile == "corrected" and len(found or ()) < n:
            raise Unscored(UNPARSABLE if found is None else MISALIGNED)
        return list((found or {}).values())

    def _needs_answers(self, expected: Sequence[str]) -> bool:
        if self.profile == "official":
            return any(text != UNANSWERABLE for text in expected)
        return bool(self.prediction.strip()) and not all(declines(text) for text in expected)


class Ragquesteval(Scorer):
    """Precision and recall of the reference's key facts."""

    NAME, VERSION = "ragquesteval", "1.2.0"
    KEYS = KEYS
    REQUIRED = True
    COLUMNS: ClassVar[Mapping[str, Column]] = {"ids": ("id", texts)}

    def __init__(self, *, question_cache: Any = None, prompts: Any = None, **common: Any) -> None:
        """Take a question file, and instructions in place of our own."""
        super().__init__(**common)
        self.words = templates(prompts)
        self.prompt = "\0".join(self.words[name] for name in sorted(self.words))
        self.cached = question_cache is not None
        self.entries, self.digest = read_cache(question_cache) if self.cached else ({}, "")

    @classmethod
    def columns(cls, predictions: Any, references: Any) -> dict[str, list[Any]]:
        answers = strings(predictions, "predictions", null=True)
        return {"predictions": answers, "references": strings(references, "references", len(answers), null=True)}

    def items(self, predictions: Sequence[Any], references: Sequence[Any], **columns: Any) -> list[Item]:
        if self.cached and columns.get("ids") is None:
            raise ValueError("question_cache was given without ids; pass ids=[...], one per prediction")
        return super().items(predictions, references, **columns)

    @property
    def instructions(self) -> str:
        return "\0".join(self.words.values())

    def mark(self, item: Item, profile: str) -> Rounds:
        interview = Interview(self, item, profile)
        try:
            values: Values = yield from interview.values()
        except Unscored as lacking:
            values = str(lacking), str(lacking)
        return row(dict(zip(KEYS, values, strict=True)), ruled=not interview.asked)

    def conditions(self, items: Sequence[Item], profile: str) -> dict[str, str]:
        questions = f"cache-{self.digest}" if self.cached else "judge"
        return {"questions": questions, "tokenizer": f"jieba-{jieba.__version__}"}


SCORER = Ragquesteval
