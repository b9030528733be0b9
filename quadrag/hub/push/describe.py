"""What the command says of a push: a plan before it, what was done after it, in lines of 80 columns."""

import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from quadrag.hub.push.plan import Change, Plan
from quadrag.hub.push.send import PushedRepository

WIDTH = 80
_TOGETHER = 3  # so many files of one folder and ending are named as one
_INDENT = " " * 11


def describe_plan(plan: Plan) -> list[str]:
    """Say what a push would change: whose token, then each repository with its files."""
    lines = [f"{plan.org} on {plan.hub.endpoint}", *_wrap("token", _describe_access(plan))]
    for change in plan.changes:
        lines += ["", *_describe_change(plan, change)]
    due = [change for change in plan.changes if change.difference]
    made = sum(change.remote is None for change in due)
    files = sum(len(change.difference.sent) for change in due)
    total = show_size(sum(_add_sizes(change, change.difference.sent) for change in due))
    rest = len(plan.changes) - len(due)
    lines += [
        "",
        f"{made} to create, {len(due) - made} to change, {rest} as they are to be; {files} files, {total} to send",
    ]
    return lines


def describe_pushed(pushed: Sequence[PushedRepository]) -> list[str]:
    """Say what a push did, a repository at a time."""
    lines = []
    for one in pushed:
        what = "nothing to do"
        if one.commit is not None:
            parts = [f"{len(one.difference.sent)} files, {show_size(one.sent)}"]
            parts += [f"{len(one.difference.deleted)} deleted"] if one.difference.deleted else []
            what = f"{'created' if one.created else 'changed'}: {', '.join(parts)}, commit {one.commit[:7]}"
        lines += [one.url, *_wrap("", what, "  ")]
        if one.difference.kept:
            lines += _wrap("kept", f"{', '.join(one.difference.kept)} (not quadrag's)")
    return lines


def show_size(count: int) -> str:
    """Say a number of bytes in three digits or so."""
    value, unit = float(count), "B"
    for larger in ("kB", "MB", "GB"):
        if value < 999.5:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"


def _describe_access(plan: Plan) -> str:
    user, may, why = plan.access
    if may:
        return f"{user} may write there ({why})"
    return why if may is False else f"whether it may write there cannot be told: {why}"


def _describe_change(plan: Plan, change: Change) -> list[str]:
    """Say what happens to one repository."""
    wanted, remote, difference = change
    state = "to create" if remote is None else "to change" if difference else "nothing to do"
    seen = "private" if (plan.private if remote is None else remote.private) else "public"
    if remote is not None and remote.private != plan.private:
        seen += ", which a push does not change"
    lines = [f"{wanted.kind} {wanted.repo}: {state}"]
    lines += _wrap("", f"{seen}; licence {wanted.licence}; {wanted.content}", "  ")
    lines += [line for note in wanted.notes for line in _wrap("lacks", note)]
    lines += _name_files("add", change, difference.added)
    for what, paths in (("replace", difference.replaced), ("delete", difference.deleted)):
        ours, foreign = ([path for path in paths if (path in difference.foreign) is other] for other in (False, True))
        lines += _name_files(what, change, ours)
        lines += _name_files(what, change, foreign, " (put or changed there by another)")
    if difference.kept:
        lines += _wrap("keep", f"{', '.join(difference.kept)} (not quadrag's)")
    if difference.left:
        count, size = len(difference.left), show_size(_add_sizes(change, difference.left))
        lines += _wrap("leave", f"{count} file{'s' * (count > 1)}, {size}, as there")
    return lines


def _name_files(what: str, change: Change, paths: Sequence[str], why: str = "") -> list[str]:
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
            parts.append(f"{folder}/*{ending} ({len(group)} files, {show_size(_add_sizes(change, group))})")
        else:
            parts += [f"{path} ({show_size(_add_sizes(change, [path]))})" for path in group]
    return _wrap(what, ", ".join(parts) + why) if parts else []


def _add_sizes(change: Change, paths: Iterable[str]) -> int:
    there = change.remote.files if change.remote else {}
    return sum((change.wanted.files.get(path) or there[path]).size for path in paths)


def _wrap(label: str, text: str, indent: str = _INDENT) -> list[str]:
    """Break a text into lines, the first with a label."""
    # What belongs together stays on one line: a name and its size.
    bound = re.sub(r" \((?:\d[^()]*|not quadrag's)\)", lambda found: found[0].replace(" ", "\0"), text)
    first = f"  {label:<{len(indent) - 2}}" if label else indent
    broken = textwrap.wrap(
        bound, WIDTH, initial_indent=first, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in broken]
