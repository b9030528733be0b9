"""Several runs of one session: all of a paper, a recipe, a sweep, the demo; and how their folders are named."""

import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from quadrag.data.builders import SAMPLE
from quadrag.data.files import find_files, list_once
from quadrag.errors import NotReady, NotServed, OtherRun, QuadragError

from ..core.benchmark import Benchmark, load
from ..core.options import OptionSpec
from ..core.result import Result
from ..core.task import Task, script_options
from ..scoring.judging import refuse_idle_models
from ..systems.own import RAG
from .finished import run_folders
from .folder import find_fresh
from .pipeline import Session, require_entity_llm
from .recipe import Runs, note_options, plan_runs, read_recipe, select_settings
from .request import CallRequest, RunRequest, make_task
from .session import check_served, open_session

_MOST = 4  # names of files in a line


@dataclass(slots=True)
class Campaign:
    """The runs of a command with their folders; configs whose files are lacking; why recipes and runs are left out."""

    runs: list[tuple[Path, Result]] = field(default_factory=list)
    lacking: dict[str, list[str]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def results(self) -> list[Result]:
        """The results alone."""
        return [result for _, result in self.runs]


def name_folder(task: Task, model: str) -> str:
    """Name a run's folder where the user does not: config, split, what is not the default, and what answers."""
    parts = (task.benchmark, task.config, task.split, *_variant(task), _as_file_name(model))
    return "runs/" + "-".join(part for part in parts if part)


def _as_file_name(model: str) -> str:
    """Return a model's name without what stands before it, or an address, as a part of a file's name."""
    service = model.removeprefix(f"{RAG}:")  # which the retriever says already
    name = service if service != model else model.partition("://")[2] or model.rstrip("/").rsplit("/", 1)[-1]
    return re.sub(r"[^\w.-]", "_", name)


def _variant(task: Task) -> list[str]:
    """Name what a task does otherwise than by default: retriever, settings, options."""
    benchmark = load(task.benchmark)
    settings = {k: v for k, v in task.settings().items() if v != getattr(benchmark.retrieval, k)}
    named = [re.sub(r"[/*]", "_", f"{name}={value}") for name, value in {**settings, **task.options}.items()]
    return [*([] if task.retriever == benchmark.default_retriever else [task.retriever]), *named]


def name_campaign_folder(request: RunRequest, runs: Runs, model: str) -> str:
    """Name the folder of several runs where the user does not; a recipe has a name, and says its model."""
    if request.recipe:
        return name_recipe_folder(request.recipe, request.retrieval if request.replaced else {})
    config, retriever, _ = runs[0]
    # Where the retriever is the user's choice, runs with another one are another campaign.
    name = request.named_benchmark()
    one = replace(task_among(request, config, retriever, {}), options=request.options)
    chosen = _variant(one) if load(name).corpus else []
    return "runs/" + "-".join([f"{name}-all{'-original' if request.original else ''}", *chosen, _as_file_name(model)])


def name_recipe_folder(recipe: str, given: Mapping[str, Any]) -> str:
    """Name the folder of a recipe, or of all of a table, by what the user gives in its place."""
    own = "embedding" in given
    return f"runs/{recipe}-embedding={_as_file_name(given['embedding'])}" if own else f"runs/{recipe}"


def name_config_folder(config: str, retriever: str, benchmark: Benchmark) -> str:
    """Name a config's folder among those of a campaign."""
    return config if benchmark.corpus or retriever == benchmark.default_retriever else f"{config}-{retriever}"


def run_all(session: Session, request: RunRequest, runs: Runs, out: Path, fresh_since: float | None = None) -> Campaign:
    """Run several configs, each in a folder of its own below `out`; a stopped run is the last.

    Where all are asked anew, replies count from one moment on, of a sweep `fresh_since`: so what a killed command
    finished stays. Runs that need what is not given, as CRAG's graph, are left out and noted.
    """
    benchmark = load(request.named_benchmark())
    typed = {"config": request.config}
    if not (benchmark.corpus or benchmark.options):
        given = " ".join(f"--option {name}={_as_typed(value)}" for name, value in request.options.items())
        typed |= {"options": given, "split": request.split and f"--split {request.split}"}
    if any(retriever for _, retriever, _ in runs):
        typed |= {"retriever": request.retriever and f"--retriever {request.retriever}"}
    who = f"the recipe {request.recipe}" if request.recipe else "--all"
    for name in sorted(typed):
        if typed[name]:
            raise QuadragError(f"{who} says the {name} of every run; leave out {typed[name]}")
    campaign = Campaign()
    runs, campaign.left_out = _check_all(session, request, runs)
    tasks: list[tuple[Path, Task]] = []
    campaign.lacking = _find_lacking(request, benchmark, [config for config, _, _ in runs])
    for config, retriever, options in runs:
        if config in campaign.lacking:
            continue
        folder = out / name_config_folder(config, retriever or benchmark.default_retriever, benchmark)
        tasks.append((folder, task_among(request, config, retriever, options)))
    if session.fresh:
        session.fresh_since = fresh_since or find_fresh(folder for folder, _ in tasks)
    for folder, task in tasks:
        try:
            result = session.run(task, folder, alone=False)
        except OtherRun as error:
            free = next(place for number in itertools.count(2) if not Path(place := f"{out}-{number}").exists())
            raise QuadragError(f"{out} holds runs {error.difference}; type for example --out {free}") from error
        campaign.runs.append((folder, result))
        if result.stopped:
            break
    if not campaign.runs:
        files = list_once(campaign.lacking)
        raise QuadragError(
            f"{request.data_dir} holds no file that {who} reads ({_some(files)}); fetch them with `quadrag prepare "
            f"{benchmark.name}` and leave --data-dir out, or name the folder that has them"
        )
    return campaign


def run_sweep(
    request: RunRequest, calls: CallRequest, recipes: Sequence[str], out: Path, budget: Any = None
) -> Campaign:
    """Run recipes one after the other, each in a folder of its own below `out`, until one is stopped.

    One whose files are lacking, or that needs a package or leave to run a model's code, is left out and noted.
    """
    campaign = Campaign()
    fresh_since = find_fresh(run_folders(out)) if calls.kept.fresh else None
    lacking = _list_without_files(request, recipes)
    if len(lacking) < len(recipes):  # where all lack files, the first one says what is there
        campaign.left_out |= lacking
    settings = dict(zip(recipes, select_settings(request, recipes), strict=True))
    settings = {recipe: asked for recipe, asked in settings.items() if recipe not in campaign.left_out}
    _check_served(settings, calls)
    for recipe, asked in settings.items():
        try:
            one, runs = plan_runs(asked)
            with open_session(one, calls, budget) as session:
                found = run_all(session, one, runs or [], out / recipe, fresh_since)
        except NotReady as error:
            campaign.left_out[recipe] = str(error)
            continue
        except QuadragError as error:
            done = f"; `quadrag report {out}` shows what is done" if campaign.runs else ""
            raise QuadragError(f"{recipe}: {error}{done}") from error
        campaign.runs += found.runs
        campaign.lacking |= found.lacking
        campaign.left_out |= found.left_out
        if found.results[-1].stopped:
            break
    if not campaign.runs:
        recipe, why = next(iter(campaign.left_out.items()))
        raise QuadragError(f"{recipe}: {why}")
    return campaign


def _check_served(settings: Mapping[str, RunRequest], calls: CallRequest) -> None:
    """Find out, before the first of a sweep's recipes is run, whether the server has the models of all."""
    checked: set[str | None] = set()
    for recipe, asked in settings.items():
        one, _ = plan_runs(asked)
        if one.llm not in checked:
            checked.add(one.llm)
            try:
                check_served(one, calls)
            except NotServed as error:
                raise QuadragError(f"{recipe}: {error}") from error


def _find_lacking(request: RunRequest, benchmark: Benchmark, configs: Iterable[str]) -> dict[str, list[str]]:
    if not request.data_dir or request.data_dir == SAMPLE:
        return {}
    split = request.split or benchmark.default_split
    found = {name: find_files(benchmark.name, name, request.data_dir, split)[1] for name in dict.fromkeys(configs)}
    return {name: files for name, files in found.items() if files}


def _list_without_files(request: RunRequest, recipes: Sequence[str]) -> dict[str, str]:
    """Return why recipes cannot be run, by name: the user's folder lacks the files of all their runs."""
    made = {name: read_recipe(name)[1] for name in recipes}
    runs = {name: [run["config"] for run in recipe["runs"]] for name, recipe in made.items()}
    benchmark = load(next(iter(made.values()))["benchmark"])  # that of the table
    lacking = _find_lacking(request, benchmark, itertools.chain(*runs.values()))
    return {
        name: f"{request.data_dir} lacks {_some(list_once({one: lacking[one] for one in configs}))}"
        for name, configs in runs.items()
        if lacking.keys() >= set(configs)
    }


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


def _as_typed(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _check_all(session: Session, request: RunRequest, runs: Runs) -> tuple[Runs, dict[str, str]]:
    """Find out, before the first run, whether every run's options can be and what finds its passages can be had.

    Returns:
        The runs that can be had, and why the others cannot, by their names.

    Raises:
        NotReady: none can be had.
        QuadragError: an option or a judge is of no use to any run, or of no use at all.
    """
    benchmark = load(request.named_benchmark())
    tasks = [task_among(request, *run) for run in runs]
    for name in request.options:
        if not any(name in one.options for one in tasks):
            raise QuadragError(f"none of these runs uses the option {name}; leave it out")
    refuse_idle_models(session, [(benchmark, one) for one in tasks])
    ready: Runs = []
    without: dict[str, list[str]] = {}
    for run, one in zip(runs, tasks, strict=True):
        script_options(one, benchmark)
        split = one.split or benchmark.default_split
        bundled = one.data_dir in (None, SAMPLE)
        try:
            if bundled or not find_files(one.benchmark, one.config, str(one.data_dir), split)[1]:
                finder = benchmark.finder(one)
                if finder is not None:
                    finder.close()
            require_entity_llm(session.entity_llm, session.system.completer, one)
            ready.append(run)
        except NotReady as error:
            without.setdefault(str(error), []).append(f"{one.config} {one.retriever}")
    if not ready:
        raise NotReady(next(iter(without)))
    return ready, {", ".join(names): why for why, names in without.items()}


def task_among(request: RunRequest, config: str, retriever: str | None, options: Mapping[str, Any]) -> Task:
    """Make the task of one run among several."""
    one = make_task(replace(request, config=config, retriever=retriever or request.retriever))
    known = load(one.benchmark).options
    # What the user gives is for all runs; each takes what its retriever and its config use.
    idle = {name for name in one.options if known.get(name, OptionSpec()).find_idle(config, one.retriever)}
    taken = {n: value for n, value in one.options.items() if n not in idle}
    return replace(one, options={**options, **taken}, row=note_options(one, taken, options))


def run_demo(name: str, out: Path) -> list[tuple[Path, Result]]:
    """Run all of a benchmark on its bundled sample with the extractive baseline.

    The gold documents are put into a corpus that can take them, so that the retrieval is measured too.
    """
    benchmark = load(name)
    session = Session(command=["quadrag", "demo"], entity_llm=benchmark.scripted() if benchmark.scripted else None)
    options = {"gold": "test"} if benchmark.corpus and "gold" in benchmark.corpus.options else {}
    results = []
    for config, named in benchmark.campaign(False):
        retriever = named or benchmark.default_retriever
        folder = out / name / name_config_folder(config, retriever, benchmark)
        one = Task(name, config, None, SAMPLE, retriever, benchmark.retrieval, options)
        results.append((folder, session.run(one, folder, alone=False)))
    return results
