"""A question as a sample of Inspect: what is sent, what is accepted, and what a solver or a metric may want to know."""

import re
from collections.abc import Iterator
from typing import Any

from inspect_ai.dataset import Sample  # type: ignore[import-not-found]  # the types are checked without it
from inspect_ai.model import (  # type: ignore[import-not-found]
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
)

from quadrag.harnesses.examination import Examination
from quadrag.records import Question

_MESSAGES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
_NOISE = re.compile(r"noise_(\d+(?:_\d+)?)")


def make_sample(examination: Examination, place: int, question: Question) -> Any:
    """Make a sample; the groups of questions that it belongs to are metadata by their names, which ``slices`` lists."""
    metadata: dict[str, Any] = {
        "benchmark": question.benchmark,
        "config": question.config,
        "split": question.split,
        "place": place,
        "conditions": examination.conditions,
        "query": question.query,
        "language": question.language,
        "passages": [{"id": p.id, "title": p.title, "text": p.text} for p in examination.passages[question.key]],
    }
    if found := _NOISE.fullmatch(question.split):
        metadata["noise"] = float(found[1].replace("_", ".")) / 100
    metadata |= {"slices": list(question.slices), **question.slices}
    return Sample(
        id=question.id,
        input=[chat_message(message) for message in examination.messages(question)],
        target=list(_texts(question.references)),
        metadata=metadata,
    )


def chat_message(message: dict[str, str]) -> ChatMessage:
    """Return a message of ours as one of Inspect's."""
    return _MESSAGES[message["role"]](content=message["content"])


def _texts(references: Any) -> Iterator[str]:
    """Yield the accepted texts, of RGB's nested lists too."""
    if isinstance(references, str):
        yield references
    for reference in references if isinstance(references, (list, tuple)) else ():
        yield from _texts(reference)
