"""The options that several commands take, each said once: its form and its help.

Only light modules are imported here and at the top of every command, so that help and a mistyped option answer at once.
What few people need stands in a file, `--spec`.
"""

import argparse
import sys
from collections.abc import Callable
from typing import Any, get_args

from quadrag.chat.reply import RETRIED
from quadrag.errors import QuadragError, parse_json, unknown_name
from quadrag.labels import LANGUAGES, VARIABLE, choose_labels

PROFILES = ("official", "corrected")

# What a command that asks models takes of how it does.
ASKING = "on concurrency timeout trust-remote-code prices budget ledger replay fresh retry"
JUDGING = f"judge judge-prompt judge-format max-failed {ASKING}"
SHOWING = "profile json labels certificate verbose"


def at_least(least: float, kind: Callable[[str], float] = int, most: float = sys.float_info.max) -> Any:
    """Return a reader of numbers in a range, both ends included; NaN is in none."""

    def a_number(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            whole, upper = "whole " * (kind is int), "" if most == sys.float_info.max else f" to {most:g}"
            raise argparse.ArgumentTypeError(f"{text!r} is not a {whole}number from {least}{upper}")
        return value

    return a_number


def _judge_prompt(text: str) -> str:
    from quadrag.spec import Judge  # with pydantic, which help and a mistyped option do without

    if text not in (names := get_args(Judge.model_fields["prompt"].annotation)):
        raise unknown_name("prompt of a judge", text, names)
    return text


def _kinds(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(","))


def _pair(text: str) -> tuple[str, Any]:
    name, mark, value = text.partition("=")
    if not mark or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        return name, parse_json(value, text)
    except QuadragError:
        return name, value


def _text(metavar: str, about: str, **more: Any) -> dict[str, Any]:
    return {"metavar": metavar, "help": about, **more}


def _texts(metavar: str, about: str, **more: Any) -> dict[str, Any]:
    return {"metavar": metavar, "help": about, "action": "append", "default": [], **more}


def _count(metavar: str, about: str, least: int = 1, **more: Any) -> dict[str, Any]:
    return _text(metavar, about, type=at_least(least), **more)


def _number(metavar: str, about: str, least: float = 0, most: float = sys.float_info.max) -> dict[str, Any]:
    return {"metavar": metavar, "help": about, "type": at_least(least, float, most)}


def _flag(about: str) -> dict[str, Any]:
    return {"help": about, "action": "store_true"}


_OPTIONS: dict[str, dict[str, Any]] = {
    # What is run.
    "all": _flag("all that the paper's tables need, in their layout"),
    "original": _flag("with --all: the original data that the paper used"),
    "split": _text("S", "one split (default: all of the config)"),
    "data-dir": _text("DIR", "the authors' files, or `sample` (default: fetched)"),
    "option": _texts("NAME=VALUE", "of the benchmark (quadrag list BENCHMARK)", type=_pair),
    "limit": _count("N", "the first N questions of every split"),
    "recipe": _text("NAME|FILE", "a published row, or a whole table: BENCHMARK-table3"),
    "spec": _text("FILE", "YAML: what no option says, as recipes do (docs/models.md)"),
    # How passages are found.
    "retriever": _text("R", "one of the benchmark (quadrag list BENCHMARK)"),
    "tokenizer": _text("T", "terms of BM25: unigram (default), jieba, rjieba"),
    "embedding": _text("M", "of sentence-transformers: preset, name or folder"),
    "index": _text("I", "faiss, or milvus:URI (default: exact search here)"),
    "chunk-size": _count("N", "characters of a passage"),
    "top-k": _count("K", "passages shown"),
    # What answers.
    "llm": _text("SPEC", "extractive | http://HOST:PORT/v1#MODEL | provider:MODEL | local:MODEL (default: extractive)"),
    "llm-name": _text("NAME", "what it is called, wherever it is served"),
    "entity-llm": _text("SPEC", "finds the entities of questions, where a benchmark asks for them (default: --llm)"),
    "rag": _text("URL", "a service that finds passages and answers: http://HOST/PATH, or http://HOST/v1#MODEL"),
    "prompts": _text("FILE", "of the form of the benchmark's prompts.yaml"),
    "context": _count("TOKENS", "leave out the last passages of longer prompts"),
    "temperature": _number("T", "(default: the benchmark's own)"),
    "max-tokens": _count("N", "longest answer, in tokens"),
    "seed": _count("N", "sent with every call", 0),
    "samples": _count("N", "answers a question (default: 1)"),
    # How models are called.
    "judge": _texts("SPEC", "as --llm, or PRESET=http://HOST/v1; repeatable"),
    "judge-prompt": _text("NAME", "plain: of small judges (default: official)", type=_judge_prompt),
    "judge-format": {"choices": ("text", "json", "schema"), "help": "what a judge is held to, on servers that can"},
    "bertscore": _text("M", "embedding for metrics that need one"),
    "max-failed": _number("S", "share of failures that is INVALID (default: 0.2)", 0, 1),
    "on": _text("PLACE", "a number of processes, ray, ray://HOST:PORT"),
    "concurrency": _count("N", "calls in flight (default: 16)"),
    "timeout": _number("SECONDS", "for a reply (default: 900)", 0.001),
    "trust-remote-code": _texts("MODEL=REVISION,CODE_REVISION", "run a model's own code, at these commits"),
    "prices": _text("FILE", "YAML, per million: {MODEL: {input: 0.5, output: 1.5}}"),
    "budget": _number("X", "most that may be spent; needs --prices, --max-tokens"),
    "ledger": _text("FILE", "replies already paid for (default: in your cache)"),
    "replay": _flag("answer from the ledger alone, with no network"),
    "fresh": _flag("ask anew, whatever the ledger holds"),
    "retry": _text("KINDS", f"ask again for some: {','.join(RETRIED)}", type=_kinds),
    "estimate": _flag("ask nothing: print calls, tokens and price"),
    # What is shown, and where files go.
    "profile": {"choices": (*PROFILES, "both"), "help": "(default: both)"},
    "json": _flag("one object for scripts, and nothing else on stdout"),
    "labels": {
        "type": choose_labels,
        "default": "",
        "metavar": "|".join(LANGUAGES),
        "help": f"language (default: {VARIABLE}, or en)",
    },
    "certificate": _texts("FILE", "of `quadrag certify-judge`: how good the judge is"),
    "verbose": _flag("all metrics, profiles, slices and settings"),
    "out": _text("DIR", "for the files (default: runs/..., by what is run)"),
    "port": _count("N", "of the page (default: any free)", 0, default=0),
    "no-browser": _flag("print the page's address alone"),
    "accept-licence": _flag("of data for non-commercial use"),
}
DRAW = _count("N", "of the draw (default: 2333)", 0, default=2333)


def add(parser: Any, names: str, **about: str) -> None:
    """Add options, by their names with blanks between; `about` is the help of one that means something else here."""
    for name in names.split():
        short = ["-v"] if name == "verbose" else []
        settings = _OPTIONS[name]
        own = about.get(name.replace("-", "_"), settings["help"])
        parser.add_argument(*short, f"--{name}", **{**settings, "help": own})


def profiles(arguments: argparse.Namespace, own: str | None = None) -> tuple[str, ...]:
    """Return the profiles that are shown, the first of them first: of those not named alone, what is a run's `own`."""
    named = getattr(arguments, "profile", None)
    if named in PROFILES:
        return (named,)
    return PROFILES[::-1] if own == PROFILES[1] else PROFILES
