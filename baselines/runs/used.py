"""What a recipe's runs use, setting by setting: resolved as `quadrag run --recipe` resolves it, with nothing opened.

Where a command must say more, as an address or a judge, the option that says it stands in the place of a value.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from quadrag import catalogue
from quadrag.data.builders import SAMPLE, options_of
from quadrag.hub.record import Rows, hub_record
from quadrag.records import dumps

from ..core.benchmark import Benchmark, load
from ..core.prompts import load_prompts
from ..core.result import PROFILES
from ..core.settings import NONE, SETTINGS, WHOLE
from ..core.task import Task
from .campaign import task_among
from .recipe import plan_runs
from .request import CallRequest, RunRequest
from .session import ENTITY_PARAMETERS, answer_parameters, judge_parameters

_ADDRESS = "http://HOST/v1"  # stands for the user's; nothing is asked
_SENT = ("temperature", "top_p", "top_k", "repetition_penalty", "max_tokens", "stop", "seed")


def find_used(recipe: str) -> dict[str, str]:
    """Return the settings that the runs of a recipe use.

    Returns:
        Texts by the names of settings. Where runs differ each value names its runs, and lists are put together; a
        setting that none of them uses is not there.
    """
    request, runs = plan_runs(RunRequest(recipe=recipe, llm=_ADDRESS, entity_llm=_ADDRESS, data_dir=SAMPLE))
    tasks = [task_among(request, *run) for run in runs or ()]
    alone = len({task.config for task in tasks}) == len(tasks)
    found: dict[str, dict[str, list[str]]] = {}
    lists: dict[str, dict[str, None]] = {}
    for task in tasks:
        run = task.config if alone else f"{task.config} {task.retriever}"
        for setting, value in _list_used(request, task).items():
            if isinstance(value, list):
                lists.setdefault(setting, {}).update(dict.fromkeys(value))
            elif value is not None:
                found.setdefault(setting, {}).setdefault(str(value), []).append(run)
    return {setting: ", ".join(values) for setting, values in lists.items()} | {
        setting: next(iter(values)) if len(values) == 1 else "; ".join(map(_name_runs, values.items()))
        for setting, values in found.items()
    }


def _name_runs(of: tuple[str, list[str]]) -> str:
    return f"{of[0]} ({', '.join(of[1])})"


def _list_used(request: RunRequest, task: Task) -> dict[str, Any]:
    benchmark = load(task.benchmark)
    config = catalogue.config(task.benchmark, task.config)
    split = task.split or benchmark.default_split
    splits = [split] if split else config.splits
    rows = hub_record(task.benchmark).rows[task.config]
    metrics = benchmark.metrics(task.config, task.conditions)
    return {
        "config": [task.config],
        "model": _name_model(request.llm, "--llm"),
        "interface": f"completions, template {request.template}" if request.template else request.api or "chat",
        "prompts": f"our words, {_digest(load_prompts(task.benchmark, task.prompts))}",
        **_name_sent("", answer_parameters(request)),
        "samples": task.samples,
        "split": list(splits),
        "questions": ", ".join(dict.fromkeys(_count(rows[name]) for name in splits)),
        **{name: _plain(task.options.get(name, default)) for name, default in options_of(config).items()},
        **_list_options(benchmark, task),
        "retriever": [task.retriever],
        **_list_retrieval(benchmark, task),
        **(_list_entities(request) if benchmark.asks_entities(task) else {}),
        "metrics": [metric.module for metric in metrics],
        "profile": ", ".join(PROFILES),
        "bertscore": "what --bertscore names" if any(metric.embedded for metric in metrics) else None,
        **(_list_judges(benchmark) if any(metric.judged for metric in metrics) else {}),
    }


def _name_model(spec: str | None, option: str) -> str:
    return (spec or "").partition("#")[2] or f"what {option} names"


def _name_sent(role: str, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Name the fields of a request; `top_k` alone is a setting of the retrieval here."""
    names = {name: "sampling_top_k" if name == "top_k" else name for name in _SENT}
    return {f"{role}{names[name]}": _plain(parameters.get(name, "not sent")) for name in _SENT}


def _list_options(benchmark: Benchmark, task: Task) -> dict[str, str]:
    own = {
        name: _plain(option.read(name, task.options))
        for name, option in benchmark.options.items()
        if not option.find_idle(task.config, task.retriever)
    }
    corpus = benchmark.corpus.options if benchmark.corpus and task.searches else ()
    return own | {name: _plain(task.options.get(name)) for name in corpus}


def _list_retrieval(benchmark: Benchmark, task: Task) -> dict[str, Any]:
    if (finder := benchmark.finder(task)) is not None:
        finder.close()
        return dict(finder.inputs.get("retrieval", {}))
    settings = task.retrieval
    used = {name: _plain(getattr(settings, name)) for name in SETTINGS if task.uses(name)}
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


def _list_entities(request: RunRequest) -> dict[str, str]:
    model = _name_model(request.entity_llm, "--entity-llm")
    return {"entity_model": model, **_name_sent("entity_", ENTITY_PARAMETERS)}


def _list_judges(benchmark: Benchmark) -> dict[str, str]:
    """List how judges are asked: the paper's, where there are presets of them, which are asked alike."""
    presets = list(benchmark.judges.values())
    asked = [{**judge_parameters(CallRequest()), **preset.parameters} for preset in presets]
    parameters = asked[0] if asked else judge_parameters(CallRequest())
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


def _digest(value: Any) -> str:
    return hashlib.sha256(dumps(value).encode()).hexdigest()[:16]
