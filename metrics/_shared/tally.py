# SPDX-License-Identifier: Apache-2.0
"""What every metric here does alike: columns read, a judge asked, items averaged, a result signed."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence, Set
from functools import lru_cache
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
_STRETCH, _STEP = 140, 20  # bytes: a stretch is longer than a verdict, and than a rule of them that a judge quotes


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
        one = "; of a table pass one column" * (hasattr(values, "__iter__") and not isinstance(values, str | bytes))
        raise ValueError(f"{name} is {kind}; expected a list{entries or ', one per prediction'}{one}")
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
    if reference is not None and not isinstance(reference, str) and not is_list(reference):
        raise ValueError(f"{name} is {type(reference).__name__}; expected a string, a list of strings or None")
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


@lru_cache
def _stretches(instructions: str) -> list[bytes]:
    around = [" ".join(text.split()).encode("utf-8", "replace") for text in re.split(r"\{\w+\}", instructions)]
    return [text[at : at + _STRETCH] for text in around for at in range(0, len(text) - _STRETCH + 1, _STEP)]


def repeats(reply: str, instructions: str) -> bool:
    """Whether a reply repeats instructions, whole or 160 bytes of them; what stands in their slots is not theirs."""
    said = " ".join(reply.replace("\\n", " ").split()).encode("utf-8", "replace")  # JSON too
    return any(stretch in said for stretch in _stretches(instructions))


def ask(
    judge: Callable[[list[Any]], Any], batch: list[Any], profile: str, instructions: str
) -> tuple[list[str | None], list[str]]:
    """Ask a judge everything in one batch; return texts without reasoning, or None, and the reasons why, or "".

    For "corrected" a reply that repeats the instructions, in which verdicts stand, is none.
    """
    replies = judge(batch) if batch else []
    if not is_list(replies):
        waits = "; write it as a plain function, not an async one" * hasattr(replies, "__await__")
        raise ValueError(f"the judge returned {type(replies).__name__}; expected a list of replies{waits}")
    replies = list(replies)
    if len(replies) != len(batch):
        raise ValueError(f"judge returned {len(replies)} replies to {len(batch)} requests; expected one each")
    verdicts = [_read_reply(reply) for reply in replies]
    reasons = [
        "unparsable" if text is not None and profile == "corrected" and repeats(text, instructions) else why
        for text, why in verdicts
    ]
    return [None if why else text for why, (text, _) in zip(reasons, verdicts, strict=True)], reasons


def _read_reply(reply: Any) -> tuple[str | None, str]:
    if isinstance(reply, str):
        text, reasoning = split_reasoning(str(reply))
        return (text, "") if text or not reasoning else (None, "truncated")
    why = getattr(reply, "reason", None)
    return None, why if isinstance(why, str) and why in UNSCORED else "api_error"


def fingerprint(
    name: str, version: str, profile: str, prompt: str | None = None, judge: Any = None, **more: str
) -> str:
    """Return the signature: all that a value depends on beside the answers, in the manner of sacrebleu."""
    fields = {"version": version, "profile": profile, **more}
    fields.setdefault("tokenizer", "none")
    fields["prompt"] = hashlib.sha256(prompt.encode()).hexdigest()[:8] if prompt else "none"
    fields["judge"] = str(getattr(judge, "model", None) or "none")
    return "|".join([name, *(f"{key}:{value}" for key, value in fields.items())])


def result(
    keys: Sequence[str],
    items: Sequence[dict[str, float | str]],
    profile: str,
    signature: str,
    ruled: Sequence[bool] = (),
    worst: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Average labelled items, which have per key a value, or as a string the reason why there is none.

    "official" averages over the values there are; "corrected" over all items the key applies to, an unscored one
    counting as the `worst` value or 0, and gives the former beside it as `<key>_over_scored`. `ruled` says of each item
    whether the judge that was given was not asked about it, by a rule. Averages of nothing are None.
    """
    means: dict[str, float | None] = {}
    for key in keys:
        cells = [item[key] for item in items if item[key] != NOT_APPLICABLE]
        values = [cell for cell in cells if not isinstance(cell, str)]
        means[key] = over_scored = sum(values) / len(values) if values else None
        if profile == "corrected":
            lost = (worst or {}).get(key, 0.0) * (len(cells) - len(values))
            means[key] = (sum(values) + lost) / len(cells) if cells else None
            means[f"{key}_over_scored"] = over_scored
    unscored: dict[str, int] = {}
    per_item: list[dict[str, Any]] = []
    for at, item in enumerate(items):
        row: dict[str, Any] = {key: None if isinstance(item[key], str) else item[key] for key in keys}
        row["reasons"] = {key: item[key] for key in keys if isinstance(item[key], str)}
        row |= {"ruled": True} if ruled and ruled[at] else {}
        per_item.append(row)
        found = [reason for reason in row["reasons"].values() if reason != NOT_APPLICABLE]
        reason = next((reason for reason in (*UNSCORED, *found) if reason in found), None)
        if reason:
            unscored[reason] = unscored.get(reason, 0) + 1
    counts = {"n_total": len(items), "n_scored": len(items) - sum(unscored.values()), "unscored": unscored}
    return {**means, **counts, "per_item": per_item, "signature": signature}
