"""Lines of a width: Chinese has no blanks to break at, and its signs are two columns wide.

A word wider than a line stays whole; the terminal breaks it.
"""

import re
import shutil
import sys

from quadrag.printing import is_terminal

GLANCE = 160  # characters of a long text that a person is shown first
_WIDE = "\u2e80-\uffef"
_ENDS = "，。；：？！、）”"  # marks that may not begin a line
# What stays together: a word or a sign, with these marks and quotes before them or a blank; what a blank
# joins that breaks no line; and a p with its number.
_WORD = rf"(?:\bp (?:< )?[\d.]+|(?:[^\s{_WIDE}]|\xa0)+|[{_WIDE}])"
_PIECE = re.compile(rf"""[^\S\xa0]*[（“]?['"]?{_WORD}(?:['"](?=[\s{_ENDS}]|$))?[{_ENDS}]*""")
_LABEL = re.compile(r"\s*(?:\S+ {2,})?")


def wrap(text: str, width: int) -> list[str]:
    """Break a text into lines of so many columns at most."""
    lines: list[str] = []
    for piece in _PIECE.findall(text):
        line = lines[-1] + piece if lines else ""
        if line and len(line) + len(re.findall(f"[{_WIDE}]", line)) <= width:
            lines[-1] = line
        else:
            lines.append(piece.lstrip())
    return lines


def hang(line: str, width: int) -> str:
    """Break a line so that what follows stands under its text, behind a label and two blanks where it has these."""
    begin = _LABEL.match(line)
    head = begin[0] if begin else ""
    margin = " " * (len(head) + 2 * (not head.strip()))
    return head + f"\n{margin}".join(wrap(line[len(head) :], width - len(margin)))


def fit(text: str) -> str:
    """Break the lines of a text for the terminal that it is printed to; elsewhere, as in a pipe, they stay whole."""
    if not is_terminal(sys.stdout):
        return text
    width = shutil.get_terminal_size().columns
    return "\n".join(hang(line, width) for line in text.split("\n"))
