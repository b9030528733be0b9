"""A certificate: how well a judge agrees with people, in a small file sealed by the sha256 of its other entries.

Its figures are of the judge's own verdicts, those that can be read; with what a metric's rules decide they make the
pipeline, which a run's values rest on. It stands for a judge where a run asked the same model with the same prompt for
the same metric. How one is made stands in `quadrag.judges`.
"""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

from quadrag.errors import QuadragError, parse_json
from quadrag.stats import NOT_APPLICABLE

from .items import Lines
from .record import Note, NoteCode, RunRecord, sum_of
from .run import PROFILES, Cause, Run, Score, Status, record_of

FIRST = 12  # verdicts of a judge: where none of these can be read, it is asked no further
_LEAST = 2  # verdicts that can be the same
_TO_CHECK, _OFTEN = 3, 0.5  # answers that words find right and a judge wrong, and their share: too many to be chance
_SOME, _FAR = 10, 0.5  # verdicts, and how far their mean is from what words say: nobody can believe both
# In what verdicts are not what words say: many are against answers that words find right, as an inverted judge's are,
# or their mean is far from what words say on average.
REFUSED, FAR = "refused", "far"

Verdicts: TypeAlias = Sequence[float | str | None]  # of answers; None where nothing was said
Said: TypeAlias = Mapping[str, Verdicts]  # by one metric, by score


def read_verdicts(lines: Lines, name: str) -> list[float | str | None]:
    """Read a metric's verdicts from its items: by `corrected`, but where a rule decides by that profile alone."""
    found: list[float | str | None] = []
    for line in lines:
        entry = line.get(name, {})
        asked = [profile for profile in PROFILES if profile in entry and profile not in entry.get("ruled", ())]
        reading = entry.get("reason", {}).get(asked[-1], entry[asked[-1]]) if asked else None
        found.append(read_verdict(name, reading))
    return found


def read_verdict(name: str, reading: float | str | None) -> float | str | None:
    """Return what a judge said: a value or, where it may say that a key does not apply, that; else None."""
    may = None in record_of(name).grades.values()
    return None if isinstance(reading, str) and not (may and reading == NOT_APPLICABLE) else reading


def check_judge(judge: str, said: Sequence[Said], lines: Lines) -> list[Note]:
    notes, alike = [], []
    for each in said:
        heard = {name: [verdict for verdict in verdicts if verdict is not None] for name, verdicts in each.items()}
        alike.append({name: own for name, own in heard.items() if len({*own}) == 1 and len(own) >= _LEAST})
    if any(alike):
        verdicts = {name: own[0] for each in alike for name, own in each.items()}
        count = sum(max(map(len, each.values()), default=0) for each in alike)  # one verdict may have several keys
        # Where others on its panel tell answers apart, so does the mean.
        marked = [name for name in verdicts if len({*read_verdicts(lines, name)} - {None}) == 1]
        params = {"judge": judge, "count": count, "verdicts": verdicts, "keys": marked}
        notes.append(Note(NoteCode.JUDGE_CONSTANT, params))
    for each in said:
        for name, own in each.items():
            if doubt := _find_doubt(name, own, lines):
                notes.append(Note(NoteCode.JUDGE_DOUBTFUL, {"judge": judge, "score": name, **doubt, "keys": [*each]}))
    return notes


