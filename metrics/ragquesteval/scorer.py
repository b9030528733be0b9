# SPDX-License-Identifier: Apache-2.0
"""RAGQuestEval's three rounds with the judge: questions from the reference, its answers, the prediction's."""

import hashlib
import json
import re
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import jieba

from .compose import MISALIGNED, UNANSWERABLE, Values, corrected, declines, official
from .prompts import PROMPTS, READERS, SLOTS, to_answer, to_ask
from .scoring import Column, Item, Rounds, Scorer, row
from .slots import instructions
from .tally import NOT_APPLICABLE, strings

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
        asked, said = value.get("question", value.get("questions")), value.get("answers")
        questions = strings([] if asked is None else asked, f"{name}[{key!r}]['question']")
        answers = strings([] if said is None else said, f"{name}[{key!r}]['answers']")
        entries[key] = questions, None if questions and said is None else answers
    text = json.dumps(entries, ensure_ascii=True, sort_keys=True)
    return entries, hashlib.sha256(text.encode()).hexdigest()[:8]


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

    @classmethod
    def columns(cls, predictions: Any, references: Any) -> dict[str, list[Any]]:
        answers = strings(predictions, "predictions", null=True)
        return {"predictions": answers, "references": strings(references, "references", len(answers), null=True)}

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
        if not reference.strip():
            raise _Unscored(NOT_APPLICABLE)
        if item["state"] or (profile == "official" and not prediction):
            raise _Unscored(item["state"] or "empty")
        questions, expected = self._known(item, profile)
        if questions is None:
            questions = read_questions((yield from self._ask(to_ask(self.words, reference), profile, asked)))
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
        if profile == "official":
            needed = any(text != UNANSWERABLE for text in expected)
        else:
            needed = bool(prediction.strip()) and not all(map(declines, expected))
        if needed:
            reply = yield from self._ask(to_answer(self.words, prediction, questions), profile, asked)
            answers = read_answers(reply, len(questions))
        if answers is None:
            raise _Unscored(_UNPARSABLE)
        if profile == "official":
            return official(expected, list(answers.values()))
        if not prediction.strip():
            answers = dict.fromkeys(range(len(expected)), UNANSWERABLE)  # an empty text answers nothing
        return corrected(expected, answers)

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
