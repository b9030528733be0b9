"""A number that knows where it comes from: what a `Score` and a `Difference` have alike."""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields
from numbers import Real
from typing import Any

from quadrag.errors import QuadragError
from quadrag.measure.arguments import entrance
from quadrag.measure.words import in_python, speaking_python


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

    @entrance
    def __float__(self) -> float:
        """Return the value.

        Raises:
            QuadragError: there is none; the message says why.
        """
        if self._number is None:
            raise QuadragError(str(self))
        return self._number

    @property
    @abstractmethod
    def _line(self) -> str:
        """What tables write of it, in English; or why there is no value."""

    @property
    @abstractmethod
    def labels(self) -> str:
        """The language in which it is shown."""

    def __str__(self) -> str:
        """Write it as tables do, in its language; or say why there is no value."""
        with speaking_python(self.labels):
            return in_python(self._line)

    def __repr__(self) -> str:
        """Write it as ``print`` does."""
        return str(self)

    @entrance
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return the value for numpy, as an array without a dimension."""
        import numpy as np

        return np.array(float(self), dtype=dtype)

    def __eq__(self, other: object) -> bool:
        """Compare the value with a number, or all parts with those of another of the same class."""
        if isinstance(other, type(self)):
            return all(getattr(self, one.name) == getattr(other, one.name) for one in fields(self) if one.compare)  # type: ignore[arg-type]
        return bool(self._number == other) if isinstance(other, Real) else NotImplemented

    @entrance
    def __round__(self, digits: int | None = None) -> float:
        """Round the value."""
        return round(float(self), digits)

    @entrance
    def __format__(self, how: str) -> str:
        """Format the value, or without a format the whole line."""
        return format(float(self), how) if how else str(self)

    @entrance
    def __neg__(self) -> float:
        """Return the value with the other sign."""
        return -float(self)

    @entrance
    def __abs__(self) -> float:
        """Return the size of the value."""
        return abs(float(self))

    @staticmethod
    def _apply(act: Callable[[Any, Any], Any], turned: bool = False) -> Callable[["Number", Any], Any]:
        """Make the method of an operator; a `turned` one is of what stands on the right."""

        @entrance
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
