"""From what a user says to specs: one run, all of a paper's tables, a recipe, a table of recipes.

Whoever says something writes a partial spec: a mapping of `RunSpec`'s form, as the command line, `quadrag.evaluate`, a
file and a recipe have it. Here one is laid over the other, what is left open is filled in as the benchmark has it, and
the whole is checked. A recipe, an entry of a benchmark's `recipes.yaml`, is a partial spec with ``runs``, which are
partial specs themselves, and ``published``, the printed row that it is of.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from quadrag import catalogue
from quadrag.benchmark import Benchmark, JudgePreset, OptionSpec, load
from quadrag.data.builders import options_of
from quadrag.errors import QuadragError, pick, read_yaml, unknown_name
from quadrag.parts import SETTINGS, Trust, validate
from quadrag.scoring.judging import verdict_format
from quadrag.spec import (
    CHALLENGE,
    EXTRACTIVE,
    RAG,
    UNKNOWN,
    Chat,
    Replica,
    RunSpec,
    Service,
    is_address,
    merge,
    names_chat,
    read_spec,
)

Partial = Mapping[str, Any]
ENTITY_SAMPLING = {"temperature": 0, "max_tokens": 512}  # of a list of entities
VERDICT_SAMPLING = {"temperature": 0, "max_tokens": 1024}
_REPLACEABLE = ("embedding",)  # what a user without the recipe's weights may put others in place of
_TABLE = re.compile(r"\w+-table\d+")


def plan_run(partial: Partial, trust: Trust | None = None, what: str = "the spec") -> RunSpec:
    """Make the spec of one run of what is said of it; `what` names whose words they are, for errors."""
    benchmark = load(name_benchmark(partial))
    if not partial.get("config"):
        known_configs = ", ".join(catalogue.configs(benchmark.name))
        raise QuadragError(f"no config; expected one of {known_configs}; --all of `quadrag run` takes all")
    catalogue.config(benchmark.name, str(partial["config"]))
    said = {**merge(_find_defaults(benchmark, partial), partial), "benchmark": benchmark.name}
    spec = validate(RunSpec, said, what)
    if isinstance(spec.system, Service) and spec.retriever != RAG:
        raise QuadragError("a RAG service finds passages by itself; leave out its retriever")
    alone = isinstance(spec.system, Chat) and spec.system.llm == EXTRACTIVE
    if spec.prompts and alone and not spec.judges and spec.entity_model is None:
        raise QuadragError("--prompts are for a chat model, and there is none; leave them out")
    if spec.context and not (isinstance(spec.system, Chat) and spec.system.is_chat):
        raise QuadragError("--context is for a chat model, and there is none; leave it out")
    if spec.retriever not in (*benchmark.retrievers, RAG, UNKNOWN):
        raise unknown_name(f"retriever of {benchmark.name}", spec.retriever, benchmark.retrievers)
    settings = partial.get("retrieval") or {}
    if idle := [setting for setting in settings if setting not in spec.retrieves.settings]:
        flag = f"--{idle[0].replace('_', '-')}"
        raise QuadragError(f"the retriever {spec.retriever} of {benchmark.name} does not use {flag}; leave it out")
    return spec.changed(retrieval=benchmark.retrieval.changed(**settings, trust=trust or Trust()))


def _find_defaults(benchmark: Benchmark, partial: Partial) -> dict[str, Any]:
    defaults: dict[str, Any] = {"retriever": benchmark.default_retriever}
    if partial.get("entity_model"):
        defaults["entity_model"] = {"sampling": ENTITY_SAMPLING}
    system = partial.get("system")
    system = system if isinstance(system, Mapping) else {}
    llm = system.get("llm")
    if "rag" in system:
        defaults["retriever"] = RAG
    elif names_chat(llm):
        defaults["system"] = {"sampling": {"temperature": benchmark.temperature}}
    elif str(llm or "").startswith(CHALLENGE):
        defaults["retriever"] = "own"
    return defaults


def name_benchmark(partial: Partial) -> str:
    if not partial.get("benchmark"):
        raise QuadragError(f"no benchmark; expected one of {', '.join(catalogue.benchmarks())}")
    return catalogue.benchmark_name(str(partial["benchmark"]))


def plan_judges(
    benchmark: str, named: Sequence[str], form: str | None, longest: int | None, names: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return what `RunSpec.judges` says of judges, each named by a spec, or a preset as ``NAME=http://...``.

    Verdicts of `benchmark` have a `form`, ``text``, ``json`` or ``schema``, and at most `longest` tokens, 1024 when
    None. The judges' `names` are what they are called wherever they are served.
    """
    judges = []
    for place, text in enumerate(named):
        llm, parameters = _read_judge(text, place)
        fields = {name: parameters.pop(name) for name in ("response_format",) if name in parameters}
        sampling = {**VERDICT_SAMPLING, **({} if longest is None else {"max_tokens": longest}), **parameters}
        fields |= verdict_format(load(benchmark), form or "text", place)
        fields |= {"name": names[place]} if place < len(names) else {}
        judges.append({"llm": llm, "sampling": sampling, **fields})
    return judges


