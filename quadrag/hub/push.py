"""`quadrag push`: benchmarks as dataset repositories, metrics as Spaces, results of runs as pull requests on models.

What differs is sent in one commit, and what was pushed once and is no part any more goes, as ``HfApi.upload_folder``
finds it out. Files of others stay. A repository is ours where it holds the manifest that every push leaves.
"""

import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quadrag import catalogue
from quadrag.data.builders import options_of
from quadrag.data.card_facts import card_facts
from quadrag.errors import QuadragError, one_line
from quadrag.paths import cache_dir
from quadrag.printing import remark
from quadrag.provenance import Provenance
from quadrag.records import scratch, write_text
from quadrag.results import ALL, NoteCode, RunRecord, Score, read_run, read_scores
from quadrag.run.folder import run_folders

from .export import (
    MANIFEST,
    SAMPLE_LICENCE,
    HubTask,
    Repository,
    list_hub_tasks,
    list_licences,
    plan_repositories,
    read_card,
    strip_place,
    write_manifest,
    write_repository,
)

_UNITS = ("*.py", "*.md", "*.txt", "*.yaml")  # what a metric's folder publishes, as in the package
_BY_THE_HUB = {"dataset": {".gitattributes"}, "space": {".gitattributes", "README.md"}}  # of a new repository
_SECONDS = 120.0  # between two pieces of an answer: the client has no limit of its own
_LOG_IN = "set HF_TOKEN, or run `hf auth login`"
# A path from the root, the home or the working folder, up to its last name; addresses of the web are none.
_PLACE = re.compile(r"(?<![\w/.~-])(?!//)(?:~|\.{1,2})?/(?:[^\s/|+();,]+/)*|\b[A-Za-z]:\\(?:[^\\|]+\\)*")


def plan_push(
    org: str,
    benchmarks: Sequence[str] = (),
    metrics: Sequence[str] = (),
    data_dir: str | None = None,
    accept_licence: bool = False,
) -> list[Repository]:
    """Plan what is pushed, all benchmarks and metrics where neither is named; nothing is asked of the Hub."""
    check_name(f"{org}/name")
    spaces = [catalogue.metric_folder(name).name for name in dict.fromkeys(metrics)]
    if not benchmarks and not spaces:
        benchmarks, spaces = list(catalogue.benchmarks()), list(catalogue.metrics())
    return plan_repositories(benchmarks, data_dir, accept_licence) + [Repository(name, "space") for name in spaces]


def check_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[\w.-]+", name, re.ASCII):
        raise QuadragError(f"{name!r} is no place on the Hub; expected OWNER/NAME of letters, digits, - _ .")


def push(org: str, repositories: Sequence[Repository], private: bool = False) -> Iterator[str]:
    """Push repositories, and yield the address of each commit; `private` are those that are not there yet.

    Where a name is another's nothing is written. Where the Hub fails, repositories pushed before stay, and the same
    call goes on from there.
    """
    api = open_client()
    with hub_errors("asking whose the token is"):
        api.whoami()
    exists = [_is_there(api, repository.repo_type, f"{org}/{repository.name}") for repository in repositories]
    for repository, there in zip(repositories, exists, strict=True):
        repo = f"{org}/{repository.name}"
        repo_type = repository.repo_type
        is_space = repository.kind == "space"
        ours = []  # shards of old splits and tasks of old data, which go
        if not is_space:
            ours = ["eval.yaml", *(f"{config}/*.parquet" for config in catalogue.configs(repository.name))]
        with scratch(cache_dir() / "hub" / org / repository.name) as folder:
            if is_space:
                _write_space(folder, org, repository.name)
            else:
                write_repository(folder, repository, org)
            remark(f"sending {repo_type} {repo}")
            with hub_errors(f"pushing {repo_type} {repo}"):
                if not there:
                    space = {"space_sdk": "gradio"} if is_space else {}
                    api.create_repo(repo, repo_type=repo_type, private=private, **space)
                done = api.upload_folder(
                    repo_id=repo,
                    folder_path=folder,
                    repo_type=repo_type,
                    commit_message="quadrag push",
                    delete_patterns=ours,
                )
        yield str(done.commit_url)


