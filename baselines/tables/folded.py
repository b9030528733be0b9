"""What is said of several runs alike, of many runs but for their numbers, is told once; their names are folded too."""

import re
from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest
from typing import TypeVar

Text = TypeVar("Text", bound=str)
_FEW = 3  # runs or tasks, of which each is told
_SLOT = "\0"  # stands in a line for a number
_END = re.compile(r"[,;:.](?= |$)")  # of a part of a line
_JOINT = re.compile("[_ ]")  # between words of a name
# No number are a quoted text, as an answer, and what is part of a name or of a path.
_PARTS = re.compile(r"('[^']*')|(?<![\w./-])(\d+(?:\.\d+)?(?:–\d+(?!\.\d))?)(?![\w/])")  # or several counts, as ``3–7``


Told = list[tuple[str, list[str]]]  # names of runs, and the numbers in what is said of each


def fold_lines(told: Iterable[tuple[str, str]], numbers: bool) -> dict[str, list[str]]:
    """Return what is said of runs, each with the names of those that it is of.

    Args:
        told: the name of a run and a line, several of a run one after the other.
        numbers: make one of lines alike but for their numbers, with the least and the greatest of these.
    """
    return {_fill(shape, said): [name for name, _ in said] for shape, said in _group(told, numbers).items()}


def fold_notes(told: Iterable[tuple[str, Text]], numbers: bool) -> list[tuple[Text, list[str]]]:
    """Return notes of runs as `fold_lines` does, each still of its kind.

    Values have no least and greatest, as these would read as an interval, nor have a few runs' counts of what is not
    alike many: the part that they stand in is told of each run, with no names beside the note.
    """
    kinds: dict[type[Text], list[tuple[str, Text]]] = {}
    for name, note in told:
        kinds.setdefault(type(note), []).append((name, note))
    return [
        (kind(_tell_each(shape, of)), [])
        if _is_apart(shape, of)
        else (kind(_fill(shape, of)), [name for name, _ in of])
        for kind, said in kinds.items()
        for shape, of in _group(said, numbers).items()
    ]


def _group(told: Iterable[tuple[str, str]], numbers: bool) -> dict[str, Told]:
    """Return lines with slots for their numbers, where these are folded, and of which runs with which each is said."""
    alike: dict[str, Told] = {}
    for name, line in told:
        given = [number for _, number in _PARTS.findall(line) if number] if numbers else []
        shape = _PARTS.sub(lambda part: part[1] or _SLOT, line) if given else line
        alike.setdefault(shape, []).append((name, given))
    return alike


def _columns(said: Told) -> list[tuple[str, ...]]:
    return [*zip(*(given for _, given in said), strict=True)]


def _fill(shape: str, said: Told) -> str:
    """Fill the slots with the least and the greatest number; where all of each run's failed, with no two of these."""
    parts = shape.split(_SLOT)
    spans: list[str] = []
    columns = _columns(said)
    for at, column in enumerate(columns):
        whole = parts[at + 1] == " of " and len({*column}) > 1 and column == columns[at + 1]
        spans.append("all" if whole else f"their {_span(column)}" if spans[-1:] == ["all"] else _span(column))
    return _join(shape, spans)


def _join(shape: str, numbers: Iterable[str]) -> str:
    return "".join(chain.from_iterable(zip_longest(shape.split(_SLOT), numbers, fillvalue="")))


def _span(numbers: Iterable[str]) -> str:
    ends = {end for number in numbers for end in number.split("–")}
    rising = sorted(ends, key=float)
    return rising[0] if len(rising) == 1 else f"{rising[0]}–{rising[-1]}"


def _is_apart(shape: str, said: Told) -> bool:
    """Whether numbers that differ are values, or of a few runs."""
    differing = [column for column in _columns(said) if len({*column}) > 1]
    return bool(differing) and (len(said) <= _FEW or any("." in "".join(column) for column in differing))


def _tell_each(shape: str, said: Told) -> str:
    """Tell the part of a line whose numbers differ of each run, as ``a, b: 1 of 2 failed; c: 3 of 4 failed``."""
    slots = [at for at, sign in enumerate(shape) if sign == _SLOT]
    differing = [at for at, column in zip(slots, _columns(said), strict=True) if len({*column}) > 1]
    start = max((end.end() + 1 for end in _END.finditer(shape[: differing[0]])), default=0)
    ends = [end.start() for end in _END.finditer(shape, differing[-1])]
    stop = next((end for end in ends if shape.count("(", start, end) <= shape.count(")", start, end)), len(shape))
    head, part, tail = shape[:start], shape[start:stop], shape[stop:]
    first, last = head.count(_SLOT), head.count(_SLOT) + part.count(_SLOT)
    told: dict[str, list[str]] = {}
    for name, given in said:
        told.setdefault(_join(part, given[first:last]), []).append(name)
    given = said[0][1]
    each = "; ".join(f"{', '.join(names)}: {line}" for line, names in told.items())
    return _join(head, given[:first]) + each + _join(tail, given[last:])


def fold_names(some: Sequence[str], names: Sequence[str]) -> str:
    """List some tasks, as ``rgb_en_* (5)`` where all that begin so are among them, or those left out where shorter."""
    listed = ", ".join(_fold(some, names))
    others = [name for name in names if name not in some]
    if not others:
        return "all tasks" if len(names) > _FEW else listed
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
