"""Answer a benchmark's questions, score the answers and print the table.

Every stage is a file of the run's folder, and every reply is kept the moment it
arrives: the same command goes on with what a stopped run left. Without --llm
the answer is the sentence most like the question. Exit code 2 after bad input,
a dead server or a reached budget, 3 of an invalid measurement.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError

from .shared import options, session

EXAMPLES = (
    "quadrag run BENCHMARK CONFIG --llm http://127.0.0.1:8080/v1",
    "quadrag run BENCHMARK --all --llm http://HOST/v1 --judge http://OTHER/v1",
    "quadrag run BENCHMARK CONFIG --tokenizer jieba --top-k 4 --limit 100",
    "quadrag run BENCHMARK CONFIG --split S --data-dir DIR --llm local:FOLDER",
    "quadrag run BENCHMARK CONFIG --rag http://127.0.0.1:9000/rag --llm-name mine",
    "quadrag run --recipe NAME --llm https://HOST/v1",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", metavar="BENCHMARK", nargs="?", help="left out only with --recipe and --spec")
    parser.add_argument("config", metavar="CONFIG", nargs="?", help="left out only with --all, --recipe and --spec")
    options.add(parser, f"all original split data-dir option limit recipe spec {options.SHOWING} out estimate")
    options.add(parser.add_argument_group("passages"), "retriever tokenizer embedding index chunk-size top-k")
    how = parser.add_argument_group("answers")
    options.add(how, "llm llm-name entity-llm rag prompts temperature max-tokens seed samples")
    options.add(parser.add_argument_group("calls to models"), f"bertscore {options.JUDGING}")


def run(arguments: argparse.Namespace) -> int:
    with session.results_alone(arguments.json) as stdout:
        if estimate := session.start_estimate(arguments):
            with tempfile.TemporaryDirectory(prefix="quadrag-estimate-") as aside:
                _, sweep = _run_all(arguments, estimate, Path(aside))
            session.print_estimate(arguments, estimate, stdout)
            session.print_left_out(sweep.left_out)
            return 0
        out, sweep = _run_all(arguments)
        groups, profiles = [[(out.name, sweep.runs)]], options.profiles(arguments)
        return session.show_results(arguments, stdout, groups, out, profiles, arguments.all, sweep.left_out)


def _run_all(arguments: argparse.Namespace, estimate: Any = None, aside: Path | None = None) -> tuple[Path, Any]:
    """Do the runs that were asked for, in their own folder or `aside`; return it and them."""
    from quadrag.benchmark import load
    from quadrag.run import plan
    from quadrag.run import sweep as sweeps
    from quadrag.run.models import open_models
    from quadrag.run.run import run

    policy, partial = session.call_policy(arguments, estimate), session.partial_spec(arguments)
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

    def place(name: str) -> Path:
        return aside / "run" if aside else Path(arguments.out or name)

    if recipes:
        planned = plan.plan_table(recipes, partial, trust)
        first, *_ = next(iter(planned.values()))
        out = place(sweeps.name_folder(first, "", arguments.recipe, variant=False))
        return out, sweeps.run_table(planned, policy, out)
    # Before a ledger or a server is touched, so that a mistyped name costs nothing.
    if arguments.all:
        head = f"{benchmark}-all{'-original' * arguments.original}"
        specs = plan.plan_all(partial, arguments.original, trust)
    elif arguments.recipe is not None:
        specs, head = plan.plan_recipe(arguments.recipe, partial, trust), Path(arguments.recipe).stem
    else:
        specs, head = [plan.plan_run(partial, trust)], None
    first = specs[0]
    with open_models(first, policy) as models:
        model = getattr(first.system, "name", None) or models.system.name
        if first.replica:
            model = first.retrieval.embedding if first.replica.replaced else ""
        variant = first.replica is None and not (arguments.all and load(benchmark).corpus is None)
        out = place(sweeps.name_folder(first, model, head, variant))
        if head is None:
            return out, sweeps.Sweep([run(first, policy, models, out)])
        return out, sweeps.run_all(specs, policy, models, out)
