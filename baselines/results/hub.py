"""Run folders to the results on a model's page: one file a task in `.eval_results/`, sent as a pull request.

The form is the Hub's (https://huggingface.co/docs/hub/eval-results). A value is that of the profile ``official``, in
the paper's unit. The notes say all else about it; of places on the user's machine they show the last name alone. Where
passages were found in another way than usual, the file says so in its name.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quadrag import catalogue
from quadrag.data.builders import options_of
from quadrag.errors import QuadragError, one_line
from quadrag.hub.card import strip_place
from quadrag.hub.client import hub_errors, open_client
from quadrag.hub.push import check_org
from quadrag.hub.record import hub_record
from quadrag.hub.tasks import HubTask, list_hub_tasks
from quadrag.provenance import Provenance

from ..core.run_record import RunRecord, read_run, read_scores

FOLDER = ".eval_results"
_NO_MODEL = "extractive"
# A path from the root, the home or the working folder, up to its last name; addresses of the web are none.
_PLACE = re.compile(r"(?<![\w/.~-])(?!//)(?:~|\.{1,2})?/(?:[^\s/|+();,]+/)*|\b[A-Za-z]:\\(?:[^\\|]+\\)*")
_OTHER_DATA = {
    Provenance.PARTIAL: "a part of the authors' own data",
    Provenance.UNVERIFIED: "unverified data",
    Provenance.OWN: "own data",
}


@dataclass(frozen=True, slots=True)
class ResultsPlan:
    """What is to stand in a model's repository, texts by path; and what the runs hold besides, a line each."""

    model: str
    files: dict[str, str]
    left_out: list[str]


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
    """
    check_org(org)
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", model, re.ASCII):
        raise QuadragError(f"{model!r} is no model on the Hub; expected OWNER/NAME")
    files: dict[str, str] = {}
    whose: dict[str, Path] = {}
    left_out: list[str] = []
    for folder in _find_runs(runs):
        run = read_run(folder)
        _check_finished(folder, run)
        if not accept_name and not same_model(run.llm, model):
            raise QuadragError(
                f"{folder} asked {run.llm!r}, not {model}; name its repository, or give --accept-name if it is the same"
            )
        unlike = _find_differences(run)
        if unlike and not accept_data:
            raise QuadragError(
                f"{folder}: {'; '.join(unlike)}; these are not the benchmark's own questions, all of them: run on"
                " those, or give --accept-data, and the notes say so"
            )
        made = dict(_make_files(folder, run, unlike, org, source, left_out))
        if twice := next((path for path in made if path in files), None):
            raise QuadragError(f"{whose[twice]} and {folder} are both runs of {twice}; name one of them")
        files |= made
        whose |= dict.fromkeys(made, folder)
    if not files:
        raise QuadragError(f"there is no value of a task: {'; '.join(left_out)}")
    return ResultsPlan(model, files, left_out)


def push_results(plan: ResultsPlan) -> str | None:
    """Open a pull request on the model's repository and return its address; that of an open one with the same results.

    None is returned where the same results stand in the repository.
    """
    digest = hashlib.sha256(json.dumps(plan.files, sort_keys=True).encode()).hexdigest()[:8]
    title = f"Evaluation results by quadrag ({digest})"
    api = open_client()
    with hub_errors(f"opening a pull request on {plan.model}"), tempfile.TemporaryDirectory() as place:
        user = api.whoami()["name"]
        asked = {"author": user, "discussion_type": "pull_request", "discussion_status": "open"}
        for request in api.get_repo_discussions(plan.model, **asked):
            if request.title == title:
                return str(request.url)
        for path, text in plan.files.items():
            Path(place, path).parent.mkdir(exist_ok=True)
            Path(place, path).write_text(text, encoding="utf-8")
        made = api.upload_folder(repo_id=plan.model, folder_path=place, commit_message=title, create_pr=True)
    return made.pr_url and str(made.pr_url)


def same_model(asked: str, model: str) -> bool:
    """Whether a name is the repository's, or that with a provider or a revision behind it."""
    name, rest = asked[: len(model)], asked[len(model) :]
    return name.casefold() == model.casefold() and rest[:1] in ("", ":", "@")


def hide_places(text: str) -> str:
    """Return a text as one line in which places on the user's machine are their last names."""
    return one_line(_PLACE.sub("", text))


def _find_runs(runs: Sequence[str | Path]) -> list[Path]:
    """List the folder of every run once; those of ``--all`` hold several, a sweep's such folders."""
    found: dict[Path, Path] = {}
    for root in map(Path, runs):
        inside = [path.parent for path in sorted({*root.glob("*/run.json"), *root.glob("*/*/run.json")})]
        folders = [root] if (root / "run.json").exists() else inside
        if not folders:
            raise QuadragError(f"{root} holds no run.json; expected the folder of a run")
        for folder in folders:
            found.setdefault(folder.resolve(), folder)
    return list(found.values())


def _check_finished(folder: Path, run: RunRecord) -> None:
    """Raise where a run is not that of a model on real data, finished and valid, with what the model gave."""
    if run.state != "finished":
        why = f"is not finished ({run.stopped or run.state}); run the same command again"
    elif lost := [note["params"] for note in run.notes if note["code"] == "invalid"]:
        why = f"is INVALID: too many items failed of {', '.join(lost[0]['keys'])} ({lost[0]['split']})"
    elif run.whose is Provenance.SAMPLE:
        why = "is a run on the bundled sample, whose questions are made up; run on real data"
    elif run.llm == _NO_MODEL:
        why = "was answered by the extractive baseline, which is no model; run with --llm"
    else:
        return
    raise QuadragError(f"{folder} {why}")


