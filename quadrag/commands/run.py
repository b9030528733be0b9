"""Answer a benchmark's questions, score the answers and print the table.

Every stage is a file of the run's folder (retrieved.jsonl, answers.jsonl,
items.jsonl, scores.json, report.html), and every reply is kept the moment it
arrives: the same command goes on with what a stopped run left. Without --llm
the answer is the sentence most like the question. Exit code 2 after bad input,
a dead server or a reached budget.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quadrag.commands import options
from quadrag.commands.session import closing, open_budget, open_session
from quadrag.errors import QuadragError

EXAMPLES = (
    "quadrag run rgb noise_robustness_zh --llm http://127.0.0.1:8080/v1",
    "quadrag run rgb --all --llm http://HOST/v1 --judge http://OTHER/v1",
    "quadrag run crud_rag qa_2doc --tokenizer jieba --top-k 4 --limit 100",
    "quadrag run crag task_1_2 --split public --data-dir CRAG --llm local:FOLDER",
    "quadrag run crud_rag qa_1doc --rag http://127.0.0.1:9000/rag --rag-name mine",
    "quadrag run --recipe rgb-table7-chatgpt-en --llm https://HOST/v1",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("benchmark", metavar="BENCHMARK", nargs="?", help="left out only with --recipe")
    parser.add_argument("config", metavar="CONFIG", nargs="?", help="left out only with --all and --recipe")
    what = parser.add_argument_group("what to run")
    what.add_argument("--all", action="store_true", help="all that the paper's tables need, printed in their layout")
    what.add_argument("--original", action="store_true", help="with --all: the unrefined data that the paper used")
    what.add_argument("--split", metavar="S", help="one split (default: all of the config)")
    options.data(what)
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
    what.add_argument("--limit", metavar="N", type=options.whole(1), help="the first N questions of every split")
    what.add_argument(
        "--recipe", metavar="NAME|FILE", help="a published table row, or all of a table (crud_rag-table3): a sweep"
    )
    _retrieval(parser.add_argument_group("how passages are found"))
    how = parser.add_argument_group("how to answer")
    how.add_argument(
        "--llm",
        metavar="SPEC",
        help=f"{options.MODELS} (default: extractive); crag: challenge:FILE.py#Class, a model file of the challenge",
    )
    how.add_argument(
        "--rag",
        metavar="URL",
        help="a RAG service that finds passages and answers: http://HOST:PORT/PATH (JSON), http://HOST:PORT/v1#MODEL "
        "(OpenAI's form); takes --option rag_prompt=bare|protocol",
    )
    how.add_argument("--rag-name", metavar="NAME", help="what to call the service (default: its model, or its address)")
    how.add_argument("--rag-body", metavar="FILE", help="JSON object of further fields of every request")
    how.add_argument(
        "--rag-timeout", metavar="S", type=options.number(0.001), help="seconds a reply may take (default: 300)"
    )
    how.add_argument("--prompts", metavar="FILE", help="YAML of the form of quadrag/baselines/prompts/BENCHMARK.yaml")
    how.add_argument("--temperature", metavar="T", type=options.number(0), help="default: the benchmark's own")
    how.add_argument("--top-p", metavar="P", type=options.number(0, 1), help="share of likeliest tokens to draw from")
    how.add_argument("--max-tokens", metavar="N", type=options.whole(1), help="longest answer, in tokens")
    how.add_argument("--seed", metavar="N", type=options.whole(0), help="sent with every call")
    how.add_argument("--samples", metavar="N", type=options.whole(1), default=1, help="answers a question (default: 1)")
    options.calls(parser)
    options.output(
        parser, "default: runs/BENCHMARK-CONFIG-SPLIT; a finished folder is shown again, another run's is refused"
    )


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
    group.add_argument(
        "--chunk-size", metavar="N", type=options.whole(1), help="characters (crud_rag: 128; omnieval: whole)"
    )
    group.add_argument(
        "--chunk-overlap", metavar="P", type=options.whole(0), help="percent of a chunk, 0 to 90 (default: 0)"
    )
    group.add_argument("--chunk-tokenizer", metavar="T", help="count sizes in tokens of this tokenizer: file or name")
    group.add_argument("--top-k", metavar="K", type=options.whole(1), help="passages shown (crud_rag: 8, omnieval: 5)")


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from quadrag.baselines import campaign, recipe, report
    from quadrag.baselines.grid import print_grids

    _check_rag(arguments)
    profiles = ("official", "corrected") if arguments.profile == "both" else (arguments.profile,)
    lacking: list[tuple[str, list[str]]] = []
    recipes = recipe.swept(arguments.recipe)
    runs = None if recipes else recipe.planned(arguments)
    page = None  # where it has more than the terminal
    budget = open_budget(arguments)
    if recipes:
        recipe.check_models(recipes, arguments.llm)
        out = Path(arguments.out or f"runs/{arguments.recipe}")
        results, lacking = _sweep(arguments, recipes, out, budget)
        grids = report.swept_grids(results[0][1].info["inputs"]["benchmark"], [r for _, r in results], profiles)
    elif runs is None:
        # Before a ledger or a server is touched, so that a mistyped name costs nothing.
        task = campaign.task(arguments)
        out = Path(arguments.out or campaign.default_out(task))
        with open_session(arguments, budget) as session:
            results = [(out, session.run(task, out))]
        grids = report.config_grids(results[0][1], profiles, arguments.labels)
        page = report.config_grids(results[0][1], profiles, arguments.labels, whole_page=True)
    else:
        out = Path(arguments.out or campaign.campaign_out(arguments, runs))
        with open_session(arguments, budget) as session:
            results, lacking = campaign.run_all(session, arguments, runs, out)
        grids = report.paper_grids(arguments.benchmark, [result for _, result in results], profiles)
    report.write_page(out / "report.html", f"quadrag: {out.name}", [result for _, result in results], page or grids)
    if reused := sum(result.reused for _, result in results):
        part = "" if reused == len(results) else f"{reused} of {len(results)} runs "
        print(f"{out}: {part}finished before, shown again", file=sys.stderr)
    print_grids(grids)
    for config, files in lacking:
        print(f"{config}: not run, {arguments.data_dir} lacks {', '.join(files)}")
    if spent := report.spending([result for _, result in results]):
        print(f"\ncalls: {spent}")
    if latency := report.latency([result for _, result in results]):
        print(f"latency of an answer: {latency}")
    print(f"\n{out / 'report.html'}")
    return closing(results)


def _check_rag(arguments: argparse.Namespace) -> None:
    """See to it that a RAG service is not told how to do its work, and that nothing else is said to do it."""
    if arguments.rag is None:
        if named := [name for name in ("rag_name", "rag_body", "rag_timeout") if getattr(arguments, name) is not None]:
            raise QuadragError(f"--{named[0].replace('_', '-')} is of a RAG service; name it with --rag URL")
        return
    if not arguments.rag.strip():
        raise QuadragError("--rag is empty; expected http://HOST:PORT/PATH")
    for name in ("llm", "retriever", "all", "recipe", "original"):
        if getattr(arguments, name):
            raise QuadragError(f"--rag asks one service about one config; leave out --{name}")


def _sweep(
    arguments: argparse.Namespace, recipes: Sequence[str], out: Path, budget: Any
) -> tuple[list[tuple[Path, Any]], list[tuple[str, list[str]]]]:
    """Run recipes one after the other, each in a folder of its own below `out`, until one is stopped."""
    from quadrag.baselines import campaign
    from quadrag.baselines.recipe import planned

    results: list[tuple[Path, Any]] = []
    lacking: dict[str, list[str]] = {}
    for recipe in recipes:
        one = argparse.Namespace(**{**vars(arguments), "recipe": recipe})
        try:
            runs = planned(one) or []
            with open_session(one, budget) as session:
                found, missing = campaign.run_all(session, one, runs, out / recipe)
        except QuadragError as error:
            done = f"; `quadrag report {out}` shows what is done" if results else ""
            raise QuadragError(f"{recipe}: {error}{done}") from error
        results += found
        lacking.update(missing)
        if found[-1][1].stopped:
            break
    return results, list(lacking.items())
