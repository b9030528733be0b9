"""A difference of two evaluations that knows of which score it is."""

from dataclasses import dataclass, field, fields

from quadrag.baselines.report.compared.names import Place
from quadrag.baselines.report.compared.said import find_verdict, write_pair
from quadrag.baselines.tables.cells import ALIKE
from quadrag.labels import LANGUAGES
from quadrag.measure.number import Number
from quadrag.stats import Pair


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Difference(Number, Pair):
    """The paired difference of a score, `after` less `before`; where a number is expected it is its ``difference``.

    Printed it is ``accuracy +10.0 points (95% 4.6 to 15.2), n 200, p 0.001, by Holm 0.002: better``, as tables write.

    Attributes:
        place: config, split, metric and key of the score.
        labels: ``en`` or ``zh``, the language in which it is shown.
        reason: why it says nothing of the answers, as of a score; "" where all is well.
    """

    place: Place = field(kw_only=True)
    labels: str = field(kw_only=True, compare=False, default=LANGUAGES[0])
    reason: str = field(kw_only=True, compare=False, default="")

    @classmethod
    def of(cls, pair: Pair, place: Place, labels: str, reason: str = "") -> "Difference":
        """Say of a difference which score it is of, in which language it is shown, and why it is in doubt."""
        known = {one.name: getattr(pair, one.name) for one in fields(pair)}
        return cls(**known, place=place, labels=labels, reason=reason)

    @property
    def _number(self) -> float:
        return self.difference

    @property
    def verdict(self) -> str:
        """What `after` is by it, as tables say: ``better``, ``not decided``; "" where neither end is the better one."""
        return find_verdict(self.place, self)

    @property
    def _line(self) -> str:
        return write_pair(self.place, self) + f"; {ALIKE} {self.reason}" * bool(self.reason)
