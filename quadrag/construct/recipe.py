"""What a recipe is: which documents it takes, its steps, how what came of them is written, and how people review it."""

import hashlib
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

from quadrag import catalogue
from quadrag.errors import QuadragError
from quadrag.records import dumps

from .steps import Row, Step

Value = str | list[str]


@dataclass(frozen=True)
class Order:
    """What is to be made of what."""

    recipe: str  # a benchmark's name
    documents: Path  # folder of one's own documents
    out: Path  # folder of the dataset
    model: str  # what makes it, as the card names it
    limit: int | None = None  # how many documents questions are made from, drawn by the seed; all of them when None
    seed: int = 2333  # of every draw
    topics: Path | None = None  # the user's own, of a recipe that has topics
    table: Path | None = None  # of a recipe that reads a table
    templates: Path | None = None  # likewise
    licence: str | None = None  # of the documents, for the card
    # The documents, copies and unfit ones let go: ``id``, ``title``, ``text``, ``language``; none yet for `begin`.
    corpus: Sequence[Row] = ()

    def draw(self, what: str) -> random.Random:
        """Return the generator of a named draw, which no other draw disturbs."""
        return random.Random(f"{self.seed}:{what}")


class Item(NamedTuple):
    """A made question, as people see it."""

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
        return hashlib.sha256(dumps([self.cell, self.line]).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Recipe:
    """A recipe."""

    # What is done, in order; it begins with the documents that questions are made from, or what `begin` gives.
    steps: Callable[[Order], Sequence[Step]]
    # Writes the last step's rows as upstream's files into a folder; returns how many questions each split of each
    # config has, by ``CONFIG/SPLIT``. Nothing is written of a split without questions.
    write: Callable[[Sequence[Row], Order, Path], dict[str, int]]
    items: Callable[[Path], Iterable[Item]]  # the questions of a dataset; of none without its files
    # The line of an item with some fields corrected, held against its source; `Rejected` says what is wrong.
    correct: Callable[[Item, Mapping[str, Value]], Any]
    # Writes the items that people passed, each with its line, from a dataset into a new folder, as `write` does.
    write_passed: Callable[[Sequence[tuple[Item, Any]], Path, Path], dict[str, int]]
    asks: Mapping[str, Sequence[str]]  # what an annotator asks before giving a grade, by language
    languages: Sequence[str] = ("zh", "en")  # of the documents that it takes
    least: int = 100  # characters of a document, and at most:
    most: int = 20_000
    begin: Callable[[Order], Sequence[Row]] | None = None  # the first rows, where they are no documents
    takes: Sequence[str] = ()  # of the further files of an `Order`
    by_rule: str = ""  # how questions are made where no model is asked, for the summary and the card
    human: str = "human"  # the folder in the dataset where what people passed goes


def load(name: str) -> Recipe:
    """Return the recipe of a benchmark, which lies beside its record; QuadragError where it has none."""
    catalogue.benchmark_name(name)
    module = catalogue.module_beside(name, "construct")
    if module is None:
        raise QuadragError(f"{name} has no recipe; expected a benchmark with a module construct")
    return cast(Recipe, module.RECIPE)
