"""Lines that are said of several runs alike, of many runs but for their numbers: each is told once."""

import re
from collections.abc import Iterable
from itertools import chain, zip_longest

# No number are a quoted text, as an answer, and what is part of a name or of a path.
_PARTS = re.compile(r"('[^']*')|(?<![\w./-])(\d+(?:\.\d+)?)(?![\w/])")


def fold_lines(told: Iterable[tuple[str, str]], numbers: bool) -> dict[str, list[str]]:
    """Return what is said of runs, each with the names of those that it is of.

    Args:
        told: the name of a run and a line, several of a run one after the other.
        numbers: make one of lines alike but for their numbers, with the least and the greatest of these.
    """
    alike: dict[str, list[tuple[str, list[str]]]] = {}
    for name, line in told:
        given = [number for _, number in _PARTS.findall(line) if number] if numbers else []
        shape = _PARTS.sub(lambda part: part[1] or "\0", line) if given else line
        alike.setdefault(shape, []).append((name, given))
    found = {}
    for shape, said in alike.items():
        spans = [_span(column) for column in zip(*(given for _, given in said), strict=True)]
        line = "".join(chain.from_iterable(zip_longest(shape.split("\0"), spans, fillvalue="")))
        found[line] = [name for name, _ in said]
    return found


def _span(numbers: Iterable[str]) -> str:
    rising = sorted(set(numbers), key=float)
    return rising[0] if len(rising) == 1 else f"{rising[0]}–{rising[-1]}"
