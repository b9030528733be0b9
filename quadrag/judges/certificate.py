"""A certificate: how well a judge agrees with people, in a small file sealed by the sha256 of its other entries.

Its figures are of the judge's own verdicts, those that can be read; with what a metric's rules decide they make the
pipeline, which a run's values rest on. It stands for a judge where a run asked the same model with the same prompt for
the same metric.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from quadrag import __version__
from quadrag.errors import QuadragError
from quadrag.reading import parse_json
from quadrag.records import write_text
from quadrag.reporting.cells import FEW, write_number
from quadrag.results.note import Note, NoteCode
from quadrag.results.run import Run
from quadrag.results.score import Cause, Score, Status
from quadrag.stats import wilson
from quadrag.stats.agreement import Agreement, agreement, agreement_intervals, class_figures, count_pairs

from .ask import PROFILE, Verdicts, list_judged, read_signature
from .labels import Item, LabelSet

_FORM = "quadrag certificate 1"
_NO_KAPPA = 0.1  # as by chance, where it may be 0


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is known of a judge."""

    form: str  # the form of the file
    quadrag: str  # the version that made it
    labels: dict[str, Any]  # the label set: name, what is graded, source, sha256 of each file, how many labels, notes
    metric: str  # the evaluate module
    key: str  # its value that was graded
    judge: str  # the model, or what else judged
    service: str  # where it was asked
    prompts: list[str]  # the digests of the metric's prompt; none of a judge that no prompt was sent to
    profile: str  # how its replies were read
    # agreement, kappa, AC1 and their intervals, counts, classes, ceiling, cost, all of the judge's own verdicts; under
    # `pipeline`, where rules decide some items, how far these and the judge together agree with people
    figures: dict[str, Any]

    def write(self, path: Path) -> None:
        """Write the file."""
        write_text(path, json.dumps(self.row, ensure_ascii=False, indent=1) + "\n")

    @property
    def row(self) -> dict[str, Any]:
        """What the file holds: all of it, and its sum first."""
        row = asdict(self)
        return {"sum": _sum(row), **row}

    @classmethod
    def from_row(cls, row: Any, place: object) -> "Certificate":
        """Make a certificate of what its file, at `place`, holds; QuadragError where it is none, or was altered."""
        names = [field.name for field in fields(cls)]
        entries: dict[str, Any] = {name: row.get(name) for name in names} if isinstance(row, dict) else {}
        if entries.get("form") != _FORM or row != {"sum": _sum(entries), **entries}:
            raise QuadragError(
                f"{place} is no certificate, or was altered; expected one of `quadrag certify-judge --out`"
            )
        return cls(**entries)

    def fits(self, signature: str) -> bool:
        """Tell whether a row of scores with this signature was judged by this judge with this prompt."""
        signed = read_signature(signature)
        named = signature.partition("|")[0] == self.metric
        return named and signed.get("judge") == self.judge and signed.get("prompt") in self.prompts

    @property
    def is_chance(self) -> bool:
        """Whether the judge agrees with people no better than chance, so that its verdicts say nothing."""
        return self._may_be_chance and (self.figures["kappa"] or 0) <= _NO_KAPPA

    @property
    def _may_be_chance(self) -> bool:
        kappa, between = self.figures["kappa"], self.figures["kappa_interval"]
        return kappa is None or (between[0] if between else kappa) <= 0

    def note(self, keys: Sequence[str]) -> Note:
        """Make the note of what a reader of scores by some keys is told."""
        figures = self.figures
        between = figures["agreement_interval"]
        low_high = f" (95% {_percent(between[0])}\u2013{_percent(between[1])})" if between else ""
        params: dict[str, Any] = {"judge": self.judge, "agreement": f"{_percent(figures['agreement'])}%{low_high}"}
        params |= {"labels": self.labels["name"], "kappa": round_two(figures["kappa"]), "keys": list(keys)}
        if self.is_chance:
            return Note(NoteCode.JUDGE_BY_CHANCE, params)
        return Note(NoteCode.JUDGE_AGREEMENT, params | ({"kind": "doubt"} if self._may_be_chance else {}))


def round_two(value: float | None) -> str:
    """Round to two decimals, a half upwards, as 0.825 to 0.83."""
    return "unknown" if value is None else write_number(value + 1e-9, 2)


def _percent(value: float) -> str:
    """Write a share in percent, a half upwards, as 0.825 as 83."""
    return f"{100 * value + 1e-7:.0f}"


def _sum(row: Any) -> str:
    return hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()


# How one is made.


