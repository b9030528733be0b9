"""A certificate: how well a judge agrees with people, in a small file sealed by the sha256 of its other entries.

Its figures are of the judge's own verdicts, those that can be read; with what a metric's rules decide they make the
pipeline, which a run's values rest on. It stands for a judge where a run asked the same model with the same prompt for
the same metric.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quadrag import __version__
from quadrag.errors import QuadragError
from quadrag.metric_record import find_verdict
from quadrag.reading import parse_json
from quadrag.records import write_text
from quadrag.stats import SEED, mcnemar, summarise, wilson
from quadrag.stats import Item as Value
from quadrag.stats.agreement import Agreement, agreement, agreement_intervals, class_figures, count_pairs

from ..core.result import Result
from ..results.adapter import discredit
from ..results.note import NoteCode, keys_of
from ..results.score import Cause
from ..tables.cells import FEW, write_number
from .ask import PROFILE, Verdicts, known_verdicts, list_judged, list_judges, read_signature
from .labels import Item, LabelSet
from .rules import RULE

CHANCE = 0.05  # p of a paired test
_FORM = "quadrag certificate 1"
_FEWEST = 10  # items of a part that is shown
_CORRELATION_DRAWS = 2000
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
    # the judge together agree with people
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
        if (
            not isinstance(row, dict)
            or row.get("form") != _FORM
            or {*row} != {"sum", *(one.name for one in fields(cls))}
        ):
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
    def is_chance(self) -> bool:
        """Whether the judge agrees with people no better than chance, so that its verdicts say nothing."""
        return self._may_be_chance and (self.figures["kappa"] or 0) <= _NO_KAPPA

    @property
    def is_worse(self) -> bool:
        """Whether a rule that costs nothing agrees with people more often than the judge."""
        return bool((self.figures.get("free") or {}).get("better"))

    @property
    def _may_be_chance(self) -> bool:
        if "spearman" in self.figures:
            return False
        kappa, between = self.figures["kappa"], self.figures["kappa_interval"]
        return kappa is None or (between[0] if between else kappa) <= 0

    @property
    def sentence(self) -> str:
        """What a reader of a score is told."""
        figures, name, n = self.figures, self.labels["name"], self.labels["n"]
        if n < (whole := self.labels.get("of", n)):
            name = f"{n} of {whole} labels of {name}"
        if "spearman" in figures:
            return f"agrees with people on {name} by a rank correlation of {figures['spearman']:.2f}"
        between = figures["agreement_interval"]
        low_high = f" (95% {_percent(between[0])}\u2013{_percent(between[1])})" if between else ""
        said = f"{_percent(figures['agreement'])}%{low_high} on {name}, kappa {round_two(figures['kappa'])}"
        if self.is_chance:
            return f"agrees with people no better than chance, {said}; do not use it"
        said = f"agrees with people {said}{self._beside_free}"
        if self._may_be_chance and not self.is_worse:  # than a rule it is proven worse, whatever more labels say
            return f"{said}; its kappa may be chance alone, so label more items"
        return said

    @property
    def _beside_free(self) -> str:
        if not (free := self.figures.get("free")):
            return ""
        if self.is_worse:
            return f"; {free['name']} agrees more often, {_percent(free['agreement'])}%, so do not use the judge"
        then = "" if free["beaten"] else ", and these labels cannot tell the two apart"
        if self.figures["agreement"] < free["agreement"] + _LITTLE:
            then = ", so the judge adds little"
        return f"; {free['name']} agrees {_percent(free['agreement'])}%{then}"


def round_two(value: float | None) -> str:
    """Round to two decimals, a half upwards, as 0.825 to 0.83."""
    return "unknown" if value is None else write_number(value + 1e-9, 2)


def _percent(value: float) -> str:
    """Write a share in percent, a half upwards, as 0.825 as 83."""
    return f"{100 * value + 1e-7:.0f}"


def _sum(row: Any) -> str:
    return hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()


def certify(labels: LabelSet, verdicts: Verdicts) -> Certificate:
    """Hold a judge's verdicts, of which there must be one, against people's labels."""
    judged = list_judged(labels, verdicts)
    ruled = [item for item in labels.items if item.id in verdicts.by_rule]
    lacking = {item.id for item in labels.items} - {item.id for item in (*judged, *ruled)}
    said = [str(verdicts.given[item.id]) for item in judged]
    figures: dict[str, Any] = {
        "groups": count_groups(judged),
        "grouped_by": labels.groups,
        "unreadable": Counter(verdicts.reasons.get(name, "unreadable") for name in lacking),
    }
    if labels.ranked:
        figures |= _correlate(judged, said)
    else:
        table = count_pairs([item.label for item in judged], said, labels.classes)
        figures |= _agree(labels, judged, said)
        if ruled:
            both = [*said, *(verdicts.by_rule[item.id] for item in ruled)]
            figures["pipeline"] = {**_agree(labels, [*judged, *ruled], both), "by_rule": len(ruled)}
        figures |= {"classes": labels.classes, "values": list(labels.grades.values()), "confusion": table.tolist()}
        figures["by_class"] = dict(zip(labels.classes, class_figures(table), strict=True))
        figures["bias"] = list(_biases(labels, judged, said))
        figures["free"] = _find_free(labels, judged, verdicts)
    ceiling = measure_ceiling(labels)
    figures["ceiling"] = ceiling._asdict() if ceiling else None
    figures |= {"usage": dict(verdicts.usage), "seconds": round(verdicts.seconds, 3)}
    n = len(labels.items)
    about = {"name": labels.name, "source": labels.source, "sha256": labels.files, "n": n, "of": n + len(labels.left)}
    about["notes"] = labels.notes
    metric, key, prompts = labels.graded.metric, labels.graded.key, list(verdicts.prompts)
    plain = json.loads(json.dumps([about, figures]))  # as the file has it
    judge, service = verdicts.judge, verdicts.service
    return Certificate(_FORM, __version__, plain[0], metric, key, judge, service, prompts, PROFILE, plain[1])


def count_groups(items: Sequence[Item]) -> int:
    """Count the questions, or what else groups items."""
    return len({item.drawn for item in items})


def tell_few(groups: int) -> str:
    """Say that labels of so few questions tell nothing of a judge; "" of enough."""
    several = "s" * (groups != 1)
    told = f"labels of {groups} question{several} tell nothing of a judge: label {FEW} questions or more"
    return told if groups < FEW else ""


def _agree(labels: LabelSet, items: Sequence[Item], said: Sequence[str]) -> dict[str, Any]:
    given = [item.label for item in items]
    table = count_pairs(given, said, labels.classes)
    n, accuracy, kappa, ac1 = agreement(table)
    intervals: Sequence[Any] = (None, None, None)
    if (groups := count_groups(items)) >= FEW:
        intervals = agreement_intervals(given, said, [item.drawn for item in items], labels.classes)
        if groups == n:
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
    return agreement(count_pairs(first, second, labels.classes))


def _biases(labels: LabelSet, judged: Sequence[Item], said: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield how far the judge's mean is off people's, by slice, length of the answer and, of pairs, position."""
    values = labels.grades
    rows = [
        (item, verdict)
        for item, verdict in zip(judged, said, strict=True)
        if values[item.label] is not None and values[verdict] is not None
    ]
    lengths = sorted(len(item.answer) for item, _ in rows)
    cuts = [lengths[len(lengths) * part // 3] for part in (1, 2)] if lengths else [0, 0]
    names = (f"under {cuts[0]}", f"{cuts[0]} to {cuts[1] - 1}", f"from {cuts[1]}")
    parts: dict[tuple[str, str], list[tuple[Item, str]]] = {}
    for item, verdict in rows:
        places = list(item.slices.items())
        if labels.pairs:
            places.append(("position", "second over first"))
        elif item.answer and cuts[0] < cuts[1]:
            places.append(("characters", names[sum(len(item.answer) >= cut for cut in cuts)]))
        for place in places:
            parts.setdefault(place, []).append((item, verdict))
    order = {name: at for at, name in enumerate(names)}
    for (slicing, name), here in sorted(parts.items(), key=lambda part: (part[0][0], order.get(part[0][1], 0))):
        if (n := len(here)) < _FEWEST:
            continue
        given, verdicts = [item.label for item, _ in here], [verdict for _, verdict in here]
        people, judge = ([float(values[grade] or 0) for grade in column] for column in (given, verdicts))
        off = [Value(item.drawn, b - a) for (item, _), a, b in zip(here, people, judge, strict=True)]
        equal = agreement(count_pairs(given, verdicts, labels.classes))
        yield {
            **{"slicing": slicing, "name": name, "n": n, "people": sum(people) / n, "judge": sum(judge) / n},
            **{"off": summarise(off).interval, "accuracy": equal.accuracy, "kappa": equal.kappa},
        }


def _correlate(judged: Sequence[Item], said: Sequence[str]) -> dict[str, Any]:
    """Return rank correlations of numbers, and the interval of Spearman's."""
    from scipy.stats import kendalltau, rankdata, spearmanr

    people, judge = [float(item.label) for item in judged], list(map(float, said))
    if len(set(people)) < 2 or len(set(judge)) < 2:
        raise QuadragError("all labels, or all verdicts, are one number; expected several to rank")
    by_group: dict[str, list[int]] = {}
    for place, item in enumerate(judged):
        by_group.setdefault(item.drawn, []).append(place)
    places = list(by_group.values())
    rng = np.random.RandomState(SEED)
    a, b = rankdata(people), rankdata(judge)
    drawn = []
    for _ in range(_CORRELATION_DRAWS):
        chosen = np.concatenate([places[at] for at in rng.randint(0, len(places), len(places))])
        drawn.append(np.corrcoef(rankdata(a[chosen]), rankdata(b[chosen]))[0, 1])
    between = np.nanquantile(drawn, [0.025, 0.975]).tolist() if len(places) >= FEW else None
    rho, tau = spearmanr(people, judge).statistic, kendalltau(people, judge).statistic
    return {"n": len(people), "spearman": float(rho), "kendall": float(tau), "interval": between}


class Against(NamedTuple):
    """Two judges on the items that both have a verdict on: how often each alone is right, and McNemar's mid-p."""

    n: int
    first_only: int
    second_only: int
    p: float


def compare(labels: LabelSet, first: Verdicts, second: Verdicts) -> Against:
    """Test two judges on the items on which both have a verdict; QuadragError for ranked labels or no such item."""
    if labels.ranked:
        raise QuadragError(f"{labels.name} is ranked; --against tests judges that say a grade")
    hits = [
        (one == item.label, other == item.label)
        for item in labels.items
        if (one := first.given.get(item.id)) is not None and (other := second.given.get(item.id)) is not None
    ]
    if not hits:
        raise QuadragError(f"{first.judge} and {second.judge} have no item in common; expected verdicts on the same")
    first_only, second_only = sum(a > b for a, b in hits), sum(b > a for a, b in hits)
    return Against(len(hits), first_only, second_only, mcnemar(first_only, second_only))


def _find_free(labels: LabelSet, judged: Sequence[Item], judge: Verdicts) -> dict[str, Any]:
    """Find what costs nothing and agrees with people most often, on the items on which a judge has a verdict.

    `beaten` says whether the judge is right more often, `better` whether it is a rule that is so.
    """
    ((commonest, count),) = Counter(item.label for item in judged).most_common(1)
    best = f"always saying {commonest}", count, Verdicts("", dict.fromkeys((item.id for item in judged), commonest))
    for name in list_judges(labels):
        if name.startswith(RULE) and not judge.judge.startswith(RULE):
            said = known_verdicts(labels, name)
            count = sum(said.given[item.id] == item.label for item in judged)
            best = max(best, (f"the free rule {name.removeprefix(RULE)}", count, said), key=lambda one: one[1])
    against = compare(labels, judge, best[2])
    apart, gain = against.p < CHANCE, against.first_only - against.second_only
    better = apart and gain < 0 and best[2].judge.startswith(RULE)
    return {"name": best[0], "agreement": best[1] / len(judged), "beaten": apart and gain > 0, "better": better}


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
    return next((certificate for certificate in certificates if certificate.fits(signature)), None)


def unique(certificates: Iterable[Certificate]) -> list[Certificate]:
    """Return certificates in their order, equal ones once."""
    kept: list[Certificate] = []
    for certificate in certificates:
        if certificate not in kept:
            kept.append(certificate)
    return kept


def lay_beside(results: Iterable[Result], given: Sequence[Certificate] = ()) -> None:
    """Lay certificates beside results, for whoever shows them; mark what rests on a judge that is as good as chance.

    Where a judge's verdicts in one of them are far from what words say, what rests on the same in others is marked too.
    `given` by the user go before those that are kept with a run.
    """
    results = list(results)
    doubtful = {
        (_name_judge(result), name) for result in results for name in keys_of(result.run, NoteCode.JUDGE_DOUBTFUL)
    }
    for result in results:
        place = f"the certificate kept in {result.folder}"
        kept = [Certificate.from_row(row, place) for row in result.run.certificates]
        result.certificates = unique([*given, *kept])
        for row in result.scores:
            verdict = find_verdict(row["metric"], row["key"])
            if is_by_chance(result, verdict):
                discredit(row)
            elif (_name_judge(result), verdict) in doubtful:
                discredit(row, Cause.JUDGE_DOUBTFUL_BESIDE)


def _name_judge(result: Result) -> tuple[Any, ...]:
    run = result.run
    asked = [(role, name) for role, name in sorted(run.services.items()) if role.startswith("judge")]
    return run.judge, tuple(asked), str((run.judging or {}).get("prompt", ""))


def is_by_chance(result: Result, verdict: str) -> bool:
    """Whether a run's certificates say that verdicts, as ``truthfulness.accuracy``, agree as by chance with people."""
    if not (verdict and result.certificates):
        return False
    signed = {row["signature"] for row in result.scores if f"{row['metric']}.{row['key']}" == verdict}
    certificates = (find_certificate(result.certificates, signature) for signature in signed)
    return any(certificate is not None and certificate.is_chance for certificate in certificates)
