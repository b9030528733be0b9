"""What the commands do with a session: one run, all runs of a paper, old runs, the demo.

Arguments come from the command line as a namespace, which a recipe may have filled in; see `recipe.py`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from quadrag import catalogue
from quadrag.data import SAMPLE, find_files
from quadrag.errors import QuadragError
from quadrag.records import read_jsonl

from .benchmark import Benchmark, Own, load
from .folder import read_run
from .pipeline import Result, Session
from .recipe import SETTINGS, Runs
from .served import RAG
from .task import Task, script_options


def task(arguments: argparse.Namespace) -> Task:
    """Make the task of one run.

    Raises:
        QuadragError: benchmark, config or retriever is missing or unknown, or an option is not NAME=VALUE.
    """
    if not arguments.benchmark:
        raise QuadragError(f"no benchmark; expected one of {', '.join(catalogue.benchmarks())}")
    known = catalogue.configs(arguments.benchmark)
    if not arguments.config:
        raise QuadragError(f"no config; expected --all or one of {', '.join(known)}")
    catalogue.config(arguments.benchmark, arguments.config)
    benchmark = load(arguments.benchmark)
    retrievers = benchmark.RETRIEVERS
    if arguments.retriever not in (None, *retrievers):
        raise QuadragError(f"{arguments.benchmark} takes --retriever {' or '.join(retrievers)}")
    one = Task(
        benchmark=arguments.benchmark,
        config=arguments.config,
        split=arguments.split,
        data_dir=arguments.data_dir,
        retriever=arguments.retriever or _implied(arguments) or retrievers[0],
        retrieval=benchmark.RETRIEVAL,
        options=read_options(arguments.option),
        limit=getattr(arguments, "limit", None),
        samples=getattr(arguments, "samples", 1),
        prompts=getattr(arguments, "prompts", None),
    )
    given = {name: value for name in SETTINGS if (value := getattr(arguments, name, None)) is not None}
    one.retrieval = replace(benchmark.RETRIEVAL, **given)
    for name in given:
        if not one.uses(name):
            flag = f"--{name.replace('_', '-')}"
            raise QuadragError(f"the retriever {one.retriever} of {one.benchmark} does not use {flag}; leave it out")
    return one


def _implied(arguments: argparse.Namespace) -> str | None:
    """Return the retriever that comes with what answers: a RAG service, or a model file of the CRAG challenge."""
    if getattr(arguments, "rag", None):
        return RAG
    return "own" if str(getattr(arguments, "llm", None) or "").startswith("challenge:") else None


def time_limit(arguments: argparse.Namespace) -> float | None:
    """Return the option ``time_limit``: seconds for each query of a challenge's batch."""
    found = read_options(arguments.option).get("time_limit")
    if found is not None and (type(found) is not int or found < 1):
        raise QuadragError(f"option time_limit is {found!r}; expected a whole number from 1")
    return found


def default_out(one: Task) -> str:
    """Name a run's folder where the user does not, by what is run: config, split, and what is not the default."""
    return "runs/" + "-".join(part for part in (one.benchmark, one.config, one.split, *_variant(one)) if part)


def _variant(one: Task) -> list[str]:
    """Name what a task does otherwise than by default: retriever, settings, options."""
    benchmark = load(one.benchmark)
    settings = {k: v for k, v in one.settings().items() if v != getattr(benchmark.RETRIEVAL, k)}
    named = [f"{name}={value}".replace("/", "_") for name, value in {**settings, **one.options}.items()]
    return [*([] if one.retriever == benchmark.RETRIEVERS[0] else [one.retriever]), *named]


def campaign_out(arguments: argparse.Namespace, runs: Runs) -> str:
    """Name the folder of several runs where the user does not."""
    if arguments.recipe:
        return f"runs/{arguments.recipe}"
    config, retriever, _ = runs[0]
    # Where the retriever is the user's choice, runs with another one are another campaign.
    chosen = _variant(_one(arguments, config, retriever, {})) if load(arguments.benchmark).CORPUS else []
    return "runs/" + "-".join([f"{arguments.benchmark}-all{'-original' if arguments.original else ''}", *chosen])


def run_all(
    session: Session, arguments: argparse.Namespace, runs: Runs, out: Path
) -> tuple[list[tuple[Path, Result]], list[tuple[str, list[str]]]]:
    """Run several configs, each in a folder of its own below `out`.

    Returns:
        The results with their folders, and the configs whose files the data folder lacks. A stopped run is the last.

    Raises:
        QuadragError: options of single runs are given, or nothing could be run.
    """
    benchmark = load(arguments.benchmark)
    said = {"config"} if benchmark.CORPUS or benchmark.OPTIONS else {"config", "split", "option"}
    said |= {"retriever"} if any(retriever for _, retriever, _ in runs) else set()
    for name in sorted(said):
        if getattr(arguments, name):
            raise QuadragError(f"--all and --recipe say every {name}; leave {getattr(arguments, name)!r} out")
    split = arguments.split or benchmark.DEFAULT_SPLIT
    results: list[tuple[Path, Result]] = []
    lacking: list[tuple[str, list[str]]] = []
    _check_all(arguments, runs)
    for config, retriever, options in runs:
        if arguments.data_dir and arguments.data_dir != SAMPLE:
            missing = find_files(arguments.benchmark, config, arguments.data_dir, split)[1]
            if missing:
                lacking += [(config, missing)] if (config, missing) not in lacking else []
                continue
        folder = out / folder_name(config, retriever or benchmark.RETRIEVERS[0], benchmark)
        results.append((folder, session.run(_one(arguments, config, retriever, options), folder)))
        if results[-1][1].stopped:
            break
    if not results:
        files = ", ".join(sorted({name for _, names in lacking for name in names}))
        raise QuadragError(f"{arguments.data_dir} holds none of the files of {arguments.benchmark}: lacking {files}")
    return results, lacking


