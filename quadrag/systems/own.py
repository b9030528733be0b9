"""One's own system, a function or a service: what it is asked, how what comes back is read, what it is measured by.

Of a benchmark that brings its passages a function is handed these. Of any other, and of every benchmark over HTTP, the
system finds its own: its answers are measured as any are, its passages against the gold documents of the questions.
Neither is shown an accepted answer, or a document of the benchmark.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quadrag.benchmark import Benchmark, MetricUse, OptionSpec
from quadrag.chat.reply import REASONINGS, Reply, find_reasoning, read_answer
from quadrag.errors import QuadragError, Unreadable, name_kind, plain
from quadrag.metrics._shared.slots import fill
from quadrag.parts import RetrieverSpec
from quadrag.passages import PLACES, find_passages, name_keys, read_parts
from quadrag.prompts import load_service_prompts
from quadrag.records import Passage, Question
from quadrag.spec import NONE, RAG, RunSpec

from .system import Assignment

UNSHOWN = "the passages shown are not known"  # why nothing is measured by them
_ASKED = "rag_prompt"
_ANSWERS = ("answer", "result", "response")  # where a result has its answer: ours, LangChain's, LlamaIndex's
_PARTS = (*_ANSWERS, *PLACES, *REASONINGS)


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question as a system is handed it, without its accepted answers.

    Attributes:
        id: unique within its config and split.
        query: its text.
        history: the turns before it, each a question and its answer; empty outside conversations.
        passages: those that the benchmark brings; empty where the system is to search.
        benchmark: the benchmark's name.
        config: its config.
        split: its split.
        language: ``en`` or ``zh``.
        query_time: when it was asked, where the benchmark has that.
    """

    id: str
    query: str
    history: tuple[tuple[str, str | None], ...]
    passages: tuple[Passage, ...]
    benchmark: str
    config: str
    split: str
    language: str
    query_time: str | None = None


def pose(work: Assignment, question: Question, passages: Sequence[Passage] = ()) -> OpenQuestion:
    """Put a question as a system is asked it, with the passages that are shown with it.

    Its text is bare, or has the ``protocol``'s fixed strings, as ``rag.yaml`` of the benchmark's room says. A
    conversation that is one text has the turns before it in there.
    """
    option = work.benchmark.options.get(_ASKED)
    prompt_form = str(option.read(_ASKED, work.task.options)) if option else "bare"
    names = (question.config, question.language, "default")
    template = next((work.prompts[name][prompt_form] for name in names if name in work.prompts), "{query}")
    history_is_separate = question.slots.get("question") == question.slots.get("asked")
    return OpenQuestion(
        id=question.id,
        query=fill(template, {"query": question.query, **question.slots}),
        history=tuple(question.history) if history_is_separate else (),
        passages=tuple(passages),
        benchmark=question.benchmark,
        config=question.config,
        split=question.split,
        language=question.language,
        query_time=question.slots.get("query_time"),
    )


def read_result(result: Any) -> Reply:
    """Read what a system gave for a question: a text; a pair of it and passages; or an object that holds both.

    Unreadable is raised where it is something else, or what stands under ``passages`` is.
    """
    if isinstance(result, tuple) and len(result) == 2 and not hasattr(result, "_asdict"):
        result = dict(zip(("answer", "passages"), result, strict=True))
    parts = result if isinstance(result, Mapping) else read_parts(result, _PARTS)
    answer = next((parts[name] for name in _ANSWERS if name in parts), result)
    passages = find_passages(parts)
    if isinstance(plain(answer), str):
        text, reasoning, _ = read_answer(answer, find_reasoning(parts))
        return Reply(text or "", reasoning=reasoning, passages=passages)
    detail = "" if answer is result else f" whose answer is {name_kind(answer)}"
    if answer is result and isinstance(result, Mapping):
        detail = f" with the keys {name_keys(result)}"
    raise Unreadable(f"{name_kind(result)}{detail}; expected an answer as a text, alone or with passages")


def as_served(inner: Benchmark, texts: bool = True, why: str | None = None) -> Benchmark:
    """Return a benchmark as a system meets it that finds its own passages.

    `texts` tells whether any passage has a text, which a metric of what is shown needs, `why` why none are ranked.
    """

    def searched(spec: RunSpec) -> RunSpec:
        if inner.corpus is None:
            return spec.changed(retriever=NONE)
        # Whether the gold documents lie in the system's corpus is for the user to know.
        gold = {"gold": RAG} if "gold" in inner.corpus.options else {}
        options = {**spec.options, **gold}
        return spec.changed(retriever=inner.default_retriever, retrieval=inner.retrieval, options=options)

    def metrics(spec: RunSpec) -> list[MetricUse]:
        uses = inner.metrics(searched(spec))
        unmeasured = [why if use.ranks else UNSHOWN if use.contexts and not texts else use.unmeasured for use in uses]
        return [use._replace(unmeasured=reason) for use, reason in zip(uses, unmeasured, strict=True)]

    def keywords(metric: MetricUse, questions: Sequence[Question], spec: RunSpec) -> dict[str, Any]:
        return inner.keywords(metric, questions, searched(spec))

    return replace(
        inner,
        retrievers={RAG: RetrieverSpec()},
        options={**inner.options, _ASKED: OptionSpec("bare", ("bare", "protocol"))},
        finder=lambda task: None,
        handed_over=None,
        metrics=metrics,
        keywords=keywords,
    )


def take_served(benchmark: Benchmark, task: RunSpec) -> Assignment:
    if task.samples > 1:
        raise QuadragError("a RAG service is sent no seed to vary; leave out --samples")
    if task.prompts:
        raise QuadragError("a RAG service has prompts of its own; leave out --prompts (--option rag_prompt=protocol)")
    for name in benchmark.corpus.options if benchmark.corpus else ():
        if task.options.get(name) is not None:
            raise QuadragError(f"option {name} is of the corpus, and the system has its own; leave it out")
    return Assignment(as_served(benchmark), task.changed(retriever=RAG), load_service_prompts(task.benchmark))
