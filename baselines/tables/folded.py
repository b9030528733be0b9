"""What is said of several runs alike, of many runs but for their numbers, is told once; their names are folded too."""

import re
from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest
from typing import TypeVar

Text = TypeVar("Text", bound=str)
_JOINT = re.compile("[_ ]")  # between words of a name
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


def fold_notes(told: Iterable[tuple[str, Text]], numbers: bool) -> list[tuple[Text, list[str]]]:
    """Return notes of runs as `fold_lines` does, each still of its kind."""
    kinds: dict[type[Text], list[tuple[str, Text]]] = {}
    for name, note in told:
        kinds.setdefault(type(note), []).append((name, note))
    return [(kind(line), of) for kind, said in kinds.items() for line, of in fold_lines(said, numbers).items()]


def fold_names(some: Sequence[str], names: Sequence[str]) -> str:
    """List some names, as ``rgb_en_* (5)`` where all that begin so are among them, or those left out where shorter."""
    listed = ", ".join(_fold(some, names))
    others = [name for name in names if name not in some]
    left_out = f"all but {', '.join(_fold(others, names))}"
    return left_out if len(others) < len(some) and len(left_out) < len(listed) else listed


def _fold(some: Sequence[str], names: Sequence[str]) -> list[str]:
    found: list[str] = []
    last = ""
    for name in some:
        config, blank, split = name.partition(" ")
        begun = [name[: joint.end()] for joint in _JOINT.finditer(name)]
        alike = {begin: [one for one in names if one.startswith(begin)] for begin in begun}
        whole = [begin for begin, all_of_it in alike.items() if len(all_of_it) > 1 and {*all_of_it} <= {*some}]
        told = split if blank and config == last else name
        last = config
        if whole:
            count = len(alike[whole[0]])
            longest = [begin for begin in whole if len(alike[begin]) == count][-1]
            told = f"{config if ' ' in longest else f'{longest}*'} ({count})"  # a config with all its splits
            last = ""
        if not (whole and told in found):
            found.append(told)
    return found
