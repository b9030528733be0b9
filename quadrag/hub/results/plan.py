"""Run folders to the results that a model's repository on the Hub may bear: one value a task, with how it came about.

The form is the Hub's (https://huggingface.co/docs/hub/eval-results), the types are its client's. A value is that of
the profile ``official``, which is what published numbers are compared with, in the paper's unit: the Hub scales
nothing, and entries there are in percent where papers print percent. `notes` says all else about it.

Of one benchmark there is one file; where passages were found in another way than usual, another, as entries there have
a file for each setting. Nothing is asked or sent here; `quadrag.hub.results.pull_request` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from quadrag import catalogue
from quadrag.data.builders import options_of
from quadrag.errors import QuadragError, unknown_name
from quadrag.hub.record import hub_record
from quadrag.hub.results.notes import in_unit, same_model, write_notes
from quadrag.hub.results.tasks import HubTask, list_hub_tasks
from quadrag.provenance import Provenance
from quadrag.run_files import read_scores
from quadrag.run_record import RunRecord, read_run

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

FOLDER = ".eval_results"
_NO_MODEL = "extractive"
_NAME = r"[A-Za-z0-9][\w.-]{0,95}"
_OTHER_DATA = {
    Provenance.PARTIAL: "a part of the authors' own data",
    Provenance.UNVERIFIED: "unverified data",
    Provenance.OWN: "own data",
}


class HubResult(NamedTuple):
    """One value that is to stand on a model's page.

    Attributes:
        run: the folder it is from.
        benchmark: its benchmark.
        task: what it is the value of.
        path: the file in the model's repository.
        entry: as the Hub has it.
    """

    run: Path
    benchmark: str
    task: HubTask
    path: str
    entry: EvalResultEntry


@dataclass(frozen=True, slots=True)
class ResultsPlan:
    """What is to stand in a model's repository.

    Attributes:
        org: whose dataset repositories the tasks are of.
        model: the model's repository.
        results: in the order of files, configs and splits.
        left_out: what the runs hold besides that is no result of a task, a line each.
    """

    org: str
    model: str
    results: list[HubResult]
    left_out: list[str]

    @property
    def files(self) -> dict[str, list[EvalResultEntry]]:
        """The entries by file."""
        found: dict[str, list[EvalResultEntry]] = {}
        for result in self.results:
            found.setdefault(result.path, []).append(result.entry)
        return found


class _Run(NamedTuple):
    """A finished run as its folder holds it; the rows are those over all items."""

    folder: Path
    record: RunRecord
    rows: Sequence[Mapping[str, Any]]


def plan_results(
    org: str,
    model: str,
    runs: Sequence[str | Path],
    accept_name: bool = False,
    accept_data: bool = False,
    source: str | None = None,
) -> ResultsPlan:
    """Read finished runs and say what would stand in a model's repository. Nothing is asked of the Hub.

    Args:
        org: whose dataset repositories bear the tasks: ``ORG/rgb``.
        model: the model's repository, ``OWNER/NAME``.
        runs: run folders, or folders of them as ``--all`` and recipes make.
        accept_name: whether a run may have asked a model of another name, as a server names it.
        accept_data: whether a run may be over a part of the questions, or over data that are not known to be theirs;
            the notes then say so first. The bundled sample is never accepted.
        source: a web address where more about the results is, as the runs themselves; None for none.

    Raises:
        QuadragError: a folder is no finished run of this model on the benchmark's own questions, two hold the same
            task, or none holds a value of one.
    """
    _check_names(org, model, source)
    results: dict[tuple[str, str], HubResult] = {}
    left_out: list[str] = []
    for folder in _folders(runs):
        run = _read(folder)
        asked = run.record.inputs.llm
        if not accept_name and not same_model(asked, model):
            raise QuadragError(
                f"{folder} asked {asked!r}, not {model}; name its repository, or give --accept-name if it is the same"
            )
        unlike = _find_differences(run.record)
        if unlike and not accept_data:
            raise QuadragError(
                f"{folder}: {'; '.join(unlike)}; these are not the benchmark's own questions, all of them: run on"
                " those, or give --accept-data, and the notes say so"
            )
        for found in _make_results(run, unlike, org, model, source):
            if isinstance(found, str):
                left_out.append(f"{folder}: {found}")
                continue
            before = results.setdefault((found.path, found.task.id), found)
            if before is not found:
                raise QuadragError(
                    f"{before.run} and {folder} are both runs of {found.benchmark} {found.task.config}"
                    f" {found.task.split} with the same retriever; name one of them"
                )
    if not results:
        raise QuadragError(f"there is no value of a task: {'; '.join(left_out)}")
    order = {name: list_hub_tasks(name) for name in {one.benchmark for one in results.values()}}
    ranked = sorted(results.values(), key=lambda one: (one.path, order[one.benchmark].index(one.task)))
    return ResultsPlan(org, model, ranked, left_out)


def _check_names(org: str, model: str, source: str | None) -> None:
    if not re.fullmatch(_NAME, org, re.ASCII):
        raise QuadragError(
            f"{org!r} is no name on the Hub; expected the user or organisation of the dataset repositories"
        )
    if not re.fullmatch(f"(?:{_NAME}/)?{_NAME}", model, re.ASCII):
        raise QuadragError(f"{model!r} is no model on the Hub; expected OWNER/NAME")
    if source is not None and not re.fullmatch(r"https?://\S+", source):
        raise QuadragError(f"the source {source!r} is no web address; expected https://...")


def _folders(runs: Sequence[str | Path]) -> Iterator[Path]:
    """Yield the folder of every run once; those of ``--all`` hold several, a sweep's such folders."""
    seen: set[Path] = set()
    for root in map(Path, runs):
        inside = [path.parent for path in sorted({*root.glob("*/run.json"), *root.glob("*/*/run.json")})]
        found = [root] if (root / "run.json").exists() else inside
        if not found:
            raise QuadragError(f"{root} holds no run.json; expected the folder of a run")
        for folder in found:
            if folder.resolve() not in seen:
                seen.add(folder.resolve())
                yield folder


