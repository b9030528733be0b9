"""A difference of two evaluations that knows of which score it is."""

from dataclasses import dataclass, field, fields

from quadrag.baselines.report.compared.names import Place
from quadrag.baselines.report.compared.said.verdict import find_verdict, write_pair
from quadrag.measure.number import Number
from quadrag.stats import Pair


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Difference(Number, Pair):
    """The paired difference of a score, `after` less `before`; where a number is expected it is its ``difference``.

    Attributes:
        place: config, split, metric and key of the score.
    """

    place: Place = field(kw_only=True)

    @classmethod
    def of(cls, pair: Pair, place: Place) -> "Difference":
        """Say of a difference which score it is of."""
        return cls(**{one.name: getattr(pair, one.name) for one in fields(pair)}, place=place)

    @property
    def _number(self) -> float:
        return self.difference

    @property
    def verdict(self) -> str:
        """What `after` is by it, as tables say: ``better``, ``not decided``; "" where neither end is the better one."""
        return find_verdict(self.place, self)

    def __str__(self) -> str:
        """Write it as tables do: ``accuracy +10.0 points (95% 4.6 to 15.2), n 200, p 0.001, by Holm 0.002: better``."""
        return write_pair(self.place, self)
