"""What a reader of a judged score is told of its judge: how far it agrees with people, or that nobody knows."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quadrag.metric_record import metric_record, show_key

from ..core.result import PROFILES, Result
from ..results.score import Status, status_of
from ..tables.cells import ALIKE
from ..tables.grid import Alarm, Grid
from ..tables.names import keep_name, keep_names
from ..tables.slices import select_whole
from .ask import read_signature
from .certificate import Certificate, find_certificate, unique
from .tables import COLUMNS, IN_PERCENT, agreement_lines

_NONE = "none"


def note_judges(results: Sequence[Result], profile: str = PROFILES[0]) -> list[str]:
    """Say of each judge of some runs how far it agrees with people, by the runs' certificates, or that nobody knows."""
    certified = [line for result in results for line in _note_certified(result, profile)]
    return list(dict.fromkeys([*certified, *_note_uncertified(results, profile), *_note_unused(results)]))


def tabulate_judges(results: Sequence[Result]) -> list[Grid]:
    """Tabulate how far the judges of some runs agree with people, by the runs' certificates; [] without any."""
    signatures = [row["signature"] for result in results for row in select_whole(result.scores) if _is_judged(row)]
    given = _list_given(results)
    used = [find_certificate(given, signature) for signature in signatures]
    certified = [certificate for certificate in given if certificate in used and "agreement" in certificate.figures]
    lines = [
        line
        for certificate in certified
        for line in agreement_lines(certificate, f"{keep_name(certificate.judge)}, {certificate.labels['name']}")
    ]
    notes = ["By the judge's certificate, with 95% intervals.", IN_PERCENT]
    return [Grid("Agreement of the judge with people", "judge", COLUMNS, lines, notes, "points")] if lines else []


def _list_given(results: Sequence[Result]) -> list[Certificate]:
    return unique(certificate for result in results for certificate in result.certificates)


def _note_certified(result: Result, profile: str) -> Iterator[str]:
    told: dict[tuple[str, str, bool, bool], dict[str, None]] = {}
    for row in _find_judged(result, profile):
        if certificate := find_certificate(result.certificates, row["signature"]):
            judge = read_signature(row["signature"])["judge"]
            said = judge, certificate.sentence, certificate.is_chance, certificate.is_worse
            told.setdefault(said, {})[show_key(row["metric"], row["key"])] = None
    for (judge, sentence, chance, worse), keys in told.items():
        line = f"Judge {keep_names(judge)} {sentence} ({', '.join(keys)})"
        line += f"; {ALIKE} marks what rests on them." if chance else "."
        yield Alarm(line) if chance or worse else line


def _note_uncertified(results: Sequence[Result], profile: str) -> Iterator[str]:
    keys: dict[str, dict[str, None]] = {}
    runs: dict[str, str] = {}
    for result in results:
        for row in _find_judged(result, profile):
            known = find_certificate(result.certificates, row["signature"])
            if known is None and status_of(row) is not Status.UNTRUSTED_JUDGE:  # that says more
                judge = read_signature(row["signature"])["judge"]
                keys.setdefault(judge, {})[show_key(row["metric"], row["key"])] = None
                runs.setdefault(judge, shlex.quote(str(result.folder or "RUN")))
    for judge, names in keys.items():
        label = f"to begin with, label what it judged: `quadrag label {runs[judge]} --out sheet.csv`"
        yield f"judge not certified: {keep_names(judge)} ({', '.join(names)}); {label}."


def _find_judged(result: Result, profile: str) -> list[dict[str, Any]]:
    """Find the rows that rest on a judge: there is a value, and rules do not decide all answers."""
    rows = (row for row in select_whole(result.scores) if row["profile"] == profile and _is_judged(row))
    return [
        row for row in rows if status_of(row) is not Status.INVALID and not row["n_scored"] == row.get("n_ruled", 0) > 0
    ]


def _note_unused(results: Sequence[Result]) -> Iterator[str]:
    signatures = [row["signature"] for result in results for row in result.scores if _is_judged(row)]
    judges = dict.fromkeys(read_signature(signature)["judge"] for signature in signatures)
    for certificate in _list_given(results):
        if not any(map(certificate.fits, signatures)):
            why = f"the judge here is {', '.join(map(keep_names, judges))}" if judges else "nothing here is judged"
            why = "it is of another metric or prompt" if certificate.judge in judges else why
            key = show_key(certificate.metric, certificate.key)
            yield f"The certificate of {keep_name(certificate.judge)} ({key}) is not used: {why}."


def _is_judged(row: Mapping[str, Any]) -> bool:
    given = read_signature(row.get("signature", ""))
    asked = given.get("judge", _NONE) != _NONE and given.get("prompt", _NONE) != _NONE
    return asked and "not_run" not in row and metric_record(row["metric"]).key(row["key"]).needs == "judge"
