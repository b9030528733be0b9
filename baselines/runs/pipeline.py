"""One run: questions, passages, answers, items and scores, each stage a file of the run folder.

A stage whose file stands is not done again, so a run that stopped goes on where it was; replies already paid for come
from the ledger. What a table looks like is not decided here.
"""

import copy
import platform
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from quadrag import __version__
from quadrag.chat.estimate import Estimate
from quadrag.chat.ledger import Reuse
from quadrag.chat.prices import Budget, tell_spent
from quadrag.chat.reply import FAILED
from quadrag.errors import NotReady, QuadragError
from quadrag.provenance import join
from quadrag.records import Answer, Key, Passage, jsonl_text
from quadrag.run_record import MOST_FAILED, Inputs, RunRecord

from ..core.authors import know_files
from ..core.benchmark import Finder, load
from ..core.result import PROFILES, Result
from ..core.task import Task, cut_splits, load_questions, open_corpus
from ..results.adapter import mark_rows
from ..results.items import find_short
from ..scoring.judging import DeadJudge, Scored, check_judges, refuse_idle_models, score_answers
from ..scoring.modules import Embed
from ..scoring.score import count_verdicts, score_text
from ..scoring.served import score_service
from ..systems.extractive import Extractive
from ..systems.system import Assignment, Completer, System
from .finished import read_result
from .folder import ANSWERING, RunFolder, find_fresh, lock_folder
from .inputs import ENTITY, describe_each, make_inputs, name_judge, write_asked
from .stages import Job, find_and_generate_stage, generate_stage, retrieve_stage

_LIBRARIES = ("bm25s", "datasets", "evaluate", "huggingface_hub", "jieba", "numpy", "rjieba", "sacrebleu")


def require_entity_llm(entity_llm: Completer | None, answering: Completer | None, task: Task) -> None:
    """Refuse a task that asks a model for the entities of its questions where there is none to ask.

    Raises:
        NotReady: there is none.
    """
    if load(task.benchmark).asks_entities(task) and entity_llm is None and answering is None:
        raise NotReady(
            f"--retriever {task.retriever} has a model name the entities of the questions, and none is asked here; "
            "give --entity-llm SPEC, or a retriever without the graph"
        )


