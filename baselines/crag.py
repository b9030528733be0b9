"""CRAG: what its questions are answered from, how they are asked, and by what the answers are judged.

Yang et al. 2024 (arXiv:2406.04744), sections 3 to 5. Without retrieval a model answers alone; task 1 shows the snippets
of five pages, task 2 facts of the mock knowledge graph too, task 3 the same with fifty pages. ``pages`` is the released
baseline in place of snippets: the sentences of the pages' HTML most like the question. What is found is `crag_finder`'s
work. ``own`` leaves all that to a model of the challenge. Neither domain nor type of a question reaches a model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.data import rows
from quadrag.errors import QuadragError
from quadrag.records import Passage, Question

from .benchmark import Conditions, Finder, Metric, Own, Prompts, Retrieval

NAME = "crag"
PAPER = "arXiv:2406.04744"
RETRIEVERS = ("snippets", "snippets-kg", "pages", "pages-kg", "none", "own")
RETRIEVAL = Retrieval(embedding="all-MiniLM-L6-v2")
# The released baseline's; the paper does not say its own.
TEMPERATURE = 0.1
DEFAULT_SPLIT = "public"  # the paper's tables
CORPUS = None
PAGES = ("task_1_2", "task_3")  # the configs that have pages


def _graph(path: Any) -> str:
    """Identify a graph by the upstream files that went into it."""
    from .crag_finder import identify

    return identify(str(path))


def _tokenizer(name: Any) -> str:
    """Identify a tokenizer by its content."""
    import hashlib

    from .chunk import load_tokenizer

    digest = hashlib.sha256(load_tokenizer(str(name)).to_str().encode()).hexdigest()
    return f"{Path(str(name)).name} {digest[:16]}"


def _weighing(path: Any) -> str:
    import hashlib

    from quadrag.records import dumps

    return f"{Path(str(path)).name} {hashlib.sha256(dumps(_weights(str(path))).encode()).hexdigest()[:16]}"


_GRAPH = ("snippets-kg", "pages-kg")
_WINDOWS = ("snippets", "pages", *_GRAPH)
MACRO: tuple[str, ...] = ()
OPTIONS = {
    "kg": Own(check=_graph, retrievers=_GRAPH),
    "later": Own("hide", ("hide", "show"), retrievers=_GRAPH),
    "entities": Own("model", ("model", "rules"), retrievers=_GRAPH),
    "web_window": Own(least=0, retrievers=_WINDOWS),
    "kg_window": Own(least=0, retrievers=_GRAPH),
    "window_tokenizer": Own(check=_tokenizer, retrievers=_WINDOWS),
    "time_limit": Own(least=1, retrievers=("own",)),
    "trim": Own(check=_tokenizer),
    "weights": Own(check=_weighing),
    "judge_failure": Own("hallucination", ("hallucination", "excluded")),
}

_KEYS = ("truthfulness", "accuracy", "hallucination", "missing")
_WEIGHTED = tuple(f"{key}_weighted" for key in _KEYS)
_TRUTH = Metric("truthfulness", _KEYS, judged=_KEYS[:3], panel=True)
_CONTAINED = Metric(
    "rgb_accuracy", ("accuracy_bounded",), shape=lambda golds: [golds] if golds else None, nothing=False
)
_SLOT = re.compile(r"\{(\w+)\}")


def questions(builder: Any, split: str, options: Mapping[str, Any]) -> Iterator[Question]:
    """Yield the questions of a split; `passages` are the snippets of their pages, in upstream's order."""
    for row in rows(builder, split):
        yield _question(builder.config.name, split, row)


def _question(config: str, split: str, row: Mapping[str, Any]) -> Question:
    # A withheld answer leaves none; a blank one is none.
    accepted = [text for text in (row["answer"], *row["alternatives"]) if text and text.strip()]
    slices = {
        "domain": row["domain"],
        "question_type": row["question_type"],
        "dynamism": row["static_or_dynamic"],
        # Upstream leaves it blank for questions from the web; release v4 has none at all.
        "popularity": row["popularity"] or ("web" if row["popularity"] == "" else None),
    }
    return Question(
        benchmark=NAME,
        config=config,
        split=split,
        id=row["id"],
        query=row["query"],
        references=accepted,
        language="en",
        passages=tuple(
            Passage(f"web/{place}", page["page_name"] or "", page["page_snippet"] or "")
            for place, page in enumerate(row.get("search_results", ()))
        ),
        slots={"query_time": row["query_time"]},
        slices={name: value for name, value in slices.items() if value},
    )


def finder(task: Any) -> Finder | None:
    """Return what fills a prompt's windows; None for a model alone.

    Raises:
        QuadragError: the config has no pages, or the graph or the sentence encoder cannot be had.
    """
    from .crag_finder import HandedOver, PageFinder

    if task.retriever == "none":
        return None
    if task.config not in PAGES:
        raise QuadragError(f"crag {task.config} holds no pages; give --retriever none, or run {' or '.join(PAGES)}")
    return HandedOver(task) if task.retriever == "own" else PageFinder(task, OPTIONS)


