"""What the commands that ask models share: what their arguments say of a run, and how what they came to is printed."""

import argparse
import contextlib
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from quadrag.errors import QuadragError, one_line
from quadrag.printing import say, wrap, write

from . import options

# Where in a spec an argument stands; those of the retrieval stand there under their own names.
_PLACES = {
    **{name: (name,) for name in ("benchmark", "config", "split", "data_dir", "limit", "samples", "prompts")},
    "retriever": ("retriever",),
    "bertscore": ("embed",),
    "entity_llm": ("entity_model", "llm"),
    "rag": ("system", "rag"),
    "llm": ("system", "llm"),
    "llm_name": ("system", "name"),
    **{name: ("system", "sampling", name) for name in ("temperature", "max_tokens", "seed")},
    **{name: ("retrieval", name) for name in ("tokenizer", "embedding", "index", "chunk_size", "top_k")},
}


def read_file(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what the file of --spec says; nothing where there is none."""
    from quadrag.spec import read_spec

    return read_spec(arguments.spec) if getattr(arguments, "spec", None) else {}


def partial_spec(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the partial spec that the arguments of a command say, over that of the file that they name."""
    from quadrag.spec import merge

    said: dict[str, Any] = {"options": dict(arguments.option)} if arguments.option else {}
    for name, (*above, last) in _PLACES.items():
        if (value := getattr(arguments, name, None)) is not None:
            part = said
            for key in above:
                part = part.setdefault(key, {})
            part[last] = value
    below = {name: value for name, value in read_file(arguments).items() if name != "calls"}
    return merge(below, said)


def add_judges(arguments: argparse.Namespace, partial: dict[str, Any], benchmark: str) -> dict[str, Any]:
    """Return a partial spec with its judges as a run asks them: those that are named, else those of the file.

    What the file says of a judge, as its name or its sampling, holds for the one that is named in its place.
    """
    from quadrag.run.plan import plan_judges
    from quadrag.spec import merge

    below = partial.get("judges", [])
    if not isinstance(below, list) or not all(isinstance(judge, dict) for judge in below):
        raise QuadragError(f"judges is {below!r:.80}; expected a list of mappings with llm, name, sampling")
    named = arguments.judge or [judge["llm"] for judge in below if "llm" in judge]
    if len(named) < len(below):
        raise QuadragError(
            f"the file speaks of {len(below)} judges, and {len(named)} have an address; name each by --judge"
        )
    judges = plan_judges(benchmark, named, arguments.judge_format, None)
    for place, said in enumerate(below[: len(judges)]):
        judges[place] = {**merge(judges[place], said), "llm": judges[place]["llm"]}
    return {**partial, "judges": judges} if judges else partial


def call_policy(arguments: argparse.Namespace, estimate: Any = None) -> Any:
    """Return how models are called, of the arguments of a command; noted in an `Estimate`, none is."""
    from dataclasses import fields

    from quadrag.chat.policy import Budget, CallPolicy, Prices, read_calls
    from quadrag.parts import Trust
    from quadrag.results.certificates import read_certificates

    given = {name: value for name, value in vars(arguments).items() if value is not None}
    names = {field.name for field in fields(CallPolicy)} - {"estimate"}
    said = read_calls(read_file(arguments).get("calls", {}))
    said |= {name: value for name, value in given.items() if name in names}
    said |= {
        "trust": Trust.read(arguments.trust_remote_code),
        "certificates": [each.row for each in read_certificates(given.get("certificate", ()))],
        "profile": options.profiles(arguments)[0],
        # Less user names, passwords and queries in addresses.
        "command": [
            "quadrag",
            *(re.sub(r"(\w+://)[^/,\s]*@", r"\1", re.sub(r"\?[^#\s]*", "", word)) for word in arguments.typed),
        ],
    }
    if "prices" in given:
        said["prices"] = prices = Prices.load(given["prices"])
        said |= {"budget": Budget(given["budget"], prices.currency)} if "budget" in given else {}
    if estimate is not None:
        said |= {"max_failed": 1.0, "estimate": estimate}
    return CallPolicy(**said)


@contextlib.contextmanager
def results_alone(json: bool) -> Iterator[IO[str]]:
    """Yield stdout; where the results are for a program, what else is printed meanwhile goes to stderr."""
    stdout = sys.stdout
    with contextlib.redirect_stdout(sys.stderr) if json else contextlib.nullcontext():
        yield stdout


def print_json(arguments: argparse.Namespace, stdout: IO[str], results: Sequence[Any], folder: Path | None) -> None:
    """Print what runs came to as JSON, where those of several benchmarks are a list."""
    from quadrag.records import dumps
    from quadrag.reporting.facts import describe_results

    groups: dict[str, list[Any]] = {}
    for result in results:
        groups.setdefault(result.record.benchmark, []).append(result)
    described = [describe_results(group, options.profiles(arguments), folder) for group in groups.values()]
    write(dumps(described if len(described) > 1 else described[0]), file=stdout)


def print_tables(
    arguments: argparse.Namespace, tables: Sequence[Any], verbose: bool = False, file: IO[str] | None = None
) -> None:
    """Print tables in the language of the labels."""
    from quadrag.reporting.text import print_tables

    print_tables(tables, file, verbose, arguments.labels)


def start_estimate(arguments: argparse.Namespace) -> Any:
    """Return an empty `Estimate`, in which calls are noted in place of being made; None where none is asked for."""
    from quadrag.chat.estimate import Estimate

    return Estimate() if arguments.estimate else None


def print_estimate(arguments: argparse.Namespace, estimate: Any, stdout: IO[str]) -> None:
    """Print what was noted."""
    from quadrag.chat.policy import Prices
    from quadrag.records import dumps
    from quadrag.reporting.facts import describe_estimate, tabulate_estimate

    if arguments.json:
        write(dumps(describe_estimate(estimate)), file=stdout)
    else:
        currency = Prices.load(arguments.prices).currency if arguments.prices else None
        print_tables(arguments, [tabulate_estimate(estimate, currency)], file=stdout)


def show_results(
    arguments: argparse.Namespace,
    stdout: IO[str],
    groups: Sequence[Any],
    out: Path | None,
    profiles: Sequence[str],
    paper: bool = False,
    left_out: Mapping[str, str] | None = None,
) -> int:
    """Write the page of runs, print what they came to, what stopped or failed and what may be typed next.

    Args:
        arguments: of the command.
        stdout: where JSON goes.
        groups: systems that are compared with each other, a group each.
        out: where the page is written; nowhere when None.
        profiles: those shown.
        paper: whether one run too stands in its paper's layout.
        left_out: runs that were not done, and why.

    Returns:
        The exit code.
    """
    from quadrag.reporting.facts import describe_calls, describe_cost, describe_kept
    from quadrag.reporting.page.page import write_page
    from quadrag.reporting.tables import tabulate

    systems = [system for group in groups for system in group]
    results = [result for _, parts in systems for result in parts]
    more = {"profiles": profiles, "labels": arguments.labels, "paper": paper}
    page = out / "report.html" if out else None
    if page:
        tables = [table for group in groups for table in tabulate(group, page=True, **more)]
        write_page(page, systems, tables, arguments.labels)
    if any(result.reused for result in results):
        write(*describe_kept(results))
    if arguments.json:
        print_json(arguments, stdout, results, out)
    else:
        tables = [table for group in groups for table in tabulate(group, verbose=arguments.verbose, **more)]
        print_tables(arguments, tables, verbose=arguments.verbose)
    print_left_out(left_out or {})
    asked = [result for result in results if not result.reused]
    spent = {"calls": describe_calls(asked), "tokens": describe_cost(asked)}
    if lines := [line for name, text in spent.items() if text for line in wrap(f"{name}: {text}", 80)]:
        write("", *lines)
    if page:
        write("", page)
    return _close(arguments, results)


def print_left_out(left_out: Mapping[str, str]) -> None:
    """Print which runs were not done, and why."""
    for name, why in left_out.items():
        write(f"{name}: not run, {one_line(why)}")


def _close(arguments: argparse.Namespace, results: Sequence[Any]) -> int:
    """Print what stopped or failed and what may be typed next; return the exit code.

    A program sees no table, and so reads here what is invalid; that a judge is dead a table says too.
    """
    from quadrag.reporting.messages import say as say_note
    from quadrag.reporting.messages import say_invalid

    failures = [f"{place}: {why}" for result in results for place, why in result.record.failures.items()]
    unread = sum(result.record.failed_verdicts for result in results)
    stopped = [result.stopped for result in results if result.stopped]
    invalid = [line for result in results if not result.record.dead_judge for line in say_invalid(result.record)]
    if stopped and (arguments.json or not any(result.record.dead_judge for result in results)):
        say(say_note(stopped[0]))
    elif failures:
        write(f"answers that failed: {len(failures)}, first {one_line(failures[0])}; run again to ask again")
    elif unread:
        write(f"verdicts that failed: {unread}; run again to ask again")
    if invalid and arguments.json:
        say(invalid[0])
    if len(results) == 1 and results[0].folder and not stopped:
        write(f"next: quadrag show {shlex.quote(str(results[0].folder))} --wrong")
    return 2 if stopped else 3 if invalid else 0
