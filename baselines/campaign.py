"""What the commands do with a session: one run, all runs of a paper, a file of answers, old runs, the demo.

Arguments come from the command line as a namespace; a recipe fills in what the user left open.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from quadrag import __version__, catalogue
from quadrag.data import SAMPLE, find_files
from quadrag.errors import QuadragError, unknown_name
from quadrag.records import read_jsonl, write_jsonl, write_text

from .answers import named_split
from .benchmark import load
from .folder import read_run
from .pipeline import Result, Session, read_answers, score_answers
from .score import score_text
from .task import Task, load_questions

_RECIPE_KEYS = ("benchmark", "runs", "model", "temperature", "published")
Runs = list[tuple[str, str, dict[str, Any]]]  # config, retriever, options of the dataset script


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
    retrievers = load(arguments.benchmark).RETRIEVERS
    if arguments.retriever not in (None, *retrievers):
        raise QuadragError(f"{arguments.benchmark} takes --retriever {' or '.join(retrievers)}")
    return Task(
        benchmark=arguments.benchmark,
        config=arguments.config,
        split=arguments.split,
        data_dir=arguments.data_dir,
        retriever=arguments.retriever or "own",
        options=_options(arguments.option),
        limit=getattr(arguments, "limit", None),
        samples=getattr(arguments, "samples", 1),
        prompts=getattr(arguments, "prompts", None),
    )


def default_out(one: Task) -> str:
    """Name a run's folder where the user does not, by what is run: config, split, retriever and options."""
    parts = [one.benchmark, one.config, one.split, None if one.retriever == "own" else one.retriever]
    return "runs/" + "-".join([part for part in parts if part] + [f"{k}={v}" for k, v in one.options.items()])


def run_all(
    session: Session, arguments: argparse.Namespace, runs: Runs, out: Path
) -> tuple[list[tuple[Path, Result]], list[tuple[str, list[str]]]]:
    """Run several configs, each in a folder of its own below `out`.

    Returns:
        The results with their folders, and the configs whose files the data folder lacks. A stopped run is the last.

    Raises:
        QuadragError: options of single runs are given, or nothing could be run.
    """
    for name in ("config", "split", "retriever", "option"):
        if getattr(arguments, name):
            raise QuadragError(f"--all and --recipe say every {name}; leave {getattr(arguments, name)!r} out")
    results: list[tuple[Path, Result]] = []
    lacking: list[tuple[str, list[str]]] = []
    for config, retriever, options in runs:
        if arguments.data_dir and arguments.data_dir != SAMPLE:
            missing = find_files(arguments.benchmark, config, arguments.data_dir)[1]
            if missing:
                lacking += [(config, missing)] if (config, missing) not in lacking else []
                continue
        one = argparse.Namespace(**{**vars(arguments), "config": config, "retriever": retriever})
        folder = out / folder_name(config, retriever)
        results.append((folder, session.run(replace(task(one), options=options), folder)))
        if results[-1][1].stopped:
            break
    if not results:
        files = ", ".join(sorted({name for _, names in lacking for name in names}))
        raise QuadragError(f"{arguments.data_dir} holds none of the files of {arguments.benchmark}: lacking {files}")
    return results, lacking


def score_file(session: Session, arguments: argparse.Namespace) -> Result:
    """Score a file of answers, and write the score files where the user names a folder.

    Raises:
        QuadragError: a name is unknown, the file is not one of answers, or ids are unknown, missing or given twice.
    """
    one, path = task(arguments), Path(arguments.answers)
    out = Path(arguments.out) if arguments.out else None
    if out and out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise QuadragError(f"{out} is there and is no empty folder; name another one with --out")
    questions, source = load_questions(one, load(one.benchmark))
    if one.split is None:
        known = list(dict.fromkeys(question.split for question in questions))
        named = [named_split(row, known) for _, row in read_jsonl(path)]
        # A file that says its splits answers those; one that does not must answer all.
        if named and all(isinstance(split, str) and split in known for split in named):
            questions = [question for question in questions if question.split in named]
    defaults = {"config": one.config} | ({"split": one.split} if one.split else {})
    answers = read_answers(path, {question.key: question for question in questions}, defaults)
    items, scores, stopped = score_answers(session, load(one.benchmark), questions, answers, one)
    info: dict[str, Any] = {
        "state": "stopped" if stopped else "finished",
        "stopped": stopped,
        "inputs": {
            "quadrag": __version__,
            "benchmark": one.benchmark,
            "config": one.config,
            "splits": list(dict.fromkeys(question.split for question in questions)),
            "retriever": one.retriever,
            "llm": path.name,
            "parameters": {},
            "judge": session.judge.model if session.judge else None,
        },
        "files": {},
        "source": source,
        "command": list(session.command),
    }
    if out:
        write_jsonl(out / "items.jsonl", items)
        write_text(out / "scores.json", score_text(scores))
        write_text(out / "run.json", json.dumps(info, ensure_ascii=False, indent=1) + "\n")
    return Result(info, scores, items, stopped=stopped)


