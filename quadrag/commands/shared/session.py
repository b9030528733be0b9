"""What the commands that ask models share: what their arguments say of a run, and how what they came to is printed."""

import argparse
import contextlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from quadrag.errors import QuadragError, one_line
from quadrag.printing import say, wrap, write

from . import options

# Where in a spec an argument stands; those of the retrieval stand there under their own names.
_SPEC_PATHS = {
    **{
        name: (name,) for name in ("benchmark", "config", "split", "data_dir", "limit", "samples", "prompts", "context")
    },
    "retriever": ("retriever",),
    "bertscore": ("embed",),
    "entity_llm": ("entity_model", "llm"),
    "rag": ("system", "rag"),
    "llm": ("system", "llm"),
    "llm_name": ("system", "name"),
    **{name: ("system", "sampling", name) for name in ("temperature", "max_tokens", "seed")},
    **{name: ("retrieval", name) for name in ("tokenizer", "embedding", "index", "chunk_size", "top_k")},
}


def read_spec_file(arguments: argparse.Namespace) -> dict[str, Any]:
    from quadrag.spec import read_spec

    return read_spec(arguments.spec) if getattr(arguments, "spec", None) else {}


def partial_spec(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the partial spec that the arguments of a command say, over that of the file that they name."""
    from quadrag.spec import merge

    typed: dict[str, Any] = {"options": dict(arguments.option)} if arguments.option else {}
    for name, (*above, last) in _SPEC_PATHS.items():
        if (value := getattr(arguments, name, None)) is not None:
            part = typed
            for key in above:
                part = part.setdefault(key, {})
            part[last] = value
    from_file = {name: value for name, value in read_spec_file(arguments).items() if name != "calls"}
    return merge(from_file, typed)


def add_judges(arguments: argparse.Namespace, partial: dict[str, Any], benchmark: str) -> dict[str, Any]:
    """Return a partial spec with its judges as a run asks them: those that are named, else those of the file.

    What the file says of a judge, as its name or its sampling, holds for the one that is named in its place.
    """
    from quadrag.run.plan import plan_judges, refuse_idle
    from quadrag.spec import merge

    from_file = partial.get("judges", [])
    if not isinstance(from_file, list) or not all(isinstance(judge, dict) for judge in from_file):
        raise QuadragError(f"judges is {from_file!r:.80}; expected a list of mappings with llm, name, sampling")
    named = arguments.judge or [judge["llm"] for judge in from_file if "llm" in judge]
    if len(named) < len(from_file):
        raise QuadragError(
            f"the file speaks of {len(from_file)} judges, and {len(named)} have an address; name each by --judge"
        )
    refuse_idle(named, {"--judge-prompt": arguments.judge_prompt, "--judge-format": arguments.judge_format})
    judges = plan_judges(benchmark, named, arguments.judge_format, None)
    for place, judge in enumerate(from_file[: len(judges)]):
        judges[place] = {**merge(judges[place], judge), "llm": judges[place]["llm"]}
    if arguments.judge_prompt:
        judges = [{**judge, "prompt": arguments.judge_prompt} for judge in judges]
    return {**partial, "judges": judges} if judges else partial


def call_policy(arguments: argparse.Namespace) -> Any:
    """Return how models are called, of the arguments of a command; with --estimate calls are noted and none is made."""
    from dataclasses import fields

    from quadrag.chat.estimate import Estimate
    from quadrag.chat.policy import Budget, CallPolicy, Prices, read_calls
    from quadrag.parts import Trust
    from quadrag.results.certificates import read_certificates

    given = {name: value for name, value in vars(arguments).items() if value is not None}
    names = {field.name for field in fields(CallPolicy)} - {"estimate"}
    calls = read_calls(read_spec_file(arguments).get("calls", {}))
    calls |= {name: value for name, value in given.items() if name in names}
    calls |= {
        "trust": Trust.read(given.get("trust_remote_code", ())),
        "certificates": [certificate.row for certificate in read_certificates(given.get("certificate", ()))],
        "profile": options.profiles(arguments)[0],
        # Less user names, passwords and queries in addresses.
        "command": [
            "quadrag",
            *(re.sub(r"(\w+://)[^/,\s]*@", r"\1", re.sub(r"\?[^#\s]*", "", word)) for word in arguments.typed),
        ],
    }
    if "prices" in given:
        calls["prices"] = prices = Prices.load(given["prices"])
        calls |= {"budget": Budget(given["budget"], prices.currency)} if "budget" in given else {}
    if given.get("estimate"):
        calls |= {"max_failed": 1.0, "estimate": Estimate()}
    return CallPolicy(**calls)


@contextlib.contextmanager
def results_alone(json: bool) -> Iterator[IO[str]]:
    """Yield stdout; where the results are for a program, what else is printed meanwhile goes to stderr."""
    stdout = sys.stdout
    with contextlib.redirect_stdout(sys.stderr) if json else contextlib.nullcontext():
        yield stdout


def print_estimate(arguments: argparse.Namespace, policy: Any, stdout: IO[str]) -> None:
    from quadrag.records import dumps
    from quadrag.reporting import facts, text

    if arguments.json:
        write(dumps(facts.describe_estimate(policy.estimate)), file=stdout)
    else:
        currency = policy.prices.currency if policy.prices else None
        text.print_tables([facts.tabulate_estimate(policy.estimate, currency)], language=arguments.labels)


def show_results(
    arguments: argparse.Namespace,
    stdout: IO[str],
    groups: Sequence[Any],
    profiles: Sequence[str],
    folder: Path | None,
    page: Path | None,
    paper: bool = False,
) -> None:
    """Write the page of systems, a group of which are compared with each other, and print what they came to.

    The page comes first: whoever reads what is printed may close the pipe. With `paper` one run too stands in its
    paper's layout. JSON, which names the folder, goes to `stdout`; where it is of several benchmarks it is a list.
    """
    from quadrag.records import dumps
    from quadrag.reporting import facts, text
    from quadrag.reporting.page.page import write_page
    from quadrag.reporting.tables import tabulate

    systems = [system for group in groups for system in group]
    results = [result for _, parts in systems for result in parts]
    layout = {"profiles": profiles, "labels": arguments.labels, "paper": paper}
    if page:
        tables = [table for group in groups for table in tabulate(group, page=True, **layout)]
        write_page(page, systems, tables, arguments.labels)
    if any(result.reused for result in results):
        write(*facts.describe_kept(results))
    if not arguments.json:
        tables = [table for group in groups for table in tabulate(group, verbose=arguments.verbose, **layout)]
        text.print_tables(tables, verbose=arguments.verbose, language=arguments.labels)
        return
    by_benchmark: dict[str, list[Any]] = {}
    for result in results:
        by_benchmark.setdefault(result.record.benchmark, []).append(result)
    described = [facts.describe_results(part, profiles, folder) for part in by_benchmark.values()]
    write(dumps(described if len(described) > 1 else described[0]), file=stdout)


def close(
    arguments: argparse.Namespace, results: Sequence[Any], page: Path | None, left_out: Mapping[str, str] | None = None
) -> int:
    """Print which runs were not done, what the others took, and what stopped or failed; return the exit code.

    A program sees no table, and so reads here what is invalid; that a judge is dead a table says too.
    """
    from quadrag.reporting import messages

    print_left_out(left_out or {})
    print_spent([result.record.usage for result in results if not result.reused])
    if page:
        write("", page)
    records = [result.record for result in results]
    failures = [f"{place}: {why}" for record in records for place, why in record.failures.items()]
    unread = sum(record.failed_verdicts for record in records)
    stopped = [result.stopped for result in results if result.stopped]
    invalid = [line for record in records if not record.dead_judge for line in messages.say_invalid(record)]
    if stopped and (arguments.json or not any(record.dead_judge for record in records)):
        say(messages.say(stopped[0]))
    elif failures:
        write(f"answers that failed: {len(failures)}, first {one_line(failures[0])}; run again to ask again")
    elif unread:
        write(f"verdicts that failed: {unread}; run again to ask again")
    if invalid and arguments.json:
        say(invalid[0])
    return 2 if stopped else 3 if invalid else 0


def print_spent(usages: Sequence[Mapping[str, Any]]) -> None:
    from quadrag.reporting import facts

    spent = {"calls": facts.describe_calls(usages), "tokens": facts.describe_cost(usages)}
    if lines := [line for name, text in spent.items() if text for line in wrap(f"{name}: {text}", 80)]:
        write("", *lines)


def print_left_out(left_out: Mapping[str, str]) -> None:
    for name, why in left_out.items():
        write(f"{name}: not run, {one_line(why)}")
