"""Several runs of one command: all of a paper, a recipe, a table of recipes, the demo; and the names of folders."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from quadrag import catalogue
from quadrag.benchmark import Benchmark, load
from quadrag.data.builders import SAMPLE
from quadrag.data.files import find_lacking
from quadrag.errors import NotReady, QuadragError
from quadrag.loading import load_questions, script_options
from quadrag.results import Run
from quadrag.scoring.judging import check_judges
from quadrag.spec import RAG, CallPolicy, RunSpec

from .folder import find_fresh, run_folders
from .models import Models, open_models
from .plan import plan_all
from .run import open_finder, run


@dataclass(slots=True)
class Sweep:
    """The runs of a command, and why others are left out, by config and retriever or by recipe."""

    runs: list[Run] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)


def name_folder(spec: RunSpec, model: str, head: str | None = None, variant: bool = True) -> str:
    """Name a folder where the user does not: what is run, what is not the default, and what answers.

    The spec is of the run, or the first of several. `head` says what is run in place of benchmark, config and split,
    and maybe the model, which is then ""; without `variant` nothing is told of what is not the default.
    """
    benchmark = load(spec.benchmark)
    parts = [head] if head else [spec.benchmark, spec.config, spec.split]
    if variant:
        usual = {name: getattr(benchmark.retrieval, name) for name in spec.settings()}
        settings = {name: value for name, value in spec.settings().items() if value != usual[name]}
        parts += [spec.retriever] if spec.retriever != benchmark.default_retriever else []
        parts += [re.sub(r"[/*]", "_", f"{name}={value}") for name, value in {**settings, **spec.options}.items()]
    parts += [f"first-{spec.limit}"] if spec.limit else []
    service = model.removeprefix(f"{RAG}:")  # which the retriever says already
    called = service if service != model else model.partition("://")[2] or model.rstrip("/").rsplit("/", 1)[-1]
    return "runs/" + "-".join(filter(None, [*parts, re.sub(r"[^\w.-]", "_", called)]))


def run_all(
    specs: Sequence[RunSpec], policy: CallPolicy, models: Models, out: Path, since: float | None = None
) -> Sweep:
    """Do several runs, each in a folder of its own below `out`; a stopped run is the last.

    What keeps a run from being done, as a graph that is not given, is found out before the first is; the others are
    done without it. `since` is the moment from which replies count where all are asked anew, so that what a killed
    command finished stays; from now on when None. NotReady is raised where none can be done.
    """
    benchmark = load(specs[0].benchmark)
    check_judges([(benchmark, spec) for spec in specs], len(models.judges))
    sweep, places = Sweep(), {}
    for spec in specs:
        script_options(spec, benchmark)
        try:
            _require_files(spec, benchmark)
            finder = open_finder(benchmark, spec, models)
        except NotReady as error:
            sweep.left_out[f"{spec.config} {spec.retriever}"] = str(error)
            continue
        if finder is not None:
            finder.close()
        alone = benchmark.corpus or spec.retriever == benchmark.default_retriever
        places[out / (spec.config if alone else f"{spec.config}-{spec.retriever}")] = spec
    if not places:
        raise NotReady(next(iter(sweep.left_out.values())))
    if policy.fresh:
        since = since or find_fresh(places)
    for folder, spec in places.items():
        sweep.runs.append(run(spec, policy, models, folder, alone=False, since=since))
        if sweep.runs[-1].stopped:
            break
    return sweep


def _require_files(spec: RunSpec, benchmark: Benchmark) -> None:
    if spec.data_dir in (None, SAMPLE):
        return
    split = spec.split or benchmark.default_split
    if lacking := find_lacking(spec.benchmark, spec.config, str(spec.data_dir), split):
        fetch = f"fetch it with `quadrag prepare {spec.benchmark}`"
        raise NotReady(f"{spec.data_dir} lacks {', '.join(lacking)}; {fetch}")


def run_table(recipes: Mapping[str, Sequence[RunSpec]], policy: CallPolicy, out: Path) -> Sweep:
    sweep = Sweep()
    since = find_fresh(run_folders(out)) if policy.fresh else None
    for recipe, specs in recipes.items():
        try:
            with open_models(specs[0], policy) as models:
                part = run_all(specs, policy, models, out / recipe, since)
        except NotReady as error:
            sweep.left_out[recipe] = str(error)
            continue
        except QuadragError as error:
            raise QuadragError(f"{recipe}: {error}") from error
        sweep.runs += part.runs
        sweep.left_out |= part.left_out
        if part.runs[-1].stopped:
            break
    if not sweep.runs:
        raise QuadragError(": ".join(next(iter(sweep.left_out.items()))))
    return sweep


def plan_demo(llm: str | None, limit: int | None, language: str) -> dict[str, list[RunSpec]]:
    """Make the specs of all that each benchmark's bundled sample has, by its name; with a model, in its language.

    The gold documents are put into a corpus that can take them, so that the retrieval is measured too.
    """
    asked: dict[str, Any] = {"system": {"llm": llm, "sampling": {"temperature": 0}}} if llm else {}
    asked |= {"limit": limit} if limit else {}
    plans: dict[str, list[RunSpec]] = {}
    for name in catalogue.benchmarks():
        benchmark = load(name)
        options = {"gold": "test"} if benchmark.corpus and "gold" in benchmark.corpus.options else {}
        specs = plan_all({"benchmark": name, "data_dir": SAMPLE, "options": options, **asked})
        plans[name] = [spec for spec in specs if not llm or load_questions(spec, benchmark)[0][0].language == language]
    return {name: specs for name, specs in plans.items() if specs}


def run_demo(name: str, specs: Sequence[RunSpec], policy: CallPolicy, models: Models, out: Path) -> list[Run]:
    """Run what was planned of a benchmark; what entities its questions name is known of the sample, and not asked."""
    scripted = load(name).scripted
    return run_all(specs, policy, replace(models, entity_llm=scripted() if scripted else None), out / name).runs
