"""Run folders to the results on a model's page: one file a task in `.eval_results/`, sent as a pull request.

The form is the Hub's (https://huggingface.co/docs/hub/eval-results). A value is that of the profile ``official``, in
the paper's unit. The notes say all else about it; of places on the user's machine they show the last name alone. Where
passages were found in another way than usual, the file says so in its name.
"""

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag import catalogue
from quadrag.data.builders import options_of
from quadrag.data.card_facts import card_facts
from quadrag.errors import QuadragError, one_line
from quadrag.hub.card import HubTask, list_hub_tasks, strip_place
from quadrag.hub.push import check_name, hub_errors, open_client
from quadrag.provenance import Provenance
from quadrag.results import ALL, NoteCode, RunRecord, Score, read_run, read_scores
from quadrag.run.folder import run_folders

# A path from the root, the home or the working folder, up to its last name; addresses of the web are none.
_PLACE = re.compile(r"(?<![\w/.~-])(?!//)(?:~|\.{1,2})?/(?:[^\s/|+();,]+/)*|\b[A-Za-z]:\\(?:[^\\|]+\\)*")


def plan_results(
    org: str, model: str, runs: Sequence[str | Path], accept_data: bool = False, source: str | None = None
) -> dict[str, str]:
    """Read finished runs and return what would stand in a model's repository, texts by path; the Hub is not asked.

    Args:
        org: whose dataset repositories bear the tasks, as ``ORG/BENCHMARK``.
        model: the repository, ``OWNER/NAME``.
        runs: folders of runs, or of several.
        accept_data: whether a run may be over a part of the questions, or over data that are not known to be the
            authors', as the notes then say; never over the sample.
        source: the address where more about the runs is.
    """
    check_name(model)
    check_name(f"{org}/name")
    files: dict[str, str] = {}
    for folder in {part.resolve(): part for root in runs for part in run_folders(Path(root)) or [Path(root)]}.values():
        run = read_run(folder)
        unlike = _check(folder, run, accept_data)
        own = _make_files(run, read_scores(folder, run), unlike, org, source)
        if twice := files.keys() & own.keys():
            raise QuadragError(f"{folder} is the second run of {min(twice)}; name one of them")
        files |= own
    if not files:
        named = ", ".join(map(str, runs))
        raise QuadragError(f"{named}: no run has the value of a task on the Hub; expected that of its eval.yaml")
    return files


def push_results(model: str, files: Mapping[str, str]) -> str | None:
    """Open a pull request on a model's repository and return its address; None where the same stands there."""
    api = open_client()
    with hub_errors(f"opening a pull request on {model}"), tempfile.TemporaryDirectory() as place:
        for path, text in files.items():
            Path(place, path).parent.mkdir(exist_ok=True)
            Path(place, path).write_text(text, encoding="utf-8")
        title = "Evaluation results by quadrag"
        made = api.upload_folder(repo_id=model, folder_path=place, commit_message=title, create_pr=True)
    return made.pr_url and str(made.pr_url)


def hide_places(text: str) -> str:
    """Return a text as one line in which places on the user's machine are their last names."""
    return one_line(_PLACE.sub("", text))


def _check(folder: Path, run: RunRecord, accept_data: bool) -> list[str]:
    """Return in what the questions of a run are not the benchmark's own, all of them; raise where it is no result."""
    if run.state != "finished" or run.find_notes(NoteCode.INVALID):
        raise QuadragError(
            f"{folder} is {run.stopped['code'] if run.stopped else run.state}, or INVALID; expected a finished run"
        )
    if run.provenance is Provenance.SAMPLE or run.llm == "extractive":
        raise QuadragError(f"{folder} is on the sample, or of no model (extractive); expected a model on real data")
    known = options_of(catalogue.config(run.benchmark, run.config))
    unlike = [f"answers to {run.coverage} questions"] if run.coverage else []
    # An option that names a file says where the questions are, and `source` whether they are upstream's.
    own = [name for name in run.options if name in known and not name.endswith(("_file", "_dir"))]
    unlike += [f"option {name}={run.options[name]}" for name in own]
    unlike += [f"{run.provenance.value} data"] if run.provenance is not Provenance.AUTHORS else []
    if unlike and not accept_data:
        what = f"not of all the authors' questions ({'; '.join(unlike)})"
        raise QuadragError(f"{folder} is {what}; --accept-data allows it, and the notes then say so")
    return unlike