def _check_all(arguments: argparse.Namespace, runs: Runs) -> None:
    """See to it, before the first run, that every run's options can be and what finds its passages can be had.

    Raises:
        QuadragError: one cannot, or an option is of no use to any run.
    """
    benchmark = load(arguments.benchmark)
    tasks = [_one(arguments, *run) for run in runs]
    for name in read_options(arguments.option):
        if not any(name in one.options for one in tasks):
            raise QuadragError(f"none of these runs uses the option {name}; leave it out")
    for one in tasks:
        script_options(one, benchmark)
        split = one.split or benchmark.DEFAULT_SPLIT
        bundled = one.data_dir in (None, SAMPLE)
        if bundled or not find_files(one.benchmark, one.config, str(one.data_dir), split)[1]:
            finder = benchmark.finder(one)
            if finder is not None:
                finder.close()


def _one(arguments: argparse.Namespace, config: str, retriever: str | None, options: dict[str, Any]) -> Task:
    """Make the task of one run among several."""
    chosen = {"config": config, "retriever": retriever or arguments.retriever}
    one = task(argparse.Namespace(**{**vars(arguments), **chosen}))
    known = load(one.benchmark).OPTIONS
    # What the user gives is for all runs; each takes what its retriever uses.
    given = {name: value for name, value in one.options.items() if known.get(name, Own()).serves(one.retriever)}
    return replace(one, options={**options, **given})


def run_folders(folder: Path) -> list[Path]:
    """Return the folder of every run in a folder: itself, or those of ``--all``, or those of a sweep."""
    if (folder / "run.json").exists():
        return [folder]
    return sorted(path.parent for path in {*folder.glob("*/run.json"), *folder.glob("*/*/run.json")})


def read_runs(folders: Sequence[str]) -> list[tuple[str, list[Result]]]:
    """Read finished runs back, by folder; a folder of ``--all`` holds several, a sweep such folders.

    A run among several that did not finish is named on stderr and left out.

    Raises:
        QuadragError: a folder holds no scores, or they are damaged.
    """
    found = []
    for folder in map(Path, folders):
        alone = (folder / "run.json").exists()
        results = []
        unfinished = []
        for part in run_folders(folder):
            info = read_run(part)
            if not alone and not (part / "scores.json").exists():
                unfinished.append(str(part))
                continue
            results.append(_read_back(part, info))
        if not results:
            what = f"no finished run, {unfinished[0]} is none" if unfinished else "no run.json"
            raise QuadragError(f"{folder} holds {what}; expected the folder of a run")
        if unfinished:
            print(f"not finished and left out: {', '.join(unfinished)}", file=sys.stderr)
        found.append((str(folder), results))
    return found


def one_of_each(name: str, results: Sequence[Result]) -> None:
    """See to it that a folder to be compared holds no task twice.

    Raises:
        QuadragError: it does, as the folder of a sweep.
    """
    seen: set[tuple[Any, ...]] = set()
    for result in results:
        inputs = result.info["inputs"]
        # The tables of a paper without a corpus have a task with several retrievers: RGB with documents and without.
        shown = "" if load(inputs["benchmark"]).CORPUS and inputs["retriever"] != "none" else inputs["retriever"]
        for split in inputs["splits"]:
            if (inputs["benchmark"], inputs["config"], split, shown) in seen:
                raise QuadragError(
                    f"{name} holds several runs of {inputs['config']} {split}; compare single folders of it, or report "
                    "it alone"
                )
            seen.add((inputs["benchmark"], inputs["config"], split, shown))


def _read_back(part: Path, info: dict[str, Any]) -> Result:
    try:
        scores = json.loads((part / "scores.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise QuadragError(f"{part} has no readable scores.json; run it to its end first") from None
    items = [row for _, row in read_jsonl(part / "items.jsonl")]
    return Result(info, scores, items, stopped=info.get("stopped"))


def folder_name(config: str, retriever: str, benchmark: Benchmark) -> str:
    """Name a config's folder among those of a campaign."""
    return config if benchmark.CORPUS or retriever == benchmark.RETRIEVERS[0] else f"{config}-{retriever}"


def demo(name: str, out: Path) -> list[tuple[Path, Result]]:
    """Run all of a benchmark on its bundled sample with the extractive baseline.

    The gold documents are put into a corpus that can take them, so that the retrieval is measured too.
    """
    session = Session(command=["quadrag", "demo"])
    benchmark = load(name)
    options = {"gold": "test"} if benchmark.CORPUS and "gold" in benchmark.CORPUS.options else {}
    results = []
    for config, named in benchmark.campaign():
        retriever = named or benchmark.RETRIEVERS[0]
        folder = out / name / folder_name(config, retriever, benchmark)
        one = Task(name, config, None, SAMPLE, retriever, benchmark.RETRIEVAL, options)
        results.append((folder, session.run(one, folder)))
    return results


def read_options(pairs: Sequence[str]) -> dict[str, Any]:
    """Read NAME=VALUE pairs; numbers are read as numbers."""
    options: dict[str, Any] = {}
    for pair in pairs:
        name, mark, text = pair.partition("=")
        if not mark or not name:
            raise QuadragError(f"--option {pair!r} is not NAME=VALUE")
        try:
            options[name] = json.loads(text)
        except ValueError:
            options[name] = text
    return options
