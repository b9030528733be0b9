# SPDX-License-Identifier: Apache-2.0
"""What a metric's pure core does: items in, requests out, replies in, rows with both profiles out.

`Scorer.score` is a generator. It yields lists of requests, receives a list with the reply to each, and returns a row an
item, so whoever drives it decides who is asked, how often, and what is kept. Nothing here opens a connection.

A request is `{"messages": [{"role": ..., "content": ...}, ...], "item": place}`, with `judge`, the place of one on a
panel, and `about`, the one of several references that it shows. A reply is a text or, for a failed call, an object with
a `reason`. A row is `{"official": {...}, "corrected": {...}}`, each with a value or None by key, `reasons` by key and,
where the judge was not asked, by a rule, `ruled`.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

from .tally import NOT_APPLICABLE, UNSCORED, column, is_list, missing, split_reasoning, string

PROFILES = ("official", "corrected")
_STRETCH, _STEP = 140, 20  # bytes: a stretch is longer than a verdict, and than a rule of them that a judge quotes

Item = Mapping[str, Any]
Request = dict[str, Any]
Row = dict[str, Any]
Cells = Mapping[str, "float | str"]  # a value by key, or the reason why there is none
Rounds = Generator[list[Request], list[Any], Any]
Column = tuple[str, Callable[[Any, str, int], list[Any]]]


class Scorer:
    """A metric: its constructor takes the options, `items` reads columns, `score` marks, `summarise` averages.

    An item has `prediction` (None where there is none), `reference`, `state` (why there is no prediction, else ""), and
    an entry of each column that was given.
    """

    NAME: ClassVar[str]
    VERSION: ClassVar[str]  # goes up when a value may change
    KEYS: ClassVar[Sequence[str]] = ()
    COLUMNS: ClassVar[Mapping[str, Column]] = {}  # the metric's own, with the item's field and what reads them
    JUDGES: ClassVar[tuple[int, float]] = (0, 0)  # the least and the most of them that it takes
    WORST: ClassVar[Mapping[str, float]] = {}  # what an unscored item counts as in "corrected", where not as 0

    prompt = ""  # all that a judge is instructed with

    def __init__(self, profiles: Sequence[str] = PROFILES, judges: int = 0, config: str | None = None) -> None:
        """Take the profiles that are wanted, how many judges share the work, and the config's name."""
        self.profiles, self.judges, self.config = profiles, judges, config
        self.keys: Sequence[str] = self.KEYS

    @staticmethod
    def prediction(value: Any, name: str) -> Any:
        """Bring one answer to the declared shape, None where there is none; `name` is what an error calls it."""
        return string(value, name, null=True)

    @staticmethod
    def reference(value: Any, name: str) -> Any:
        """Bring one reference to the declared shape."""
        raise NotImplementedError

    @classmethod
    def columns(cls, predictions: Any, references: Any) -> dict[str, list[Any]]:
        """Bring predictions and references to the declared shapes."""
        answers, golds = column(predictions, "predictions"), column(references, "references")
        if len(golds) != len(answers):
            raise ValueError(f"{len(answers)} predictions but {len(golds)} references; give one per prediction")
        return {
            "predictions": [cls.prediction(value, f"predictions[{i}]") for i, value in enumerate(answers)],
            "references": [cls.reference(value, f"references[{i}]") for i, value in enumerate(golds)],
        }

    def items(self, predictions: Sequence[Any], references: Sequence[Any], **columns: Any) -> list[Item]:
        """Return the items of n predictions and references as `columns` reads them, and of the other columns."""
        if self.judges and "questions" in self.COLUMNS and columns.get("questions") is None:
            raise ValueError(
                "questions is None, and the judge is to see them; pass questions=[...], one per prediction"
            )
        read = {"prediction": predictions, "reference": references}
        read["state"] = missing(predictions, columns.pop("states", None))
        for name, values in columns.items():
            if values is not None:
                field, reader = self.COLUMNS[name]
                read[field] = reader(values, name, len(predictions))
        return [dict(zip(read, entries, strict=True)) for entries in zip(*read.values(), strict=True)]

    def mark(self, item: Item, profile: str) -> Rounds:
        """Mark one item under one profile: yield what is to be asked of it, round by round, and return its row."""
        yield from ()
        return row(self.cells(item, profile))

    def cells(self, item: Item, profile: str) -> Cells:
        """Return the values of an item that no judge is asked about."""
        raise NotImplementedError

    def score(self, items: Sequence[Item]) -> Generator[list[Request], list[Any], list[Row]]:
        """Mark all items, each round of all of them and of both profiles in one list, where each request is once."""
        rows: list[Row] = [{} for _ in items]
        marks = [(at, profile, self.mark(item, profile)) for at, item in enumerate(items) for profile in self.profiles]
        replies: list[Any] = [None] * len(marks)  # None begins a generator
        while marks:
            batch: dict[tuple[int, str], Request] = {}
            places: dict[tuple[int, str], int] = {}
            waiting, asked = [], []
            for (at, profile, mark), heard in zip(marks, replies, strict=True):
                try:
                    requests = mark.send(heard)
                except StopIteration as done:
                    rows[at][profile] = done.value
                    continue
                keys = [(at, repr(request)) for request in requests]
                for key, request in zip(keys, requests, strict=True):
                    places.setdefault(key, len(batch))
                    batch.setdefault(key, {**request, "item": at})
                waiting.append((at, profile, mark))
                asked.append(keys)
            said = (yield [*batch.values()]) if batch else []
            marks, replies = waiting, [[said[places[key]] for key in keys] for keys in asked]
        return rows

    def hear(self, reply: Any, profile: str) -> tuple[str | None, str]:
        """Return a reply's text without reasoning, or None, and why; "" where there is a text.

        For "corrected" one that repeats the instructions, in which verdicts stand, is none.
        """
        if not isinstance(reply, str):
            why = getattr(reply, "reason", None)
            return None, why if isinstance(why, str) and why in UNSCORED else "api_error"
        text, reasoning = split_reasoning(str(reply))
        if reasoning and not text:
            return None, "truncated"
        if profile == "corrected" and repeats(text, self.prompt):
            return None, "unparsable"
        return text, ""

    def conditions(self, profile: str) -> dict[str, str]:
        """Return what else the values depend on, for the signature; `judge` where that is not the judge's name."""
        return {}

    def sign(self, profile: str, models: Sequence[Any] = ()) -> str:
        """Return the signature: all that a value depends on beside the answers, in the manner of sacrebleu."""
        fields = {"version": self.VERSION, "profile": profile, **self.conditions(profile)}
        fields.setdefault("tokenizer", "none")
        prompt = self.prompt if self.judges else ""
        names = [str(model or "none") for model in models] or [fields.pop("judge", "none")]
        fields["prompt"] = hashlib.sha256(prompt.encode()).hexdigest()[:8] if prompt else "none"
        fields["judge"] = f"mean({'+'.join(names)})" if len(names) > 1 else names[0]
        return "|".join([self.NAME, *(f"{key}:{value}" for key, value in fields.items())])

    def summarise(self, rows: Sequence[Row], profile: str, models: Sequence[Any] = ()) -> dict[str, Any]:
        """Return the result of a profile, whose judges have the names `models`: means, counts, rows, signature."""
        per_item = [row[profile] for row in rows]
        means = average(self.keys, per_item, profile, self.WORST)
        return {**means, **count(per_item), "per_item": per_item, "signature": self.sign(profile, models)}


