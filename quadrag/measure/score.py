"""A score and a difference of scores in Python: each is a number, and knows what it is of; and how one is found."""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from numbers import Real
from typing import Any

from quadrag.baselines.report.compared.names import Place
from quadrag.baselines.report.compared.said import find_verdict, write_pair
from quadrag.baselines.tables.cells import ALIKE, RATE, format_interval, format_value
from quadrag.baselines.tables.language import speak
from quadrag.baselines.tables.names import is_whole
from quadrag.errors import QuadragError, UnknownScore, unknown_name
from quadrag.labels import LANGUAGES
from quadrag.measure.arguments import in_python
from quadrag.metric_record import metric_record, show_key
from quadrag.stats import Pair


class Number(ABC):
    """What counts as a float where a number is expected, and is printed and shown as the line that tables write.

    It adds, subtracts, multiplies and divides with numbers and others of its kind to a float, and numpy and plots take
    it as one. ``==`` with a number is of the value, with another of its own class of all parts. It has no hash.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    @property
    @abstractmethod
    def _number(self) -> float | None:
        """The value; None where there is none."""

    @property
    @abstractmethod
    def _line(self) -> str:
        """What tables write of it, in English; or why there is no value."""

    @property
    @abstractmethod
    def labels(self) -> str:
        """The language in which it is shown."""

    def __float__(self) -> float:
        """Return the value.

        Raises:
            QuadragError: there is none; the message says why.
        """
        if self._number is None:
            raise QuadragError(str(self))
        return self._number

    def __str__(self) -> str:
        """Write it as tables do, in its language; or say why there is no value."""
        return in_python(speak(self._line, self.labels))

    def __repr__(self) -> str:
        return str(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return the value for numpy, as an array without a dimension."""
        import numpy as np

        return np.array(float(self), dtype=dtype)

    def __eq__(self, other: object) -> bool:
        """Compare the value with a number, or all parts with those of another of the same class."""
        if isinstance(other, type(self)):
            return all(getattr(self, one.name) == getattr(other, one.name) for one in fields(self) if one.compare)  # type: ignore[arg-type]
        return bool(self._number == other) if isinstance(other, Real) else NotImplemented

    def __round__(self, digits: int | None = None) -> float:
        return round(float(self), digits)

    def __format__(self, how: str) -> str:
        """Format the value, or without a format the whole line."""
        return format(float(self), how) if how else str(self)

    def __neg__(self) -> float:
        return -float(self)

    def __abs__(self) -> float:
        return abs(float(self))

    @staticmethod
    def _apply(act: Callable[[Any, Any], Any], turned: bool = False) -> Callable[["Number", Any], Any]:
        """Make the method of an operator; a `turned` one is of what stands on the right."""

        def method(self: "Number", other: Any) -> Any:
            both = float(self), float(other) if isinstance(other, Number) else other
            return act(*both[::-1] if turned else both)

        return method

    __lt__, __le__, __gt__, __ge__ = map(_apply, (operator.lt, operator.le, operator.gt, operator.ge))
    __add__, __sub__, __mul__, __truediv__ = map(_apply, (operator.add, operator.sub, operator.mul, operator.truediv))
    __radd__ = _apply(operator.add, turned=True)
    __rsub__ = _apply(operator.sub, turned=True)
    __rmul__ = _apply(operator.mul, turned=True)
    __rtruediv__ = _apply(operator.truediv, turned=True)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Score(Number):
    """One metric over all questions of a split.

    It is the number that it holds where one is expected: ``float(score)``, ``score * 100``, ``f"{score:.3f}"``,
    ``score > 0.8``, ``numpy.mean([score, other])``. Where there is none these raise a `QuadragError` that says why.
    ``print(score)`` writes it as tables do: ``accuracy 58.3% (95% 32.0–80.7), n 12/12``. Behind a value that rests on
    verdicts which say nothing of the answers stands ``!``.

    Attributes:
        value: in the metric's own unit, mostly 0 to 1; None where it could not be computed, or is not valid.
        interval: its 95% interval; None where there is none, as of fewer than 5 questions.
        n: the questions that the value is over; of a score that is not valid, those that could be read.
        n_total: all questions.
        unscored: how many have none, by reason.
        metric: the evaluate module.
        key: of its result.
        split: of the questions; ``all 5 splits`` of what is over all of them, where a question counts once.
        signature: how it was computed.
        valid: False where more than a fifth of the items failed, by no fault of the system's answers.
        reason: why there is no value, as "the judge does not answer", or why it says nothing of the answers, as "the
            judge says the same of every answer"; "" where all is well.
        labels: ``en`` or ``zh``, the language in which it is shown.
    """

    value: float | None
    interval: tuple[float, float] | None
    n: int
    n_total: int
    unscored: dict[str, int]
    metric: str
    key: str
    split: str
    signature: str
    valid: bool = True
    reason: str = ""
    labels: str = field(default=LANGUAGES[0], compare=False)

    @property
    def _number(self) -> float | None:
        return self.value

    @property
    def _line(self) -> str:
        if self.value is None:
            why = self.reason or f"none of its {self.n_total} questions was scored"
            return f"{self.key} has no value: {why}"
        unit = metric_record(self.metric).key(self.key).unit
        value = format_value(self.value, unit, self.n) + ("%" if unit == RATE else f" {unit}")
        mark, doubt = (ALIKE, f"; {ALIKE} {self.reason}") if self.reason else ("", "")
        bounds = format_interval(self.interval, unit)
        return f"{self.key} {value}{mark}{f' (95% {bounds})' if bounds else ''}, n {self.n}/{self.n_total}{doubt}"


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


def match_names(name: str, places: Mapping[str, Place]) -> list[str]:
    """Return the names of the scores that are called so, with their split and their metric or without."""
    if name in places:
        return [name]
    return [
        known
        for known, (_, split, metric, key) in places.items()
        if str(name).removeprefix(f"{split}/") in (key, f"{metric}.{key}", show_key(metric, key))
    ]


def find_name(name: str, places: Mapping[str, Place]) -> str:
    """Return the name of the one score that is called so, with its split and its metric or without.

    Of several splits it is the score over all of them, where there is one.

    Raises:
        KeyError: there is none, or more than one; the message lists those there are.
    """
    found = match_names(name, places)
    found = [known for known in found if is_whole(places[known][1])] or found
    if len(found) > 1:
        what = "splits" if len({places[known][1] for known in found}) > 1 else "metrics"
        uses = ", ".join(f"result[{known!r}]" for known in found)
        raise UnknownScore(f"{name} stands for several {what}: use {uses}")
    if not found:
        known = dict.fromkeys([*places, *(key for *_, key in places.values())])
        raise UnknownScore(str(unknown_name("score", name, known)))
    return found[0]