def refuse_idle(judges: Sequence[str], said: Mapping[str, Any]) -> None:
    """Refuse what is said of how judges are asked, by the names that the user writes, where there are none."""
    if not judges and (idle := [name for name, value in said.items() if value]):
        raise QuadragError(f"{idle[0]} is for a judge, and none is named; name one, or leave it out")


def judge_presets() -> dict[str, JudgePreset]:
    return {name: preset for benchmark in catalogue.benchmarks() for name, preset in load(benchmark).judges.items()}


def _read_judge(text: str, place: int) -> tuple[str, dict[str, Any]]:
    """Return the spec that ``--judge`` names, and the parameters of a preset, of which ``local:`` takes none."""
    name, mark, where = text.partition("=")
    if not mark or not re.fullmatch(r"[\w.-]+", name):
        return text, {}
    preset = pick("judge preset", name, judge_presets())
    if preset.role not in (None, place):
        order = "second, after the judge of the other metrics" if preset.role else "first"
        raise QuadragError(f"--judge {name} is asked about its own metrics alone; name it {order}")
    if is_address(where):
        if "#" in where:
            raise QuadragError(f"--judge {name}=... names a model beside the preset's {preset.model}; leave out #...")
        return f"{where}#{preset.model}", dict(preset.parameters)
    return where, {} if where.startswith("local:") else dict(preset.parameters)


def plan_all(partial: Partial, original: bool = False, trust: Trust | None = None) -> list[RunSpec]:
    """Make the specs of all that a paper's tables need, on the original data where there are two versions."""
    benchmark = load(name_benchmark(partial))
    runs = [
        {"config": config, **({"retriever": retriever} if retriever else {})}
        for config, retriever in benchmark.paper_runs(original)
    ]
    _refuse_said("--all", benchmark, runs, partial)
    return _plan_among({}, runs, partial, trust)


def _refuse_said(who: str, benchmark: Benchmark, runs: Sequence[Partial], partial: Partial) -> None:
    """Refuse what several runs say themselves; of a benchmark that has only datasets' options, splits and these too."""
    reserved = {"config"} | ({"retriever"} if any("retriever" in run for run in runs) else set())
    reserved |= set() if benchmark.corpus or benchmark.options else {"options", "split"}
    for name in sorted(reserved):
        if partial.get(name):
            raise QuadragError(f"{who} says the {name} of every run, and so do you: {partial[name]}; leave it out")


