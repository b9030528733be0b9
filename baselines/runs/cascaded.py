"""The cascade of a session's judges: which certificates say what each of them decides, and what is refused of one."""

from collections.abc import Sequence

from quadrag.errors import QuadragError

from ..core.benchmark import load
from ..core.settings import Conditions
from ..scoring.cascade import Cascade
from ..scoring.rules import RULE
from ..systems.system import Completer
from .request import CallRequest, RunRequest


def refuse_idle_cascade(calls: CallRequest) -> None:
    """Refuse, before a model is opened, a cascade of which nobody knows what its judges decide.

    Raises:
        QuadragError: no certificate of a cascade was given, or a rule was named.
    """
    if calls.judge_large is None:
        return
    if named := next((one for one in calls.all_judges if one.startswith(RULE)), None):
        raise QuadragError(f"--judge {named} is no model; rules come with the certificate of the cascade, leave it out")
    if not calls.cascades:
        raise QuadragError(
            f"--judge-large {calls.judge_large} needs labels that say where the other judge errs; "
            f"{_how(calls.judges, calls.judge_large)}"
        )


def find_cascades(calls: CallRequest, request: RunRequest, judges: Sequence[Completer]) -> list[Cascade]:
    """Return the cascades, by the certificates given, that are of these judges and of metrics of the benchmark.

    Raises:
        QuadragError: there is none.
    """
    models = [judge.model for judge in judges]
    if double := next((one for one in models if models.count(one) > 1), None):
        raise QuadragError(f"{double} is named twice in one cascade; expected another model as --judge-large")
    benchmark = load(request.named_benchmark())
    metrics = [use for config in benchmark.configs for use in benchmark.metrics(config, Conditions("", top_k=1))]
    judged = {(metric.module, key) for metric in metrics for key in metric.judged}
    fitting = [one for one in calls.cascades if one.models == models and (one.metric, one.key) in judged]
    if not fitting:
        found = "; ".join(f"{' > '.join(one.models)} for {one.metric}.{one.key}" for one in calls.cascades)
        raise QuadragError(
            f"no certificate is of the cascade {' > '.join(models)} for a metric of {benchmark.name}, "
            f"the given ones are of {found}; {_how(calls.judges, calls.judge_large)}"
        )
    return fitting


def _how(judges: Sequence[str], large: str | None) -> str:
    named = " ".join([*(f"--judge {one}" for one in judges or ["SMALL"]), f"--judge-large {large}"])
    return f"`quadrag certify-judge LABELS {named} --out FILE` makes a certificate, --certificate FILE gives it"
