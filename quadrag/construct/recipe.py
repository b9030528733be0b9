"""What a recipe is: which documents it takes, its steps, and how what came of them is written as upstream's files."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import cast

from quadrag import catalogue
from quadrag.errors import unknown_name

from .steps import Row, Step


@dataclass(frozen=True)
class Given:
    """What a recipe works on."""

    # the documents, copies and unfit ones let go: ``id``, ``title``, ``text``, ``language``. None of them is there yet
    # for `Recipe.begin`
    corpus: Sequence[Row]
    seed: int = 2333  # of every draw
    topics: Path | None = None  # the user's own topics, of a recipe that has topics
    table: Path | None = None  # of a recipe that reads a table
    templates: Path | None = None  # likewise

    def draw(self, what: str) -> random.Random:
        """Return the generator of a named draw, which no other draw disturbs."""
        return random.Random(f"{self.seed}:{what}")


@dataclass(frozen=True)
class Recipe:
    """A recipe."""

    languages: Sequence[str]  # of the documents that it takes
    least: int  # characters of a document at least
    most: int  # and at most
    # what is done, in order; it begins with the documents that questions are made from, or with the rows of `begin`
    steps: Callable[[Given], Sequence[Step]]
    # write the last step's rows as upstream's files into a folder; returns how many questions each split of each config
    # has, by ``CONFIG/SPLIT``. Nothing is written of a split without questions
    write: Callable[[Sequence[Row], Given, Path], dict[str, int]]
    # the first rows, of a recipe that does not begin with documents
    begin: Callable[[Given], Sequence[Row]] | None = None
    takes: Sequence[str] = ()  # which of `Given`'s further files it takes: ``topics``, ``table``, ``templates``
    by_rule: str = ""  # of a recipe that asks no model, how its questions are made, for the account and the card


def known() -> list[str]:
    """List the benchmarks that have a recipe."""
    return [name for name in catalogue.benchmarks() if _module(name) is not None]


def _module(name: str) -> ModuleType | None:
    return catalogue.module_beside(name, "construct.recipe")


def load(name: str) -> Recipe:
    """Return a recipe by its benchmark's name."""
    if name not in known():
        raise unknown_name("recipe", name, known())
    return cast(Recipe, _module(name).RECIPE)
