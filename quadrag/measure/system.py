"""One's own system measured on a benchmark: `evaluate`."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from quadrag.baselines.core.benchmark import load
from quadrag.baselines.core.run_record import NAME, RunRecord, read_run
from quadrag.baselines.core.spec import NONE, CallPolicy, RunSpec
from quadrag.baselines.core.task import known_options
from quadrag.baselines.judges.certificate import lay_beside, read_certificates
from quadrag.baselines.report.facts import date_answers
from quadrag.baselines.runs.campaign import name_folder
from quadrag.baselines.runs.models import open_models
from quadrag.baselines.runs.plan import plan_run
from quadrag.baselines.runs.run import run
from quadrag.baselines.systems.function import Function
from quadrag.chat.reply import FAILED
from quadrag.errors import QuadragError
from quadrag.labels import choose_labels
from quadrag.measure.arguments import check_count, check_names, entrance, refuse_unknown
from quadrag.measure.calls import CALLS, take_calls
from quadrag.measure.evaluation import PAGE, Evaluation, check_profile, tell_retries
from quadrag.progress import say


@entrance
def evaluate(
    benchmark: str,
    config: str,
    system: Callable[[Any], Any],
    *,
    split: str | None = None,
    data_dir: str | None = None,
    judge: str | Sequence[str] | None = None,
    certificate: str | Path | Sequence[str | Path] = (),
    limit: int | None = None,
    name: str | None = None,
    out: str | Path | None = None,
    profile: str = "official",
    labels: str | None = None,
    batch_size: int | None = None,
    concurrency: int = 16,
    **options: Any,
) -> Evaluation:
    """Measure one's own system on a benchmark.

    Args:
        benchmark: its name, as ``crud_rag``.
        config: its config, as ``summary``.
        system: a function from a question (``.id .query .history .passages``, never the gold) to an answer, or to an
            answer and its passages, best first: ids, objects with ``id`` and ``text``, or pairs of these with a score;
            or to a dictionary with ``answer`` and ``passages``. It may be a coroutine function. Of what it raises, the
            question is unscored.
        split: one split; all that are measured by default when None.
        data_dir: the folder of the upstream files, or ``sample``; what `quadrag prepare` built when None.
        judge: what judges, as ``http://127.0.0.1:8081/v1#MODEL``; several for benchmarks that take several.
        certificate: files of `quadrag certify-judge`, which say how far a judge agrees with people.
        limit: the first questions of every split alone.
        name: what to call the system; the function's own name when None, or ``lambda``.
        out: the folder of the run. A run that stopped goes on there: questions that it answered are not asked again,
            unless `fresh` is True, which also asks a finished run's questions anew, in its place.
            A finished run that no judge was asked about, or in vain, may be given to one: its answers stand.
            When None, a folder below ``runs`` that no finished run is in, unless it was judged in vain, or `retry` or a
            greater `max_failed` is of it.
        profile: ``official``, as the authors' code computes, or ``corrected``, as the paper defines.
        labels: ``en`` or ``zh``, the language of the result and of its page; that of QUADRAG_LABELS, or English, when
            None.
        batch_size: hand the function lists of so many questions, for lists of as many results.
        concurrency: calls in flight, of a coroutine function and of the judge.
        options: of the benchmark, as ``noise_ratio=0.4``. Also, as options of `quadrag run`: how the judge is called,
            ``judge_format``, ``judge_max_tokens``, ``judge_name``, ``timeout``,
            ``max_reply_bytes``; which of its kept replies count, ``ledger``, ``fresh``
            (of the system too) and ``retry``; ``bertscore``, and ``max_failed``. Of a finished run
            ``retry="unreadable"`` asks the judge alone again, and ``retry="failed"`` the system about the questions
            alone on which it failed.

    Returns:
        The scores by metric. The folder holds the page with all tables and answers, ``report.html``.

    Raises:
        QuadragError: a name or an option is unknown, files are missing, the judge is dead, `out` holds another run, or
            none to retry, or all of the first calls of the system failed.
    """
    named = [certificate] if isinstance(certificate, str | Path) else certificate
    certificates = read_certificates([str(one) for one in named])
    check_names(benchmark=benchmark, config=config, split=split, **({} if name is None else {"name": name}))
    check_profile(profile)
    shown_in = choose_labels(labels)
    judged, policy = take_calls(benchmark, judge, concurrency, options, certificates)
    policy = replace(policy, profile=profile)
    refuse_unknown(evaluate, options, (*CALLS, *known_options(load(benchmark), config)))
    check_count("batch_size", batch_size, may_lack=True)
    check_count("concurrency", concurrency)
    if not isinstance(out, str | Path | None):
        raise QuadragError(f"out is {out!r}; expected the path of a folder")
    if not callable(system):
        raise QuadragError(f"the system is a {type(system).__name__}; expected a function from a question to an answer")
    record = load(benchmark)
    shown = (record.find_supplied(config) or NONE) if record.supplied else None  # without, the function searches
    called = name or _name_function(system)
    own = called or getattr(system, "__name__", type(system).__name__)
    said: dict[str, Any] = {
        "benchmark": benchmark,
        "config": config,
        "split": split,
        "data_dir": data_dir,
        "limit": limit,
    }
    said |= {"options": options, "system": {"function": own}, **judged}
    spec = plan_run(said | ({"retriever": shown} if shown else {}), what="evaluate")
    function = Function(system, called, batch_size, concurrency)
    folder = (
        Path(out) if out is not None else _find_folder(name_folder(spec, function.name.replace("/", "_")), spec, policy)
    )
    exists = (folder / NAME).exists()
    if FAILED in policy.retry and not exists:
        raise QuadragError(f"{folder} holds no run to retry; name the run's folder with out=..., or leave out retry")
    made = read_run(folder) if exists and not policy.fresh else None
    judged_later = made and spec.judges and made.judge is None and made.limit == limit
    if made and not judged_later and not _goes_on(made, spec, policy):
        raise QuadragError(
            f"{folder} holds a finished run, whose answers are of {date_answers([made])}; whether the system has "
            "changed cannot be seen: fresh=True asks it anew, out=... names another folder, and quadrag.result reads "
            f"this one{tell_retries(made)}"
        )
    with open_models(spec, policy, system=function) as models:
        found = run(spec, policy, models, folder)
    if made and made.state == "finished" and not (FAILED in policy.retry and made.failures):
        done = "shown again" if found.reused else "judged" if spec.judges else "scored again"
        none = "no question failed; " * (FAILED in policy.retry and found.reused)
        say(f"{none}the answers of {date_answers([made])} are {done}; the function was not asked")
    lay_beside([found])
    measured = Evaluation(found, folder, profile, shown_in)
    measured.report(folder / PAGE)
    for line in measured.invalid:
        warnings.warn(f"INVALID, {line}", stacklevel=3)  # of the caller, beyond the decorator
    return measured


def _name_function(system: Any) -> str | None:
    """Name a function as a sentence can; None where its own name will do."""
    if isinstance(system, partial):
        return _name_function(system.func) or getattr(system.func, "__name__", type(system.func).__name__)
    return "lambda" if getattr(system, "__name__", None) == "<lambda>" else None


def _find_folder(wanted: str, spec: RunSpec, policy: CallPolicy) -> Path:
    """Return the last folder of a name, with a number from the second on, or the next if its run does not go on."""
    number, folder = 1, Path(wanted)
    while (folder / NAME).exists():
        last, number = folder, number + 1
        folder = Path(f"{wanted}-{number}")
    return last if number > 1 and _goes_on(read_run(last), spec, policy) else folder


def _goes_on(made: RunRecord, spec: RunSpec, policy: CallPolicy) -> bool:
    """Whether a run is to go on: not one that is finished, unless something is asked again whose answers stand."""
    if made.state != "finished":
        return True
    if made.limit != spec.limit:  # the questions are others
        return False
    in_vain = bool(spec.judges) and made.judged_in_vain
    return in_vain or bool(policy.retry) or (made.has_note("invalid") and policy.max_failed > made.max_failed)
