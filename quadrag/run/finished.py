"""Runs that are there, read back: which folders hold them, and what they came to."""

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from quadrag import catalogue
from quadrag.benchmark import load
from quadrag.errors import QuadragError
from quadrag.progress import remark
from quadrag.records import Key, read_jsonl
from quadrag.results.record import NAME, RunRecord, read_items, read_run
from quadrag.results.run import Run, read_scores
from quadrag.results.status import settle_scores
from quadrag.spec import NONE

from .folder import ANSWERS, QUESTIONS, SCORES, is_as_written
from .questions import read_asked


def run_folders(folder: Path) -> list[Path]:
    """Return the folder of every run in a folder: itself, or those of ``--all``, or those of a sweep."""
    if (folder / NAME).exists():
        return [folder]
    return sorted(path.parent for path in {*folder.glob(f"*/{NAME}"), *folder.glob(f"*/*/{NAME}")})


def read_runs(folders: Sequence[str], profile: str | None = None) -> list[tuple[str, list[Run]]]:
    """Read finished runs back, by folder; a folder of ``--all`` holds several, a sweep such folders.

    A run among several that did not finish is named on stderr and left out. What is told of them, as which metrics are
    invalid, is of the `profile`; of the one that each was made with when None. Pages that stand beside folders, as
    ``out/*`` names them too, are passed over.
    """
    read, paths = [], [*map(Path, folders)]
    for folder in [path for path in paths if not (path.suffix == ".html" and path.is_file())] or paths:
        parts = run_folders(folder)
        finished = [part for part in parts if (part / SCORES).exists()]
        if not finished:
            read_result(parts[0] if parts else folder)  # says why not
        if left := [str(part) for part in parts if part not in finished]:
            remark(f"not finished and left out: {', '.join(left)}")
        results = [read_result(part, profile) for part in finished]
        read.append((str(folder), sorted(results, key=_place_in_benchmark)))
    return read


def _place_in_benchmark(result: Run) -> tuple[str, int, bool]:
    """Return where a run stands among those of a folder: its config as in its benchmark, without documents last."""
    run = result.record
    configs = [*catalogue.configs(run.benchmark)]
    known = configs.index(run.config) if run.config in configs else len(configs)
    return run.benchmark, known, run.retriever == NONE


def read_result(folder: Path, profile: str | None = None, run: RunRecord | None = None) -> Run:
    """Read a run back that has scores.

    Args:
        folder: of the run.
        profile: whose values are told of; the one that it was made with when None.
        run: its record, where that was read.
    """
    run = run or read_run(folder)
    run.profile = profile or run.profile
    if run.state != "finished" and not (folder / SCORES).exists():
        raise QuadragError(f"{folder} is not finished; run the same command again: {shlex.join(run.command)}")
    scores, items = read_scores(folder, run), read_items(folder, run)
    asked, texts = read_asked(folder, run.files.get(QUESTIONS)), _read_texts(folder, run)
    marked = settle_scores(scores, run, items)
    return Run(run, marked, items, asked=asked, folder=folder, texts=texts)


def _read_texts(folder: Path, run: RunRecord) -> dict[tuple[Key, int], str | None]:
    if not is_as_written(folder, run, ANSWERS):
        return {}
    rows = (row for _, row in read_jsonl(folder / ANSWERS))
    return {((row["config"], row["split"], row["id"]), row["sample"]): row["answer"] for row in rows}


def refuse_repeated_tasks(name: str, results: Sequence[Run]) -> None:
    """Refuse a folder to be compared that holds a task twice."""
    tasks = Counter(
        # The tables of a paper without a corpus have a task with several retrievers: RGB with documents and without.
        (run.config, split, run.retriever if run.retriever == NONE or not load(run.benchmark).corpus else "")
        for run in (result.record for result in results)
        for split in run.splits
    )
    for (config, split, _), times in tasks.items():
        if times > 1:
            raise QuadragError(
                f"{name} holds several runs of {config} {split}; compare single folders of it, or report it alone"
            )
