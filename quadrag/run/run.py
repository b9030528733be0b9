"""One run: load, retrieve, answer, drive the scorers, summarise, check. `run` is the whole of it, in that order.

Each stage is a file of the run folder, and one whose file stands is not done again, so a run that stopped goes on where
it was; replies already paid for come from the ledger. Answers of a file, a function or a service enter at `answer`.
What a table looks like is not decided here.
"""

import json
import platform
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from quadrag import __version__, stats
from quadrag.benchmark import Benchmark, Finder, identify_options, load
from quadrag.chat.policy import BudgetReached
from quadrag.chat.reply import FAILED
from quadrag.data.authors import know_files
from quadrag.errors import NotReady
from quadrag.loading import Corpus, cut_splits, load_questions, open_corpus
from quadrag.printing import Progress
from quadrag.provenance import Share, Source, join
from quadrag.records import Answer, Key, Passage, Question, dumps, jsonl_text
from quadrag.results.check import settle_scores
from quadrag.results.items import find_short
from quadrag.results.record import RunRecord
from quadrag.results.run import Asked, Run
from quadrag.scoring.drive import DeadJudge, score_text
from quadrag.scoring.judging import Scored, check_models, count_verdicts, score_answers
from quadrag.scoring.served import score_service
from quadrag.spec import CallPolicy, RunSpec
from quadrag.systems.system import Assignment, Generated

from . import retrieve as passages_of
from .folder import (
    ANSWERING,
    ANSWERS,
    ITEMS,
    PARTIAL,
    QUESTIONS,
    RETRIEVED,
    SCORES,
    VERDICTS,
    RunFolder,
    describe_each,
    digest,
    digest_questions,
    find_fresh,
    lock_folder,
    read_result,
    text_of,
)
from .models import Models, name_judges, name_model, show_time

