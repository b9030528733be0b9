"""Draw items of a judged run for people, and correct its score by their labels.

--out writes a CSV sheet, whose column `label` is to be filled in; --page serves
a sheet to this machine alone, to be labelled by keys, and writes it first where
there is none. --people reads it back, or any CSV file with `id` and `label` of
a random draw of the run's items.

With --metric errors the wrong answers of a run are sorted by what went wrong,
where the benchmark's paper does: by people in the same way, or by a model,
--judge, into RUN/errors.jsonl, of which --people takes a corrected copy.
"""

import argparse
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.printing import write
from quadrag.progress import say
from quadrag.records import write_jsonl

from .certify_judge import open_judge
from .construct.review import serve
from .shared import options
from .shared.session import call_policy, print_tables

EXAMPLES = (
    "quadrag label runs/a --n 100 --out sheet.csv",
    "quadrag label runs/a --n 100 --page sheet.csv",
    "quadrag label runs/a --people sheet.csv",
    "quadrag label runs/a --metric errors --judge http://HOST/v1",
)
_N = 100
_ERRORS = "errors.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="RUN", help="the folder of a run")
    parser.add_argument("--n", metavar="N", type=options.at_least(1), help=f"items (default: {_N}; of errors all)")
    parser.add_argument("--page", metavar="FILE", help="label such a sheet on a page")
    parser.add_argument("--people", metavar="FILE", help="a sheet with labels")
    parser.add_argument("--metric", metavar="NAME", help="what is graded, or errors (default: the first judged value)")
    parser.add_argument("--seed", **options.DRAW)
    about = {"out": "a file for a sheet of so many items", "data_dir": "where the data are now"}
    options.add(parser, "out port no-browser labels data-dir spec", **about)
    options.add(parser.add_argument_group("calls to models"), options.JUDGING)


def run(arguments: argparse.Namespace) -> int:
    from quadrag.judges.classes import ERRORS
    from quadrag.judges.corrected import tabulate_corrected
    from quadrag.judges.labelled import list_judged, take_back
    from quadrag.metric_record import show_key
    from quadrag.reporting.questions import RunReader
    from quadrag.run.finished import read_result

    errors = arguments.metric == ERRORS
    if sum(map(bool, (arguments.out, arguments.page, arguments.people, errors and arguments.judge))) != 1:
        raise QuadragError("expected one of --out, --page, --people, or --metric errors with --judge")
    folder = Path(arguments.folder)
    reader = RunReader(folder, read_result(folder), arguments.data_dir)
    if errors:
        return _label_errors(arguments, reader)
    graded, items = list_judged(reader, arguments.metric)
    if arguments.people:
        labels = take_back(Path(arguments.people), items, graded)
        print_tables(arguments, [tabulate_corrected(show_key(graded.metric, graded.key), items, labels, graded)])
    else:
        _offer(arguments, graded, items, arguments.n or _N)
    return 0


def _label_errors(arguments: argparse.Namespace, reader: Any) -> int:
    """Sort the wrong answers of a run by what went wrong; the exit code is 3 where too many verdicts failed."""
    from quadrag.judges.classes import Sorted, find_classes, sort_by_judge, tabulate_classes
    from quadrag.judges.labelled import list_wrong, take_back
    from quadrag.progress import Progress
    from quadrag.provenance import Provenance
    from quadrag.reporting.names import title_of
    from quadrag.reporting.notes import note_validity
    from quadrag.reporting.questions import find_metric

    result, record = reader.result, reader.result.record
    classes = find_classes(record.benchmark, record.config)
    if record.whose is Provenance.OWN:
        classes = replace(classes, where="")
    items = list_wrong(reader)
    if arguments.people:
        labels, by = Sorted(take_back(Path(arguments.people), items, classes.graded).grades, {}), "people"
    elif arguments.judge:
        opened = open_judge(arguments, record.benchmark, record.config)
        with opened as judge, Progress("verdicts", len(items) or 1) as progress:
            judge.on_progress = progress.update
            labels, by = sort_by_judge(items, classes, judge), judge.model
        grades, reasons = labels.grades, labels.reasons
        lines = ({"id": each.id, "label": grades.get(each.id), "reason": reasons.get(each.id)} for each in items)
        write_jsonl(Path(arguments.folder) / _ERRORS, lines)
        if labels.failed > len(items) * call_policy(arguments).max_failed:
            counts = ", ".join(f"{n} {reason}" for reason, n in Counter(labels.reasons.values()).items())
            say(f"INVALID, {labels.failed} of {len(items)} verdicts failed ({counts})")
            return 3
    else:
        _offer(arguments, classes.graded, items, arguments.n or len(items), classes.classes)
        return 0
    answers = Counter(row["split"] for row in result.items)
    table = tabulate_classes(title_of(result), classes, answers, items, labels)
    metric = find_metric([[reader]], None)[0].partition(".")[2]
    table.notes += [f"Wrong: below the best {metric}. Sorted by {by}.", *note_validity([result])]
    print_tables(arguments, [table])
    if arguments.judge:
        write("", Path(arguments.folder) / _ERRORS)
    return 0


def _offer(
    arguments: argparse.Namespace, graded: Any, items: Any, n: int, meanings: Mapping[str, str] | None = None
) -> None:
    """Write a sheet of n items, or label one on a page."""
    from quadrag.judges.labelled import draw_sheet, label_sheet
    from quadrag.sheet import write_sheet

    sheet = Path(arguments.out or arguments.page)
    if not (arguments.page and sheet.exists()):
        rows = draw_sheet(items, n, graded, arguments.seed, arguments.labels)
        write_sheet(sheet, rows)
        write(f"{sheet}: {len(rows) - 1} of {len(items)} items", graded.asks)
        write(*(f"{name}: {meaning}" for name, meaning in (meanings or {}).items()))
    typed = {"--people": str(sheet), "--metric": arguments.metric, "--data-dir": arguments.data_dir}
    words = [word for name, value in typed.items() if value is not None for word in (name, value)]
    back = shlex.join(["quadrag", "label", arguments.folder, *words])
    if arguments.page:
        serve(arguments, label_sheet(sheet, graded, arguments.labels), str(sheet), back)
    else:
        write(f"Fill in the column label: {graded.spelled}.", f"next: {back}")
