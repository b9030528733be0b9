"""One's own system measured on a benchmark: `evaluate`."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from quadrag.baselines.certify.certificate import read_certificates
from quadrag.baselines.core.benchmark import load
from quadrag.baselines.core.task import known_options
from quadrag.baselines.report.facts import date_answers
from quadrag.baselines.runs.campaign import name_folder
from quadrag.baselines.runs.folder import ANSWERING
from quadrag.baselines.runs.request import RunRequest, make_task
from quadrag.baselines.runs.session import open_session
from quadrag.baselines.systems.function import Function
from quadrag.errors import QuadragError
from quadrag.measure.arguments import check_names, entrance, refuse_unknown
from quadrag.measure.calls import CALLS, take_calls
from quadrag.measure.evaluation import PAGE, Evaluation, check_profile
from quadrag.progress import say
from quadrag.run_record import NAME, RunRecord, read_run


@entrance
def evaluate(
    benchmark: str,
    config: str,
    system: Callable[[Any], Any],
    *,
    split: str | None = None,
    data_dir: str | None = None,
    judge: str | Sequence[str] = (),
    judge_large: str | None = None,
    certificate: str | Path | Sequence[str | Path] = (),
    limit: int | None = None,
    name: str | None = None,
    out: str | Path | None = None,
    profile: str = "official",
    batch_size: int | None = None,
    concurrency: int = 16,
    **options: Any,
) -> Evaluation:
    """Measure one's own system on a benchmark.

    Args:
        benchmark: its name, as ``crud_rag``.
        config: its config, as ``summary``.
        system: a function from a question (``.id .query .history .passages``, never the gold) to an answer, or to an
            answer and its passages, best first: ids, or objects with ``id`` and ``text``; or to a dictionary with
            ``answer`` and ``passages``. It may be a coroutine function. Of what it raises, the question is unscored.
        split: one split; all that are measured by default when None.
        data_dir: the folder of the upstream files, or ``sample``; what `quadrag prepare` built when None.
        judge: what judges, as ``http://127.0.0.1:8081/v1#MODEL``; several for benchmarks that take several.
        judge_large: what judges where `judge` is unsure or known to err, as a certificate of both says.
        certificate: files of `quadrag certify-judge`, which say how far a judge agrees with people.
        limit: the first questions of every split alone.
        name: what to call the system; the function's own name when None.
        out: the folder of the run. A run that stopped goes on there: questions that it answered are not asked again,
            unless `fresh` is True, which also asks a finished run's questions anew, in its place.
            A finished run that no judge was asked about may be given to one: its answers stand.
            When None, a folder below ``runs`` that no finished run is in.
        profile: ``official``, as the authors' code computes, or ``corrected``, as the paper defines.
        batch_size: hand the function lists of so many questions, for lists of as many results.
        concurrency: calls in flight, of a coroutine function and of the judge.
        options: of the benchmark, as ``noise_ratio=0.4``. Also, as options of `quadrag run`: how the judge is called,
            ``judge_format``, ``judge_max_tokens``, ``judge_service``, ``judge_served_as``, ``timeout``,
            ``max_reply_bytes`` and ``allow_redirect``; which of its kept replies count, ``ledger``, ``fresh``
            (of the system too), ``retry`` and ``reuse_unnamed``; ``bertscore``, and ``max_failed``.

    Returns:
        The scores by metric. The folder holds the page with all tables and answers, ``report.html``.

    Raises:
        QuadragError: a name or an option is unknown, files are missing, the judge is dead, `out` holds another run, or
            all of the first calls of the system failed.
    """
    named = [certificate] if isinstance(certificate, str | Path) else certificate
    certificates = read_certificates([str(one) for one in named])
    check_names(benchmark=benchmark, config=config)
    check_profile(profile)
    calls = replace(take_calls(judge, concurrency, options, judge_large, certificates), profile=profile)
    refuse_unknown(evaluate, options, (*CALLS, *known_options(load(benchmark), config)))
    if batch_size is not None and batch_size < 1:
        raise QuadragError(f"batch_size is {batch_size}; expected a whole number from 1, or None")
    if concurrency < 1:
        raise QuadragError(f"concurrency is {concurrency}; expected a whole number from 1")
    if not callable(system):
        raise QuadragError(f"the system is a {type(system).__name__}; expected a function from a question to an answer")
    record = load(benchmark)
    request = RunRequest(benchmark, config, split, data_dir, options, limit, retriever=record.supplied)
    task = make_task(request)
    function = Function(system, name, batch_size, concurrency)
    folder = Path(out) if out is not None else _find_folder(name_folder(task, function.name))
    made = read_run(folder) if (folder / NAME).exists() and not calls.kept.fresh else None
    judged_later = made and calls.judges and made.inputs.judge is None and made.inputs.limit == limit
    if made and _is_done(made) and not judged_later:
        raise QuadragError(
            f"{folder} holds a finished run, whose answers are of {date_answers([made])}; whether the system has "
            "changed cannot be seen: fresh=True asks it anew, out=... names another folder, and quadrag.result reads "
            "this one"
        )
    function.kept = folder / ANSWERING
    with open_session(request, calls, system=function) as session:
        found = session.run(task, folder)
    if made and _is_done(made):
        say(f"the answers of {date_answers([made])} are judged; the function was not asked")
    found.certificates = certificates
    measured = Evaluation(found, folder, profile)
    measured.report(folder / PAGE, ledger=None if calls.ledger is None else str(calls.ledger))
    for line in measured.invalid:
        warnings.warn(f"INVALID, {line}", stacklevel=3)  # of the caller, beyond the decorator
    return measured


def _find_folder(wanted: str) -> Path:
    """Return the first folder of a name, with a number from the second on, that holds no run that is done."""
    number = 1
    while True:
        folder = Path(wanted if number == 1 else f"{wanted}-{number}")
        if not (folder / NAME).exists() or not _is_done(read_run(folder)):
            return folder
        number += 1


def _is_done(run: RunRecord) -> bool:
    """Whether a run is finished, and not one whose judge was asked no further: that may be judged again."""
    return run.state == "finished" and run.unread_judge is None
