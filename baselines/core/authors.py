"""Whose rows are, by the rows: which are the authors', which are not, and of which nobody here can tell.

`authors.csv` in a benchmark's room has, for each config of whose questions some are held, eight bytes a question: four
of a digest of its id, four of one of id, question and gold. It holds none of their text.
"""

import base64
import csv
import hashlib
import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from quadrag.hub.record import hub_record
from quadrag.paths import room
from quadrag.provenance import Provenance, Source
from quadrag.records import Question

_LIKE = 2  # times as heavy, or as light, as its share of the rows a part of a file may be


def know_rows(source: Source, config: Any, split: str, questions: Sequence[Question]) -> Source:
    """Say of the questions of a split whose they are, and how many of how many where they are a part of the authors'.

    Files that are the authors' by their sums need no more. Else their questions are held against those known here: one
    with an id of theirs and another text is not the authors'. Where some are unknown, a file nobody here has held may
    be the authors' in another form, or a part of it: it has as many rows, or weighs about as much as its share of them.

    Args:
        source: what the files tell.
        config: of the builder, with its options.
        split: its name.
        questions: all that the files hold of it.
    """
    if not questions:
        return source
    whose, number = source.provenance, len(questions)
    counted = hub_record(questions[0].benchmark).rows[config.name].get(split)  # none of a split that an option makes
    whole = counted.number if counted else None
    if source.other:
        shares = [share for name, (_, share) in source.other.items() if name in config.files_of(split)]
        whose = _know_unlike(questions, whole, shares) if shares else Provenance.AUTHORS
    if not (whose.theirs and counted and whole and number < whole) or counted.about:
        return replace(source, provenance=whose)
    return replace(source, provenance=Provenance.PARTIAL, held=[f"{number} of {whole}"])


def know_files(source: Source) -> Source:
    """Say whose documents are: files that weigh about what the authors' do may be theirs in another form."""
    unlike = any(share and not 1 / _LIKE < share < _LIKE for _, share in source.other.values())
    return replace(source, provenance=Provenance.OWN) if unlike else source


def _know_unlike(questions: Sequence[Question], whole: int | None, shares: Iterable[float | None]) -> Provenance:
    """Say whose questions are that stand in files which are not the authors' by their sums."""
    known = read_authors(questions[0].benchmark).get(questions[0].config, {})
    states = [known[of_id] == of_all if of_id in known else None for of_id, of_all in map(_digest, questions)]
    number, whole = len(questions), whole or len(known)
    if all(states):
        return Provenance.PARTIAL if number < whole else Provenance.AUTHORS
    part = number / (whole or number)
    may_be = part == 1 or (part < 1 and all(share and part / _LIKE < share < part * _LIKE for share in shares))
    return Provenance.UNVERIFIED if may_be and False not in states else Provenance.OWN


@cache
def read_authors(benchmark: str) -> Mapping[str, Mapping[bytes, bytes]]:
    """Read what is known of the authors' questions: by config, of each id what its question has."""
    path = room("baselines") / benchmark / "authors.csv"
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as lines:
        packed = {row["config"]: base64.b64decode(row["questions"]) for row in csv.DictReader(lines)}
    return {config: dict(struct.iter_unpack("4s4s", found)) for config, found in packed.items()}


def pack_authors(questions: Iterable[Question]) -> str:
    """Return what `authors.csv` holds of a config's questions."""
    return base64.b64encode(b"".join(sorted({b"".join(_digest(one)) for one in questions}))).decode()


def _digest(question: Question) -> tuple[bytes, bytes]:
    whole = [question.id, question.query, question.references]
    of_id, of_all = (hashlib.sha256(json.dumps(part).encode()).digest()[:4] for part in (whole[:1], whole))
    return of_id, of_all
