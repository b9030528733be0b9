# SPDX-License-Identifier: Apache-2.0
"""The file of questions and reference answers that spares the judge two rounds.

It is read, never written: the authors' code overwrites the one that it ships. Upstream's have 2,000 lists of
questions for hallucination modification, 730 of them empty, and lists of answers that are too short or missing.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .tally import strings


class Entry(NamedTuple):
    """What a question file says of an item; `answers` is None where it does not speak of them."""

    questions: list[str]
    answers: list[str] | None


def read_cache(source: Any) -> tuple[dict[str, Entry], str]:
    """Read a question file.

    Args:
        source: the path of a JSON file in the shape of upstream's `*_quest_gt_save.json`, or the mapping itself: id to
            `question` (or `questions`), `answers` and `key_info`, which is not used; an empty one has no questions.

    Returns:
        The entries by id, and the first 8 hex digits of the sha256 of what was used of them.

    Raises:
        ValueError: it cannot be read, or an entry has another shape.
    """
    name = "question_cache"
    if isinstance(source, str | Path):
        name = str(source)
        try:
            source = json.loads(Path(source).read_text(encoding="utf-8-sig"))
        except (OSError, ValueError, RecursionError) as error:
            what = getattr(error, "strerror", None) or "no JSON in UTF-8"
            raise ValueError(f"{name}: {what}; expected a file like upstream's *_quest_gt_save.json") from None
    if not isinstance(source, Mapping):
        raise ValueError(f"{name} is {type(source).__name__}; expected a path, or a mapping from ids to questions")
    entries: dict[str, Entry] = {}
    for key, value in source.items():
        if not isinstance(key, str) or not isinstance(value, Mapping):
            raise ValueError(f"{name} maps {key!r} to {type(value).__name__}; expected strings to mappings")
        asked, told = value.get("question", value.get("questions")), value.get("answers")
        questions = strings([] if asked is None else asked, f"{name}[{key!r}]['question']")
        answers = strings([] if told is None else told, f"{name}[{key!r}]['answers']")
        entries[key] = Entry(questions, None if questions and told is None else answers)
    text = json.dumps(entries, ensure_ascii=True, sort_keys=True)
    return entries, hashlib.sha256(text.encode()).hexdigest()[:8]
