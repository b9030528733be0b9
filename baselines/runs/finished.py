"""Runs that are there, read back: which folders hold them, what they came to, how far one is that did not finish."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.hub.record import hub_record
from quadrag.progress import remark
from quadrag.records import Key, read_jsonl

from ..core.benchmark import load
from ..core.result import Result
from ..core.run_record import NAME, RunRecord, read_items, read_run, read_scores
from ..core.spec import NONE
from ..results.adapter import mark_rows
from .files.logs import find_logs
from .folder import ANSWERING, ANSWERS, QUESTIONS, SCORES, is_as_written
from .questions import read_asked


def run_folders(folder: Path) -> list[Path]:
    """Return the folder of every run in a folder: itself, or those of ``--all``, or those of a sweep."""
    if (folder / NAME).exists():
        return [folder]
    return sorted(path.parent for path in {*folder.glob(f"*/{NAME}"), *folder.glob(f"*/*/{NAME}")})


def read_runs(folders: Sequence[str], profile: str | None = None) -> list[tuple[str, list[Result]]]:
    """Read finished runs back, by folder; a folder of ``--all`` holds several, a sweep such folders.

    A run among several that did not finish is named on stderr and left out. What is told of them, as which metrics are
    invalid, is of the `profile`; of the one that each was made with when None. Pages that stand beside folders, as
    ``out/*`` names them too, are passed over.
    """
    found = []
    paths = [*map(Path, folders)]
    for folder in [path for path in paths if path.suffix != ".html" or not path.is_file()] or paths:
        alone = (folder / NAME).exists()
        results = []
        unfinished = []
        for part in run_folders(folder):
            run = read_run(part)
            run.profile = profile or run.profile
            if alone or (part / "scores.json").exists():
                results.append(read_result(part, run))
            else:
                unfinished.append(str(part))
        if not results:
            if unfinished:
                raise QuadragError(tell_unfinished(Path(unfinished[0])))
            if find_logs(folder):
                raise QuadragError(
                    f"{folder} holds logs of a harness; score them first: quadrag score {folder} --out DIR"
                )
            raise QuadragError(f"{folder} holds no run.json; expected the folder of a run")
        if unfinished:
            remark(f"not finished and left out: {', '.join(unfinished)}")
        found.append((str(folder), sorted(results, key=_place_in_benchmark)))
    return found


def _place_in_benchmark(result: Result) -> tuple[str, int, bool]:
    """Return where a run stands among those of a folder: its config as in its benchmark, without documents last."""
    inputs = result.run
    configs = [*hub_record(inputs.benchmark).rows]
    known = configs.index(inputs.config) if inputs.config in configs else len(configs)
    return inputs.benchmark, known, inputs.retriever == NONE


def read_result(folder: Path, run: RunRecord | None = None) -> Result:
    """Read a run back that has scores."""
    run = run or read_run(folder)
    if run.state != "finished" and not (folder / SCORES).exists():
        raise QuadragError(tell_unfinished(folder))
    scores = read_scores(folder, run)
    items = read_items(folder, run)
    marked, asked = mark_rows(scores, run, items), read_asked(folder, run.files.get(QUESTIONS))
    texts = _read_texts(folder, run)
    return Result(run, marked, items, stopped=run.stopped, asked=asked, folder=folder, texts=texts)


def _read_texts(folder: Path, run: RunRecord) -> dict[tuple[Key, int], str | None]:
    if not is_as_written(folder, run, "answers.jsonl"):
        return {}
    rows = (row for _, row in read_jsonl(folder / "answers.jsonl"))
    return {((row["config"], row["split"], row["id"]), row["sample"]): row["answer"] for row in rows}


def tell_unfinished(folder: Path) -> str:
    """Say how far a run came that has no scores, and which command goes on with it."""
    run, path = read_run(folder), folder / QUESTIONS
    wanted = run.samples * len(list(read_jsonl(path))) if path.exists() else 0
    far = f"its {wanted} answers are not complete, replies that arrived are kept" if wanted else "nothing is answered"
    for name, then in ((ANSWERING, ""), (ANSWERS, ", not scored yet")):
        if (folder / name).exists():
            far = f"{len(list(read_jsonl(folder / name)))} of {wanted} answers{then}"
    command = f": {shlex.join(run.command)}" if run.command else ""
    return f"{folder} is not finished ({far}); run the same command again{command}"


def refuse_repeated_tasks(name: str, results: Sequence[Result]) -> None:
    """Refuse a folder to be compared that holds a task twice."""
    seen: set[tuple[Any, ...]] = set()
    for inputs in (result.run for result in results):
        # The tables of a paper without a corpus have a task with several retrievers: RGB with documents and without.
        shown = "" if load(inputs.benchmark).corpus and inputs.retriever != NONE else inputs.retriever
        for split in inputs.splits:
            place = (inputs.benchmark, inputs.config, split, shown)
            if place in seen:
                raise QuadragError(
                    f"{name} holds several runs of {inputs.config} {split}; compare single folders of it, or report "
                    "it alone"
                )
            seen.add(place)
