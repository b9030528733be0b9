"""Checks that several benchmarks share, and how a text is looked for in another."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from quadrag.metrics._shared.rgb import stands_whole
from quadrag.records import Question

from .audited import Part
from .finding import Fault, clean, shorten

Golds = Sequence[Sequence[str]]  # outer all needed, inner any one


def duplicate_questions(part: Part) -> Iterator[Fault]:
    """Yield the questions that an earlier one of the split asks too; case, width and white space are no difference."""
    first: dict[str, Question] = {}
    for question in part.questions:
        other = first.setdefault("".join(clean(question.query).casefold().split()), question)
        if other is not question:
            gold = "same" if question.references == other.references else "other"
            yield Fault(*question.key, "duplicate_question", f"{other.id} asks the same, with {gold} gold")


def answers_in_questions(part: Part, golds: Callable[[Question], Golds]) -> Iterator[Fault]:
    """Yield the questions that hold their own answer, every needed part of it as whole numbers or words."""
    for question in part.questions:
        found = held(question.query, golds(question), question.language)
        if found and all(found):
            answer = " and ".join(filter(None, found))
            yield Fault(*question.key, "answer_in_question", f"in the question: {shorten(question.query, answer)}")


def held(text: str, golds: Golds, language: str) -> list[str | None]:
    """Return of each needed part the accepted text that stands in a text, as ``accuracy_bounded`` finds it; else None.

    Case, width and white space are no difference; in Chinese spaces are none at all.
    """
    return [next((gold for gold in part if _stands(clean(text), clean(gold), language)), None) for part in golds]


def find_held(text: str, golds: Golds, language: str) -> list[tuple[int, int]]:
    """Return where in a text, as it is written, the accepted texts that `held` finds stand: begins and ends, apart."""
    found = {gold for gold in held(text, golds, language) if gold}
    wide = [(one, at) for at, char in enumerate(text) for one in unicodedata.normalize("NFKC", char)] if found else []
    plain = "".join(one for one, _ in wide)
    blank = r"\s*" if language == "zh" else r"\s+"
    ends: list[tuple[int, int]] = []
    for gold in found:
        words = clean(gold).replace(" ", "") if language == "zh" else clean(gold).split()
        for match in re.finditer(blank.join(map(re.escape, words)), plain, re.IGNORECASE):
            begin, end = match.span()
            if _stands(clean(plain[max(begin - 2, 0) : end + 2]), clean(gold), language):  # by two neighbours a side
                ends.append((wide[begin][1], wide[end - 1][1] + 1))
    apart: list[tuple[int, int]] = []
    for begin, end in sorted(ends):
        if apart and begin <= apart[-1][1]:
            begin, last = apart.pop()
            end = max(last, end)
        apart.append((begin, end))
    return apart


def _stands(text: str, gold: str, language: str) -> bool:
    found: bool = stands_whole(text, gold.replace(" ", "") if language == "zh" else gold, language)
    return found
