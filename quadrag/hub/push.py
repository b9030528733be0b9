"""`quadrag push`: benchmarks as dataset repositories, metrics as Spaces, each in one commit.

What differs is sent, and what was pushed once and is no part any more goes, as ``HfApi.upload_folder`` finds it out.
Files of others stay. A repository is ours where it holds the manifest that every push leaves.
"""

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.errors import QuadragError, one_line
from quadrag.paths import cache_dir
from quadrag.records import scratch, write_text

from .card import SAMPLE_LICENCE, list_licences, read_card
from .export import MANIFEST, Repository, plan_repositories, write_manifest, write_repository

_UNITS = ("*.py", "*.md", "*.txt", "*.yaml")  # what a metric's folder publishes, as in the package
_BY_THE_HUB = {"dataset": {".gitattributes"}, "space": {".gitattributes", "README.md"}}  # of a new repository
_SECONDS = 120.0  # between two pieces of an answer: the client has no limit of its own
_LOG_IN = "set HF_TOKEN, or run `hf auth login`"


class Pushed(NamedTuple):
    """One ``dataset`` or ``space`` to be pushed, named without the organisation; what goes there, a line each."""

    kind: str
    name: str
    about: list[str]
    planned: Repository | None = None  # of a dataset


def plan_push(
    org: str,
    benchmarks: Sequence[str] = (),
    metrics: Sequence[str] = (),
    data_dir: str | None = None,
    accept_licence: bool = False,
) -> list[Pushed]:
    """Say what would be pushed, all benchmarks and metrics where neither is named; nothing is asked of the Hub."""
    check_name(f"{org}/name")
    spaces = [catalogue.metric_folder(name).name for name in dict.fromkeys(metrics)]
    if not benchmarks and not spaces:
        benchmarks, spaces = list(catalogue.benchmarks()), list(catalogue.metrics())
    planned = plan_repositories(benchmarks, data_dir, accept_licence)
    return [
        *(Pushed("dataset", each.benchmark, _describe(each), each) for each in planned),
        *(Pushed("space", name, ["the metric with its app"]) for name in spaces),
    ]


def check_name(name: str) -> None:
    """Raise where a text can be no ``OWNER/NAME`` of the Hub."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[\w.-]+", name, re.ASCII):
        raise QuadragError(f"{name!r} is no place on the Hub; expected OWNER/NAME of letters, digits, - _ .")


def push(
    org: str,
    repositories: Sequence[Pushed],
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
        ours = []  # shards of old splits and tasks of old data, which go
        if each.planned:
            ours = ["eval.yaml", *(f"{config}/*.parquet" for config in catalogue.configs(each.name))]
        with scratch(cache_dir() / "hub" / org / each.name) as folder:
            _stage(folder, org, each, lambda label: progress(f"staging {label}"))
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


def _describe(planned: Repository) -> list[str]:
    header, _ = read_card(planned.benchmark, planned.data_dir)
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


def _stage(folder: Path, org: str, pushed: Pushed, progress: Callable[[str], None]) -> None:
    """Write what a repository is to be."""
    if pushed.planned:
        write_repository(folder, pushed.planned, progress, org)
        return
    folder.mkdir()
    source = catalogue.metric_folder(pushed.name)
    for path in (path for pattern in _UNITS for path in source.glob(pattern)):
        shutil.copyfile(path, folder / path.name)
    card = (
        (source / "README.md")
        .read_text(encoding="utf-8")
        .replace(f'load("{pushed.name}"', f'load("{org}/{pushed.name}"')
    )
    write_text(folder / "README.md", card)
    write_manifest(folder)
