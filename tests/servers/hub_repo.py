"""Repositories as the Hub keeps them, in memory: files, commits, branches, tags, LFS objects, pull requests.

No HTTP here (`hub_server.py` has that) and no git: a commit's name is a hash of its parent, its title and its files, so
that two runs of a test see the same names. What the Hub refuses is refused here, in its words.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

import yaml

LARGEST_REGULAR = 10 * 1024 * 1024
# Of the .gitattributes that the Hub gives a new repository.
LFS_ENDINGS = (".parquet", ".arrow", ".bin", ".safetensors", ".zip", ".gz", ".npy", ".pkl", ".pt", ".jpg", ".png")
COLORS = ("red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray")
SDKS = ("gradio", "docker", "static")


class HubError(Exception):
    """What the Hub answers in place of what was asked for: a status, a sentence, and for some an error code."""

    def __init__(self, status: int, message: str, code: str | None = None, headers: Mapping[str, str] | None = None):
        super().__init__(message)
        self.status, self.message, self.code, self.headers = status, message, code, dict(headers or {})


@dataclass(frozen=True)
class File:
    content: bytes
    lfs: bool = False

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @cached_property
    def pointer(self) -> bytes:
        text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {len(self.content)}\n"
        return text.encode()

    @cached_property
    def blob(self) -> str:
        """The name git gives the file; for an LFS file its pointer."""
        stored = self.pointer if self.lfs else self.content
        return hashlib.sha1(b"blob %d\0" % len(stored) + stored).hexdigest()

    @property
    def etag(self) -> str:
        return self.sha256 if self.lfs else self.blob


@dataclass(frozen=True)
class Commit:
    sha: str
    parent: str | None
    title: str
    description: str
    author: str
    number: int
    files: Mapping[str, File]

    @property
    def date(self) -> str:
        return f"2026-01-{1 + self.number // 1440 % 28:02}T{self.number // 60 % 24:02}:{self.number % 60:02}:00.000Z"

    def told(self) -> dict[str, Any]:
        """Return it as the Hub lists commits."""
        told = {"id": self.sha, "title": self.title, "message": self.description, "date": self.date}
        return {**told, "authors": [{"user": self.author}]}

    def entry(self, path: str, expand: bool = False) -> dict[str, Any] | None:
        """Return what the Hub's tree says of a file or folder, None if there is none."""
        last = {"lastCommit": {"id": self.sha, "title": self.title, "date": self.date}} if expand else {}
        if file := self.files.get(path):
            found = {"type": "file", "oid": file.blob, "size": len(file.content), "path": path, **last}
            if file.lfs:
                found["lfs"] = {"oid": file.sha256, "size": len(file.content), "pointerSize": len(file.pointer)}
            return found
        below = sorted(f"{name} {file.blob}" for name, file in self.files.items() if name.startswith(f"{path}/"))
        if not below:
            return None
        return {"type": "directory", "oid": _sha(*below), "size": 0, "path": path, **last}

    def tree(self, folder: str, recursive: bool, expand: bool = False) -> list[dict[str, Any]]:
        """Return the entries of a folder ("" is the root); None of it is an error."""
        folder = folder.strip("/")
        prefix = f"{folder}/" if folder else ""
        inside = [path for path in self.files if path.startswith(prefix)]
        if folder and not inside:
            raise HubError(404, f"{folder} does not exist on this revision", "EntryNotFound")
        paths = set()
        for path in inside:
            parts = path.removeprefix(prefix).split("/")
            paths |= {prefix + "/".join(parts[:depth]) for depth in range(1, len(parts) + 1 if recursive else 2)}
        entries = [self.entry(path, expand) for path in sorted(paths)]
        return [entry for entry in entries if entry is not None]


@dataclass
class PullRequest:
    number: int
    title: str
    description: str
    author: str
    status: str = "open"  # or draft, closed, merged

    @property
    def ref(self) -> str:
        return f"refs/pr/{self.number}"


