"""Certificates of judges beside the runs that they judged: a judge that agrees as by chance discredits what it said."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from quadrag.metric_record import find_verdict

from ..core.result import Result
from ..scoring.validity import discredit
from .certificate import Certificate, find_certificate, unique


def lay_beside(results: Iterable[Result], given: Sequence[Certificate] = ()) -> None:
    """Lay certificates beside results, for whoever shows them; mark what rests on a judge that is as good as chance.

    Where a judge's verdicts in one of them are far from what words say, what rests on the same of it in others is
    marked too: beside each other none is worth more.

    `given`: by the user now; they go before those that are kept with a run.
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
    """Name the judge of a run, with where it was asked, what answered to its name, and the prompt of its own."""
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