_LIBRARIES = ("bm25s", "datasets", "evaluate", "huggingface_hub", "jieba", "numpy", "rjieba", "sacrebleu")


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a run is about: its questions, whose they are, and what finds their passages."""

    work: Assignment
    questions: Sequence[Question]
    total: int  # of how many
    source: Source
    corpus: Corpus | None
    finder: Finder | None

    @property
    def where(self) -> str:
        """Where the questions come from, and the corpus where it is from elsewhere."""
        corpus = self.corpus.source.text if self.corpus else self.source.text
        return self.source.text + f"; corpus: {corpus}" * (corpus != self.source.text)


def run(
    spec: RunSpec, policy: CallPolicy, models: Models, out: Path | None, alone: bool = True, since: float | None = None
) -> Run:
    """Do a run, or go on with what its folder holds.

    Args:
        spec: what is measured, with what.
        policy: how models are called.
        models: those of the spec, opened.
        out: the folder; None: nothing is written.
        alone: whether it is not one of several runs, of which another one may ask the judges.
        since: of a fresh run among several, the Unix time from which replies count.
    """
    system = models.system
    work = system.take(load(spec.benchmark), spec)
    if alone:
        check_models(models, [(work.benchmark, work.task)])
    with ExitStack() as stack:
        finder = None if system.has_answers else open_finder(work.benchmark, work.task, models)
        if finder is not None:
            stack.callback(finder.close)
        loaded = load_run(work, models, finder)
        record = describe(loaded, models)
        stack.enter_context(lock_folder(out) if out else nullcontext())
        folder = RunFolder(out, record, whole=system.has_answers)
        folder.refuse_altered()
        renew(folder, models, policy, since)
        return show_again(folder, policy) if folder.finished else _work(loaded, folder, models, policy)


def _work(loaded: Loaded, folder: RunFolder, models: Models, policy: CallPolicy) -> Run:
    """Do the stages that are not done."""
    started, before, again = time.time(), models.spent(), folder.was_finished
    asked = begin(folder, loaded, policy)
    system, stopped = models.system, None
    passages: Mapping[Key, Sequence[Passage]] = {}
    if not (system.finds_passages or system.has_answers):
        passages = retrieve(folder, loaded, models)
    try:
        generated = answer(folder, loaded, models, passages)
    except BudgetReached as stop:
        (generated,), stopped = stop.results, stop.params
    if system.finds_passages:
        passages = passages_of.read(folder.place(RETRIEVED), loaded.questions, folder.read(RETRIEVED))
    answers = generated.asked if stopped else generated.answers
    scored = score(folder, loaded, models, answers, passages, stopped)
    if scored.dead and again and not models.dead_judge:
        raise DeadJudge(scored.stopped or {})
    summarise(folder, models, generated, answers, scored)
    record = folder.record
    record.started, record.seconds = show_time(started), round(time.time() - started, 3)
    record.host, record.usage = platform.node(), models.spent_since(before)
    marked = settle_scores(scored.scores, record, scored.items)
    if not (record.stopped and again):
        folder.commit()
    texts = {(each.key, each.sample): each.answer for each in generated.answers}
    return Run(record, marked, scored.items, asked=asked, folder=folder.path, texts=texts)


def open_finder(benchmark: Benchmark, spec: RunSpec, models: Models) -> Finder | None:
    """Open what finds the passages, where neither questions nor a corpus bring them.

    Raises:
        NotReady: it lacks something, as a model that names the entities of the questions.
    """
    if benchmark.asks_entities(spec) and models.entity_llm is None and models.system.completer is None:
        raise NotReady(
            f"--retriever {spec.retriever} has a model name the entities of the questions, and none is asked here; "
            "give --entity-llm SPEC, or a retriever without the graph"
        )
    return benchmark.finder(spec)


def load_run(work: Assignment, models: Models, finder: Finder | None) -> Loaded:
    """Load the questions, and open the corpus in which their passages are found."""
    spec = work.task
    questions: Sequence[Question]
    questions, source = load_questions(spec.changed(limit=None), work.benchmark)
    total = len(questions)
    if spec.limit:
        questions = cut_splits(questions, spec.limit)
    questions, total = models.system.choose(questions, source) or (questions, total)
    corpus = None if models.system.has_answers else open_corpus(spec, work.benchmark)
    if corpus is not None:
        corpus = corpus._replace(source=know_files(corpus.source, source.other))
    return Loaded(work, questions, total, source, corpus, finder)


def describe(loaded: Loaded, models: Models) -> RunRecord:
    """Begin the record of a run: its spec, and digests of all that the spec names and that decides its files."""
    work, questions = loaded.work, loaded.questions
    spec, benchmark = work.task, work.benchmark
    entity = models.entity_llm if benchmark.asks_entities(spec) else None
    searched: dict[str, Any] = dict(loaded.finder.inputs) if loaded.finder else {}
    if loaded.corpus:
        from quadrag.retrieval.search import describe_search

        searched["retrieval"] = {**spec.settings(), "corpus": loaded.corpus.fingerprint[:16]}
        searched["search"] = describe_search(spec.retrieves, spec.retrieval)
    metrics = benchmark.metrics(spec.config, spec.conditions)
    # What is wrong with a metric's arguments is said before a call is made.
    keywords = {metric.module: benchmark.keywords(metric, questions, spec.conditions) for metric in metrics}
    digests = {
        "quadrag": __version__,
        "splits": list(dict.fromkeys(question.split for question in questions)),
        **searched,
        "options": identify_options(benchmark.options, spec.options),
        "system": _identify(spec.system, models.system),
        **({"entity": _identify(spec.entity_model, entity)} if entity else {}),
        "prompts": digest(work.prompts) if work.prompts else None,
        "questions": digest_questions(questions),
        "seeds": {"bootstrap": stats.SEED},
    }
    judging: dict[str, Any] = {}
    if models.judges:
        judged = {metric.module for metric in metrics if metric.judged}
        named = {module: _name_tokenizers(given) for module, given in keywords.items() if module in judged}
        own = [given["prompt"] for given in named.values() if "prompt" in given]
        judging["judges"] = [_identify(*pair) for pair in zip(spec.judges, models.judges, strict=True)]
        judging["given"] = digest(named)
        judging |= {"prompt": digest(own)} if own else {}
    if models.embed:
        judging["embed"] = getattr(models.embed, "describe", lambda: getattr(models.embed, "model", None))()
    # As `run.json` gives them back, so that the two can be compared.
    plain = json.loads(dumps({"digests": digests, "judging": judging}))
    record = RunRecord(spec, **plain, judge=name_judges(spec, models), source=loaded.where)
    models.system.note(record)
    return record


def _identify(named: Any, asked: Any) -> dict[str, Any]:
    """Say what identifies a model: by the name that the user gives, else by its own and where it is asked."""
    service = getattr(named, "name", None) or getattr(asked, "service", None)
    return {"model": name_model(named, asked), "service": service, "parameters": dict(asked.parameters)}


def _name_tokenizers(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Name a tokenizer among keywords; its content is among the options."""
    return {name: getattr(value, "name_or_path", value) for name, value in keywords.items()}


