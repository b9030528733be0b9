"""CRAG: what its questions are answered from, how they are asked, and by what the answers are judged.

Yang et al. 2024 (arXiv:2406.04744), sections 3 to 5. Without retrieval a model answers alone; task 1 shows the snippets
of five pages, task 2 facts of the mock knowledge graph too, task 3 the same with fifty pages. ``pages`` is the released
baseline in place of snippets: the sentences of the pages' HTML most like the question. `context_builder` finds
all these; ``own`` leaves that to a model of the challenge. Neither domain nor type of a question reaches a model.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.benchmark import Benchmark, Finder, JudgePreset, MetricUse, OptionSpec, Stratum
from quadrag.data.builders import rows
from quadrag.errors import QuadragError
from quadrag.metrics._shared.slots import fill
from quadrag.parts import Retrieval, RetrieverSpec
from quadrag.prompts import JUDGE, Message, Prompts, load_prompts
from quadrag.records import Key, Passage, Question, digest
from quadrag.retrieval.chunk import load_tokenizer
from quadrag.spec import NONE, RunSpec

from .context_builder import ContextBuilder, challenge_records
from .entities import SampleEntities
from .weights import RATED, rate_questions, read_ratings, read_weights, weight_of

NAME = "crag"
PAGES = ("task_1_2", "task_3")  # the configs that have pages
_UNMATCHABLE = ("invalid question", "i don't know", "yes", "no")


def _graph(path: Any) -> str:
    from .kg.graph import Graph

    with Graph(str(path)) as graph:
        return str(graph.identity)


def _tokenizer(name: Any) -> str:
    return _identify(name, load_tokenizer(str(name)).to_str())


def _weights(path: Any) -> str:
    return _identify(path, read_weights(str(path)))


def _ratings(path: Any) -> str:
    return _identify(path, [[*place, rating] for place, rating in read_ratings(str(path)).items()])


def _identify(path: Any, content: Any) -> str:
    return f"{Path(str(path)).name} {digest(content)}"


_GRAPH = ("snippets-kg", "pages-kg")
_WINDOWS = ("snippets", "pages", *_GRAPH)
OPTIONS = {
    "kg": OptionSpec(check=_graph, retrievers=_GRAPH),
    "later": OptionSpec("hide", ("hide", "show"), retrievers=_GRAPH),
    "web_window": OptionSpec(least=0, retrievers=_WINDOWS),
    "kg_window": OptionSpec(least=0, retrievers=_GRAPH),
    "window_tokenizer": OptionSpec(check=_tokenizer, retrievers=_WINDOWS),
    "trim": OptionSpec(check=_tokenizer),
    "weights": OptionSpec(check=_weights),
    "ratings": OptionSpec(check=_ratings),
}

_KEYS = ("truthfulness", "accuracy", "hallucination", "missing")
_TRUTH = MetricUse("truthfulness", _KEYS, panel=True)
_CONTAINED = MetricUse(
    "rgb_accuracy", ("accuracy_bounded",), shape=lambda golds: [golds] if golds else None, nothing=False
)


def questions(builder: Any, split: str, options: Mapping[str, Any]) -> Iterator[Question]:
    return (_question(builder.config.name, split, row) for row in rows(builder, split))


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
        # Snippets of the pages, in upstream's order.
        passages=tuple(
            Passage(f"web/{place}", page["page_name"] or "", page["page_snippet"] or "")
            for place, page in enumerate(row.get("search_results", ()))
        ),
        slots={"query_time": row["query_time"]},
        slices={name: value for name, value in slices.items() if value},
    )


def matchable_answers(references: Any) -> list[str]:
    """Return the accepted answers that a page may hold: not those about the question, nor a bare yes or no."""
    return [text for text in references if text.strip(" .").lower() not in _UNMATCHABLE]


def finder(task: Any) -> Finder | None:
    if task.retriever == NONE:
        return None
    if task.config not in PAGES:
        raise QuadragError(f"crag {task.config} holds no pages; give --retriever none, or run {' or '.join(PAGES)}")
    return ContextBuilder(task, OPTIONS)


def messages(question: Question, passages: Sequence[Passage], prompts: Prompts, retriever: str) -> list[Message]:
    from .facts import GRAPH

    facts = [passage.text for passage in passages if passage.id.startswith(GRAPH)]
    pieces = [passage.text for passage in passages if not passage.id.startswith(GRAPH)]
    part = "llm_only" if retriever == NONE else "web_kg" if retriever.endswith("-kg") else "web"
    slots = {**question.slots, "query": question.query, "web": "\n".join(pieces), "kg": "\n".join(facts)}
    return [{"role": "user", "content": fill(prompts[part]["user"], slots)}]


def metrics(spec: RunSpec) -> list[MetricUse]:
    """Return truthfulness, by people where they rated, weighted too where weights are given, and what needs neither.

    The latter is whether an accepted answer stands in the reply, whole words and numbers, which is not the paper's.
    """
    truth = _TRUTH
    if spec.options.get("ratings"):
        truth = truth._replace(keys=(*_KEYS, *RATED), rated=True)
    if spec.options.get("weights"):
        truth = truth._replace(keys=(*truth.keys, *(f"{key}_weighted" for key in truth.keys)))
    return [truth, _CONTAINED]


def keywords(metric: MetricUse, questions: Sequence[Question], spec: RunSpec) -> dict[str, Any]:
    if metric.module != _TRUTH.module:
        return {"language": "en"}
    options = spec.options
    words: dict[str, Any] = {"questions": [question.query for question in questions]}
    if spec.prompts and (judge := load_prompts(NAME, spec.prompts).get(JUDGE)):
        words["prompt"] = judge["user"]
    if options.get("weights"):
        words["weights"] = weights = read_weights(str(options["weights"]))
        words["domains"] = [question.slices.get("domain") for question in questions]
        words["question_types"] = [question.slices.get("question_type") for question in questions]
        if lacking := next((question for question in questions if weight_of(weights, question) is None), None):
            place = " in ".join(str(lacking.slices.get(name)) for name in ("question_type", "domain"))
            raise QuadragError(f"{options['weights']} has no weight of {place}, as of {lacking.id}; add one")
    if options.get("ratings"):
        words["ratings"] = rate_questions(questions, str(options["ratings"]))
    if options.get("trim"):
        words["tokenizer"] = Trimmer(str(options["trim"]))
    return words


def strata(questions: Sequence[Question], spec: RunSpec) -> dict[Key, Stratum]:
    if not spec.options.get("weights"):
        return {}
    weights = read_weights(str(spec.options["weights"]))
    return {
        # Questions without a weight are refused by `keywords`.
        q.key: Stratum(q.slices.get("domain", ""), q.slices.get("question_type", ""), weight_of(weights, q) or 0.0)
        for q in questions
    }


class Trimmer:
    """A tokenizer as the metric takes it to cut answers to the challenge's 75 tokens."""

    def __init__(self, name: str) -> None:
        self.name_or_path = name
        self._tokenizer = load_tokenizer(name)

    def encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text).ids)  # those that it adds to every text among them

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(ids)))


