"""What may be wrong with OmniEval's data: passages without the answer, and nodes that the corpus does not have."""

from collections.abc import Iterator, Sequence

from quadrag.audit import Audited, Fault, clean, count_off, match_golds, shorten

_VERBATIM = "extractive_qa"  # the task whose answers stand in their passages as they are


def audit(audited: Audited) -> Iterator[Fault]:
    nodes: dict[str, str] = {}
    for place in audited.questions:
        for row in audited.rows(*place):
            passages, answers = row["relevant_passages"], row["answers"]
            wanted = row["task"] == _VERBATIM and passages and answers
            if wanted and not any(match_golds(text, [answers], "zh")[0] for text in passages):
                evidence = f"none of {len(passages)} relevant passages holds {shorten('|'.join(answers))}"
                yield Fault(*place, row["id"], "positive_without_answer", evidence)
            nodes |= dict.fromkeys(row["relevant_node_ids"], "")
    if audited.questions and audited.find_splits("corpus"):
        for row in audited.rows("corpus", "corpus"):
            if row["id"] in nodes:
                nodes[row["id"]] = _bare(row["contents"])
        for place in audited.questions:
            for row in audited.rows(*place):
                texts = [nodes[name] for name in row["relevant_node_ids"]]
                if fault := _find_broken(row["relevant_node_ids"], row["relevant_passages"], texts):
                    yield Fault(*place, row["id"], "broken_reference", fault)


def _find_broken(ids: Sequence[str], passages: Sequence[str], texts: Sequence[str]) -> str | None:
    missing = [name for name, text in zip(ids, texts, strict=True) if not text]
    if missing:
        return f"the corpus has no node {count_off(missing, len(ids))}"
    strange = [passage for passage in passages if not any(_bare(passage) in text for text in texts)]
    return f"no node of the question holds its passage {shorten(strange[0])}" if strange and ids else None


def _bare(text: str) -> str:
    return "".join(clean(text).split())