def _find_doubt(name: str, verdicts: Verdicts, lines: Lines) -> dict[str, Any] | None:
    """Find verdicts against answers that words find right, or whose mean is far from theirs."""
    record = record_of(name)
    heard = [(verdict, line) for verdict, line in zip(verdicts, lines, strict=True) if verdict is not None]
    by_words = {words: [line.get(words, {}).get(PROFILES[0]) for _, line in heard] for words in record.words}
    wrong = record.range[0] or 0.0
    right = [verdict for (verdict, _), *own in zip(heard, *by_words.values(), strict=True) if 1 in own]
    refused = right.count(wrong)
    if refused >= max(_LEAST if refused == len(right) else _TO_CHECK, _OFTEN * len(right)):
        return {"doubt": REFUSED, "verdict": wrong, "n": refused, "of": len(right)}

    numbers = [verdict for verdict, _ in heard if not isinstance(verdict, str)]
    known = {words: values for words, own in by_words.items() if (values := [v for v in own if v is not None])}
    if len(numbers) < _SOME or len({*numbers}) == 1 or not known:
        return None
    gaps = {words: abs(fmean(numbers) - fmean(values)) for words, values in known.items()}
    words = min(gaps, key=gaps.__getitem__)
    # Other words than those asked for may mean the same, and a grade says more: a judge sees it.
    if gaps[words] < _FAR or record_of(words).phrase or not {*known[words]} <= {0, 1}:
        return None
    ((verdict, n),) = Counter(numbers).most_common(1)
    counts = {"n": n, "of": len(numbers), "right": known[words].count(1), "known": len(known[words])}
    return {"doubt": FAR, "verdict": verdict, "words": words, **counts}


class Use(StrEnum):
    """What a judge may be used for."""

    NOTHING = "nothing"  # it agrees with people no better than chance
    UNKNOWN = "unknown"  # its agreement may be chance alone, of so few labels
    RANKING = "ranking"  # of systems further apart than the share of verdicts that people may not share
    ALONE = "alone"  # it agrees with people as they do with each other


FORM = "quadrag certificate 1"
_NO_KAPPA = 0.1  # as by chance, where it may be 0
_NONE = "none"  # in a signature


@dataclass(frozen=True, slots=True)
class Certificate:
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

    @property
    def row(self) -> dict[str, Any]:
        row = asdict(self)
        return {"sum": sum_of(row), **row}

    @classmethod
    def from_row(cls, row: Any, place: object) -> "Certificate":
        """Read a certificate as it is kept at `place`; QuadragError where it is none, or was altered."""
        names = [field.name for field in fields(cls)]
        entries: dict[str, Any] = {name: row.get(name) for name in names} if isinstance(row, dict) else {}
        if entries.get("form") != FORM or row != {"sum": sum_of(entries), **entries}:
            raise QuadragError(
                f"{place} is no certificate, or was altered; expected one of `quadrag certify-judge --out`"
            )
        return cls(**entries)

    def fits(self, signature: str) -> bool:
        signed = read_signature(signature)
        named = signature.partition("|")[0] == self.metric
        return named and signed.get("judge") == self.judge and signed.get("prompt") in self.prompts

    @property
    def is_chance(self) -> bool:
        return find_use(self.figures)[0] is Use.NOTHING

    def note(self, keys: Sequence[str]) -> Note:
        figures = self.figures
        between = figures["agreement_interval"]
        low_high = f" (95% {_percent(between[0])}\u2013{_percent(between[1])})" if between else ""
        params: dict[str, Any] = {"judge": self.judge, "agreement": f"{_percent(figures['agreement'])}%{low_high}"}
        params |= {"labels": self.labels["name"], "kappa": round_two(figures["kappa"]), "keys": list(keys)}
        use, apart = find_use(figures)
        if use is Use.NOTHING:
            return Note(NoteCode.JUDGE_BY_CHANCE, params)
        return Note(NoteCode.JUDGE_AGREEMENT, params | {"kind": use.value, "apart": _percent(apart)})


def find_use(figures: Mapping[str, Any]) -> tuple[Use, float]:
    """Find what a judge may be used for, and the share of verdicts that people may not share, at most.

    Errors that all favour one of two systems move their values apart by no more than that share of the answers.
    """
    kappa, between, ceiling = figures["kappa"], figures["kappa_interval"], figures["ceiling"]
    apart = 1 - (figures["agreement_interval"] or [figures["agreement"]])[0]
    if kappa is None or (between[0] if between else kappa) <= 0:
        return (Use.NOTHING if (kappa or 0) <= _NO_KAPPA else Use.UNKNOWN), apart
    return (Use.ALONE if ceiling and kappa >= ceiling["kappa"] > 0 else Use.RANKING), apart


