"""A RAG service under a benchmark: what it can be measured by, its retrieval apart from its generation.

Generation is scored as any answers are, with the service's passages as contexts where a metric asks for them. Retrieval
is ranked against the gold documents of a question, where the benchmark names some. Two ways lead from a service's
passages to the benchmark's documents, one for the whole run: by id, where at least one passage bears the id of a gold
document of some question (``DOC#n`` is a passage of ``DOC``); else by text, where at least one passage is part of a
gold document of its question, or holds one whole, blanks aside, with `LEAST` characters or more. Else nothing is
ranked, and the table says so: whether ids are of another kind or nothing was found cannot be told.

RGB's documents are not shown to a service, so of RGB accuracy alone is left. CRAG names no gold documents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from quadrag.errors import QuadragError
from quadrag.records import Answer, Key, Passage, Question, document_id

from .benchmark import Benchmark, Conditions, Metric, Own
from .judging import Judging, score_answers
from .score import score
from .task import Task, load_rows, script_options

RAG = "rag"  # the retriever of such a run
LEAST = 32  # characters, blanks aside, from which a piece of a text is taken for a piece of it and no chance
_ASKED = "rag_prompt"
_GOLD = {"crud_rag": ("document_ids", "documents"), "omnieval": ("relevant_node_ids", "relevant_passages")}
_BLANK = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a service gave.

    Attributes:
        passages: how many, over all questions.
        questions: how many questions had any.
        texts: whether any passage has a text.
        by: ``id`` or ``text``, the way to the benchmark's documents; None where there is none.
        why: why retrieval is not ranked; None where it is, or where the benchmark never ranks.
    """

    passages: int = 0
    questions: int = 0
    texts: bool = False
    by: str | None = None
    why: str | None = None


class ServedBenchmark:
    """A benchmark as a RAG service meets it; what is not said here is the benchmark's own."""

    RETRIEVERS = (RAG,)

    def __init__(self, inner: Benchmark, evidence: Evidence | None = None) -> None:
        """Wrap a benchmark; without evidence, before anything was asked, a service may give all that is measured."""
        self._inner = inner
        self._evidence = evidence or Evidence(texts=True, by="id")
        self.OPTIONS = {**inner.OPTIONS, _ASKED: Own("bare", ("bare", "protocol"))}

    def __getattr__(self, name: str) -> Any:
        """Return a member of the benchmark."""
        return getattr(self.__dict__["_inner"], name)

    def finder(self, task: Any) -> None:
        """Return nothing: the service finds its passages itself."""

    def generation(self, config: str, conditions: Conditions) -> list[Metric]:
        """Return the metrics of answers."""
        shown = self.conditions(conditions, self._evidence.texts)
        return [metric for metric in self._inner.metrics(config, shown) if not metric.ranks]

    def retrieval(self, config: str, conditions: Conditions) -> list[Metric]:
        """Return the metrics of rankings, such as cannot be computed among them."""
        found = self._inner.metrics(config, self.conditions(conditions, True))
        why = self._evidence.why
        return [_unmeasured(metric, why) if why else metric for metric in found if metric.ranks]

    def metrics(self, config: str, conditions: Conditions) -> list[Metric]:
        """Return the metrics of answers, then those of rankings."""
        return [*self.generation(config, conditions), *self.retrieval(config, conditions)]

    def keywords(self, metric: Metric, questions: Sequence[Question], conditions: Conditions) -> dict[str, Any]:
        """Return a metric's keyword arguments, as the benchmark does."""
        return self._inner.keywords(metric, questions, self.conditions(conditions, True))

    def conditions(self, conditions: Conditions, shown: bool) -> Conditions:
        """Return the conditions as the benchmark knows them: with passages of a corpus, or without documents."""
        corpus = self._inner.CORPUS
        if corpus is None:
            return replace(conditions, retriever="none", top_k=0)
        # Whether the gold documents lie in the service's corpus is the user's affair.
        gold = {"gold": RAG} if "gold" in corpus.options else {}
        top_k = self._inner.RETRIEVAL.top_k if shown else 0
        return replace(conditions, options={**conditions.options, **gold}, top_k=top_k)


class _Answered(ServedBenchmark):
    """The same for answers alone."""

    def metrics(self, config: str, conditions: Conditions) -> list[Metric]:
        """Return the metrics of answers."""
        return self.generation(config, conditions)


class _Ranked(ServedBenchmark):
    """The same for rankings in place of answers: where a call failed, the ranking failed, and did not find nothing."""

    def metrics(self, config: str, conditions: Conditions) -> list[Metric]:
        """Return the metrics of rankings."""
        return [metric._replace(ranks=False) for metric in self.retrieval(config, conditions)]

    def keywords(self, metric: Metric, questions: Sequence[Question], conditions: Conditions) -> dict[str, Any]:
        """Return a metric's keyword arguments, as the benchmark does."""
        return super().keywords(metric._replace(ranks=True), questions, conditions)

    def parse(self, config: str, text: str) -> Any:
        """Return the ids of a ranking."""
        return json.loads(text)


