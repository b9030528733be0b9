"""What the commands that ask models share: requests made of the arguments, and how such a command ends."""

import argparse
import contextlib
import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any

from quadrag.commands.shared import options
from quadrag.errors import one_line
from quadrag.labels import usual_labels
from quadrag.progress import spell

_WIDTH = 80  # columns of a usual terminal
_SAMPLING = ("temperature", "top_p", "sampling_top_k", "repetition_penalty", "max_tokens", "stop", "seed")


def run_request(arguments: argparse.Namespace) -> Any:
    """Make the request of what is run, or scored, of the arguments of a command."""
    from quadrag.baselines.core.settings import SETTINGS
    from quadrag.baselines.runs.request import RunRequest, Service, read_options
    from quadrag.trust import Trust

    given = vars(arguments)

    def those_given(names: Sequence[str]) -> dict[str, Any]:
        return {name: given[name] for name in names if given.get(name) is not None}

    service = None
    if given.get("rag"):
        service = Service(arguments.rag, arguments.rag_name, arguments.rag_body, arguments.rag_timeout)
    return RunRequest(
        benchmark=given.get("benchmark"),
        config=given.get("config"),
        split=given.get("split"),
        data_dir=given.get("data_dir"),
        options=read_options(given.get("option", ())),
        limit=given.get("limit"),
        samples=given.get("samples", 1),
        prompts=given.get("prompts"),
        retriever=given.get("retriever"),
        retrieval=those_given(SETTINGS),
        llm=given.get("llm"),
        entity_llm=given.get("entity_llm"),
        service=service,
        sampling=those_given(_SAMPLING),
        api=given.get("api"),
        template=given.get("template"),
        all_configs=given.get("all", False),
        original=given.get("original", False),
        recipe=given.get("recipe"),
        trust=Trust.read(given.get("trust_remote_code", ())),
    )


def call_request(arguments: argparse.Namespace, estimate: Any = None) -> Any:
    """Make the request of how models are called, of the arguments of a command; noted in an `Estimate`, none is."""
    from dataclasses import fields

    from quadrag.baselines.certify.certificate import read_certificates
    from quadrag.baselines.runs.request import CallRequest, Kept
    from quadrag.chat.calling import Alias, Calling
    from quadrag.run_record import MOST_FAILED

    given = vars(arguments)
    certificates = read_certificates(given.get("certificate") or ())
    # Ledger, prices and budget are opened where all is known to be of use; trust is of the run.
    names = {field.name for field in fields(Calling)} - {"ledger", "prices", "budget", "estimate"}
    called = {name: given[name] for name in names if given.get(name) is not None}
    return CallRequest(
        judges=given.get("judge", ()),
        judge_large=given.get("judge_large"),
        cascades=[one.cascade for one in certificates if one.cascade],
        certificates=[one.row for one in certificates],
        judge_format=given.get("judge_format"),
        judge_max_tokens=given.get("judge_max_tokens"),
        bertscore=given.get("bertscore"),
        calling=Calling(**called, alias=Alias(given.get("service"), given.get("served_as")), estimate=estimate),
        prices=arguments.prices,
        budget=arguments.budget,
        ledger=arguments.ledger,
        kept=Kept(arguments.reuse_unnamed, arguments.fresh, arguments.retry),
        judge_aliases=[
            Alias(service, served_as, "judge-")
            for service, served_as in zip_longest(given.get("judge_service", ()), given.get("judge_served_as", ()))
        ],
        entity_alias=Alias(given.get("entity_service"), given.get("entity_served_as"), "entity-"),
        profile=options.profiles(arguments)[0],
        max_failed=1.0 if estimate else MOST_FAILED if given.get("max_failed") is None else given["max_failed"],
        command=_without_secrets(arguments.typed),
    )


@contextlib.contextmanager
def results_alone(form: str) -> Iterator[IO[str]]:
    """Yield stdout; where the results are for a program, what else is printed meanwhile goes to stderr."""
    stdout = sys.stdout
    with contextlib.nullcontext() if form == "table" else contextlib.redirect_stdout(sys.stderr):
        yield stdout


