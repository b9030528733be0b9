"""Answer a benchmark's questions, score the answers and print the table.

Every stage is a file of the run's folder, and every reply is kept the moment it
arrives: the same command goes on with what a stopped run left. Without --llm
the answer is the sentence most like the question. Exit code 2 after bad input,
a dead server or a reached budget, 3 of an invalid measurement.

Examples:
    quadrag run BENCHMARK CONFIG --llm http://127.0.0.1:8080/v1
    quadrag run BENCHMARK --all --llm http://HOST/v1 --judge http://OTHER/v1
    quadrag run BENCHMARK CONFIG --tokenizer jieba --top-k 4 --limit 100
    quadrag run BENCHMARK CONFIG --split S --data-dir DIR --llm local:FOLDER
    quadrag run BENCHMARK CONFIG --rag http://127.0.0.1:9000/rag --llm-name mine
    quadrag run --recipe NAME --llm https://HOST/v1
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError

from .shared import options, session


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", metavar="BENCHMARK", nargs="?", help="left out only with --recipe and --spec")
    parser.add_argument("config", metavar="CONFIG", nargs="?", help="left out only with --all, --recipe and --spec")
    options.add(parser, f"all original split data-dir option limit recipe spec {options.SHOWING} out estimate")
    options.add(parser.add_argument_group("passages"), "retriever tokenizer embedding index chunk-size top-k")
    how = parser.add_argument_group("answers")
    options.add(how, "llm llm-name entity-llm rag prompts context temperature max-tokens seed samples")
    options.add(parser.add_argument_group("calls to models"), f"bertscore {options.JUDGING}")


def run(arguments: argparse.Namespace) -> int:
    with session.results_alone(arguments.json) as stdout:
        policy = session.call_policy(arguments)
        if policy.estimate:
            with tempfile.TemporaryDirectory(prefix="quadrag-estimate-") as scratch:
                _, sweep = _run_all(arguments, policy, Path(scratch, "run"))
            session.print_estimate(arguments, policy, stdout)
            session.print_left_out(sweep.left_out)
            return 0
        out, sweep = _run_all(arguments, policy, arguments.out and Path(arguments.out))
        page = out / "report.html"
        groups = [[(out.name, sweep.runs)]]
        session.show_results(arguments, stdout, groups, options.profiles(arguments), out, page, arguments.all)
        return session.close(arguments, sweep.runs, page, sweep.left_out)


def _run_all(arguments: argparse.Namespace, policy: Any, out: Path | None) -> tuple[Path, Any]:
    """Do the runs that were asked for, in a folder that is named by them unless the user did; return it and them."""
    from quadrag.benchmark import load
    from quadrag.run import models, plan, sweep
    from quadrag.run.run import run

    partial = session.partial_spec(arguments)
    recipes = plan.recipes_of_table(arguments.recipe)
    if arguments.all and arguments.recipe is not None:
        raise QuadragError("--all and --recipe each say what to run; give one of them")
    if arguments.original and not arguments.all:
        raise QuadragError("--original goes with --all; alone, name the config with its suffix _original")
    if arguments.rag and (arguments.all or arguments.recipe):
        raise QuadragError("--rag asks one service about one config; leave out --all and --recipe")
    if arguments.recipe is not None:
        benchmark = plan.read_recipe(recipes[0] if recipes else arguments.recipe)[1]["benchmark"]
    else:
        benchmark = plan.name_benchmark(partial)
    partial, trust = session.add_judges(arguments, partial, benchmark), policy.trust
    if recipes:
        planned = plan.plan_table(recipes, partial, trust)
        first, *_ = next(iter(planned.values()))
        out = out or Path(sweep.name_folder(first, "", arguments.recipe, variant=False))
        return out, sweep.run_table(planned, policy, out)
    # Before a ledger or a server is touched, so that a mistyped name costs nothing.
    if arguments.all:
        head = f"{benchmark}-all{'-original' * arguments.original}"
        specs = plan.plan_all(partial, arguments.original, trust)
    elif arguments.recipe is not None:
        specs, head = plan.plan_recipe(arguments.recipe, partial, trust), Path(arguments.recipe).stem
    else:
        specs, head = [plan.plan_run(partial, trust)], None
    first = specs[0]
    with models.open_models(first, policy) as opened:
        model = getattr(first.system, "name", None) or opened.system.name
        if first.replica:
            model = first.retrieval.embedding if first.replica.replaced else ""
        variant = first.replica is None and not (arguments.all and load(benchmark).corpus is None)
        out = out or Path(sweep.name_folder(first, model, head, variant))
        if head is None:
            return out, sweep.Sweep([run(first, policy, opened, out)])
        return out, sweep.run_all(specs, policy, opened, out)