def open_client() -> Any:
    """Return a ``huggingface_hub.HfApi``, which finds endpoint, token and logins itself; nothing is asked yet."""
    from huggingface_hub import HfApi, get_session

    get_session().timeout = _SECONDS
    return HfApi(library_name="quadrag")


@contextmanager
def hub_errors(doing: str) -> Iterator[None]:
    """Turn what fails in the client within this block into one line on what is done, as ``reading ORG/NAME``."""
    from huggingface_hub import errors

    try:
        yield
    except (errors.HfHubHTTPError, errors.LocalTokenNotFoundError) as error:
        status = getattr(getattr(error, "response", None), "status_code", 401)
        what = f"the token may not do that, or there is no such thing: {_LOG_IN}"
        if status not in (401, 403, 404):
            what = "correct what it names, or run the same command again later"
        raise QuadragError(f"{doing}: the Hub answered {status} ({_hide_tokens(error)}); {what}") from None
    except (getattr(errors, "HTTPError"), OSError, ValueError) as error:  # noqa: B009
        if getattr(error, "filename", None) is not None:  # of this machine's disk
            raise
        raise QuadragError(f"{doing}: {_hide_tokens(error)}; check the network and HF_ENDPOINT, then again") from None


def _hide_tokens(error: Exception) -> str:
    text = str(getattr(error, "server_message", None) or error) or type(error).__name__
    return one_line(re.sub(r"\bhf_\w{8,}|(?<=//)[^/@\s]+(?=@)", "***", text), 300)


def describe(planned: Repository) -> list[str]:
    if planned.kind == "space":
        return ["the metric with its app"]
    header, _ = read_card(planned.name, planned.data_dir)
    licence = SAMPLE_LICENCE if planned.kind == "sample" else ", ".join(list_licences(header))
    lines = [f"{licence}; {planned.kind}"]
    lines += [f"{name}: {', '.join(part.splits)}" for name, part in planned.parts.items()]
    return lines + [f"{name}: without {', '.join(lacking)}" for name, lacking in planned.lacking.items()]


def _is_there(api: Any, kind: str, repo: str) -> bool:
    """Whether a repository is there; raise where it is another's."""
    from huggingface_hub.errors import RepositoryNotFoundError

    with hub_errors(f"reading {kind} {repo}"):
        try:
            files = set(api.list_repo_files(repo, repo_type=kind))
        except RepositoryNotFoundError:
            return False
    if MANIFEST not in files and not files <= _BY_THE_HUB[kind]:
        raise QuadragError(
            f"name taken: {kind} {repo} was not pushed by quadrag; rename or remove it there, or name others"
        )
    return True


def _write_space(folder: Path, org: str, metric: str) -> None:
    folder.mkdir()
    source = catalogue.metric_folder(metric)
    for path in (path for pattern in _UNITS for path in source.glob(pattern)):
        shutil.copyfile(path, folder / path.name)
    card = (source / "README.md").read_text(encoding="utf-8")
    write_text(folder / "README.md", card.replace(f'load("{metric}"', f'load("{org}/{metric}"'))
    write_manifest(folder)


# Results of runs. The form is the Hub's (https://huggingface.co/docs/hub/eval-results): one file a task in
# `.eval_results/`. A value is that of the profile ``official``, in the paper's unit; the notes say all else about it.
# Where passages were found in another way than usual, the file says so in its name.


def plan_results(
    org: str, model: str, runs: Sequence[str | Path], accept_data: bool = False, source: str | None = None
) -> dict[str, str]:
    """Read finished runs and return what would stand in a model's repository, texts by path; the Hub is not asked.

    The dataset repositories of `org` bear the tasks. With `accept_data` a run may be over a part of the questions, or
    over data that are not known to be the authors', as the notes then say; never over the sample. `source` is the
    address where more about the runs is.
    """
    check_name(model)
    check_name(f"{org}/name")
    files: dict[str, str] = {}
    for folder in {part.resolve(): part for root in runs for part in run_folders(Path(root)) or [Path(root)]}.values():
        run = read_run(folder)
        unlike = _list_deviations(folder, run, accept_data)
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


def _list_deviations(folder: Path, run: RunRecord, accept_data: bool) -> list[str]:
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
