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
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from quadrag import __version__
from quadrag.errors import QuadragError
from quadrag.records import Question, jsonl_text, read_jsonl

from .benchmark import Benchmark, Finder, load, load_prompts
from .challenge import ChallengeModel
from .folder import RunFolder, locked
from .generate import Completer
from .inputs import run_inputs
from .judging import check_judges, score_answers
from .rag_service import RagService, wording
from .score import Embed, failed_verdicts, given_scores, score_text
from .served import prepare, score_service
from .stages import failed_entities, generate_stage, given_stages, read_answers, retrieve_stage, service_stage, spread
from .task import Corpus, Task, load_questions, open_corpus

__all__ = ["Result", "Session", "check_judges", "finished_result", "read_answers", "score_answers", "spread"]
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

    llm: Completer | ChallengeModel | RagService | None = None
    judges: Sequence[Completer] = ()
    command: Sequence[str] = ()
    embed: Embed | None = None

    def run(self, task: Task, out: Path) -> Result:
        """Run a task into a folder, or go on with what the folder holds.

        Raises:
            QuadragError: bad input, a dead server, or a folder of another run; finished stages stay.
        """
        benchmark = load(task.benchmark)
        served = isinstance(self.llm, RagService)
        if served:
            benchmark, task = prepare(benchmark, task)
        if task.retriever not in benchmark.RETRIEVERS:
            raise QuadragError(f"{task.benchmark} takes --retriever {' or '.join(benchmark.RETRIEVERS)}")
        prompts = wording() if served else load_prompts(task.benchmark, task.prompts)
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
            if folder.finished and not any(failed) and not failed_entities(folder):
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
        stopped: str | None = None
        if isinstance(self.llm, RagService):
            passages, generated = service_stage(folder, benchmark, task, questions, self.llm, prompts)
        else:
            passages = retrieve_stage(folder, task, questions, corpus, finder, self.llm, prompts)
            generated, stopped = generate_stage(folder, benchmark, task, questions, passages, self.llm, prompts)
        if folder.replaced("items.jsonl") and not stopped:
            items = [row for _, row in read_jsonl(folder.path / "items.jsonl")]
            scores = given_scores(folder.path / "items.jsonl", benchmark, items, questions, task.conditions)
            folder.keep("items.jsonl", given=given_stages(folder, "items.jsonl", True))
            folder.write("scores.json", score_text(scores))
        else:
            answered = generated.asked if stopped else generated.answers
            if isinstance(self.llm, RagService):
                scored = score_service(self, benchmark, questions, answered, task, passages)
                items, scores, stopped, evidence = scored
                folder.save(service=asdict(evidence))
            else:
                items, scores, stopped = score_answers(self, benchmark, questions, answered, task, stopped, passages)
            if stopped:
                stopped = f"{len(answered)} of {len(generated.answers)} answers; {stopped}"
                folder.write_partial({"items.jsonl": jsonl_text(items), "scores.json": score_text(scores)})
            else:
                folder.write("items.jsonl", jsonl_text(items), given=given_stages(folder, "items.jsonl", False))
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

    def _models(self) -> dict[str, Completer | ChallengeModel | RagService]:
        judges = {"judge" if not rank else f"judge {rank + 1}": judge for rank, judge in enumerate(self.judges)}
        return ({} if self.llm is None else {"llm": self.llm}) | judges


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


def _since(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """What this run spent: the session's counters now, less those when it began."""
    return {name: None if value is None else value - (before[name] or 0) for name, value in now.items()}


def _versions() -> dict[str, str]:
    return {"quadrag": __version__, "python": platform.python_version()} | {name: version(name) for name in _LIBRARIES}


def _clock(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))
