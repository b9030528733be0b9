"""What may be wrong with OmniEval's data: passages without the answer, and nodes that the corpus does not have."""

from collections.abc import Iterator

from quadrag.audit.audited import Audited
from quadrag.audit.checks import answers_in_questions, duplicate_questions, held
from quadrag.audit.finding import Fault, clean, count_off, shorten

_VERBATIM = "extractive_qa"  # the task whose answers stand in their passages as they are


def audit(audited: Audited) -> Iterator[Fault]:
    """Yield the faults of all splits, and of what they say of the corpus."""
    nodes: dict[str, str] = {}
    for part in audited.parts:
        yield from duplicate_questions(part)
        yield from answers_in_questions(part, lambda question: [question.references] if question.references else [])
        for row in audited.rows(part.config, part.split):
            if row["task"] == _VERBATIM and not _answered(row["relevant_passages"], row["answers"]):
                answers = shorten("|".join(row["answers"]))
                evidence = f"none of {len(row['relevant_passages'])} relevant passages holds {answers}"
                yield Fault(part.config, part.split, row["id"], "positive_without_answer", evidence)
            nodes |= dict.fromkeys(row["relevant_node_ids"], "")
    if audited.parts and audited.find_splits("corpus"):
        for row in audited.rows("corpus", "corpus"):
            if row["id"] in nodes:
                nodes[row["id"]] = "".join(clean(row["contents"]).split())
        for part in audited.parts:
            for row in audited.rows(part.config, part.split):
                if fault := _broken(row["relevant_node_ids"], row["relevant_passages"], nodes):
                    yield Fault(part.config, part.split, row["id"], "broken_reference", fault)


def _answered(passages: list[str], answers: list[str]) -> bool:
    return not passages or not answers or any(any(held(text, [answers], "zh")) for text in passages)


def _broken(ids: list[str], passages: list[str], nodes: dict[str, str]) -> str | None:
    missing = [name for name in ids if not nodes[name]]
    if missing:
        return f"the corpus has no node {count_off(missing, len(ids))}"
    strange = [text for text in passages if not any("".join(clean(text).split()) in nodes[name] for name in ids)]
    return f"no node of the question holds its passage {shorten(strange[0])}" if strange and ids else None
