"""What the command says of a push: a plan before it, what was done after it, in lines of 80 columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from quadrag.push import Change, Plan, Pushed

WIDTH = 80
_TOGETHER = 3  # so many files of one folder and ending are said as one
_INDENT = " " * 11


def lines(plan: Plan) -> list[str]:
    """Say what a push would change: whose token, then each repository with its files."""
    said = [f"{plan.org} on {plan.hub.endpoint}", *_wrapped("token", _right(plan))]
    for change in plan.changes:
        said += ["", *_change(plan, change)]
    due = [change for change in plan.changes if change.difference]
    made = sum(change.remote is None for change in due)
    files = sum(len(change.difference.sent) for change in due)
    total = size(sum(_size(change, change.difference.sent) for change in due))
    rest = len(plan.changes) - len(due)
    said += [
        "",
        f"{made} to create, {len(due) - made} to change, {rest} as they are to be; {files} files, {total} to send",
    ]
    return said


def done(pushed: Sequence[Pushed]) -> list[str]:
    """Say what a push did, a repository at a time."""
    said = []
    for one in pushed:
        what = "nothing to do"
        if one.commit is not None:
            parts = [f"{len(one.difference.sent)} files, {size(one.sent)}"]
            parts += [f"{len(one.difference.deleted)} deleted"] if one.difference.deleted else []
            what = f"{'created' if one.created else 'changed'}: {', '.join(parts)}, commit {one.commit[:7]}"
        said += [one.url, *_wrapped("", what, "  ")]
        if one.difference.kept:
            said += _wrapped("kept", f"{', '.join(one.difference.kept)} (not quadrag's)")
    return said


def size(count: int) -> str:
    """Say a number of bytes in three digits or so."""
    value, unit = float(count), "B"
    for larger in ("kB", "MB", "GB"):
        if value < 999.5:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"


def _right(plan: Plan) -> str:
    user, may, why = plan.access
    if may:
        return f"{user} may write there ({why})"
    return why if may is False else f"whether it may write there cannot be told: {why}"


def _change(plan: Plan, change: Change) -> list[str]:
    """Say what happens to one repository."""
    wanted, remote, difference = change
    state = "to create" if remote is None else "to change" if difference else "nothing to do"
    seen = "private" if (plan.private if remote is None else remote.private) else "public"
    if remote is not None and remote.private != plan.private:
        seen += ", which a push does not change"
    said = [f"{wanted.kind} {wanted.repo}: {state}"]
    said += _wrapped("", f"{seen}; licence {wanted.licence}; {wanted.content}", "  ")
    said += [line for note in wanted.notes for line in _wrapped("lacks", note)]
    other = set(difference.foreign)
    said += _files("add", change, difference.added)
    for what, paths in (("replace", difference.replaced), ("delete", difference.deleted)):
        said += _files(what, change, [path for path in paths if path not in other])
        said += _files(what, change, [path for path in paths if path in other], " (put or changed there by another)")
    if difference.kept:
        said += _wrapped("keep", f"{', '.join(difference.kept)} (not quadrag's)")
    if difference.left:
        count = len(difference.left)
        said += _wrapped("leave", f"{count} file{'s' * (count > 1)}, {size(_size(change, difference.left))}, as there")
    return said


def _files(what: str, change: Change, paths: Sequence[str], why: str = "") -> list[str]:
    """Name files with their sizes; several of one folder and ending together."""
    groups: dict[tuple[str, str], list[str]] = {}
    for path in paths:
        pure = PurePosixPath(path)
        # Files of the root are each their own: their names say what they are.
        key = (str(pure.parent), pure.suffix) if str(pure.parent) != "." else (path, "")
        groups.setdefault(key, []).append(path)
    parts = []
    for (folder, ending), group in groups.items():
        if len(group) >= _TOGETHER:
            parts.append(f"{folder}/*{ending} ({len(group)} files, {size(_size(change, group))})")
        else:
            parts += [f"{path} ({size(_size(change, [path]))})" for path in group]
    return _wrapped(what, ", ".join(parts) + why) if parts else []


def _size(change: Change, paths: Iterable[str]) -> int:
    there = change.remote.files if change.remote else {}
    return sum((change.wanted.files.get(path) or there[path]).size for path in paths)


def _wrapped(label: str, text: str, indent: str = _INDENT) -> list[str]:
    """Break a text into lines, the first with a label."""
    # What belongs together stays on one line: a name and its size.
    bound = re.sub(r" \((?:\d[^()]*|not quadrag's)\)", lambda found: found[0].replace(" ", "\0"), text)
    first = f"  {label:<{len(indent) - 2}}" if label else indent
    broken = textwrap.wrap(
        bound, WIDTH, initial_indent=first, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in broken]
