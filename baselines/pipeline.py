"""One run: questions, passages, answers, items and scores, each stage a file of the run folder.

A stage whose file stands is not done again, so a run that stopped goes on where it was; replies already paid for come
from the ledger. What a table looks like is `report.py`'s affair.
"""

from __future__ import annotations

import contextlib
import json
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from quadrag import __version__
from quadrag.errors import QuadragError
from quadrag.prices import BudgetReached
from quadrag.progress import Progress
from quadrag.records import Answer, Key, Passage, Question, jsonl_text, read_jsonl

from . import retrieve
from .benchmark import Benchmark, Finder, load, load_prompts
from .challenge import ChallengeModel
from .folder import PARTIAL, RunFolder, locked
from .generate import Completer, Generated, ask, ask_challenge, extract
from .inputs import run_inputs
from .score import Aids, Embed, Judge, failed_verdicts, given_scores, score, score_text
from .task import Corpus, Task, load_questions, open_corpus

_LIBRARIES = ("bm25s", "datasets", "evaluate", "huggingface_hub", "jieba", "numpy", "rjieba", "sacrebleu")


@dataclass(slots=True)
class Result:
    """What a run came to. `stopped` is the reason where it could not finish; the scores are then partial."""

    info: dict[str, Any]
    scores: list[dict[str, Any]]
    items: list[dict[str, Any]]
    reused: bool = False
    stopped: str | None = None