@dataclass
class Repo:
    kind: str  # "model", "dataset", "space"
    name: str
    private: bool = False
    sdk: str | None = None
    gated: Any = False
    history: dict[str, Commit] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)  # "main", other branches, tags, refs/pr/N -> commit
    tags: set[str] = field(default_factory=set)
    objects: dict[str, bytes] = field(default_factory=dict)  # LFS objects by sha256
    pull_requests: list[PullRequest] = field(default_factory=list)

    def __post_init__(self) -> None:
        lines = [f"*{ending} filter=lfs diff=lfs merge=lfs -text" for ending in LFS_ENDINGS]
        files = {".gitattributes": File("\n".join([*lines, ""]).encode())}
        if self.kind == "space":
            title = self.name.partition("/")[2]
            files["README.md"] = File(f"---\ntitle: {title}\nsdk: {self.sdk}\napp_file: app.py\n---\n".encode())
        self._record("main", files, "initial commit", "", self.owner)

    @property
    def owner(self) -> str:
        """The user or organisation that it belongs to."""
        return self.name.partition("/")[0]

    @property
    def path(self) -> str:
        """Where the Hub shows it."""
        return self.name if self.kind == "model" else f"{self.kind}s/{self.name}"

    @property
    def head(self) -> str:
        """The commit that `main` is at."""
        return self.refs["main"]

    @property
    def files(self) -> dict[str, bytes]:
        """The files of `main`."""
        return self.files_at("main")

    @property
    def commits(self) -> list[Commit]:
        """The commits of `main`, the last first."""
        return list(self.log("main"))

    def files_at(self, revision: str) -> dict[str, bytes]:
        return {path: file.content for path, file in self.at(revision).files.items()}

    def log(self, revision: str) -> Iterator[Commit]:
        commit: Commit | None = self.at(revision)
        while commit:
            yield commit
            commit = self.history.get(commit.parent) if commit.parent else None

    def at(self, revision: str) -> Commit:
        """Return the commit of a branch, a tag, refs/pr/N or a commit's name."""
        sha = self.refs.get(revision.removeprefix("refs/heads/"), revision)
        if sha not in self.history:
            raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return self.history[sha]

    def put(self, files: Mapping[str, bytes], title: str = "files of a test", sha: str | None = None) -> Commit:
        """Add files to `main` without a client; `sha` gives the commit a name of the caller's choice."""
        new = {path: File(content, wants_lfs(path, content)) for path, content in files.items()}
        self.objects |= {file.sha256: file.content for file in new.values() if file.lfs}
        return self._record("main", {**self.at("main").files, **new}, title, "", "test", sha)

    def commit(
        self, ref: str, header: Mapping[str, Any], operations: Iterable[Mapping[str, Any]], author: str
    ) -> Commit:
        """Carry out the lines of a commit's NDJSON on a branch."""
        base = self.at(ref)
        parent = header.get("parentCommit")
        if parent and parent != base.sha:
            raise HubError(412, "A commit has happened since. Please refresh and try again.")
        files = dict(base.files)
        # Deletions first: a client may replace a folder in one commit.
        for line in sorted(operations, key=lambda line: not line["key"].startswith("deleted")):
            self._apply(files, line["key"], line["value"])
        return self._record(ref, files, header["summary"], header.get("description", ""), author)

    def _apply(self, files: dict[str, File], key: str, value: Mapping[str, Any]) -> None:
        path = value["path"]
        if not path or path.startswith("/") or {"..", ".", ""} & set(path.rstrip("/").split("/")):
            raise HubError(400, f"Invalid path in repo: {path!r}")
        if key == "file":
            content = (
                base64.b64decode(value["content"]) if value.get("encoding") == "base64" else value["content"].encode()
            )
            if len(content) > LARGEST_REGULAR:
                raise HubError(400, f"Your push was rejected because it contains files larger than 10 MiB: {path}")
            if content and wants_lfs("", content[:512]):
                raise HubError(400, f"Your push was rejected because it contains binary files: {path}")
            if path == "README.md" and (errors := card_errors(content.decode(), self.kind)):
                raise HubError(400, f"Invalid metadata in README.md: {'; '.join(errors)}")
            files[path] = File(content)
        elif key == "lfsFile":
            if value["oid"] not in self.objects:
                told = "Your push was rejected because an LFS pointer pointed to a file that does not exist."
                raise HubError(400, f"{told} Offending file: {path}")
            files[path] = File(self.objects[value["oid"]], lfs=True)
        elif key == "copyFile":
            source = (self.at(value["srcRevision"]).files if value.get("srcRevision") else files).get(value["srcPath"])
            if source is None:
                raise HubError(404, f"A file with this name doesn't exist: {value['srcPath']}", "EntryNotFound")
            files[path] = source
        elif key == "deletedFile":
            if files.pop(path, None) is None:
                raise HubError(404, f"A file with this name doesn't exist: {path}", "EntryNotFound")
        elif key == "deletedFolder":
            gone = [name for name in files if name.startswith(path.rstrip("/") + "/")]
            if not gone:
                raise HubError(404, f"A folder with this name doesn't exist: {path}", "EntryNotFound")
            for name in gone:
                del files[name]
        else:
            raise HubError(400, f"Unknown key in commit: {key}")

    def _record(
        self, ref: str, files: Mapping[str, File], title: str, description: str, author: str, sha: str | None = None
    ) -> Commit:
        parent = self.refs.get(ref)
        tree = [f"{path} {file.blob}" for path, file in sorted(files.items())]
        sha = sha or _sha(str(parent), title, *tree)
        self.history[sha] = Commit(sha, parent, title, description, author, len(self.history), files)
        self.refs[ref] = sha
        return self.history[sha]

    def open_pull_request(self, title: str, description: str, author: str, status: str = "open") -> PullRequest:
        opened = PullRequest(len(self.pull_requests) + 1, title, description, author, status)
        self.pull_requests.append(opened)
        self.refs[opened.ref] = self.head
        return opened

    def merge(self, number: int, author: str) -> None:
        """Merge a pull request into `main`: files that it changed, as it has them."""
        request = self.pull_requests[number - 1]
        base, theirs, files = (
            self.history[self._fork(request)].files,
            self.at(request.ref).files,
            dict(self.at("main").files),
        )
        for path in {*base, *theirs}:
            if path not in theirs:
                files.pop(path, None)
            elif base.get(path) != theirs[path]:
                files[path] = theirs[path]
        self._record("main", files, f"{request.title} (#{number})", "", author)
        request.status = "merged"

    def _fork(self, request: PullRequest) -> str:
        main = {commit.sha for commit in self.log("main")}
        return next(commit.sha for commit in self.log(request.ref) if commit.sha in main)

    def card(self, revision: str = "main") -> dict[str, Any]:
        """Return the metadata at the head of README.md."""
        readme = self.at(revision).files.get("README.md", File(b"")).content.decode()
        return front_matter(readme) or {}

    # What the Hub says of it

    def told(self, revision: str = "main") -> dict[str, Any]:
        """Return what the Hub says of it, its files apart."""
        commit, card = self.at(revision), self.card(revision)
        told: dict[str, Any] = {
            "_id": hashlib.md5(self.path.encode()).hexdigest()[:24],
            "id": self.name,
            "author": self.owner,
            "sha": commit.sha,
            "lastModified": commit.date,
            "createdAt": "2026-01-01T00:00:00.000Z",
            "private": self.private,
            "gated": self.gated,
            "disabled": False,
            "downloads": 0,
            "likes": 0,
            "tags": [str(tag) for tag in card.get("tags", [])],
        }
        if card:
            told["cardData"] = card
        if self.kind == "model":
            told["modelId"] = self.name
        if self.kind == "space":
            told["sdk"] = card.get("sdk", self.sdk)
        return told

    def siblings(self, revision: str, blobs: bool) -> list[dict[str, Any]]:
        """Return its files as the Hub lists them beside what it says, with sizes and hashes for `blobs`."""
        listed: list[dict[str, Any]] = []
        for path, file in sorted(self.at(revision).files.items()):
            listed.append({"rfilename": path})
            if blobs:
                listed[-1] |= {"size": len(file.content), "blobId": file.blob}
            if blobs and file.lfs:
                stored = {"sha256": file.sha256, "size": len(file.content), "pointerSize": len(file.pointer)}
                listed[-1]["lfs"] = stored
        return listed

    def listed_refs(self, pull_requests: bool) -> dict[str, list[dict[str, str]]]:
        """Return branches, tags and, where they are asked for, pull requests as the Hub lists them."""
        listed: dict[str, list[dict[str, str]]] = {"branches": [], "converts": [], "tags": [], "pullRequests": []}
        for name, sha in self.refs.items():
            if name.startswith("refs/pr/"):
                listed["pullRequests"].append({"name": name, "ref": name, "targetCommit": sha})
            else:
                kind, full = ("tags", f"refs/tags/{name}") if name in self.tags else ("branches", f"refs/heads/{name}")
                listed[kind].append({"name": name, "ref": full, "targetCommit": sha})
        if not pull_requests:
            del listed["pullRequests"]
        return listed

    def discussion(self, pull: PullRequest) -> dict[str, Any]:
        """Return a pull request as the Hub lists it."""
        told = {"num": pull.number, "title": pull.title, "status": pull.status, "isPullRequest": True}
        where = {"name": self.name, "type": self.kind}
        return {**told, "author": {"name": pull.author}, "createdAt": self.at(pull.ref).date, "repo": where}


