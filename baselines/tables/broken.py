"""Heads and labels of a table that is too wide, in several lines: at blanks, and long names behind their joints."""

import re
from collections.abc import Iterable

_LONG = 13  # characters of a name
_JOINT = re.compile(r"(?<=[-_./])(?=[^-_./])(?!(?<=\d\.)\d)")  # of a name, never within a version number
_WORD = re.compile(r"( *)(（?[^ （]+)")  # of a label, with the blanks before it; a Chinese bracket has none


def break_names(head: str) -> str:
    """Break the long names in a head behind the joint that is nearest to their middle."""

    def halve(found: re.Match[str]) -> str:
        name = found[0]
        joints = [joint.start() for joint in _JOINT.finditer(name)]
        at = min(joints, key=lambda place: abs(2 * place - len(name)), default=0)
        return f"{name[:at]}\n{name[at:]}" if at else name

    return re.sub(rf"\S{{{_LONG},}}", halve, head)


def break_label(label: str, room: int, names: bool) -> str:
    """Break a label at blanks into as few lines as hold it, long `names` in it behind their joints too.

    Where a name is wider than the room, so is its line. The second line and the later ones stand further in.
    """
    from rich.cells import cell_len

    lines: list[str] = []
    for whole in label.split("\n"):
        begin = " " * (len(whole) - len(whole.lstrip(" ")))
        lines.append(begin)
        for gap, word in _WORD.findall(whole.strip()):
            for at, part in enumerate(_JOINT.split(word) if names and len(word) >= _LONG else [word]):
                blank = gap if at == 0 else ""
                if lines[-1].strip() and cell_len(lines[-1] + blank + part) > room:
                    lines.append(f"{begin}  {part}")
                else:
                    lines[-1] += blank + part
    return "\n".join(lines)


def measure_lines(labels: Iterable[str]) -> int:
    """Measure the widest line of some labels."""
    from rich.cells import cell_len

    return max(cell_len(line) for label in labels for line in label.split("\n"))
