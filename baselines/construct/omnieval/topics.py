"""The topics of a collection: the user's own, or those a model lays out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.reading import parse_yaml

from ..recipe import Given
from ..steps import Row

SHOWN = 40  # documents that a model sees when it lays out topics
BEGINNING = 120  # characters of each


def read_topics(path: Path) -> list[str]:
    """Read the user's topics: YAML or JSON, fields with their topics, ``energy: [solar, wind]``.

    Returns:
        Names of the form ``field - topic``.

    Raises:
        QuadragError: it is not of this form.
    """
    try:
        found = parse_yaml(path.read_bytes(), path, "fields with their topics")
    except OSError as error:
        raise QuadragError(f"cannot read {path} ({error.strerror}); expected fields with their topics") from None
    expected = "expected fields with their topics, as `energy: [solar, wind]`"
    if not isinstance(found, dict) or not all(isinstance(topics, list) and topics for topics in found.values()):
        raise QuadragError(f"{path} holds no topics; {expected}")
    names = [f"{field} - {topic}" for field, topics in found.items() for topic in topics]
    check_names(names, str(path))
    return names


def check_names(names: Sequence[str], where: str) -> None:
    """Refuse names that a file name or a table cannot bear.

    Raises:
        QuadragError: one is such, or stands twice.
    """
    for name in names:
        if name.count(" - ") != 1 or "/" in name or len(name) > 60 or not all(map(str.strip, name.split(" - "))):
            raise QuadragError(f"{where}: {name!r} is no topic; expected a short field and topic without - and /")
    if len(set(names)) < len(names):
        raise QuadragError(f"{where} names a topic twice; expected each once")


def leaves(found: Any) -> list[str]:
    """Return the leaves of a tree of topics as a model writes it.

    Raises:
        KeyError: it is not of its form.
        TypeError: likewise.
        ValueError: it has no leaf.
    """
    names = []
    for field in found:
        upper = str(field["topic_name"]).strip()
        for topic in field["sub_topics"] or [{"topic_name": upper}]:
            names.append(f"{upper} - {str(topic['topic_name']).strip()}")
    names = [name for name in dict.fromkeys(names) if name.count(" - ") == 1 and "/" not in name and len(name) <= 60]
    if not names:
        raise ValueError("no topic")
    return names


def show(documents: Sequence[Row], given: Given) -> str:
    """Return beginnings of some documents, drawn, for whoever lays out topics."""
    drawn = given.draw("topics").sample(list(documents), min(SHOWN, len(documents)))
    return "\n".join(f"- {row['title']}：{' '.join(row['text'].split())[:BEGINNING]}" for row in drawn)
