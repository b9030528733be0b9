"""What any reading of a CRAG question must be, and pieces that replies and questions are drawn from."""

from __future__ import annotations

import re
from dataclasses import fields

from quadrag.baselines.crag.language.entities import DOMAINS, Entities

WEDNESDAY = "03/13/2024, 08:29:59 PT"
DATE = re.compile(r"\d{4}(-\d{2}){0,2}")


def proper(entities: Entities) -> bool:
    """Whether every field has the type and form that the class promises."""
    texts = [field.name for field in fields(Entities) if field.name not in ("domain", "ranks")]
    for name in texts:
        values = getattr(entities, name)
        assert type(values) is tuple and len(values) <= 31, name
        assert all(type(one) is str and one.strip() and len(one) <= 200 for one in values), (name, values)
        for one in values:
            one.encode()
    assert entities.domain is None or entities.domain in DOMAINS
    assert all(DATE.fullmatch(one) for one in entities.dates), entities.dates
    assert all(re.fullmatch(r"[0-2]\d:[0-5]\d", one) for one in entities.times), entities.times
    assert all(type(one) is int and 1 <= one <= 100 for one in entities.ranks), entities.ranks
    assert all(re.fullmatch(r"[A-Z]{1,6}([.-][A-Z]{1,2})?", one) for one in entities.tickers), entities.tickers
    return True


PIECES = [
    *'{}[]",:\n\t\\/ 019-.eE',
    "\u201c",
    "\u2019",
    "'",
    "null",
    "None",
    "true",
    "NaN",
    "```json",
    "```",
    "//",
    "/*",
    "*/",
    *(f'"{field.name}"' for field in fields(Entities)),
    "movies",
    "domain",
    '"movie"',
    '"Titanic"',
    "'O'Brien'",
    "\ud83d",
    "1e999",
    "9" * 30,
    "yesterday",
    '"2024-02-20"',
    '"March 9, 2024"',
    "\x00",
    "\\ud800",
    '"10:30"',
    "Qu\u00e9bec",
    '"#1"',
]
