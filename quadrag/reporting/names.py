"""What runs, their models and their scores are called in tables and under them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from quadrag.metric_record import show_key
from quadrag.results.record import RunRecord
from quadrag.results.run import Run
from quadrag.results.score import Place
from quadrag.spec import NONE

from .table import load_tables


def name_model(run: RunRecord) -> str:
    """Return the model's name without the folders or the organisation before it; a system of one's own stays whole."""
    own = "contract" in run.parameters and "://" not in run.llm
    return run.llm if own else run.llm.rstrip("/").rsplit("/", 1)[-1]


def name_run(run: RunRecord) -> str:
    """Name a run by its model, and by its retriever where that is none."""
    return f"{name_model(run)}, no documents" if run.retriever == NONE else name_model(run)


def title_of(result: Run, split: str = "") -> str:
    """Name what was run, or one split of it, and by what."""
    what = " ".join(filter(None, (result.record.benchmark, result.record.config, split)))
    return f"{what}, {name_run(result.record)}"


def name_apart(results: Sequence[Run]) -> list[str]:
    """Name runs by the model, the config and the splits that they do not share, or by their folders; one has no name.

    A config is called as the paper calls it, where that has a name for it.
    """
    runs = [one.record for one in results]
    models = [name_model(run) for run in runs]
    if len({*models}) < len({run.llm for run in runs}):
        models = [run.llm for run in runs]
    configs = [load_tables(run.benchmark).blocks.get((run.config, run.retriever), run.config) for run in runs]
    for parts in ([models, configs], [models, configs, [" ".join(run.splits) for run in runs]]):
        differing = [column for column in parts if len({*column}) > 1]
        names = [" ".join(one) for one in zip(*differing, strict=True)] or [""] * len(results)
        if len({*names}) == len(names):
            return names
    return [one.folder.name if one.folder else one.record.config for one in results]


def name_runs(names: Sequence[str]) -> list[str]:
    """Name runs side by side by their folders, with those above where two are alike, less what all begin with."""
    paths = [Path(name).parts for name in names]
    for depth in range(1, max(map(len, paths)) + 1):
        short = ["/".join(path[-depth:]) for path in paths]
        if len({*short}) == len({*names}):
            break
    words = [one.split("-") for one in short]
    while min(map(len, words)) > 1 and len({one[0] for one in words}) == 1 < len({*short}):
        words = [one[1:] for one in words]
    own = ["-".join(one) for one in words]
    return own if all(one[:1].isalpha() for one in own) else short


def name_places(places: Iterable[Place]) -> dict[Place, str]:
    """Name scores by what of config and split tells them apart."""
    every = [*places]
    config, split = (len({place[at] for place in every}) > 1 for at in range(2))
    return {place: f"{place[0]}: " * config + f"{place[1]}/" * split + show_key(place[2], place[3]) for place in every}
