"""Draw items of a judged run for people, and correct its score by their labels.

--out writes a CSV sheet, whose column `label` is to be filled in, or, where the
file ends in .html, a page to label on by keys, which saves that sheet. --people
reads it back, or any CSV file with `id` and `label` of a random draw of the
run's items.
"""

import argparse
import shlex
from pathlib import Path
from typing import Any

from quadrag.commands.shared import options
from quadrag.commands.shared.session import print_tables, tell
from quadrag.errors import QuadragError
from quadrag.metric_record import show_key
from quadrag.printing import write

EXAMPLES = (
    "quadrag label runs/a --n 100 --out sheet.csv",
    "quadrag label runs/a --n 100 --out label.html",
    "quadrag label runs/a --people sheet.csv",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("folder", metavar="RUN", help="the folder of a judged run")
    parser.add_argument("--n", metavar="N", type=options.whole(1), default=100, help="items to label (default: 100)")
    parser.add_argument("--out", metavar="FILE", help="write a sheet of so many items here: .csv, or .html, a page")
    parser.add_argument("--people", metavar="FILE", help="a sheet with labels")
    parser.add_argument("--metric", metavar="NAME", help="what is graded (default: the first judged value of the run)")
    parser.add_argument("--seed", metavar="N", type=options.whole(0), default=2333, help="of the draw (default: 2333)")
    options.labels(parser, "the sheet and of tables")
    parser.add_argument("--data-dir", metavar="DIR", help="where the data are now (default: where they were)")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from quadrag.baselines.certify.corrected import correct
    from quadrag.baselines.certify.draw import NOTHING, draw_sheet, take_back
    from quadrag.baselines.certify.tables import tabulate_corrected
    from quadrag.baselines.page.labelling import write_labelling
    from quadrag.sheet import refuse_filled, write_sheet

    if bool(arguments.out) == bool(arguments.people):
        raise QuadragError("give --out for a new sheet, or --people to take one back")
    graded, items = _read_items(arguments)
    if arguments.out:
        out = Path(arguments.out)
        refuse_filled(out)
        rows, given = draw_sheet(items, arguments.n, graded, arguments.seed, arguments.labels)
        grades = {f"{value:g}": grade for grade, value in graded.grades.items() if value is not None}
        said = "; ".join(
            f"{count} without a verdict" if name == NOTHING else f"{count} scored as {grades.get(name, name)}"
            for name, count in given.items()
        )
        then = f"Fill in the column label: {graded.spelled}."
        if out.suffix == ".html":
            write_labelling(out, rows, graded, arguments.labels)
            then = f"Open it in a browser: it saves a sheet, {out.stem}.csv, among your downloads."
        else:
            write_sheet(out, rows)
        tell(arguments, f"{arguments.out}: {sum(given.values())} of {len(items)} items ({said})", graded.asks, then)
        again = ["quadrag", "label", arguments.folder, "--people", str(out.with_suffix(".csv"))]
        again += ["--metric", arguments.metric] if arguments.metric else []
        write(f"next: {shlex.join(again)}")
        return
    sheet = take_back(Path(arguments.people), items, graded)
    grid = tabulate_corrected(show_key(graded.metric, graded.key), correct(items, sheet), sheet)
    print_tables(arguments, [grid])


def _read_items(arguments: argparse.Namespace) -> Any:
    """Return what is graded, and the items of the run that judge or rules decided with what a person must see."""
    from quadrag.baselines.certify.draw import Judged
    from quadrag.baselines.certify.grades import find_graded, graded_keys
    from quadrag.baselines.report.items.reader import RunReader
    from quadrag.baselines.report.items.spelled import write_gold
    from quadrag.baselines.runs.finished import read_result
    from quadrag.baselines.scoring.faults import FAILED
    from quadrag.baselines.scoring.rows import reason_of
    from quadrag.metric_record import metric_record

    folder = Path(arguments.folder)
    result = read_result(folder)
    there = [name for row in result.items[:1] for name in row if name in graded_keys()]
    if not there or result.run.inputs.judge is None:
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
