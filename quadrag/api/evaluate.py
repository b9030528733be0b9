"""One's own system measured on a benchmark, and what it is measured with: its questions and its corpus."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from quadrag.benchmark import load
from quadrag.chat.reply import FAILED
from quadrag.errors import QuadragError
from quadrag.labels import choose_labels
from quadrag.loading import Corpus, load_questions, open_whole_corpus
from quadrag.records import Passage
from quadrag.results import NAME, PROFILES, NoteCode, RunRecord, read_run
from quadrag.results.certificates import read_certificates
from quadrag.run.models import open_models
from quadrag.run.plan import plan_judges, plan_run, refuse_idle
from quadrag.run.run import run
from quadrag.run.sweep import name_folder
from quadrag.spec import NONE, CallPolicy, RunSpec
from quadrag.systems.function import Function
from quadrag.systems.own import OpenQuestion, pose

from .result import PAGE, Evaluation, check, entrance

_CALLS = ("concurrency", "timeout", "max_reply_bytes", "max_failed", "ledger")  # what `CallPolicy` calls so
_JUDGING = ("judge_format", "judge_max_tokens", "judge_name", "judge_prompt")


@entrance
def questions(
    benchmark: str,
    config: str,
    *,
    split: str | None = None,
    data_dir: str | None = None,
    limit: int | None = None,
    **options: Any,
) -> list[OpenQuestion]:
    """Return the questions of a config, as one's own system is asked them: without their gold.

    Args:
        benchmark: its name, as `quadrag list` has it.
        config: its config.
        split: one split; all that are measured by default when None.
        data_dir: the folder of the upstream files, or ``sample``; what `quadrag prepare` built when None.
        limit: the first questions of every split alone.
        options: of the benchmark.

    Raises:
        QuadragError: a name or an option is unknown, or files are missing.
    """
    said = {"benchmark": benchmark, "config": config, "split": split, "data_dir": data_dir, "limit": limit}
    spec = plan_run({**said, "options": options, "system": {"function": "questions"}}, what="questions")
    work = Function(lambda question: "").take(load(spec.benchmark), spec)
    found, _ = load_questions(work.task, work.benchmark)
    return [pose(work, question, question.passages) for question in found]


class Documents:
    """The documents of a corpus in their order, read from the files each time that they are gone through."""

    def __init__(self, opened: Corpus) -> None:
        self._opened = opened

    def __iter__(self) -> Iterator[Passage]:
        return (Passage(one.id, one.title, one.text) for one in self._opened.documents())

    def __len__(self) -> int:
        """Count them; without `quadrag prepare` that takes as long as to read them once."""
        return self._opened.count_rows()


@entrance
def corpus(benchmark: str, *, data_dir: str | None = None, **options: Any) -> Documents:
    """Return the documents that a benchmark's questions are answered from, whole, in their order.

    They are read anew each time that they are gone through, and so never all in memory. A warning says which files are
    missing where the folder has a part of them.

    Args:
        benchmark: its name.
        data_dir: as in `questions`.
        options: of the corpus.

    Raises:
        QuadragError: the benchmark has no corpus, an option is unknown, or files are missing.
    """
    record = load(benchmark)
    if record.corpus is None:
        raise QuadragError(f"{record.name} has no corpus; its passages come with its questions")
    for name in options:
        check(f"option of the corpus of {record.name}", name, record.corpus.options)
    opened = open_whole_corpus(record, data_dir, options)
    if lacking := opened.source.lacking:
        warnings.warn(f"the corpus is not whole: {lacking}", stacklevel=3)  # beyond the decorator
    return Documents(opened)


@entrance
def evaluate(
    benchmark: str,
    config: str,
    system: Callable[[Any], Any],
    *,
    split: str | None = None,
    data_dir: str | None = None,
    judge: str | Sequence[str] | None = None,
    limit: int | None = None,
    name: str | None = None,
    out: str | Path | None = None,
    profile: str = "official",
    labels: str | None = None,
    batch_size: int | None = None,
    fresh: bool = False,
    retry: str | Sequence[str] = (),
    certificate: str | Path | Sequence[str | Path] = (),
    **more: Any,
) -> Evaluation:
    """Measure one's own system on a benchmark.

    Args:
        benchmark: its name, as `quadrag list` has it.
        config: its config.
        system: a function from a question (``.id .query .history .passages``, never the gold) to an answer, or to an
            answer and its passages, best first: ids, objects with ``id`` and ``text``, or pairs of these with a score;
            or to a dictionary with ``answer`` and ``passages``. It may be a coroutine function. Of what it raises, the
            question is unscored.
        split: one split; all that are measured by default when None.
        data_dir: the folder of the upstream files, or ``sample``; what `quadrag prepare` built when None.
        judge: what judges, as ``http://127.0.0.1:8081/v1#MODEL``; several for benchmarks that take several.
        limit: the first questions of every split alone.
        name: what to call the system; the function's own name when None, or ``lambda``.
        out: the folder of the run; one below ``runs`` when None. A run that stopped goes on there: questions that it
            answered are not asked again. A finished run that no judge was asked about, or in vain, may be given to one.
        profile: ``official``, as the authors' code computes, or ``corrected``, as the paper defines.
        labels: ``en`` or ``zh``, the language of the result and of its page; that of QUADRAG_LABELS, or English, when
            None.
        batch_size: hand the function lists of so many questions, for lists of as many results.
        fresh: ask all anew, the system and the judge, also in the place of a finished run.
        retry: ask again, in the folder of a finished run, the system about the questions on which it ``failed``, or the
            judge for verdicts that are ``unreadable``, ``cut`` or ``empty``.
        certificate: files of `quadrag certify-judge`, which say how far a judge agrees with people.
        more: ``concurrency`` (calls in flight, of a coroutine function and of the judge; 16), ``timeout`` (seconds that
            a judge's reply may take; 900), ``max_reply_bytes`` (of a reply that is read), ``max_failed`` (the share of
            a metric's items above which failures make it invalid; 0.2), ``ledger`` (the file of the judge's kept
            replies; the user's own); ``judge_format`` (hold the judge to ``json``, or to the ``schema`` of its
            verdicts), ``judge_prompt`` (``plain``: of small judges), ``judge_max_tokens`` (of a verdict; 1024),
            ``judge_name`` (what the judge is called wherever it is served; several in the order of the judges),
            ``bertscore`` (a sentence embedding, for metrics that need one); and the options of the benchmark.

    Returns:
        The scores by metric. The folder holds the page with all tables and answers, ``report.html``.

    Raises:
        QuadragError: a name or an option is unknown, files are missing, the judge is dead, `out` holds another run, or
            none to retry, or all of the first calls of the system failed.
    """
    check("profile", profile, PROFILES)
    shown_in = choose_labels(labels)
    if not callable(system):
        raise QuadragError(f"the system is a {type(system).__name__}; expected a function of a question")
    called, record = name or _name_function(system), load(benchmark)
    policy = CallPolicy(
        **{each: more.pop(each) for each in _CALLS if each in more},
        fresh=fresh,
        retry=_list(retry),
        profile=profile,
        certificates=[each.row for each in read_certificates([*map(str, _list(certificate))])],
        command=["quadrag.evaluate"],
    )
    judging = {name: more.pop(name, None) for name in _JUDGING}
    said: dict[str, Any] = {
        **{"benchmark": benchmark, "config": config, "split": split, "data_dir": data_dir, "limit": limit},
        "judges": _plan_judges(record.name, judge, judging),
        "embed": more.pop("bertscore", None),
        "options": more,
        "system": {"function": called},
    }
    if record.default_context:  # else the function searches
        said["retriever"] = record.find_default_context(config) or NONE
    spec = plan_run(said, what="evaluate")
    function = Function(system, called, batch_size, policy.concurrency)
    folder = Path(out) if out is not None else _find_folder(name_folder(spec, called.replace("/", "_")), spec, policy)
    made = read_run(folder) if (folder / NAME).exists() else None
    if made is None and FAILED in policy.retry:
        raise QuadragError(f"{folder} holds no run to retry; name the run's folder with out=..., or leave out retry")
    if made and not fresh and not _goes_on(made, spec, policy, judged_later=out is not None):
        raise QuadragError(
            f"{folder} holds a finished run; fresh=True asks anew, retry=... a part, out=... names another folder, "
            "and quadrag.result reads this one"
        )
    with open_models(spec, policy, system=function) as models:
        found = run(spec, policy, models, folder)
    found.record.profile = profile
    measured = Evaluation(found, shown_in)
    measured.report(folder / PAGE)
    for line in measured.invalid:
        warnings.warn(line, stacklevel=3)  # of the caller, beyond the decorator
    return measured


def _plan_judges(benchmark: str, named: Any, said: Mapping[str, Any]) -> list[dict[str, Any]]:
    check("judge_format", said["judge_format"] or "text", ("text", "json", "schema"))
    judges = [] if named is None else _list(named)
    refuse_idle(judges, said)
    for one in judges:
        if not isinstance(one, str):
            raise QuadragError(f"judge is {one!r}; expected the address of a model, as http://127.0.0.1:8081/v1#MODEL")
    form, longest, names, prompt = said.values()
    planned = plan_judges(benchmark, judges, form, longest, _list(names or ()))
    return [{**each, "prompt": prompt} if prompt else each for each in planned]


def _list(named: Any) -> list[Any]:
    return [*named] if isinstance(named, list | tuple) else [named]


def _name_function(system: Any) -> str:
    if isinstance(system, partial):
        return _name_function(system.func)
    return str(getattr(system, "__name__", type(system).__name__)).strip("<>")  # <lambda>


def _find_folder(wanted: str, spec: RunSpec, policy: CallPolicy) -> Path:
    """Return the last folder of a name, with a number from the second on, or the next if its run does not go on."""
    number, folder, last = 1, Path(wanted), None
    while (folder / NAME).exists():
        last, number = folder, number + 1
        folder = Path(f"{wanted}-{number}")
    return last if last and _goes_on(read_run(last), spec, policy) else folder


def _goes_on(made: RunRecord, spec: RunSpec, policy: CallPolicy, judged_later: bool = False) -> bool:
    """Whether a run is to go on: not one that is finished, unless something is asked again whose answers stand."""
    if made.state != "finished":
        return True
    if made.spec.limit != spec.limit:  # the questions are others
        return False
    if spec.judges and (made.judged_in_vain or (judged_later and made.judge is None)):
        return True
    return bool(policy.retry or (policy.max_failed > made.max_failed and made.find_notes(NoteCode.INVALID)))
