"""What the calls of all domains are told about a question, and how its names become names of the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime

from .entities import Entities
from .fact_calls import core, fitting, within

MOST = 3  # names of one kind
UNKNOWN = 5  # names of unknown kind that are searched for: each in every kind
Search = Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: its entities with every date resolved, its text in lower case, and its moment in California."""

    entities: Entities
    query: str
    moment: datetime

    @property
    def day(self) -> date:
        """The day in California."""
        return self.moment.date()

    @property
    def dates(self) -> tuple[str, ...]:
        """The dates asked about."""
        return self.entities.dates

    @property
    def years(self) -> tuple[int, ...]:
        """Their years, each once."""
        return tuple(dict.fromkeys(int(one[:4]) for one in self.dates))

    def candidates(self, domain: str, *kinds: str) -> list[tuple[str, str | None]]:
        """Return names with their kind, None where it is unknown: of these kinds, then others of the domain."""
        known = [(name, kind) for kind in kinds for name in getattr(self.entities, kind)]
        if self.entities.domain in (None, domain):
            return [*known, *((name, None) for name in self.entities.names[:UNKNOWN])]
        return [*known]

    def resolve(
        self, domain: str, searches: Mapping[str, Search], most: Mapping[str, int] | None = None
    ) -> dict[str, list[str]]:
        """Search for the names of a question and choose among what is found, see `fitting`.

        Args:
            domain: whose names they may be.
            searches: a search by kind, which is a field of `Entities`.
            most: how many of a kind, where it is not three.

        Returns:
            By kind the names of the graph. A name within one that is found is not searched for.
        """
        chosen: dict[str, list[str]] = {kind: [] for kind in searches}
        taken: list[tuple[str, ...]] = []
        for name, known in self.candidates(domain, *searches):
            words = core(name)
            if any(within(words, other) for other in taken):
                continue
            for kind in [known] if known else searches:
                limit = (most or {}).get(kind, MOST)
                if len(chosen[kind]) < limit:
                    new = fitting(name, searches[kind](name), known is not None, most=max(limit, 2))
                    chosen[kind] += [one for one in new if one not in chosen[kind]][: limit - len(chosen[kind])]
                    taken += map(core, new)
        return chosen
