"""Draw items of a judged run for people, and correct its score by their labels.

--out writes a CSV sheet, whose column `label` is to be filled in; --page serves
a sheet to this machine alone, to be labelled by keys, and writes it first where
there is none. --people reads it back, or any CSV file with `id` and `label` of
a random draw of the run's items.

With --metric errors people sort the wrong answers of a run by what went wrong,
where the benchmark's paper does, in the same way.
"""

import argparse
import shlex
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.printing import write

from .construct.review import serve
from .shared import options
from .shared.session import print_tables

EXAMPLES = (
    "quadrag label runs/a --n 100 --out sheet.csv",
    "quadrag label runs/a --n 100 --page sheet.csv",
    "quadrag label runs/a --people sheet.csv",
    "quadrag label runs/a --metric errors --page sheet.csv",
)
_N = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="RUN", help="the folder of a run")
    parser.add_argument("--n", metavar="N", type=options.at_least(1), help=f"items (default: {_N}; of errors all)")
    parser.add_argument("--page", metavar="FILE", help="label such a sheet on a page")
    parser.add_argument("--people", metavar="FILE", help="a sheet with labels")
    parser.add_argument("--metric", metavar="NAME", help="what is graded, or errors (default: the first judged value)")
    parser.add_argument("--seed", **options.DRAW)
    about = {"out": "a file for a sheet of so many items", "data_dir": "where the data are now"}
    options.add(parser, "out port no-browser labels data-dir", **about)


def run(arguments: argparse.Namespace) -> int:
    from quadrag.judges.labelled import ERRORS, list_judged, tabulate_corrected, take_back
    from quadrag.metric_record import show_key
    from quadrag.reporting.questions import RunReader
    from quadrag.run.folder import read_result

    if sum(map(bool, (arguments.out, arguments.page, arguments.people))) != 1:
        raise QuadragError("expected one of --out, --page, --people")
    folder = Path(arguments.folder)
    reader = RunReader(folder, read_result(folder), arguments.data_dir)
    if arguments.metric == ERRORS:
        _label_errors(arguments, reader)
        return 0
    graded, items = list_judged(reader, arguments.metric)
    if arguments.people:
        labels = take_back(Path(arguments.people), items, graded)
        print_tables(arguments, [tabulate_corrected(show_key(graded.metric, graded.key), items, labels, graded)])
    else:
        _offer(arguments, graded, items, arguments.n or _N)
    return 0


def _label_errors(arguments: argparse.Namespace, reader: Any) -> None:
    """Have the wrong answers of a run sorted by what went wrong."""
    from quadrag.judges.labelled import find_classes, list_wrong, tabulate_classes, take_back
    from quadrag.provenance import Provenance
    from quadrag.reporting.notes import note_validity
    from quadrag.reporting.questions import find_metric
    from quadrag.reporting.table import title_of

    result, record = reader.result, reader.result.record
    classes = find_classes(record.benchmark, record.config)
    if record.provenance is Provenance.OWN:
        classes = classes._replace(where="")
    items = list_wrong(reader)
    if not arguments.people:
        _offer(arguments, classes.graded, items, arguments.n or len(items), classes.meanings)
        return
    labels = take_back(Path(arguments.people), items, classes.graded)
    answers = Counter(row["split"] for row in result.items)
    table = tabulate_classes(title_of(result), classes, answers, items, labels)
    metric = find_metric([[reader]], None)[0].partition(".")[2]
    table.notes += [f"Wrong: below the best {metric}.", *note_validity([result])]
    print_tables(arguments, [table])


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