@dataclass(slots=True)
class Session:
    """What several runs share: what answers, the judges, the embedding, and the command as the user typed it."""

    system: System = field(default_factory=Extractive)
    judges: Sequence[Completer] = ()
    dead_judge: str | None = None  # why none of them is asked: one is known not to answer
    command: Sequence[str] = ()
    embed: Embed | None = None
    max_failed: float = MOST_FAILED
    profile: str = PROFILES[0]
    certificates: Sequence[Mapping[str, Any]] = ()  # of its judges, kept with every run
    estimate: Estimate | None = None  # nobody is asked: what they would be asked is noted
    reuse: Reuse = field(default_factory=Reuse)
    served_as: Mapping[str, str] = field(default_factory=dict)
    fresh: bool = False
    entity_llm: Completer | None = None
    budget: Budget | None = None  # what bounds all of its models together
    fresh_since: float | None = None  # of several runs: Unix time from which replies count, of one None

    @property
    def estimated(self) -> bool:
        """Whether nobody is asked."""
        return self.estimate is not None

    def run(self, task: Task, out: Path, alone: bool = True) -> Result:
        """Run a task into a folder, or go on with what the folder holds.

        Args:
            task: what to run.
            out: the folder.
            alone: whether it is not one of several runs, of which another one may ask the judges.
        """
        work = self.system.take(load(task.benchmark), task)
        check_judges(work.benchmark, work.task, self.judges)
        if alone:
            refuse_idle_models(self, [(work.benchmark, work.task)])
        with ExitStack() as stack:
            finder = work.benchmark.finder(work.task)
            if finder is not None:
                stack.callback(finder.close)
            require_entity_llm(self.entity_llm, self.system.completer, work.task)
            return self._run(work, finder, out)

    def _run(self, work: Assignment, finder: Finder | None, out: Path) -> Result:
        questions, source = load_questions(replace(work.task, limit=None), work.benchmark)
        whole = len(questions)
        if work.task.limit:
            questions = cut_splits(questions, work.task.limit)
        coverage = f"{len(questions)} of {whole}" if len(questions) < whole else None
        corpus = open_corpus(work.task, work.benchmark)
        inputs = make_inputs(self, work, questions, corpus, finder)
        where, whose = source.text, source.provenance
        if corpus is not None:
            searched = know_files(corpus.source, source.other)
            where += f"; corpus: {searched.text}" * (searched.text != where)
            whose = join([whose, searched.provenance])

        def limited(limit: int) -> Inputs:
            fewer = replace(work, task=replace(work.task, limit=limit))
            return make_inputs(self, fewer, cut_splits(questions, limit), corpus, finder)

        with lock_folder(out):
            folder = RunFolder(out, inputs, limited, where)
            folder.refuse_altered()
            self._set_back(folder)
            run = folder.run
            run.coverage = coverage
            to_the_end = run.unread_judge and self.max_failed == 1
            if folder.finished and not (run.failures or run.failed_verdicts or run.failed_entities or to_the_end):
                return self._show_again(folder)
            before = copy.deepcopy(run)
            run.source, run.provenance, run.held = where, whose.value, [*source.held]
            try:
                entity_llm, told = self.entity_llm, self.tell_spent
                return self._work(
                    Job(folder, self.system, work, questions, corpus, finder, entity_llm, told, self.estimate)
                )
            except QuadragError:
                folder.take_back()
                if before.state == "finished" and before.files == run.files:
                    # Nothing came of asking the failed calls again: what was finished is so still.
                    before.write(out)
                raise

    def _show_again(self, folder: RunFolder) -> Result:
        """Read a finished run back; how many items may fail, and its certificates, are as the command says."""
        run = folder.run
        before = run.max_failed, run.certificates
        run.max_failed = self.max_failed
        self.keep_certificates(run)
        found = replace(read_result(folder.path, run), reused=True)
        if (run.max_failed, run.certificates) != before and not self.estimated:
            run.write(folder.path)
        return found

    def _set_back(self, folder: RunFolder) -> None:
        """Send stages back to work whose replies are asked for again; a fresh run that was stopped goes on."""
        since = (self.fresh_since or find_fresh([folder.path])) if self.fresh else folder.run.fresh
        if folder.run.fresh != since:
            folder.reopen()
            (folder.path / ANSWERING).unlink(missing_ok=True)
            folder.run.fresh = since
        elif self.reuse.retry - {FAILED}:
            folder.reopen(self.system.asks_models)  # of other systems no reply is kept that could be bad
        self.reuse.since = folder.run.fresh or 0.0

    def _work(self, job: Job) -> Result:
        folder, run, task = job.folder, job.folder.run, job.work.task
        finished = folder.was_finished
        run.state, run.command, run.versions = "running", list(self.command), dict(_versions())
        run.data_dir, run.replaced, run.row = task.data_dir, dict(task.replaced), dict(task.row)
        folder.save()
        kept = describe_each(job.work.benchmark, job.questions, task.conditions)
        run.asked = write_asked(folder.path, kept)
        folder.save()
        started = time.time()
        before = self.spent()
        stopped: str | None = None
        if self.system.finds_passages:
            passages, generated = find_and_generate_stage(job)
        else:
            passages = retrieve_stage(job)
            generated, stopped = generate_stage(job, passages)
        answered = generated.asked if stopped else generated.answers
        scored = self._score(job, answered, passages, stopped)
        items, scores, stopped = scored.items, scored.scores, scored.stopped
        scored.tell(run)
        if run.dead_judge:
            stopped = f"{stopped}; the answers are kept in {folder.path}: run again to go on with a judge that does"
            if finished:
                raise DeadJudge(stopped)
        run.short = find_short(answered) if self.system.asks_models else {}
        if stopped:
            if not run.dead_judge:
                stopped = f"{len(answered)} of {len(generated.answers)} answers; {stopped}"
            folder.write_partial({"items.jsonl": jsonl_text(items), "scores.json": score_text(scores)})
        else:
            folder.write("items.jsonl", jsonl_text(items))
            folder.write("scores.json", score_text(scores))
        run.failed_verdicts = 0 if stopped else count_verdicts(answered, items, "api_error")
        run.unreadable = 0 if stopped else count_verdicts(answered, items, "unparsable")
        run.state, run.stopped = "stopped" if stopped else "finished", stopped
        run.started, run.seconds = _clock(started), round(time.time() - started, 3)
        run.host = platform.node()
        run.usage = self.spent_since(before)
        run.max_failed, run.profile = self.max_failed, self.profile
        self.keep_certificates(run)
        marked = mark_rows(scores, run, items)
        folder.save()
        texts = {(answer.key, answer.sample): answer.answer for answer in generated.answers}
        return Result(run, marked, items, stopped=stopped, asked=kept, folder=folder.path, texts=texts)

    def _score(
        self, job: Job, answers: Sequence[Answer], passages: Mapping[Key, Sequence[Passage]], stopped: str | None
    ) -> Scored:
        task = job.work.task
        if not self.system.finds_passages:
            return score_answers(self, job.work.benchmark, job.questions, answers, task, stopped, passages)
        run, benchmark = job.folder.run, load(task.benchmark)
        scored, evidence = score_service(self, benchmark, job.questions, answers, task, passages, run.searched)
        run.service = asdict(evidence)
        return scored._replace(stopped=stopped or scored.stopped)

    def keep_certificates(self, run: RunRecord) -> None:
        """Enter the certificates of this command into a run; without any those of before stay."""
        run.certificates = [dict(one) for one in self.certificates] or run.certificates

    def tell_spent(self) -> str:
        """Say what all models have taken so far, against the budget."""
        return tell_spent(self.spent().values(), self.budget)

    def spent(self) -> dict[str, dict[str, Any]]:
        """Return the counters of the models in use, by their role."""
        asked = {"llm": self.system.spent, ENTITY: self.entity_llm.spent if self.entity_llm else None}
        asked |= {name_judge(place): one.spent for place, one in enumerate(self.judges)}
        return {role: dict(spent) for role, spent in asked.items() if spent is not None}

    def spent_since(self, before: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return the counters less those that there were before."""
        return {role: _since(before[role], spent) for role, spent in self.spent().items()}


def _since(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    since = {
        name: value - (before[name] or 0) if isinstance(value, int | float) else value for name, value in now.items()
    }
    if now.get("oldest") is not None:  # a moment, no counter
        since["oldest"] = _clock(now["oldest"])
    return since


@cache
def _versions() -> Mapping[str, str]:
    return {"quadrag": __version__, "python": platform.python_version()} | {name: version(name) for name in _LIBRARIES}


def _clock(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))