def print_results(
    arguments: argparse.Namespace, stdout: IO[str], folder: Path | None, results: Sequence[Any], grids: Sequence[Any]
) -> None:
    """Print what runs came to in the form that was asked for; as JSON those of several benchmarks are a list."""
    from quadrag.baselines.report.plain import describe_results, list_lines, list_warnings
    from quadrag.baselines.tables.draw import print_grids
    from quadrag.baselines.tables.language import speak_grids
    from quadrag.records import dumps

    profiles = options.profiles(arguments)
    if arguments.format == "table":
        print_grids(speak_grids(grids, arguments.labels), verbose=arguments.verbose)
    elif arguments.format == "json":
        groups = [
            [result for result in results if result.run.inputs.benchmark == name]
            for name in dict.fromkeys(result.run.inputs.benchmark for result in results)
        ]
        described = [describe_results(group, profiles, folder) for group in groups]
        print(dumps(described if len(described) > 1 else described[0]), file=stdout)
    else:
        print("\n".join(list_lines(results, profiles[0])), file=stdout)
        for line in list_warnings(results, profiles[0]):
            tell(arguments, one_line(line), to=sys.stderr)


def tell(arguments: argparse.Namespace, *lines: str, to: IO[str] | None = None) -> None:
    """Print lines in the language of the labels, on stdout if no other stream is named."""
    from quadrag.baselines.tables.language import speak

    for line in lines:
        print(speak(line, arguments.labels), file=to, flush=True)


def tell_next(arguments: argparse.Namespace, command: str, head: str = "next: ") -> None:
    """Print a command that may follow, which speaks the language of this one; a long one has a line of its own."""
    labels = "" if arguments.labels == usual_labels() else f" --labels {arguments.labels}"
    line = f"{head}{command}{labels}"
    tell(arguments, *([line] if len(line) <= _WIDTH or not head.strip() else [head.rstrip(), f"  {command}{labels}"]))


def shell_path(folder: object) -> str:
    """Name a folder in a command, as shortly as it is found from here."""
    return shlex.quote(min(str(folder), os.path.relpath(str(folder)), key=len))


def tell_bad(line: str) -> None:
    """Print what is wrong as one line on stderr."""
    print(f"quadrag: {spell(one_line(line))}", file=sys.stderr)


def print_calls(arguments: argparse.Namespace, results: Sequence[Any]) -> None:
    """Print how many calls were made and what they cost, of which stage if asked, and whose kept replies were used."""
    from quadrag.baselines.report.facts import describe_kept, tell_calls
    from quadrag.baselines.report.spent import describe_cost, tabulate_cost
    from quadrag.baselines.tables.draw import print_grids
    from quadrag.baselines.tables.language import speak_grids

    asked = [result for result in results if not result.reused] or results
    if told := tell_calls(results):
        tell(arguments, "", *told)
    if kept := describe_kept(results):
        tell(arguments, f"kept replies: {kept}")
    if cost := describe_cost(asked):
        before = " of the run" if len(results) == 1 else " of the runs finished before"
        tell(arguments, f"tokens{before if asked[0].reused else ''}: {cost}")
        print_grids(speak_grids([tabulate_cost(asked)] if arguments.verbose else [], arguments.labels))


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
    judged = [result for result in results if result.run.inputs.judge is not None]
    reasons = {reason for result in judged for row in result.scores for reason in row.get("unscored") or ()}
    found = {
        "unreadable": "unparsable" in reasons,
        "cut": "truncated" in reasons or any(result.run.count_short("cut") for result in results),
        "empty": any(result.run.count_short("empty") for result in results if "llm" in result.run.usage),
    }
    told = " ".join(line for result in results for line in result.run.invalid)
    return [kind for kind, there in found.items() if there and f"--retry {kind}" not in told]


def _without_secrets(typed: Sequence[str]) -> list[str]:
    """Return the command as typed, less user names, passwords and queries in addresses."""
    words = (re.sub(r"(\w+://)[^/,\s]*@", r"\1", re.sub(r"\?[^#\s]*", "", word)) for word in typed)
    return ["quadrag", *words]
