"""Several runs of one command: all of a paper, a recipe, a table of recipes, the demo; and the names of folders."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quadrag.data.builders import SAMPLE
from quadrag.data.files import find_files, list_once
from quadrag.errors import NotReady, NotServed, OtherRun, QuadragError

from ..core.benchmark import Benchmark, load
from ..core.result import Result
from ..core.spec import RAG, CallPolicy, RunSpec
from ..core.task import script_options
from ..scoring.judging import check_models
from .finished import run_folders
from .folder import find_fresh
from .models import Models, check_served, open_models
from .plan import plan_run
from .run import require_entity_llm, run

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


def name_folder(spec: RunSpec, model: str) -> str:
    """Name a run's folder where the user does not: config, split, what is not the default, and what answers."""
    limit = f"first-{spec.limit}" if spec.limit else None
    parts = (spec.benchmark, spec.config, spec.split, *_variant(spec), limit, as_file_name(model))
    return "runs/" + "-".join(part for part in parts if part)


def as_file_name(model: str) -> str:
    """Return a model's name without what stands before it, or an address, as a part of a file's name."""
    service = model.removeprefix(f"{RAG}:")  # which the retriever says already
    name = service if service != model else model.partition("://")[2] or model.rstrip("/").rsplit("/", 1)[-1]
    return re.sub(r"[^\w.-]", "_", name)


def _variant(spec: RunSpec) -> list[str]:
    """Name what a run does otherwise than by default: retriever, settings, options."""
    benchmark = load(spec.benchmark)
    usual = benchmark.retrieval
    settings = {name: value for name, value in spec.settings().items() if value != getattr(usual, name)}
    named = [re.sub(r"[/*]", "_", f"{name}={value}") for name, value in {**settings, **spec.options}.items()]
    return [*([] if spec.retriever == benchmark.default_retriever else [str(spec.retriever)]), *named]


def name_campaign_folder(specs: Sequence[RunSpec], model: str, options: Mapping[str, Any], original: bool) -> str:
    """Name the folder of all of a paper's runs where the user does not."""
    first = specs[0]
    # Where the retriever is the user's choice, runs with another one are another campaign.
    chosen = _variant(first.changed(options=dict(options))) if load(first.benchmark).corpus else []
    limit = [f"first-{first.limit}"] if first.limit else []
    return "runs/" + "-".join([f"{first.benchmark}-all{'-original' * original}", *chosen, *limit, as_file_name(model)])


def name_recipe_folder(recipe: str, settings: Mapping[str, Any], limit: int | None) -> str:
    """Name the folder of a recipe, or of all of a table, by what the user gives in its place."""
    own = [f"embedding={as_file_name(settings['embedding'])}"] if "embedding" in settings else []
    return "runs/" + "-".join([recipe, *own, *([f"first-{limit}"] if limit else [])])


def run_all(
    specs: Sequence[RunSpec], policy: CallPolicy, models: Models, out: Path, who: str, since: float | None = None
) -> Campaign:
    """Do several runs, each in a folder of its own below `out`; a stopped run is the last.

    Runs that need what is not given, as CRAG's graph, are left out and noted.

    Args:
        specs: of the runs.
        policy: how models are called.
        models: those of all the runs.
        out: the folder.
        who: what says the runs, for errors.
        since: where all are asked anew, the moment from which replies count, so that what a killed command finished
            stays; from now on when None.
    """
    benchmark = load(specs[0].benchmark)
    campaign = Campaign()
    ready, campaign.left_out = _check_all(models, specs)
    campaign.lacking = _find_lacking(benchmark, ready)
    places = {out / _name_config_folder(spec, benchmark): spec for spec in ready if spec.config not in campaign.lacking}
    if policy.fresh:
        since = since or find_fresh(places)
    for folder, spec in places.items():
        try:
            result = run(spec, policy, models, folder, alone=False, since=since)
        except OtherRun as error:
            free = next(place for number in itertools.count(2) if not Path(place := f"{out}-{number}").exists())
            raise QuadragError(f"{out} holds runs {error.difference}; type for example --out {free}") from error
        campaign.runs.append((folder, result))
        if result.stopped:
            break
    if not campaign.runs:
        raise QuadragError(
            f"{specs[0].data_dir} holds no file that {who} reads ({_some(list_once(campaign.lacking))}); fetch them "
            f"with `quadrag prepare {benchmark.name}` and leave --data-dir out, or name the folder that has them"
        )
    return campaign


