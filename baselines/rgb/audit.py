"""What may be wrong with RGB's data: documents that are not what their list says, answers found by chance."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quadrag import catalogue
from quadrag.audit.audited import Audited
from quadrag.audit.checks import Golds, answers_in_questions, duplicate_questions, held
from quadrag.audit.finding import Fault, count_off, shorten

SHORT = 2  # characters, of which substring matching finds some anywhere
NAME = "rgb"


def audit(audited: Audited) -> Iterator[Fault]:
    """Yield the faults of all splits."""
    for part in audited.parts:
        yield from duplicate_questions(part)
        yield from answers_in_questions(part, lambda question: question.references)
        language = catalogue.config(NAME, part.config).language
        rows = list(audited.rows(part.config, part.split))
        for row in rows:
            for check, evidence in _faults(row, language):
                yield Fault(part.config, part.split, str(row["id"]), check, evidence)
        for name, evidence in _short_answers(rows):
            yield Fault(part.config, part.split, name, "short_answer", evidence)


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


def _short_answers(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    noise = ["\n".join(row["negative"]).lower() for row in rows]
    for at, row in enumerate(rows):
        found = []
        for gold in dict.fromkeys(gold for part in row["answer"] for gold in part if len(gold) <= SHORT):
            chance = sum(gold.lower() in text for other, text in enumerate(noise) if other != at)
            found.append(f"{gold} in those of {chance}")
        if found:
            evidence = f"by chance in the negatives of {len(rows) - 1} other questions: {', '.join(found)}"
            yield str(row["id"]), evidence


def _positives(positive: Sequence[Any]) -> Iterator[tuple[str, str]]:
    for at, texts in enumerate(positive):
        if isinstance(texts, str):
            yield f"positive[{at}]", texts
        else:
            yield from ((f"positive[{at}][{number}]", text) for number, text in enumerate(texts))
