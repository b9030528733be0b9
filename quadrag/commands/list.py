"""List benchmarks, configs, splits, metrics, recipes and judges.

Of one BENCHMARK: its retrievers and options, and of each config what it asks,
its rows, languages and metrics. A recipe is a row of a published table, for
`quadrag run --recipe`; a judge a preset that asks as a paper did. Of one
recipe: each setting as the paper or its code has it, as a run has it, and why
they differ.

Examples:
    quadrag list
    quadrag list BENCHMARK
    quadrag list --recipe NAME
"""

import argparse
from collections.abc import Iterator
from typing import Any

from quadrag import catalogue
from quadrag.errors import QuadragError
from quadrag.printing import wrap, write

_WIDTH = 80


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", metavar="BENCHMARK", nargs="?", help="describe this one (default: list all)")
    parser.add_argument(
        "--recipe",
        metavar="NAME|FILE",
        help="settings of a recipe, or of all whose names begin so: BENCHMARK, BENCHMARK-table3",
    )
    parser.add_argument("--spec", action="store_true", help="with --recipe: as YAML, for `quadrag run --recipe FILE`")


def run(arguments: argparse.Namespace) -> None:
    from quadrag.run.plan import judge_presets, read_recipe, recipes

    if arguments.recipe is not None:
        from quadrag.reporting.settings import tabulate_settings
        from quadrag.reporting.text import print_tables

        begun = [name for name in recipes() if name.startswith(f"{arguments.recipe}-")]
        named = [arguments.recipe] if arguments.recipe in recipes() else begun or [arguments.recipe]
        if arguments.spec:
            import yaml

            whole: Any = {name: read_recipe(name)[1] for name in named}
            whole = whole if len(named) > 1 else whole[named[0]]
            write(yaml.safe_dump(whole, sort_keys=False, allow_unicode=True, width=_WIDTH).rstrip())
        else:
            print_tables(tabulate_settings(named))
        return
    if arguments.spec:
        raise QuadragError("--spec is for --recipe NAME; give it too, or leave it out")
    if arguments.benchmark:
        write(*_describe(catalogue.benchmark_name(arguments.benchmark)))
        return
    for benchmark in catalogue.benchmarks():
        write(f"{benchmark}: configs and splits (more: quadrag list {benchmark})")
        for name, config in catalogue.configs(benchmark).items():
            write(_hang(name, ", ".join(config.splits)))
    write("", "\n  ".join(wrap("metrics: " + ", ".join(catalogue.metrics()), _WIDTH - 2)))
    if known := recipes():
        write("\n  ".join(["recipes:", *known]))
    if presets := judge_presets():
        write("judges, as --judge NAME=http://HOST/v1:")
        write(*(_hang(name, preset.source) for name, preset in presets.items()))


def _hang(name: str, text: str, at: int = 33) -> str:
    """Write a name with a text beside it, whose further lines stand under the first."""
    return f"  {name:{at - 3}} " + f"\n{' ' * at}".join(wrap(text, _WIDTH - at))


def _describe(benchmark: str) -> Iterator[str]:
    from quadrag.benchmark import load
    from quadrag.data.card_facts import card_facts

    hub, record = card_facts(benchmark), load(benchmark)
    description = catalogue.load_script(catalogue.benchmarks()[benchmark])._DESCRIPTION
    yield from wrap(" ".join(description.split()), _WIDTH)
    yield f"Paper: {record.paper}"
    if record.option_help:
        yield _hang("--option", record.option_help, 15)
    about = {name: [retriever.help] if retriever.help else [] for name, retriever in record.retrievers.items()}
    about[record.default_retriever].insert(0, "default")
    retrievers = ", ".join(f"{name} ({', '.join(words)})" if words else name for name, words in about.items())
    yield _hang("--retriever", retrievers, 15)
    for name, config in catalogue.configs(benchmark).items():
        yield ""
        yield from wrap(f"{name}: {config.description}", _WIDTH)
        yield from (f"  {line}" for line in wrap(hub.sentence(name), _WIDTH - 2))
        asked = not record.corpus or name in record.configs
        counts = {split: known.number if (known := hub.find_rows(name, split)) else None for split in config.splits}
        rows = (f"{split} {number or 'unknown'}" for split, number in counts.items())
        yield _hang("rows", ", ".join(rows), 12)
        yield _hang("language", getattr(config, "language", None) or ", ".join(hub.language), 12)
        metrics = _list_metrics(record, name) if asked else ["none, it holds no questions"]
        yield _hang("metrics", ", ".join(metrics), 12)


def _list_metrics(benchmark: Any, config: str) -> Iterator[str]:
    from quadrag.metric_record import show_key
    from quadrag.spec import RunSpec

    retriever, retrieval = benchmark.default_retriever, benchmark.retrieval
    spec = RunSpec(benchmark=benchmark.name, config=config, retriever=retriever, retrieval=retrieval)
    for metric in benchmark.metrics(spec):
        for key in metric.keys:
            needs = " (--judge)" if key in metric.judged else " (--bertscore)" if key in metric.embedded else ""
            yield show_key(metric.module, key) + needs
