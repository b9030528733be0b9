"""Answer a benchmark's questions, score the answers and print the table.

Every stage is a file of the run's folder (retrieved.jsonl, answers.jsonl,
items.jsonl, scores.json, report.html), and every reply is kept the moment it
arrives: the same command goes on with what a stopped run left. Without --llm
the answer is the sentence most like the question. Exit code 2 after bad input,
a dead server or a reached budget.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from quadrag.commands.shared import options, retrieval
from quadrag.commands.shared.closing import print_next, report_failures
from quadrag.commands.shared.session import (
    SAMPLING,
    add_judges,
    call_policy,
    partial_spec,
    print_calls,
    print_results,
    results_alone,
    tell,
)
from quadrag.errors import QuadragError, one_line
from quadrag.printing import write

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
    what.add_argument("--original", action="store_true", help="with --all: the original data that the paper used")
    what.add_argument("--split", metavar="S", help="one split (default: all of the config)")
    options.data(what)
    what.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help=f"may be repeated; {options.of_benchmarks(lambda one: one.option_help)}",
    )
    what.add_argument("--limit", metavar="N", type=options.whole(1), help="the first N questions of every split")
    what.add_argument(
        "--recipe", metavar="NAME|FILE", help="a published table row, or all of a table (crud_rag-table3): a sweep"
    )
    what.add_argument(
        "--spec", metavar="FILE", help="YAML or JSON that says the same as these options; what is typed goes before it"
    )
    retrieval.add_arguments(parser.add_argument_group("how passages are found"))
    how = parser.add_argument_group("how to answer")
    how.add_argument(
        "--llm",
        metavar="SPEC",
        help=f"{options.MODELS} (default: extractive); crag: challenge:FILE.py#Class, a model file of the challenge",
    )
    how.add_argument(
        "--entity-llm",
        metavar="SPEC",
        help="crag with facts of the graph: the model that finds the entities of the questions (default: --llm)",
    )
    how.add_argument(
        "--rag",
        metavar="URL",
        help="a RAG service that finds passages and answers: http://HOST:PORT/PATH (JSON), http://HOST:PORT/v1#MODEL "
        "(OpenAI's form); takes --option rag_prompt=bare|protocol",
    )
    how.add_argument("--rag-name", metavar="NAME", help="what to call the service (default: its model, or its address)")
    how.add_argument(
        "--rag-timeout",
        metavar="S",
        type=options.number(0.001),
        help="seconds a reply may take (default: 300)",
    )
    how.add_argument(
        "--api",
        choices=("chat", "completions"),
        help="completions: of a model without a chat interface, by /v1/completions with --template (default: chat)",
    )
    how.add_argument(
        "--template",
        metavar="T",
        help="of --api completions: plain, vicuna, belle, chatglm, chatglm2",
    )
    how.add_argument(
        "--prompts",
        metavar="FILE",
        help="YAML of the form of quadrag/baselines/BENCHMARK/prompts.yaml, with a paper's own words maybe; crag: what "
        "stands under `judge` is told to the judge",
    )
    how.add_argument("--temperature", metavar="T", type=options.number(0), help="default: the benchmark's own")
    how.add_argument("--top-p", metavar="P", type=options.number(0, 1), help="share of likeliest tokens to draw from")
    how.add_argument(
        "--sampling-top-k", metavar="N", type=options.whole(1), help="how many of the likeliest tokens to draw from"
    )
    how.add_argument(
        "--repetition-penalty",
        metavar="X",
        type=options.number(0.01, 10),
        help="above 1: what was written becomes less likely; a server that refuses it, or top-k, is asked without",
    )
    how.add_argument("--max-tokens", metavar="N", type=options.whole(1), help="longest answer, in tokens")
    how.add_argument(
        "--stop",
        metavar="TEXT",
        action="append",
        type=options.some_text,
        help="an answer ends before this text; may be repeated; a server that refuses it is asked without",
    )
    how.add_argument("--seed", metavar="N", type=options.whole(0), help="sent with every call")
    how.add_argument("--samples", metavar="N", type=options.whole(1), default=1, help="answers a question (default: 1)")
    how.add_argument(
        "--llm-name",
        metavar="NAME",
        help="what the model is called in tables and in the ledger, wherever it is served and whatever its "
        "server calls it (default: its model, at its address)",
    )
    how.add_argument("--entity-name", metavar="NAME", help="the same as --llm-name, of --entity-llm")
    options.calls(parser)
    options.estimate(parser)
    options.output(
        parser,
        "default: runs/BENCHMARK-CONFIG-SPLIT-MODEL; a finished folder is shown again, another run's is refused",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    with results_alone(arguments.json) as stdout:
        return _run(arguments, stdout)


def _run(arguments: argparse.Namespace, stdout: IO[str]) -> int:
    from quadrag.baselines.judges.certificate import lay_beside
    from quadrag.commands.shared.estimating import print_estimate, start_estimate

    _check_rag(arguments)
    estimate = start_estimate(arguments)
    if estimate is None:
        out, campaign, alone = _ask(arguments)
        lay_beside(campaign.results)
        return _show(arguments, stdout, out, campaign, alone)
    with tempfile.TemporaryDirectory(prefix="quadrag-estimate-") as aside:
        _, campaign, _ = _ask(arguments, estimate, lambda folder: Path(aside) / folder.name)
    print_estimate(arguments, estimate, stdout)
    _print_left_out(arguments, campaign)
    return 0


def _ask(
    arguments: argparse.Namespace, estimate: Any = None, place: Callable[[Path], Path] = Path
) -> tuple[Path, Any, bool]:
    """Do the runs that were asked for, in folders where `place` puts them.

    Returns:
        Their folder, the runs, and whether it was one alone.
    """
    from quadrag.baselines.core.benchmark import load
    from quadrag.baselines.runs import campaign as campaigns
    from quadrag.baselines.runs import plan
    from quadrag.baselines.runs.models import open_models
    from quadrag.baselines.runs.run import run

    policy, partial = call_policy(arguments, estimate), partial_spec(arguments)
    recipes = plan.recipes_of_table(arguments.recipe)
    several = arguments.all or arguments.recipe is not None
    if arguments.all and arguments.recipe is not None:
        raise QuadragError("--all and --recipe each say what to run; give one of them")
    if arguments.original and not arguments.all:
        raise QuadragError("--original goes with --all; alone, name the config with its suffix _original")
    if arguments.recipe is not None:
        benchmark = plan.read_recipe(recipes[0] if recipes else arguments.recipe)[1]["benchmark"]
    else:
        benchmark = plan.name_benchmark(partial)
    partial, trust = add_judges(arguments, partial, benchmark), policy.trust
    if recipes:
        planned = plan.plan_table(recipes, partial, trust)
        head, (first, *_) = arguments.recipe, next(iter(planned.values()))
        out = place(Path(arguments.out or campaigns.name_folder(first, "", head, variant=False)))
        return out, campaigns.run_table(planned, policy, out), False
    # Before a ledger or a server is touched, so that a mistyped name costs nothing.
    if arguments.all:
        head = f"{benchmark}-all{'-original' * arguments.original}"
        specs = plan.plan_all(partial, arguments.original, trust)
    elif several:
        specs, head = plan.plan_recipe(arguments.recipe, partial, trust), Path(arguments.recipe).stem
    else:
        specs, head = [plan.plan_run(partial, trust)], None
    first = specs[0]
    with open_models(first, policy) as models:
        model = plan.name_system(first, models.system.name)
        if first.replica:
            model = first.retrieval.embedding if first.replica.replaced else ""
        variant = first.replica is None and not (arguments.all and load(benchmark).corpus is None)
        out = place(Path(arguments.out or campaigns.name_folder(first, model, head, variant)))
        if not several:
            return out, campaigns.Campaign([(out, run(first, policy, models, out))]), True
        return out, campaigns.run_all(specs, policy, models, out), False


def _show(arguments: argparse.Namespace, stdout: IO[str], out: Path, campaign: Any, alone: bool) -> int:
    """Write the page of runs, and print what they came to."""
    from quadrag.baselines.page.page import write_page
    from quadrag.baselines.report.facts import describe_latency, tell_kept, tell_reused
    from quadrag.baselines.report.paper import show_paper
    from quadrag.baselines.report.run import tabulate_run
    from quadrag.baselines.report.summary import show_runs
    from quadrag.baselines.systems.extractive import EXTRACTIVE

    profiles = options.profiles(arguments)
    results = campaign.results
    page = None  # where it has more than the terminal
    if alone:
        grids = show_runs(results, profiles, arguments.labels, arguments.verbose)
        page = tabulate_run(results[0], profiles, arguments.labels, every=True)
    else:
        benchmark = results[0].run.benchmark
        grids = show_paper(benchmark, results, profiles, arguments.labels, arguments.verbose)
    write_page(out / "report.html", [(out.name, results)], page or grids, arguments.labels)
    tell(arguments, *tell_reused(results))
    if arguments.llm is None and results[0].run.llm == EXTRACTIVE:
        write("No --llm: the extractive baseline answers, the sentence most like the question.")
    if kept := tell_kept(results):
        tell(arguments, f"{kept}.")
    print_results(arguments, stdout, out, results, grids)
    _print_left_out(arguments, campaign)
    print_calls(arguments, results)
    if latency := describe_latency(results):
        tell(arguments, f"latency of an answer: {latency}")
    write(f"\n{out / 'report.html'}")
    print_next(campaign.runs[0][0], results)
    return report_failures(arguments, results)


def _print_left_out(arguments: argparse.Namespace, campaign: Any) -> None:
    for recipe, why in campaign.left_out.items():
        write(f"{recipe}: not run, {one_line(why)}")


def _check_rag(arguments: argparse.Namespace) -> None:
    """Refuse to tell a RAG service how to do its work, or to have something else do it."""
    if arguments.rag is None:
        if named := [name for name in ("rag_name", "rag_timeout") if getattr(arguments, name) is not None]:
            raise QuadragError(f"--{named[0].replace('_', '-')} is of a RAG service; name it with --rag URL")
        return
    if not arguments.rag.strip():
        raise QuadragError("--rag is empty; expected http://HOST:PORT/PATH")
    for name in ("llm", "llm_name", "retriever", "all", "recipe", "original", *SAMPLING):
        if (value := getattr(arguments, name)) is not None and value is not False:
            raise QuadragError(f"--rag asks one service about one config; leave out --{name.replace('_', '-')}")
