"""What a recipe's runs use, setting by setting: resolved as `quadrag run --recipe` resolves it, with nothing opened.

Where a command must say more, as an address or a judge, the option that says it stands in the place of a value.
"""

from collections.abc import Mapping
from typing import Any

from quadrag import catalogue
from quadrag.data.builders import SAMPLE, options_of
from quadrag.hub.record import Rows, hub_record

from ..core.benchmark import Benchmark, load
from ..core.parts import SETTINGS
from ..core.prompts import load_prompts
from ..core.result import PROFILES
from ..core.spec import NONE, WHOLE, Chat, RunSpec
from .plan import VERDICT_SAMPLING, plan_recipe
from .questions import digest

_ADDRESS = "http://HOST/v1"  # stands for the user's; nothing is asked
_SENT = ("temperature", "top_p", "top_k", "repetition_penalty", "max_tokens", "stop", "seed")


def find_used(recipe: str) -> dict[str, str]:
    """Return the settings that the runs of a recipe use.

    Returns:
        Texts by the names of settings. Where runs differ each value names its runs, and lists are put together; a
        setting that none of them uses is not there.
    """
    places = {"system": {"llm": _ADDRESS}, "entity_model": {"llm": _ADDRESS}, "data_dir": SAMPLE}
    specs = plan_recipe(recipe, places)
    alone = len({spec.config for spec in specs}) == len(specs)
    values: dict[str, dict[str, list[str]]] = {}
    lists: dict[str, dict[str, None]] = {}
    for spec in specs:
        run = spec.config if alone else f"{spec.config} {spec.retriever}"
        for setting, value in _list_used(spec).items():
            if isinstance(value, list):
                lists.setdefault(setting, {}).update(dict.fromkeys(value))
            elif value is not None:
                values.setdefault(setting, {}).setdefault(str(value), []).append(run)
    return {setting: ", ".join(names) for setting, names in lists.items()} | {
        setting: next(iter(runs))
        if len(runs) == 1
        else "; ".join(f"{value} ({', '.join(of)})" for value, of in runs.items())
        for setting, runs in values.items()
    }


def _list_used(spec: RunSpec) -> dict[str, Any]:
    benchmark = load(spec.benchmark)
    config = catalogue.config(spec.benchmark, spec.config)
    split = spec.split or benchmark.default_split
    splits = [split] if split else config.splits
    rows = hub_record(spec.benchmark).rows[spec.config]
    metrics = benchmark.metrics(spec.config, spec.conditions)
    system = spec.system
    assert isinstance(system, Chat)
    asks_entities = spec.entity_model is not None and benchmark.asks_entities(spec)
    return {
        "config": [spec.config],
        "model": system.model or "what --llm names",
        "interface": f"completions, template {system.template}" if system.template else system.api,
        "prompts": f"our words, {digest(load_prompts(spec.benchmark, spec.prompts))}",
        **_name_sent("", system.sampling.sent()),
        "samples": spec.samples,
        "split": list(splits),
        "questions": ", ".join(dict.fromkeys(_count(rows[name]) for name in splits)),
        **{name: _plain(spec.options.get(name, default)) for name, default in options_of(config).items()},
        **_list_options(benchmark, spec),
        "retriever": [spec.retriever],
        **_list_retrieval(benchmark, spec),
        **(_list_entities(spec.entity_model) if asks_entities else {}),
        "metrics": [metric.module for metric in metrics],
        "profile": ", ".join(PROFILES),
        "bertscore": "what --bertscore names" if any(metric.embedded for metric in metrics) else None,
        **(_list_judges(benchmark) if any(metric.judged for metric in metrics) else {}),
    }


def _name_sent(role: str, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Name the fields of a request; `top_k` alone is a setting of the retrieval here."""
    names = {name: "sampling_top_k" if name == "top_k" else name for name in _SENT}
    return {f"{role}{names[name]}": _plain(parameters.get(name, "not sent")) for name in _SENT}


def _list_options(benchmark: Benchmark, spec: RunSpec) -> dict[str, str]:
    own = {
        name: _plain(option.read(name, spec.options))
        for name, option in benchmark.options.items()
        if not option.find_idle(spec.config, str(spec.retriever))
    }
    corpus = benchmark.corpus.options if benchmark.corpus and spec.searches else ()
    return own | {name: _plain(spec.options.get(name)) for name in corpus}


def _list_retrieval(benchmark: Benchmark, spec: RunSpec) -> dict[str, Any]:
    if (finder := benchmark.finder(spec)) is not None:
        finder.close()
        return dict(finder.inputs.get("retrieval", {}))
    settings = spec.retrieval
    used = {name: _plain(getattr(settings, name)) for name in SETTINGS if name in spec.retrieves.settings}
    if "chunk_size" in used and settings.chunk_size >= WHOLE:
        used["chunk_size"] = "whole passages"
    indexes = []
    if "tokenizer" in used:
        from ..retrieval.bm25 import K1, B

        indexes.append(f"bm25s with k1 {K1} and b {B}")
    if "embedding" in used:
        from ..retrieval.retrievers import name_encoder

        encoder = name_encoder(settings)
        used["embedding"] = encoder.weights.model
        used["query_instruction"] = _quote(encoder.instruction)
        used["passage_instruction"] = _quote(encoder.before_passages)
        indexes.append(settings.index or "exact search")
    if "reranker" in used:
        from ..retrieval.rerank import Reranker

        used["reranker"] = Reranker(settings.reranker).weights.model
    elif len(indexes) > 1:
        from ..retrieval.fuse import CONSTANT, WEIGHT

        used["fusion"] = f"reciprocal rank, weight {WEIGHT}, constant {CONSTANT}"
    return used | {"index": "; ".join(indexes) or None}


def _list_entities(chat: Chat | None) -> dict[str, str]:
    assert chat is not None
    return {"entity_model": chat.model or "what --entity-llm names", **_name_sent("entity_", chat.sampling.sent())}


def _list_judges(benchmark: Benchmark) -> dict[str, str]:
    """List how judges are asked: the paper's, where there are presets of them, which are asked alike."""
    presets = list(benchmark.judges.values())
    parameters: dict[str, Any] = {**VERDICT_SAMPLING, **(presets[0].parameters if presets else {})}
    return {
        "judge": ", ".join(preset.model for preset in presets) or "what --judge names",
        **_name_sent("judge_", parameters),
        "judge_format": parameters.get("response_format", {}).get("type", "text"),
        "judge_prompt": "our words",
    }


def _count(rows: Rows) -> str:
    return "not known" if rows.number is None else f"{'about ' if rows.about else ''}{rows.number}"


def _quote(instruction: str | None) -> str:
    return "as saved with the model" if instruction is None else f'"{instruction}"' if instruction else NONE


def _plain(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_quote, value))
    return NONE if value is None else f"{value:g}" if isinstance(value, float) else str(value)
