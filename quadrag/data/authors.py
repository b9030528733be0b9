"""Whose rows are, by the rows: which are the authors', which are not, and of which nobody here can tell.

`authors.csv` in a benchmark's room says of a config what the ids of the authors' questions look like, and has eight
bytes for each that is held: four of a digest of its id, four of one of id, question, gold. No text of theirs is in it.
"""

import base64
import csv
import hashlib
import json
import re
import struct
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from quadrag import catalogue
from quadrag.provenance import Provenance, Share, Source
from quadrag.records import Question

from .card_facts import card_facts

_LIKE = 2  # times as heavy, or as light, as its share of the rows a part of a file may be


def know_rows(source: Source, config: Any, split: str, questions: Sequence[Question]) -> Source:
    """Say of the questions of a split whose they are, and how many of how many where they are a part of the authors'.

    Files that are the authors' by their sums need no more. Else their questions are held against those known here: one
    with an id of theirs and another text, or an id unlike theirs, is not the authors'. Where some are unknown, the file
    may be the authors' in another form, or a part of it: it has as many rows, or weighs about its share of them.
    """
    if not questions:
        return source
    whose, number = source.provenance, len(questions)
    counted = card_facts(questions[0].benchmark).find_rows(config.name, split)
    whole = counted.number if counted else None
    if source.other:
        shares = [share for name, (_, share) in source.other.items() if name in config.files_of(split)]
        whose = _know_unlike(questions, whole, shares) if shares else Provenance.AUTHORS
    if not (whose.theirs and counted and whole) or counted.about:
        return replace(source, provenance=whose)
    fewer = [Share(number, whole)] if number < whole else []
    return replace(source, provenance=Provenance.PARTIAL if fewer else Provenance.AUTHORS, held=fewer)


def know_files(source: Source, known: Container[str]) -> Source:
    """Say whose documents are: files that weigh about what the authors' do may be theirs in another form.

    What is `known` of files by their questions is not asked again.
    """
    if not source.other:
        return source
    other = {name: found for name, found in source.other.items() if name not in known}
    whose = Provenance.UNVERIFIED if other else Provenance.PARTIAL if source.lacking else Provenance.AUTHORS
    if any(share and not 1 / _LIKE < share < _LIKE for _, share in other.values()):
        whose = Provenance.OWN
    return replace(source, provenance=whose, other=other)


def _know_unlike(questions: Sequence[Question], whole: int | None, shares: Iterable[float | None]) -> Provenance:
    states = [_is_authors(question) for question in questions]
    if all(states):
        return Provenance.PARTIAL
    part = len(questions) / (whole or len(questions))
    plausible = part == 1 or (part < 1 and all(share and part / _LIKE < share < part * _LIKE for share in shares))
    return Provenance.UNVERIFIED if plausible and False not in states else Provenance.OWN


def _is_authors(question: Question) -> bool | None:
    """Whether a question is the authors'; None where nobody here can tell."""
    ids, digests = _read_authors(question.benchmark).get(question.config, (".*", {}))
    parts = [question.id, question.query, question.references]
    of_id, of_all = (hashlib.sha256(json.dumps(part).encode()).digest()[:4] for part in (parts[:1], parts))
    if of_id in digests:
        return digests[of_id] == of_all
    return None if re.fullmatch(ids, question.id, re.DOTALL) else False


@cache
def _read_authors(benchmark: str) -> Mapping[str, tuple[str, Mapping[bytes, bytes]]]:
    """Return of each config how the ids of the authors' questions look, and digests of some by their id's."""
    path = catalogue.plugin_folder(benchmark) / "authors.csv"
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as lines:
        return {
            row["config"]: (row["ids"], dict(struct.iter_unpack("4s4s", base64.b64decode(row["questions"]))))
            for row in csv.DictReader(lines)
        }