@dataclass(slots=True)
class Session:
    """What several runs share: the models, and how the user started them."""

    llm: Completer | ChallengeModel | None = None
    judges: Sequence[Completer] = ()
    command: Sequence[str] = ()
    embed: Embed | None = None

    def run(self, task: Task, out: Path) -> Result:
        """Run a task into a folder, or go on with what the folder holds.

        Raises:
            QuadragError: bad input, a dead server, or a folder of another run; finished stages stay.
        """
        benchmark = load(task.benchmark)
        if task.retriever not in benchmark.RETRIEVERS:
            raise QuadragError(f"{task.benchmark} takes --retriever {' or '.join(benchmark.RETRIEVERS)}")
        prompts = load_prompts(task.benchmark, task.prompts)
        if self.llm is None and task.samples > 1:
            raise QuadragError("the extractive baseline draws nothing; --samples needs a model with --llm")
        check_judges(benchmark, task, self.judges)
        self._check_challenge(task)
        with contextlib.ExitStack() as stack:
            finder = benchmark.finder(task)
            if finder is not None:
                stack.callback(finder.close)
            return self._run(task, benchmark, finder, prompts, out)

    def _check_challenge(self, task: Task) -> None:
        """See to it that a model of the challenge, and it alone, is handed whole pages, and answers once."""
        challenged = isinstance(self.llm, ChallengeModel)
        if challenged and (task.benchmark != "crag" or task.retriever != "own"):
            raise QuadragError("a challenge: model is handed CRAG's pages themselves; run crag with --retriever own")
        if task.benchmark == "crag" and task.retriever == "own" and not challenged:
            raise QuadragError("--retriever own hands whole pages to a model file; give --llm challenge:FILE.py#Class")
        if challenged and task.samples > 1:
            raise QuadragError("a challenge: model has no seed to vary; leave out --samples")

    def _run(
        self,
        task: Task,
        benchmark: Benchmark,
        finder: Finder | None,
        prompts: Mapping[str, Mapping[str, str]],
        out: Path,
    ) -> Result:
        questions, source = load_questions(task, benchmark)
        corpus = open_corpus(task, benchmark)
        inputs = run_inputs(self, benchmark, task, questions, prompts, corpus, finder)
        if corpus is not None and corpus.source != source:
            source = f"{source}; corpus: {corpus.source}"
        with locked(out):
            folder = RunFolder(out, inputs)
            failed = [folder.info.get(name) for name in ("failures", "failed_verdicts")]
            if folder.finished and not any(failed) and not _failed_entities(folder):
                return finished_result(folder)
            before = dict(folder.info, files=dict(folder.info["files"]))
            try:
                return self._work(folder, benchmark, task, questions, corpus, finder, source, prompts)
            except QuadragError:
                if before["state"] == "finished" and before["files"] == folder.info["files"]:
                    # Nothing came of asking the failed calls again: what was finished is so still.
                    folder.info = before
                    folder.save()
                raise

    def _work(
        self,
        folder: RunFolder,
        benchmark: Benchmark,
        task: Task,
        questions: Sequence[Question],
        corpus: Corpus | None,
        finder: Finder | None,
        source: str,
        prompts: Mapping[str, Mapping[str, str]],
    ) -> Result:
        """Do the stages whose files do not stand."""
        folder.save(state="running", source=source, command=list(self.command), versions=_versions())
        started = time.time()
        before = {name: dict(model.spent) for name, model in self._models().items()}
        passages = self._retrieve(folder, task, questions, corpus, finder, prompts)
        generated, stopped = self._generate(folder, benchmark, task, questions, passages, prompts)
        if folder.replaced("items.jsonl") and not stopped:
            items = [row for _, row in read_jsonl(folder.path / "items.jsonl")]
            scores = given_scores(folder.path / "items.jsonl", benchmark, items, questions, task.conditions)
            folder.keep("items.jsonl", given=_given(folder, "items.jsonl", True))
            folder.write("scores.json", score_text(scores))
        else:
            answered = generated.asked if stopped else generated.answers
            items, scores, stopped = score_answers(self, benchmark, questions, answered, task, stopped, passages)
            if stopped:
                stopped = f"{len(answered)} of {len(generated.answers)} answers; {stopped}"
                folder.write_partial({"items.jsonl": jsonl_text(items), "scores.json": score_text(scores)})
            else:
                folder.write("items.jsonl", jsonl_text(items), given=_given(folder, "items.jsonl", False))
                folder.write("scores.json", score_text(scores))
            folder.info["failed_verdicts"] = 0 if stopped else failed_verdicts(answered, items)
        folder.save(
            state="stopped" if stopped else "finished",
            stopped=stopped,
            started=_clock(started),
            seconds=round(time.time() - started, 3),
            host=platform.node(),
            usage={name: _since(before[name], model.spent) for name, model in self._models().items()},
        )
        return Result(folder.info, scores, items, stopped=stopped)

    def _models(self) -> dict[str, Completer | ChallengeModel]:
        judges = {"judge" if not rank else f"judge {rank + 1}": judge for rank, judge in enumerate(self.judges)}
        return ({} if self.llm is None else {"llm": self.llm}) | judges

    def _retrieve(
        self,
        folder: RunFolder,
        task: Task,
        questions: Sequence[Question],
        corpus: Corpus | None,
        finder: Finder | None,
        prompts: Mapping[str, Mapping[str, str]],
    ) -> dict[Key, tuple[Passage, ...]]:
        path = folder.path / "retrieved.jsonl"
        if folder.replaced(path.name):
            passages = retrieve.read(path, questions)
            folder.keep(path.name, given=_given(folder, path.name, True))
            return passages
        if not folder.stands(path.name) or (finder is not None and _failed_entities(folder)):
            if finder is not None:
                llm = None if isinstance(self.llm, ChallengeModel) else self.llm
                found = retrieve.supplied(questions, finder, llm, prompts, folder.path / PARTIAL)
                folder.save(found=dict(finder.found))
            else:
                found = retrieve.retrieve(questions, task, corpus)
            text = jsonl_text(retrieve.rows(questions, found))
            folder.write(path.name, text, given=_given(folder, path.name, False))
            (folder.path / PARTIAL).unlink(missing_ok=True)
        return retrieve.read(path, questions)

    def _generate(
        self,
        folder: RunFolder,
        benchmark: Benchmark,
        task: Task,
        questions: Sequence[Question],
        passages: Mapping[Key, Sequence[Passage]],
        prompts: Mapping[str, Mapping[str, str]],
    ) -> tuple[Generated, str | None]:
        """Answer the questions; on a budget stop, return what there is and the reason."""
        path = folder.path / "answers.jsonl"
        replaced = folder.replaced(path.name)
        if replaced or (folder.stands(path.name) and not folder.info.get("failures")):
            answers = read_answers(path, {question.key: question for question in questions})
            if replaced:
                given = _given(folder, path.name, True)
                folder.keep(path.name, failures={}, latency_seconds={}, latency=None, given=given)
            return Generated(answers), None
        stopped = None
        if self.llm is None:
            generated = extract(questions, passages)
        else:
            with Progress(f"{task.config}: answers", len(questions) * task.samples) as progress:
                self.llm.on_progress = progress.update
                try:
                    if isinstance(self.llm, ChallengeModel):
                        from .crag_finder import challenge_records

                        generated = ask_challenge(questions, challenge_records(task, questions), self.llm)
                    else:
                        generated = ask(benchmark, questions, passages, prompts, self.llm, task.samples, task.retriever)
                except BudgetReached as stop:
                    (generated,), stopped = stop.results, str(stop)
        entries = {
            "failures": generated.failures,
            "latency_seconds": generated.latency,
            "latency": spread(list(generated.latency.values())),
            "given": _given(folder, path.name, False),
        }
        if stopped:
            folder.save(**entries)
        else:
            folder.write(path.name, jsonl_text(answer.as_row() for answer in generated.answers), **entries)
        return generated, stopped


