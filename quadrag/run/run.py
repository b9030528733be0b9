"""One run: load, retrieve, answer, score, summarise, check. `run` is the whole of it, in that order.

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
from quadrag.chat.reply import FAILED
from quadrag.chat.tokens import reckon_chat
from quadrag.data.authors import know_files
from quadrag.errors import NotReady
from quadrag.loading import Corpus, cut_splits, load_questions, open_corpus
from quadrag.metrics._shared.slots import PLAIN
from quadrag.paths import name_place
from quadrag.printing import Progress
from quadrag.provenance import Share, Source, join
from quadrag.records import Answer, Key, Passage, Question, append_rows, digest, dumps, jsonl_text, read_whole_rows
from quadrag.results import Asked, Run, RunRecord, Score
from quadrag.results.check import settle_scores
from quadrag.results.items import find_short
from quadrag.scoring.drive import DeadJudge, ScoringInputs, read_keywords
from quadrag.scoring.judging import Scored, check_judges, count_verdicts, score_answers
from quadrag.scoring.served import read_served
from quadrag.spec import CallPolicy, Chat, RunSpec
from quadrag.systems.system import Assignment, Generated

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
    digest_questions,
    find_fresh,
    lock_folder,
    questions_text,
    read_passages_row,
    read_result,
    read_retrieved,
    retrieved_rows,
)
from .models import Models, name_judges, name_model, show_time

_LIBRARIES = ("bm25s", "datasets", "evaluate", "huggingface_hub", "jieba", "numpy", "rjieba", "sacrebleu")

Passages = Mapping[Key, Sequence[Passage]]


@dataclass(frozen=True, slots=True)
class Loaded(Assignment):
    questions: Sequence[Question]
    total: int  # of how many
    source: Source
    corpus: Corpus | None
    finder: Finder | None

    @property
    def source_text(self) -> str:
        corpus = self.corpus.source.text if self.corpus else self.source.text
        return self.source.text + f"; corpus: {corpus}" * (corpus != self.source.text)


def run(
    spec: RunSpec, policy: CallPolicy, models: Models, out: Path | None, alone: bool = True, since: float | None = None
) -> Run:
    """Do a run, or go on with what its folder `out` holds; without one nothing is written.

    `alone` tells that it is not one of several runs, of which another one may ask the judges; `since` is of a fresh run
    among several the Unix time from which replies count.
    """
    with ExitStack() as stack:
        loaded = load_run(spec, models, alone, stack)
        folder = open_folder(out, loaded, models, stack)
        renew(folder, models, policy, since)
        if folder.finished:
            return show_again(folder, policy)

        started, spent = time.time(), models.spent()
        asked = begin(folder, loaded, policy)
        passages = retrieve(folder, loaded, models)
        generated = answer(folder, loaded, models, passages)
        scored = score(folder, loaded, models, generated, passages)
        summarise(folder, models, generated, scored)
        folder.record.started, folder.record.seconds = show_time(started), round(time.time() - started, 3)
        folder.record.host, folder.record.usage = platform.node(), models.spent_since(spent)
        scores = check(folder, scored)
    texts = {(each.key, each.sample): each.answer for each in generated.answers}
    return Run(folder.record, scores, scored.items, asked=asked, folder=folder.path, texts=texts)


def load_run(spec: RunSpec, models: Models, alone: bool, stack: ExitStack) -> Loaded:
    system = models.system
    work = system.take(load(spec.benchmark), spec)
    spec, benchmark = work.task, work.benchmark
    if alone:
        check_judges([(benchmark, spec)], len(models.judges))
    finder = None if system.has_answers else open_finder(benchmark, spec, models)
    if finder is not None:
        stack.callback(finder.close)
    questions: Sequence[Question]
    questions, source = load_questions(spec.changed(limit=None), benchmark)
    total = len(questions)
    if spec.limit:
        questions = cut_splits(questions, spec.limit)
    questions, total = system.choose(questions, source) or (questions, total)
    corpus = None if system.has_answers else open_corpus(spec, benchmark)
    if corpus is not None:
        corpus = corpus._replace(source=know_files(corpus.source, source.other))
    return Loaded(benchmark, spec, work.prompts, questions, total, source, corpus, finder)


def open_finder(benchmark: Benchmark, spec: RunSpec, models: Models) -> Finder | None:
    """Open what finds the passages, where neither questions nor a corpus bring them; NotReady where it lacks some."""
    if benchmark.asks_entities(spec) and models.entity_llm is None and models.system.completer is None:
        raise NotReady(
            f"--retriever {spec.retriever} has a model name the entities of the questions, and none is asked here; "
            "give --entity-llm SPEC, or a retriever without the graph"
        )
    return benchmark.finder(spec)


def open_folder(out: Path | None, loaded: Loaded, models: Models, stack: ExitStack) -> RunFolder:
    record = describe(loaded, models)
    stack.enter_context(lock_folder(out) if out else nullcontext())
    folder = RunFolder(out, record, takes_nothing_over=models.system.has_answers)
    folder.refuse_altered()
    return folder


def describe(loaded: Loaded, models: Models) -> RunRecord:
    """Begin the record of a run: its spec, and digests of all that the spec names and that decides its files."""
    spec, benchmark, questions = loaded.task, loaded.benchmark, loaded.questions
    entity = models.entity_llm if benchmark.asks_entities(spec) else None
    searched: dict[str, Any] = dict(loaded.finder.inputs) if loaded.finder else {}
    if loaded.corpus:
        from quadrag.retrieval.search import describe_search

        named = {name: name_place(v) if isinstance(v, str) else v for name, v in spec.settings().items()}
        searched["retrieval"] = {**named, "corpus": loaded.corpus.fingerprint[:16]}
        searched["search"] = describe_search(spec.retrieves, spec.retrieval)
    metrics = benchmark.metrics(spec)
    # What is wrong with a metric's arguments is said before a call is made.
    keywords = {metric.module: read_keywords(benchmark, metric, questions, spec) for metric in metrics}
    digests = {
        "quadrag": __version__,
        "splits": list(dict.fromkeys(question.split for question in questions)),
        **searched,
        "options": identify_options(benchmark.options, spec.options),
        "system": _identify(spec.system, models.system),
        **({"entity": _identify(spec.entity_model, entity)} if entity else {}),
        "prompts": digest(loaded.prompts) if loaded.prompts else None,
        "questions": digest_questions(questions),
        "seeds": {"bootstrap": stats.SEED},
    }
    judging: dict[str, Any] = {}
    if models.judges:
        judged = {
            # Of a tokenizer the name; its content is among the options.
            metric.module: {name: getattr(v, "name_or_path", v) for name, v in keywords[metric.module].items()}
            for metric in metrics
            if metric.judged
        }
        own_prompts = [given["prompt"] for given in judged.values() if given.get("prompt", PLAIN) != PLAIN]
        judging["judges"] = [_identify(*pair) for pair in zip(spec.judges, models.judges, strict=True)]
        judging["given"] = digest(judged)
        judging |= {"prompt": digest(own_prompts)} if own_prompts else {}
    if models.embed:
        judging["embed"] = getattr(models.embed, "describe", lambda: getattr(models.embed, "model", None))()
    # As `run.json` gives them back, so that the two can be compared.
    as_stored = json.loads(dumps({"digests": digests, "judging": judging}))
    record = RunRecord(spec, **as_stored, judge=name_judges(spec, models), source=loaded.source_text)
    models.system.note(record)
    return record


def _identify(named: Any, asked: Any) -> dict[str, Any]:
    service = getattr(named, "name", None) or getattr(asked, "service", None)
    plain = {"prompt": PLAIN} if getattr(named, "prompt", None) == PLAIN else {}
    return {"model": name_model(named, asked), "service": service, "parameters": dict(asked.parameters), **plain}


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
    if models.ledger is not None:
        models.ledger.since = record.fresh or 0.0


def show_again(folder: RunFolder, policy: CallPolicy) -> Run:
    assert folder.path is not None
    record = folder.record
    record.max_failed = policy.max_failed
    record.certificates = [dict(each) for each in policy.certificates] or record.certificates
    result = replace(read_result(folder.path, record), reused=True)
    record.write(folder.path)
    return result


def begin(folder: RunFolder, loaded: Loaded, policy: CallPolicy) -> dict[Key, Asked]:
    record, source = folder.record, loaded.source
    record.state, record.stopped = "running", None
    record.command, record.versions = list(policy.command), dict(_versions())
    record.source, record.held = loaded.source_text, [*source.held]
    record.provenance = join([source.provenance, *([loaded.corpus.source.provenance] if loaded.corpus else [])])
    record.coverage = Share(len(loaded.questions), loaded.total) if len(loaded.questions) < loaded.total else None
    record.max_failed, record.profile = policy.max_failed, policy.profile
    record.certificates = [dict(each) for each in policy.certificates] or record.certificates
    asked = describe_each(loaded.benchmark, loaded.questions, loaded.task)
    folder.write(QUESTIONS, questions_text(asked))
    return asked


def retrieve(folder: RunFolder, loaded: Loaded, models: Models) -> Passages:
    if models.system.finds_passages or models.system.has_answers:
        return {}
    if not folder.stands(RETRIEVED):
        facts: Mapping[str, Any] = {}
        if loaded.finder is not None:
            passages, facts = _find(loaded, models, folder.place(PARTIAL)), loaded.finder.found
        elif loaded.corpus is not None:
            passages, facts = _search(loaded.questions, loaded.task, loaded.corpus, models)
        else:
            shown = loaded.task.retriever == load(loaded.task.benchmark).default_context
            passages = {question.key: question.passages if shown else () for question in loaded.questions}
        folder.record.found = dict(facts)
        if loaded.task.context:
            whole, passages = passages, _fit(loaded, passages)
            folder.record.found["cut"] = sum(len(passages[key]) < len(whole[key]) for key in whole)
        folder.write(RETRIEVED, jsonl_text(retrieved_rows(loaded.questions, passages)))
        folder.place(PARTIAL).unlink(missing_ok=True)
    return read_retrieved(folder.place(RETRIEVED), loaded.questions, folder.read(RETRIEVED))


def _fit(loaded: Loaded, passages: Mapping[Key, tuple[Passage, ...]]) -> dict[Key, tuple[Passage, ...]]:
    """Leave out the last passages of prompts that, with the longest reply, exceed the context that was named."""
    spec, fitting = loaded.task, dict(passages)
    assert spec.context and isinstance(spec.system, Chat)
    room = spec.context - (spec.system.sampling.max_tokens or 0)

    def size(question: Question) -> int:
        shown = fitting[question.key]
        return reckon_chat(loaded.benchmark.messages(question, shown, loaded.prompts, spec.retriever))

    for question in loaded.questions:
        while fitting[question.key] and size(question) > room:
            fitting[question.key] = fitting[question.key][:-1]
    return fitting


def _find(loaded: Loaded, models: Models, partial: Path) -> dict[Key, tuple[Passage, ...]]:
    """Return the passages that a benchmark's own finder finds, maybe for seconds a question.

    They are written to `partial` one by one, so that a run that was cut short goes on from there.
    """
    assert loaded.finder is not None
    llm, passages = models.entity_llm or models.system.completer, dict(read_whole_rows(partial, read_passages_row))
    with Progress("searching", len(loaded.questions)) as progress:
        for question, found in loaded.finder.find(loaded.questions, llm, loaded.prompts, frozenset(passages)):
            passages[question.key] = found
            append_rows(partial, retrieved_rows([question], passages))
            progress.update(len(passages), len(loaded.questions))
    return passages


def _search(
    questions: Sequence[Question], spec: RunSpec, corpus: Corpus, models: Models
) -> tuple[dict[Key, tuple[Passage, ...]], Mapping[str, Any]]:
    """Search a corpus; for an estimate no large one is indexed. Also return what is to be told of the search."""
    from quadrag.retrieval.search import Search, find_or_stand_in

    queries, facts = list(dict.fromkeys(question.query for question in questions)), {}
    if models.policy.estimate is not None:
        hits = find_or_stand_in(corpus, spec.retrieves, spec.retrieval, queries, models.policy.estimate.notes)
    else:
        search = Search(corpus, spec.retrieves, spec.retrieval)
        hits, facts = search.find(queries), search.found
    by_query = dict(zip(queries, hits, strict=True))
    return {question.key: tuple(by_query[question.query]) for question in questions}, facts


def answer(folder: RunFolder, loaded: Loaded, models: Models, passages: Passages) -> Generated:
    system, record, spec = models.system, folder.record, loaded.task
    if all(map(folder.stands, (RETRIEVED, ANSWERS) if system.finds_passages else (ANSWERS,))):
        return Generated([Answer(**row) for _, row in folder.read(ANSWERS)])
    system.keep(folder.place(ANSWERING))
    with Progress(f"{spec.config}: answers", len(loaded.questions) * spec.samples) as progress:
        generated = system.answer(loaded, loaded.questions, passages, progress.update)
    record.failures, record.latency_seconds = generated.failures, generated.latency
    if generated.stopped:
        return generated
    if system.finds_passages:
        folder.write(RETRIEVED, jsonl_text(retrieved_rows(loaded.questions, generated.passages)))
    folder.write(ANSWERS, jsonl_text(asdict(each) for each in generated.answers))
    if not generated.failures:  # else what stands is there for the run that asks for them again
        folder.place(ANSWERING).unlink(missing_ok=True)
    return generated


def score(folder: RunFolder, loaded: Loaded, models: Models, generated: Generated, passages: Passages | None) -> Scored:
    """Drive the scorers over the answers; of a run that stopped, over those there are, by what needs no judge."""
    system, benchmark, questions = models.system, loaded.benchmark, loaded.questions
    if system.finds_passages:
        found = read_retrieved(folder.place(RETRIEVED), questions, folder.read(RETRIEVED))
        inner = load(loaded.task.benchmark)
        benchmark, passages, evidence = read_served(inner, loaded.task, questions, generated.asked, found)
        folder.record.service = asdict(evidence)
    elif system.has_answers:
        passages = None
    by_key = {question.key: question for question in questions}
    inputs = ScoringInputs(benchmark, by_key, loaded.task, models.judges, models.embed, passages)
    scored = score_answers(models, inputs, generated.asked, generated.stopped)
    if scored.dead and folder.was_finished and not models.dead_judge:
        raise DeadJudge(scored.stopped or {})
    return scored


def summarise(folder: RunFolder, models: Models, generated: Generated, scored: Scored) -> None:
    record, stopped, answers = folder.record, scored.stopped, generated.asked
    record.verdict, record.unread_judge, record.dead_judge = scored.verdict, scored.unreadable_judge, scored.dead
    record.notes = [*scored.notes]
    if models.judges:
        folder.write(VERDICTS, jsonl_text(scored.verdicts))
    folder.write(ITEMS, jsonl_text(scored.items))
    rows = ",\n".join(dumps(score.as_row()) for score in scored.scores)
    folder.write(SCORES, f"[\n{rows}\n]\n")
    record.short = find_short(answers) if models.system.asks_models or record.log else {}
    record.failed_verdicts = 0 if stopped else count_verdicts(answers, scored.items, "api_error")
    record.unreadable = 0 if stopped else count_verdicts(answers, scored.items, "unparsable")
    record.latency = stats.spread(list(record.latency_seconds.values()))
    record.state, record.stopped = "finished", None
    if stopped:
        params = {} if record.dead_judge else {"done": len(answers), "total": len(generated.answers)}
        code = "judge_dead" if record.dead_judge else "budget"
        record.state, record.stopped = "stopped", {"code": code, "params": {**stopped, **params}}


def check(folder: RunFolder, scored: Scored) -> list[Score]:
    """Settle which scores are valid, and put the run in its place; a finished one stays where another was stopped."""
    scores = settle_scores(scored.scores, folder.record, scored.items)
    if not (folder.record.stopped and folder.was_finished):
        folder.commit()
    return scores


@cache
def _versions() -> Mapping[str, str]:
    return {"quadrag": __version__, "python": platform.python_version()} | {name: version(name) for name in _LIBRARIES}