def round_two(value: float | None) -> str:
    """Round to two decimals, a half upwards, as 0.825 to 0.83."""
    text = "unknown" if value is None else f"{value + 1e-9:.2f}"
    return "0.00" if text == "-0.00" else text


def _percent(value: float) -> str:
    return f"{100 * value + 1e-7:.0f}"


def read_signature(signature: str) -> dict[str, str]:
    fields = (part.partition(":") for part in signature.split("|")[1:])
    return {name: value for name, _, value in fields}


def read_certificates(names: Sequence[str]) -> list[Certificate]:
    certificates = []
    for name in names:
        try:
            row = parse_json(Path(name).read_bytes(), name, "a certificate of `quadrag certify-judge --out`")
        except OSError as error:
            raise QuadragError(f"cannot read {name} ({error.strerror}); expected a certificate") from None
        certificates.append(Certificate.from_row(row, name))
    return certificates


def kept_certificates(run: RunRecord) -> list[Certificate]:
    return [Certificate.from_row(row, "run.json") for row in run.certificates]


def find_certificate(certificates: Sequence[Certificate], signature: str) -> Certificate | None:
    return next((certificate for certificate in certificates if certificate.fits(signature)), None)


def mark_by_chance(scores: Sequence[Score], certificates: Sequence[Certificate]) -> list[Score]:
    first_fits = {score.key.name: find_certificate(certificates, score.signature) for score in scores}
    by_chance = {name for name, certificate in first_fits.items() if certificate and certificate.is_chance}
    return [discredit(score) if score.key.verdict in by_chance else score for score in scores]


def discredit(score: Score) -> Score:
    """Mark a score as resting on verdicts that say nothing; none that rules alone decided."""
    if score.counts.by_rule or score.status not in (Status.OK, Status.UNRELIABLE):
        return score
    return replace(score, status=Status.UNTRUSTED_JUDGE, reason=Cause.JUDGE_BY_CHANCE)


def note_judges(results: Sequence[Run], profile: str = PROFILES[0]) -> list[Note]:
    """Say of each judge of some runs how far it agrees with people, by the runs' certificates, or that nobody knows.

    Also of certificates that fit nothing.
    """
    certified: dict[str, tuple[Certificate, dict[str, None]]] = {}
    uncertified: dict[str, tuple[Run, dict[str, None]]] = {}
    kept: dict[str, Certificate] = {}
    for result in results:
        certificates = kept_certificates(result.record)
        kept |= {str(certificate): certificate for certificate in certificates}
        for score in result.whole(profile):
            if not _is_judged(score) or score.status is Status.INVALID or score.counts.by_rule:
                continue
            judge = read_signature(score.signature)["judge"]
            if certificate := find_certificate(certificates, score.signature):
                certified.setdefault(str(certificate.note(())), (certificate, {}))[1][score.label] = None
            elif score.status is not Status.UNTRUSTED_JUDGE:  # that says more
                uncertified.setdefault(judge, (result, {}))[1][score.label] = None
    notes = [certificate.note([*keys]) for certificate, keys in certified.values()]
    for judge, (result, keys) in uncertified.items():
        params = {"judge": judge, "folder": shlex.quote(str(result.folder or "RUN")), "keys": [*keys]}
        notes.append(Note(NoteCode.JUDGE_UNCERTIFIED, params))
    signatures = [score.signature for result in results for score in result.scores if _is_judged(score)]
    unused = [certificate for certificate in kept.values() if not any(map(certificate.fits, signatures))]
    return notes + [
        Note(NoteCode.CERTIFICATE_UNUSED, {"judge": certificate.judge, "labels": certificate.labels["name"]})
        for certificate in unused
    ]


def _is_judged(score: Score) -> bool:
    signed = read_signature(score.signature)
    asked = signed.get("judge", _NONE) != _NONE and signed.get("prompt", _NONE) != _NONE
    return asked and score.ran and score.record.needs == "judge"
