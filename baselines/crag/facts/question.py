"""What the calls of all domains are told about a question, and how its names become names of the graph."""

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime

from ..kg.names import normalise
from ..language.entities import Entities
from ..language.wording import JOINING, is_name_word

MOST = 3  # names of one kind
UNKNOWN = 5  # names of unknown kind that are searched for: each in every kind
Words = tuple[str, ...]
_ARTICLES = ("the", "a", "an")


@dataclass(frozen=True, slots=True)
class FactQuestion:
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
        known: list[tuple[str, str | None]] = [(name, kind) for kind in kinds for name in getattr(self.entities, kind)]
        unknown = self.entities.names[:UNKNOWN] if self.entities.domain in (None, domain) else ()
        return [*known, *((name, None) for name in unknown)]

    def resolve(
        self, domain: str, searches: Mapping[str, Callable[[str], list[str]]], most: Mapping[str, int] | None = None
    ) -> dict[str, list[str]]:
        """Search for the names of a question and choose among what is found, see `match_names`.

        Searches and `most`, three by default, are by kind, which is a field of `Entities`; so is what is returned. A
        name within one that is found is not searched for.
        """
        chosen: dict[str, list[str]] = {kind: [] for kind in searches}
        taken: list[Words] = []
        for name, known in self.candidates(domain, *searches):
            words = split_name(name)
            if any(occurs_in(words, other) for other in taken):
                continue
            for kind in [known] if known else searches:
                limit = (most or {}).get(kind, MOST)
                if len(chosen[kind]) < limit:
                    new = match_names(name, searches[kind](name), known is not None, most=max(limit, 2))
                    chosen[kind] += [one for one in new if one not in chosen[kind]][: limit - len(chosen[kind])]
                    taken += map(split_name, new)
        return chosen


def split_name(name: str) -> Words:
    """Return the words by which names are compared: normal form, without accents and a leading article."""
    plain = unicodedata.normalize("NFKD", normalise(name))
    words = "".join(character for character in plain if not unicodedata.combining(character)).split()
    return tuple(words[1:] if len(words) > 1 and words[0] in _ARTICLES else words)


def occurs_in(part: Words, whole: Words) -> bool:
    """Whether words follow each other so in others."""
    return bool(part) and any(whole[at : at + len(part)] == part for at in range(len(whole) - len(part) + 1))


def match_names(
    asked: str, found: Iterable[str], near: bool, split: Callable[[str], Words] = split_name, most: int = 2
) -> list[str]:
    """Choose among names that a search found, best first: at most `most`.

    The same names; else those that the phrase holds, of two words or more and not all of asking; else, where `near`,
    the first that shares at least half of the words, which `split` gives.
    """
    words = split(asked)
    names = {name: split(name) for name in found}
    if same := [name for name, own in names.items() if own and own == words]:
        return same[:most]
    held = {
        name: own
        for name, own in names.items()
        if len([word for word in own if word not in JOINING]) > 1
        and occurs_in(own, words)
        and any(map(is_name_word, own))
    }
    # Of names within each other the longest.
    whole = [name for name, own in held.items() if not any(own != one and occurs_in(own, one) for one in held.values())]
    if whole:
        return whole[: most + 1]
    if near:
        for name, own in names.items():
            shared, together = set(words) & set(own), set(words) | set(own)
            if shared and 2 * len(shared) >= len(together):
                return [name]
    return []