def prepare(benchmark: Benchmark, task: Task) -> tuple[Benchmark, Task]:
    """Return benchmark and task as they are for a service.

    Raises:
        QuadragError: the task says what a service decides itself.
    """
    if task.samples > 1:
        raise QuadragError("a RAG service is sent no seed to vary; leave out --samples")
    if task.prompts:
        raise QuadragError("a RAG service has prompts of its own; leave out --prompts (--option rag_prompt=protocol)")
    for name in benchmark.CORPUS.options if benchmark.CORPUS else ():
        if task.options.get(name) is not None:
            raise QuadragError(f"option {name} is of the corpus, and a RAG service has its own; leave it out")
    return cast(Benchmark, ServedBenchmark(benchmark)), replace(task, retriever=RAG)


def asked_how(benchmark: Benchmark, task: Task) -> str:
    """Return the option ``rag_prompt``: ``bare`` or ``protocol``."""
    return str(benchmark.OPTIONS[_ASKED].read(_ASKED, task.options))


def score_service(
    session: Judging,
    benchmark: Benchmark,
    questions: Sequence[Question],
    answers: Sequence[Answer],
    task: Task,
    passages: Mapping[Key, Sequence[Passage]],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str | None, Evidence]:
    """Score a service's answers, and then its rankings.

    Returns:
        Items, scores and why the run stopped, as `score_answers` does; and what the service gave.
    """
    inner = cast(ServedBenchmark, benchmark)._inner
    evidence, rankings = ranked(inner, task, questions, passages)
    generation = cast(Benchmark, _Answered(inner, evidence))
    shown = passages if evidence.texts else None
    items, scores, stopped = score_answers(session, generation, questions, answers, task, None, shown)
    ranks = [
        # The user's own passages stand whatever became of the call.
        replace(answer, answer=json.dumps(rankings[answer.key]), state="ok")
        if answer.answer is not None or passages[answer.key]
        else answer
        for answer in answers
    ]
    by_key = {question.key: question for question in questions}
    golds = {key: replace(question, references=list(question.relevant)) for key, question in by_key.items()}
    lines, rows = score(cast(Benchmark, _Ranked(inner, evidence)), golds, ranks, task.conditions)
    return [item | line for item, line in zip(items, lines, strict=True)], scores + rows, stopped, evidence


def ranked(
    inner: Benchmark, task: Task, questions: Sequence[Question], passages: Mapping[Key, Sequence[Passage]]
) -> tuple[Evidence, dict[Key, list[str]]]:
    """Find the benchmark's documents among a service's passages.

    Returns:
        What the service gave, and per question the ids of its passages in their order, the gold documents' among them.
    """
    own = {key: [document_id(passage) for passage in found] for key, found in passages.items()}
    evidence = Evidence(
        passages=sum(map(len, passages.values())),
        questions=sum(map(bool, passages.values())),
        texts=any(passage.text.strip() for found in passages.values() for passage in found),
    )
    gold = {document for question in questions for document in question.relevant}
    if inner.CORPUS is None:
        return evidence, own
    if not gold:
        return replace(evidence, why="no question here has a gold document"), own
    if not evidence.passages:
        return replace(evidence, why="the service gave no passages"), own
    if any(document in gold for found in own.values() for document in found):
        return replace(evidence, by="id"), own
    if evidence.texts:
        texts = _gold_texts(inner, task, questions)
        matched = {
            key: [_match(passage, texts.get(key, ())) or name for passage, name in zip(found, own[key], strict=True)]
            for key, found in passages.items()
        }
        if matched != own:
            return replace(evidence, by="text"), matched
    return replace(evidence, why="the service gave no ids of the corpus, and no text of a gold document"), own


def _match(passage: Passage, golds: Sequence[tuple[str, str]]) -> str | None:
    """Return the first gold document that a passage is a part of, or holds; None where there is none."""
    text = _BLANK.sub("", passage.text)
    for ident, gold in golds:
        if (len(text) >= LEAST and text in gold) or (len(gold) >= LEAST and gold in text):
            return ident
    return None


def _gold_texts(inner: Benchmark, task: Task, questions: Sequence[Question]) -> dict[Key, list[tuple[str, str]]]:
    """Read the gold documents of questions, blanks taken out, by their ids."""
    ids, texts = _GOLD[inner.NAME]
    wanted = {question.key for question in questions}
    found: dict[Key, list[tuple[str, str]]] = {}
    options = script_options(task, cast(Benchmark, ServedBenchmark(inner)))
    for split in dict.fromkeys(question.split for question in questions):
        for row in load_rows(inner.NAME, task.config, task.data_dir, options, split)[0]:
            key = (task.config, split, str(row["id"]))
            # OmniEval lists ids and texts apart; where they are not as many, which is which is unknown.
            if key in wanted and len(row[ids]) == len(row[texts]):
                pairs = zip(row[ids], row[texts], strict=True)
                found[key] = [(ident, _BLANK.sub("", text)) for ident, text in pairs]
    return found


def _unmeasured(metric: Metric, why: str) -> Metric:
    """Return a metric that is not run, and says why."""

    class Unmeasured(Metric):
        """The same metric, which lacks what it needs."""

        __slots__ = ()

        def lacks(self, key: str, judge: bool, embed: bool) -> str:
            """Say what is lacking, judge or none."""
            return why

    return Unmeasured(*metric)
