"""Where data come from and whose they are, as a value; `quadrag/data/authors.py` decides it by the rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

_NAMED = 3  # as many names or ranges a phrase under a table bears


class Provenance(StrEnum):
    """Whose rows are, in the order of how far they are the authors'."""

    AUTHORS = "authors"  # a benchmark's own files, by their sums, or brought from its authors' repositories
    PARTIAL = "partial"  # a part of them
    UNVERIFIED = "unverified"  # nobody here can tell
    OWN = "own"
    SAMPLE = "sample"  # bundled and made up

    @property
    def theirs(self) -> bool:
        """Whether rows are known to be the authors', so that counts of theirs say something of them."""
        return self in (Provenance.AUTHORS, Provenance.PARTIAL)

    @property
    def comparable(self) -> bool:
        """Whether published numbers stand beside values over such rows."""
        return self.theirs or self is Provenance.UNVERIFIED


_WORDS = {
    Provenance.AUTHORS: "the authors' own files",
    Provenance.PARTIAL: "a part of the authors' own data",
    Provenance.UNVERIFIED: "unverified",
    Provenance.OWN: "own data",
}

Other = list[Any]


class Share(NamedTuple):
    done: int
    total: int

    def __str__(self) -> str:
        return f"{self.done} of {self.total}"


@dataclass(frozen=True, slots=True)
class Source:
    provenance: Provenance
    place: str = ""  # the folder; "" where `parts` say it
    parts: Sequence[str] = ()  # what is to be told of its files
    lacking: str = ""  # which of a partial config's files are not there; "" where none lacks
    # The files that by their sums are not the authors', by the name of these: their own name, and their size as a share
    # of that of the authors' file, None where that is not known.
    other: Mapping[str, Other] = field(default_factory=dict)
    held: Sequence[Share] = ()  # where rows are a part of the authors', of each split

    @property
    def text(self) -> str:
        if not self.place:
            return " and ".join(self.parts)
        names = list(dict.fromkeys(str(name) for name, _ in self.other.values()))
        whose = f"{shorten(names)}: " * bool(names) + _WORDS[self.provenance]
        whose += f", {' and '.join(map(str, self.held))} questions" * bool(self.held)
        return f"{self.place} ({'; '.join(filter(None, [*self.parts, self.lacking, whose]))})"


def join(found: Iterable[Provenance]) -> Provenance:
    """Return whose rows of several kinds are together: what is least the authors'."""
    return max(found, key=[*Provenance].index)


def shorten(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
