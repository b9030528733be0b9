"""Files that a user gives for CRAG: how much traffic each group of questions has, and what people say of answers."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.reading import parse_yaml
from quadrag.records import Question
from quadrag.sheet import Place, find_mark, read_marks

RATED = ("perfect", "acceptable")  # what only people tell apart
RATINGS = (*RATED, "missing", "incorrect")


def read_weights(path: str) -> Mapping[str, Any]:
    """Read the weights of question types, a mapping of them or of domains to such mappings."""
    try:
        content = Path(path).expanduser().read_bytes()
    except OSError as error:
        raise QuadragError(f"cannot read weights from {path} ({error.strerror})") from None
    found = parse_yaml(content, path, "weights by question type")

    def weighs(value: Any) -> bool:
        return type(value) in (int, float) and math.isfinite(value) and value >= 0

    def mapped(value: Any) -> bool:
        return isinstance(value, dict) and bool(value) and all(map(weighs, value.values()))

    if mapped(found) or (isinstance(found, dict) and found and all(map(mapped, found.values()))):
        return dict(found)
    raise QuadragError(f"{path} holds no weights; expected {{question type: number}}, or {{domain: {{type: number}}}}")


def read_ratings(path: str) -> dict[Place, str]:
    """Read what people say of answers, in a column `rating`; "" where they said nothing."""
    found = {}
    for place, mark in read_marks(Path(path).expanduser(), "rating").items():
        rating = mark.value.strip().lower()
        if rating not in ("", *RATINGS):
            raise QuadragError(
                f"{mark.where}: rating is {rating[:60]!r}; expected one of {', '.join(RATINGS)}, or none"
            )
        found[place] = rating
    return found


def rate_questions(questions: Sequence[Question], path: str) -> list[str | None]:
    """Return the ratings of the answers to these questions, of which each stands there once a sample."""
    ratings = read_ratings(path)
    samples: Counter[str] = Counter()
    found = []
    for question in questions:
        found.append(find_mark(ratings, Place(question.split, question.id, samples[question.id])) or None)
        samples[question.id] += 1
    if not any(found):
        raise QuadragError(f"{path} rates none of {len(questions)} answers; expected their ids in the column id")
    return found
