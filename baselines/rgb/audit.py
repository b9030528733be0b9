"""What may be wrong with RGB's data: documents that are not what their list says, answers found by chance."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quadrag import catalogue
from quadrag.records import Question

from ..audit.audited import Audited
from ..audit.checks import Golds, answers_in_questions, duplicate_questions, held
from ..audit.finding import Fault
from ..audit.text import count_off, shorten

SHORT = 2  # characters, of which substring matching finds some anywhere
NAME = "rgb"


def audit(audited: Audited) -> Iterator[Fault]:
    """Yield the faults of all splits."""
    for part in audited.parts:
        yield from duplicate_questions(part)
        yield from answers_in_questions(part, _golds)
        language = catalogue.config(NAME, part.config).language
        for row in audited.rows(part.config, part.split):
            for check, evidence in _faults(row, language):
                yield Fault(part.config, part.split, str(row["id"]), check, evidence)


def _golds(question: Question) -> Golds:
    golds: Golds = question.references
    return golds


def _faults(row: Mapping[str, Any], language: str) -> Iterator[tuple[str, str]]:
    golds: Golds = row["answer"]
    negatives = [(f"negative[{at}]", text) for at, text in enumerate(row["negative"])]
    # What holds the whole answer is no negative, what holds no part of it no positive.
    for documents in (negatives, [(f"positive_wrong[{at}]", text) for at, text in enumerate(row["positive_wrong"])]):
        full = [(place, text) for place, text in documents if all(held(text, golds, language))]
        if full:
            answer = " and ".join(map(str, held(full[0][1], golds, language)))
            places = count_off([place for place, _ in full], len(documents))
            yield "negative_with_answer", f"{places} holds {shorten(answer)}: {shorten(full[0][1], answer)}"
    documents = list(_positives(row["positive"]))
    empty = [place for place, text in documents if not any(held(text, golds, language))]
    if empty:
        wanted = " and ".join("|".join(dict.fromkeys(part)) for part in golds)
        yield "positive_without_answer", f"{count_off(empty, len(documents))} holds no part of {shorten(wanted)}"
    short = dict.fromkeys(gold for part in golds for gold in part if len(gold) <= SHORT)
    if short:
        chance = [sum(gold.lower() in text.lower() for _, text in negatives) for gold in short]
        found = ", ".join(f"{gold} in {count}" for gold, count in zip(short, chance, strict=True))
        yield "short_answer", f"as substrings: {found} of {len(negatives)} negatives"


def _positives(positive: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Yield place and text of the positives; of information integration they stand in a list for each aspect."""
    for at, texts in enumerate(positive):
        if isinstance(texts, str):
            yield f"positive[{at}]", texts
        else:
            yield from ((f"positive[{at}][{number}]", text) for number, text in enumerate(texts))
