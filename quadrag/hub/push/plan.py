"""What a push of benchmarks as dataset repositories and metrics as Spaces would change; nothing is written there."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from quadrag import catalogue
from quadrag.errors import QuadragError
from quadrag.hub.client import Hub
from quadrag.hub.export.card import list_closed
from quadrag.hub.push.access import Access, ask_access
from quadrag.hub.push.remote import Difference, Remote, compare, read_remote
from quadrag.hub.push.stage import Wanted, stage_dataset, stage_space


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


def plan_push(
    org: str,
    benchmarks: Sequence[str] = (),
    metrics: Sequence[str] = (),
    data_dir: str | None = None,
    accept_licence: bool = False,
    private: bool = False,
    progress: Callable[[str], None] = lambda line: None,
    acting: bool = False,
) -> Plan:
    """Find out what a push would do; nothing is written on the Hub.

    Args:
        org: an organisation on the Hub, or the user's own name.
        benchmarks: names of benchmarks.
        metrics: names of metrics; where neither is named, all of both.
        data_dir: as `quadrag.hub.export.repository.export` takes it.
        accept_licence: whether data of a non-commercial licence may go out.
        private: whether new repositories are private.
        progress: called with a line on what is being done.
        acting: whether a push follows: what would stop it then does so before anything is staged.

    Raises:
        QuadragError: a name is unknown or taken, a licence is not accepted, data are lacking or wrong, the Hub cannot
            be asked, or (`acting`) the token is missing or may not write.
    """
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", org, re.ASCII):
        raise QuadragError(
            f"{org!r} is no name on the Hub; expected an organisation or a user of letters, digits, - _ ."
        )
    names = list(dict.fromkeys(map(catalogue.benchmark_name, benchmarks)))
    others = list(dict.fromkeys(map(catalogue.metric_name, metrics)))
    if not names and not others:
        names, others = list(catalogue.benchmarks()), list(catalogue.metrics())
    if not accept_licence and (closed := list_closed(names, data_dir)):
        raise QuadragError(
            f"not for commercial use: {closed}; with --accept-licence they go out under that licence, or name others by"
            " --benchmark and --metric"
        )
    hub = Hub()
    right = ask_access(hub, org)
    if acting:
        refuse_without_access(right, org)
    repos = [("dataset", f"{org}/{name}") for name in names] + [("space", f"{org}/{name}") for name in others]
    remotes = {}
    for kind, repo in repos:
        progress(f"reading {kind} {repo}")
        remotes[kind, repo] = read_remote(hub, kind, repo)
    taken = [f"{kind} {repo}" for (kind, repo), one in remotes.items() if one is not None and one.pushed is None]
    if taken:
        raise QuadragError(
            f"name taken: {', '.join(taken)} on {hub.endpoint} {'was' if len(taken) == 1 else 'were'} not pushed by"
            " quadrag; rename or remove it there, or name other benchmarks, metrics or another organisation"
        )
    wanted = [stage_dataset(org, name, data_dir, accept_licence, progress) for name in names]
    wanted += [stage_space(org, name) for name in others]
    changes = []
    for one in wanted:
        if one.kind == "dataset":
            progress(f"comparing {one.kind} {one.repo}")
        remote = remotes[one.kind, one.repo]
        changes.append(Change(one, remote, compare(one, remote)))
    return Plan(org, private, hub, right, changes)


def refuse_without_access(right: Access, org: str) -> None:
    """Raise where the token may not write."""
    if right.may is False:
        raise QuadragError(f"nothing can be pushed to {org}: {right.why}")
