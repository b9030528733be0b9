"""Replies of a model that are empty, or were cut by length: which they are, and how they fail."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quadrag.records import Answer
from quadrag.run_record import RunRecord

EMPTY, CUT = "empty reply", "cut reply"
_REASONS = {"empty": EMPTY, "cut": CUT}  # by their kind in `RunRecord.short`
Split = tuple[str, str]  # config, split
Short = tuple[str, Mapping[str, Any]]  # why it fails, and its line of ``items.jsonl``


def find_short(answers: Iterable[Answer]) -> dict[str, str]:
    """Find the replies of a model that are ``empty``, or were ``cut`` by length, by ``config/split/id/sample``."""
    found = {}
    for one in answers:
        if one.is_cut or one.is_empty:
            found["/".join((*one.key, str(one.sample)))] = "cut" if one.is_cut else "empty"
    return found


def count_reasoned(answers: Sequence[Answer]) -> list[int]:
    """Count the answers from which reasoning was parted, and all."""
    return [sum(one.reasoning is not None for one in answers), len(answers)]


def list_short(items: Sequence[Mapping[str, Any]], run: RunRecord) -> dict[Split, list[Short]]:
    """Find the items of replies of a model that are empty or cut, by config and split."""
    found: dict[Split, list[Short]] = {}
    for item in items if run.short else ():
        if kind := tell_short(item, run):
            found.setdefault((item["config"], item["split"]), []).append((kind, item))
    return found


def tell_short(item: Mapping[str, Any], run: RunRecord) -> str:
    """Say of a line of ``items.jsonl`` that its reply of a model is empty or was cut; "" of others."""
    kind = run.short.get(f"{item['config']}/{item['split']}/{item['id']}/{item.get('sample', 0)}")
    return _REASONS[kind] if kind else ""


def describe_short(reasons: Mapping[str, int]) -> str:
    """Say of items that failed by the replies of a model alone what is wrong with these; "" of others."""
    kinds = [word for name, word in ((EMPTY, "empty"), (CUT, "cut by length")) if name in reasons]
    return f"replies are {' or '.join(kinds)}" if len(kinds) == len(reasons) else ""
