"""What CRAG's questions are shown: web pages and facts of the mock knowledge graph, each in a window of its own.

Windows are the paper's (4K tokens of the web and 2K of the graph), or with ``pages`` the released baseline's (4,000
characters; with a graph 2,000 of each). Four characters stand for a token where no tokenizer is named. Pages are read
one question at a time, since fifty of them take 15 MB.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from quadrag.data import SAMPLE, fingerprint, open_builder, rows
from quadrag.errors import QuadragError
from quadrag.files import digest, sample_dir
from quadrag.paths import cache_dir
from quadrag.prices import BudgetReached
from quadrag.progress import Progress
from quadrag.records import Key, Passage, Question, dumps
from quadrag.reply import Failure, Reply

from .benchmark import Own, Prompts, load
from .window import fill

GRAPH = "kg/"  # what the id of a passage from the graph begins with
_ENTITY_TOKENS = 512  # a reply that lists entities has at most
TOKEN = 4  # characters that stand for a token of English
# Windows of the web and of the graph, in tokens (snippets: arXiv:2406.04744, section 5.1) or in characters (pages).
_TOKENS = {"snippets": (4000, 0), "snippets-kg": (4000, 2000)}
_CHARACTERS = {"pages": (4000, 0), "pages-kg": (2000, 2000)}


def windows(retriever: str, options: Mapping[str, Any]) -> tuple[int, int]:
    """Return the sizes of the two windows, web and graph, in tokens where a tokenizer is named, else in characters."""
    counted = options.get("window_tokenizer") is not None
    if retriever in _TOKENS:
        web, graph = (size if counted else size * TOKEN for size in _TOKENS[retriever])
    else:
        web, graph = (size // TOKEN if counted else size for size in _CHARACTERS[retriever])
    given = [options.get(name) for name in ("web_window", "kg_window")]
    return web if given[0] is None else given[0], graph if given[1] is None else given[1]


def identify(path: str) -> str:
    """Identify a graph by the upstream files that went into it and by the version that built it.

    Raises:
        QuadragError: there is none, or it is another file.
    """
    from quadrag.kg.graph import Graph

    with Graph(path) as graph:
        content = hashlib.sha256(dumps([graph.meta("quadrag"), graph.sources]).encode()).hexdigest()
    return f"graph {content[:16]}"


def sample_graph() -> Path:
    """Return the graph of the bundled sample, built at its first use into the user's cache folder."""
    from quadrag import __version__
    from quadrag.kg.build import build

    source = sample_dir("crag") / "mock_api" / "cragkg"
    files = {str(path.relative_to(source)): path for path in sorted(source.rglob("*")) if path.is_file()}
    target = cache_dir() / "kg" / f"sample-{__version__}-{digest(files)[:16]}.sqlite"
    if not target.is_file():
        build(source, target)
    return target


def pages_fingerprint(task: Any) -> str:
    """Identify the pages of a task by the files, script and options that decide them: a question holds snippets alone.

    Raises:
        QuadragError: a file is missing or broken.
    """
    from .task import script_options

    options = script_options(task, load(task.benchmark))
    builder, _ = open_builder(task.benchmark, task.config, task.data_dir, options, task.split)
    return fingerprint(builder)[:16]


@contextmanager
def _room_for_entities(llm: Any) -> Iterator[None]:
    """Ask with room for a list of entities, where answers are to be short."""
    before = llm.parameters
    if before.get("max_tokens", _ENTITY_TOKENS) < _ENTITY_TOKENS:
        llm.parameters = {**before, "max_tokens": _ENTITY_TOKENS}
    try:
        yield
    finally:
        llm.parameters = before


class HandedOver:
    """Of a model file of the challenge, which is handed the pages themselves: what is on record are their snippets."""

    def __init__(self, task: Any) -> None:
        """Identify the pages.

        Raises:
            QuadragError: a file is missing or broken.
        """
        self.inputs: dict[str, Any] = {"search": {"pages": pages_fingerprint(task)}}
        self.found: dict[str, Any] = {}

    def find(
        self, questions: Sequence[Question], llm: Any, prompts: Prompts, done: Collection[Key] = ()
    ) -> Iterator[tuple[Question, tuple[Passage, ...]]]:
        """Yield every question with its snippets."""
        for question in questions:
            if question.key not in done:
                yield question, question.passages

    def close(self) -> None:
        """Close nothing."""


