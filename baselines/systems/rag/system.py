"""A RAG service as what answers, and a benchmark as such a service meets it.

Generation is measured as any answers are. Retrieval is ranked against the gold documents of a question, where the
benchmark names some; `Evidence` says what of that a service's replies allow.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from quadrag.chat.reply import Failure, Reply
from quadrag.errors import QuadragError
from quadrag.records import Question

from ...core.benchmark import Benchmark, MetricUse
from ...core.options import OptionSpec
from ...core.prompts import load_service_prompts
from ...core.spec import NONE, Conditions, RetrieverSpec
from ...core.task import Task
from ..system import AskedSystem, Assignment, Generated, Passages, Questions, Tell, check_retriever, collect
from .reply import Served

RAG = "rag"  # the retriever of such a run
NOT_GIVEN = "the system gave no passages"  # why nothing is ranked where it does not say what it found
_ASKED = "rag_prompt"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a service gave.

    Attributes:
        passages: how many, over all questions.
        questions: how many questions had any.
        texts: whether any passage has a text.
        by: ``id`` or ``text``, the way to the benchmark's documents; ``form`` where ids have the form of theirs and
            none is a gold document's; ``none`` where every search found nothing; None where there is no way.
        why: why retrieval is not ranked; None where it is, or where the benchmark never ranks.
        bare: how many answers came without passages.
        gold: how many passages are gold documents of their questions, where texts are the way.
        strange: how many of the others are part of no document of the corpus by their text, or none of it by their id
            where ``form`` is the way; None where nobody looked.
        short: how many that are not known have a text that is too short for it.
        lacking: which files of the corpus are not here, where documents are ranked; "" where none is lacking.
    """

    passages: int = 0
    questions: int = 0
    texts: bool = False
    by: str | None = None
    why: str | None = None
    bare: int = 0
    gold: int = 0
    strange: int | None = None
    short: int = 0
    lacking: str = ""


BEFORE = Evidence(texts=True, by="id")  # as long as nothing was asked, a service may give all that is measured


def as_served(inner: Benchmark, evidence: Evidence = BEFORE) -> Benchmark:
    """Return a benchmark as a RAG service meets it: what it is measured by, answers first, then rankings."""

    def keywords(metric: MetricUse, questions: Sequence[Question], conditions: Conditions) -> dict[str, Any]:
        return inner.keywords(metric, questions, _served_conditions(inner, conditions, True))

    return replace(
        inner,
        retrievers={RAG: RetrieverSpec()},
        options={**inner.options, _ASKED: OptionSpec("bare", ("bare", "protocol"))},
        finder=lambda task: None,
        handed_over=None,
        metrics=lambda config, conditions: [
            *generation_metrics(inner, evidence, config, conditions),
            *ranking_metrics(inner, evidence, config, conditions),
        ],
        keywords=keywords,
    )


def generation_metrics(inner: Benchmark, evidence: Evidence, config: str, conditions: Conditions) -> list[MetricUse]:
    """Return the metrics of a service's answers."""
    shown = _served_conditions(inner, conditions, evidence.texts)
    return [metric for metric in inner.metrics(config, shown) if not metric.ranks]


def ranking_metrics(inner: Benchmark, evidence: Evidence, config: str, conditions: Conditions) -> list[MetricUse]:
    """Return the metrics of a service's rankings, such as cannot be computed among them."""
    found = inner.metrics(config, _served_conditions(inner, conditions, True))
    return [metric._replace(unmeasured=evidence.why) for metric in found if metric.ranks]


def _served_conditions(inner: Benchmark, conditions: Conditions, shown: bool) -> Conditions:
    """Return the conditions as the benchmark knows them: with passages of a corpus, or without documents."""
    if inner.corpus is None:
        return replace(conditions, retriever=NONE, top_k=0)
    # Whether the gold documents lie in the service's corpus is for the user to know.
    gold = {"gold": RAG} if "gold" in inner.corpus.options else {}
    top_k = inner.retrieval.top_k if shown else 0
    return replace(conditions, options={**conditions.options, **gold}, top_k=top_k)


def take_served(
    benchmark: Benchmark, task: Task, instead: str = "a RAG service has its own; leave it out"
) -> Assignment:
    """Take a task on for what finds its own passages."""
    if task.samples > 1:
        raise QuadragError("a RAG service is sent no seed to vary; leave out --samples")
    if task.prompts:
        raise QuadragError("a RAG service has prompts of its own; leave out --prompts (--option rag_prompt=protocol)")
    for name in benchmark.corpus.options if benchmark.corpus else ():
        if task.options.get(name) is not None:
            raise QuadragError(f"option {name} is of the corpus, and {instead}")
    served, task = as_served(benchmark), task.changed(retriever=RAG)
    check_retriever(served, task)
    return Assignment(served, task, load_service_prompts(task.benchmark))


def read_manner(work: Assignment) -> str:
    """Return how questions are put: ``bare``, or with the ``protocol``'s fixed strings."""
    return str(work.benchmark.options[_ASKED].read(_ASKED, work.task.options))


class Rag(AskedSystem):
    """A RAG service."""

    finds_passages = True

    def take(self, benchmark: Benchmark, task: Task) -> Assignment:
        """Refuse what a service decides itself; see `System.take`."""
        return take_served(benchmark, task)

    def answer(self, work: Assignment, questions: Questions, passages: Passages, tell: Tell = None) -> Generated:
        """Ask the service; its passages are none where it gave none or failed; see `System.answer`."""
        self.asked.on_progress = tell
        replies = self.asked.ask(questions, work.prompts, read_manner(work))
        return collect_served(questions, replies)


def collect_served(questions: Questions, replies: Sequence[Reply | Failure]) -> Generated:
    """Put replies together as answers, with the passages that came with them."""
    generated = collect([(question, 0) for question in questions], replies)
    served = [reply if isinstance(reply, Served) else None for reply in replies]
    generated.passages = {
        question.key: (reply and reply.passages) or () for question, reply in zip(questions, served, strict=True)
    }
    generated.searched = any(reply.passages is not None for reply in served if reply)
    generated.unread = sorted({name for reply in served if reply for name in reply.unread})
    return generated