def wants_lfs(path: str, content: bytes, size: int | None = None) -> bool:
    """Whether the Hub has the file stored by LFS: by its ending, its size, or bytes that are no text."""
    size = len(content) if size is None else size
    if not size:
        return False
    if PurePosixPath(path).suffix in LFS_ENDINGS or size > LARGEST_REGULAR or b"\0" in content:
        return True
    try:
        content.decode()
    except UnicodeDecodeError as error:
        return error.start < len(content) - 3  # else a character that the sample cut
    return False


def front_matter(text: str) -> dict[str, Any] | None:
    """Return the YAML at the head of a card; None if there is none; raises yaml.YAMLError."""
    if not text.startswith("---\n"):
        return None
    found = yaml.safe_load(text[4:].partition("\n---")[0])
    return found if isinstance(found, dict) else None


def card_errors(text: str, kind: str) -> list[str]:
    """Return what the Hub finds wrong with a card's metadata."""
    try:
        metadata = front_matter(text) or {}
    except yaml.YAMLError as error:
        return [f"the YAML cannot be read: {str(error).splitlines()[0]}"]
    if kind != "space":
        configs = metadata.get("configs", [])
        return [] if isinstance(configs, list) else ['"configs" must be an array']
    errors = [
        f'"{key}" must be one of {COLORS}' for key in ("colorFrom", "colorTo") if metadata.get(key, "red") not in COLORS
    ]
    if metadata.get("sdk") not in SDKS:
        errors.append(f'"sdk" must be one of {SDKS}')
    if len(str(metadata.get("short_description", ""))) > 60:
        errors.append('"short_description" length must be less than or equal to 60 characters long')
    return errors


def _sha(*parts: str) -> str:
    return hashlib.sha1(json.dumps(parts).encode()).hexdigest()
