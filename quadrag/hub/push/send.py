"""`quadrag push`: what a plan says is done, one commit a repository, so that a reader never sees half of it.

Large files go ahead of that commit: what arrived stays, whatever happens then, and the next run finds it there.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from quadrag.errors import QuadragError
from quadrag.hub.client import AGAIN, Hub, hub_errors
from quadrag.hub.groups import cut_groups
from quadrag.hub.push.plan import Change, Plan, refuse_without_access
from quadrag.hub.push.remote import Difference, Remote, compare, read_remote
from quadrag.hub.push.stage import Wanted

# A file of this size is sent by itself, so that an interrupt need not wait for others; smaller ones in groups.
_LARGE = 8_000_000
_GROUP = 64


class PushedRepository(NamedTuple):
    """One repository after a push.

    Attributes:
        url: where it is seen.
        created: whether it was made now.
        commit: what was written; None where nothing was to be done.
        difference: which files.
        sent: their size in bytes.
    """

    url: str
    created: bool
    commit: str | None
    difference: Difference
    sent: int


def push(plan: Plan, progress: Callable[[str], None] = lambda line: None) -> list[PushedRepository]:
    """Do what a plan says, repository by repository, each in one commit that is then held against what was meant.

    Args:
        plan: what `plan_push` returned, as it is.
        progress: called with a line on what is being done.

    Returns:
        What was done, in the plan's order.

    Raises:
        QuadragError: the token is missing or may not write, a name was taken or a repository changed meanwhile, or the
            Hub fails. Repositories pushed before stay, and so does what arrived of this one: the same command, run
            again, goes on from there.
    """
    if any(change.difference for change in plan.changes):
        refuse_without_access(plan.access, plan.org)
    return [_push_one(plan, change, progress) for change in plan.changes]


def _push_one(plan: Plan, change: Change, progress: Callable[[str], None]) -> PushedRepository:
    """Bring one repository up to date."""
    hub, (wanted, remote, difference) = plan.hub, change
    folder = "datasets" if wanted.kind == "dataset" else "spaces"
    url = f"{hub.endpoint}/{folder}/{wanted.repo}"
    if not difference:
        return PushedRepository(url, False, None, difference, 0)
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
        remote = read_remote(hub, wanted.kind, wanted.repo)
        if remote is None or remote.pushed is None:
            raise QuadragError(f"{wanted.repo} was created and is not there as it should be; {AGAIN}")
        difference = compare(wanted, remote)
    commit = _commit(hub, wanted, remote, difference, progress)
    progress(f"verifying {wanted.repo}")
    after = read_remote(hub, wanted.kind, wanted.repo, commit)
    rest = compare(wanted, after)
    if rest:
        named = ", ".join([*rest.sent, *rest.deleted][:3])
        raise QuadragError(f"{wanted.repo} at {commit} is not as it was meant: {named}; {AGAIN}")
    progress(f"pushed {wanted.kind} {wanted.repo}: commit {commit}")
    sent = sum(wanted.files[path].size for path in difference.sent)
    return PushedRepository(url, created, commit, difference, sent)


def _commit(hub: Hub, wanted: Wanted, remote: Remote, difference: Difference, progress: Callable[[str], None]) -> str:
    """Send the large files, then commit all at once; return the commit."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    total = sum(wanted.files[path].size for path in difference.sent)
    done = 0
    operations: list[Any] = []
    for paths in cut_groups(difference.sent, _GROUP, _LARGE, lambda path: wanted.files[path].size):
        progress(f"sending {wanted.repo}: {paths[0]}, {done / 1e6:,.1f} of {total / 1e6:,.1f} MB done")
        with hub_errors(f"sending {paths[0]} to", wanted.repo):
            group = [_describe_file(CommitOperationAdd, path, wanted) for path in paths]
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


def _describe_file(operation: Any, path: str, wanted: Wanted) -> Any:
    """Describe a file to the client, which need not sum it again."""
    file = wanted.files[path]
    total = bytes.fromhex(file.sha256())
    made = operation(path, file.source)
    made.upload_info.sha256 = total
    return made
