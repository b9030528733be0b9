"""Files that a user gives for CRAG: how much traffic each group of questions has, and what people say of answers."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError, read_yaml
from quadrag.records import Question
from quadrag.sheet import read_sheet

RATED = ("perfect", "acceptable")  # what only people tell apart
RATINGS = (*RATED, "missing", "incorrect")

Place = tuple[str, str, int]  # split, "" where a line does not say it, id and sample


def read_weights(path: str) -> Mapping[str, Any]:
    """Read the weights of question types, a mapping of them or of domains to such mappings."""
    weights = read_yaml(path, "weights by question type")
    tables = list(weights.values()) if isinstance(weights, dict) else [None]
    tables = tables if any(isinstance(table, dict) for table in tables) else [weights]
    if not (tables and all(map(_is_table, tables))):
        raise QuadragError(
            f"{path} holds no weights; expected {{question type: number}}, or {{domain: {{type: number}}}}"
        )
    return dict(weights)


def _is_table(value: Any) -> bool:
    numbers: list[Any] = list(value.values()) if isinstance(value, dict) and value else [-1]
    return all(type(number) in (int, float) and math.isfinite(number) and number >= 0 for number in numbers)


def weight_of(weights: Mapping[str, Any], question: Question) -> float | None:
    """Return the weight of a question's type, in its domain; None where there is none."""
    domain, kind = (question.slices.get(name, "") for name in ("domain", "question_type"))
    table = weights.get(domain, {}) if isinstance(next(iter(weights.values())), dict) else weights
    return float(table[kind]) if domain and kind in table else None


def read_ratings(path: str) -> dict[Place, str]:
    """Read what people say of answers, in a column `rating`; "" where they said nothing.

    Columns `split` and `sample` (from 0) are there where ids repeat.
    """
    ratings: dict[Place, str] = {}
    for where, row in read_sheet(Path(path).expanduser(), "id", "rating").lines:
        split, name, sample = row.get("split", "").strip(), row["id"].strip(), row.get("sample", "").strip() or "0"
        rating = row["rating"].strip().lower()
        whole = re.fullmatch(r"\d{1,9}", sample)
        place = (split, name, int(sample) if whole else 0)
        if not name or not whole or rating not in ("", *RATINGS) or place in ratings:
            raise QuadragError(
                f"{where}: id {name!r:.60}, sample {sample!r:.60}, rating {rating!r:.60}; expected each answer once: "
                f"an id, a whole number, and one of {', '.join(RATINGS)}, or none"
            )
        ratings[place] = rating
    return ratings


def rate_questions(questions: Sequence[Question], path: str) -> list[str | None]:
    """Return the ratings of the answers to these questions, of which each stands there once a sample."""
    ratings, rated = read_ratings(path), []
    samples: Counter[str] = Counter()
    for question in questions:
        place = question.id, samples[question.id]
        rated.append(ratings.get((question.split, *place)) or ratings.get(("", *place)) or None)
        samples[question.id] += 1
    if not any(rated):
        raise QuadragError(f"{path} rates none of {len(questions)} answers; expected their ids in the column id")
    return rated