def _find_differences(run: RunRecord) -> list[str]:
    """Say in what the questions of a run are not the benchmark's own, all of them."""
    inputs = run
    found = [f"--limit {inputs.limit}"] if inputs.limit is not None else []
    found += [f"answers to {run.coverage} questions"] if run.coverage and not inputs.limit else []
    own = options_of(catalogue.config(inputs.benchmark, inputs.config))
    # An option that names a file says where the questions are, and `source` whether they are upstream's.
    options = {name: value for name, value in inputs.options.items() if name in own}
    found += [f"option {name}={value}" for name, value in options.items() if not name.endswith(("_file", "_dir"))]
    return found + [said for whose, said in _OTHER_DATA.items() if run.whose is whose]


def _make_files(
    folder: Path, run: RunRecord, unlike: Sequence[str], org: str, source: str | None, left_out: list[str]
) -> Iterator[tuple[str, str]]:
    """Yield path and text of each result of a run; note what is none."""
    import yaml
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    benchmark, config, retriever = run.benchmark, run.config, run.retriever
    usual = hub_record(benchmark)
    if retriever != usual.retriever and not usual.other_retrievers:
        left_out.append(f"{folder}: retriever {retriever}, and {benchmark} asks about the documents of its questions")
        return
    setting = "" if retriever == usual.retriever else "-" + re.sub(r"[^\w-]", "_", retriever)
    tasks = {task.split: task for task in list_hub_tasks(benchmark) if task.config == config}
    rows = [row for row in read_scores(folder, run) if row["slice"] == "all"]
    for split in dict.fromkeys(row["split"] for row in rows):
        task = tasks.get(split)
        if task is None:
            left_out.append(f"{folder}: {config} {split} is no task of {org}/{benchmark}")
            continue
        of_split = {(row["metric"], row["key"], row["profile"]): row for row in rows if row["split"] == split}
        official = of_split.get((task.headline.metric, task.headline.key, "official"), {})
        if official.get("value") is None:
            why = official.get("not_run") or "nothing scored"
            left_out.append(f"{folder}: {config} {split} has no {task.headline.metric}.{task.headline.key} ({why})")
            continue
        entry = EvalResultEntry(
            dataset_id=f"{org}/{benchmark}",
            task_id=task.id,
            value=_in_unit(official["value"], task),
            date=run.started,
            source_url=source,
            notes=_write_notes(run, task, unlike, of_split),
        )
        text = yaml.safe_dump(eval_result_entries_to_yaml([entry]), sort_keys=False, allow_unicode=True, width=110)
        yield f"{FOLDER}/quadrag-{benchmark}-{task.id}{setting}.yaml", text


def _write_notes(
    run: RunRecord, task: HubTask, unlike: Sequence[str], rows: Mapping[tuple[str, str, str], Mapping[str, Any]]
) -> str:
    """Write the notes of one result in one line: what the value is, how sure, of what data, and how it was made."""
    inputs, (metric, key, percent) = run, task.headline[2:]
    official, corrected = (rows.get((metric, key, profile), {}) for profile in ("official", "corrected"))
    counts = {name: official[name] for name in ("n_total", "n_scored", "n_not_applicable") if name in official}
    parts = [f"NOT COMPARABLE: {', '.join(unlike)}"] if unlike else []
    parts.append(f"{metric}.{key}, profile official{', percent' if percent else ''}, {_interval(official, task)}")
    parts.append(f"{_list(counts)}, unscored {json.dumps(official.get('unscored') or {})}")
    if corrected.get("value") is not None:
        parts.append(f"profile corrected {_in_unit(corrected['value'], task)}, {_interval(corrected, task)}")
    parts.append(f"retriever {inputs.retriever}: {_list(inputs.retrieval or {}) or 'no settings'}")
    parts.append(f"judge {inputs.judge or 'none'}")
    parts.append(f"asked {_last(inputs.llm)} with {_list(run.sent or {}) or 'no settings'}, samples {inputs.samples}")
    parts += [f"options {_list(inputs.options)}"] if inputs.options else []
    parts += [f"prompts sha256 {inputs.prompts}"] if inputs.prompts else []
    sources = filter(None, map(strip_place, run.source.split("; corpus: ")))
    parts.append(f"data: {'; corpus: '.join(sources) or 'not named'}")
    parts += [f"quadrag {inputs.digests.get('quadrag')}", f"signature {official['signature']}"]
    return hide_places("; ".join(parts))


def _in_unit(value: float, task: HubTask) -> float:
    """Return a value as the paper prints its own: percent with two digits, ratios with four."""
    return (round(value / 0.01, 2) if task.headline.percent else round(value, 4)) + 0.0  # no -0.0


def _interval(row: Mapping[str, Any], task: HubTask) -> str:
    bounds = row.get("interval")
    return f"95% interval {' to '.join(str(_in_unit(bound, task)) for bound in bounds) if bounds else 'none'}"


def _list(settings: Mapping[str, Any]) -> str:
    """List settings; the digest of a corpus says nothing here."""
    known = {name: value for name, value in settings.items() if value is not None and name != "corpus"}
    return ", ".join(f"{name} {_last(value) if isinstance(value, str) else value}" for name, value in known.items())


def _last(value: str) -> str:
    """Return the last name of a value that is a place as a whole, blanks and brackets included; others as they are."""
    return re.split(r"[/\\]", value.rstrip("/\\"))[-1] if re.match(r"~?/|\.{1,2}/|[A-Za-z]:\\", value) else value
