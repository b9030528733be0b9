"""What a reader of a judged score is told of its judge: how far it agrees with people, or that nobody knows."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quadrag.metric_record import metric_record, show_key

from ..core.result import PROFILES, Result
from ..results.score import Status, status_of
from ..tables.cells import ALIKE
from ..tables.grid import Alarm
from ..tables.names import keep_name, keep_names
from ..tables.slices import select_whole
from .ask import read_signature
from .certificate import find_certificate, unique

_NONE = "none"


def note_judges(results: Sequence[Result], profile: str = PROFILES[0]) -> list[str]:
    """Say of each judge of some runs how far it agrees with people, by the runs' certificates, or that nobody knows."""
    certified: dict[tuple[str, str, bool], dict[str, None]] = {}
    uncertified: dict[str, dict[str, None]] = {}
    folders: dict[str, str] = {}
    for result in results:
        for row in _find_judged(result, profile):
            judge, key = read_signature(row["signature"])["judge"], show_key(row["metric"], row["key"])
            if certificate := find_certificate(result.certificates, row["signature"]):
                certified.setdefault((judge, certificate.sentence, certificate.is_chance), {})[key] = None
            elif status_of(row) is not Status.UNTRUSTED_JUDGE:  # that says more
                uncertified.setdefault(judge, {})[key] = None
                folders.setdefault(judge, shlex.quote(str(result.folder or "RUN")))
    notes: list[str] = []
    for (judge, sentence, chance), keys in certified.items():
        line = f"Judge {keep_names(judge)} {sentence} ({', '.join(keys)})"
        notes.append(Alarm(f"{line}; {ALIKE} marks what rests on them.") if chance else f"{line}.")
    for judge, keys in uncertified.items():
        label = f"to begin with, label what it judged: `quadrag label {folders[judge]} --out sheet.csv`"
        notes.append(f"judge not certified: {keep_names(judge)} ({', '.join(keys)}); {label}.")
    return [*notes, *_note_unused(results)]


def _find_judged(result: Result, profile: str) -> Iterator[dict[str, Any]]:
    """Find the rows that rest on a judge: there is a value, and rules do not decide all answers."""
    for row in select_whole(result.scores):
        if row["profile"] != profile or not _is_judged(row) or status_of(row) is Status.INVALID:
            continue
        if not row["n_scored"] == row.get("n_ruled", 0) > 0:
            yield row


def _note_unused(results: Sequence[Result]) -> Iterator[str]:
    signatures = [row["signature"] for result in results for row in result.scores if _is_judged(row)]
    for certificate in unique(certificate for result in results for certificate in result.certificates):
        if not any(map(certificate.fits, signatures)):
            name = f"{keep_name(certificate.judge)} ({certificate.labels['name']})"
            yield f"The certificate of {name} is not used: no score here has its judge, metric and prompt."


def _is_judged(row: Mapping[str, Any]) -> bool:
    signed = read_signature(row.get("signature", ""))
    asked = signed.get("judge", _NONE) != _NONE and signed.get("prompt", _NONE) != _NONE
    return asked and "not_run" not in row and metric_record(row["metric"]).key(row["key"]).needs == "judge"
