# SPDX-License-Identifier: Apache-2.0
"""What an evaluate module here is made of: words of its documentation, and the mixin that drives its scorer."""

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from .papers import Paper
from .scoring import PROFILES, Row, Scorer, drive
from .tally import UNSCORED, is_list

TEXT = datasets.Value("string")
TEXTS = datasets.Sequence(TEXT)
_MOST = 0.2  # the share of verdicts that may fail where a value is to say something
_FAILED = (*UNSCORED, "misaligned")  # reasons why a judge that was asked gave no verdict

STATES = """states: list of n reasons, read where a prediction is None: "api_error", "raised", "unparsable",
        "truncated", "null" or None for "api_error"."""
JUDGE = """judge: callable from a list of chat-message lists to a list of replies, each a text or, for a failed call, an
        object with a `reason`; its `model` enters the signature, which has `judge:none` where it has none."""
QUESTIONS = "questions: list of n questions; required with a judge."
RESULT = """<key>_over_scored: with "corrected" only; over the items with a value.
    n_total, n_scored, unscored: items, items without an unscored value, and the others counted by reason.
    per_item: one row per item, in order: its values, and the reasons where there is none.
    signature: what the values depend on."""
JUDGED = f"""{RESULT}
    valid: with a judge; False, with a warning, where more than a fifth of its verdicts failed or could not be read:
        the values that rest on them say nothing of the answers. A row is `ruled` where a rule decided instead."""


def info(
    description: str, documentation: str, references: Any, *papers: Paper, predictions: Any = TEXT
) -> evaluate.MetricInfo:
    """Return what `_info` has to."""
    return evaluate.MetricInfo(
        description=description,
        citation="".join(paper.citation for paper in papers),
        inputs_description=documentation,
        features=datasets.Features({"predictions": predictions, "references": references}),
        codebase_urls=[paper.code for paper in papers],
        reference_urls=[paper.address for paper in papers],
    )


class Shared:
    """Goes before `evaluate.Metric` in a metric's bases: inputs, options and the result are every metric's alike.

    It is no `evaluate.Metric` itself: `evaluate` takes the first one that it finds.
    """

    SCORER: type[Scorer]
    config_name: Any

    def _enforce_nested_string_type(self, schema: Any, obj: Any) -> None:
        """Accept None, which `evaluate` does not; the scorer has checked every entry before."""

    def add(self, *, prediction: Any = None, reference: Any = None) -> None:
        """Add one answer and its reference; None is a value of either where the metric says so."""
        self.add_batch(predictions=[prediction], references=[reference])

    def add_batch(self, *, predictions: Any = None, references: Any = None) -> None:
        """Add n answers and their references, in any documented shape."""
        super().add_batch(**self.SCORER.columns(predictions, references))  # type: ignore[misc]  # evaluate's

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        profile: str = "official",
        states: Any = None,
        **options: Any,
    ) -> dict[str, Any] | None:
        """Score what was added and what is given here; None where another process reports.

        With a judge, say whether the values are `valid`, and warn of verdicts that failed.
        """
        if profile not in PROFILES:
            raise ValueError(f"profile is {profile!r}; expected one of {', '.join(PROFILES)}")
        judges = self._take_judges(options)
        columns = {name: options.pop(name, None) for name in self.SCORER.COLUMNS}
        scorer = self.SCORER(profiles=(profile,), judges=len(judges), config=self.config_name, **options)
        if predictions is not None or references is not None:
            self.add_batch(predictions=predictions, references=references)
        added = super().compute()  # type: ignore[misc]  # evaluate's
        if added is None:
            return None
        items = scorer.items(**added, states=states, **columns)
        rows = drive(scorer, items, judges)
        scores = scorer.summarise(rows, profile, [getattr(judge, "model", None) for judge in judges])
        if judges:
            asked = [row for row, item in zip(scores["per_item"], items, strict=True) if not item["state"]]
            scores["valid"] = _check([row for row in asked if not row.get("ruled")])
        return scores

    def _compute(self, predictions: list[Any], references: list[Any]) -> dict[str, list[Any]]:
        """Return what was added: `evaluate` keeps its files locked where this raises, so scoring comes after it."""
        return {"predictions": predictions, "references": references}

    def _take_judges(self, options: dict[str, Any]) -> Sequence[Any]:
        least, most = self.SCORER.JUDGES
        judge = options.pop("judge", None) if most else None
        judges = options.pop("judges", None) if most > 1 else None
        if judges is None:
            judges = [judge] if least or judge is not None else []
        elif judge is not None or not is_list(judges) or not list(judges):
            raise ValueError(f"judges is {type(judges).__name__}; expected a list of callables, or judge alone")
        for member in judges:
            if not callable(member):
                kind = type(member).__name__
                raise ValueError(f"judge is {kind}; expected a callable from a list of chats to a list of replies")
        return list(judges)


def _check(rows: Sequence[Row]) -> bool:
    """Warn where verdicts failed; return whether no value rests on more than a fifth of such."""
    lost = Counter(key for row in rows for key, why in row["reasons"].items() if why in _FAILED)
    failed = max(lost.values(), default=0)
    valid = failed <= _MOST * len(rows)
    if failed:
        told = f"{failed} of {len(rows)} verdicts failed or could not be read"
        warnings.warn(told if valid else f"INVALID, {told}, more than a fifth", stacklevel=3)
    return valid
