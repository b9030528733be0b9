"""What a benchmark says of its tables, as one record, and how it is found.

The record is ``TABLES`` in the ``tables.py`` of a benchmark's room; without one its runs have plain tables.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from quadrag import catalogue
from quadrag.results.run import Run
from quadrag.results.score import Score

from .table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTables:
    """What of tables and their notes is decided by a benchmark's name.

    Attributes:
        tabulate: makes the paper's tables, the printed rows with ours beside them, of runs with scores over all items;
            of the profiles the first is shown, the second where it differs. Raises QuadragError.
        matrices: makes the matrices of a run from its scores, slices among them; [] where there are no cells. Further
            arguments: its title, the profile, ``en`` or ``zh`` labels, whether for every metric or the main one alone.
        systems: makes the tables of one run as a whole system, rated by people or timed; [] where it was neither. A
            further argument: the profiles.
        blocks: what the paper calls runs of a config and a retriever, in its order.
        varies: by a table of the paper the setting that tells its rows apart, where it is not the model.
        mixing: whether the options mix the documents, so that beside such a run printed rows would say nothing.
    """

    tabulate: Callable[[Sequence[Run], Sequence[str]], list[Table]] | None = None
    matrices: Callable[[Sequence[Score], str, str, str, bool], list[Table]] = lambda *_: []
    systems: Callable[[Run, Sequence[str]], list[Table]] = lambda *_: []
    blocks: Mapping[tuple[str, str], str] = field(default_factory=dict)
    varies: Mapping[str, str] = field(default_factory=dict)
    mixing: bool = False


def load_tables(benchmark: str) -> PaperTables:
    """Return what a benchmark says of its tables."""
    tables = catalogue.module_beside(benchmark, "tables")
    return tables.TABLES if tables else PaperTables()
