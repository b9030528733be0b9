"""What CRAG's questions are shown: pieces of web pages and facts of the mock knowledge graph, each in its window.

The windows' sizes are in tokens: the paper's (4,000 of the web and 2,000 of the graph), or with ``pages`` the released
baseline's (4,000 characters; with a graph 2,000 of each). Where no tokenizer is named, four characters stand for a
token. What a prompt puts around and between passages is not counted.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quadrag import __version__, catalogue, parallel
from quadrag.benchmark import OptionSpec
from quadrag.chat.policy import BudgetReached
from quadrag.chat.reply import Failure, Reply
from quadrag.data.builders import SAMPLE, fingerprint, open_builder, options_of, rows
from quadrag.data.files import sample_dir, sum_files
from quadrag.errors import NotReady, QuadragError
from quadrag.paths import cache_dir
from quadrag.printing import Progress
from quadrag.prompts import Prompts
from quadrag.records import Key, Passage, Question
from quadrag.retrieval.chunk import head
from quadrag.spec import RunSpec

from .entities import messages, read

if TYPE_CHECKING:
    from .kg.graph import Graph

_ENTITY_TOKENS = 512  # a reply that lists entities has at most
TOKEN = 4  # characters that stand for a token of English
# The web's and the graph's, in tokens (snippets: arXiv:2406.04744, section 5.1).
_TOKENS = {
    "snippets": (4000, 0),
    "snippets-kg": (4000, 2000),
    "pages": (4000 // TOKEN, 0),
    "pages-kg": (2000 // TOKEN, 2000 // TOKEN),
}


class ContextBuilder:
    """Finds the passages of one task; for a model that is handed the pages themselves they are the snippets, whole."""

    def __init__(self, task: RunSpec, known: Mapping[str, OptionSpec]) -> None:
        self._task = task
        self._options = {name: option.read(name, task.options) for name, option in known.items()}
        self._graph: Any = None
        self._encoder: Any = None
        self.inputs: dict[str, Any] = {}
        self.found: dict[str, Any] = {}
        if task.retriever == "own":
            self.inputs["search"] = {"pages": self._identify_pages()}
            return
        self._web, self._kg = windows(task.retriever, self._options)
        searched = self.inputs["retrieval"] = {**task.settings(), "web_window": self._web}
        if task.retriever.startswith("pages"):
            from quadrag.retrieval.encoder import Encoder

            self._encoder = Encoder(task.retrieval.embedding, task.retrieval.trust)
            self._encoder.check()
            reader = {"selectolax": version("selectolax"), "pages": self._identify_pages()}
            self.inputs["search"] = {"embedding": self._encoder.describe(), **reader}
        if task.retriever.endswith("-kg"):
            searched |= {"kg_window": self._kg, "later": self._options["later"]}
            self._graph = self._open_graph()
            self.inputs["graph"] = self._graph.identity
        searched["windows"] = "tokens" if self._options["window_tokenizer"] else "characters"

    def _identify_pages(self) -> str:
        return fingerprint(_open(self._task, self._task.split))[:16]

    def _open_graph(self) -> "Graph":
        from .kg.graph import Graph

        path = self._options["kg"]
        if path is None and self._task.data_dir != SAMPLE:
            raise NotReady(
                f"--retriever {self._task.retriever} needs the knowledge graph: quadrag kg build SRC kg.sqlite, then "
                "--option kg=kg.sqlite"
            )
        return Graph(_sample_graph() if path is None else path)

    def close(self) -> None:
        if self._graph is not None:
            self._graph.close()

    def find(
        self, questions: Sequence[Question], llm: Any, prompts: Prompts, done: Collection[Key] = ()
    ) -> Iterator[tuple[Question, tuple[Passage, ...]]]:
        """Yield every question with its passages, facts first, then the web's; those of `done` are not yielded.

        `llm` names the entities of a question, where the graph is asked.
        """
        entities = self._ask_for_entities(questions, llm, prompts) if self._graph else {}
        pending = [question for question in questions if question.key not in done]
        pieces = self._rank_sentences(pending) if self._encoder else ((each, each.passages) for each in pending)
        for question, passages in pieces:
            if self._task.retriever == "own":
                yield question, tuple(passages)
                continue
            facts = self._find_facts(question, entities[question.key]) if question.key in entities else []
            tokenizer = self._options["window_tokenizer"]
            yield question, (*fill_window(facts, self._kg, tokenizer), *fill_window(passages, self._web, tokenizer))

    def _ask_for_entities(self, questions: Sequence[Question], llm: Any, prompts: Prompts) -> dict[Key, Any]:
        """Have a model name the entities of all questions; where its reply cannot be read there are none."""
        asked_with = dict(llm.parameters)
        # Room for a list of entities, where answers are to be short, and no stop where answers do; in place, since an
        # open client sends those that it was opened with.
        llm.parameters.pop("stop", None)
        if "max_tokens" in llm.parameters:
            llm.parameters["max_tokens"] = max(llm.parameters["max_tokens"], _ENTITY_TOKENS)
        try:
            with Progress("entities", len(questions)) as progress:
                llm.on_progress = progress.update
                replies = llm.complete([messages(question, prompts) for question in questions])
        except BudgetReached as stop:
            raise QuadragError(f"{stop}; it ended among the questions' entities, before any answer") from None
        finally:
            llm.parameters.update(asked_with)
        named, outcomes = {}, Counter[str]()
        for question, reply in zip(questions, replies, strict=True):
            entities = read(reply.text) if isinstance(reply, Reply) else None
            if entities is not None:
                named[question.key] = entities
            failed = isinstance(reply, Failure) and reply.reason == "api_error"
            outcomes["model" if entities else "failed" if failed else "unreadable"] += 1
        self.found = {"entities": dict(sorted(outcomes.items()))}
        return named

    def _find_facts(self, question: Question, entities: Any) -> list[Passage]:
        from .facts import find_facts
        from .kg.clock import GraphAt

        when = question.slots["query_time"]
        graph = self._graph if self._options["later"] == "show" else GraphAt(self._graph, when)
        return find_facts(graph, entities, question.query, when)

    def _rank_sentences(self, questions: Sequence[Question]) -> Iterator[tuple[Question, Sequence[Passage]]]:
        from quadrag.retrieval.webpage import rank_sentences

        for question, names, places in parallel.each(_read_pages, _with_pages(self._task, questions)):
            candidates = list(places)
            passages = []
            for at, score in rank_sentences(question.query, candidates, self._encoder):
                page, number = places[candidates[at]]
                passages.append(Passage(f"web/{page}#{number}", names[page], candidates[at], round(score, 6)))
            yield question, passages


def _read_pages(item: tuple[Question, Mapping[str, Any]]) -> tuple[Question, list[str], dict[str, tuple[int, int]]]:
    from quadrag.retrieval.webpage import locate_sentences

    question, row = item
    names = [page["page_name"] or "" for page in row["search_results"]]
    return question, names, locate_sentences(row["page_result"])


# --- pages, graph and windows -----------------------------------------------------------------------------------------


def challenge_records(task: RunSpec, questions: Sequence[Question]) -> Iterator[dict[str, Any]]:
    """Yield questions in the form in which the challenge hands them to a model: no domain, no type, no answer."""
    for question, row in _with_pages(task, questions):
        pages = zip(row["search_results"], row["page_result"], strict=True)
        yield {
            "interaction_id": question.id,
            "query": question.query,
            "query_time": question.slots["query_time"],
            "search_results": [{**page, "page_result": html} for page, html in pages],
        }


def _with_pages(task: RunSpec, questions: Sequence[Question]) -> Iterator[tuple[Question, Mapping[str, Any]]]:
    """Yield questions with their rows, the pages' HTML included, in the order of the data."""
    for split in dict.fromkeys(question.split for question in questions):
        wanted = {question.id: question for question in questions if question.split == split}
        for row in rows(_open(task, split), split):
            if question := wanted.pop(row["id"], None):
                yield question, row
            if not wanted:
                break


