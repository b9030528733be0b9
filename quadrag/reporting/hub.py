"""Run folders to the results on a model's page: one file a task in `.eval_results/`, sent as a pull request.

The form is the Hub's (https://huggingface.co/docs/hub/eval-results). A value is that of the profile ``official``, in
the paper's unit. The notes say all else about it; of places on the user's machine they show the last name alone. Where
passages were found in another way than usual, the file says so in its name.
"""

import hashlib
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.data.builders import options_of
from quadrag.data.card_facts import hub_record
from quadrag.errors import QuadragError, one_line
from quadrag.hub.card import strip_place
from quadrag.hub.client import hub_errors, open_client
from quadrag.hub.push import check_org
from quadrag.hub.tasks import HubTask, list_hub_tasks
from quadrag.provenance import Provenance
from quadrag.results.record import RunRecord, read_run
from quadrag.results.run import read_scores
from quadrag.results.score import ALL, Score
from quadrag.run.finished import run_folders

# A path from the root, the home or the working folder, up to its last name; addresses of the web are none.
_PLACE = re.compile(r"(?<![\w/.~-])(?!//)(?:~|\.{1,2})?/(?:[^\s/|+();,]+/)*|\b[A-Za-z]:\\(?:[^\\|]+\\)*")


class ResultsPlan(NamedTuple):
    """What is to stand in a model's repository, texts by path; and which runs hold nothing of it, a line each."""

    model: str
    files: dict[str, str]
    left_out: list[str]


def plan_results(
    org: str, model: str, runs: Sequence[str | Path], accept_data: bool = False, source: str | None = None
) -> ResultsPlan:
    """Read finished runs and say what would stand in a model's repository. Nothing is asked of the Hub.

    `org` is whose dataset repositories bear the tasks, as ``ORG/rgb``. With `accept_data` a run may be over a part of
    the questions, or over data that are not known to be the authors', as the notes then say; never over the sample.
    """
    check_org(org)
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", model, re.ASCII):
        raise QuadragError(f"{model!r} is no model on the Hub; expected OWNER/NAME")
    plan = ResultsPlan(model, {}, [])
    for folder in {part.resolve(): part for root in runs for part in run_folders(Path(root)) or [Path(root)]}.values():
        run = read_run(folder)
        unlike = _check(folder, run, accept_data)
        files = _make_files(run, read_scores(folder, run), unlike, org, source)
        if twice := plan.files.keys() & files.keys():
            raise QuadragError(f"{folder} is the second run of {min(twice)}; name one of them")
        plan.files.update(files)
        if not files:
            how = f"{run.config}, retriever {run.retriever}, judge {run.judge or 'none'}"
            plan.left_out.append(f"{folder} has no value of a task of {org}/{run.benchmark} ({how})")
    if not plan.files:
        raise QuadragError("; ".join(plan.left_out))
    return plan


def push_results(plan: ResultsPlan) -> str | None:
    """Open a pull request on the model's repository and return its address; that of an open one with the same results.

    None is returned where the same results stand in the repository.
    """
    digest = hashlib.sha256(json.dumps(plan.files, sort_keys=True).encode()).hexdigest()[:8]
    title = f"Evaluation results by quadrag ({digest})"
    api = open_client()
    with hub_errors(f"opening a pull request on {plan.model}"), tempfile.TemporaryDirectory() as place:
        asked = {"author": api.whoami()["name"], "discussion_type": "pull_request", "discussion_status": "open"}
        for request in api.get_repo_discussions(plan.model, **asked):
            if request.title == title:
                return str(request.url)
        for path, text in plan.files.items():
            Path(place, path).parent.mkdir(exist_ok=True)
            Path(place, path).write_text(text, encoding="utf-8")
        made = api.upload_folder(repo_id=plan.model, folder_path=place, commit_message=title, create_pr=True)
    return made.pr_url and str(made.pr_url)


def hide_places(text: str) -> str:
    """Return a text as one line in which places on the user's machine are their last names."""
    return one_line(_PLACE.sub("", text))


def _check(folder: Path, run: RunRecord, accept_data: bool) -> list[str]:
    """Return in what the questions of a run are not the benchmark's own, all of them; raise where it is no result."""
    known = options_of(catalogue.config(run.benchmark, run.config))
    # An option that names a file says where the questions are, and `source` whether they are upstream's.
    own = {name: value for name, value in run.options.items() if name in known and not name.endswith(("_file", "_dir"))}
    unlike = [f"answers to {run.coverage} questions"] if run.coverage else []
    unlike += [f"option {name}={value}" for name, value in own.items()]
    unlike += [f"{run.whose.value} data"] if run.whose is not Provenance.AUTHORS else []
    faults = {
        f"not finished ({run.stopped or run.state})": run.state != "finished",
        "INVALID: too many of its items failed": run.has_note("invalid"),
        "on the bundled sample, whose questions are made up": run.whose is Provenance.SAMPLE,
        "of the extractive baseline, which is no model": run.llm == "extractive",
        f"not of the benchmark's own questions ({'; '.join(unlike)}), which --accept-data allows": unlike
        and not accept_data,
    }
    for fault, there in faults.items():
        if there:
            raise QuadragError(f"{folder} is {fault}; expected a finished run of a model on all the authors' questions")
    return unlike


def _make_files(
    run: RunRecord, scores: Sequence[Score], unlike: Sequence[str], org: str, source: str | None
) -> dict[str, str]:
    """Make the texts of a run's results, by path."""
    import yaml
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    usual = hub_record(run.benchmark)
    setting = "" if run.retriever == usual.retriever else "-" + re.sub(r"[^\w-]", "_", run.retriever)
    files = {}
    # Without `other_retrievers` its tasks are about the documents of their questions.
    for task in list_hub_tasks(run.benchmark) if usual.other_retrievers or not setting else ():
        place = task.config, task.split, task.headline.metric, task.headline.key
        own = {one.profile: one for one in scores if one.slice == ALL and one.place == place and one.value is not None}
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
    settings |= {**run.sent, "samples": run.samples, **run.options, "prompts": run.prompts}
    settings.pop("corpus", None)  # whose digest says nothing here
    sources = filter(None, map(strip_place, run.source.split("; corpus: ")))
    parts = [
        *[f"NOT COMPARABLE: {', '.join(unlike)}"] * bool(unlike),
        official.key.name + ", percent" * task.headline.percent,
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
    return (round(value / 0.01, 2) if task.headline.percent else round(value, 4)) + 0.0  # no -0.0


def _write_value(score: Score, task: HubTask) -> str:
    interval = " to ".join(str(_in_unit(bound, task)) for bound in score.interval or ())
    return f"profile {score.profile} {_in_unit(float(score), task)}, 95% interval {interval or 'none'}"


def _list(settings: Mapping[str, Any]) -> str:
    """List settings; of one that is a place as a whole, blanks and brackets included, the last name."""
    known = {name: str(value) for name, value in settings.items() if value is not None}
    places = {name for name, value in known.items() if re.match(r"~?/|\.{1,2}/|[A-Za-z]:\\", value)}
    last = {name: re.split(r"[/\\]", known[name].rstrip("/\\"))[-1] for name in places}
    return ", ".join(f"{name} {value}" for name, value in {**known, **last}.items())
