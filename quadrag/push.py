"""`quadrag push`: benchmarks as dataset repositories and metrics as Spaces, to a Hub.

`plan` says what would change and writes nothing there; `push` does it, one commit a repository, so that a reader never
sees half of it. Large files go ahead of that commit: what arrived stays, whatever happens then, and the next run finds
it there. Evaluation results of a run are `quadrag.push_results`'s affair.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from quadrag import catalogue, push_stage
from quadrag.errors import QuadragError, unknown_name
from quadrag.hub import AGAIN, Hub, hub_errors
from quadrag.push_access import Access, access
from quadrag.push_remote import Difference, Remote, compare, look
from quadrag.push_stage import Wanted

# A file of this size is sent by itself, so that an interrupt need not wait for others; smaller ones in groups.
_LARGE = 8_000_000
_GROUP = 64


class Change(NamedTuple):
    """One repository: as it is to be, as it stands there (None: not at all), and what differs."""

    wanted: Wanted
    remote: Remote | None
    difference: Difference


class Plan(NamedTuple):
    """What a push would do.

    Attributes:
        org: the organisation or user.
        private: whether new repositories are to be; those that are there stay as they are.
        hub: where they go.
        access: whether the token may write there.
        changes: one for each repository, datasets first.
    """

    org: str
    private: bool
    hub: Hub
    access: Access
    changes: list[Change]


class Pushed(NamedTuple):
    """One repository after a push.

    Attributes:
        kind: ``dataset`` or ``space``.
        repo: ``ORG/NAME``.
        url: where it is seen.
        created: whether it was made now.
        commit: what was written; None where nothing was to be done.
        difference: which files.
        sent: their size in bytes.
    """

    kind: str
    repo: str
    url: str
    created: bool
    commit: str | None
    difference: Difference
    sent: int


def plan(
    org: str,
    benchmarks: Sequence[str] = (),
    metrics: Sequence[str] = (),
    data_dir: str | None = None,
    accept_licence: bool = False,
    private: bool = False,
    progress: Callable[[str], None] = lambda said: None,
    acting: bool = False,
) -> Plan:
    """Find out what a push would do; nothing is written on the Hub.

    Args:
        org: an organisation on the Hub, or the user's own name.
        benchmarks: names of benchmarks.
        metrics: names of metrics; where neither is named, all of both.
        data_dir: as `quadrag.export.export` takes it.
        accept_licence: whether data of a non-commercial licence may go out.
        private: whether new repositories are private.
        progress: told in words what is being done.
        acting: whether a push follows: what would stop it then does so before anything is staged.

    Raises:
        QuadragError: a name is unknown or taken, a licence is not accepted, data are lacking or wrong, the Hub cannot
            be asked, or (`acting`) the token is missing or may not write.
    """
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", org, re.ASCII):
        raise QuadragError(
            f"{org!r} is no name on the Hub; expected an organisation or a user of letters, digits, - _ ."
        )
    names, others = list(dict.fromkeys(benchmarks)), list(dict.fromkeys(metrics))
    for name in names:
        if name not in catalogue.benchmarks():
            raise unknown_name("benchmark", name, catalogue.benchmarks())
    for name in others:
        catalogue.metric_folder(name)
    if not names and not others:
        names, others = list(catalogue.benchmarks()), list(catalogue.metrics())
    push_stage.accepted(names, data_dir, accept_licence)
    hub = Hub()
    right = access(hub, org)
    if acting:
        _refuse(right, org)
    repos = [("dataset", f"{org}/{name}") for name in names] + [("space", f"{org}/{name}") for name in others]
    remotes = {}
    for kind, repo in repos:
        progress(f"reading {kind} {repo}")
        remotes[kind, repo] = look(hub, kind, repo)
    taken = [f"{kind} {repo}" for (kind, repo), one in remotes.items() if one is not None and one.pushed is None]
    if taken:
        raise QuadragError(
            f"name taken: {', '.join(taken)} on {hub.endpoint} {'was' if len(taken) == 1 else 'were'} not pushed by"
            " quadrag; rename or remove it there, or name other benchmarks, metrics or another organisation"
        )
    wanted = [push_stage.dataset(org, name, data_dir, accept_licence, progress) for name in names]
    wanted += [push_stage.space(org, name) for name in others]
    changes = []
    for one in wanted:
        if one.kind == "dataset":
            progress(f"comparing {one.kind} {one.repo}")
        remote = remotes[one.kind, one.repo]
        changes.append(Change(one, remote, compare(one, remote)))
    return Plan(org, private, hub, right, changes)


def push(plan: Plan, progress: Callable[[str], None] = lambda said: None) -> list[Pushed]:
    """Do what a plan says, repository by repository, each in one commit that is then held against what was meant.

    Args:
        plan: what `plan` returned, as it is.
        progress: told in words what is being done.

    Returns:
        What was done, in the plan's order.

    Raises:
        QuadragError: the token is missing or may not write, a name was taken or a repository changed meanwhile, or the
            Hub fails. Repositories pushed before stay, and so does what arrived of this one: the same command, run
            again, goes on from there.
    """
    if any(change.difference for change in plan.changes):
        _refuse(plan.access, plan.org)
    return [_push(plan, change, progress) for change in plan.changes]


def _refuse(right: Access, org: str) -> None:
    if right.may is False:
        raise QuadragError(f"nothing can be pushed to {org}: {right.why}")


def _push(plan: Plan, change: Change, progress: Callable[[str], None]) -> Pushed:
    """Bring one repository up to date."""
    hub, (wanted, remote, difference) = plan.hub, change
    folder = "datasets" if wanted.kind == "dataset" else "spaces"
    url = f"{hub.endpoint}/{folder}/{wanted.repo}"
    if not difference:
        return Pushed(wanted.kind, wanted.repo, url, False, None, difference, 0)
    created = remote is None
    if remote is None:
        progress(f"creating {wanted.kind} {wanted.repo}")
        with hub_errors("creating", wanted.repo):
            hub.api.create_repo(
                wanted.repo,
                repo_type=wanted.kind,
                private=plan.private,
                space_sdk="gradio" if wanted.kind == "space" else None,
            )
        remote = look(hub, wanted.kind, wanted.repo)
        if remote is None or remote.pushed is None:
            raise QuadragError(f"{wanted.repo} was created and is not there as it should be; {AGAIN}")
        difference = compare(wanted, remote)
    commit = _commit(hub, wanted, remote, difference, progress)
    progress(f"verifying {wanted.repo}")
    after = look(hub, wanted.kind, wanted.repo, commit)
    rest = compare(wanted, after)
    if rest:
        named = ", ".join([*rest.sent, *rest.deleted][:3])
        raise QuadragError(f"{wanted.repo} at {commit} is not as it was meant: {named}; {AGAIN}")
    progress(f"pushed {wanted.kind} {wanted.repo}: commit {commit}")
    sent = sum(wanted.files[path].size for path in difference.sent)
    return Pushed(wanted.kind, wanted.repo, url, created, commit, difference, sent)


def _commit(hub: Hub, wanted: Wanted, remote: Remote, difference: Difference, progress: Callable[[str], None]) -> str:
    """Send the large files, then commit all at once; return the commit."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    total = sum(wanted.files[path].size for path in difference.sent)
    done = 0
    operations: list[Any] = []
    for paths in _groups(wanted, difference.sent):
        progress(f"sending {wanted.repo}: {paths[0]}, {done / 1e6:,.1f} of {total / 1e6:,.1f} MB done")
        with hub_errors(f"sending {paths[0]} to", wanted.repo):
            group = [_addition(CommitOperationAdd, path, wanted) for path in paths]
            hub.api.preupload_lfs_files(wanted.repo, group, repo_type=wanted.kind, free_memory=False)
        operations += group
        done += sum(wanted.files[path].size for path in paths)
    operations += [CommitOperationDelete(path, is_folder=False) for path in difference.deleted]
    progress(f"committing {wanted.repo}: {len(operations)} files")
    with hub_errors("committing to", wanted.repo):
        made = hub.api.create_commit(
            wanted.repo,
            operations,
            commit_message=f"quadrag push: {len(difference.sent)} files, {len(difference.deleted)} deleted",
            repo_type=wanted.kind,
            parent_commit=remote.sha,
        )
    return str(made.oid)


def _addition(operation: Any, path: str, wanted: Wanted) -> Any:
    """Describe a file to the client, which need not sum it again."""
    file = wanted.files[path]
    total = bytes.fromhex(file.sha256())
    made = operation(path, file.source)
    made.upload_info.sha256 = total
    return made


def _groups(wanted: Wanted, paths: Sequence[str]) -> Iterator[list[str]]:
    """Cut paths into those of one request: a large file alone, small ones together."""
    group: list[str] = []
    size = 0
    for path in paths:
        one = wanted.files[path].size
        if group and (size + one > _LARGE or len(group) == _GROUP):
            yield group
            group, size = [], 0
        group.append(path)
        size += one
    if group:
        yield group
