"""Recipes: files that say how a row of a published table was made; the name of a table stands for all of its rows.

A recipe is YAML: benchmark, runs (config, retriever, options), and what all runs share: retriever, settings of the
retrieval, the model's name and how it is asked, the name of the one that finds entities. ``published`` names the
printed row, for the reader.
"""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from quadrag import catalogue
from quadrag.data.builders import options_of
from quadrag.errors import QuadragError, unknown_name
from quadrag.reading import parse_yaml

from ..core.benchmark import load
from ..core.settings import SETTINGS
from ..core.task import Task
from ..systems.models import takes_sampling
from .request import RunRequest

Runs = list[tuple[str, str | None, dict[str, Any]]]  # config, retriever (None: the user's choice), options
# What a recipe may say of how a model is asked: from where to where, both included.
_SAMPLING: dict[str, tuple[float, float]] = {
    "temperature": (0, 100),
    "top_p": (0, 1),
    "sampling_top_k": (1, 10**9),
    "repetition_penalty": (0.01, 10),
    "max_tokens": (1, 10**9),
    "seed": (0, 10**9),
}
_WHOLE = ("sampling_top_k", "max_tokens", "seed")
_NAMES = ("model", "entity_model", "api", "template")
_STOP = "stop"  # a list of texts
_RECIPE_KEYS = ("benchmark", "runs", "retriever", "retrieval", *_NAMES, *_SAMPLING, _STOP, "published")
_COUNTS = {"chunk_size": 1, "chunk_overlap": 0, "top_k": 1}  # settings that are whole numbers, with the least
_REPLACEABLE = ("embedding",)  # what a user without the recipe's weights may put others in place of
_PLACES = ("index",)  # where vectors lie says nothing of what they are
_NEAREST = 3  # names that stand for a mistyped one
_TABLE = re.compile(r"\w+-table\d+")


def plan_runs(request: RunRequest) -> tuple[RunRequest, Runs | None]:
    """Return the runs that ``--all`` or ``--recipe`` ask for; None where the request names one run.

    Returns:
        The request with what a recipe says of what the user left open: the benchmark, how the model is asked, its name
        behind ``--llm``; and the runs.
    """
    if request.all_configs and request.recipe is not None:
        raise QuadragError("--all and --recipe each say what to run; give one of them")
    if request.all_configs:
        campaign = load(request.named_benchmark()).campaign(request.original)
        return request, [(config, retriever, {}) for config, retriever in campaign]
    if request.original:
        raise QuadragError("--original goes with --all; alone, name the config with its suffix _original")
    if request.recipe is None:
        return request, None
    name, recipe = read_recipe(request.recipe)
    settings = recipe.get("retrieval", {})
    replaced = {
        setting: settings[setting]
        for setting in _REPLACEABLE
        if setting in settings and request.retrieval.get(setting, settings[setting]) != settings[setting]
    }
    for setting, value in settings.items():
        if setting in request.retrieval and setting not in _REPLACEABLE:
            raise QuadragError(f"the recipe {name} says --{setting.replace('_', '-')} {value}; leave it out")
    if request.benchmark and request.named_benchmark() != recipe["benchmark"]:
        raise QuadragError(f"the recipe {name} is for {recipe['benchmark']}, not {request.named_benchmark()}")
    llm = request.llm
    if "model" in recipe:
        if not llm:
            raise QuadragError(f"the recipe {name} asks {recipe['model']}; say where with --llm http://HOST:PORT/v1")
        llm = _with_model(llm, recipe["model"])
    said = {setting: recipe[setting] for setting in (*_SAMPLING, _STOP) if setting in recipe and takes_sampling(llm)}
    asked = {"api": request.api, "template": request.template}
    if request.api is None and (llm or "").startswith("http"):  # weights that are loaded here have their own way
        asked = {"api": recipe.get("api"), "template": request.template or recipe.get("template")}
    filled = replace(
        request,
        benchmark=recipe["benchmark"],
        recipe=name,
        retrieval={**settings, **request.retrieval},
        replaced=replaced,
        row=_describe_row(name, recipe, replace(request, sampling=said).sent_sampling),
        llm=llm,
        entity_llm=_with_model(request.entity_llm, recipe.get("entity_model")),
        sampling={**said, **request.sampling},
        api=asked.get("api"),
        template=asked.get("template"),
    )
    own: dict[str, Any] = {
        key: recipe.get(key) for key, value in (("api", request.api), ("template", request.template)) if value
    }
    said_alone = replace(filled, sampling=said, samples=1, retrieval=settings, **own)
    filled = replace(filled, row=_note_changes(filled.row, _ask(filled), _ask(said_alone)))
    retriever = recipe.get("retriever", load(recipe["benchmark"]).default_retriever)
    return filled, [(run["config"], run.get("retriever", retriever), run.get("options", {})) for run in recipe["runs"]]


