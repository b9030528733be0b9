"""The last lines of a command: what failed, what may be typed next, and its exit code."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quadrag.commands.shared import options
from quadrag.commands.shared.session import shell_path, tell, tell_bad, tell_next
from quadrag.errors import one_line


def print_next(arguments: argparse.Namespace, folder: Path, results: Sequence[Any]) -> None:
    """Print the command that goes on from what finished runs came to; of scores that are none, that shows why.

    Where no answer is wrong there is none to show.
    """
    from quadrag.baselines.report.items.chosen import has_wrong
    from quadrag.baselines.report.items.scored import ScoredItems
    from quadrag.baselines.scoring.validity import has_unscored

    if any(result.stopped for result in results):
        return
    place, then = shell_path(folder), "--wrong"
    if invalid := [result for result in results if result.run.invalid]:
        place = shell_path(invalid[0].folder) if len(invalid) == 1 else place
        then = "--wrong" if invalid[0].run.unread_judge else "--unscored"
    elif len(results) == 1 and has_unscored(results[0].scores):
        then = "--unscored"
    elif len(results) == 1 and not has_wrong(ScoredItems(results[0]), options.profiles(arguments)[0]):
        return
    if hold_systems(folder, results):
        tell_next(arguments, f"quadrag report {place}/*")
        return
    # `report` compares runs of one benchmark.
    one = len(results) == 1 or invalid or len({result.run.inputs.benchmark for result in results}) > 1
    tell_next(
        arguments, f"quadrag {f'show {place} {then}{_name_ledger(arguments)}' if one else f'report {place} ANOTHER'}"
    )
    if then == "--wrong":
        print_failed(arguments, folder, results)


def hold_systems(folder: Path, results: Sequence[Any]) -> bool:
    """Whether the folders in a folder hold a system each, to be compared with each other."""
    models: dict[str, set[str]] = {}
    for result in results:
        if result.folder is None or folder not in result.folder.parents:
            return False
        models.setdefault(result.folder.relative_to(folder).parts[0], set()).add(result.run.inputs.llm)
    return (
        len(models) > 1 and len(set().union(*models.values())) > 1 and all(len(each) == 1 for each in models.values())
    )


def print_failed(arguments: argparse.Namespace, folder: Path, results: Sequence[Any]) -> None:
    """Print the command that shows what failed of a run, where a few items did."""
    if len(results) == 1 and results[0].run.partly:
        tell_next(arguments, f"quadrag show {shell_path(folder)} --unscored", "failed: ")


def print_next_of_several(arguments: argparse.Namespace, systems: Sequence[Sequence[Any]], profile: str) -> None:
    """Print the command that shows, under a profile, what became worse, or else better, between two systems' runs.

    It is from the first system to the second or, if that shows none, to the next: of the one task that shows any, or
    of the folders that hold several tasks.
    """
    from quadrag.baselines.core.result import own_profile
    from quadrag.baselines.report.compared.changes import offer_changes

    first, *others = systems
    for parts in others:
        alone = len(systems) == 2 and len(first) == len(parts) == 1
        pairs = [(one, other) for one in first for other in parts if alone or _same_task(one, other)]
        offers = [(*offer, *pair) for pair in pairs if (offer := offer_changes(*pair, profile))[0]]
        if offers:
            which, _, one, other = max(offers, key=lambda offer: (offer[0] == "--worse", offer[1]))
            named = "" if own_profile([one, other]) == profile else f" --profile {profile}"
            several = sum(offer[0] == which for offer in offers) > 1 and _lie_alike([offer[2:] for offer in offers])
            folders = " ".join(shell_path(each.folder.parent if several else each.folder) for each in (one, other))
            tell_next(arguments, f"quadrag show {folders} {which}{named}{_name_ledger(arguments)}")
            return


def _lie_alike(pairs: Sequence[Sequence[Any]]) -> bool:
    """Whether pairs of runs lie in two folders, each under one name in both."""
    names = all(one.folder.name == other.folder.name for one, other in pairs)
    parents = {(one.folder.parent, other.folder.parent) for one, other in pairs}
    return names and len(parents) == 1 and all(one != other for one, other in parents)


def _same_task(one: Any, other: Any) -> bool:
    first, second = one.run.inputs, other.run.inputs
    return bool((first.config, first.splits) == (second.config, second.splits))


def _name_ledger(arguments: argparse.Namespace) -> str:
    """Return the option that names the ledger where this command was given one: replies are shown from there."""
    return f" --ledger {shell_path(arguments.ledger)}" if arguments.ledger else ""


def report_failures(arguments: argparse.Namespace, results: Sequence[tuple[Path, Any]], grids: Sequence[Any]) -> int:
    """Say what failed and what stopped, and of what is invalid what no printed table says; return the exit code."""
    failures = [failure for _, result in results for failure in result.run.failures.items()]
    stopped = [result.stopped for _, result in results if result.stopped]
    if failures and not stopped:
        place, why = failures[0]
        first = one_line(f"{place}: {why}")
        tell(arguments, f"{_tell_failed(len(failures), 'answer')} (first, {first}); run again to ask again")
    verdicts = sum(result.run.failed_verdicts for _, result in results)
    if verdicts and not stopped:
        tell(arguments, f"{_tell_failed(verdicts, 'verdict')}; run again to ask again")
    if kinds := _kinds_to_retry([result for _, result in results]):
        tell(arguments, f"Replies are {', '.join(kinds)}; --retry {','.join(kinds)} asks again")
    runs = [result.run for _, result in results]
    invalid = [(run.inputs.llm, line) for run in runs if not run.dead_judge for line in run.invalid]
    said = [note for grid in grids for note in grid.notes] if arguments.format == "table" else []
    # Where a table says it of several tasks at once, numbers and names are others.
    heard = [note for note in said if "INVALID" in note]
    if stopped and not any(stopped[0] in note for note in heard):
        tell_bad(stopped[0])
    if unsaid := [one for one in invalid if not any(one[1].rpartition(": ")[2] in note for note in heard)]:
        model, line = unsaid[0]
        whose = f"{model}: " if len({run.inputs.llm for run in runs}) > 1 else ""
        more = f" (and {len(unsaid) - 1} more)" if len(unsaid) > 1 else ""
        tell_bad(f"{whose}INVALID, {line}{more}")
    return 2 if stopped else 3 if invalid else 0


def _tell_failed(count: int, what: str) -> str:
    return f"1 {what} failed and is unscored" if count == 1 else f"{count} {what}s failed and are unscored"


def _kinds_to_retry(results: Sequence[Any]) -> list[str]:
    """Name the kinds of kept replies that may go better another time, less what lines on invalid metrics name."""

    def find(result: Any) -> set[str]:
        run = result.run
        rows = result.scores if run.inputs.judge is not None else ()
        reasons = {reason for row in rows for reason in row.get("unscored") or ()}
        there = {
            "unreadable": "unparsable" in reasons,
            "cut": "truncated" in reasons or run.count_short("cut"),
            "empty": "llm" in run.usage and run.count_short("empty"),
        }
        told = " ".join(run.invalid)
        return {kind for kind, is_there in there.items() if is_there and f"--retry {kind}" not in told}

    found = set[str]().union(*map(find, results))
    return [kind for kind in ("unreadable", "cut", "empty") if kind in found]
