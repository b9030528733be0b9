"""The arguments of every command, with help that stands on its own.

Only the standard library is imported, so that help and a mistyped option answer at once.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

_MODELS = "extractive | http://HOST:PORT/v1#MODEL | provider:MODEL | local:MODEL"

_EXAMPLES = """\
examples:
  quadrag demo
  quadrag run crud_rag summary --data-dir CRUD_RAG --retriever bm25
  quadrag prepare rgb --data-dir RGB
  quadrag run rgb noise_robustness_en --llm http://127.0.0.1:8080/v1
  quadrag run rgb --all --llm http://127.0.0.1:8080/v1 --judge http://HOST/v1
  quadrag score mine.jsonl --benchmark rgb --config negative_rejection_en
  quadrag report runs/a runs/b --html compare.html
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, like every other error here."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"quadrag: {message}; see {self.prog} --help\n")


def parse(version: str, argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the arguments; a mistyped option is answered with the nearest ones of its command."""
    parser = build_parser(version)
    arguments, extra = parser.parse_known_args(argv)
    if extra:
        chosen = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
        command = chosen.choices[arguments.command]
        options = [name for action in command._actions for name in action.option_strings if name.startswith("--")]
        near = difflib.get_close_matches(extra[0].split("=")[0], options, n=2, cutoff=0.7)
        command.error(f"unknown argument {extra[0]!r}" + (f"; nearest: {', '.join(near)}" if near else ""))
    return arguments


def build_parser(version: str) -> argparse.ArgumentParser:
    """Build the parser of the whole command line; the command's name is left in `command`."""
    parser = _Parser(
        prog="quadrag",
        description="Four published RAG benchmarks with their own metrics, error bars included.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"quadrag {version}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, what: str, example: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name,
            help=what,
            description=f"{what[0].upper()}{what[1:]}.",
            epilog=f"example:\n  {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    demo = command("demo", "run the bundled samples, with no network and no model", "quadrag demo --out runs/demo")
    demo.add_argument("--out", metavar="DIR", help="keep the run folders and report.html here")
    command("list", "list benchmarks, configs, splits, metrics and recipes", "quadrag list")
    _prepare(command("prepare", "fill the Hugging Face caches, so that the bare names load", "quadrag prepare rgb"))
    run = command(
        "run",
        "answer a benchmark's questions, score the answers and print the table",
        "quadrag run rgb noise_robustness_zh --llm http://127.0.0.1:8080/v1",
    )
    _run(run)
    score = command(
        "score",
        "score answers that any other system made: JSON Lines with `id` and `answer`",
        "quadrag score mine.jsonl --benchmark rgb --config noise_robustness_zh",
    )
    _score(score)
    _export(
        command(
            "export",
            "write each benchmark as a Hub repository of Parquet with its card, for every version of datasets",
            "quadrag export hub --benchmark rgb --data-dir RGB --accept-licence",
        )
    )
    _recall(
        command(
            "recall",
            "count how often CRAG's web pages hold an accepted answer, by the number of pages",
            "quadrag recall crag task_1_2 --split public --data-dir CRAG --pages 1,2,5",
        )
    )
    harness = command(
        "harness",
        "print the folder of the tasks for a harness: lm_eval --include_path $(quadrag harness lm-eval)",
        "quadrag harness lm-eval",
    )
    harness.add_argument("name", metavar="NAME", help="lm-eval (needs the extra harness)")
    _kg(command("kg", "build and serve CRAG's mock knowledge graph", "quadrag kg build cragkg kg.sqlite"))
    report = command("report", "show one run again, or compare several", "quadrag report runs/a runs/b --html c.html")
    report.add_argument("runs", nargs="+", metavar="RUN", help="run folders")
    report.add_argument("--html", metavar="FILE", help="write the page too")
    _labels(report)
    report.add_argument("--profile", choices=("official", "corrected"), help="this one alone (compared: official)")
    return parser


def _kg(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="build|serve")
    build = actions.add_parser("build", help="turn upstream's files into one SQLite file; pickles are never unpickled")
    build.add_argument("source", metavar="SRC", help="folder that holds finance, movie, music, open, sports (or some)")
    build.add_argument("target", metavar="FILE", help="the graph, kg.sqlite say; an older one is replaced")
    serve = actions.add_parser("serve", help="answer upstream's 38 routes over HTTP; needs the extra serve")
    serve.add_argument("graph", metavar="FILE", help="the graph that `quadrag kg build` made")
    serve.add_argument("--host", default="127.0.0.1", help="(default: 127.0.0.1)")
    serve.add_argument("--port", type=_whole(0), default=8000, help="(default: 8000)")
    serve.add_argument("--query-time", metavar="T", help="hide what is later: '03/10/2024, 23:19:21 PT'")


def _prepare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", metavar="BENCHMARK")
    parser.add_argument("--config", metavar="C", help="this config alone")
    _data(parser)


def _run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", metavar="BENCHMARK", nargs="?", help="left out only with --recipe")
    parser.add_argument("config", metavar="CONFIG", nargs="?", help="left out only with --all and --recipe")
    what = parser.add_argument_group("what to run")
    what.add_argument("--all", action="store_true", help="all that the paper's tables need, printed in their layout")
    what.add_argument("--original", action="store_true", help="with --all: the unrefined data that the paper used")
    what.add_argument("--split", metavar="S", help="one split (default: all of the config)")
    _data(what)
    what.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="may be repeated; rgb: passage_num, noise_ratio, correct_ratio, order; crud_rag: gold=test (gold "
        "documents into the corpus, so that retrieval is measured), query=code|paper; crag: kg=FILE, later=hide|show "
        "(what the graph dates after the question), entities=model|rules, web_window=N, kg_window=N (characters, or "
        "tokens of window_tokenizer=T), time_limit=SECONDS (challenge), trim=TOKENIZER (answers to 75 tokens), "
        "weights=FILE, judge_failure=hallucination|excluded, release=v5|v4, private_file=FILE; omnieval: "
        "conversation=turns|text|repr, train_dir, auto_dir, human_file, corpus_file, min_evaluation",
    )
    what.add_argument("--limit", metavar="N", type=_whole(1), help="the first N questions of every split")
    what.add_argument(
        "--recipe", metavar="NAME|FILE", help="a published table row, or all of a table (crud_rag-table3): a sweep"
    )
    _retrieval(parser.add_argument_group("how passages are found"))
    how = parser.add_argument_group("how to answer")
    how.add_argument(
        "--llm",
        metavar="SPEC",
        help=f"{_MODELS} (default: extractive); crag: challenge:FILE.py#Class, a model file of the challenge",
    )
    how.add_argument("--prompts", metavar="FILE", help="YAML of the form of quadrag/baselines/prompts/BENCHMARK.yaml")
    how.add_argument("--temperature", metavar="T", type=_number(0), help="default: the benchmark's own")
    how.add_argument("--top-p", metavar="P", type=_number(0, 1), help="share of the likeliest tokens to draw from")
    how.add_argument("--max-tokens", metavar="N", type=_whole(1), help="longest answer, in tokens")
    how.add_argument("--seed", metavar="N", type=_whole(0), help="sent with every call")
    how.add_argument("--samples", metavar="N", type=_whole(1), default=1, help="answers per question (default: 1)")
    _calls(parser)
    _output(parser, "default: runs/BENCHMARK-CONFIG-SPLIT; a finished folder is shown again, another run's is refused")


def _score(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("answers", metavar="FILE", help="JSON Lines; `answer` null is a failed call")
    parser.add_argument("--benchmark", metavar="B", required=True)
    parser.add_argument("--config", metavar="C", required=True)
    parser.add_argument("--split", metavar="S", help="the split answered, where the lines do not say it")
    _data(parser)
    parser.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="may be repeated; rgb: passage_num, noise_ratio, correct_ratio, order; crag: trim, weights, "
        "judge_failure, release, private_file (see quadrag run --help)",
    )
    parser.add_argument("--retriever", metavar="R", help="none: the answers were made without documents")
    _calls(parser)
    _output(parser, "write items.jsonl, scores.json, run.json and report.html here")


def _export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="a folder NAME for each benchmark is written here")
    parser.add_argument(
        "--benchmark", metavar="B", action="append", default=[], help="this one alone; may be repeated (default: all)"
    )
    _data(parser)
    parser.add_argument(
        "--accept-licence",
        action="store_true",
        help="write data whose licence is non-commercial (rgb, crag); crud_rag and omnieval are never hosted again: a "
        "card with the way to the data is written in their place",
    )


