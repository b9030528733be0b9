"""What stands in a repository on the Hub, whose it is, and what differs from what is to stand there.

A repository is ours where it holds the hidden record that every push leaves, with the sum of each file pushed. A file
that the record does not name is another's. Nothing is written here.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from quadrag.errors import QuadragError
from quadrag.hub.client import Hub, hub_errors
from quadrag.hub.export.manifest import MANIFEST
from quadrag.hub.push.stage import Wanted
from quadrag.reading import parse_json

# What the Hub itself puts into a new repository: attributes; into a Space a card whose text, if any, names this page.
_ATTRIBUTES = ".gitattributes"
_STUB = b"spaces-config-reference"


class Entry(NamedTuple):
    """A file on the Hub: its size, git's id of it, and its sha256 where it is kept by LFS."""

    size: int
    blob: str
    sha256: str | None

    @property
    def sum(self) -> str:
        """What identifies its content."""
        return self.sha256 or self.blob


class Remote(NamedTuple):
    """A repository on the Hub.

    Attributes:
        sha: its head; None without a commit.
        private: whether it is.
        files: all of it, by path.
        pushed: sums of the files that the last push left, by path; nothing where the repository is as the Hub made it;
            None where it is another's.
    """

    sha: str | None
    private: bool
    files: dict[str, Entry]
    pushed: dict[str, str] | None


@dataclass(slots=True)
class Difference:
    """What a push does to the files of a repository: their paths, sorted.

    Attributes:
        added: not there yet.
        replaced: there with other content.
        deleted: pushed once and no part any more.
        foreign: of those replaced and deleted, what another put or changed there.
        left: there as they are to be.
        kept: another's, which a push does not touch.
    """

    added: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    @property
    def sent(self) -> list[str]:
        """Those whose content goes to the Hub."""
        return sorted([*self.added, *self.replaced])

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.added or self.replaced or self.deleted)


def read_remote(hub: Hub, kind: str, repo: str, revision: str | None = None) -> Remote | None:
    """Read what stands in a repository.

    Args:
        hub: where.
        kind: ``dataset`` or ``space``.
        repo: ``ORG/NAME``.
        revision: a commit; None for the head.

    Returns:
        The repository; None where there is none that the token can see.

    Raises:
        QuadragError: the Hub cannot be asked, or the name leads to another repository.
    """
    from huggingface_hub import RepoFile
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    with hub_errors("reading", repo):
        try:
            info = hub.api.repo_info(repo, repo_type=kind, revision=revision)
        except GatedRepoError:
            raise
        except RepositoryNotFoundError:
            return None
        if info.id != repo:
            raise QuadragError(f"{repo} leads to {info.id} on the Hub; name that, or another organisation")
        if info.sha is None:
            return Remote(None, bool(info.private), {}, {})
        listed = hub.api.list_repo_tree(repo, recursive=True, revision=info.sha, repo_type=kind)
        files = {
            one.path: Entry(one.size, one.blob_id, one.lfs.sha256 if one.lfs else None)
            for one in listed
            if isinstance(one, RepoFile)
        }
        pushed: dict[str, str] | None = None
        if MANIFEST in files:
            pushed = _read_sums(hub.read_file(repo, MANIFEST, info.sha, kind))
        elif set(files) <= {_ATTRIBUTES}:
            pushed = {}
        elif set(files) <= {_ATTRIBUTES, "README.md"} and kind == "space":
            _, _, body = hub.read_file(repo, "README.md", info.sha, kind).partition(b"\n---")
            pushed = {"README.md": files["README.md"].sum} if _STUB in body or not body.strip() else None
    return Remote(info.sha, bool(info.private), files, pushed)


def _read_sums(record: bytes) -> dict[str, str] | None:
    """Read the sums in a record; None where it is no record of a push."""
    try:
        files = parse_json(record, MANIFEST)["files"]
        good = isinstance(files, dict) and all(re.fullmatch("[0-9a-f]{40,64}", each) for each in files.values())
        return files if good else None
    except (QuadragError, KeyError, TypeError):
        return None


def compare(wanted: Wanted, remote: Remote | None) -> Difference:
    """Hold what is to stand in a repository against what stands there.

    Files are summed where their sizes are equal: a large one takes seconds.
    """
    there = remote.files if remote else {}
    pushed = (remote and remote.pushed) or {}
    known = {**pushed, MANIFEST: there[MANIFEST].sum} if MANIFEST in there else pushed
    result = Difference()
    for path, file in sorted(wanted.files.items()):
        entry = there.get(path)
        if entry is None:
            result.added.append(path)
        elif entry.size == file.size and entry.sum == (file.sha256() if entry.sha256 else file.blob()):
            result.left.append(path)
        else:
            result.replaced.append(path)
            if not _is_ours(entry, known.get(path)):
                result.foreign.append(path)
    for path, entry in sorted(there.items()):
        if path in wanted.files or path == _ATTRIBUTES:
            continue
        # Even where it was changed: a card's pattern would take an old shard for one of the new.
        (result.deleted if path in known else result.kept).append(path)
        if path in known and not _is_ours(entry, known[path]):
            result.foreign.append(path)
    return result


def _is_ours(entry: Entry, pushed: str | None) -> bool:
    """Whether a file is as it was pushed; kept in another way than expected it cannot be told, and counts as ours."""
    return pushed is not None and (len(pushed) != len(entry.sum) or pushed == entry.sum)
