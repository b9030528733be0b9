"""Results of runs to a model's repository on the Hub, as a pull request that its owner may merge.

`compare_results` asks what stands in the repository and says what a plan would change, `push_results` acts. Of a file
that stands there the entries of other tasks are kept, fields that this client does not know included. Nothing is opened
where the same stands already, merged or in an open pull request of the same user; so a second run after a lost
connection finishes what the first began.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from quadrag.errors import QuadragError
from quadrag.hub.client import Hub, hub_errors
from quadrag.hub.push.access import whoami
from quadrag.hub.results.plan import ResultsPlan
from quadrag.reading import parse_yaml

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

_MAIN = "main"


class FileChange(NamedTuple):
    """A file of the model's repository; `before` is None where there is none, and the same as `after` if it stands."""

    path: str
    before: str | None
    after: str

    @property
    def changed(self) -> bool:
        """Whether anything is to be sent."""
        return self.before != self.after

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty where there is none."""
        before, after = ((text or "").splitlines(keepends=True) for text in (self.before, self.after))
        return "".join(difflib.unified_diff(before, after, self.path if before else "/dev/null", self.path))


class Comparison(NamedTuple):
    """What would change in a model's repository that stands at a commit."""

    commit: str | None
    changes: list[FileChange]


class PullRequest(NamedTuple):
    """A pull request that was opened now or is open already; None where all stands on main."""

    url: str | None
    opened: bool

    def describe(self) -> str:
        """Say what came of the push."""
        if self.url is None:
            return "the results stand there already; nothing to do"
        return f"opened {self.url}" if self.opened else f"{self.url} is open already with the same results"


def compare_results(plan: ResultsPlan, hub: Hub) -> Comparison:
    """Ask what stands in the model's repository, and merge the plan into it. Nothing is sent.

    Raises:
        QuadragError: there is no such model, it may not be read, a file there is no list of results, or the Hub
            cannot be asked.
    """
    with hub_errors("reading the results of", plan.model):
        commit = hub.api.model_info(plan.model, revision=_MAIN).sha
        texts = {path: _read_text(hub, plan.model, path, commit or _MAIN) for path in plan.files}
    return Comparison(
        commit,
        [FileChange(path, texts[path], _merge(plan.model, path, texts[path], new)) for path, new in plan.files.items()],
    )


def push_results(plan: ResultsPlan, hub: Hub) -> PullRequest:
    """Open a pull request on the model's repository, unless the same results stand there.

    Raises:
        QuadragError: as in `compare_results`, or there is no token, or it may not do that.
    """
    with hub_errors("opening a pull request on", plan.model):
        user = whoami(hub)["name"]
    comparison = compare_results(plan, hub)
    changes = [change for change in comparison.changes if change.changed]
    if not changes:
        return PullRequest(None, False)
    with hub_errors("looking for open pull requests on", plan.model):
        found = hub.api.get_repo_discussions(
            plan.model, author=user, discussion_type="pull_request", discussion_status="open"
        )
        for one in found:
            # A server may ignore what it was asked to leave out.
            if one.author != user or not one.is_pull_request or one.status not in ("open", "draft"):
                continue
            if all(_is_there(hub, plan.model, change, f"refs/pr/{one.num}") for change in changes):
                return PullRequest(one.url, False)
    return PullRequest(_open(plan, hub, comparison.commit, changes), True)


def _open(plan: ResultsPlan, hub: Hub, commit: str | None, changes: Sequence[FileChange]) -> str:
    from huggingface_hub import CommitOperationAdd

    benchmarks = list(dict.fromkeys(result.benchmark for result in plan.results))
    done = [result for result in plan.results if result.path in {change.path for change in changes}]
    lines = [f"- `{one.entry.dataset_id}` `{one.entry.task_id}`: {one.entry.value}" for one in done]
    with hub_errors("opening a pull request on", plan.model):
        made = hub.api.create_commit(
            plan.model,
            [CommitOperationAdd(change.path, change.after.encode()) for change in changes],
            commit_message=f"Evaluation results: {', '.join(benchmarks)}",
            commit_description="\n".join(
                ["Results of runs with quadrag; what each value is stands in its `notes`.", "", *lines]
            ),
            create_pr=True,
            parent_commit=commit,
        )
    if made.pr_url is None:
        raise QuadragError(f"the Hub took the results of {plan.model} and named no pull request; look for it there")
    return str(made.pr_url)


def _is_there(hub: Hub, model: str, change: FileChange, revision: str) -> bool:
    """Whether a file of a revision holds the very results that are to be sent."""
    text = _read_text(hub, model, change.path, revision)
    return text is not None and (text == change.after or _read_yaml(text) == _read_yaml(change.after))


def _read_text(hub: Hub, model: str, path: str, revision: str) -> str | None:
    """Read a file of the model's repository past all caches; None where there is none."""
    from huggingface_hub.errors import GatedRepoError, RemoteEntryNotFoundError

    try:
        return hub.read_file(model, path, revision).decode("utf-8", "replace")
    except RemoteEntryNotFoundError:
        return None
    except GatedRepoError:
        raise QuadragError(f"{model} is gated, and its files are not shown to you; ask for access there") from None


def _read_yaml(text: str) -> Any:
    """Read YAML; None where it is none."""
    try:
        return parse_yaml(text, "the file", "results")
    except QuadragError:
        return None


def _merge(model: str, path: str, text: str | None, new: Sequence[EvalResultEntry]) -> str:
    """Put results in the place of those of the same tasks in a file, behind the others where there are none.

    Raises:
        QuadragError: the file is there and no list of results.
    """
    import yaml
    from huggingface_hub import eval_result_entries_to_yaml

    there = [] if text is None else _read_yaml(text)
    whole = isinstance(there, list) and all(
        isinstance(one, dict) and isinstance(one.get("dataset"), dict) for one in there
    )
    if not whole:
        raise QuadragError(f"{path} of {model} is no list of results; mend or remove it there, then run again")
    ours = {_task_of(one): one for one in eval_result_entries_to_yaml(list(new))}
    left = dict(ours)
    merged = []
    for one in there:
        if _task_of(one) not in ours:
            merged.append(one)
        elif _task_of(one) in left:
            merged.append(left.pop(_task_of(one)))
    merged += left.values()
    if text is not None and merged == there:
        return text
    made: str = yaml.safe_dump(merged, sort_keys=False, allow_unicode=True, width=110)
    return made


def _task_of(entry: dict[str, Any]) -> tuple[str, str]:
    return str(entry["dataset"].get("id")), str(entry["dataset"].get("task_id"))
