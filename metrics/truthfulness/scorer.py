# SPDX-License-Identifier: Apache-2.0
"""CRAG's truthfulness: rules decide what they can, judges on a panel or human ratings the rest."""

from collections.abc import Generator, Mapping, Sequence
from typing import Any, ClassVar

from .judging import PROMPT, official, official_either, requests, template
from .rules import CORRECT, INCORRECT, Ruling, distinct, settle, tokenizer_name, trimmer
from .scoring import Column, Item, Request, Rounds, Row, Scorer, row, texts
from .shares import FAILURES, KEYS, NO_JUDGE, RATED, Weighing, average, check_weights, rate, read_ratings
from .tally import NOT_APPLICABLE, UNSCORED, read_accepted
from .verdict_reader import VerdictReader

READERS = {"official": official, "corrected": VerdictReader("score", (0, 1)).read}
# Of other instructions than ours: the form of the paper's printed ones too, `"Accuracy": "True"`.
OWN_READERS = {"official": official_either, "corrected": VerdictReader("score", (0, 1), "accuracy").read}


class Truthfulness(Scorer):
    """Accuracy less hallucination; what is missing costs nothing."""

    NAME, VERSION = "truthfulness", "1.3.0"
    SETTLED = ("missing",)
    rated = False  # whether people judged
    WITH_JUDGE = ("questions",)
    COLUMNS: ClassVar[Mapping[str, Column]] = {
        "questions": ("question", texts),
        "ratings": ("rating", read_ratings),
        "domains": ("domain", texts),
        "question_types": ("question_type", texts),
    }

    def __init__(
        self,
        *,
        weights: Any = None,
        tokenizer: Any = None,
        prompt: str | None = None,
        judge_failure: str = FAILURES[0],
        **common: Any,
    ) -> None:
        """Take the weights, what cuts answers, instructions in place of ours, and what a failed verdict counts as."""
        super().__init__(**common)
        self.cut, self.tokenizer = trimmer(tokenizer), tokenizer_name(tokenizer)
        self.prompt, self.failures, self.weights = template(prompt), judge_failure, weights
        if weights is not None:
            check_weights(weights)

    @staticmethod
    def reference(value: Any, name: str) -> list[str]:
        return distinct(read_accepted(value, name))

    def items(self, predictions: Sequence[Any], references: Sequence[Any], **columns: Any) -> list[Item]:
        for name in ("domains", "question_types") if self.weights is not None else ():
            if columns.get(name) is None:
                raise ValueError(f"weights was given without {name}; pass {name}=[...], one per prediction")
        if columns.get("ratings") is not None and self.judges:
            raise ValueError("both ratings and a judge were given; expected one of them")
        self.rated = columns.get("ratings") is not None
        items = super().items(predictions, references, **columns)
        self._weigh(items)
        return items

    def mark(self, item: Item, profile: str) -> Rounds:
        ruled = False
        if "rating" in item:
            cell = rate(item["rating"])
        else:
            answer = "" if item["prediction"] is None else self.cut(item["prediction"]).strip()
            ruling = self._rule(item, answer, profile)
            outcomes = [ruling.outcome or NO_JUDGE]
            if self.judges:
                asked = requests(self.prompt, item.get("question", ""), ruling.open, answer)
                ruled = not (asked or item["state"])
                outcomes = yield from self._ask(asked, ruling, profile)
            cell = average(outcomes)
        why = cell["truthfulness"]
        if profile == "official" and self.failures == "hallucination" and why in UNSCORED:
            return row(average([INCORRECT]), ruled) | {"reasons": dict.fromkeys(cell, why)}
        return row(cell, ruled)

    def _rule(self, item: Item, answer: str, profile: str) -> Ruling:
        if not item["reference"]:
            return Ruling(NOT_APPLICABLE)
        return Ruling(item["state"]) if item["state"] else settle(answer, item["reference"], profile)

    def _ask(
        self, asked: Sequence[Request], ruling: Ruling, profile: str
    ) -> Generator[list[Request], list[Any], list[str]]:
        """Return what each judge makes of an item: right where it accepts any, else wrong or why a verdict lacks."""
        replies = yield [{**request, "judge": place} for place in range(self.judges) for request in asked]
        read = (READERS if self.prompt == PROMPT else OWN_READERS)[profile]
        outcomes: list[str] = []
        for place in range(self.judges):
            heard = [self.hear(reply, profile) for reply in replies[place * len(asked) : (place + 1) * len(asked)]]
            verdicts = [None if text is None else read(text) for text, _ in heard]
            lacking = {
                why or "unparsable" for (_, why), verdict in zip(heard, verdicts, strict=True) if verdict is None
            }
            failed = next((reason for reason in UNSCORED if reason in lacking), INCORRECT)
            outcomes.append(CORRECT if 1 in verdicts else ruling.outcome or failed)
        return outcomes

    def list_keys(self, items: Sequence[Item]) -> Sequence[str]:
        return (*KEYS, *RATED) if self.rated else KEYS

    def conditions(self, items: Sequence[Item], profile: str) -> dict[str, str]:
        failures = self.failures if profile == "official" else "unscored"
        weighing = self._weigh(items)
        return {"failures": failures, "tokenizer": self.tokenizer} | ({"weights": weighing.digest} if weighing else {})

    def name_judges(self, items: Sequence[Item], models: Sequence[Any]) -> str:
        if self.rated:
            return "human"
        names = [str(model or "none") for model in models]
        return f"mean({'+'.join(names)})" if len(names) > 1 else "".join(names) or "none"

    def _weigh(self, items: Sequence[Item]) -> Weighing | None:
        if self.weights is None:
            return None
        return Weighing(self.weights, [(item["domain"], item["question_type"]) for item in items])

    def summarise(
        self, items: Sequence[Item], rows: Sequence[Row], profile: str, models: Sequence[Any] = ()
    ) -> dict[str, Any]:
        """Return the result, with `unscored_share` for "corrected" and, with weights, `<key>_weighted`."""
        result = super().summarise(items, rows, profile, models)
        per_item, unscored = result["per_item"], result["unscored"]
        if profile == "corrected":
            applicable = sum(row["reasons"].get("truthfulness") != NOT_APPLICABLE for row in per_item)
            result["unscored_share"] = sum(unscored.values()) / applicable if applicable else None
        weighing = self._weigh(items)
        for key in self.list_keys(items) if weighing else ():
            values = [row[key] for row in per_item]
            result[f"{key}_weighted"] = weighing.mean(values)  # type: ignore[union-attr]  # there are no keys without
            if profile == "corrected":
                result[f"{key}_weighted_over_scored"] = result[f"{key}_weighted"]
                whole = [0.0 if _is_lost(row, key) else row[key] for row in per_item]
                result[f"{key}_weighted"] = weighing.mean(whole)  # type: ignore[union-attr]
        if NO_JUDGE in unscored:
            # The rules alone decide some items only, and not a fair sample of them.
            result |= dict.fromkeys(
                name for name in result if name.startswith(("truthfulness", "accuracy", "hallucination"))
            )
        return result


def _is_lost(row: Row, key: str) -> bool:
    return row[key] is None and row["reasons"][key] != NOT_APPLICABLE


SCORER = Truthfulness
