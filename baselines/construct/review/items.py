"""What people see of a made question, and what a recipe says of its own: `Item` and `Review`.

Whatever the benchmark, an item is a few named texts that may be corrected, and passages to hold them against. A list
of texts is shown as one text, an entry a line.
"""

from __future__ import annotations

import hashlib
import importlib
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from quadrag.data.files import OWN_RECORD
from quadrag.errors import QuadragError
from quadrag.reading import parse_json
from quadrag.records import dumps

from ...tables.language import speak
from ..recipe import load as load_recipe

Value = str | list[str]


class Item(NamedTuple):
    """A made question."""

    cell: str  # the config, or the cell of a matrix, that it belongs to
    fields: Mapping[str, Value]  # what is shown and may be corrected, by name
    marks: Sequence[str]  # the answers, which are marked in the passages
    passages: Sequence[str]  # what the fields are held against
    source: str  # the document, as far as the dataset names it
    line: Any  # as upstream's file has it
    kept: Any = None  # what else the recipe needs to hold a correction against its source

    @property
    def id(self) -> str:
        """A name made of its content: a grade counts for what its annotator saw, and for nothing else."""
        return hashlib.sha256(dumps([self.cell, self.line]).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True)
class Review:
    """How a recipe's questions are reviewed."""

    asks: Sequence[str]  # the questions that an annotator answers before giving a grade. Their order is ours
    read: Callable[[Path], Iterable[Item]]  # the items of a dataset
    # the line of an item with some fields corrected, held against its source; `Drop` says what is wrong
    correct: Callable[[Item, Mapping[str, Value]], Any]
    # write the items that people passed, each with its line, from a dataset into a new folder, in upstream's layout;
    # returns how many questions each split of each config has, by ``CONFIG/SPLIT``
    write: Callable[[Sequence[tuple[Item, Any]], Path, Path], dict[str, int]]
    human: str = "human"  # the folder in the dataset where those go


def load(dataset: Path, labels: str = "en") -> tuple[Review, dict[str, Item]]:
    """Return how a dataset is reviewed, with what to ask in a language, and its items by id.

    Raises:
        QuadragError: the folder is no dataset that `quadrag construct` made, or holds no questions.
    """
    record = dataset / OWN_RECORD
    if not record.is_file():
        raise QuadragError(f"{dataset} has no {OWN_RECORD}; expected a dataset that quadrag construct made")
    name = str(dict(parse_json(record.read_bytes(), record)).get("recipe"))
    load_recipe(name)
    if not (Path(__file__).parents[1] / name / "review.py").is_file():
        raise QuadragError(f"{name} does not say how its questions are reviewed")
    module = importlib.import_module(f"...{name}.review", __name__)
    review = cast(Review, module.REVIEW)
    items = {item.id: item for item in review.read(dataset)}
    if not items:
        raise QuadragError(f"{dataset} holds no questions to review; make some with quadrag construct")
    return replace(review, asks=[speak(ask, labels) for ask in review.asks]), items


def sample(items: Mapping[str, Item], n: int | None, seed: int) -> dict[str, Item]:
    """Draw n items, of every cell as many as of each other as far as it has them; all of them when None.

    A larger sample of the same seed holds the smaller one.
    """
    if n is None or n >= len(items):
        return dict(items)
    draw = random.Random(f"{seed}:review")
    cells: dict[str, list[str]] = defaultdict(list)
    for name, item in items.items():
        cells[item.cell].append(name)
    queues = list(cells.values())
    draw.shuffle(queues)
    for queue in queues:
        draw.shuffle(queue)
    rounds = max(map(len, queues))
    order = [queue[at] for at in range(rounds) for queue in queues if at < len(queue)]
    return {name: items[name] for name in order[:n]}


def as_text(value: Value) -> str:
    """Return a field as one text: of a list an entry a line."""
    return value if isinstance(value, str) else "\n".join(" ".join(entry.split()) for entry in value)


def changes(item: Item, texts: Mapping[str, str]) -> dict[str, Value]:
    """Return the fields that texts change; an empty text and different white space change nothing."""
    found: dict[str, Value] = {}
    for name, value in item.fields.items():
        lines = [" ".join(line.split()) for line in texts.get(name, "").splitlines() if line.strip()]
        if lines and lines != [" ".join(line.split()) for line in as_text(value).splitlines() if line.strip()]:
            found[name] = "\n".join(lines) if isinstance(value, str) else lines
    return found
