"""What the commands that ask models share: what their arguments say of a run, and how what they came to is printed."""

import argparse
import contextlib
import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from quadrag.commands.shared import options
from quadrag.errors import QuadragError, one_line
from quadrag.printing import write
from quadrag.reading import parse_json

SAMPLING = ("temperature", "top_p", "sampling_top_k", "repetition_penalty", "max_tokens", "stop", "seed")


def partial_spec(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the partial spec that the arguments of a command say, over that of the file that they name; no judges."""
    from quadrag.baselines.core.parts import SETTINGS
    from quadrag.baselines.core.spec import merge, read_spec

    given = {name: value for name, value in vars(arguments).items() if value is not None}

    def those_given(names: Sequence[str]) -> dict[str, Any]:
        return {name: given[name] for name in names if name in given}

    sampling = {name.removeprefix("sampling_"): value for name, value in those_given(SAMPLING).items()}
    if "rag" in given:
        names = {"rag": "rag", "rag_name": "name"}
    else:
        names = {"llm": "llm", "llm_name": "name", "api": "api", "template": "template"}
    system = {field: given[name] for name, field in names.items() if name in given}
    entity = {"llm": given.get("entity_llm"), "name": given.get("entity_name")}
    said: dict[str, Any] = {
        **those_given(("benchmark", "config", "split", "data_dir", "limit", "samples", "prompts", "retriever")),
        "options": read_options(given.get("option", ())),
        "retrieval": those_given(SETTINGS),
        "system": system | ({"sampling": sampling} if sampling else {}),
        "entity_model": {name: value for name, value in entity.items() if value is not None},
        "embed": given.get("bertscore"),
    }
    said = {name: value for name, value in said.items() if value not in (None, {})}
    return merge(read_spec(arguments.spec), said) if given.get("spec") else said


def add_judges(arguments: argparse.Namespace, partial: dict[str, Any], benchmark: str) -> dict[str, Any]:
    """Add the judges that the arguments name to what is said of a run on a benchmark."""
    from quadrag.baselines.runs.plan import plan_judges

    given = vars(arguments)
    judges = plan_judges(
        benchmark,
        given.get("judge") or (),
        given.get("judge_format"),
        given.get("judge_max_tokens"),
        given.get("judge_name") or (),
    )
    return {**partial, "judges": judges} if judges else partial


def read_options(pairs: Sequence[str]) -> dict[str, Any]:
    """Read NAME=VALUE pairs; numbers are read as numbers."""
    options: dict[str, Any] = {}
    for pair in pairs:
        name, mark, text = pair.partition("=")
        if not mark or not name:
            raise QuadragError(f"--option {pair!r} is not NAME=VALUE")
        try:
            options[name] = parse_json(text, pair)
        except QuadragError:
            options[name] = text
    return options


def call_policy(arguments: argparse.Namespace, estimate: Any = None) -> Any:
    """Return how models are called, of the arguments of a command; noted in an `Estimate`, none is."""
    from dataclasses import fields

    from quadrag.baselines.judges.certificate import read_certificates
    from quadrag.chat.policy import CallPolicy
    from quadrag.chat.prices import Budget, Prices
    from quadrag.trust import Trust

    given = {name: value for name, value in vars(arguments).items() if value is not None}
    names = {field.name for field in fields(CallPolicy)}
    said = {name: value for name, value in given.items() if name in names and name != "estimate"}
    said |= {
        "trust": Trust.read(given.get("trust_remote_code", ())),
        "certificates": [each.row for each in read_certificates(given.get("certificate") or ())],
        "profile": options.profiles(arguments)[0],
        "command": _without_secrets(arguments.typed),
    }
    if "prices" in given:
        said["prices"] = prices = Prices.load(given["prices"])
        said |= {"budget": Budget(given["budget"], prices.currency)} if "budget" in given else {}
    if "rag_timeout" in given:
        said["service_timeout"] = given["rag_timeout"]
    if estimate is not None:
        said |= {"max_failed": 1.0, "estimate": estimate}
    return CallPolicy(**said)


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
        [result for result in results if result.run.benchmark == name]
        for name in dict.fromkeys(result.run.benchmark for result in results)
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
    from quadrag.baselines.report.facts import describe_cost, describe_kept, tell_calls

    asked = [result for result in results if not result.reused] or results
    if told := tell_calls(results):
        tell(arguments, "", *told)
    if kept := describe_kept(results):
        tell(arguments, f"kept replies: {kept}")
    if cost := describe_cost(asked):
        before = " of the run" if len(results) == 1 else " of the runs finished before"
        tell(arguments, f"tokens{before if asked[0].reused else ''}: {cost}")


def _without_secrets(typed: Sequence[str]) -> list[str]:
    """Return the command as typed, less user names, passwords and queries in addresses."""
    words = (re.sub(r"(\w+://)[^/,\s]*@", r"\1", re.sub(r"\?[^#\s]*", "", word)) for word in typed)
    return ["quadrag", *words]
