# SPDX-License-Identifier: Apache-2.0
"""The columns that a judge sees, in the shapes that users have them in, checked and brought to one.

It words no request and judges nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from .tally import column, is_list, strings

_TURN = ("question", "answer")


def passages(contexts: Any, predictions: Sequence[str | None]) -> list[list[str]]:
    """Return what was retrieved for each of n items.

    Args:
        contexts: n entries, each a list of passages, or one text. None stands for none where there is no answer.
        predictions: n answers or None.

    Raises:
        ValueError: for any other shape.
    """
    found: list[list[str]] = []
    entries = column(contexts, "contexts", len(predictions))
    for i, (entry, answer) in enumerate(zip(entries, predictions, strict=True)):
        name = f"contexts[{i}]"
        if entry is None and answer is None:
            found.append([])
            continue
        if not isinstance(entry, str) and not is_list(entry):
            raise ValueError(f"{name} is {type(entry).__name__}; expected a list of passages or a string")
        found.append(strings([entry] if isinstance(entry, str) else entry, name))
    return found


def turns(history: Any, n: int) -> list[list[dict[str, str]]]:
    """Return the conversation before each of n questions.

    Args:
        history: n lists of turns, each with `question` and, where the turn was answered, `answer`; None or an empty
            list for none; or None for none at all.
        n: the number of items.

    Raises:
        ValueError: for any other shape.
    """
    found: list[list[dict[str, str]]] = []
    for i, entry in enumerate(column([None] * n if history is None else history, "history", n)):
        name = f"history[{i}]"
        if entry is not None and not is_list(entry):
            raise ValueError(f"{name} is {type(entry).__name__}; expected a list of turns")
        found.append([_turn(turn, f"{name}[{k}]") for k, turn in enumerate(entry if entry is not None else ())])
    return found


def _turn(turn: Any, name: str) -> dict[str, str]:
    if not isinstance(turn, Mapping) or "question" not in turn or not set(turn) <= set(_TURN):
        shown = (
            f"has the keys {', '.join(map(str, turn))}" if isinstance(turn, Mapping) else f"is {type(turn).__name__}"
        )
        raise ValueError(f"{name} {shown}; expected a mapping with 'question' and 'answer'")
    parts = [part for part in _TURN if part == "question" or turn.get(part) is not None]
    return dict(zip(parts, strings([turn[part] for part in parts], name), strict=True))