def _ask(request: RunRequest) -> dict[str, Any]:
    """Return how passages are found and how the model is asked, by the names of options."""
    benchmark = load(request.named_benchmark())
    settings = asdict(replace(benchmark.retrieval, **request.retrieval))
    return {
        **{name: settings[name] for name in SETTINGS if name not in (*_REPLACEABLE, *_PLACES)},
        "samples": request.samples,
        "api": request.api or "chat",
        "template": request.template,
        "temperature": benchmark.temperature,
        **request.sampling,
    }


def note_options(task: Task, given: Mapping[str, Any], said: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the row that a recipe replicates, with the options that the user gives otherwise; files are none."""
    if not task.row:
        return {}
    known = load(task.benchmark).options
    defaults = {name: spec.default for name, spec in known.items()}
    defaults |= options_of(catalogue.config(task.benchmark, task.config))
    files = {name for name, spec in known.items() if spec.check or spec.judged}
    files |= {name for name in given if name.endswith(("_file", "_dir"))}
    settings = {name: value for name, value in given.items() if name not in files}
    return _note_changes(task.row, settings, {**defaults, **said})


def _note_changes(row: Mapping[str, str], given: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, str]:
    """Return a row with those settings under ``changed`` that are not what the recipe says."""
    pairs = [(name, value, said.get(name)) for name, value in given.items()]
    changed = [
        f"{name} {value} (recipe {'none' if own is None else own})" for name, value, own in pairs if value != own
    ]
    before = [row["changed"]] if "changed" in row else []
    return {**row, "changed": "; ".join([*before, *changed])} if changed else dict(row)


def _describe_row(name: str, recipe: Mapping[str, Any], sent: Iterable[str]) -> dict[str, str]:
    """Say which printed row a recipe replicates, as the record of a run has it; `sent` are the fields of a request."""
    published = recipe.get("published")
    named = [str(value) for key, value in published.items() if key != "table"] if isinstance(published, dict) else []
    models = {key: recipe.get(key, "") for key in ("model", "entity_model")}
    row = {"recipe": name, "row": " ".join(named), **models, "sent": " ".join(sent), "runs": str(len(recipe["runs"]))}
    return {key: value for key, value in row.items() if value}


def _with_model(spec: str | None, model: str | None) -> str | None:
    return f"{spec}#{model}" if spec and model and spec.startswith("http") and "#" not in spec else spec


def recipes_of_table(name: str | None) -> list[str]:
    """Return the recipes of a table that a name like ``crud_rag-table3`` stands for; [] where it names none or one."""
    if name is None or not _TABLE.fullmatch(name):
        return []
    return [recipe for recipe in catalogue.recipes() if recipe.startswith(f"{name}-")]


def check_models(recipes: Sequence[str], llm: str | None) -> None:
    """Refuse to ask one model under the names of all in a sweep over models."""
    asked = {read_recipe(name)[1].get("model") for name in recipes}
    if len(asked) > 1 and llm and ("#" in llm or not llm.startswith("http")):
        raise QuadragError(f"the recipes ask {len(asked)} models, --llm {llm} names one; name one --recipe of them")


def select_settings(request: RunRequest, recipes: Sequence[str]) -> list[RunRequest]:
    """Return the request for each recipe of a sweep, with those of the replaced settings that the recipe says."""
    said = [read_recipe(name)[1].get("retrieval", {}) for name in recipes]
    for setting in _REPLACEABLE:
        values = list(dict.fromkeys(one[setting] for one in said if setting in one))
        if setting in request.retrieval and len(values) > 1:
            raise QuadragError(
                f"the recipes of {request.recipe} are {', '.join(values)}; name one of them, --{setting} replaces one"
            )
    return [
        replace(
            request,
            recipe=name,
            retrieval={k: v for k, v in request.retrieval.items() if k not in _REPLACEABLE or k in one},
        )
        for name, one in zip(recipes, said, strict=True)
    ]


def read_recipe(name: str) -> tuple[str, dict[str, Any]]:
    """Read a recipe by its name or from the user's file, and check its form."""
    if not name.strip():
        raise QuadragError("--recipe is empty; expected a name as rgb-table7-chatgpt-en, `quadrag list` shows all")
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        known = catalogue.recipes()
        if name not in known:
            tables = dict.fromkeys(found.group() for recipe in known if (found := _TABLE.match(recipe)))
            rows = [row for row in known if row.startswith(f"{name}-")]
            near = (rows or difflib.get_close_matches(name, [*tables, *known], n=_NEAREST, cutoff=0))[:_NEAREST]
            raise QuadragError(f"unknown recipe {name!r}; nearest: {', '.join(near)}; all: quadrag list")
        path = known[name]
    try:
        content = path.read_bytes()
    except OSError as error:
        raise QuadragError(f"cannot read the recipe {path} ({error.strerror})") from None
    recipe = parse_yaml(content, f"the recipe {path}", "a mapping with benchmark and runs")
    runs = recipe.get("runs") if isinstance(recipe, dict) else None
    if not isinstance(runs, list) or not runs or not all(map(_is_run, runs)):
        raise QuadragError(
            f"{path} is no recipe; expected a mapping with benchmark and runs, a list of config, retriever, options"
        )
    for key in recipe:
        if key not in _RECIPE_KEYS:
            raise unknown_name(f"key of the recipe {path.name}", key, _RECIPE_KEYS)
    if not all(isinstance(recipe.get(key, ""), str) for key in _NAMES) or not isinstance(recipe.get("benchmark"), str):
        raise QuadragError(f"{path} names no benchmark, or {', '.join(_NAMES)} by no name; expected strings")
    for key, (low, high) in _SAMPLING.items():
        value = recipe.get(key, low)
        if type(value) not in (int, float) or not low <= value <= high or (key in _WHOLE and value != int(value)):
            raise QuadragError(f"{path}: {key} is {value!r}; expected a number from {low:g} to {high:g}")
    texts = recipe.get(_STOP, ["."])
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise QuadragError(f"{path}: {_STOP} is {texts!r}; expected a list of texts")
    _check_settings(path, recipe.get("retrieval", {}))
    return path.stem, {**recipe, "benchmark": catalogue.benchmark_name(recipe["benchmark"])}


def _check_settings(path: Path, settings: Any) -> None:
    if not isinstance(settings, dict):
        raise QuadragError(f"{path}: retrieval is {settings!r}; expected a mapping of {', '.join(SETTINGS)}")
    for key, value in settings.items():
        if key not in SETTINGS:
            raise unknown_name(f"setting of the recipe {path.name}", str(key), SETTINGS)
        if key in _COUNTS and (type(value) is not int or value < _COUNTS[key]):
            raise QuadragError(f"{path}: {key} is {value!r}; expected a whole number from {_COUNTS[key]}")
        if key not in _COUNTS and not isinstance(value, str):
            raise QuadragError(f"{path}: {key} is {value!r}; expected a name")


def _is_run(run: Any) -> bool:
    if not isinstance(run, dict) or not set(run) <= {"config", "retriever", "options"}:
        return False
    kinds = (("config", str), ("retriever", str), ("options", dict))
    return "config" in run and all(isinstance(run.get(name, kind()), kind) for name, kind in kinds)