def _make_files(
    run: RunRecord, scores: Sequence[Score], unlike: Sequence[str], org: str, source: str | None
) -> dict[str, str]:
    """Make the texts of a run's results, by path."""
    import yaml
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    usual = run.retriever == catalogue.plugin(run.benchmark).default_retriever
    if not usual and not card_facts(run.benchmark).other_retrievers:
        return {}
    setting = "" if usual else "-" + re.sub(r"[^\w-]", "_", run.retriever)
    files = {}
    for task in list_hub_tasks(run.benchmark):
        place = task.config, task.split, task.headline.metric, task.headline.key
        whole = [score for score in scores if score.slice == ALL and score.place == place and score.value is not None]
        own = {score.profile: score for score in whole}
        if "official" not in own:
            continue
        entry = EvalResultEntry(
            dataset_id=f"{org}/{run.benchmark}",
            task_id=task.id,
            value=_in_unit(float(own["official"]), task),
            date=run.started,
            source_url=source,
            notes=_write_notes(run, task, unlike, own),
        )
        text = yaml.safe_dump(eval_result_entries_to_yaml([entry]), sort_keys=False, allow_unicode=True, width=110)
        files[f".eval_results/quadrag-{run.benchmark}-{task.id}{setting}.yaml"] = text
    return files


def _write_notes(run: RunRecord, task: HubTask, unlike: Sequence[str], scores: Mapping[str, Score]) -> str:
    """Write the notes of one result in one line: what the value is, how sure, of what data, and how it was made."""
    official = scores["official"]
    counts = {name: getattr(official.counts, name) for name in ("n_total", "n_scored", "n_not_applicable")}
    settings = {"retriever": run.retriever, **(run.retrieval or {}), "judge": run.judge or "none", "asked": run.llm}
    settings |= {**run.sent, "samples": run.spec.samples, **run.options, "prompts": run.prompts}
    settings.pop("corpus", None)  # whose digest says nothing here
    sources = filter(None, map(strip_place, run.source.split("; corpus: ")))
    parts = [
        *[f"NOT COMPARABLE: {', '.join(unlike)}"] * bool(unlike),
        official.key.name + ", percent" * (task.headline.unit == "percent"),
        *(_write_value(score, task) for score in scores.values()),
        f"{_list(counts)}, unscored {json.dumps(official.counts.unscored)}",
        _list(settings),
        f"data: {'; corpus: '.join(sources) or 'not named'}",
        f"quadrag {run.digests.get('quadrag')}",
        f"signature {official.signature}",
    ]
    return hide_places("; ".join(parts))


def _in_unit(value: float, task: HubTask) -> float:
    """Return a value as the paper prints its own: percent with two digits, ratios with four."""
    return (round(value / 0.01, 2) if task.headline.unit == "percent" else round(value, 4)) + 0.0  # no -0.0


def _write_value(score: Score, task: HubTask) -> str:
    interval = " to ".join(str(_in_unit(bound, task)) for bound in score.interval or ())
    return f"profile {score.profile} {_in_unit(float(score), task)}, 95% interval {interval or 'none'}"


def _list(settings: Mapping[str, Any]) -> str:
    """List settings; of one that is a place as a whole, blanks and brackets included, the last name."""
    shown = {name: str(value) for name, value in settings.items() if value is not None}
    for name, value in shown.items():
        if re.match(r"~?/|\.{1,2}/|[A-Za-z]:\\", value):
            shown[name] = re.split(r"[/\\]", value.rstrip("/\\"))[-1]
    return ", ".join(f"{name} {value}" for name, value in shown.items())