def renew(folder: RunFolder, models: Models, policy: CallPolicy, since: float | None) -> None:
    """Send stages back to work whose calls failed, or whose replies are asked for again."""
    record, system = folder.record, models.system
    made_by_models = RETRIEVED if "entities" in record.found else ANSWERS
    if policy.fresh:
        since = since or find_fresh([folder.path] if folder.path else [])
        if record.fresh != since:
            folder.redo(made_by_models)
            folder.begin_fresh(since)
    elif set(policy.retry) - {FAILED}:
        # Of what is no model no reply is kept that could be bad.
        folder.redo(made_by_models if system.asks_models else VERDICTS)
    if record.found.get("entities", {}).get("failed"):
        folder.redo(RETRIEVED)
    if record.failures and (system.asks_failed or FAILED in policy.retry):
        folder.redo(ANSWERS)
    if record.failed_verdicts or (record.unread_judge and policy.max_failed == 1):
        folder.redo(VERDICTS)
    if models.ledger:
        models.ledger.since = record.fresh or 0.0


def show_again(folder: RunFolder, policy: CallPolicy) -> Run:
    """Read a finished run back; how many items may fail, and its certificates, are as the command says."""
    assert folder.path is not None
    record = folder.record
    record.max_failed = policy.max_failed
    record.certificates = [dict(each) for each in policy.certificates] or record.certificates
    result = replace(read_result(folder.path, record), reused=True)
    record.write(folder.path)
    return result


def begin(folder: RunFolder, loaded: Loaded, policy: CallPolicy) -> dict[Key, Asked]:
    """Note that the run is at work, and keep what is known of its questions."""
    record, source = folder.record, loaded.source
    record.state, record.stopped = "running", None
    record.command, record.versions = list(policy.command), dict(_versions())
    record.source, record.held = loaded.where, [*source.held]
    record.provenance = join([source.provenance, *([loaded.corpus.source.provenance] if loaded.corpus else [])])
    record.coverage = Share(len(loaded.questions), loaded.total) if len(loaded.questions) < loaded.total else None
    record.max_failed, record.profile = policy.max_failed, policy.profile
    record.certificates = [dict(each) for each in policy.certificates] or record.certificates
    asked = describe_each(loaded.work.benchmark, loaded.questions, loaded.work.task.conditions)
    folder.write(QUESTIONS, text_of(asked))
    return asked


