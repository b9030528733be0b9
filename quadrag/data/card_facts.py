"""The facts of a benchmark that its dataset script does not know: the key ``quadrag`` in the header of its card.

How many rows a split has and who says so, what each column holds, whether the data may be hosted again, which metric
stands for a task. Not in the script: its bytes decide what is built anew, and a word changed here changes no row.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Literal

from quadrag import catalogue
from quadrag.errors import QuadragError, one_line, parse_yaml, read_text
from quadrag.parts import Record, validate

KEY = "quadrag"  # in a card's header, which is no key of the Hub's
RENDERED = "# Rendered by make cards.\n"  # what a card's header begins with by hand ends here


class _OfConfigs(Record):
    configs: tuple[str, ...]  # patterns of names

    def holds_for(self, config: str) -> bool:
        return any(fnmatchcase(config, pattern) for pattern in self.configs)


class Rows(_OfConfigs):
    """How many rows each split of some configs has; without `splits` all of them."""

    splits: tuple[str, ...] = ()
    number: int | None = None  # None: not known
    about: bool = False
    source: str  # ``counted``, where the number is from, or why there is none


class Columns(_OfConfigs):
    """Configs that have the same columns, and what each of these holds, in the features' order."""

    example: tuple[str, str]  # the config and the split whose first row of the sample the card shows
    nullable: tuple[str, ...] = ()
    holds: Mapping[str, str]


class Headline(_OfConfigs):
    """The value that stands for some tasks, since a result on the Hub has one."""

    splits: tuple[str, ...]
    metric: str
    key: str
    unit: Literal["percent", "ratio"]  # in which the paper prints it


class CardFacts(Record):
    language: tuple[str, ...]
    asks: Mapping[str, str] = {}  # by patterns of configs, of which the first that fits counts: what is asked
    rows: tuple[Rows, ...] = ()
    columns: Mapping[str, Columns] = {}
    headlines: tuple[Headline, ...] = ()
    other_retrievers: bool = True  # whether runs with another than the default retriever answer the same questions
    not_hosted: str = ""  # why the data are not hosted again, and how one gets them; "" where they may be

    def sentence(self, config: str) -> str:
        return next((text for pattern, text in self.asks.items() if fnmatchcase(config, pattern)), "")

    def find_rows(self, config: str, split: str) -> Rows | None:
        """Return what is known of the rows of a split; None of one that an option makes."""
        known = (rows for rows in self.rows if rows.holds_for(config) and split in (rows.splits or [split]))
        return next(known, None)


@cache
def card_facts(benchmark: str) -> CardFacts:
    path = catalogue.card(benchmark)
    return parse_facts(read_text(path, "a card"), path)


def parse_facts(card: str, where: object) -> CardFacts:
    written = card.partition(RENDERED)[0].split("---\n")[1] if card.startswith("---\n") else "{}"
    header = parse_yaml(written, where, "the header of a card")
    try:
        language = header.get("language") or ()
        facts = {**header.get(KEY, {}), "language": [language] if isinstance(language, str) else language}
    except (AttributeError, TypeError) as error:
        raise QuadragError(f"facts of {where} cannot be used ({one_line(error)}); expected a mapping") from None
    return validate(CardFacts, facts, f"facts of {where}")
