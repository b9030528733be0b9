"""A difference of two evaluations that knows of which score it is."""

from quadrag.baselines.report.compared.names import Place
from quadrag.baselines.report.compared.said.verdict import find_verdict, write_pair
from quadrag.stats import Pair


class Difference(Pair):
    """The paired difference of a score, `after` less `before`; printed it is a line, as a `Score` is."""

    _place: Place

    @classmethod
    def of(cls, pair: Pair, place: Place) -> "Difference":
        """Take what is known of a difference.

        Args:
            pair: the difference.
            place: config, split, metric and key of the score.
        """
        made = cls(*pair)
        made._place = place
        return made

    @property
    def verdict(self) -> str:
        """What `after` is by it, as tables say: ``better``, ``not decided``; "" where neither end is the better one."""
        return find_verdict(self._place, self)

    def __str__(self) -> str:
        """Write it as tables do: ``accuracy +10.0 points (95% 4.6 to 15.2), n 200, p < 0.001: better``."""
        return write_pair(self._place, self)