def row(cells: Cells, ruled: bool = False) -> Row:
    """Return an item's row under a profile; `ruled`: the judge that there is was not asked about it, by a rule."""
    made: Row = {key: None if isinstance(cell, str) else cell for key, cell in cells.items()}
    made["reasons"] = {key: cell for key, cell in cells.items() if isinstance(cell, str)}
    return made | ({"ruled": True} if ruled else {})


def average(
    keys: Sequence[str], rows: Sequence[Row], profile: str, worst: Mapping[str, float]
) -> dict[str, float | None]:
    """Average rows by key; averages of nothing are None.

    "official" averages over the values there are; "corrected" over all items the key applies to, an unscored one
    counting as the `worst` value or 0, and gives the former beside it as `<key>_over_scored`.
    """
    means: dict[str, float | None] = {}
    for key in keys:
        values = [row[key] for row in rows if row[key] is not None]
        means[key] = over_scored = sum(values) / len(values) if values else None
        if profile == "corrected":
            n = sum(row["reasons"].get(key) != NOT_APPLICABLE for row in rows)
            means[key] = (sum(values) + worst.get(key, 0.0) * (n - len(values))) / n if n else None
            means[f"{key}_over_scored"] = over_scored
    return means


def count(rows: Sequence[Row]) -> dict[str, Any]:
    """Count items, those without an unscored value, and the others by reason."""
    unscored: Counter[str] = Counter()
    for row in rows:
        reasons = [reason for reason in row["reasons"].values() if reason != NOT_APPLICABLE]
        unscored.update([choose_reason(reasons)] if reasons else [])
    return {"n_total": len(rows), "n_scored": len(rows) - unscored.total(), "unscored": dict(unscored)}


def choose_reason(reasons: Sequence[str]) -> str:
    """Return the one of several reasons for which an item counts as unscored."""
    return min(reasons, key=lambda reason: UNSCORED.index(reason) if reason in UNSCORED else len(UNSCORED))


def drive(scorer: Scorer, items: Sequence[Item], judges: Sequence[Any]) -> list[Row]:
    """Have items scored: ask each judge on the panel all that a round has for it in one call."""
    rounds = scorer.score(items)
    replies: Any = None
    while True:
        try:
            batch = rounds.send(replies)
        except StopIteration as done:
            rows: list[Row] = done.value
            return rows
        replies = [None] * len(batch)
        for place, judge in enumerate(judges):
            own = [at for at, request in enumerate(batch) if request.get("judge", 0) == place]
            said = _ask(judge, [batch[at]["messages"] for at in own]) if own else []
            for at, reply in zip(own, said, strict=True):
                replies[at] = reply


def _ask(judge: Any, chats: list[Any]) -> list[Any]:
    replies = judge(chats)
    if not is_list(replies):
        raise ValueError(f"the judge returned {type(replies).__name__}; expected a list of replies, at once")
    replies = list(replies)
    if len(replies) != len(chats):
        raise ValueError(f"judge returned {len(replies)} replies to {len(chats)} requests; expected one each")
    return replies


@lru_cache
def _stretches(instructions: str) -> list[bytes]:
    around = [" ".join(text.split()).encode("utf-8", "replace") for text in re.split(r"\{\w+\}", instructions)]
    return [text[at : at + _STRETCH] for text in around for at in range(0, len(text) - _STRETCH + 1, _STEP)]


def repeats(reply: str, instructions: str) -> bool:
    """Whether a reply repeats instructions, whole or 160 bytes of them; what stands in their slots is not theirs."""
    said = " ".join(reply.replace("\\n", " ").split()).encode("utf-8", "replace")  # JSON too
    return any(stretch in said for stretch in _stretches(instructions))
