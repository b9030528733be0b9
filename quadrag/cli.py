"""The command line: reads the arguments, runs the command, and turns bad input into one line and code 2."""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any, NoReturn

from quadrag import __version__, catalogue, commands
from quadrag.errors import QuadragError, unknown_name
from quadrag.printing import say, wrap, write


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command by its arguments, those of the process when None, and return its exit code.

    It is 2 after bad input, a dead server or a reached budget; the reason is then one line on stderr.
    """
    typed = sys.argv[1:] if argv is None else list(argv)
    try:
        arguments = parse(typed)
        arguments.typed = typed
        if threading.current_thread() is threading.main_thread():  # no other may say what a signal does
            signal.signal(signal.SIGTERM, signal.default_int_handler)  # as an interrupt: what was made is kept
        # Set before the libraries load: neither their bars nor their notes belong between our lines.
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        from quadrag import parallel  # help does without

        with parallel.use(getattr(arguments, "on", None)):
            return commands.load(arguments.command).run(arguments) or 0
    except QuadragError as error:
        say(str(error))
        return error.code
    except KeyboardInterrupt:
        say("stopped; run the same command again to go on")
        return 130
    except OSError as error:
        # A full disk, a folder that may not be written: files are whole or not there, so the place says it all.
        place = f"{error.filename}: " if error.filename else ""
        say(f"{place}{error.strerror or error}; make room, or name another place with --out, QUADRAG_CACHE or HF_HOME")
        return 2


_EXAMPLES = """examples:
  quadrag demo
  quadrag prepare BENCHMARK --data-dir DIR
  quadrag run BENCHMARK CONFIG --llm http://127.0.0.1:8080/v1
  quadrag run BENCHMARK --all --llm http://HOST/v1 --judge http://OTHER/v1
  quadrag run BENCHMARK CONFIG --data-dir DIR --retriever bm25
  quadrag score mine.jsonl --benchmark BENCHMARK --config CONFIG
  quadrag report runs/a runs/b --html compare.html
quadrag list names them"""


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrap(text, width)  # a name with hyphens stays whole

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        """Name in the first line what must be typed alone: the options stand below."""
        super().add_usage(
            usage, [action for action in actions if action.required or not action.option_strings], [], prefix
        )


class _Parser(argparse.ArgumentParser):
    def __init__(self, **more: Any) -> None:
        super().__init__(**{"formatter_class": _Formatter, **more})
        self.set_defaults(parser=self)  # of commands within commands the innermost that was named

    def _print_message(self, message: str, file: Any = None) -> None:
        write(message, file=file or sys.stderr, end="")

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"quadrag: {message}; see {self.prog} --help\n")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    typed = list(argv) or ["--help"]
    names = list(commands.NAMES)
    if not typed[0].startswith("-") and typed[0] not in names:
        names += catalogue.commands()
    parser = build_parser(typed[0], names)
    if not typed[0].startswith("-") and typed[0] not in names:
        parser.error(str(unknown_name("command", typed[0], names)))
    arguments, extra = parser.parse_known_args(typed)
    if extra:
        known = [name for action in arguments.parser._actions for name in action.option_strings if name[:2] == "--"]
        arguments.parser.error(str(unknown_name("argument", extra[0].split("=")[0], known)))
    return arguments


def build_parser(typed: str | None = None, names: Sequence[str] = commands.NAMES) -> argparse.ArgumentParser:
    """Build the parser; where it is known which command was typed, the others have their names and no arguments."""
    parser = _Parser(
        prog="quadrag",
        description="Published RAG benchmarks with their own metrics, error bars included.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("--version", action="version", version=f"quadrag {__version__}")
    added = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name in names:
        command = commands.load(name)
        about, _, examples = command.__doc__.strip().partition("\n\nExamples:\n")
        first = about.partition("\n")[0]
        subparser = added.add_parser(
            name,
            help=first[0].lower() + first[1:].removesuffix("."),
            description=about,
            epilog=examples and f"examples:\n{examples}" + "\nquadrag list names them" * ("BENCHMARK" in examples),
        )
        if typed in (None, name):
            command.add_arguments(subparser)
    return parser