def _open(task: RunSpec, split: str | None) -> Any:
    known = options_of(catalogue.config(task.benchmark, task.config))
    options = {name: value for name, value in task.options.items() if name in known}
    return open_builder(task.benchmark, task.config, task.data_dir, options, split)[0]


def _sample_graph() -> Path:
    """Return the graph of the bundled sample, built at its first use into the user's cache folder."""
    from .kg.build import build

    source = sample_dir("crag") / "mock_api" / "cragkg"
    files = {str(path.relative_to(source)): path for path in sorted(source.rglob("*")) if path.is_file()}
    target = cache_dir() / "kg" / f"sample-{__version__}-{sum_files(files)[:16]}.sqlite"
    if not target.is_file():
        build(source, target)
    return target


def windows(retriever: str, options: Mapping[str, Any]) -> tuple[int, int]:
    """Return the sizes of the two windows, web and graph, in tokens where a tokenizer is named, else in characters."""
    unit = TOKEN if options.get("window_tokenizer") is None else 1
    sizes = zip(("web_window", "kg_window"), _TOKENS[retriever], strict=True)
    web, graph = (usual if options.get(name) is None else options[name] for name, usual in sizes)
    return web * unit, graph * unit


def fill_window(passages: Iterable[Passage], size: int, tokenizer: str | None = None) -> tuple[Passage, ...]:
    """Take passages until a window of `size` characters, or tokens of a tokenizer as in `Chunking`, is full.

    The last one is cut; those without text are left out.
    """
    shown: list[Passage] = []
    for passage in passages:
        if not passage.text.strip():
            continue
        text, used = head(passage.text, size, tokenizer)
        if not text.strip():
            break
        shown.append(passage._replace(text=text))
        size -= used
    return tuple(shown)
