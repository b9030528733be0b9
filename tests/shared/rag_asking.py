"""A RAG service asked as a run asks it, about questions whose gold it must not see."""

from contextlib import closing

from quadrag.benchmark import load
from quadrag.records import Question
from quadrag.spec import RunSpec
from quadrag.systems.own import pose, take_served
from quadrag.systems.service import RagService

DOCUMENTS = [
    ("d1", "Harbour", "The harbour of Brinmouth was opened in 1884. Its crane was built by the Harrow brothers."),
    ("d2", "Mill", "The mill at Harrowmere grinds oats. It burnt down in 1911 and was never built again."),
    ("d3", "Bridge", "The bridge over the Lune has nine arches and was paid for by a lottery."),
]


def question(number, query="When was the harbour opened?", **more):
    fields = {"references": ["SECRET GOLD"], "language": "en", "relevant": ("gold-id",), **more}
    return Question("rgb", "noise_robustness_en", "noise_0", str(number), query, **fields)


def asked(count):
    return [question(n, f"When was harbour number {n} opened?") for n in range(count)]


def posed(question, how="bare"):
    spec = RunSpec(benchmark=question.benchmark, config=question.config, options={"rag_prompt": how})
    return pose(take_served(load(question.benchmark), spec), question)


def ask(spec, questions, ledger, **options):
    with closing(RagService(spec, ledger=ledger, **options)) as service:
        return service.ask([posed(one) for one in questions]), service.spent
