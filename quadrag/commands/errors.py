"""Sort the wrong answers of a run of rgb by what went wrong, as the paper does.

Its Tables 2, 4 and 6 name the classes; an answer may have several. A judge
gives them (--judge, written to RUN/errors.jsonl), or people do: --sheet writes
a sheet to fill in, --people reads it, or a corrected copy of errors.jsonl.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from quadrag.commands.shared import options
from quadrag.commands.shared.session import add_judges, call_policy, print_tables, tell, tell_bad
from quadrag.errors import QuadragError
from quadrag.printing import write

EXAMPLES = (
    "quadrag errors runs/a --judge http://HOST/v1",
    "quadrag errors runs/a --sheet wrong.csv",
    "quadrag errors runs/a --people wrong.csv",
)
FILE = "errors.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("folder", metavar="RUN", help="the folder of a run of rgb")
    parser.add_argument("--sheet", metavar="FILE", help="write the wrong answers here, as CSV for people to fill in")
    parser.add_argument("--people", metavar="FILE", help="classes that people gave: such a sheet, or lines of JSON")
    parser.add_argument("--metric", metavar="M", help="what says that an answer is wrong (default: the first headline)")
    parser.add_argument("--data-dir", metavar="DIR", help="where the data are now (default: where they were)")
    options.labels(parser)
    options.calls(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from quadrag.baselines.core.spec import NONE
    from quadrag.baselines.report.items.reader import RunReader
    from quadrag.baselines.report.run import title_of
    from quadrag.baselines.rgb.benchmark import NAME
    from quadrag.baselines.rgb.errors import UnreadJudge, find_testbed, sort_by_people, tabulate_errors
    from quadrag.baselines.runs.finished import read_result
    from quadrag.baselines.runs.plan import plan_run
    from quadrag.baselines.tables.grid import Alarm
    from quadrag.baselines.tables.run_notes import note_partial
    from quadrag.provenance import Provenance
    from quadrag.wrapping import wrap

    if sum(map(bool, (arguments.judge, arguments.sheet, arguments.people))) != 1:
        raise QuadragError("what sorts the wrong answers? Expected one of --judge SPEC, --sheet FILE, --people FILE")
    folder = Path(arguments.folder)
    result = read_result(folder)
    inputs = result.run
    if inputs.benchmark != NAME or inputs.retriever == NONE:
        what = f"{inputs.benchmark}, --retriever {inputs.retriever}"
        raise QuadragError(f"{folder} is a run of {what}; expected one of {NAME} with documents")
    testbed = find_testbed(inputs.config)
    if result.run.whose is Provenance.OWN:
        testbed = replace(testbed, published={})
    arguments.benchmark = inputs.benchmark
    partial = {"benchmark": inputs.benchmark, "config": inputs.config}
    spec, policy = plan_run(add_judges(arguments, partial, inputs.benchmark)), call_policy(arguments)
    reader = RunReader(folder, result, arguments.data_dir)
    wrong = _wrong_answers(reader, arguments.metric)
    if arguments.sheet:
        from quadrag.baselines.tables.language import speak

        _write_sheet(Path(arguments.sheet), wrong)
        tell(
            arguments,
            f"{arguments.sheet}: {len(wrong)} wrong answers; fill in `classes`, several with `;` between them:",
        )
        for name, meaning in testbed.classes.items():
            write("  " + "\n    ".join(wrap(f"{name}: {speak(meaning, arguments.labels)}", 76)))
        return 0
    stopped = None
    if arguments.people:
        verdicts, by = sort_by_people(Path(arguments.people), wrong, testbed), f"people ({arguments.people})"
    else:
        try:
            verdicts, by, stopped = _judge(spec, policy, wrong, testbed)
        except UnreadJudge as unread:
            tell_bad(f"INVALID, {unread}")
            return 3
        _write_verdicts(folder / FILE, result, wrong, verdicts)
    answers = Counter(row["split"] for row in result.items)
    grid = tabulate_errors(title_of(result), testbed, answers, wrong, verdicts, policy.max_failed)
    invalid = [note for note in grid.notes if isinstance(note, Alarm)]
    metric = reader.find_metric(arguments.metric)[0].partition(".")[2]
    grid.notes += [f"Wrong: below the best {metric}. Sorted by {by}.", *note_partial([result])]
    grid.notes += [Alarm(f"PARTIAL: {stopped}.")] if stopped else []
    print_tables(arguments, [grid])
    if arguments.judge:
        write(f"\n{folder / FILE}")
    if stopped:
        tell_bad(stopped)
    return 2 if stopped else 3 if invalid else 0


def _wrong_answers(reader: Any, metric: str | None) -> list[Any]:
    from quadrag.baselines.report.items.reader import Which
    from quadrag.baselines.rgb.errors import WrongAnswer
    from quadrag.sheet import Place

    if not reader.answers:
        raise QuadragError("the folder holds no answers.jsonl; run it again, or score the answers again with --out")
    found = reader.select(Which(wrong=True, metric=metric))
    shown = [item for item in found if item.answer and item.answer.answer is not None]
    return [
        WrongAnswer(
            Place(item.question.split, item.question.id, item.answer.sample),
            item.question.query,
            item.question.references,
            [passage.text for passage in item.passages],
            item.answer.answer,
        )
        for item in shown
    ]


def _write_sheet(path: Path, wrong: Sequence[Any]) -> None:
    from quadrag.chat.keys import known_keys
    from quadrag.sheet import write_sheet

    line = known_keys().line
    rows = [["split", "id", "sample", "question", "accepted", "answer", "documents", "classes"]]
    for one in wrong:
        accepted = line("; ".join(" / ".join(part) for part in one.accepted))
        documents = "\n".join(f"[{at}] {line(text)}" for at, text in enumerate(one.documents, 1))
        rows.append([*map(str, one.place), line(one.question), accepted, line(one.answer), documents, ""])
    write_sheet(path, rows)


def _judge(spec: Any, policy: Any, wrong: Sequence[Any], testbed: Any) -> tuple[list[Any], str, str | None]:
    from quadrag.baselines.rgb.errors import prompt_hash, sort_by_judge
    from quadrag.baselines.runs.models import open_budget, open_models
    from quadrag.progress import Progress

    if len(spec.judges) > 1:
        raise QuadragError(f"errors asks one judge, and {len(spec.judges)} were named; give --judge once")
    with (
        open_models(spec, policy, open_budget(policy)) as models,
        Progress("verdicts", len(wrong) or 1) as bar,
    ):
        if policy.fresh:
            models.reuse.since = models.reuse.began
        (judge,) = models.judges
        judge.on_progress = bar.update
        verdicts, stopped = sort_by_judge(wrong, testbed, judge, models.reuse, policy.max_failed)
        return verdicts, f"{judge.model}, our instructions ({prompt_hash(testbed)})", stopped


def _write_verdicts(path: Path, result: Any, wrong: Sequence[Any], verdicts: Sequence[Any]) -> None:
    from quadrag.records import write_jsonl

    inputs = result.run
    rows = []
    for one, verdict in zip(wrong, verdicts, strict=True):
        place = {"benchmark": inputs.benchmark, "config": inputs.config, **one.place._asdict()}
        said = {"classes": None, "reason": verdict} if isinstance(verdict, str) else {"classes": list(verdict)}
        rows.append(place | said)
    write_jsonl(path, rows)