def retrieve(folder: RunFolder, loaded: Loaded, models: Models) -> Mapping[Key, Sequence[Passage]]:
    """Find the passages of every question."""
    if not folder.stands(RETRIEVED):
        if loaded.finder is not None:
            llm, partial = models.entity_llm or models.system.completer, folder.place(PARTIAL)
            passages = passages_of.find_context(loaded.questions, loaded.finder, llm, loaded.work.prompts, partial)
            facts = loaded.finder.found
        else:
            estimate = models.policy.estimate
            passages, facts = passages_of.retrieve(loaded.questions, loaded.work.task, loaded.corpus, estimate)
        folder.record.found = dict(facts)
        folder.write(RETRIEVED, jsonl_text(passages_of.rows(loaded.questions, passages)))
        folder.place(PARTIAL).unlink(missing_ok=True)
    return passages_of.read(folder.place(RETRIEVED), loaded.questions, folder.read(RETRIEVED))


def answer(folder: RunFolder, loaded: Loaded, models: Models, passages: Mapping[Key, Sequence[Passage]]) -> Generated:
    """Have the system answer the questions; one that finds its passages itself makes two files.

    Raises:
        BudgetReached: the budget ended; its ``results`` are then the one `Generated` so far.
    """
    system, record, spec = models.system, folder.record, loaded.work.task
    if all(map(folder.stands, (RETRIEVED, ANSWERS) if system.finds_passages else (ANSWERS,))):
        return Generated([Answer(**row) for _, row in folder.read(ANSWERS)])
    system.keep(folder.place(ANSWERING))
    with Progress(f"{spec.config}: answers", len(loaded.questions) * spec.samples) as progress:
        try:
            generated = system.answer(loaded.work, loaded.questions, passages, progress.update)
        except BudgetReached as stop:
            record.failures, record.latency_seconds = stop.results[0].failures, stop.results[0].latency
            raise
    record.failures, record.latency_seconds = generated.failures, generated.latency
    if system.finds_passages:
        folder.write(RETRIEVED, jsonl_text(passages_of.rows(loaded.questions, generated.passages)))
    folder.write(ANSWERS, jsonl_text(asdict(each) for each in generated.answers))
    if not generated.failures:  # else what stands is there for the run that asks for them again
        folder.place(ANSWERING).unlink(missing_ok=True)
    return generated


def score(
    folder: RunFolder,
    loaded: Loaded,
    models: Models,
    answers: Sequence[Answer],
    passages: Mapping[Key, Sequence[Passage]],
    stopped: Mapping[str, Any] | None,
) -> Scored:
    """Drive the scorers over the answers; of a run that stopped, over those there are, by what needs no judge."""
    spec, system = loaded.work.task, models.system
    if not system.finds_passages:
        shown = None if system.has_answers else passages
        return score_answers(models, loaded.work.benchmark, loaded.questions, answers, spec, stopped, shown)
    scored, evidence = score_service(models, load(spec.benchmark), loaded.questions, answers, spec, passages)
    folder.record.service = asdict(evidence)
    return scored


def summarise(
    folder: RunFolder, models: Models, generated: Generated, answers: Sequence[Answer], scored: Scored
) -> None:
    """Write items and scores, and note what the run came to."""
    record, stopped = folder.record, scored.stopped
    scored.tell(record)
    if models.judges:
        folder.write(VERDICTS, jsonl_text(scored.verdicts))
    folder.write(ITEMS, jsonl_text(scored.items))
    folder.write(SCORES, score_text(scored.scores))
    record.short = find_short(answers) if models.system.asks_models or record.log else {}
    record.failed_verdicts = 0 if stopped else count_verdicts(answers, scored.items, "api_error")
    record.unreadable = 0 if stopped else count_verdicts(answers, scored.items, "unparsable")
    record.latency = stats.spread(list(record.latency_seconds.values()))
    record.state, record.stopped = "finished", None
    if stopped:
        params = {} if record.dead_judge else {"done": len(answers), "total": len(generated.answers)}
        code = "judge_dead" if record.dead_judge else "budget"
        record.state, record.stopped = "stopped", {"code": code, "params": {**stopped, **params}}


@cache
def _versions() -> Mapping[str, str]:
    return {"quadrag": __version__, "python": platform.python_version()} | {name: version(name) for name in _LIBRARIES}