def _plan_among(shared: Partial, runs: Sequence[Partial], partial: Partial, trust: Trust | None) -> list[RunSpec]:
    """Make the specs of several runs: what is said of all, of each over it, and what the user says over both.

    Of the options that are not of one run each takes those that its retriever and config use.
    """
    benchmark = load(name_benchmark({**shared, **partial}))
    options, specs = {**shared.get("options", {}), **(partial.get("options") or {})}, []
    unused = set(options)
    for run in runs:
        merged = merge(merge(shared, run), {name: value for name, value in partial.items() if name != "config"})
        retriever = str(merged.get("retriever") or benchmark.default_retriever)
        used = {
            name: value
            for name, value in options.items()
            if not benchmark.options.get(name, OptionSpec()).find_idle(str(run["config"]), retriever)
        }
        unused -= set(used)
        specs.append(plan_run({**merged, "options": {**run.get("options", {}), **used}}, trust))
    if unused:
        raise QuadragError(f"none of these runs uses the option {min(unused)}; leave it out")
    return specs


def plan_recipe(name: str, partial: Partial, trust: Trust | None = None) -> list[RunSpec]:
    """Make the specs of a recipe's runs, with what the user says beside it: where its models are, and the data."""
    name, recipe = read_recipe(name)
    if partial.get("benchmark") and name_benchmark(partial) != recipe["benchmark"]:
        raise QuadragError(f"the recipe {name} is for {recipe['benchmark']}, not {partial['benchmark']}")
    benchmark = load(recipe["benchmark"])
    fields = {key: value for key, value in recipe.items() if key not in ("runs", "published", "entity_model")}
    fields = {"retriever": benchmark.default_retriever, "system": {}, **fields}
    _refuse_said(f"the recipe {name}", benchmark, [fields], partial)
    for setting, value in fields.get("retrieval", {}).items():
        if setting in partial.get("retrieval", {}) and setting not in _REPLACEABLE:
            raise QuadragError(f"the recipe {name} says --{setting.replace('_', '-')} {value}; leave it out")
    llm = (partial.get("system") or {}).get("llm") or fields["system"].get("llm")
    if (model := fields["system"].get("model")) and not llm:
        raise QuadragError(f"the recipe {name} asks {model}; say where with --llm http://HOST:PORT/v1")
    if not is_address(llm):  # what a recipe says of a server's model is of no other
        chat_fields = ("llm", "sampling") if names_chat(llm) else ("llm",)
        fields["system"] = {key: value for key, value in fields["system"].items() if key in chat_fields}
    places = {"data_dir": partial.get("data_dir"), "system": {"llm": llm or EXTRACTIVE}}
    if entity := partial.get("entity_model"):
        places["entity_model"] = {"llm": entity.get("llm")}
        if is_address(entity.get("llm")) and "entity_model" in recipe:
            fields["entity_model"] = recipe["entity_model"]
    specs = _plan_among(fields, recipe["runs"], partial, trust)
    by_recipe = _plan_among(fields, recipe["runs"], places, trust)
    pairs = zip(specs, by_recipe, strict=True)
    return [spec.changed(replica=_compare(name, recipe, spec, alone)) for spec, alone in pairs]


def _compare(name: str, recipe: Partial, spec: RunSpec, by_recipe: RunSpec) -> Replica:
    published, option_specs = recipe.get("published", {}), load(spec.benchmark).options
    files = {option for option, value in option_specs.items() if value.check}
    defaults = {option: value.default for option, value in option_specs.items()}
    defaults |= options_of(catalogue.config(spec.benchmark, spec.config))
    of_run, of_recipe = ({**defaults, **_list_fixed(each)} for each in (spec, by_recipe))
    changed = {
        setting: (of_run.get(setting), of_recipe.get(setting))
        for setting in {**of_run, **of_recipe}
        if of_run.get(setting) != of_recipe.get(setting)
        and setting not in files
        and not setting.endswith(("_file", "_dir"))
    }
    replaced = {setting: str(changed.pop(setting)[1]) for setting in _REPLACEABLE if setting in changed}
    system = recipe.get("system", {})
    return Replica(
        recipe=name,
        row=" ".join(str(value) for key, value in published.items() if key != "table"),
        model=system.get("model"),
        entity_model=recipe.get("entity_model", {}).get("model"),
        sent=tuple(system.get("sampling", {})),
        runs=len(recipe["runs"]),
        changed=changed,
        replaced={setting: value for setting, value in replaced.items() if setting in recipe.get("retrieval", {})},
    )


