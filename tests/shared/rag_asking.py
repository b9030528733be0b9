"""A RAG service asked as a run asks it, about questions whose gold it must not see."""

from quadrag.baselines.core.prompts import load_service_prompts
from quadrag.baselines.systems.rag.service import RagService
from quadrag.records import Question

DOCUMENTS = [
    ("d1", "Harbour", "The harbour of Brinmouth was opened in 1884. Its crane was built by the Harrow brothers."),
    ("d2", "Mill", "The mill at Harrowmere grinds oats. It burnt down in 1911 and was never built again."),
    ("d3", "Bridge", "The bridge over the Lune has nine arches and was paid for by a lottery."),
]
WORDS = {name: load_service_prompts(name) for name in ("rgb", "crud_rag", "crag", "omnieval")}


def question(number, query="When was the harbour opened?", **more):
    fields = {"references": ["SECRET GOLD"], "language": "en", "relevant": ("gold-id",), **more}
    return Question("rgb", "noise_robustness_en", "noise_0", str(number), query, **fields)


def asked(count):
    return [question(n, f"When was harbour number {n} opened?") for n in range(count)]


def ask(spec, questions, ledger, how="bare", **options):
    with RagService(spec, ledger=ledger, **options) as service:
        return service.ask(questions, WORDS[questions[0].benchmark], how), service.spent
