"""The parser of the whole command line, put together from the commands; what each takes stands in its own file."""

import argparse
import difflib
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from quadrag import commands
from quadrag.gone import instead
from quadrag.printing import wrap, write

_EXAMPLES = (
    "quadrag demo",
    "quadrag prepare rgb --data-dir RGB",
    "quadrag run rgb noise_robustness_en --llm http://127.0.0.1:8080/v1",
    "quadrag run rgb --all --llm http://127.0.0.1:8080/v1 --judge http://HOST/v1",
    "quadrag run crud_rag summary --data-dir CRUD_RAG --retriever bm25",
    "quadrag score mine.jsonl --benchmark rgb --config negative_rejection_en",
    "quadrag report runs/a runs/b --html compare.html",
)
_MEANT = {
    **dict.fromkeys(("compare", "diff"), "report"),
    **dict.fromkeys(("evaluate", "eval"), "run"),
    "download": "prepare",
    "ls": "list",
    "--model": "--llm",
    "--batch-size": "--concurrency",
    "--num-samples": "--limit",
}


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrap(text, width)  # a name with hyphens stays whole

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        """Name in the first line what must be typed alone: the options stand below."""
        super().add_usage(usage, [each for each in actions if each.required or not each.option_strings], [], prefix)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, like every other error here."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**{"formatter_class": _Formatter, **more})

    def _print_message(self, message: str, file: Any = None) -> None:
        write(message, file=file or sys.stderr, end="")

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"quadrag: {message}; see {self.prog} --help\n")


def parse(version: str, argv: Sequence[str]) -> argparse.Namespace:
    """Read the arguments; none at all are answered with the help, a mistyped option with its command's nearest ones."""
    first = next(iter(argv), "-")
    parser = build_parser(version, first)
    if not first.startswith("-") and first not in commands.NAMES:
        if remedy := instead(first):
            parser.error(f"{first} is gone; {remedy}")
        near = [_MEANT[first]] if first in _MEANT else difflib.get_close_matches(first, commands.NAMES)
        meant = f"perhaps {' or '.join(near)}" if near else f"expected one of {', '.join(commands.NAMES)}"
        parser.error(f"no command {first!r}; {meant}")
    arguments, extra = parser.parse_known_args(argv)
    if arguments.command is None and not extra:
        parser.print_help()
        parser.exit()
    if extra:
        command = parser
        while chosen := _chosen(command, arguments):
            command = chosen
        if remedy := instead(extra[0].split("=")[0]):
            command.error(f"{extra[0]} is gone; {remedy}")
        near = _find_near(command, extra[0])
        command.error(f"unknown argument {extra[0]!r}" + f"; nearest: {', '.join(near)}" * bool(near))
    return arguments


def _find_near(parser: argparse.ArgumentParser, typed: str) -> list[str]:
    known = [name for action in parser._actions for name in action.option_strings if name.startswith("--")]
    name = typed.split("=")[0]
    if by_place := [action.metavar for action in parser._actions if f"--{action.dest}" == name]:
        return [f"{by_place[0]}, without {name}"]
    if not name.startswith("-"):  # a number, or the name of a part
        meant = f"--limit {name}" if name.isdecimal() else f"--split {name}"
        return [meant] if meant.split()[0] in known else []
    return [_MEANT[name]] if _MEANT.get(name) in known else difflib.get_close_matches(name, known, n=2, cutoff=0.7)


def _chosen(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> argparse.ArgumentParser | None:
    """Return the parser of the command, or of a command's own command, that was named; None where there is none."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices.get(str(getattr(arguments, action.dest, None)))
    return None


def build_parser(version: str, typed: str | None = None) -> argparse.ArgumentParser:
    """Build the parser of the command line; the command's name is left in `command`.

    Where it is known which command was typed, the others have their names and no arguments.
    """
    parser = _Parser(
        prog="quadrag",
        description="Four published RAG benchmarks with their own metrics, error bars included.",
        epilog=_examples(_EXAMPLES),
    )
    parser.add_argument("--version", action="version", version=f"quadrag {version}")
    added = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name in commands.NAMES:
        command = commands.load(name)
        first, _, about = command.__doc__.strip().partition("\n")
        one = added.add_parser(
            name,
            help=first[0].lower() + first[1:].removesuffix("."),
            description=f"{first}\n{about}".rstrip(),
            epilog=_examples(command.EXAMPLES),
        )
        if typed in (None, name):
            command.add_arguments(one)
    return parser


def _examples(lines: Sequence[str]) -> str:
    return "\n  ".join(("examples:" if len(lines) > 1 else "example:", *lines))
