# SPDX-License-Identifier: Apache-2.0
"""The three rounds with the judge: questions from the references, their answers there and in the predictions."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from .compose import MISALIGNED, UNANSWERABLE, Values, corrected, declines, official
from .prompts import Reader, to_answer, to_ask
from .tally import NOT_APPLICABLE, ask, strings

NO_QUESTIONS = "no_questions"
EMPTY = "empty"
UNPARSABLE = "unparsable"


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


@dataclass
class Item:
    """One item on its way; what is None is still to be had."""

    prediction: str | None
    reference: str | None
    why: str = ""  # it has no value, and this is the reason
    asked: bool = False  # the judge was, about it
    questions: list[str] | None = None
    expected: list[str] | None = None
    answers: dict[int, str] = field(default_factory=dict)

    def take(self, entry: Entry, profile: str) -> None:
        """Take over what a question file has; `corrected` has empty and ill-fitting entries made anew."""
        if profile == "official":
            self.questions, self.expected = entry
        elif entry.questions:
            self.questions = entry.questions
            if entry.answers is not None and len(entry.answers) == len(entry.questions):
                self.expected = [re.sub("</?response>", "", text) for text in entry.answers]


Asked = Callable[[list[Any]], tuple[list[str | None], list[str]]]
Read = Callable[[Item, str], str]


def _round(items: Sequence[Item], asked: Asked, build: Callable[[Item], Any], read: Read) -> None:
    """Ask about all items in one batch; `read` enters a reply into its item and returns "" or why it cannot."""
    texts, failed = asked([build(item) for item in items])
    for item, text, why in zip(items, texts, failed, strict=True):
        item.asked, item.why = True, read(item, text) if text is not None else why


def _needs_answers(item: Item, profile: str) -> bool:
    expected = item.expected or []
    if profile == "official":
        return any(text != UNANSWERABLE for text in expected)
    return bool(str(item.prediction).strip()) and not all(declines(text) for text in expected)


def interview(items: Sequence[Item], judge: Any, words: Mapping[str, str], reader: Reader, profile: str) -> None:
    """Have the questions, reference answers and answers of every item without a reason filled in, or its reason.

    Of the reference answers "official" takes those that it can read for all there are; "corrected" needs each.
    """

    def read_questions(item: Item, reply: str) -> str:
        item.questions = reader.questions(reply)
        return UNPARSABLE if item.questions is None else ""

    def read_expected(item: Item, reply: str) -> str:
        n = len(item.questions or [])
        found = reader.answers(reply, n)
        if profile == "corrected" and len(found or ()) < n:
            return UNPARSABLE if found is None else MISALIGNED
        item.expected = list((found or {}).values())
        return ""

    def read_given(item: Item, reply: str) -> str:
        found = reader.answers(reply, len(item.questions or []))
        item.answers = found or {}
        return UNPARSABLE if found is None else ""

    def open_items() -> list[Item]:
        for item in items:
            if not item.why and item.questions == []:
                item.why = NO_QUESTIONS
        return [item for item in items if not item.why]

    asked = partial(ask, judge, profile=profile, instructions="\0".join(words.values()))
    todo = [item for item in open_items() if item.questions is None]
    _round(todo, asked, lambda item: to_ask(words, item.reference or ""), read_questions)
    todo = [item for item in open_items() if item.expected is None]
    _round(todo, asked, lambda item: to_answer(words, item.reference or "", item.questions or []), read_expected)
    todo = [item for item in open_items() if _needs_answers(item, profile)]
    _round(todo, asked, lambda item: to_answer(words, item.prediction or "", item.questions or []), read_given)


def values(item: Item, profile: str) -> Values:
    """Precision and recall of an item that has been through the interview, or its reason twice."""
    if item.why:
        return item.why, item.why
    expected, answers = item.expected or [], item.answers
    if profile == "official":
        return official(expected, list(answers.values()))
    if not str(item.prediction).strip():
        answers = dict.fromkeys(range(len(expected)), UNANSWERABLE)  # an empty text answers nothing
    return corrected(expected, answers)


def open_case(prediction: str | None, reference: str | None, why: str, profile: str) -> Item:
    """Start an item: without a reference there is nothing to score, without a prediction `why` says why."""
    if not (reference or "").strip():
        why = NOT_APPLICABLE
    elif profile == "official" and prediction == "":
        why = EMPTY
    return Item(prediction, reference, why)
