"""The samples that ``lm_eval --log_samples`` writes, read as answers for `quadrag score`.

It reads what the tasks of `lm_eval/` logged, and nothing of other tasks. Scores in the file are left aside: they are
computed again. lm-eval is not needed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.records import read_jsonl

_DOC = ("id", "config", "split")


def answered(text: str) -> str | None:
    """Return a reply, None where it is what the user has lm-eval write for one that has no content.

    Without that setting lm-eval writes an empty text for it, which cannot be told from an empty answer.
    """
    return None if text and text == os.environ.get("LMEVAL_MODEL_NONE_ANSWER_PLACEHOLDER") else text


def is_sample(row: Mapping[str, Any]) -> bool:
    """Whether a line is one of lm-eval's samples; an answer of ours has neither of the two keys."""
    return isinstance(row.get("doc"), Mapping) and "resps" in row


def answer(where: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Turn one sample into a line of answers.

    Args:
        where: the line, as an error names it.
        row: the sample; its `doc` is of one of our tasks.

    Returns:
        `id`, `config`, `split`, `conditions` and `answer`, None where the reply is known to have had no content.

    Raises:
        QuadragError: it is a sample of another task, or has no single reply.
    """
    doc = row.get("doc")
    if not isinstance(doc, Mapping) or not all(isinstance(doc.get(name), str) for name in _DOC):
        raise QuadragError(f"{where} is no sample of a quadrag task; expected a doc with {', '.join(_DOC)}")
    replies = row.get("filtered_resps")
    if not isinstance(replies, list) or len(replies) != 1 or not isinstance(replies[0], str):
        raise QuadragError(f"{where} has filtered_resps {replies!r:.60}; expected one reply")
    line = {**{name: doc[name] for name in _DOC}, "answer": answered(replies[0])}
    return line | ({"conditions": doc["conditions"]} if "conditions" in doc else {})


def answers(path: Path) -> Iterator[dict[str, Any]]:
    """Yield a line of answers for every sample of a ``samples_*.jsonl``.

    Raises:
        QuadragError: the file cannot be read, or holds something else.
    """
    for number, row in read_jsonl(path):
        yield answer(f"{path}:{number}", row)