def _read(folder: Path) -> _Run:
    """Read a run of a model on real data that is finished, and whose scores are as it left them, or what was scored.

    Raises:
        QuadragError: it is none.
    """
    record = read_run(folder)
    inputs = record.inputs
    if record.state != "finished":
        raise QuadragError(f"{folder} is not finished ({record.stopped or record.state}); run the same command again")
    if record.invalid:
        raise QuadragError(f"{folder} is INVALID: {record.invalid[0]}")
    if record.whose is Provenance.SAMPLE:
        raise QuadragError(f"{folder} is a run on the bundled sample, whose questions are made up; run on real data")
    if inputs.llm == _NO_MODEL:
        raise QuadragError(f"{folder} was answered by the extractive baseline, which is no model; run with --llm")
    rows = [row for row in read_scores(folder, record) if row["slice"] == "all"]
    splits = catalogue.config(inputs.benchmark, inputs.config).splits
    for metric, split in dict.fromkeys((row["metric"], row["split"]) for row in rows):
        if metric not in catalogue.metrics():
            raise unknown_name(f"metric in {folder / 'scores.json'}", metric, catalogue.metrics())
        if split not in splits:
            raise unknown_name(f"split in {folder / 'scores.json'}", split, splits)
    return _Run(folder, record, rows)


def _find_differences(record: RunRecord) -> list[str]:
    """Say in what the questions of a run are not the benchmark's own, all of them."""
    inputs = record.inputs
    found = [f"--limit {inputs.limit}"] if inputs.limit is not None else []
    found += [f"answers to {record.coverage} questions"] if record.coverage and not inputs.limit else []
    own = options_of(catalogue.config(inputs.benchmark, inputs.config))
    # An option that names a file says where the questions are, and `source` whether they are upstream's.
    options = {name: value for name, value in inputs.options.items() if name in own}
    found += [f"option {name}={value}" for name, value in options.items() if not name.endswith(("_file", "_dir"))]
    return found + [said for whose, said in _OTHER_DATA.items() if record.whose is whose]


def _make_results(
    run: _Run, unlike: Sequence[str], org: str, model: str, source: str | None
) -> Iterator[HubResult | str]:
    """Yield the results of a run, and a line on each of its splits that has none."""
    from huggingface_hub import EvalResultEntry

    inputs = run.record.inputs
    benchmark, config = inputs.benchmark, inputs.config
    usual = hub_record(benchmark)
    if inputs.retriever != usual.retriever and not usual.other_retrievers:
        yield f"retriever {inputs.retriever}, and {benchmark} asks about the documents of its questions"
        return
    setting = "" if inputs.retriever == usual.retriever else "-" + re.sub(r"[^\w-]", "_", inputs.retriever)
    tasks = {task.split: task for task in list_hub_tasks(benchmark) if task.config == config}
    for split in dict.fromkeys(row["split"] for row in run.rows):
        if split not in tasks:
            yield f"{config} {split} is no task of {org}/{benchmark}"
            continue
        task = tasks[split]
        metric, key, percent = task.headline[2:]
        rows = [row for row in run.rows if row["split"] == split]
        named = [row for row in rows if (row["metric"], row["key"]) == (metric, key)]
        official = next((row for row in named if row["profile"] == "official"), {"value": None})
        if official["value"] is None:
            why = official.get("not_run") or f"{official.get('n_scored', 0)} of {official.get('n_total', 0)} scored"
            yield f"{config} {split} has no {metric}.{key} ({why})"
            continue
        entry = EvalResultEntry(
            dataset_id=f"{org}/{benchmark}",
            task_id=task.id,
            value=in_unit(official["value"], percent),
            date=run.record.started,
            source_url=source,
            notes=write_notes(run.record, task, model, unlike, rows),
        )
        yield HubResult(run.folder, benchmark, task, f"{FOLDER}/quadrag-{benchmark}{setting}.yaml", entry)
