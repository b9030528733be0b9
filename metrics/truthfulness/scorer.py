# SPDX-License-Identifier: Apache-2.0
"""CRAG's truthfulness: rules decide what they can, judges on a panel or human ratings the rest.

Truthfulness is accuracy minus hallucination; by hand, perfect plus half of acceptable minus hallucination (Yang et
al., NeurIPS 2024, arXiv:2406.04744, section 4).
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from math import inf
from numbers import Real
from typing import Any, ClassVar

from .judging import PLAIN_PROMPT, PROMPT, official, official_either, requests, template
from .plain import YES_NO, PlainReader
from .rules import CORRECT, INCORRECT, MISSING, distinct, settle, trimmer
from .scoring import (
    NOT_APPLICABLE,
    UNSCORED,
    Cells,
    Column,
    Item,
    Request,
    Rounds,
    Row,
    Scorer,
    choose_reason,
    read_accepted,
    row,
    strings,
)
from .verdict_reader import VerdictReader

KEYS = ("truthfulness", "accuracy", "hallucination", "missing")
RATED = ("perfect", "acceptable")
_UNRATED, _NO_JUDGE = "unrated", "no_judge"
_VALUES = {CORRECT: (1.0, 1.0, 0.0, 0.0), INCORRECT: (-1.0, 0.0, 1.0, 0.0), MISSING: (0.0, 0.0, 0.0, 1.0)}
_RATINGS = {
    "perfect": (1.0, CORRECT),
    "acceptable": (0.5, CORRECT),
    "missing": (0.0, MISSING),
    "incorrect": (-1.0, INCORRECT),
}

READERS = {"official": official, "corrected": VerdictReader("score", (0, 1)).read}
# Of other instructions than ours: the form of the paper's printed ones too, `"Accuracy": "True"`.
OWN_READERS = {"official": official_either, "corrected": VerdictReader("score", (0, 1), "accuracy").read}
_PLAIN = PlainReader(YES_NO)


def read_ratings(ratings: Any, name: str, n: int) -> list[str]:
    """Return n ratings, "unrated" for None; ValueError where one is unknown."""
    read = [None if text is None else text.strip().lower() for text in strings(ratings, name, n, null=True)]
    for i, rating in enumerate(read):
        if rating is not None and rating not in _RATINGS:
            raise ValueError(f"{name}[{i}] is {rating[:60]!r}; expected None or one of {', '.join(_RATINGS)}")
    return [rating or _UNRATED for rating in read]


class Truthfulness(Scorer):
    NAME, VERSION = "truthfulness", "1.3.0"
    KEYS = KEYS
    JUDGES = (0, inf)
    COLUMNS: ClassVar[Mapping[str, Column]] = {
        "questions": ("question", strings),
        "ratings": ("rating", read_ratings),
        "domains": ("domain", strings),
        "question_types": ("question_type", strings),
    }

    def __init__(self, *, weights: Any = None, tokenizer: Any = None, prompt: str | None = None, **common: Any) -> None:
        super().__init__(**common)
        self.cut, self.tokenizer = trimmer(tokenizer)
        self.prompt, self.weights = template(prompt), weights
        self.rated = False

    @staticmethod
    def reference(value: Any, name: str) -> list[str]:
        return distinct(read_accepted(value, name))

    def items(self, predictions: Sequence[Any], references: Sequence[Any], **columns: Any) -> list[Item]:
        if columns.get("ratings") is not None:
            if self.judges:
                raise ValueError("both ratings and a judge were given; expected one of them")
            self.rated, self.keys = True, (*KEYS, *RATED)
        items = super().items(predictions, references, **columns)
        if self.weights is not None:
            for name in ("domains", "question_types"):
                if columns.get(name) is None:
                    raise ValueError(f"weights was given without {name}; pass {name}=[...], one per prediction")
            self._places = [(item["domain"], item["question_type"]) for item in items]
            self._weights = {place: _weight(self.weights, *place) for place in dict.fromkeys(self._places)}
        return items

    def mark(self, item: Item, profile: str) -> Rounds:
        ruled = False
        if self.rated:
            cells = _rate(item["rating"])
        elif not item["reference"] or item["state"]:
            cells = _average([item["state"] if item["reference"] else NOT_APPLICABLE])
            ruled = bool(self.judges) and not item["state"]
        else:
            answer = self.cut(item["prediction"]).strip()
            outcome, undecided = settle(answer, item["reference"], profile)
            outcomes = [outcome or _NO_JUDGE]
            if self.judges:
                asked = requests(self.prompt, item["question"], undecided, answer)
                outcomes = yield from self._ask(asked, answer, outcome, profile)
                ruled = not asked
            cells = _average(outcomes)
        why = cells["truthfulness"]
        if profile == "official" and why in UNSCORED:
            return row(_average([INCORRECT]), ruled) | {"reasons": dict.fromkeys(cells, why)}
        return row(cells, ruled)

    def _ask(
        self, asked: Sequence[Request], answer: str, outcome: str, profile: str
    ) -> Generator[list[Request], list[Any], list[str]]:
        """Return what each judge makes of an item: right where it accepts any, else wrong or why a verdict lacks."""
        replies = yield [{**request, "judge": place} for place in range(self.judges) for request in asked]
        outcomes: list[str] = []
        for place in range(self.judges):
            verdicts: set[int | str] = set()
            for reply in replies[place * len(asked) : (place + 1) * len(asked)]:
                text, why = self.hear(reply, profile)
                verdict = None if text is None else self._read(text, answer, profile)
                verdicts.add(why or "unparsable" if verdict is None else verdict)
            lacking = [verdict for verdict in verdicts if isinstance(verdict, str)]
            outcomes.append(CORRECT if 1 in verdicts else outcome or (choose_reason(lacking) if lacking else INCORRECT))
        return outcomes

    def _read(self, reply: str, answer: str, profile: str) -> int | None:
        if self.prompt == PLAIN_PROMPT:
            return _PLAIN.read(reply, answer)
        return (READERS if self.prompt == PROMPT else OWN_READERS)[profile](reply)

    def conditions(self, profile: str) -> dict[str, str]:
        signed = {"failures": "hallucination" if profile == "official" else "unscored", "tokenizer": self.tokenizer}
        if self.weights is not None:
            text = json.dumps(sorted([*place, weight] for place, weight in self._weights.items()))
            signed["weights"] = hashlib.sha256(text.encode()).hexdigest()[:8]
        return signed | ({"judge": "human"} if self.rated else {})

    def summarise(self, rows: Sequence[Row], profile: str, models: Sequence[Any] = ()) -> dict[str, Any]:
        """Return the result, with `unscored_share` for "corrected" and, with weights, `<key>_weighted`."""
        result = super().summarise(rows, profile, models)
        if profile == "corrected":
            n = sum(row["reasons"].get("truthfulness") != NOT_APPLICABLE for row in result["per_item"])
            result["unscored_share"] = sum(result["unscored"].values()) / n if n else None
        for key in self.keys if self.weights is not None else ():
            over_scored = result[f"{key}_weighted"] = self._weigh([row[key] for row in result["per_item"]])
            if profile == "corrected":
                whole = [
                    0.0 if row[key] is None and row["reasons"][key] != NOT_APPLICABLE else row[key]
                    for row in result["per_item"]
                ]
                result |= {f"{key}_weighted": self._weigh(whole), f"{key}_weighted_over_scored": over_scored}
        if _NO_JUDGE in result["unscored"]:
            # The rules alone decide some items only, and not a fair sample of them.
            result |= dict.fromkeys(name for name in result if name.startswith(KEYS[:3]))
        return result

    def _weigh(self, values: Sequence[float | None]) -> float | None:
        """Average n values by type within each domain, then over the domains: CRAG's "traffic" weighting.

        A type's weight is its share of the domain's questions in some traffic, so it multiplies the mean of the type's
        items, however many there are. The weights of others grow in proportion where a type or a domain has no value.
        """
        groups: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for (domain, kind), value in zip(self._places, values, strict=True):
            if value is not None:
                groups[domain][kind].append(value)
        means: list[float] = []
        for domain, kinds in groups.items():
            total = sum(self._weights[domain, kind] for kind in kinds)
            if total:
                parts = (self._weights[domain, kind] * sum(of_type) / len(of_type) for kind, of_type in kinds.items())
                means.append(sum(parts) / total)
        return sum(means) / len(means) if means else None


def _weight(weights: Any, domain: str, kind: str) -> float:
    table = weights if isinstance(weights, Mapping) else {}
    if any(isinstance(value, Mapping) for value in table.values()):
        table = table[domain] if isinstance(table.get(domain), Mapping) else {}
    weight = table.get(kind)
    if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 <= float(weight) < inf:
        raise ValueError(
            f"weights has {str(weight)[:60]} for question type {kind[:60]!r} in domain {domain[:60]!r}; expected"
            " numbers of at least 0, as {type: number} or {domain: {type: number}}"
        )
    return float(weight)


def _average(outcomes: Sequence[str]) -> Cells:
    """Average what one or several judges make of an item: an outcome each, or a reason for none.

    With any reason there is no value, since a mean over the other judges would be another quantity.
    """
    reasons = [outcome for outcome in outcomes if outcome not in _VALUES]
    if reasons:
        why = choose_reason(reasons)
        return dict.fromkeys(KEYS, why) | ({"missing": 0.0} if why == _NO_JUDGE else {})
    columns = zip(*(_VALUES[outcome] for outcome in outcomes), strict=True)
    return {key: sum(column) / len(outcomes) for key, column in zip(KEYS, columns, strict=True)}


def _rate(rating: str) -> Cells:
    if rating not in _RATINGS:
        return dict.fromkeys((*KEYS, *RATED), rating)
    worth, outcome = _RATINGS[rating]
    return {**_average([outcome]), "truthfulness": worth, **{key: float(rating == key) for key in RATED}}


SCORER = Truthfulness
