"""Run folders to the results that a model's repository on the Hub may bear: one value a task, with how it came about.

The form is the Hub's (https://huggingface.co/docs/hub/eval-results), the types are its client's. A value is that of
the profile ``official``, which is what published numbers are compared with, in the paper's unit: the Hub scales
nothing, and entries there are in percent where papers print percent. `quadrag.eval_notes` says all else about it.

Of one benchmark there is one file; where passages were found in another way than usual, another, as entries there have
a file for each setting. Nothing is asked or sent here; `quadrag.push_results` does.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from quadrag import catalogue
from quadrag.data import SAMPLE_SOURCE, options_of
from quadrag.errors import QuadragError, unknown_name
from quadrag.eval_notes import notes, same_model, unit
from quadrag.eval_yaml import HubTask, hub_tasks

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

FOLDER = ".eval_results"
# What finds passages where nobody chose otherwise. RGB without the documents of its questions asks something else.
USUAL = {"rgb": "own", "crud_rag": "bm25", "crag": "snippets", "omnieval": "bm25"}
_DOCUMENTS_ASKED = ("rgb",)
_NO_MODEL = "extractive"
_NAME = r"[A-Za-z0-9][\w.-]{0,95}"
# What `source` of run.json says of files, as `quadrag.files.describe` has it, and what that means.
_OTHER_DATA = {
    "not upstream's pinned file": "other files than upstream's pinned ones",
    " files, lacking ": "a part of the files",
    " in place of ": "an example file in place of the data",
}


class Result(NamedTuple):
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
    results: list[Result]
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
    info: Mapping[str, Any]
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
        accept_data: whether a run may be over a part of the questions, or over other files than upstream's pinned ones;
            the notes then say so first. The bundled sample is never accepted.
        source: a web address where more about the results is, as the runs themselves; None for none.

    Raises:
        QuadragError: a folder is no finished run of this model on the benchmark's own questions, two hold the same
            task, or none holds a value of one.
    """
    _check_names(org, model, source)
    results: dict[tuple[str, str], Result] = {}
    left_out: list[str] = []
    for folder in _folders(runs):
        run = _read(folder)
        asked = str(run.info["inputs"]["llm"])
        if not accept_name and not same_model(asked, model):
            raise QuadragError(
                f"{folder} asked {asked!r}, not {model}; name its repository, or give --accept-name if it is the same"
            )
        unlike = _unlike(run.info)
        if unlike and not accept_data:
            raise QuadragError(
                f"{folder}: {'; '.join(unlike)}; these are not the benchmark's own questions, all of them: run on"
                " those, or give --accept-data, and the notes say so"
            )
        for found in _results(run, unlike, org, model, source):
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
    order = {name: hub_tasks(name) for name in {one.benchmark for one in results.values()}}
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
    try:
        info = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        inputs, state, sums = info["inputs"], info["state"], dict(info["files"].items())
        benchmark, config, asked = str(inputs["benchmark"]), str(inputs["config"]), inputs["llm"]
        source, given = str(info.get("source", "")), info.get("given") or ()
        _ = ", ".join(given), [(inputs.get(name) or {}).items() for name in ("options", "parameters", "retrieval")]
        if not isinstance(info.get("started"), (str, type(None))):
            raise TypeError
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise QuadragError(f"{folder / 'run.json'} is damaged; expected what `quadrag run` writes") from None
    if state != "finished":
        raise QuadragError(f"{folder} is not finished ({info.get('stopped') or state}); run the same command again")
    if SAMPLE_SOURCE in source:
        raise QuadragError(f"{folder} is a run on the bundled sample, whose questions are made up; run on real data")
    if asked == _NO_MODEL:
        raise QuadragError(f"{folder} was answered by the extractive baseline, which is no model; run with --llm")
    if by_hand := [name for name in ("answers.jsonl", "items.jsonl") if name in given]:
        raise QuadragError(f"{by_hand[0]} of {folder} was put in by hand; expected what the model gave")
    try:
        raw = (folder / "scores.json").read_bytes()
        rows = [row for row in json.loads(raw) if row["slice"] == "all"]
        names = [(row["metric"], row["split"]) for row in rows]
        _ = [(row["key"], row["profile"], row["n_total"], row["signature"]) for row in rows]
        _ = [0.0 + (row["value"] or 0) + sum(row.get("interval") or ()) for row in rows]
    except (OSError, ValueError, KeyError, TypeError):
        raise QuadragError(f"{folder} has no readable scores.json; run the same command again") from None
    # What `quadrag score` writes has no sums; a run has one for every file.
    if sums and sums.get("scores.json") != hashlib.sha256(raw).hexdigest():
        raise QuadragError(f"{folder / 'scores.json'} is not as the run wrote it; remove it and run again")
    splits = catalogue.config(benchmark, config).splits
    for metric, split in dict.fromkeys(names):
        if metric not in catalogue.metrics():
            raise unknown_name(f"metric in {folder / 'scores.json'}", metric, catalogue.metrics())
        if split not in splits:
            raise unknown_name(f"split in {folder / 'scores.json'}", split, splits)
    return _Run(folder, info, rows)


def _unlike(info: Mapping[str, Any]) -> list[str]:
    """Say in what the questions of a run are not the benchmark's own, all of them."""
    inputs = info["inputs"]
    found = [f"--limit {inputs['limit']}"] if inputs.get("limit") is not None else []
    own = options_of(catalogue.config(inputs["benchmark"], inputs["config"]))
    # An option that names a file says where the questions are, and `source` whether they are upstream's.
    options = {name: value for name, value in (inputs.get("options") or {}).items() if name in own}
    found += [f"option {name}={value}" for name, value in options.items() if not name.endswith(("_file", "_dir"))]
    return found + [meaning for said, meaning in _OTHER_DATA.items() if said in str(info.get("source", ""))]


def _results(run: _Run, unlike: Sequence[str], org: str, model: str, source: str | None) -> Iterator[Result | str]:
    """Yield the results of a run, and a line on each of its splits that has none."""
    from huggingface_hub import EvalResultEntry

    inputs = run.info["inputs"]
    benchmark, config, retriever = inputs["benchmark"], inputs["config"], str(inputs.get("retriever"))
    if benchmark in _DOCUMENTS_ASKED and retriever != USUAL[benchmark]:
        yield f"retriever {retriever}, and {benchmark} asks about the documents of its questions"
        return
    setting = "" if retriever == USUAL.get(benchmark) else "-" + re.sub(r"[^\w-]", "_", retriever)
    tasks = {task.split: task for task in hub_tasks(benchmark) if task.config == config}
    for split in dict.fromkeys(row["split"] for row in run.rows):
        if split not in tasks:
            yield f"{config} {split} is no task of {org}/{benchmark}"
            continue
        task = tasks[split]
        rows = [row for row in run.rows if row["split"] == split]
        named = [row for row in rows if (row["metric"], row["key"]) == (task.module, task.key)]
        official = next((row for row in named if row["profile"] == "official"), {"value": None})
        if official["value"] is None:
            why = official.get("not_run") or f"{official.get('n_scored', 0)} of {official.get('n_total', 0)} scored"
            yield f"{config} {split} has no {task.module}.{task.key} ({why})"
            continue
        entry = EvalResultEntry(
            dataset_id=f"{org}/{benchmark}",
            task_id=task.id,
            value=unit(official["value"], task.scale),
            date=run.info.get("started"),
            source_url=source,
            notes=notes(run.info, task, model, unlike, rows),
        )
        yield Result(run.folder, benchmark, task, f"{FOLDER}/quadrag-{benchmark}{setting}.yaml", entry)