def _list_fixed(spec: RunSpec) -> dict[str, Any]:
    """Return what a recipe may fix: options, settings of the search but for where vectors lie, how a model is asked."""
    retrieval = {setting: getattr(spec.retrieval, setting) for setting in SETTINGS if setting != "index"}
    asked = {name: getattr(spec.system, name, None) for name in ("api", "template")}
    sampling = spec.system.sampling.sent() if isinstance(spec.system, Chat) else {}
    return {**spec.options, **retrieval, "samples": spec.samples, "context": spec.context, **asked, **sampling}


@cache
def recipes() -> Mapping[str, dict[str, Any]]:
    """Read all recipes, by name: ``TABLE-ROW`` of a benchmark's `recipes.yaml`, over what ``all`` of its table says."""
    found: dict[str, dict[str, Any]] = {}
    for benchmark in catalogue.benchmarks():
        path = catalogue.plugin_folder(benchmark) / "recipes.yaml"
        for table, rows in (read_yaml(path, "tables of recipes") if path.is_file() else {}).items():
            shared = {"benchmark": benchmark, **rows.pop("all", {})}
            found |= {f"{table}-{row}": merge(shared, said) for row, said in rows.items()}
    return dict(sorted(found.items()))


def recipes_of_table(name: str | None) -> list[str]:
    """Return the recipes of a table that a name like ``BENCHMARK-table3`` stands for; [] where it names none or one."""
    if name is None or not _TABLE.fullmatch(name):
        return []
    return [recipe for recipe in recipes() if recipe.startswith(f"{name}-")]


def plan_table(recipes: Sequence[str], partial: Partial, trust: Trust | None = None) -> dict[str, list[RunSpec]]:
    """Make the specs of several recipes, by their names; a setting is replaced in those alone that have it."""
    settings, llm = partial.get("retrieval") or {}, (partial.get("system") or {}).get("llm")
    read = {name: read_recipe(name)[1] for name in recipes}
    models = {recipe.get("system", {}).get("model") for recipe in read.values()}
    if len(models) > 1 and llm and ("#" in llm or not is_address(llm)):
        raise QuadragError(f"the recipes ask {len(models)} models, --llm {llm} names one; name one --recipe of them")
    retrieval = {name: recipe.get("retrieval", {}) for name, recipe in read.items()}
    for setting in set(settings).intersection(_REPLACEABLE):
        fixed = sorted({of_recipe[setting] for of_recipe in retrieval.values() if setting in of_recipe})
        if len(fixed) > 1:
            raise QuadragError(f"--{setting} replaces one of {', '.join(fixed)}; name one recipe of this table")
    planned = {}
    for name in recipes:
        fitting = {key: v for key, v in settings.items() if key not in _REPLACEABLE or key in retrieval[name]}
        planned[name] = plan_recipe(name, {**partial, "retrieval": fitting}, trust)
    return planned


def read_recipe(name: str) -> tuple[str, dict[str, Any]]:
    if Path(name).suffix in (".yaml", ".yml"):
        recipe, name = read_spec(name), Path(name).stem
    else:
        if name not in recipes():
            raise unknown_name("recipe", name, [row for row in recipes() if row.startswith(f"{name}-")] or recipes())
        recipe = dict(recipes()[name])
    runs = recipe.get("runs")
    if not isinstance(runs, list) or not runs or not all(isinstance(run, dict) and "config" in run for run in runs):
        raise QuadragError(f"the recipe {name} has no runs; expected a list of config, retriever and options")
    recipe["benchmark"] = name_benchmark(recipe)
    placed: dict[str, Any] = {role: {"llm": "http://HOST/v1"} for role in ("system", "entity_model") if role in recipe}
    said = merge(placed, {key: value for key, value in recipe.items() if key not in ("runs", "published")})
    for run in runs:
        validate(RunSpec, merge(said, run), f"the recipe {name}")
    return name, recipe
