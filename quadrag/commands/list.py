"""List benchmarks, configs, splits, metrics, recipes and judges.

Of one BENCHMARK: what each config asks, its rows, languages and metrics. A
recipe is a row of a published table, for `quadrag run --recipe`; a judge a
preset that asks as a paper did, for `--judge NAME=http://HOST/v1`. Of one
recipe: each setting as the paper or its code has it, as a run has it, and why
they differ.
"""

import argparse
import json
from collections.abc import Iterator
from typing import Any

from quadrag.errors import QuadragError
from quadrag.printing import wrap, write

EXAMPLES = (
    "quadrag list",
    "quadrag list rgb",
    "quadrag list --recipe rgb-table7-chatgpt-en",
)
_WIDTH = 80
_ALL = "all"  # recipes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("benchmark", metavar="BENCHMARK", nargs="?", help="describe this one (default: list all)")
    parser.add_argument(
        "--recipe",
        metavar="NAME|FILE",
        nargs="?",
        const=_ALL,
        help="settings of a published row and of its recipe; of all whose names begin so, as rgb, crud_rag-table3; "
        "without a name the recipes there are",
    )
    parser.add_argument("--json", action="store_true", help="with --recipe: as one object for scripts")
    parser.add_argument("--spec", action="store_true", help="with --recipe: as YAML, for `quadrag run --recipe FILE`")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from quadrag import catalogue
    from quadrag.baselines.runs.plan import recipes

    if arguments.recipe == _ALL:
        own = f"{catalogue.benchmark_name(arguments.benchmark)}-" if arguments.benchmark else ""
        names = [name for name in recipes() if name.startswith(own)]
        write(json.dumps(names) if arguments.json else "\n".join(names))
        return
    if arguments.recipe is not None:
        from quadrag.baselines.report.settings import describe_settings, print_settings

        named = _find_recipes(arguments.recipe, arguments.benchmark)
        if arguments.spec:
            write(_write_recipes(named))
        elif arguments.json:
            write(json.dumps(describe_settings(named), ensure_ascii=False))
        else:
            print_settings(named)
        return
    if arguments.json or arguments.spec:
        raise QuadragError("--json and --spec are for --recipe NAME; give it too, or leave them out")
    if arguments.benchmark:
        write(*_describe(catalogue.benchmark_name(arguments.benchmark)))
        return
    for benchmark in catalogue.benchmarks():
        write(f"{benchmark}: configs and splits (more: quadrag list {benchmark})")
        for name, config in catalogue.configs(benchmark).items():
            write(_hang(name, ", ".join(config.splits)))
    metrics = wrap("metrics: " + ", ".join(catalogue.metrics()), _WIDTH)
    write("", "\n  ".join(metrics), "\n  ".join(["recipes:", *recipes()]))
    from quadrag.baselines.runs.plan import judge_presets

    write("judges, as --judge NAME=http://HOST/v1:")
    for name, preset in judge_presets().items():
        write(_hang(name, preset.source))


def _write_recipes(names: list[str]) -> str:
    """Write recipes whole, as YAML."""
    import yaml

    from quadrag.baselines.runs.plan import read_recipe

    found = {name: read_recipe(name)[1] for name in names}
    whole = found if len(names) > 1 else found[names[0]]
    return yaml.safe_dump(whole, sort_keys=False, allow_unicode=True, width=_WIDTH).rstrip()


def _hang(name: str, text: str) -> str:
    """Write a name with a text beside it, whose further lines stand under the first."""
    return f"  {name:30} " + f"\n{' ' * 33}".join(wrap(text, _WIDTH - 33))


def _find_recipes(named: str, benchmark: str | None) -> list[str]:
    """Return the recipes that a name stands for: itself, or all whose names begin so.

    Raises:
        QuadragError: there are none, or they are of another benchmark than the one that is named too.
    """
    from quadrag import catalogue
    from quadrag.baselines.runs.plan import read_recipe, recipes

    known = recipes()
    begun = [] if named in known else [name for name in known if name.startswith(f"{named}-")]
    found = begun or [named]
    own = read_recipe(found[0])[1]["benchmark"]
    if benchmark and catalogue.benchmark_name(benchmark) != own:
        raise QuadragError(f"the recipe {named} is for {own}, not {benchmark}; leave {benchmark} out")
    return found


def _describe(benchmark: str) -> Iterator[str]:
    """Yield the lines on a benchmark: what it is, and of each config what it asks and holds."""
    from rich.cells import set_cell_size

    from quadrag import catalogue
    from quadrag.baselines.core.benchmark import load
    from quadrag.hub.record import hub_record

    hub, record = hub_record(benchmark), load(benchmark)
    about = catalogue.load_script(catalogue.benchmarks()[benchmark])._DESCRIPTION
    yield from wrap(" ".join(about.split()), _WIDTH)
    yield f"Paper: {record.paper}"
    for name, config in catalogue.configs(benchmark).items():
        yield ""
        yield from wrap(f"{name}: {config.description}", _WIDTH)
        yield from (f"  {line}" for line in wrap(hub.sentences[name], _WIDTH - 2))
        asked = not record.corpus or name in record.configs
        facts = {
            "rows": _list_rows(hub.rows[name]),
            "language": getattr(config, "language", None) or ", ".join(hub.languages),
            "metrics": _list_metrics(record, name) if asked else "none, it holds no questions to run",
        }
        for fact, text in facts.items():
            first, *more = wrap(text, _WIDTH - 12)
            yield f"  {set_cell_size(fact, 10)}{first}"
            yield from (" " * 12 + line for line in more)


def _list_rows(rows: Any) -> str:
    """List the splits with their rows, those that have as many together."""
    alike: dict[str, list[str]] = {}
    for split, one in rows.items():
        unknown = f"unknown ({one.source})"
        number = unknown if one.number is None else f"{'about ' if one.about else ''}{one.number:,}"
        alike.setdefault(number, []).append(split)
    return "; ".join(
        ", ".join(splits) + ": " + number + " each" * (len(splits) > 1 and number[0].isdigit())
        for number, splits in alike.items()
    )


def _list_metrics(benchmark: Any, config: str) -> str:
    """List the keys of a config's metrics, what some of them need before them."""
    from quadrag.baselines.core.spec import RunSpec
    from quadrag.metric_record import show_key

    task = RunSpec(
        benchmark=benchmark.name,
        config=config,
        retriever=benchmark.default_retriever,
        retrieval=benchmark.retrieval,
    )
    found: dict[str, list[str]] = {}
    for metric in benchmark.metrics(config, task.conditions):
        for key in metric.keys:
            needs = "with --judge: " if key in metric.judged else "with --bertscore: " if key in metric.embedded else ""
            found.setdefault(needs, []).append(show_key(metric.module, key))
    return "; ".join(needs + ", ".join(keys) for needs, keys in sorted(found.items()))