def certify(labels: LabelSet, verdicts: Verdicts) -> Certificate:
    """Hold a judge's verdicts, of which there must be one, against people's labels."""
    graded, classes = labels.graded, list(labels.graded.grades)
    judged = list_judged(labels, verdicts)
    ruled = [item for item in labels.items if item.id in verdicts.by_rule]
    lacking = {item.id for item in labels.items} - {item.id for item in (*judged, *ruled)}
    said = [str(verdicts.grades[item.id]) for item in judged]
    table = count_pairs([item.label for item in judged], said, classes)
    ceiling = measure_ceiling(labels)
    figures: dict[str, Any] = {
        **_agree(judged, said, classes),
        "groups": len({item.group for item in judged}),
        "unreadable": Counter(verdicts.reasons.get(name, "unreadable") for name in lacking),
        "classes": classes,
        "confusion": table.tolist(),
        "by_class": dict(zip(classes, class_figures(table), strict=True)),
        "ceiling": ceiling._asdict() if ceiling else None,
        "usage": dict(verdicts.usage),
    }
    if ruled:
        both = [*said, *(verdicts.by_rule[item.id] for item in ruled)]
        figures["pipeline"] = {**_agree([*judged, *ruled], both, classes), "by_rule": len(ruled)}
    about: dict[str, Any] = {"name": labels.name, "graded": graded.name, "source": labels.source}
    about |= {"sha256": labels.files, "n": len(labels.items), "notes": labels.notes}
    about, figures = json.loads(json.dumps([about, figures]))  # as the file has them
    judge, prompts = verdicts.judge, list(verdicts.prompts)
    return Certificate(
        _FORM, __version__, about, graded.metric, graded.key, judge, verdicts.service, prompts, PROFILE, figures
    )


def find_few(items: Sequence[Item]) -> str:
    """Return that labels of so few questions, or groups, tell nothing of a judge; "" of enough."""
    groups = len({item.group for item in items})
    few = f"labels of {groups} question{'s' * (groups != 1)} tell nothing of a judge: label {FEW} questions or more"
    return few if groups < FEW else ""


def _agree(items: Sequence[Item], said: Sequence[str], classes: Sequence[str]) -> dict[str, Any]:
    labels = [item.label for item in items]
    table = count_pairs(labels, said, classes)
    n, accuracy, kappa, ac1 = agreement(table)
    intervals: Sequence[Any] = (None, None, None)
    if not find_few(items):
        groups = [item.group for item in items]
        intervals = agreement_intervals(labels, said, groups, classes)
        if len({*groups}) == n:
            intervals = (wilson(int(np.trace(table)), n), *intervals[1:])
    values = {"n": n, "agreement": accuracy, "kappa": kappa, "ac1": ac1}
    return values | dict(zip(("agreement_interval", "kappa_interval", "ac1_interval"), intervals, strict=True))


def measure_ceiling(labels: LabelSet) -> Agreement | None:
    """Return how people agree with each other: of several, the pairs of the items that both labelled, together."""
    votes = [*(item.votes for item in labels.items), *labels.split]
    pairs = [pair for several in votes for pair in combinations(several, 2) if None not in pair]
    if not pairs:
        return None
    first, second = zip(*pairs, strict=True)
    return agreement(count_pairs(first, second, list(labels.graded.grades)))


# How those that there are stand beside results.


def read_certificates(names: Sequence[str]) -> list[Certificate]:
    """Read certificates; QuadragError where a file is none, or was altered."""
    certificates = []
    for name in names:
        try:
            row = parse_json(Path(name).read_bytes(), name, "a certificate of `quadrag certify-judge --out`")
        except OSError as error:
            raise QuadragError(f"cannot read {name} ({error.strerror}); expected a certificate") from None
        certificates.append(Certificate.from_row(row, name))
    return certificates


def find_certificate(certificates: Sequence[Certificate], signature: str) -> Certificate | None:
    """Return the first certificate that stands for the judge of a row; None where none does."""
    return next((certificate for certificate in certificates if certificate.fits(signature)), None)


def unique(certificates: Iterable[Certificate]) -> list[Certificate]:
    """Return certificates in their order, equal ones once."""
    return list({_sum(asdict(certificate)): certificate for certificate in certificates}.values())


def lay_beside(results: Iterable[Run], certificates: Sequence[Certificate] = ()) -> None:
    """Lay certificates beside results, for whoever shows them; mark what rests on a judge that is as good as chance.

    `certificates`, which the user names, go before those that are kept with a run.
    """
    for result in results:
        place = f"the certificate kept in {result.folder}"
        kept = [Certificate.from_row(row, place) for row in result.record.certificates]
        result.certificates = unique([*certificates, *kept])
        found = {row.key.name: find_certificate(result.certificates, row.signature) for row in result.scores}
        by_chance = {name for name, certificate in found.items() if certificate and certificate.is_chance}
        result.scores = [discredit(score) if score.key.verdict in by_chance else score for score in result.scores]


def discredit(score: Score) -> Score:
    """Mark a score whose value rests on verdicts that agree with people no better than chance.

    None that rules alone decided.
    """
    if score.counts.by_rule or score.status not in (Status.OK, Status.UNRELIABLE):
        return score
    return replace(score, status=Status.UNTRUSTED_JUDGE, reason=Cause.JUDGE_BY_CHANCE)
