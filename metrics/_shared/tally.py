# SPDX-License-Identifier: Apache-2.0
"""How the columns that a metric is given are read, and a model's text: reasoning and answer."""

import re
from collections.abc import Mapping, Sequence, Set
from typing import Any

# In the order in which an item with several is counted. A function of the user's has "raised" an exception,
# a file of answers "null" in their place.
UNSCORED = ("api_error", "raised", "unparsable", "truncated", "null")
NOT_APPLICABLE = "not_applicable"
# The tags that models write around their reasoning.
_NAMES = r"(?:seed:)?(?:think(?:ing)?|thought|reasoning)"
_TAG = re.compile(rf"(?i:<\s*{_NAMES}\s*>)|\[THINK\]|◁think▷|<\|START_THINKING\|>|<\|begin_of_thought\|>")
_OPEN = re.compile(rf"[\s\ufeff]*(?:{_TAG.pattern})")
_CLOSE = re.compile(rf"(?i:<\s*/\s*{_NAMES}\s*>)|\[/THINK\]|◁/think▷|<\|END_THINKING\|>|<\|end_of_thought\|>")
# The channels of gpt-oss, as it writes them, and as they read where their marks were dropped.
_CHANNELS = re.compile(r"\s*(?:<\|start\|>assistant)?<\|channel\|>")
_MARK = r"<\|(?:end|return|call|start|channel)\|>"
_CHANNEL = re.compile(rf"<\|channel\|>\s*(\w+).*?<\|message\|>(.*?)(?={_MARK}|\Z)", re.DOTALL)
_SPOKEN = re.compile(r"\s*analysis(?=\S)(.*?)assistant(?:commentary.*?assistant)?final", re.DOTALL)


def is_list(value: Any) -> bool:
    """Whether it is a list or stands in for one: a tuple, an array, a column of a data set; no table, no mapping."""
    table = hasattr(value, "columns") or hasattr(value, "column_names")  # these iterate over names, or over rows
    return hasattr(value, "__iter__") and not table and not isinstance(value, str | bytes | Mapping)


def string(value: Any, name: str, null: bool = False) -> Any:
    """Return a text as UTF-8 can hold it (an API's JSON may carry half a surrogate pair); None too, with `null`."""
    if null and (value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType"):
        return None
    if not isinstance(value, str):
        raise ValueError(f"{name} is {type(value).__name__}; expected a string{' or None' if null else ''}")
    return str(value).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def column(values: Any, name: str, n: int | None = None, entries: str = "") -> list[Any]:
    """Return a column of `n` entries as a list; ValueError for a table, a mapping, a set."""
    if not is_list(values) or isinstance(values, Set):
        kind = type(values).__name__
        raise ValueError(
            f"{name} is {kind}; expected a list{entries or ', one per prediction'}; of a table pass a column"
        )
    listed = list(values.to_pylist() if hasattr(values, "to_pylist") else values)
    if n is not None and len(listed) != n:
        raise ValueError(f"{name} has {len(listed)} entries for {n} predictions; give one per prediction")
    return listed


def strings(values: Any, name: str, n: int | None = None, null: bool = False) -> list[Any]:
    """Return the column as a list of strings, as `string` reads each."""
    listed = column(values, name, n, " of strings")
    return [string(value, f"{name}[{i}]", null) for i, value in enumerate(listed)]


def read_accepted(reference: Any, name: str = "reference") -> list[str]:
    """Bring a reference to a list of accepted answers: of a string, a list of strings, or None for none."""
    return strings([reference] if isinstance(reference, str) else [] if reference is None else reference, name)


def missing(predictions: Sequence[Any], states: Any) -> list[str]:
    """Return the reason why each item has no answer, "" where it has one; without `states` it is "api_error"."""
    n = len(predictions)
    given = [None] * n if states is None else strings(states, "states", n, null=True)
    reasons = ["" if p is not None else why or "api_error" for p, why in zip(predictions, given, strict=True)]
    for i, reason in enumerate(reasons):
        if reason and reason not in UNSCORED:
            raise ValueError(f"states[{i}] is {reason[:60]!r}; expected None or one of {', '.join(UNSCORED)}")
    return reasons


def split_reasoning(content: str) -> tuple[str, str | None]:
    """Split a model's output into answer and reasoning, or None; reasoning without an end leaves an empty answer.

    Reasoning stands at the start, between tags as ``<think>`` and ``</think>``, or in channels that are not ``final``.
    Chat templates that open it themselves leave only ``</think>`` in the output.
    """
    answer, thoughts = content, []
    while True:
        opened, closed = _OPEN.match(answer), _CLOSE.search(answer)
        if _CHANNELS.match(answer):
            parts = _CHANNEL.findall(answer)
            thoughts += [text for name, text in parts if name != "final"]
            answer = "".join(text for name, text in parts if name == "final")
        elif spoken := _SPOKEN.match(answer):
            thoughts.append(spoken[1])
            answer = answer[spoken.end() :].lstrip()
        elif opened or (closed and not _TAG.search(answer, 0, closed.start())):
            thoughts.append(answer[opened.end() if opened else 0 : closed.start() if closed else None])
            answer = answer[closed.end() :].lstrip() if closed else ""
        else:
            return answer, "\n".join(filter(None, map(str.strip, thoughts))) or None