_JSON = {"response_format": {"type": "json_object"}}
_GRAPH_TOO = "with facts of the graph"
BENCHMARK = Benchmark(
    name=NAME,
    paper="arXiv:2406.04744",
    sample="CRAG on the bundled sample: made-up questions with pages and a small graph",
    retrievers={
        "snippets": RetrieverSpec(),
        "snippets-kg": RetrieverSpec(help=_GRAPH_TOO),
        "pages": RetrieverSpec(("embedding",), help="sentences most like the question"),
        "pages-kg": RetrieverSpec(("embedding",), help=_GRAPH_TOO),
        NONE: RetrieverSpec(),
        "own": RetrieverSpec(help="the pages themselves, for a model file of the challenge"),
    },
    temperature=0.1,  # the released baseline's; the paper does not say its own
    questions=questions,
    messages=messages,
    matchable_answers=matchable_answers,
    metrics=metrics,
    keywords=keywords,
    strata=strata,
    finder=finder,
    asks_entities=lambda task: task.retriever in _GRAPH,
    scripted=SampleEntities,
    # A model alone, and tasks 1, 2 and 3.
    paper_runs=lambda original: [
        ("task_1_2", NONE),
        ("task_1_2", "snippets"),
        ("task_1_2", "snippets-kg"),
        ("task_3", "snippets-kg"),
    ],
    retrieval=Retrieval(embedding="all-MiniLM-L6-v2"),
    default_split="public",  # the paper's tables
    options=OPTIONS,
    option_help="kg=FILE, later=hide|show (what the graph dates after the question), "
    "web_window=N, kg_window=N (tokens: of window_tokenizer=T, else four characters each), "
    "trim=TOKENIZER (answers to 75 tokens), weights=FILE, ratings=FILE (by people), "
    "release=v5|v4, private_file=FILE",
    headlines=("truthfulness", "accuracy", "hallucination", "accuracy_bounded", "missing"),
    default_context="snippets",
    handed_over="own",
    pages=PAGES,
    records=challenge_records,
    commands={name: f"quadrag.baselines.crag.commands.{name}" for name in ("kg", "recall")},
    judges={
        "gpt-3.5-turbo-0125": JudgePreset("gpt-3.5-turbo-0125", _JSON, "CRAG, section 5.1"),
        "llama-3-70b-instruct": JudgePreset("meta-llama/Meta-Llama-3-70B-Instruct", _JSON, "CRAG, section 5.1"),
    },
)
