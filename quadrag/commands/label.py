"""Draw items of a judged run for people, and correct its score by their labels.

--out writes a CSV sheet, whose column `label` is to be filled in; --page serves
a sheet to this machine alone, to be labelled by keys, and writes it first where
there is none. --people reads it back, or any CSV file with `id` and `label` of
a random draw of the run's items.
"""

import argparse
import shlex
from pathlib import Path
from typing import Any

from quadrag.commands.construct.review import add_page
from quadrag.commands.shared import options
from quadrag.commands.shared.session import print_tables, tell
from quadrag.errors import QuadragError
from quadrag.metric_record import show_key
from quadrag.printing import write

EXAMPLES = (
    "quadrag label runs/a --n 100 --out sheet.csv",
    "quadrag label runs/a --n 100 --page sheet.csv",
    "quadrag label runs/a --people sheet.csv",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("folder", metavar="RUN", help="the folder of a judged run")
    parser.add_argument("--n", metavar="N", type=options.whole(1), default=100, help="items to label (default: 100)")
    parser.add_argument("--out", metavar="FILE", help="write a sheet of so many items here")
    parser.add_argument("--page", metavar="FILE", help="label such a sheet on a page, at any free port")
    parser.add_argument("--people", metavar="FILE", help="a sheet with labels")
    parser.add_argument("--metric", metavar="NAME", help="what is graded (default: the first judged value of the run)")
    parser.add_argument("--seed", metavar="N", type=options.whole(0), default=2333, help="of the draw (default: 2333)")
    add_page(parser)
    options.labels(parser, "the sheet, its page and of tables")
    parser.add_argument("--data-dir", metavar="DIR", help="where the data are now (default: where they were)")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from quadrag.baselines.judges.corrected import UNREAD, correct, draw_sheet, tabulate_corrected, take_back
    from quadrag.sheet import refuse_filled, write_sheet

    if sum(map(bool, (arguments.out, arguments.page, arguments.people))) != 1:
        raise QuadragError("give --out or --page for a new sheet, or --people to take one back")
    graded, items = _read_items(arguments)
    if out := arguments.out or arguments.page:
        sheet = Path(out)
        if arguments.page and sheet.exists():
            _serve(arguments, sheet, graded)
            return
        refuse_filled(sheet)
        rows, given = draw_sheet(items, arguments.n, graded, arguments.seed, arguments.labels)
        grades = {f"{value:g}": grade for grade, value in graded.grades.items() if value is not None}
        said = "; ".join(
            f"{count} without a verdict" if name == UNREAD else f"{count} scored as {grades.get(name, name)}"
            for name, count in given.items()
        )
        write_sheet(sheet, rows)
        tell(arguments, f"{out}: {sum(given.values())} of {len(items)} items ({said})", graded.asks)
        if arguments.page:
            _serve(arguments, sheet, graded)
            return
        tell(arguments, f"Fill in the column label: {graded.spelled}.")
        write(f"next: {_take_back(arguments, sheet)}")
        return
    labelled = take_back(Path(arguments.people), items, graded)
    grid = tabulate_corrected(show_key(graded.metric, graded.key), correct(items, labelled, graded), labelled)
    print_tables(arguments, [grid])


def _serve(arguments: argparse.Namespace, sheet: Path, graded: Any) -> None:
    from quadrag.baselines.construct.review.server import LabelPage
    from quadrag.commands.construct.review import serve

    serve(arguments, LabelPage(sheet, graded, arguments.labels), str(sheet), _take_back(arguments, sheet))


def _take_back(arguments: argparse.Namespace, sheet: Path) -> str:
    given = {"--people": str(sheet), "--metric": arguments.metric, "--data-dir": arguments.data_dir}
    options = [word for name, value in given.items() if value is not None for word in (name, value)]
    return shlex.join(["quadrag", "label", arguments.folder, *options])


def _read_items(arguments: argparse.Namespace) -> Any:
    from quadrag.baselines.judges.corrected import Judged
    from quadrag.baselines.judges.labels import find_graded, graded_keys
    from quadrag.baselines.report.items.reader import RunReader
    from quadrag.baselines.report.items.spelled import write_gold
    from quadrag.baselines.results.items import FAILED, reason_of
    from quadrag.baselines.runs.finished import read_result
    from quadrag.metric_record import metric_record

    folder = Path(arguments.folder)
    result = read_result(folder)
    there = [name for row in result.items[:1] for name in row if name in graded_keys()]
    if not there or result.run.judge is None:
        raise QuadragError(f"{folder} has no judged score; expected a run with --judge")
    graded = find_graded(arguments.metric or there[0])
    entry = f"{graded.metric}.{graded.key}"
    if entry not in there:
        raise QuadragError(f"{folder} has no judged {graded.name}; expected --metric {' or '.join(there)}")
    reader = RunReader(folder, result, arguments.data_dir)
    several = len({row["id"] for row in result.items}) < len(result.items)
    by_passages = "contexts" in metric_record(graded.metric).needs
    items = []
    for row, shown in zip(result.items, reader.select(), strict=True):
        value = row[entry]
        answer = shown.answer.answer if shown.answer else None
        if answer is None or (value.get("reason") or {}).get("official") == "not_applicable":
            continue
        name = "/".join((row["split"], row["id"], str(row["sample"]))) if several else row["id"]
        gold = write_gold(shown.question.references)
        before = "".join(f"{asked}\n{said or ''}\n" for asked, said in shown.question.history)
        # Whoever judges what an answer was made from must see it.
        passages = "\n\n".join(passage.text for passage in shown.passages) if by_passages else ""
        # What `official` makes of a verdict that could not be read is nothing that the judge said.
        said = None if reason_of(value, "corrected") in FAILED else value["official"]
        ruled = "official" in value.get("ruled", ())
        items.append(Judged(name, before + shown.question.query, gold, answer, said, passages, ruled))
    if not items:
        raise QuadragError(f"{folder} holds no judged answer; expected one at least")
    if all(item.value is None for item in items):
        raise QuadragError(
            f"{folder}: none of the {len(items)} verdicts could be read; ask the judge again with --retry unreadable, "
            "or name another"
        )
    return graded, items
