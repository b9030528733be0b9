"""The answers of one run, or of two beside each other, as the page's viewer takes them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quadrag.metric_record import metric_record, show_key
from quadrag.records import Passage

from ..core.result import PROFILES
from ..report.items import RunReader, ShownItem

MOST = 10_000  # items of a page
_BEGINNING = 160  # characters of a text in the list

Place = tuple[str, str, str, int]  # config, split, id, sample


class _Passages:
    """The distinct passages of a page, numbered as they come."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[str, str, str], int] = {}

    def number(self, passage: Passage) -> int:
        return self.numbers.setdefault((passage.id, passage.title, passage.text), len(self.numbers))


def collect_answers(
    runs: Sequence[tuple[str, Sequence[RunReader]]], most: int = MOST
) -> tuple[dict[str, Any], list[dict[str, Any]], list[tuple[str, str, str]]]:
    """Collect what the viewer shows: an index, the details of every item, the distinct passages.

    Args:
        runs: name and readers (one a config) of each; items of the same config, split, id and sample stand together.
        most: the items that a page holds; how many are left out stands in the index.
    """
    shown: dict[Place, list[ShownItem | None]] = {}
    metrics: dict[str, None] = {}
    for at, (_, readers) in enumerate(runs):
        for reader in readers:
            for item in reader.select():
                shown.setdefault(item.place, [None] * len(runs))[at] = item
            metrics |= dict.fromkeys(reader.headlines)
    for items in shown.values():
        metrics |= dict.fromkeys(name for item in items if item for name in item.values)
    kept = list(shown.items())[:most]
    passages = _Passages()
    index = {
        "runs": [name for name, _ in runs],
        "metrics": [_metric(name) for name in metrics],
        "items": [_entry(place, items, list(metrics)) for place, items in kept],
        "left_out": len(shown) - len(kept),
    }
    return index, [_detail(items, passages) for _, items in kept], list(passages.numbers)


def _metric(name: str) -> dict[str, Any]:
    """Name a metric, say which end is better (0: neither) and what the best value is."""
    module, _, key = name.partition(".")
    record = metric_record(module).key(key)
    sign = {"higher": 1, "lower": -1}.get(record.direction, 0)
    best = record.range[1 if sign > 0 else 0] if sign else None
    return {"label": show_key(module, key), "sign": sign, "best": best}


def _entry(place: Place, items: Sequence[ShownItem | None], metrics: Sequence[str]) -> dict[str, Any]:
    """Return an item as the list shows it: the beginnings of its texts, its values by run and metric."""
    config, split, ident, sample = place
    question = next(item for item in items if item).question
    groups = {"config": config, "split": split, **question.slices}
    return {
        "id": ident,
        "sample": sample,
        "question": _begin(question.query),
        "answers": [_begin(_answer(item)) if item else None for item in items],
        "values": [[_value(item, name) for name in metrics] for item in items],
        "groups": groups,
    }


def _detail(items: Sequence[ShownItem | None], passages: _Passages) -> dict[str, Any]:
    """Return all that belongs to an item."""
    question = next(item for item in items if item).question
    relevant = set(question.relevant)

    def passages_of(item: ShownItem) -> list[list[Any]]:
        return [[passages.number(one), one.score, one.id.partition("#")[0] in relevant] for one in item.passages]

    return {
        "question": question.query,
        "history": [list(turn) for turn in question.history],
        "gold": list(flatten(question.references)),
        "runs": [
            item
            and {
                "answer": _answer(item),
                "failure": "" if item.answer and item.answer.answer is not None else _failure(item),
                "passages": passages_of(item),
                "reasons": {show_key(*name.split(".", 1)): entry["reason"] for name, entry in item.values.items() if entry.get("reason")},
                "verdicts": item.verdicts,
            }
            for item in items
        ],
    }


def _answer(item: ShownItem) -> str:
    return (item.answer and item.answer.answer) or ""


def _failure(item: ShownItem) -> str:
    return ": ".join(filter(None, (item.answer.state if item.answer else "", item.failure)))


def _value(item: ShownItem | None, name: str) -> float | None:
    """Return the value that the first profile which has one gives."""
    entry = (item.values.get(name) if item else None) or {}
    return next((entry[profile] for profile in PROFILES if entry.get(profile) is not None), None)


def _begin(text: str) -> str:
    line = " ".join(text[: 2 * _BEGINNING].split())
    return line if len(line) <= _BEGINNING else line[: _BEGINNING - 1] + "…"


def flatten(references: Any) -> Iterator[str]:
    """Yield the texts of a question's references, whatever their shape is."""
    if isinstance(references, str):
        yield references
    elif isinstance(references, Mapping):
        for name, value in references.items():
            yield f"{name}: {'; '.join(flatten(value))}"
    elif isinstance(references, Sequence):
        for one in references:
            yield from flatten(one)
    elif references is not None:
        yield str(references)