def read_runs(folders: Sequence[str]) -> list[tuple[str, list[Result]]]:
    """Read finished runs back, by folder; a folder of ``--all`` holds several.

    Raises:
        QuadragError: a folder holds no scores, or they are damaged.
    """
    found = []
    for folder in map(Path, folders):
        results = []
        for part in [folder] if (folder / "run.json").exists() else sorted(p.parent for p in folder.glob("*/run.json")):
            info = read_run(part)
            try:
                scores = json.loads((part / "scores.json").read_text(encoding="utf-8"))
            except (OSError, ValueError):
                raise QuadragError(f"{part} has no readable scores.json; run it to its end first") from None
            items = [row for _, row in read_jsonl(part / "items.jsonl")]
            results.append(Result(info, scores, items, stopped=info.get("stopped")))
        if not results:
            raise QuadragError(f"{folder} holds no run.json; expected the folder of a run")
        found.append((str(folder), results))
    return found


def folder_name(config: str, retriever: str) -> str:
    """Name a config's folder among those of a campaign."""
    return config if retriever == "own" else f"{config}-{retriever}"


def demo(out: Path) -> list[tuple[Path, Result]]:
    """Run every testbed of RGB on the bundled sample with the extractive baseline."""
    session = Session(command=["quadrag", "demo"])
    return [
        (
            folder := out / folder_name(config, retriever),
            session.run(Task("rgb", config, None, SAMPLE, retriever), folder),
        )
        for config, retriever in load("rgb").campaign()
    ]


def planned(arguments: argparse.Namespace) -> Runs | None:
    """Return the runs that ``--all`` or ``--recipe`` ask for; None where the arguments name one run.

    A recipe also fills in what the user left open: the benchmark, the temperature, and the model behind ``--llm``.

    Raises:
        QuadragError: no such recipe, it is not of the form, or its model has no address.
    """
    if arguments.all and arguments.recipe:
        raise QuadragError("--all and --recipe each say what to run; give one of them")
    if arguments.all:
        if not arguments.benchmark:
            raise QuadragError(f"no benchmark; expected one of {', '.join(catalogue.benchmarks())}")
        return [(*run, {}) for run in load(arguments.benchmark).campaign(arguments.original)]
    if arguments.original:
        raise QuadragError("--original goes with --all; alone, name the config with its suffix _original")
    if not arguments.recipe:
        return None
    name, recipe = _read_recipe(arguments.recipe)
    if arguments.benchmark not in (None, recipe["benchmark"]):
        raise QuadragError(f"the recipe {name} is for {recipe['benchmark']}, not {arguments.benchmark}")
    arguments.benchmark, arguments.recipe = recipe["benchmark"], name
    if arguments.temperature is None:
        arguments.temperature = recipe.get("temperature")
    if "model" in recipe:
        if not arguments.llm:
            raise QuadragError(f"the recipe {name} asks {recipe['model']}; say where with --llm http://HOST:PORT/v1")
        if arguments.llm.startswith("http") and "#" not in arguments.llm:
            arguments.llm += f"#{recipe['model']}"
    return [(run["config"], run.get("retriever", "own"), run.get("options", {})) for run in recipe["runs"]]


def _read_recipe(name: str) -> tuple[str, dict[str, Any]]:
    """Read a recipe by its name or from the user's file, and check its form."""
    import yaml

    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        known = catalogue.recipes()
        if name not in known:
            raise unknown_name("recipe", name, known)
        path = known[name]
    try:
        recipe = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise QuadragError(f"cannot read the recipe {path} ({' '.join(str(error).split())})") from None
    runs = recipe.get("runs") if isinstance(recipe, dict) else None
    if not isinstance(runs, list) or not runs or not all(map(_is_run, runs)):
        raise QuadragError(
            f"{path} is no recipe; expected a mapping with benchmark and runs, a list of config, retriever, options"
        )
    for key in recipe:
        if key not in _RECIPE_KEYS:
            raise unknown_name(f"key of the recipe {path.name}", key, _RECIPE_KEYS)
    if not isinstance(recipe.get("benchmark"), str) or not isinstance(recipe.get("model", ""), str):
        raise QuadragError(f"{path} names no benchmark, or a model that is no name; expected a string for each")
    temperature = recipe.get("temperature", 0)
    if not isinstance(temperature, (int, float)) or not 0 <= temperature < float("inf"):
        raise QuadragError(f"{path}: temperature is {temperature!r}; expected a number from 0")
    return path.stem, recipe


def _is_run(run: Any) -> bool:
    if not isinstance(run, dict) or not set(run) <= {"config", "retriever", "options"}:
        return False
    kinds = (("config", str), ("retriever", str), ("options", dict))
    return "config" in run and all(isinstance(run.get(name, kind()), kind) for name, kind in kinds)


def _options(pairs: Sequence[str]) -> dict[str, Any]:
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
