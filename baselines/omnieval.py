"""OmniEval: Chinese questions on finance, searched for in one corpus, judged by topic and by task.

Wang et al. 2024 (arXiv:2412.13018), sections 3 and 4. The corpus is cut upstream, so a passage is a whole node; the
paper shows five of them, found by a sentence embedding. The default retriever is BM25, which needs no model; recipes of
published rows say theirs. In a conversation the turns before a question are turns of the chat, and the search is given
their questions in the protocol's form. The authors' code means to give both that form, ``--option conversation=text``,
but does so without passages alone; with them both are given the text of a Python list: ``conversation=repr``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quadrag.data import rows
from quadrag.records import Passage, Question

from .benchmark import WHOLE, Conditions, Metric, Own, Prompts, Retrieval, Searched
from .passages import Document


def _document(row: Mapping[str, Any]) -> Document:
    return Document(row["id"], row["title"] or "", row["contents"])


NAME = "omnieval"
PAPER = "arXiv:2412.13018"
RETRIEVERS = ("bm25", "dense", "hybrid", "hybrid-rerank", "none")
RETRIEVAL = Retrieval(chunk_size=WHOLE, embedding="gte-qwen2-1.5b", top_k=5)
TEMPERATURE = 0.3
DEFAULT_SPLIT = "auto"
CORPUS = Searched("corpus", ("corpus_file",), _document)
MACRO = ("topic", "task", "cell")
OPTIONS = {"conversation": Own("turns", ("turns", "text", "repr"))}

TASKS = ("extractive_qa", "multi_hop_qa", "contrast_qa", "long_form_qa", "conversational_qa")
_BY_PASSAGES = ("hal", "utl")
_OVERLAP = Metric("omnieval_overlap", ("em", "f1", "rouge_l"))
_SLOT = re.compile(r"\{(\w+)\}")


class _Unshown(Metric):
    """Metrics that are judged by the passages shown, where a file of answers does not say which those were."""

    __slots__ = ()

    def lacks(self, key: str, judge: bool, embed: bool) -> str:
        """Say that the passages are lacking, with a judge or without."""
        return "the passages shown are not known"


def questions(builder: Any, split: str, options: Mapping[str, Any]) -> Iterator[Question]:
    """Yield the questions of a split; `query` is what is searched for, with a conversation's earlier questions."""
    how = OPTIONS["conversation"].read("conversation", options)
    for row in rows(builder, split):
        turns = tuple((turn["question"], turn["answer"]) for turn in row["history"])
        asked = row["question"]
        # A round's id ends in its number after that of its line; the first round has no turns before it, but is one.
        talk = "." in row["id"].rpartition("/")[2]
        said = _said([question for question, _ in turns], asked, how) if talk else asked
        yield Question(
            benchmark=NAME,
            config=builder.config.name,
            split=split,
            id=row["id"],
            query=said,
            references=row["answers"] or None,
            language="zh",
            relevant=tuple(dict.fromkeys(row["relevant_node_ids"])),
            # What a prompt asks: the turns themselves stand before it, or the whole conversation is one text.
            slots={"question": asked if how == "turns" else said, "asked": asked},
            slices={"topic": row["topic"], "task": row["task"], "cell": f"{row['topic']}/{row['task']}"},
            history=turns,
        )


def _said(before: Sequence[str], question: str, how: str) -> str:
    """Put the questions of a conversation into one text: the protocol's form, or a Python list's, as the code does."""
    if how == "repr":
        return repr([*before, question])
    if how == "turns" and not before:
        return question
    rounds = "\n".join(f"{number}-round: {asked}" for number, asked in enumerate(before))
    return f"\n历史对话问题记录：{rounds}\n当前问题：{question}"


def finder(task: Any) -> None:
    """Return nothing: passages come from the corpus."""


def messages(question: Question, passages: Sequence[Passage], prompts: Prompts, retriever: str) -> list[dict[str, str]]:
    """Build a system message with the references, the turns before, and the question."""
    words = prompts["close_book" if retriever == "none" else "rag"]
    slots = {**question.slots, "reference": "".join(_reference(n, passage) for n, passage in enumerate(passages, 1))}

    def filled(text: str) -> str:
        # Not str.format, and in one pass: texts may hold braces.
        return _SLOT.sub(lambda slot: slots.get(slot[1], slot[0]), text)

    history = question.history if question.slots["question"] == question.slots["asked"] else ()
    system = {"role": "system", "content": filled(words["system"])}
    return [system, *_turns(history, filled(words["user"]))]


def _turns(history: Sequence[tuple[str, str | None]], last: str) -> list[dict[str, str]]:
    """Return the turns before a question and the question itself; roles take turns, as chat templates demand.

    A question that has no accepted answer stands in one message with the next one.
    """
    found: list[dict[str, str]] = []
    open_ = ""
    for asked, answered in history:
        open_ += asked
        if answered is None:
            open_ += "\n"
            continue
        found += [{"role": "user", "content": open_}, {"role": "assistant", "content": answered}]
        open_ = ""
    return [*found, {"role": "user", "content": open_ + last}]


def _reference(number: int, passage: Passage) -> str:
    """Return the protocol's line of one passage; its title is the first line of the text, whatever the corpus says."""
    title, _, rest = passage.text.partition("\n")
    return f"Doc {number}(Title: {title}) {rest}\n"


def parse(config: str, text: str) -> str:
    """Return the whole reply."""
    return text


def metrics(config: str, conditions: Conditions) -> list[Metric]:
    """Return overlap, the judged metrics, and ranks; without passages those alone that need none."""
    if conditions.top_k:
        ranks = ("map", "mrr", f"recall@{conditions.top_k}")
        judged = [_judged(key) for key in ("acc", "hal", "com", "utl", "nac")]
        return [_OVERLAP, *judged, Metric("retrieval_ranking", ranks, ranks=True)]
    unshown = [] if conditions.retriever == "none" else [_Unshown("omnieval", _BY_PASSAGES)]
    return [_OVERLAP, *map(_judged, ("acc", "com", "nac")), *unshown]


def _judged(key: str) -> Metric:
    """Return one judged metric; the paper has a judge of its own for hallucination, which is then named second."""
    return Metric(
        "omnieval",
        (key,),
        judged=(key,),
        contexts=key in _BY_PASSAGES,
        worst={"hal": 1.0} if key == "hal" else {},
        config=key,
        judge=1 if key == "hal" else 0,
    )


def keywords(metric: Metric, questions: Sequence[Question], conditions: Conditions) -> dict[str, Any]:
    """Return the keyword arguments that a metric takes besides the common ones."""
    if metric.ranks:
        return {"k": [conditions.top_k]}
    if metric.module != "omnieval":
        return {}
    history = [[{"question": asked, "answer": said} for asked, said in question.history] for question in questions]
    return {"questions": [question.slots["asked"] for question in questions], "history": history}


def campaign(original: bool = False) -> list[tuple[str, str | None]]:
    """Return the one config that holds all questions; the retriever is the user's choice."""
    return [("all", None)]
