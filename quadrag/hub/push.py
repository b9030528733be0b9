"""`quadrag push`: benchmarks as dataset repositories, metrics as Spaces, each in one commit.

What differs is sent, and what was pushed once and is no part any more goes, as ``HfApi.upload_folder`` finds it out.
Files of others stay. A repository is ours where it holds the record that every push leaves.
"""

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from quadrag import __version__, catalogue
from quadrag.errors import QuadragError
from quadrag.paths import cache_dir

from .card import list_licences, read_card, split_card
from .client import hub_errors, open_client
from .export import MANIFEST, ExportPlan, check_licences, holds_other, plan_export, write_export

_UNITS = ("*.py", "*.md", "*.txt", "*.yaml")  # what a metric's folder publishes, as in the package
_BY_THE_HUB = {"dataset": {".gitattributes"}, "space": {".gitattributes", "README.md"}}  # of a new repository
_CONTENT = {
    "data": "the data",
    "sample": "the bundled sample",
    "own": "a dataset of one's own",
    "recipe": "a card with the way to the data, which are not hosted again",
}


class Repository(NamedTuple):
    """One ``dataset`` or ``space`` to be pushed, named without the organisation; what goes there, a line each."""

    kind: str
    name: str
    about: list[str]
    plan: ExportPlan | None = None


def plan_push(
    org: str,
    benchmarks: Sequence[str] = (),
    metrics: Sequence[str] = (),
    data_dir: str | None = None,
    accept_licence: bool = False,
) -> list[Repository]:
    """Say what would be pushed, all benchmarks and metrics where neither is named; nothing is asked of the Hub."""
    check_org(org)
    names = list(dict.fromkeys(map(catalogue.benchmark_name, benchmarks)))
    others = [catalogue.metric_folder(name).name for name in dict.fromkeys(metrics)]
    if not names and not others:
        names, others = list(catalogue.benchmarks()), list(catalogue.metrics())
    check_licences(names, data_dir, accept_licence)
    plans = [plan_export(name, data_dir, org) for name in names]
    return [
        *(Repository("dataset", plan.benchmark, _describe(plan), plan) for plan in plans),
        *(
            Repository("space", name, [f"{_licence(_metric_card(org, name))}; the metric with its app"])
            for name in others
        ),
    ]


def check_org(org: str) -> None:
    """Raise where a text can be no organisation and no user of the Hub."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", org, re.ASCII):
        raise QuadragError(
            f"{org!r} is no name on the Hub; expected an organisation or a user of letters, digits, - _ ."
        )


def push(
    org: str,
    repositories: Sequence[Repository],
    private: bool = False,
    progress: Callable[[str], None] = lambda line: None,
) -> Iterator[str]:
    """Push repositories, and yield the address of each commit; `private` are those that are not there yet.

    Raises:
        QuadragError: a name is another's (nothing is then written), the token is missing or may not write, or the Hub
            fails. Repositories pushed before stay; the same command, run again, goes on from there.
    """
    api = open_client()
    with hub_errors("asking whose the token is"):
        api.whoami()
    there = [_is_there(api, each.kind, f"{org}/{each.name}") for each in repositories]
    for each, is_there in zip(repositories, there, strict=True):
        repo = f"{org}/{each.name}"
        progress(f"staging {each.kind} {repo}")
        with _staged(org, each, progress) as folder:
            progress(f"sending {each.kind} {repo}")
            with hub_errors(f"pushing {each.kind} {repo}"):
                if not is_there:
                    space = {"space_sdk": "gradio"} if each.kind == "space" else {}
                    api.create_repo(repo, repo_type=each.kind, private=private, **space)
                done = api.upload_folder(
                    repo_id=repo,
                    folder_path=folder,
                    repo_type=each.kind,
                    commit_message="quadrag push",
                    delete_patterns=_list_ours(each),
                )
        yield str(done.commit_url)


def _describe(plan: ExportPlan) -> list[str]:
    header, _ = read_card(plan.benchmark, plan.data_dir)
    licence = "apache-2.0" if plan.kind == "sample" else ", ".join(list_licences(header))
    lines = [f"{licence}; {_CONTENT[plan.kind]}"]
    lines += [f"{name}: {', '.join(config.splits)}" for name, config in plan.configs.items()]
    return lines + [f"{name}: without {', '.join(lacking)}" for name, lacking in plan.lacking.items()]


def _licence(card: str) -> str:
    return ", ".join(list_licences(split_card(card)[0]))


def _metric_card(org: str, metric: str) -> str:
    """Return the card of a metric, which loads it from its Space."""
    text = (catalogue.metric_folder(metric) / "README.md").read_text(encoding="utf-8")
    return re.sub(rf'(evaluate\.load\()"{metric}"', rf'\1"{org}/{metric}"', text)


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
            f"name taken: {kind} {repo} was not pushed by quadrag; rename or remove it there, or name others or another"
            " organisation"
        )
    return True


@contextmanager
def _staged(org: str, repository: Repository, progress: Callable[[str], None]) -> Iterator[Path]:
    """Yield the folder that a repository is to be: a dataset's stays in the cache, a Space's goes."""
    if repository.plan:
        folder = cache_dir() / "hub" / org / repository.name
        if holds_other(folder, repository.plan):
            shutil.rmtree(folder)
        write_export(folder, repository.plan, lambda label: progress(f"staging {label}"))
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="quadrag-") as place:
        source = catalogue.metric_folder(repository.name)
        for path in (path for pattern in _UNITS for path in source.glob(pattern)):
            shutil.copyfile(path, Path(place, path.name))
        Path(place, "README.md").write_text(_metric_card(org, repository.name), encoding="utf-8")
        Path(place, MANIFEST).write_text(json.dumps({"quadrag": __version__}) + "\n", encoding="utf-8")
        yield Path(place)


def _list_ours(repository: Repository) -> list[str]:
    """List the patterns of the files that go where a push has them no more: shards of old splits, tasks of old data."""
    if repository.kind == "space":
        return []
    return ["eval.yaml", *(f"{config}/*.parquet" for config in catalogue.configs(repository.name))]