def _name_config_folder(spec: RunSpec, benchmark: Benchmark) -> str:
    alone = benchmark.corpus or spec.retriever == benchmark.default_retriever
    return spec.config if alone else f"{spec.config}-{spec.retriever}"


def run_table(recipes: Mapping[str, Sequence[RunSpec]], policy: CallPolicy, out: Path, budget: Any = None) -> Campaign:
    """Do the runs of recipes one after the other, each in a folder of its own below `out`, until one is stopped.

    One whose files are lacking, or that needs a package or leave to run a model's code, is left out and noted.
    """
    campaign = Campaign()
    since = find_fresh(run_folders(out)) if policy.fresh else None
    lacking = {recipe: _find_lacking(load(specs[0].benchmark), specs) for recipe, specs in recipes.items()}
    without = {
        recipe: f"{recipes[recipe][0].data_dir} lacks {_some(list_once(files))}"
        for recipe, files in lacking.items()
        if {spec.config for spec in recipes[recipe]} <= files.keys()
    }
    if len(without) < len(recipes):  # where all lack files, the first one says what is there
        campaign.left_out |= without
    asked = {recipe: specs for recipe, specs in recipes.items() if recipe not in campaign.left_out}
    checked: set[str] = set()
    for recipe, specs in asked.items():
        # Before the first is run, whether the server has the models of all.
        if (model := repr(specs[0].system)) not in checked:
            checked.add(model)
            try:
                check_served(specs[0], policy)
            except NotServed as error:
                raise QuadragError(f"{recipe}: {error}") from error
    for recipe, specs in asked.items():
        try:
            with open_models(specs[0], policy, budget) as models:
                found = run_all(specs, policy, models, out / recipe, f"the recipe {recipe}", since)
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


def _find_lacking(benchmark: Benchmark, specs: Iterable[RunSpec]) -> dict[str, list[str]]:
    """Return the files that a folder of the user's lacks, by config."""
    found: dict[str, list[str]] = {}
    for spec in specs:
        if spec.data_dir and spec.data_dir != SAMPLE and spec.config not in found:
            split = spec.split or benchmark.default_split
            found[spec.config] = find_files(benchmark.name, spec.config, spec.data_dir, split)[1]
    return {config: files for config, files in found.items() if files}


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


def _check_all(models: Models, specs: Sequence[RunSpec]) -> tuple[list[RunSpec], dict[str, str]]:
    """Find out, before the first run, whether every run's options can be and what finds its passages can be had.

    Returns:
        The runs that can be had, and why the others cannot, by their names.

    Raises:
        NotReady: none can be had.
        QuadragError: an option or a judge is of no use to any run, or of no use at all.
    """
    benchmark = load(specs[0].benchmark)
    check_models(models, [(benchmark, spec) for spec in specs])
    ready: list[RunSpec] = []
    without: dict[str, list[str]] = {}
    for spec in specs:
        script_options(spec, benchmark)
        split = spec.split or benchmark.default_split
        bundled = spec.data_dir in (None, SAMPLE)
        try:
            if bundled or not find_files(spec.benchmark, spec.config, str(spec.data_dir), split)[1]:
                finder = benchmark.finder(spec)
                if finder is not None:
                    finder.close()
            require_entity_llm(models.entity_llm, models.system.completer, spec)
            ready.append(spec)
        except NotReady as error:
            without.setdefault(str(error), []).append(f"{spec.config} {spec.retriever}")
    if not ready:
        raise NotReady(next(iter(without)))
    return ready, {", ".join(names): why for why, names in without.items()}


def run_demo(name: str, out: Path) -> list[tuple[Path, Result]]:
    """Run all of a benchmark on its bundled sample with the extractive baseline.

    The gold documents are put into a corpus that can take them, so that the retrieval is measured too.
    """
    benchmark = load(name)
    policy = CallPolicy(command=["quadrag", "demo"])
    models = Models(policy, entity_llm=benchmark.scripted() if benchmark.scripted else None)
    options = {"gold": "test"} if benchmark.corpus and "gold" in benchmark.corpus.options else {}
    results = []
    for config, retriever in benchmark.campaign(False):
        partial = {"benchmark": name, "config": config, "data_dir": SAMPLE, "options": options}
        spec = plan_run(partial | ({"retriever": retriever} if retriever else {}))
        folder = out / name / _name_config_folder(spec, benchmark)
        results.append((folder, run(spec, policy, models, folder, alone=False)))
    return results
