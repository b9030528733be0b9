"""What the commands that ask models share: requests made of the arguments, and how what they came to is printed."""

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
from quadrag.printing import write

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

    from quadrag.baselines.judges.certificate import read_certificates
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
        certificates=[one.row for one in certificates],
        judge_format=given.get("judge_format"),
        judge_max_tokens=given.get("judge_max_tokens"),
        bertscore=given.get("bertscore"),
        calling=Calling(**called, alias=Alias(given.get("service"), given.get("served_as")), estimate=estimate),
        prices=arguments.prices,
        budget=arguments.budget,
        ledger=arguments.ledger,
        kept=Kept(arguments.fresh, arguments.retry),
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
def results_alone(json: bool) -> Iterator[IO[str]]:
    """Yield stdout; where the results are for a program, what else is printed meanwhile goes to stderr."""
    stdout = sys.stdout
    with contextlib.redirect_stdout(sys.stderr) if json else contextlib.nullcontext():
        yield stdout


def print_results(
    arguments: argparse.Namespace, stdout: IO[str], folder: Path | None, results: Sequence[Any], grids: Sequence[Any]
) -> None:
    """Print what runs came to as tables or as JSON, where those of several benchmarks are a list."""
    from quadrag.baselines.report.plain import describe_results
    from quadrag.records import dumps

    if not arguments.json:
        print_tables(arguments, grids, verbose=arguments.verbose)
        return
    groups = [
        [result for result in results if result.run.inputs.benchmark == name]
        for name in dict.fromkeys(result.run.inputs.benchmark for result in results)
    ]
    described = [describe_results(group, options.profiles(arguments), folder) for group in groups]
    write(dumps(described if len(described) > 1 else described[0]), file=stdout)


def print_tables(
    arguments: argparse.Namespace, grids: Sequence[Any], verbose: bool = False, file: IO[str] | None = None
) -> None:
    """Print tables in the language of the labels."""
    from quadrag.baselines.tables.draw import print_grids
    from quadrag.baselines.tables.language import speak_grids

    print_grids(speak_grids(grids, arguments.labels), verbose=verbose, file=file)


def tell(arguments: argparse.Namespace, *lines: str) -> None:
    """Print what is said of results, in the language of the labels."""
    from quadrag.baselines.tables.language import speak

    for line in lines:
        write(speak(line, arguments.labels))


def shell_path(folder: object) -> str:
    """Name a folder in a command, as shortly as it is found from here."""
    return shlex.quote(min(str(folder), os.path.relpath(str(folder)), key=len))


def tell_bad(line: str) -> None:
    """Print what is wrong as one line on stderr."""
    write(f"quadrag: {one_line(line)}", file=sys.stderr)


def print_calls(arguments: argparse.Namespace, results: Sequence[Any]) -> None:
    """Print how many calls were made and what they cost, of which stage if asked, and whose kept replies were used."""
    from quadrag.baselines.report.facts import describe_kept, tell_calls
    from quadrag.baselines.report.spent import describe_cost, tabulate_cost

    asked = [result for result in results if not result.reused] or results
    if told := tell_calls(results):
        tell(arguments, "", *told)
    if kept := describe_kept(results):
        tell(arguments, f"kept replies: {kept}")
    if cost := describe_cost(asked):
        before = " of the run" if len(results) == 1 else " of the runs finished before"
        tell(arguments, f"tokens{before if asked[0].reused else ''}: {cost}")
        if arguments.verbose:
            print_tables(arguments, [tabulate_cost(asked)])


def _without_secrets(typed: Sequence[str]) -> list[str]:
    """Return the command as typed, less user names, passwords and queries in addresses."""
    words = (re.sub(r"(\w+://)[^/,\s]*@", r"\1", re.sub(r"\?[^#\s]*", "", word)) for word in typed)
    return ["quadrag", *words]