def _failed_entities(folder: RunFolder) -> int:
    """Count the questions whose entities a model was asked for in vain; a later run asks again."""
    return int(folder.info.get("found", {}).get("entities", {}).get("failed", 0))


def _given(folder: RunFolder, stage: str, given: bool) -> list[str]:
    """List the stages whose files are the user's own, this one among them or not."""
    others = [name for name in folder.info.get("given", []) if name != stage]
    return sorted([*others, stage]) if given else others


def finished_result(folder: RunFolder) -> Result:
    """Read a finished run back.

    Raises:
        QuadragError: a file is damaged.
    """
    try:
        scores = json.loads((folder.path / "scores.json").read_text(encoding="utf-8"))
    except ValueError:
        raise QuadragError(f"{folder.path / 'scores.json'} is damaged; remove it and run again") from None
    items = [row for _, row in read_jsonl(folder.path / "items.jsonl")]
    return Result(folder.info, scores, items, reused=True)


def score_answers(
    session: Session,
    benchmark: Benchmark,
    questions: Sequence[Question],
    answers: Sequence[Answer],
    task: Task,
    stopped: str | None = None,
    passages: Mapping[Key, Sequence[Passage]] | None = None,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str | None]:
    """Score answers with the session's judge, unless the run has stopped before; ranks too, where passages are given.

    Returns:
        Items and scores as `score` does, and why the run stopped: a budget that ends among the verdicts leaves the
        rest of them unscored.
    """
    by_key = {question.key: question for question in questions}
    judges = () if stopped else session.judges
    aids = Aids(embed=session.embed, passages=passages)
    if not judges:
        return *score(benchmark, by_key, answers, task.conditions, aids), stopped
    ended: list[str] = []

    def stopping(judge: Completer) -> Judge:
        def verdicts(batch: list[list[dict[str, str]]]) -> list[Any]:
            try:
                return list(judge(batch))
            except BudgetReached as stop:
                ended.append(str(stop))
                return list(stop.results)

        verdicts.model = judge.model  # type: ignore[attr-defined]  # the judge contract's optional attribute
        return verdicts

    with Progress(f"{task.config}: verdicts", len(answers)) as progress:
        for judge in judges:
            judge.on_progress = progress.update
        aids = replace(aids, judges=[stopping(judge) for judge in judges])
        items, scores = score(benchmark, by_key, answers, task.conditions, aids)
    return items, scores, ended[0] if ended else None


def check_judges(benchmark: Benchmark, task: Task, judges: Sequence[Completer]) -> None:
    """See to it that no more judges are named than the metrics ask.

    Raises:
        QuadragError: there are more.
    """
    asking = [metric for metric in benchmark.metrics(task.config, task.conditions) if metric.judged]
    most = max((metric.judge + 1 for metric in asking), default=1)
    if len(judges) > most and not any(metric.panel for metric in asking):
        name = asking[0].module if asking else task.benchmark
        wanted = "one judge" if most == 1 else f"at most {most} judges"
        times = "once" if most == 1 else "less often"
        raise QuadragError(f"{name} asks {wanted}, and {len(judges)} were named; give --judge {times}")


def read_answers(
    path: Path, questions: Mapping[Key, Question], defaults: Mapping[str, str] | None = None
) -> list[Answer]:
    """Read answers, in the order of the questions.

    Args:
        path: JSON Lines with ``id`` and ``answer`` at least; see `answers.py` for the forms.
        questions: every question by its key.
        defaults: ``config`` and ``split`` of lines that do not say them.

    Raises:
        QuadragError: a line is not an answer, or ids are unknown, missing or given twice.
    """
    from .answers import read

    found = read(path, questions, defaults or {})
    order = {key: place for place, key in enumerate(questions)}
    return sorted(found, key=lambda answer: (order[answer.key], answer.sample))


def _since(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """What this run spent: the session's counters now, less those when it began."""
    return {name: None if value is None else value - (before[name] or 0) for name, value in now.items()}


def _versions() -> dict[str, str]:
    return {"quadrag": __version__, "python": platform.python_version()} | {name: version(name) for name in _LIBRARIES}


def _clock(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def spread(seconds: list[float]) -> dict[str, float] | None:
    """Median and 95th percentile, in seconds."""
    if not seconds:
        return None
    import numpy as np

    median, high = np.quantile(seconds, [0.5, 0.95])
    return {"median": round(float(median), 4), "p95": round(float(high), 4)}
