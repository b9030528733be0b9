"""A certificate: how well a judge agrees with people, in a small file sealed by the sha256 of its other entries.

It stands for a judge where a run asked the same model with the same prompt for the same metric.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import chain
from pathlib import Path
from typing import Any

from quadrag import __version__
from quadrag.errors import QuadragError
from quadrag.metric_record import find_verdict
from quadrag.reading import parse_json
from quadrag.records import write_text
from quadrag.stats.agreement import Agreement

from ..core.result import Result
from ..scoring.validity import discredit
from ..tables.cells import write_number
from .asking import read_signature
from .figures import Figures, Intervals, find_free
from .verdicts import PROFILE

_FORM = "quadrag certificate 1"
_NO_KAPPA = 0.1  # as by chance, where it may be 0
_LITTLE = 0.05  # of the labels: what a judge must be better by


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is known of a judge."""

    form: str  # the form of the file
    quadrag: str  # the version that made it
    labels: dict[str, Any]  # the label set: name, source, sha256 of each file, how many labels, notes
    metric: str  # the evaluate module
    key: str  # its value that was graded
    judge: str  # the model, or what else judged
    service: str  # where it was asked
    prompts: list[str]  # the digests of the metric's prompt; none of a judge that no prompt was sent to
    profile: str  # how its replies were read
    # agreement, kappa, AC1 and their intervals, counts, classes, bias, ceiling, cost, all of the judge's own verdicts;
    # under `free` the best of what costs nothing; under `pipeline`, where rules decide some items, how far these and
    # the judge together agree with people, which is what the values of a run rest on
    figures: dict[str, Any]

    def write(self, path: Path) -> None:
        """Write the file."""
        write_text(path, json.dumps(self.row, ensure_ascii=False, indent=1) + "\n")

    @property
    def row(self) -> dict[str, Any]:
        """What the file holds: all of it, and its sum first."""
        row = json.loads(json.dumps(asdict(self)))
        return {"sum": _sum(row), **row}

    @classmethod
    def from_row(cls, row: Any, place: object) -> "Certificate":
        """Make a certificate of what its file, at `place`, holds; QuadragError where it is none, or was altered."""
        names = {"sum", *(one.name for one in fields(cls))}
        if not isinstance(row, dict) or row.get("form") != _FORM or set(row) != names:
            raise QuadragError(f"{place} is no certificate; expected one of `quadrag certify-judge --out`")
        given = {name: value for name, value in row.items() if name != "sum"}
        if row["sum"] != _sum(given):
            raise QuadragError(
                f"{place} was altered after it was made; make it again with `quadrag certify-judge --out`"
            )
        return cls(**given)

    def fits(self, signature: str) -> bool:
        """Tell whether a row of scores with this signature was judged by this judge with this prompt."""
        given = read_signature(signature)
        named = signature.partition("|")[0] == self.metric
        return named and given.get("judge") == self.judge and given.get("prompt") in self.prompts

    @property
    def sentence(self) -> str:
        """What a reader of a score is told."""
        found, name = self.figures, self.labels["name"]
        n = self.labels["n"]
        if n < (whole := self.labels.get("of", n)):
            name = f"{n} of {whole} labels of {name}"
        if "spearman" in found:
            return f"agrees with people on {name} by a rank correlation of {found['spearman']:.2f}"
        between = found["agreement_interval"]
        low_high = f" (95% {write_percent(between[0])}\u2013{write_percent(between[1])})" if between else ""
        said = f"{write_percent(found['agreement'])}%{low_high} on {name}, kappa {round_two(found['kappa'])}"
        if self.is_chance:
            return f"agrees with people no better than chance, {said}; do not use it"
        if self._may_be_chance and not self.is_worse:  # than a rule it is proven worse, whatever more labels say
            more = "label more items" if n == whole else f"ask it about all {whole} labels, without --limit"
            return f"agrees with people {said}{self._beside_free}; its kappa may be chance alone, so {more}"
        return f"agrees with people {said}{self._beside_free}"

    @property
    def is_chance(self) -> bool:
        """Whether the judge agrees with people no better than chance, so that its verdicts say nothing."""
        return self._may_be_chance and (self.figures["kappa"] or 0) <= _NO_KAPPA

    @property
    def is_worse(self) -> bool:
        """Whether a rule that costs nothing agrees with people more often than the judge."""
        return bool((self.figures.get("free") or {}).get("better"))

    @property
    def _may_be_chance(self) -> bool:
        kappa, between = self.figures["kappa"], self.figures["kappa_interval"]
        return kappa is None or (between[0] if between else kappa) <= 0

    @property
    def _beside_free(self) -> str:
        if not (free := self.figures.get("free")):
            return ""
        if self.is_worse:
            return f"; {free['name']} agrees more often, {write_percent(free['agreement'])}%, so do not use the judge"
        then = ", so the judge adds little" if self.figures["agreement"] < free["agreement"] + _LITTLE else ""
        then = then or ("" if free["beaten"] else ", and these labels cannot tell the two apart")
        return f"; {free['name']} agrees {write_percent(free['agreement'])}%{then}"


