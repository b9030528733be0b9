"""The parser of the whole command line, put together from the commands; what each takes stands in its own file."""

import argparse
import difflib
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from quadrag import commands
from quadrag.commands.shared import options
from quadrag.gone import instead
from quadrag.labels import usual_labels
from quadrag.printing import write
from quadrag.progress import spell
from quadrag.wrapping import wrap

_EXAMPLES = (
    "quadrag demo",
    "quadrag prepare rgb --data-dir RGB",
    "quadrag run rgb noise_robustness_en --llm http://127.0.0.1:8080/v1",
    "quadrag run rgb --all --llm http://127.0.0.1:8080/v1 --judge http://HOST/v1",
    "quadrag run crud_rag summary --data-dir CRUD_RAG --retriever bm25",
    "quadrag score mine.jsonl --benchmark rgb --config negative_rejection_en",
    "quadrag report runs/a runs/b --html compare.html",
)
_WIDTH = 80
_LABELS = "of messages and help"
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
    """Lays a help text out in the language that is in use."""

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, spell("usage: ") if prefix is None else prefix)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrap(text, width)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, like every other error here, and whose help is in the language in use."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**{"formatter_class": _Formatter, **more})

    def format_help(self) -> str:
        if _say("options") == "options":
            return super().format_help()
        for action in self._actions:
            action.help = action.help and _say(action.help)
            for one in action._choices_actions if isinstance(action, argparse._SubParsersAction) else ():
                one.help = one.help and _say(f"{one.help[0].upper()}{one.help[1:]}.").removesuffix("。")
        for group in self._action_groups:
            group.title = group.title and _say(group.title)
        paragraphs = (self.description or "").split("\n\n")
        self.description = "\n\n".join("\n".join(wrap(_say(" ".join(one.split())), _WIDTH)) for one in paragraphs)
        labels = "" if usual_labels() == "zh" else " --labels zh"
        examples = re.sub("(?m)^  quadrag .+", rf"\g<0>{labels}", self.epilog or "")
        self.epilog = re.sub("^examples?:", lambda found: _say(found[0]), examples)
        return re.sub(r"(?m)^(\S+):$", r"\1：", super().format_help())

    def _print_message(self, message: str, file: Any = None) -> None:
        write(message, file=file or sys.stderr, end="")

    def error(self, message: str) -> NoReturn:
        said = spell(f"{message}; see {self.prog} --help")
        self.exit(2, f"quadrag: {said.removesuffix(' --labels zh') if usual_labels() == 'zh' else said}\n")


def _say(text: str) -> str:
    """Return a part of a help text in the language that is in use, where it has words for it."""
    ours = spell(text)
    return text if ours.endswith(text) else ours


def parse(version: str, argv: Sequence[str]) -> argparse.Namespace:
    """Read the arguments; none at all are answered with the help, a mistyped option with its command's nearest ones."""
    argv = _command_first(argv)
    first = next(iter(argv), "-")
    parser = build_parser(version, first)
    if not first.startswith("-") and first not in commands.NAMES:
        if remedy := instead(first):
            parser.error(f"{first} is gone; {remedy}")
        near = [_MEANT[first]] if first in _MEANT else difflib.get_close_matches(first, commands.NAMES)
        meant = f"perhaps {' or '.join(near)}" if near else f"expected one of {', '.join(commands.NAMES)}"
        parser.error(f"no command {first!r}; {meant}")
    option = first.split("=")[0]
    if first.startswith("--") and option not in ("--help", "--version") and set(argv) & set(commands.NAMES):
        parser.error(f"{option} stands before the command; type it after")
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
        command.error(f"unknown argument {extra[0]!r}" + (f"; nearest: {', '.join(near)}" if near else ""))
    return arguments


def _find_near(parser: argparse.ArgumentParser, typed: str) -> list[str]:
    """Find the arguments of a command that one which it has not may have meant."""
    known = [name for action in parser._actions for name in action.option_strings if name.startswith("--")]
    name = typed.split("=")[0]
    by_place = [action.metavar for action in parser._actions if f"--{action.dest}" == name]
    if by_place:
        return [f"{by_place[0]}, without {name}"]
    if not name.startswith("-"):  # a number, or the name of a part
        meant = [f"--limit {name}" if name.isdecimal() else f"--split {name}"]
        return [one for one in meant if one.split()[0] in known]
    if _MEANT.get(name) in known:
        return [_MEANT[name]]
    return difflib.get_close_matches(name, known, n=2, cutoff=0.7)


def _command_first(argv: Sequence[str]) -> list[str]:
    """Return the arguments with a language that stands before the command put right behind it."""
    length = 2 if argv and argv[0] == "--labels" else 1
    language, rest = argv[:length], argv[length:]
    if rest and rest[0] in commands.NAMES and language[0].startswith("--labels"):
        return [rest[0], *language, *rest[1:]]
    return [*argv]


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
    options.labels(parser, _LABELS)
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
            _add_labels(one)
    return parser


def _add_labels(parser: argparse.ArgumentParser) -> None:
    """Let the language be named behind a command, and behind a command's own command."""
    if "--labels" not in parser._option_string_actions:
        options.labels(parser, _LABELS)
    for action in parser._actions:
        for inner in action.choices.values() if isinstance(action, argparse._SubParsersAction) else ():
            _add_labels(inner)
            inner._option_string_actions["--labels"].default = argparse.SUPPRESS  # what was typed before it stays


def _examples(lines: Sequence[str]) -> str:
    return "\n  ".join(("examples:" if len(lines) > 1 else "example:", *lines))
