"""Options that several commands take, and the kinds of numbers among them.

Only the standard library is imported here and at the top of every command, so that help and a mistyped option answer
at once.
"""

import argparse
import sys
from collections.abc import Callable
from typing import Any

from quadrag.labels import LANGUAGES, VARIABLE, choose_labels

_PROFILES = ("official", "corrected")
MODELS = "extractive | http://HOST:PORT/v1#MODEL | provider:MODEL | local:MODEL"


def data(parser: Any) -> None:
    """Say where the data are."""
    parser.add_argument(
        "--data-dir",
        metavar="DIR",
        help="folder of the authors' files or of their repository, or `sample` (default: prepared or downloaded)",
    )


def calls(parser: argparse.ArgumentParser, answers: bool = True) -> None:
    """Say which judges are asked, and how models are called; what scores `answers` may take an embedding too."""
    group = parser.add_argument_group("calls to models")
    group.add_argument(
        "--judge",
        metavar="SPEC",
        action="append",
        default=[],
        help="model for judged metrics (default: none, they are not run); http://HOST/v1#MODEL, or a preset as "
        "llama-3-70b-instruct=http://... (quadrag list); crag averages several",
    )
    if answers:
        about = "sentence-transformers model for crud_rag's bertscore (text2vec-base-chinese)"
        group.add_argument("--bertscore", metavar="M", help=about)
    group.add_argument(
        "--judge-format",
        choices=("text", "json", "schema"),
        help="hold the judge to JSON, or to the schema of omnieval's verdicts, on servers that can (default: text)",
    )
    group.add_argument("--judge-max-tokens", metavar="N", type=whole(1), help="(default: 1024)")
    group.add_argument(
        "--max-failed",
        metavar="S",
        type=number(0, 1),
        help="share of a metric's items above which failures make it INVALID, with exit code 3 (default: 0.2)",
    )
    group.add_argument(
        "--judge-name",
        metavar="NAME",
        action="append",
        default=[],
        help="the same as --llm-name, of the judge; may be repeated, in the order of the judges",
    )
    _asking(group)


def asking(parser: argparse.ArgumentParser) -> None:
    """Say how models are called, where nothing is judged."""
    _asking(parser.add_argument_group("calls to models"))


def _asking(group: Any) -> None:
    from quadrag.chat.reply import RETRIED

    place(group)
    group.add_argument("--concurrency", metavar="N", type=whole(1), default=16, help="calls in flight (default: 16)")
    group.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=number(0.001),
        help="a reply of a model may take (default: 120)",
    )
    group.add_argument(
        "--max-reply-bytes",
        metavar="N",
        type=whole(1),
        help="longest reply that is read, counted as it is unpacked (default: 16000000)",
    )
    group.add_argument(
        "--trust-remote-code",
        metavar="MODEL=REVISION,CODE_REVISION",
        action="append",
        default=[],
        help="may be repeated; run the code that comes with a model, at these commits; a folder alone: what lies in it",
    )
    group.add_argument("--prices", metavar="FILE", help="YAML or JSON: {MODEL: {input: 0.5, output: 1.5}}, per million")
    group.add_argument(
        "--budget",
        metavar="X",
        type=number(0),
        help="limit on this command's cost; needs --prices, and --max-tokens where a model answers",
    )
    group.add_argument(
        "--ledger", metavar="FILE", help="replies already paid for (default: in the user's cache folder)"
    )
    group.add_argument("--replay", action="store_true", help="answer from the ledger alone, with no network")
    group.add_argument("--fresh", action="store_true", help="ask anew, whatever the ledger holds")
    group.add_argument(
        "--retry",
        metavar="KINDS",
        type=words(*RETRIED),
        default=(),
        help="ask again for kept replies that could not be read, were cut, or are empty, or for calls that failed (as "
        "every run does that goes on): unreadable,cut,empty,failed",
    )


def place(group: Any) -> None:
    """Say where work is done."""
    group.add_argument(
        "--on",
        metavar="PLACE",
        help="where work is done: a number of processes, ray, ray://HOST:PORT (default: here)",
    )


def estimate(parser: argparse.ArgumentParser) -> None:
    """Say whether calls are reckoned in place of being made."""
    group = parser.add_argument_group("what it will cost")
    group.add_argument(
        "--estimate",
        action="store_true",
        help="ask no model and write no run: print how many calls, tokens and what price it will take, by stage",
    )
    group.add_argument(
        "--tokens-by",
        metavar="T",
        help="with --estimate: the tokenizer that counts, cl100k_base, a file, a folder or a name on the Hub (default: "
        "the model's own where it is here, else a rule)",
    )


def certificates(parser: Any) -> None:
    """Say what is known of judges."""
    parser.add_argument(
        "--certificate",
        metavar="FILE",
        action="append",
        default=[],
        help="may be repeated; of `quadrag certify-judge`: says how far the judge agrees with people",
    )


def json(parser: argparse.ArgumentParser) -> None:
    """Say whether results are printed for a program."""
    parser.add_argument("--json", action="store_true", help="one object for scripts, and nothing else on stdout")


def output(parser: argparse.ArgumentParser, what: str) -> None:
    """Say what is shown, and where files go; `what` is the help of --out."""
    parser.add_argument("--profile", choices=(*_PROFILES, "both"), default="both", help="(default: both)")
    json(parser)
    labels(parser)
    certificates(parser)
    verbose(parser)
    parser.add_argument("--out", metavar="DIR", help=what)


def labels(parser: argparse.ArgumentParser, what: str = "tables, their notes and the page") -> None:
    """Say in which language results are shown."""
    default = f"default: {VARIABLE}, or {LANGUAGES[0]}"
    parser.add_argument("--labels", choices=LANGUAGES, default=choose_labels(), help=f"language of {what} ({default})")


def verbose(parser: argparse.ArgumentParser) -> None:
    """Say whether all is printed, or a summary."""
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="all metrics, profiles, slices and settings, as on the page"
    )


def profiles(arguments: argparse.Namespace, own: str | None = None) -> tuple[str, ...]:
    """Return the profiles that are shown, the first of them first: of those not named alone, what is a run's `own`."""
    named = getattr(arguments, "profile", None)
    if named in _PROFILES:
        return (named,)
    return _PROFILES[::-1] if own == _PROFILES[1] else _PROFILES


def of_benchmarks(say: Callable[[Any], str]) -> str:
    """Return a help text that says something of every benchmark's record; their files are light."""
    from quadrag.baselines.core.benchmark import known, load

    said = ((name, say(load(name))) for name in known())
    return "; ".join(f"{name}: {text}" for name, text in said if text)


def words(*known: str) -> Callable[[str], tuple[str, ...]]:
    """Return a reader of some of these words, parted by commas."""

    def some_words(text: str) -> tuple[str, ...]:
        found = tuple(word.strip() for word in text.split(","))
        for word in found:
            if word not in known:
                raise argparse.ArgumentTypeError(f"{word!r} is none of {', '.join(known)}")
        return found

    return some_words


def some_text(text: str) -> str:
    """Read a text that is not empty."""
    if not text:
        raise argparse.ArgumentTypeError("an empty text; expected one to stop at")
    return text


def whole(least: int) -> Callable[[str], int]:
    """Return a reader of whole numbers from `least`."""

    def whole_number(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least}")
        return number

    return whole_number


def number(least: float, most: float = sys.float_info.max) -> Callable[[str], float]:
    """Return a reader of numbers in a range, both ends included."""

    def a_number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        # Written so that NaN fails too.
        if not least <= value <= most:
            upper = "" if most == sys.float_info.max else f" to {most:g}"
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least}{upper}")
        return value

    return a_number
