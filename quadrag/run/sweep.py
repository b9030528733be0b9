"""Several runs of one command: all of a paper, a recipe, a table of recipes, the demo; and the names of folders."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from quadrag.benchmark import load
from quadrag.data.builders import SAMPLE
from quadrag.data.files import find_lacking
from quadrag.errors import NotReady, QuadragError
from quadrag.loading import script_options
from quadrag.results.run import Run
from quadrag.scoring.judging import check_models
from quadrag.spec import RAG, CallPolicy, RunSpec

from .finished import run_folders
from .folder import find_fresh
from .models import Models, open_models
from .plan import plan_all
from .run import require_entity_llm, run


@dataclass(slots=True)
class Sweep:
    """The runs of a command with their folders, and why others are left out, by config and retriever or by recipe."""

    runs: list[tuple[Path, Run]] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def results(self) -> list[Run]:
        """The results alone."""
        return [result for _, result in self.runs]


def name_folder(spec: RunSpec, model: str, head: str | None = None, variant: bool = True) -> str:
    """Name a folder where the user does not: what is run, what is not the default, and what answers.

    Args:
        spec: of the run, or of the first of several.
        model: what answers, less what stands before its name; "" where that is said by `head`.
        head: what is run; benchmark, config and split of the spec when None.
        variant: whether retriever, settings and options that are not the default are named.
    """
    head = head or "-".join(filter(None, (spec.benchmark, spec.config, spec.split)))
    service = model.removeprefix(f"{RAG}:")  # which the retriever says already
    called = service if service != model else model.partition("://")[2] or model.rstrip("/").rsplit("/", 1)[-1]
    limit = f"first-{spec.limit}" if spec.limit else ""
    parts = (head, *(_list_variant(spec) if variant else ()), limit, re.sub(r"[^\w.-]", "_", called))
    return "runs/" + "-".join(filter(None, parts))


def _list_variant(spec: RunSpec) -> list[str]:
    benchmark = load(spec.benchmark)
    settings = {name: value for name, value in spec.settings().items() if value != getattr(benchmark.retrieval, name)}
    named = [re.sub(r"[/*]", "_", f"{name}={value}") for name, value in {**settings, **spec.options}.items()]
    return [*([] if spec.retriever == benchmark.default_retriever else [spec.retriever]), *named]


def run_all(
    specs: Sequence[RunSpec], policy: CallPolicy, models: Models, out: Path, since: float | None = None
) -> Sweep:
    """Do several runs, each in a folder of its own below `out`; a stopped run is the last.

    What keeps a run from being done, as CRAG's graph that is not given, is found out before the first is; the others
    are done without it.

    Args:
        specs: of the runs.
        policy: how models are called.
        models: those of all the runs.
        out: the folder.
        since: where all are asked anew, the moment from which replies count, so that what a killed command finished
            stays; from now on when None.

    Raises:
        NotReady: none can be done.
    """
    benchmark = load(specs[0].benchmark)
    check_models(models, [(benchmark, spec) for spec in specs])
    sweep, places = Sweep(), {}
    for spec in specs:
        script_options(spec, benchmark)
        if why := _find_obstacle(spec, models):
            sweep.left_out[f"{spec.config} {spec.retriever}"] = why
        else:
            alone = benchmark.corpus or spec.retriever == benchmark.default_retriever
            places[out / (spec.config if alone else f"{spec.config}-{spec.retriever}")] = spec
    if not places:
        raise NotReady(next(iter(sweep.left_out.values())))
    if policy.fresh:
        since = since or find_fresh(places)
    for folder, spec in places.items():
        result = run(spec, policy, models, folder, alone=False, since=since)
        sweep.runs.append((folder, result))
        if result.stopped:
            break
    return sweep


def _find_obstacle(spec: RunSpec, models: Models) -> str | None:
    """Say what a run needs and does not have: files, a graph, a package, a model; None where all is there."""
    benchmark = load(spec.benchmark)
    if spec.data_dir not in (None, SAMPLE):
        split = spec.split or benchmark.default_split
        lacking = find_lacking(spec.benchmark, spec.config, str(spec.data_dir), split)
        if lacking:
            return f"{spec.data_dir} lacks {', '.join(lacking)}; fetch it with `quadrag prepare {spec.benchmark}`"
    try:
        finder = benchmark.finder(spec)
        if finder is not None:
            finder.close()
        require_entity_llm(models.entity_llm, models.system.completer, spec)
    except NotReady as error:
        return str(error)
    return None


def run_table(recipes: Mapping[str, Sequence[RunSpec]], policy: CallPolicy, out: Path) -> Sweep:
    """Do the runs of recipes one after the other, each in a folder of its own below `out`, until one is stopped."""
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
            done = f"; `quadrag report {out}` shows what is done" if sweep.runs else ""
            raise QuadragError(f"{recipe}: {error}{done}") from error
        sweep.runs += part.runs
        sweep.left_out |= part.left_out
        if part.results[-1].stopped:
            break
    if not sweep.runs:
        recipe, why = next(iter(sweep.left_out.items()))
        raise QuadragError(f"{recipe}: {why}")
    return sweep


def run_demo(name: str, out: Path) -> list[tuple[Path, Run]]:
    """Run all of a benchmark on its bundled sample with the extractive baseline.

    The gold documents are put into a corpus that can take them, so that the retrieval is measured too.
    """
    benchmark = load(name)
    policy = CallPolicy(command=["quadrag", "demo"])
    models = Models(policy, entity_llm=benchmark.scripted() if benchmark.scripted else None)
    options = {"gold": "test"} if benchmark.corpus and "gold" in benchmark.corpus.options else {}
    specs = plan_all({"benchmark": name, "data_dir": SAMPLE, "options": options})
    return run_all(specs, policy, models, out / name).runs