class PageFinder:
    """Finds the passages of one task."""

    def __init__(self, task: Any, known: Mapping[str, Own]) -> None:
        """Open the graph and name the encoder, as far as the retriever uses them.

        Args:
            task: what is run.
            known: the baseline's options.

        Raises:
            QuadragError: no graph is named, or it or what identifies the encoder cannot be had.
        """
        self._task = task
        self._options = {name: own.read(name, task.options) for name, own in known.items()}
        self._web, self._kg = windows(task.retriever, self._options)
        self._graph: Any = None
        self._encoder: Any = None
        unit = "tokens" if self._options["window_tokenizer"] else "characters"
        searched = {**task.settings(), "web_window": self._web}
        self.inputs: dict[str, Any] = {"retrieval": searched}
        self.found: dict[str, Any] = {}
        if task.retriever.startswith("pages"):
            from .encoder import Encoder

            self._encoder = Encoder(task.retrieval.embedding)
            self._encoder.check()
            reader = {"selectolax": version("selectolax"), "pages": pages_fingerprint(task)}
            self.inputs["search"] = {"embedding": self._encoder.describe(), **reader}
        if task.retriever.endswith("-kg"):
            from quadrag.kg.graph import Graph

            path = self._options["kg"]
            if path is None and task.data_dir != SAMPLE:
                raise QuadragError(
                    f"--retriever {task.retriever} needs the knowledge graph: quadrag kg build SRC kg.sqlite, then "
                    "--option kg=kg.sqlite"
                )
            path = sample_graph() if path is None else path
            self._graph = Graph(path)
            searched |= {"kg_window": self._kg, "later": self._options["later"]}
            self.inputs["graph"] = identify(str(path))
        searched["windows"] = unit

    def find(
        self, questions: Sequence[Question], llm: Any, prompts: Prompts, done: Collection[Key] = ()
    ) -> Iterator[tuple[Question, tuple[Passage, ...]]]:
        """Yield every question with its passages: facts first, then the web's.

        Args:
            questions: all of the run.
            llm: the model that names the entities of a question; None finds them by rules.
            prompts: with the part that asks for entities.
            done: those whose passages are known, which are not yielded.

        Raises:
            QuadragError: a file, the graph or a model cannot be had, or the budget ends.
        """
        named = self._entities(questions, llm, prompts) if self._graph else {}
        tokenizer = self._options["window_tokenizer"]
        left = [question for question in questions if question.key not in done]
        shown = self._pages(left) if self._encoder else ((one, one.passages) for one in left)
        for question, passages in shown:
            web = fill(passages, self._web, tokenizer)
            facts: tuple[Passage, ...] = ()
            if self._graph:
                facts = fill(self._facts(question, named.get(question.key)), self._kg, tokenizer)
            yield question, (*facts, *web)

    def close(self) -> None:
        """Close the graph and let the encoder go."""
        if self._graph is not None:
            self._graph.close()
        if self._encoder is not None:
            self._encoder.close()

    def _entities(self, questions: Sequence[Question], llm: Any, prompts: Prompts) -> dict[Key, Any]:
        """Have a model name the entities of all questions; where its reply cannot be read there are none."""
        from .crag import asking_entities
        from .entities import read

        if llm is None or self._options["entities"] == "rules":
            self.found = {"entities": {"rules": len(questions)}}
            return {}
        chats = [asking_entities(question, prompts) for question in questions]
        try:
            with _room_for_entities(llm), Progress("entities", len(questions)) as progress:
                llm.on_progress = progress.update
                replies = llm.complete(chats)
        except BudgetReached as stop:
            raise QuadragError(f"{stop}; it ended among the questions' entities, before any answer") from None
        found, how = {}, Counter[str]()
        for question, reply in zip(questions, replies, strict=True):
            entities = read(reply.text) if isinstance(reply, Reply) else None
            if entities is not None:
                found[question.key] = entities
            failed = isinstance(reply, Failure) and reply.reason == "api_error"
            how["model" if entities else "failed" if failed else "unreadable"] += 1
        self.found = {"entities": dict(sorted(how.items()))}
        return found

    def _facts(self, question: Question, entities: Any) -> list[Passage]:
        from quadrag.kg.clock import at

        from .entities import guess
        from .facts import facts

        when = question.slots["query_time"]
        entities = guess(question.query, when) if entities is None else entities
        graph = self._graph if self._options["later"] == "show" else at(self._graph, when)
        found: list[Passage] = facts(graph, entities, question.query, when)
        return found

    def _pages(self, questions: Sequence[Question]) -> Iterator[tuple[Question, Sequence[Passage]]]:
        """Yield questions with the sentences of their pages, the most alike first."""
        from .webpage import likest, sentences, text

        for question, row in with_pages(self._task, questions):
            places: dict[str, tuple[int, int]] = {}
            for page, html in enumerate(row["page_result"]):
                for number, sentence in enumerate(sentences(text(html or ""))):
                    places.setdefault(sentence, (page, number))
            candidates = list(places)
            passages = []
            for at, score in likest(question.query, candidates, self._encoder, room=2**31):
                page, number = places[candidates[at]]
                title = row["search_results"][page]["page_name"] or ""
                passages.append(Passage(f"web/{page}#{number}", title, candidates[at], round(score, 6)))
            yield question, passages


def with_pages(task: Any, questions: Sequence[Question]) -> Iterator[tuple[Question, Mapping[str, Any]]]:
    """Yield questions with their rows, the pages' HTML included, one at a time and in the order of the data.

    Raises:
        QuadragError: a file does not hold what it should.
    """
    from .task import script_options

    wanted = {question.key: question for question in questions}
    for split in dict.fromkeys(question.split for question in questions):
        options = script_options(task, load(task.benchmark))
        builder, _ = open_builder(task.benchmark, task.config, task.data_dir, options, split)
        left = sum(key[1] == split for key in wanted)
        for row in rows(builder, split):
            question = wanted.pop((task.config, split, row["id"]), None)
            if question is not None:
                left -= 1
                yield question, row
            if not left:
                break


def challenge_records(task: Any, questions: Sequence[Question]) -> Iterator[dict[str, Any]]:
    """Yield questions in the form in which the challenge hands them to a model: no domain, no type, no answer."""
    for question, row in with_pages(task, questions):
        pages = zip(row["search_results"], row["page_result"], strict=True)
        yield {
            "interaction_id": question.id,
            "query": question.query,
            "query_time": question.slots["query_time"],
            "search_results": [{**page, "page_result": html} for page, html in pages],
        }