def _recall(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", metavar="BENCHMARK", help="crag")
    parser.add_argument("config", metavar="CONFIG", help="task_1_2 or task_3")
    parser.add_argument("--split", metavar="S", default="public", help="(default: public)")
    _data(parser)
    parser.add_argument(
        "--option", metavar="NAME=VALUE", action="append", default=[], help="release=v5|v4, private_file=FILE"
    )
    parser.add_argument("--pages", metavar="N,N", help="numbers of pages (default: 1,2,3,4,5; task_3: 1,2,5,10,20,50)")
    parser.add_argument("--limit", metavar="N", type=_whole(1), help="the first N questions")
    parser.add_argument("--out", metavar="FILE", help="write the rows here too, as JSON")
    _calls(parser)


def _retrieval(group: Any) -> None:
    group.add_argument(
        "--retriever",
        metavar="R",
        help="rgb: own (default), none; crud_rag, omnieval: bm25 (default), dense, hybrid, hybrid-rerank, none; crag: "
        "snippets (default), pages (sentences most like the question), each also with -kg (facts of the graph), none",
    )
    group.add_argument("--tokenizer", metavar="T", help="terms of BM25: unigram (default), jieba, rjieba")
    group.add_argument("--embedding", metavar="M", help="sentence-transformers model: preset, name or folder")
    group.add_argument(
        "--instruction",
        choices=("queries", "both"),
        help="the embedding's instruction: before queries (default), or both, as OmniEval's authors ran theirs",
    )
    group.add_argument("--reranker", metavar="M", help="cross-encoder of hybrid-rerank: preset, name or folder")
    group.add_argument("--index", metavar="I", help="milvus:URI, a file or an address (default: exact search here)")
    group.add_argument("--chunk-size", metavar="N", type=_whole(1), help="characters (crud_rag: 128; omnieval: whole)")
    group.add_argument("--chunk-overlap", metavar="P", type=_whole(0), help="percent of a chunk, 0 to 90 (default: 0)")
    group.add_argument("--chunk-tokenizer", metavar="T", help="count sizes in tokens of this tokenizer: file or name")
    group.add_argument("--top-k", metavar="K", type=_whole(1), help="passages shown (crud_rag: 8, omnieval: 5)")


def _data(parser: Any) -> None:
    parser.add_argument(
        "--data-dir",
        metavar="DIR",
        help="folder of the upstream files or of their checkout, or `sample` (default: prepared or downloaded)",
    )


def _calls(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("calls to models")
    group.add_argument(
        "--judge",
        metavar="SPEC",
        action="append",
        default=[],
        help="model for judged metrics (default: none, they are not run); a preset as llama-3-70b-instruct=http://... "
        "(quadrag list); crag averages several",
    )
    group.add_argument(
        "--bertscore", metavar="M", help="sentence-transformers model for crud_rag's bertscore (text2vec-base-chinese)"
    )
    group.add_argument(
        "--judge-format",
        choices=("text", "json", "schema"),
        default="text",
        help="hold the judge to JSON, or to the schema of omnieval's verdicts, on servers that can (default: text)",
    )
    group.add_argument("--judge-max-tokens", metavar="N", type=_whole(1), default=1024, help="(default: 1024)")
    group.add_argument("--concurrency", metavar="N", type=_whole(1), default=16, help="calls in flight (default: 16)")
    group.add_argument("--prices", metavar="FILE", help="YAML or JSON: {MODEL: {input: 0.5, output: 1.5}}, per million")
    group.add_argument(
        "--budget",
        metavar="X",
        type=_number(0),
        help="limit on this command's cost; needs --prices and --max-tokens",
    )
    group.add_argument(
        "--ledger", metavar="FILE", help="replies already paid for (default: in the user's cache folder)"
    )
    group.add_argument("--replay", action="store_true", help="answer from the ledger alone, with no network")


def _output(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--profile", choices=("official", "corrected", "both"), default="both", help="(default: both)")
    _labels(parser)
    parser.add_argument("--out", metavar="DIR", help=what)


def _labels(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--labels", choices=("en", "zh"), default="en", help="language of omnieval's topics and tasks (default: en)"
    )


def _whole(least: int) -> Callable[[str], int]:
    def whole_number(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least}")
        return number

    return whole_number


def _number(least: float, most: float = sys.float_info.max) -> Callable[[str], float]:
    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        # Written so that NaN fails too.
        if not least <= value <= most:
            upper = "" if most == sys.float_info.max else f" to {most:g}"
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least}{upper}")
        return value

    return number
