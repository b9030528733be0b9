"""The command line: reads arguments, calls the pipeline, prints tables, and turns bad input into one line and code 2.

The one file of quadrag that calls `quadrag.baselines`; it does so inside the commands, so that help answers at once.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from quadrag import __version__
from quadrag.arguments import parse
from quadrag.errors import QuadragError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: the arguments without the program's name; those of the process when None.

    Returns:
        0, or 2 after bad input, a dead server or a reached budget; the reason is then one line on stderr.
    """
    arguments = parse(__version__, argv)
    arguments.typed = sys.argv[1:] if argv is None else list(argv)
    for stream in (sys.stdout, sys.stderr):
        # A terminal or pipe that cannot show a sign shows another, and the run is not lost.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    # Set before the libraries load: neither their bars nor their notes belong between our lines.
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    try:
        code = int(globals()[f"_{arguments.command}"](arguments) or 0)
        sys.stdout.flush()
        return code
    except QuadragError as error:
        print(f"quadrag: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("quadrag: stopped; run the same command again to go on", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of a pipe (head, less) has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        # A full disk, a folder that may not be written: files are whole or not there, so the place says it all.
        print(f"quadrag: {error.filename or 'the system'}: {error.strerror or error}{_remedy(error)}", file=sys.stderr)
        return 2


def _remedy(error: OSError) -> str:
    """Say what to do about a cache folder that cannot be written."""
    from quadrag.paths import cache_dir

    cache, place = cache_dir(), Path(str(error.filename))
    mine = place == cache or cache in place.parents or place in cache.parents
    return f"; expected a cache folder that can be written, name one with QUADRAG_CACHE (now {cache})" if mine else ""


def _kg(arguments: argparse.Namespace) -> None:
    if arguments.action == "serve":
        from quadrag.kg.serve import serve

        def ready(address: str) -> None:
            print(f"serving {arguments.graph} at {address}, until Ctrl-C", flush=True)

        serve(arguments.graph, arguments.host, arguments.port, arguments.query_time, ready)
        return
    from quadrag.kg.build import Step, build
    from quadrag.progress import Progress

    with Progress("reading", 1) as progress:

        def step(now: Step) -> None:
            progress.update(now.done, now.total)

        built = build(Path(arguments.source), Path(arguments.target), step)
    for name, rows in built.rows.items():
        print(f"{name}: {rows:,}")
    if built.lacking:
        print(f"not there, and so without its functions: {', '.join(built.lacking)}")
    print(f"\n{built.path}")


def _list(arguments: argparse.Namespace) -> None:
    from quadrag import catalogue

    for benchmark in catalogue.benchmarks():
        print(f"{benchmark}: configs and splits")
        for name, config in catalogue.configs(benchmark).items():
            print(f"  {name:30} {', '.join(config.splits)}")
    print("\nmetrics: " + ", ".join(catalogue.metrics()))
    print("recipes:", *catalogue.recipes(), sep="\n  ")
    from quadrag.baselines.models import JUDGES

    print("judges, as --judge NAME=http://HOST/v1:")
    for name, preset in JUDGES.items():
        print(f"  {name:30} {preset.source}")


def _prepare(arguments: argparse.Namespace) -> None:
    from quadrag.data import built_from
    from quadrag.prepare import prepare

    done = prepare(
        arguments.benchmark, arguments.config, arguments.data_dir, lambda name: print(f"building {name}", flush=True)
    )
    for name, rows in done.built.items():
        print(f"{name}: " + ", ".join(f"{split} {count}" for split, count in rows.items()))
    for name, files in done.partial.items():
        print(f"{name}: built without {', '.join(files)}")
    for name, files in done.lacking.items():
        print(f"{name}: not built, {arguments.data_dir} lacks {', '.join(files)}")
        before = built_from(arguments.benchmark, name)
        if before:
            print(f"  its bare name still loads what was prepared before, from: {before}")
    print("metrics: " + ", ".join(done.metrics))
    name, rows = next(iter(done.built.items()))
    print(f'now: load_dataset("{arguments.benchmark}", "{name}", split="{next(iter(rows))}")')


def _run(arguments: argparse.Namespace) -> int:
    from quadrag.baselines import campaign, recipe, report
    from quadrag.baselines.grid import print_grids

    profiles = ("official", "corrected") if arguments.profile == "both" else (arguments.profile,)
    lacking: list[tuple[str, list[str]]] = []
    recipes = recipe.swept(arguments.recipe)
    runs = None if recipes else recipe.planned(arguments)
    page = None  # where it has more than the terminal
    budget = _budget(arguments)
    if recipes:
        recipe.check_models(recipes, arguments.llm)
        out = Path(arguments.out or f"runs/{arguments.recipe}")
        results, lacking = _sweep(arguments, recipes, out, budget)
        grids = report.swept_grids(results[0][1].info["inputs"]["benchmark"], [r for _, r in results], profiles)
    elif runs is None:
        # Before a ledger or a server is touched, so that a mistyped name costs nothing.
        task = campaign.task(arguments)
        out = Path(arguments.out or campaign.default_out(task))
        with _session(arguments, budget) as session:
            results = [(out, session.run(task, out))]
        grids = report.config_grids(results[0][1], profiles, arguments.labels)
        page = report.config_grids(results[0][1], profiles, arguments.labels, whole_page=True)
    else:
        out = Path(arguments.out or campaign.campaign_out(arguments, runs))
        with _session(arguments, budget) as session:
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
    return _closing(results)


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
            with _session(one, budget) as session:
                found, missing = campaign.run_all(session, one, runs, out / recipe)
        except QuadragError as error:
            done = f"; `quadrag report {out}` shows what is done" if results else ""
            raise QuadragError(f"{recipe}: {error}{done}") from error
        results += found
        lacking.update(missing)
        if found[-1][1].stopped:
            break
    return results, list(lacking.items())


def _budget(arguments: argparse.Namespace) -> Any:
    """Return what the command may spend on all its models together; None where nothing bounds it."""
    if arguments.budget is None:
        return None
    if not arguments.prices:
        raise QuadragError("--budget needs the prices of the models; name a price file with --prices")
    from quadrag.prices import Budget, Prices

    return Budget(arguments.budget, Prices.load(arguments.prices).currency)


def _closing(results: Sequence[tuple[Path, Any]]) -> int:
    """Say what failed and what stopped; the exit code."""
    failures = {place: why for _, result in results for place, why in (result.info.get("failures") or {}).items()}
    stopped = [result.stopped for _, result in results if result.stopped]
    if failures and not stopped:
        place, why = next(iter(failures.items()))
        print(f"{len(failures)} answers failed and are unscored (first, {place}: {why}); run again to ask them again")
    verdicts = sum(result.info.get("failed_verdicts") or 0 for _, result in results)
    if verdicts and not stopped:
        print(f"{verdicts} verdicts failed and are unscored; run again to ask them again")
    if stopped:
        print(f"quadrag: {stopped[0]}", file=sys.stderr)
    return 2 if stopped else 0


@contextlib.contextmanager
def _session(arguments: argparse.Namespace, budget: Any) -> Iterator[Any]:
    """Open the models and the ledger that the arguments name, and close them."""
    from quadrag.baselines.benchmark import load
    from quadrag.baselines.campaign import time_limit
    from quadrag.baselines.models import Embedding, check_roles, judge_spec, open_model
    from quadrag.baselines.pipeline import Session
    from quadrag.baselines.score import verdict_format
    from quadrag.ledger import Ledger
    from quadrag.prices import Prices

    prices = Prices.load(arguments.prices) if arguments.prices else None
    embed = Embedding(arguments.bertscore) if arguments.bertscore else None
    llm_spec = getattr(arguments, "llm", None) or "extractive"
    with contextlib.ExitStack() as stack:
        if llm_spec == "extractive" and not arguments.judge:
            yield Session(command=_command(arguments), embed=embed)
            return
        ledger = stack.enter_context(Ledger(arguments.ledger))
        common: dict[str, Any] = {
            "ledger": ledger,
            "concurrency": arguments.concurrency,
            "prices": prices,
            "budget": budget,
            "replay": arguments.replay,
        }
        temperature = getattr(arguments, "temperature", None)
        asked = {
            "temperature": load(arguments.benchmark).TEMPERATURE if temperature is None else temperature,
            "top_p": getattr(arguments, "top_p", None),
            "max_tokens": getattr(arguments, "max_tokens", None),
            "seed": getattr(arguments, "seed", None),
        }
        llm = open_model(llm_spec, parameters=asked, time_limit=time_limit(arguments), **common)
        judges: list[Any] = []
        check_roles(arguments.judge)
        for role, named in enumerate(arguments.judge):
            shape = verdict_format(load(arguments.benchmark), arguments.judge_format, role)
            spec, preset = judge_spec(named)
            verdict = {"temperature": 0, "max_tokens": arguments.judge_max_tokens, **preset, **shape}
            judge = open_model(spec, parameters=verdict, **common)
            if judge is None or spec.startswith("challenge:"):
                raise QuadragError(f"--judge {spec} judges nothing; expected http://host:port/v1#model or the like")
            judges.append(judge)
        for model in (llm, *judges):
            if model is not None:
                stack.callback(model.close)
        yield Session(llm, judges, _command(arguments), embed)


def _score(arguments: argparse.Namespace) -> int:
    from quadrag.baselines import campaign, report
    from quadrag.baselines.grid import print_grids

    campaign.task(arguments)  # before a ledger or a server is touched, so that a mistyped name costs nothing
    profiles = ("official", "corrected") if arguments.profile == "both" else (arguments.profile,)
    with _session(arguments, _budget(arguments)) as session:
        result = campaign.score_file(session, arguments)
    print_grids(report.config_grids(result, profiles, arguments.labels))
    if arguments.out:
        page = report.config_grids(result, profiles, arguments.labels, whole_page=True)
        report.write_page(Path(arguments.out) / "report.html", "quadrag: score", [result], page)
        print(f"\n{Path(arguments.out) / 'report.html'}")
    return _closing([(Path(arguments.answers), result)])


def _report(arguments: argparse.Namespace) -> None:
    from quadrag.baselines import campaign, report
    from quadrag.baselines.grid import print_grids

    runs = campaign.read_runs(arguments.runs)
    results = [result for _, parts in runs for result in parts]
    profiles = (arguments.profile,) if arguments.profile else ("official", "corrected")
    page = None  # where it has more than the terminal
    if len(runs) > 1:
        for name, parts in runs:
            campaign.one_of_each(name, parts)
        merged = [(name, report.merged(parts)) for name, parts in runs]
        grids = [report.comparison(merged, arguments.profile or "official")]
    elif len(results) > 1:
        grids = []
        for benchmark in dict.fromkeys(result.info["inputs"]["benchmark"] for result in results):
            ours = [result for result in results if result.info["inputs"]["benchmark"] == benchmark]
            grids += report.swept_grids(benchmark, ours, profiles)
    else:
        grids = report.config_grids(results[0], profiles, arguments.labels)
        page = report.config_grids(results[0], profiles, arguments.labels, whole_page=True)
    print_grids(grids)
    if arguments.html:
        report.write_page(Path(arguments.html), "quadrag: report", results, page or grids)
        print(f"\n{arguments.html}")


def _export(arguments: argparse.Namespace) -> None:
    from quadrag.export import export

    def progress(what: str, rows: int) -> None:
        if not rows:
            print(f"writing {what}", file=sys.stderr, flush=True)

    done = export(Path(arguments.folder), arguments.benchmark, arguments.data_dir, arguments.accept_licence, progress)
    for one in done:
        rows = sum(count for splits in one.rows.values() for count in splits.values())
        size = f", {one.size / 1e6:,.1f} MB" if isinstance(one.size, (int, float)) else ""
        what = "a card with the way to the data" if one.kind == "recipe" else f"{rows:,} rows{size}"
        print(f"{one.folder}: {what}{'' if one.made else ', written before'}")
        for config, files in one.lacking.items():
            print(f"  {config}: without {', '.join(files)}")


def _harness(arguments: argparse.Namespace) -> None:
    from quadrag import harnesses

    print(harnesses.path(arguments.name))


def _recall(arguments: argparse.Namespace) -> int:
    import itertools

    from quadrag.baselines import campaign, crag
    from quadrag.baselines.grid import print_grids
    from quadrag.baselines.recall import parse_cuts
    from quadrag.baselines.recall_table import run_recall
    from quadrag.baselines.task import load_rows
    from quadrag.progress import Progress

    if (arguments.benchmark, arguments.config) not in {("crag", config) for config in crag.PAGES}:
        raise QuadragError(
            f"{arguments.benchmark} {arguments.config} has no pages; expected crag {' or '.join(crag.PAGES)}"
        )
    cuts = parse_cuts(arguments.pages or ("1,2,5,10,20,50" if arguments.config == "task_3" else "1,2,3,4,5"))
    found, source, known = load_rows(
        arguments.benchmark,
        arguments.config,
        arguments.data_dir,
        campaign.read_options(arguments.option),
        arguments.split,
    )
    rows = itertools.islice(found, arguments.limit)
    out = Path(arguments.out) if arguments.out else None
    source = f"{arguments.config} {arguments.split}, {source}"
    with (
        _session(arguments, _budget(arguments)) as session,
        Progress("questions", arguments.limit or known or 1) as bar,
    ):
        if len(session.judges) > 1:
            raise QuadragError(f"recall asks one judge, and {len(session.judges)} were named; give --judge once")
        judge = session.judges[0] if session.judges else None
        grid, stopped = run_recall(
            rows, cuts, judge, source, out, lambda done: bar.update(done, max(done, arguments.limit or known or done))
        )
    print_grids([grid])
    if out:
        print(f"\n{out}")
    if stopped:
        print(f"quadrag: {stopped}", file=sys.stderr)
    return 2 if stopped else 0


_DEMO = {
    "omnieval": "OmniEval on the bundled sample: 208 made-up questions in 80 cells over 144 passages, found by BM25",
    "rgb": "RGB on the bundled sample: 12 made-up questions a file",
    "crag": "CRAG on the bundled sample: made-up questions with pages, and a small knowledge graph",
    "crud_rag": "CRUD-RAG on the bundled sample: 8 made-up questions a task over some 130 articles, found by BM25",
}


def _demo(arguments: argparse.Namespace) -> None:
    import tempfile

    from quadrag.baselines import campaign, report
    from quadrag.baselines.benchmark import known
    from quadrag.baselines.grid import print_grids

    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        out = Path(arguments.out or stack.enter_context(tempfile.TemporaryDirectory(prefix="quadrag-")))
        results = []
        for name in known():
            runs = campaign.demo(name, out)
            results += runs
            grids = report.paper_grids(name, [result for _, result in runs])
            if len(runs) == 1:
                grids += report.matrices(runs[0][1])
            print(f"{_DEMO[name]}, answered by the most similar sentence.")
            print_grids(grids)
            print()
            if arguments.out:
                page = out / name / "report.html"
                report.write_page(page, f"quadrag demo: {name} on the bundled sample", [r for _, r in runs], grids)
                print(f"{page}\n")
    print(f"{len(results)} runs in {time.monotonic() - started:.1f} s, without a model or a network. The sample shows")
    print("that all works; it measures nothing. Next: quadrag run rgb noise_robustness_en --llm http://HOST:PORT/v1")


def _command(arguments: argparse.Namespace) -> list[str]:
    """Return the command as typed, less user names, passwords and queries in addresses."""
    return [
        "quadrag",
        *(re.sub(r"(\w+://)[^/,\s]*@", r"\1", re.sub(r"\?[^#\s]*", "", word)) for word in arguments.typed),
    ]
