"""A Hub on this machine for tests: real HTTP, repositories in memory, tokens with rights, injected faults.

It speaks the routes that `huggingface_hub`, `datasets` and `evaluate` use to create, upload, commit, list and download,
for datasets, Spaces and models (`hub_repo.py` holds what a repository does). It has no Xet: clients need
HF_HUB_DISABLE_XET=1. It renames nothing, runs no Space and counts no downloads.

In a test::

    with HubServer({"hf_x": {"name": "ann", "orgs": {"quadrag-test": "write"}}}) as hub:
        hub.faults.append(Fault("drop", match="PUT /lfs/", times=1))
        client(env=environment(**hub.environment("hf_x")))
        assert hub.repos["dataset", "quadrag-test/rgb"].files["README.md"]

As a process: ``python tests/servers/hub_server.py --token hf_x=ann:quadrag-test:write --port 0``; its first line of
output is its URL. ``GET /stats`` says what it saw, ``POST /control`` (JSON) sets `faults`, `tokens`, and with
``"clear": true`` forgets what it saw.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import hmac
import json
import re
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from hub_repo import SDKS, HubError, Repo, card_errors, front_matter, wants_lfs

PAGE = 1000
WRITERS = ("write", "contributor", "admin")
NAME = re.compile(r"(?!.*(--|\.\.))[A-Za-z0-9]([\w.-]{0,94}[A-Za-z0-9_])?")
OF_API = re.compile(r"/api/(model|dataset|space)s/([^/]+/[^/]+)(?:/(.*))?")
OF_FILE = re.compile(r"/(?:(dataset|space)s/)?([^/]+/[^/]+)/(?:resolve|raw)/(.+)")
OF_LFS = re.compile(r"/(?:(dataset|space)s/)?([^/]+/[^/]+)\.git/info/lfs/objects/(batch|verify)")
OF_OBJECT = re.compile(r"/lfs/(model|dataset|space)s/([^/]+/[^/]+)/([0-9a-f]{64})")


@dataclass
class Fault:
    """What to do with the next requests whose "METHOD path?query" `match` is found in, in place of the answer.

    ``action``: ``drop`` (cut the connection, having read `after` bytes of the body), ``lose`` (do what is asked, then
    cut the connection in place of the answer), ``stall`` (say nothing for `seconds`, then cut), ``status`` (answer
    `status` with `body` and `headers`), ``truncate`` (cut within the body of the answer), ``lie`` (acknowledge an
    upload and forget it).
    """

    action: str
    match: str = ""
    times: int = 1_000_000_000
    status: int = 500
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    after: int = 0
    seconds: float = 3600

    def __post_init__(self) -> None:
        known = ("drop", "lose", "stall", "status", "truncate", "lie")
        assert self.action in known, f"no fault is called {self.action!r}; there are {', '.join(known)}"


@dataclass
class Reply:
    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Request:
    method: str
    path: str
    query: dict[str, list[str]]
    headers: Message
    body: bytes
    user: Mapping[str, Any] | None = None
    lie: bool = False

    def flag(self, name: str) -> bool:
        return self.query.get(name, ["false"])[-1].lower() in ("1", "true")

    def json(self) -> Any:
        try:
            return json.loads(self.body or b"{}")
        except ValueError:
            raise HubError(400, "Invalid JSON") from None

    def form(self) -> dict[str, list[str]]:
        """Return a body that came as a form or as JSON, each value a list."""
        if "json" in self.headers.get("Content-Type", ""):
            return {key: value if isinstance(value, list) else [str(value)] for key, value in self.json().items()}
        return parse_qs(self.body.decode())


class HubServer:
    """The server in a thread of this process; its repositories, log and faults are attributes.

    Attributes:
        tokens: token to {"name": user, "orgs": {organisation: "read" or "write"}, "role": "read" for a token that may
            not write}.
        repos: (type, "O/N") to repository; `add` puts one there.
        faults: the first that matches a request and has `times` left is used.
        requests: (method, path without query) of each request, in order of arrival.
        bytes_in: path to bytes of request bodies; those of an LFS object come to /lfs/TYPEs/O/N/SHA256.
        verify: whether a client is asked to verify what it uploaded, as the Hub asks it.
    """

    def __init__(
        self,
        tokens: Mapping[str, Mapping[str, Any]] | None = None,
        faults: Iterable[Fault] = (),
        port: int = 0,
        verify: bool = True,
    ) -> None:
        self.tokens = dict(tokens or {})
        self.faults = list(faults)
        self.verify = verify
        self.repos: dict[tuple[str, str], Repo] = {}
        self.requests: list[tuple[str, str]] = []
        self.bytes_in: Counter[str] = Counter()
        self.stopping = threading.Event()
        self.connections: set[socket.socket] = set()
        self._lock = threading.RLock()
        self._key = b"quadrag"
        handler = type("Handler", (_Handler,), {"hub": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._http.daemon_threads = True
        self._http.block_on_close = False

    @property
    def url(self) -> str:
        """What HF_ENDPOINT is to be."""
        return f"http://127.0.0.1:{self._http.server_port}"

    def environment(self, token: str | None = None) -> dict[str, str | None]:
        """Return the variables of a client's process, None for those that must not be set."""
        unset = dict.fromkeys(("HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE", "HF_DATASETS_OFFLINE"))
        # evaluate counts downloads on a host of its own.
        told = {"HF_ENDPOINT": self.url, "HF_HUB_DISABLE_XET": "1", "HF_UPDATE_DOWNLOAD_COUNTS": "0"}
        return {**unset, **told, "HF_TOKEN": token}

    def add(self, kind: str, name: str, files: Mapping[str, bytes] | Path | None = None, **options: Any) -> Repo:
        """Put a repository there with the files of a folder, or given by path; `options` as of `Repo`."""
        repo = self.repos[kind, name] = Repo(kind, name, **options)
        if isinstance(files, Path):
            files = {str(path.relative_to(files)): path.read_bytes() for path in files.rglob("*") if path.is_file()}
        if files:
            repo.put(files)
        return repo

    def clear(self) -> None:
        """Forget what was asked; repositories stay."""
        self.requests.clear()
        self.bytes_in.clear()

    def __enter__(self) -> HubServer:
        """Serve in a thread."""
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening and cut every connection."""
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        for connection in list(self.connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def fault(self, asked: str) -> Fault | None:
        """Return the fault for a request and count it."""
        with self._lock:
            for fault in self.faults:
                if fault.times > 0 and re.search(fault.match, asked):
                    fault.times -= 1
                    return fault
        return None

    def answer(self, request: Request) -> Reply:
        """Answer a request, errors as the Hub words them."""
        with self._lock:
            try:
                return self._route(request)
            except HubError as error:
                headers = {"X-Error-Message": error.message.replace("\n", " "), **error.headers}
                if error.code:
                    headers["X-Error-Code"] = error.code
                return _json({"error": error.message}, error.status, headers)

    def _route(self, request: Request) -> Reply:
        if request.path == "/control":
            return self._control(request.json())
        if request.path == "/stats":
            return self._stats()
        if found := OF_OBJECT.fullmatch(request.path):
            return self._upload(request, self.repos[found[1], found[2]], found[3])
        authorization = request.headers.get("Authorization", "")
        if authorization:
            request.user = self.tokens.get(authorization.removeprefix("Bearer "))
            if request.user is None:
                raise HubError(401, "Invalid credentials in Authorization header")
        if found := OF_API.fullmatch(request.path):
            repo = self._repo(request, found[1], found[2])
            parts = [unquote(part) for part in (found[3] or "").split("/")]
            return self._api(request, repo, parts[0], parts[1:])
        if found := OF_LFS.fullmatch(request.path):
            return self._lfs(request, self._repo(request, found[1] or "model", found[2]), found[3])
        if found := OF_FILE.fullmatch(request.path):
            return self._file(request, self._repo(request, found[1] or "model", found[2]), found[3].split("/"))
        if "/resolve/" in request.path or re.match(r"/api/(model|dataset|space)s/[^/]+(/|$)", request.path):
            raise self._hidden(request)  # a name without an owner: this Hub has none of those
        return self._global(request)

    # Rights

    def _repo(self, request: Request, kind: str, name: str) -> Repo:
        repo = self.repos.get((kind, unquote(name)))
        if repo is None or (repo.private and not self._role(request, repo.name)):
            raise self._hidden(request)
        return repo

    def _hidden(self, request: Request) -> HubError:
        if request.user is None:
            return HubError(401, "Invalid username or password.", "RepoNotFound")
        return HubError(404, "Repository not found", "RepoNotFound")

    def _role(self, request: Request, name: str) -> str | None:
        """Return what the caller is in the namespace of a repository: None for a stranger."""
        namespace = name.partition("/")[0]
        if request.user is None:
            return None
        role = "write" if namespace == request.user["name"] else request.user.get("orgs", {}).get(namespace)
        return "read" if role and request.user.get("role") == "read" else role

    def _must_write(self, request: Request, repo: Repo, told: str) -> None:
        if request.user is None:
            raise HubError(401, "Invalid username or password.")
        if self._role(request, repo.name) not in WRITERS:
            raise HubError(403, told)

    # What belongs to no repository

    def _global(self, request: Request) -> Reply:
        asked = f"{request.method} {request.path}"
        if asked == "POST /api/validate-yaml":
            body = request.json()
            errors = [{"message": told} for told in card_errors(body["content"], body.get("repoType", "model"))]
            warnings = []
            if not errors and front_matter(body["content"]) is None:
                warnings = [{"message": "empty or missing yaml metadata in repo card"}]
            return _json({"errors": errors, "warnings": warnings}, 400 if errors else 200)
        if found := re.fullmatch(r"GET /api/(model|dataset|space)s", asked):
            author = request.query.get("author", [None])[0]
            listed = [repo for (kind, _), repo in sorted(self.repos.items()) if kind == found[1]]
            listed = [repo for repo in listed if not repo.private or self._role(request, repo.name)]
            return self._page(request, [repo.told() for repo in listed if author in (None, repo.owner)])
        if found := re.fullmatch(r"GET /api/(organizations|users)/([^/]+)/overview", asked):
            users = {user["name"] for user in self.tokens.values()}
            orgs = {name for user in self.tokens.values() for name in user.get("orgs", {})}
            if found[2] in (orgs if found[1] == "organizations" else users):
                return _json({"name": found[2], "user": found[2], "fullname": found[2], "type": found[1][:-1]})
        if asked in ("GET /api/whoami-v2", "POST /api/repos/create", "DELETE /api/repos/delete"):
            if request.user is None:
                raise HubError(401, "Invalid username or password.")
            return {"w": self._whoami, "c": self._create, "d": self._delete}[asked.rsplit("/", 1)[1][0]](request)
        raise HubError(404, "Sorry, we can't find the page you are looking for.")

    def _whoami(self, request: Request) -> Reply:
        user = dict(request.user or {})
        orgs = [
            {"type": "org", "name": name, "fullname": name, "roleInOrg": role}
            for name, role in user.get("orgs", {}).items()
        ]
        access = {"displayName": "tests", "role": user.get("role", "write")}
        told = {"type": "user", "id": user["name"], "name": user["name"], "fullname": user["name"], "isPro": False}
        return _json({**told, "orgs": orgs, "auth": {"type": "access_token", "accessToken": access}})

    def _create(self, request: Request) -> Reply:
        body, user = request.json(), request.user or {}
        kind, owner = body.get("type") or "model", body.get("organization") or user["name"]
        name = f"{owner}/{body['name']}"
        if not NAME.fullmatch(body["name"]) or body["name"].endswith(".git"):
            raise HubError(400, f"Invalid repo name: {name}")
        # For an organisation that does not exist the Hub says the same.
        if self._role(request, name) not in WRITERS:
            raise HubError(403, f'You don\'t have the rights to create a {kind} under the namespace "{owner}"')
        if (kind, name) in self.repos:
            url = f"{self.url}/{self.repos[kind, name].path}"
            told = f"You already created this {kind} repo"
            return _json({"error": told, "url": url}, 409, {"X-Error-Message": told})
        if kind == "space" and body.get("sdk") not in SDKS:
            raise HubError(400, f'"sdk" must be one of {SDKS}')
        private = body.get("visibility") == "private" or bool(body.get("private"))
        repo = self.repos[kind, name] = Repo(kind, name, private, body.get("sdk"))
        return _json({"url": f"{self.url}/{repo.path}", "name": name, "id": repo.told()["_id"]})

    def _delete(self, request: Request) -> Reply:
        body, user = request.json(), request.user or {}
        kind, name = body.get("type") or "model", f"{body.get('organization') or user['name']}/{body['name']}"
        repo = self._repo(request, kind, name)
        self._must_write(request, repo, "You don't have the rights to delete this repo")
        del self.repos[kind, name]
        return _json({})

    def _control(self, settings: Mapping[str, Any]) -> Reply:
        if "faults" in settings:
            self.faults = [Fault(**fault) for fault in settings["faults"]]
        self.tokens.update(settings.get("tokens", {}))
        if settings.get("clear"):
            self.clear()
        return _json({})

    def _stats(self) -> Reply:
        def shown(repo: Repo) -> dict[str, Any]:
            told: dict[str, Any] = {"head": repo.head, "private": repo.private}
            told["files"] = {path: len(content) for path, content in repo.files.items()}
            told["commits"] = [commit.title for commit in repo.commits]
            return {**told, "pull_requests": [vars(pull) for pull in repo.pull_requests]}

        repos = {f"{kind} {name}": shown(repo) for (kind, name), repo in self.repos.items()}
        return _json({"requests": self.requests, "bytes_in": self.bytes_in, "repos": repos})

    # One repository

    def _api(self, request: Request, repo: Repo, what: str, rest: list[str]) -> Reply:
        if request.method == "GET" and what in ("", "revision"):
            return self._info(request, repo, _revision(rest)[0] if rest else "main")
        if what == "settings" and request.method == "PUT":
            self._must_write(request, repo, "You don't have the rights to change the settings of this repo")
            body = request.json()
            asked = "private" if body.get("private", repo.private) else "public"
            repo.private = body.get("visibility", asked) == "private"
            repo.gated = body.get("gated", repo.gated)
            return _json({"private": repo.private, "gated": repo.gated})
        if what in ("branch", "tag"):
            return self._reference(request, repo, what, rest[0])
        if what == "auth-check":
            if rest == ["write"]:
                self._must_write(request, repo, "You don't have write access to this repo")
            return _json({})
        if what == "runtime" and repo.kind == "space":
            return _json({"stage": "BUILDING", "hardware": {"current": None, "requested": "cpu-basic"}})
        if what == "preupload":
            return self._preupload(request, repo, _revision(rest)[0])
        if what == "commit":
            return self._commit(request, repo, _revision(rest)[0])
        if what == "discussions":
            return self._discussions(request, repo, rest)
        if what == "refs":
            return _json(repo.listed_refs(request.flag("include_prs")))
        revision, path = _revision(rest) if rest else ("main", "")
        if what == "tree":
            return self._page(request, repo.at(revision).tree(path, request.flag("recursive"), request.flag("expand")))
        if what == "commits":
            listed = [commit.told() for commit in repo.log(revision)]
            return self._page(request, listed)
        if what == "paths-info" and request.method == "POST":
            form = request.form()
            expand = form.get("expand", ["false"])[-1].lower() in ("1", "true")
            entries = [repo.at(revision).entry(path.rstrip("/"), expand) for path in form.get("paths", [])]
            return _json([entry for entry in entries if entry is not None])
        raise HubError(404, "Sorry, we can't find the page you are looking for.")

    def _page(self, request: Request, entries: list[Any]) -> Reply:
        size = int(request.query.get("limit", [str(PAGE)])[0])
        start = int(request.query.get("cursor", ["0"])[0])
        headers = {}
        if start + size < len(entries):
            query = {**{key: values[-1] for key, values in request.query.items()}, "cursor": str(start + size)}
            text = "&".join(f"{quote(key)}={quote(value)}" for key, value in query.items())
            headers["Link"] = f'<{self.url}{request.path}?{text}>; rel="next"'
        return _json(entries[start : start + size], 200, headers)

    def _info(self, request: Request, repo: Repo, revision: str) -> Reply:
        told = {**repo.told(revision), "siblings": repo.siblings(revision, request.flag("blobs"))}
        if wanted := request.query.get("expand", request.query.get("expand[]")):
            told = {key: value for key, value in told.items() if key in {"_id", "id", *wanted}}
        return _json(told, 200, {"X-Repo-Commit": repo.at(revision).sha})

    def _reference(self, request: Request, repo: Repo, what: str, name: str) -> Reply:
        self._must_write(request, repo, f"You don't have the rights to write a {what}")
        body = request.json()
        if request.method == "DELETE":
            if repo.refs.pop(name, None) is None:
                raise HubError(404, f"Invalid rev id: {name}", "RevisionNotFound")
            repo.tags.discard(name)
            return _json({})
        base, name = (name, body["tag"]) if what == "tag" else (body.get("startingPoint") or "main", name)
        if name in repo.refs:
            raise HubError(409, f"Reference already exists: {name}")
        repo.refs[name] = repo.at(base).sha
        if what == "tag":
            repo.tags.add(name)
        return _json({})

    def _preupload(self, request: Request, repo: Repo, revision: str) -> Reply:
        self._may_commit(request, repo, revision)
        there = repo.at(revision).files
        told = []
        for file in request.json()["files"]:
            lfs = wants_lfs(file["path"], base64.b64decode(file["sample"]), file["size"])
            entry = {"path": file["path"], "uploadMode": "lfs" if lfs else "regular", "shouldIgnore": False}
            if file["path"] in there:
                entry["oid"] = there[file["path"]].etag
            told.append(entry)
        return _json({"files": told})

    def _may_commit(self, request: Request, repo: Repo, revision: str) -> None:
        if request.user is not None and request.flag("create_pr"):
            return
        number = revision.removeprefix("refs/pr/")
        pulls = [pull for pull in repo.pull_requests if str(pull.number) == number]
        if request.user is not None and any(pull.author == request.user["name"] for pull in pulls):
            return
        told = "Forbidden: pass `create_pr=1` as a query parameter to create a Pull Request"
        self._must_write(request, repo, told)

    def _commit(self, request: Request, repo: Repo, revision: str) -> Reply:
        self._may_commit(request, repo, revision)
        try:
            lines = [json.loads(line) for line in request.body.splitlines() if line.strip()]
        except ValueError:
            raise HubError(400, "Invalid NDJSON") from None
        if not lines or lines[0].get("key") != "header":
            raise HubError(400, "The first line of a commit must be its header")
        header, author = lines[0]["value"], (request.user or {})["name"]
        told: dict[str, Any] = {"success": True, "hookOutput": ""}
        if request.flag("create_pr"):
            if revision != "main":
                raise HubError(400, "A pull request can only be opened against main")
            opened = repo.open_pull_request(header["summary"], header.get("description", ""), author)
            try:
                commit = repo.commit(opened.ref, header, lines[1:], author)
            except HubError:
                del repo.refs[repo.pull_requests.pop().ref]
                raise
            told["pullRequestUrl"] = f"{self.url}/{repo.path}/discussions/{opened.number}"
        else:
            if revision not in repo.refs or revision in repo.tags:
                raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
            commit = repo.commit(revision, header, lines[1:], author)
        return _json({**told, "commitOid": commit.sha, "commitUrl": f"{self.url}/{repo.path}/commit/{commit.sha}"})

    def _discussions(self, request: Request, repo: Repo, rest: list[str]) -> Reply:
        if request.method == "POST" and not rest:
            if request.user is None:
                raise HubError(401, "Invalid username or password.")
            body = request.json()
            assert body["pullRequest"], "only discussions of pull requests are kept"
            pull = repo.open_pull_request(body["title"], body.get("description", ""), request.user["name"], "draft")
            return _json(repo.discussion(pull))
        if not rest:
            wanted = {key: request.query[key][0] for key in ("status", "author") if key in request.query}
            found = [pull for pull in repo.pull_requests if wanted.get("author", pull.author) == pull.author]
            if wanted.get("status") in ("open", "closed"):
                is_open = wanted["status"] == "open"
                found = [pull for pull in found if (pull.status in ("open", "draft")) == is_open]
            if request.query.get("type") == ["discussion"]:
                found = []
            return _json(
                {"discussions": [repo.discussion(pull) for pull in reversed(found)], "count": len(found), "start": 0}
            )
        if not (rest[0].isdigit() and 0 < int(rest[0]) <= len(repo.pull_requests)):
            raise HubError(404, "Discussion not found")
        pull = repo.pull_requests[int(rest[0]) - 1]
        if request.method == "POST":
            self._must_write(request, repo, "You don't have the rights to change this pull request")
            if rest[1:] == ["merge"]:
                repo.merge(pull.number, (request.user or {})["name"])
            elif rest[1:] == ["status"]:
                pull.status = request.json()["status"]
            else:
                raise HubError(404, "Sorry, we can't find the page you are looking for.")
        changes = {"base": "refs/heads/main"}
        return _json({**repo.discussion(pull), "events": [], "changes": changes, "filesWithConflicts": [], "diff": ""})

    # Contents

    def _lfs(self, request: Request, repo: Repo, what: str) -> Reply:
        body = request.json()
        if what == "verify":
            if len(repo.objects.get(body["oid"], b"")) != body["size"]:
                raise HubError(404, f"Object {body['oid']} is not there")
            return _json({})
        if request.user is None:
            raise HubError(401, "Invalid username or password.")
        if "ref" in body:  # without, the objects are for a pull request, which every reader may open
            self._may_commit(request, repo, body["ref"]["name"])
        objects = []
        for wanted in body["objects"]:
            oid, size = wanted["oid"], wanted["size"]
            objects.append({"oid": oid, "size": size})
            if oid not in repo.objects:
                path = f"/lfs/{repo.kind}s/{repo.name}/{oid}"
                upload = {"href": f"{self.url}{path}?size={size}&signature={self._signature(path, size)}"}
                objects[-1]["actions"] = {"upload": upload}
                if self.verify:
                    batch = f"{self.url}{request.path}"
                    objects[-1]["actions"]["verify"] = {"href": batch.replace("/batch", "/verify")}
        return _json({"transfer": "basic", "objects": objects})

    def _signature(self, path: str, size: int) -> str:
        return hmac.new(self._key, f"{path} {size}".encode(), "sha256").hexdigest()[:32]

    def _upload(self, request: Request, repo: Repo, oid: str) -> Reply:
        size = int(request.query.get("size", ["-1"])[0])
        if request.method != "PUT" or request.query.get("signature") != [self._signature(request.path, size)]:
            raise HubError(403, "SignatureDoesNotMatch")
        if len(request.body) != size or hashlib.sha256(request.body).hexdigest() != oid:
            raise HubError(400, f"The content is not the {size} bytes of {oid}")
        if not request.lie:
            repo.objects[oid] = request.body
        return Reply(headers={"ETag": f'"{oid}"'})

    def _file(self, request: Request, repo: Repo, parts: list[str]) -> Reply:
        revision, path = _revision([unquote(part) for part in parts])
        commit = repo.at(revision)
        headers = {"X-Repo-Commit": commit.sha, "Accept-Ranges": "bytes"}
        file = commit.files.get(path)
        if file is None:
            raise HubError(404, "Entry not found", "EntryNotFound", headers)
        headers |= {"ETag": f'"{file.etag}"', "Content-Type": "application/octet-stream"}
        if file.lfs:
            headers |= {"X-Linked-Size": str(len(file.content)), "X-Linked-ETag": f'"{file.etag}"'}
        found = re.fullmatch(r"bytes=(\d*)-(\d*)", request.headers.get("Range", ""))
        if not found or not (found[1] or found[2]):
            return Reply(file.content, 200, headers)
        total = len(file.content)
        start = int(found[1]) if found[1] else max(0, total - int(found[2]))
        end = min(int(found[2]) + 1, total) if found[1] and found[2] else total
        if start >= end:
            return Reply(b"", 416, {**headers, "Content-Range": f"bytes */{total}"})
        return Reply(file.content[start:end], 206, {**headers, "Content-Range": f"bytes {start}-{end - 1}/{total}"})


def _revision(parts: list[str]) -> tuple[str, str]:
    """Return the revision and the path that the rest of a route names; refs/pr/N may have come unquoted."""
    count = 3 if parts[:2] == ["refs", "pr"] else 1
    return "/".join(parts[:count]), "/".join(parts[count:])


def _json(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    told = {"Content-Type": "application/json; charset=utf-8", **(headers or {})}
    return Reply(json.dumps(body).encode(), status, told)


class _Handler(BaseHTTPRequestHandler):
    """HTTP, and the faults that are HTTP's."""

    hub: HubServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.hub.connections.add(self.connection)

    def finish(self) -> None:
        self.hub.connections.discard(self.connection)
        with suppress(OSError):
            super().finish()

    def handle(self) -> None:
        with suppress(OSError):  # a client that went away, or a connection that a fault cut
            super().handle()

    def _do(self) -> None:
        split = urlsplit(self.path)
        path = split.path.rstrip("/")
        if path in ("/control", "/stats"):
            return self._send(self.hub.answer(Request(self.command, path, {}, self.headers, self._body())))
        # Counted at once: a test that sees the client's end must see the request.
        self.hub.requests.append((self.command, path))
        fault = self.hub.fault(f"{self.command} {self.path}")
        action = fault.action if fault else ""
        if fault and action == "drop":
            self.hub.bytes_in[path] += len(self.rfile.read(fault.after)) if fault.after else 0
            return self._cut()
        body = self._body()
        self.hub.bytes_in[path] += len(body)
        if fault and action == "stall":
            self.hub.stopping.wait(fault.seconds)
            return self._cut()
        if fault and action == "status":
            told = {"error": f"injected {fault.status}"} if fault.body is None else fault.body
            return self._send(_json(told, fault.status, fault.headers))
        query = parse_qs(split.query, keep_blank_values=True)
        reply = self.hub.answer(Request(self.command, path, query, self.headers, body, lie=action == "lie"))
        if action == "lose":
            return self._cut()
        return self._send(reply, cut=action == "truncate")

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _do

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(parts)

    def _send(self, reply: Reply, cut: bool = False) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body[: len(reply.body) // 2] if cut else reply.body)
        if cut:
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_WR)
            self.close_connection = True

    def _cut(self) -> None:
        self.close_connection = True
        # Reset, not closed: what a router that loses a connection does.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@contextmanager
def hub_serving(folder: Path, name: str, commit: str) -> Iterator[str]:
    """Serve a folder as the model repository `name` at one commit, and yield what HF_ENDPOINT is to be."""
    with HubServer() as hub:
        files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        hub.add("model", name).put(files, sha=commit)
        yield hub.url


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--token", action="append", default=[], help="TOKEN=USER[:ORG:ROLE]..., may be repeated")
    parser.add_argument("--faults", default="[]", help="JSON list of faults")
    options = parser.parse_args()
    tokens = {}
    for token, user in (given.split("=", 1) for given in options.token):
        name, *orgs = user.split(":")
        tokens[token] = {"name": name, "orgs": dict(zip(orgs[::2], orgs[1::2], strict=True))}
    with HubServer(tokens, [Fault(**fault) for fault in json.loads(options.faults)], options.port) as hub:
        print(hub.url, flush=True)
        with suppress(KeyboardInterrupt):
            hub.stopping.wait()


if __name__ == "__main__":
    main()
