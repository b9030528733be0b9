"""Draw items of a judged run for people, and correct its score by their labels.

--out writes a CSV sheet, whose column `label` is to be filled in; --page serves
a sheet to this machine alone, to be labelled by keys, and writes it first where
there is none. --people reads it back, or any CSV file with `id` and `label` of
a random draw of the run's items.

With --metric errors people sort the wrong answers of a run by what went wrong,
where the benchmark's paper does, in the same way.

Examples:
    quadrag label runs/a --n 100 --out sheet.csv
    quadrag label runs/a --n 100 --page sheet.csv
    quadrag label runs/a --people sheet.csv
    quadrag label runs/a --metric errors --page sheet.csv
"""

import argparse
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.printing import write

from .construct.review import serve
from .shared import options

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


def run(arguments: argparse.Namespace) -> None:
    from quadrag.judges import labelled
    from quadrag.metric_record import show_key
    from quadrag.reporting import questions, text
    from quadrag.run.folder import read_result

    if sum(map(bool, (arguments.out, arguments.page, arguments.people))) != 1:
        raise QuadragError("expected one of --out, --page, --people")
    folder = Path(arguments.folder)
    reader = questions.RunReader(folder, read_result(folder), arguments.data_dir)
    if arguments.metric == labelled.ERRORS:
        _label_errors(arguments, reader)
        return
    graded, items = labelled.list_judged(reader, arguments.metric)
    if arguments.people:
        labels = labelled.take_back(Path(arguments.people), items, graded)
        table = labelled.tabulate_corrected(show_key(graded.metric, graded.key), items, labels, graded)
        text.print_tables([table], language=arguments.labels)
    else:
        _offer_sheet(arguments, graded, items, arguments.n or _N)


def _label_errors(arguments: argparse.Namespace, reader: Any) -> None:
    from quadrag.judges import labelled
    from quadrag.provenance import Provenance
    from quadrag.reporting import notes, questions, table, text

    result, record = reader.result, reader.result.record
    classes = labelled.find_classes(record.benchmark, record.config)
    if record.provenance is Provenance.OWN:
        classes = classes._replace(where="")
    items = labelled.list_wrong(reader)
    if not arguments.people:
        _offer_sheet(arguments, classes.graded, items, arguments.n or len(items), classes.meanings)
        return
    labels = labelled.take_back(Path(arguments.people), items, classes.graded)
    answers = Counter(row["split"] for row in result.items)
    shown = labelled.tabulate_classes(table.title_of(result), classes, answers, items, labels)
    metric = questions.find_metric([[reader]], None)[0].partition(".")[2]
    shown.notes += [f"Wrong: below the best {metric}.", *notes.note_validity([result])]
    text.print_tables([shown], language=arguments.labels)


def _offer_sheet(
    arguments: argparse.Namespace, graded: Any, items: Any, n: int, meanings: Mapping[str, str] | None = None
) -> None:
    from quadrag.judges.labelled import draw_sheet, label_sheet
    from quadrag.sheet import write_sheet

    sheet = Path(arguments.out or arguments.page)
    if not (arguments.page and sheet.exists()):
        rows = draw_sheet(items, n, graded, arguments.seed, arguments.labels)
        write_sheet(sheet, rows)
        write(f"{sheet}: {len(rows) - 1} of {len(items)} items", graded.asks)
        write(*(f"{name}: {meaning}" for name, meaning in (meanings or {}).items()))
    if arguments.page:
        serve(arguments, label_sheet(sheet, graded, arguments.labels), str(sheet))
    else:
        write(f"Fill in the column label: {graded.spelled}; then give --people {sheet} in place of --out.")
