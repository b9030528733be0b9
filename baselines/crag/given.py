"""Files that a user gives for CRAG: how much traffic each group of questions has, and what people say of answers."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.reading import parse_yaml
from quadrag.records import Question
from quadrag.sheet import read_sheet

RATED = ("perfect", "acceptable")  # what only people tell apart
RATINGS = (*RATED, "missing", "incorrect")

Place = tuple[str, str, int]  # split, "" where a line does not say it, id and sample


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
    """Read what people say of answers, in a column `rating`; "" where they said nothing.

    Columns `split` and `sample` (from 0) are there where ids repeat.
    """
    ratings: dict[Place, str] = {}
    for where, row in read_sheet(Path(path).expanduser(), "id", "rating").lines:
        split, name, sample = row.get("split", "").strip(), row["id"].strip(), row.get("sample", "").strip() or "0"
        rating = row["rating"].strip().lower()
        if not name or not re.fullmatch(r"\d{1,9}", sample) or rating not in ("", *RATINGS):
            raise QuadragError(
                f"{where}: id {name!r:.60}, sample {sample!r:.60}, rating {rating!r:.60}; expected an id, a whole "
                f"number, and one of {', '.join(RATINGS)}, or none"
            )
        if (split, name, int(sample)) in ratings:
            raise QuadragError(f"{where} names {name!r} again; expected each answer once")
        ratings[split, name, int(sample)] = rating
    return ratings


def rate_questions(questions: Sequence[Question], path: str) -> list[str | None]:
    """Return the ratings of the answers to these questions, of which each stands there once a sample."""
    ratings = read_ratings(path)
    samples: Counter[str] = Counter()
    found = []
    for question in questions:
        place = question.id, samples[question.id]
        found.append(ratings.get((question.split, *place)) or ratings.get(("", *place)) or None)
        samples[question.id] += 1
    if not any(found):
        raise QuadragError(f"{path} rates none of {len(questions)} answers; expected their ids in the column id")
    return found
