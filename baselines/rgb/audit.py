"""What may be wrong with RGB's data: documents that are not what their list says, answers found by chance."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quadrag import catalogue
from quadrag.audit import Audited, Fault, Golds, count_off, match_golds, shorten

SHORT = 2  # characters, of which substring matching finds some anywhere


def audit(audited: Audited) -> Iterator[Fault]:
    for place in audited.questions:
        language = catalogue.config(audited.benchmark, place[0]).language
        rows = list(audited.rows(*place))
        for row in rows:
            for check, evidence in _check_documents(row, language):
                yield Fault(*place, str(row["id"]), check, evidence)
        for name, evidence in _find_short_answers(rows):
            yield Fault(*place, name, "short_answer", evidence)


def _check_documents(row: Mapping[str, Any], language: str) -> Iterator[tuple[str, str]]:
    golds: Golds = row["answer"]
    # What holds the whole answer is no negative, what holds no part of it no positive.
    for name in ("negative", "positive_wrong"):
        matched = {f"{name}[{at}]": match_golds(text, golds, language) for at, text in enumerate(row[name])}
        full = [place for place, parts in matched.items() if all(parts)]
        if full:
            answer = " and ".join(map(str, matched[full[0]]))
            text = row[name][[*matched].index(full[0])]
            places = count_off(full, len(matched))
            yield "negative_with_answer", f"{places} holds {shorten(answer)}: {shorten(text, answer)}"
    positives = dict(_list_positives(row["positive"]))
    empty = [place for place, text in positives.items() if not any(match_golds(text, golds, language))]
    if empty:
        wanted = " and ".join("|".join(dict.fromkeys(part)) for part in golds)
        yield "positive_without_answer", f"{count_off(empty, len(positives))} holds no part of {shorten(wanted)}"


def _find_short_answers(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    noise = ["\n".join(row["negative"]).lower() for row in rows]
    for at, row in enumerate(rows):
        short = []
        for gold in dict.fromkeys(gold for part in row["answer"] for gold in part if len(gold) <= SHORT):
            chance = sum(gold.lower() in text for other, text in enumerate(noise) if other != at)
            short.append(f"{gold} in those of {chance}")
        if short:
            evidence = f"by chance in the negatives of {len(rows) - 1} other questions: {', '.join(short)}"
            yield str(row["id"]), evidence


def _list_positives(positive: Sequence[Any]) -> Iterator[tuple[str, str]]:
    for at, texts in enumerate(positive):
        if isinstance(texts, str):
            yield f"positive[{at}]", texts
        else:
            yield from ((f"positive[{at}][{number}]", text) for number, text in enumerate(texts))
