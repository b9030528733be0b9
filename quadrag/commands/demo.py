"""Run the bundled samples of all benchmarks, with no network and no model.

Answers are the sentences most like the questions, so the numbers measure
nothing: they show that all works, and what a result looks like. It takes some
seconds, and ends with a page on which all tables stand. With --llm a model
answers those samples that are in the language of --labels; none judges.

Examples:
    quadrag demo
    quadrag demo --llm http://127.0.0.1:8080/v1
    quadrag demo --llm local:SmolLM2-135M-Instruct.Q4_1.gguf
"""

import argparse
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from quadrag.printing import write

from .shared import options, session

_FEW = 4  # questions of a split, which a small model answers within minutes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    llm = "what answers: http://HOST:PORT/v1#MODEL | provider:MODEL | local:MODEL"
    out = "for run folders and report.html (default: runs/demo, with --llm runs/demo-MODEL)"
    limit = f"the first N questions of every split (default: all, with --llm {_FEW})"
    options.add(parser, "llm limit out labels", llm=llm, out=out, limit=limit)
    parser.set_defaults(json=False)


def run(arguments: argparse.Namespace) -> int:
    llm = arguments.llm
    # Before what takes seconds to load.
    answered = "so few questions measure little" if llm else "answered without a model: the numbers measure nothing"
    write(f"Made-up samples, {answered}.")
    from quadrag.benchmark import load
    from quadrag.chat.keys import hide_user
    from quadrag.reporting import table, tables, text
    from quadrag.reporting.page.page import write_page
    from quadrag.results.items import pick_headlines
    from quadrag.run import models, sweep

    policy = replace(session.call_policy(arguments), max_failed=1.0)  # one of four that was cut says little
    plans = sweep.plan_demo(llm, arguments.limit or (_FEW if llm else None), arguments.labels)
    first = next(iter(plans.values()))[0]
    results: list[Any] = []
    with models.open_models(first, policy) as opened:
        usual = sweep.name_folder(first, opened.system.name, "demo", variant=False) if llm else "runs/demo"
        out = Path(arguments.out or usual)
        for name, specs in plans.items():
            runs = sweep.run_demo(name, specs, policy, opened, out)
            heads = [
                (result.folder.name, pick_headlines(result.scores, "official")[0]) for result in runs if result.folder
            ]
            lines = [table.Row(f"{folder} {score.label}", tables.headline_cells(score)) for folder, score in heads]
            columns = ["value", "95% interval", "n"]
            shown = table.Table(load(name).sample, "task and metric", columns, lines)
            text.print_tables([shown], language=arguments.labels)
            results[:0] = runs  # the page begins with what a terminal ends with
    page, systems = out / "report.html", [("demo", results)]
    write_page(page, systems, tables.tabulate(systems, labels=arguments.labels, page=True), arguments.labels)
    code = session.close(arguments, results, None)
    write("", f"All tables, beside the papers' numbers: {page}")
    run = results[0].record
    asked = shlex.quote(hide_user(llm)) if llm else "http://HOST:PORT/v1"
    write(f"next: quadrag run {run.benchmark} {run.config} --llm {asked}")
    return code