def certify(found: Figures) -> Certificate:
    """Make the certificate of what was measured."""
    labels, verdicts = found.labels, found.verdicts
    about = {
        "name": labels.name,
        "source": labels.source,
        "sha256": labels.files,
        "n": len(labels.items),
        "of": len(labels.items) + len(labels.left),
        "notes": labels.notes,
    }
    figures: dict[str, Any] = {"groups": found.groups, "grouped_by": labels.groups, "unreadable": found.unreadable}
    if found.correlation:
        figures |= found.correlation._asdict()
    if found.agreement:
        figures |= _agreed(found.agreement, found.intervals)
        if found.pipeline:
            figures["pipeline"] = {**_agreed(*found.pipeline), "by_rule": found.pipeline[0].n - found.agreement.n}
        figures |= {"classes": labels.classes, "values": list(labels.grades.values()), "confusion": found.table}
        figures["by_class"] = {name: one._asdict() for name, one in zip(labels.classes, found.classes, strict=True)}
        figures["bias"] = [one._asdict() for one in found.bias]
        figures["free"] = find_free(labels, verdicts)._asdict()
    figures["ceiling"] = found.ceiling._asdict() if found.ceiling else None
    figures["consistency"] = found.consistency
    figures |= {"usage": dict(verdicts.usage), "seconds": round(verdicts.seconds, 3)}
    return Certificate(
        _FORM,
        __version__,
        about,
        labels.graded.metric,
        labels.graded.key,
        verdicts.judge,
        verdicts.service,
        list(verdicts.prompts),
        PROFILE,
        figures,
    )


def _agreed(found: Agreement, intervals: Intervals) -> dict[str, Any]:
    kinds = ("agreement", "kappa", "ac1")
    values = dict(zip(kinds, (found.accuracy, found.kappa, found.ac1), strict=True))
    return {"n": found.n, **values, **{f"{kind}_interval": both for kind, both in zip(kinds, intervals, strict=True)}}


def read_certificate(path: Path) -> Certificate:
    """Read a certificate; QuadragError where there is none, or it was altered."""
    try:
        row = parse_json(path.read_bytes(), path, "a certificate of `quadrag certify-judge --out`")
    except OSError as error:
        raise QuadragError(f"cannot read {path} ({error.strerror}); expected a certificate") from None
    return Certificate.from_row(row, path)


def read_certificates(names: Sequence[str]) -> list[Certificate]:
    """Read certificates; errors as of `read_certificate`."""
    return [read_certificate(Path(name)) for name in names]


def find_certificate(certificates: Sequence[Certificate], signature: str) -> Certificate | None:
    """Return the first certificate that stands for the judge of a row; None where none does."""
    return next((one for one in certificates if one.fits(signature)), None)


def unique(certificates: Iterable[Certificate]) -> list[Certificate]:
    """Return certificates in their order, equal ones once."""
    found: list[Certificate] = []
    for one in certificates:
        found += [one] * (one not in found)
    return found


def round_two(value: float | None) -> str:
    """Round to two decimals, a half upwards, as 0.825 to 0.83."""
    return "unknown" if value is None else write_number(value + 1e-9, 2)


def write_percent(value: float) -> str:
    """Write a share in percent, a half upwards, as 0.825 as 83."""
    return f"{100 * value + 1e-7:.0f}"


def _sum(row: Any) -> str:
    return hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()


def lay_beside(results: Iterable[Result], given: Sequence[Certificate] = ()) -> None:
    """Lay certificates beside results, for whoever shows them; mark what rests on a judge that is as good as chance.

    Where a judge's verdicts in one of them are far from what words say, what rests on the same in others is marked too.
    `given` by the user go before those that are kept with a run.
    """
    results = list(results)
    doubtful = {(_name_judge(one), name) for one in results for name in chain(*one.run.doubtful_verdicts.values())}
    for result in results:
        place = f"the certificate kept in {result.folder}"
        kept = [Certificate.from_row(row, place) for row in result.run.certificates]
        result.certificates = unique([*given, *kept])
        for row in result.scores:
            verdict = find_verdict(row["metric"], row["key"])
            if is_by_chance(result, verdict):
                discredit(row)
            elif (_name_judge(result), verdict) in doubtful:
                discredit(row, beside=verdict not in chain(*result.run.doubtful_verdicts.values()))


def _name_judge(result: Result) -> tuple[Any, ...]:
    inputs = result.run.inputs
    known = (inputs.services, inputs.served_as)
    asked = [[(role, name) for role, name in sorted(one.items()) if role.startswith("judge")] for one in known]
    return inputs.judge, *map(tuple, asked), str((inputs.judging or {}).get("prompt", ""))


def is_by_chance(result: Result, verdict: str) -> bool:
    """Whether a run's certificates say that verdicts, as ``truthfulness.accuracy``, agree as by chance with people."""
    if not (verdict and result.certificates):
        return False
    signed = {row["signature"] for row in result.scores if f"{row['metric']}.{row['key']}" == verdict}
    found = (find_certificate(result.certificates, one) for one in signed)
    return any(one is not None and one.is_chance for one in found)