def messages(question: Question, passages: Sequence[Passage], prompts: Prompts, retriever: str) -> list[dict[str, str]]:
    """Build the one user message of a question; pieces stand on lines of their own."""
    from .crag_finder import GRAPH

    facts = [passage.text for passage in passages if passage.id.startswith(GRAPH)]
    pieces = [passage.text for passage in passages if not passage.id.startswith(GRAPH)]
    part = "llm_only" if retriever == "none" else "web_kg" if retriever.endswith("-kg") else "web"
    slots = {**question.slots, "query": question.query, "web": "\n".join(pieces), "kg": "\n".join(facts)}
    return [{"role": "user", "content": _filled(prompts[part]["user"], slots)}]


def asking_entities(question: Question, prompts: Prompts) -> list[dict[str, str]]:
    """Build the message that asks a model for the entities of a question."""
    from .entities import PROMPT_SCHEMA

    slots = {**question.slots, "query": question.query, "schema": PROMPT_SCHEMA}
    return [{"role": "user", "content": _filled(prompts["entities"]["user"], slots)}]


def _filled(template: str, slots: Mapping[str, str]) -> str:
    # Not str.format, and in one pass: texts may hold braces.
    return _SLOT.sub(lambda slot: slots.get(slot[1], slot[0]), template)


def parse(config: str, text: str) -> str:
    """Return the whole reply."""
    return text


def metrics(config: str, conditions: Conditions) -> list[Metric]:
    """Return truthfulness, weighted too where weights are given, and what can be said without a judge.

    The latter is whether an accepted answer stands in the reply, whole words and numbers, which is not the paper's.
    """
    truth = _TRUTH
    if conditions.options.get("weights"):
        truth = truth._replace(keys=(*_KEYS, *_WEIGHTED), judged=(*_KEYS[:3], *_WEIGHTED[:3]))
    return [truth, _CONTAINED]


def keywords(metric: Metric, questions: Sequence[Question], conditions: Conditions) -> dict[str, Any]:
    """Return the keyword arguments that a metric takes besides the common ones."""
    if metric.module != _TRUTH.module:
        return {"language": "en"}
    found: dict[str, Any] = {"questions": [question.query for question in questions]}
    if conditions.options.get("weights"):
        found["weights"] = weights = _weights(str(conditions.options["weights"]))
        found["domains"] = [question.slices.get("domain") for question in questions]
        found["question_types"] = [question.slices.get("question_type") for question in questions]
        for place in dict.fromkeys(zip(found["domains"], found["question_types"], strict=True)):
            if None in place:
                lacking = next(
                    q.id for q in questions if None in (q.slices.get("domain"), q.slices.get("question_type"))
                )
                raise QuadragError(f"{lacking} has no domain or no question type, so no weight; leave out weights")
            table = weights.get(place[0]) if isinstance(next(iter(weights.values())), dict) else weights
            if not isinstance(table, dict) or place[1] not in table:
                raise QuadragError(f"{conditions.options['weights']} has no weight of {place[1]} in {place[0]}")
    if conditions.options.get("trim"):
        found["tokenizer"] = Trimmer(str(conditions.options["trim"]))
    if conditions.options.get("judge_failure"):
        found["judge_failure"] = conditions.options["judge_failure"]
    return found


class Trimmer:
    """A tokenizer as the metric takes it to cut answers to the challenge's 75 tokens."""

    def __init__(self, name: str) -> None:
        """Load the tokenizer.

        Raises:
            QuadragError: it cannot be had.
        """
        from .chunk import load_tokenizer

        self.name_or_path = name
        self._tokenizer = load_tokenizer(name)

    def encode(self, text: str) -> list[int]:
        """Return the ids, those that the tokenizer adds to every text among them."""
        return list(self._tokenizer.encode(text).ids)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids."""
        return str(self._tokenizer.decode(list(ids)))


def _weights(path: str) -> Mapping[str, Any]:
    """Read the weights of question types, a mapping of them or of domains to such mappings.

    Raises:
        QuadragError: the file cannot be read, or is none of the two.
    """
    import yaml

    try:
        found = yaml.safe_load(Path(path).expanduser().read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise QuadragError(f"cannot read weights from {path} ({' '.join(str(error).split())})") from None

    def weighs(value: Any) -> bool:
        return type(value) in (int, float) and math.isfinite(value) and value >= 0

    def mapped(value: Any) -> bool:
        return isinstance(value, dict) and bool(value) and all(map(weighs, value.values()))

    if mapped(found) or (isinstance(found, dict) and found and all(map(mapped, found.values()))):
        return dict(found)
    raise QuadragError(f"{path} holds no weights; expected {{question type: number}}, or {{domain: {{type: number}}}}")


def campaign(original: bool = False) -> list[tuple[str, str | None]]:
    """Return the four settings of the paper's tables: a model alone, and tasks 1, 2 and 3."""
    return [("task_1_2", "none"), ("task_1_2", "snippets"), ("task_1_2", "snippets-kg"), ("task_3", "snippets-kg")]
