"""tests/servers/hub_server.py is a Hub to the genuine client: what other tests conclude from it rests on this file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hub_server
import pytest
from hub_server import Fault, HubServer

Process = Callable[..., "subprocess.CompletedProcess[str]"]
Client = Callable[..., Any]

pytestmark = pytest.mark.pure

TOKENS = {
    "hf_ann": {"name": "ann", "orgs": {"quadrag-test": "write"}},
    "hf_reader": {"name": "ann", "orgs": {"quadrag-test": "write"}, "role": "read"},
    "hf_bob": {"name": "bob", "orgs": {"elsewhere": "write"}},
}
# A child's first lines: the client, what it says of a failure, and how its result comes back.
CLIENT = """
import io, json, os, sys
from pathlib import Path
from huggingface_hub import CommitOperationAdd, CommitOperationCopy, CommitOperationDelete, HfApi, HfFileSystem
from huggingface_hub.utils import disable_progress_bars
disable_progress_bars()
api, here = HfApi(), Path(sys.argv[1])
def told(call, *given, **named):
    try:
        return str(call(*given, **named))
    except Exception as error:
        status = getattr(getattr(error, "response", None), "status_code", None)
        return [type(error).__name__, status, str(error)]
"""


@pytest.fixture(scope="module")
def running() -> Iterator[HubServer]:
    with HubServer(TOKENS) as hub:
        yield hub


@pytest.fixture
def hub(running: HubServer) -> HubServer:
    """The server, empty."""
    running.repos.clear()
    running.faults.clear()
    running.clear()
    return running


@pytest.fixture
def client(
    forked_python: Process, environment: Callable[..., dict[str, str]], tmp_path: Path, hub: HubServer
) -> Client:
    """A function that runs code with the client in a process and returns what its `result` is."""
    folder = tmp_path / "client"
    folder.mkdir()

    def run(code: str, token: str | None = "hf_ann") -> Any:
        whole = f"{CLIENT}\n{code}\nprint(json.dumps(result))"
        done = forked_python(whole, folder, env=environment(**hub.environment(token)))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_repositories_and_who_may_make_them(hub: HubServer, client: Client) -> None:
    result = client("""
name = "quadrag-test/one"
result = [api.whoami()["name"], [one["name"] for one in api.whoami()["orgs"]]]
for kind in ("dataset", "space", "model"):
    options = dict(repo_type=kind, space_sdk="gradio" if kind == "space" else None)
    url = api.create_repo(name, private=kind == "space", **options)
    result.append([url.repo_type, url.repo_id])
    result.append(told(api.create_repo, name, **options))
    api.create_repo(name, exist_ok=True, **options)
    info = api.repo_info(name, repo_type=kind, files_metadata=True)
    result.append([info.id, info.private, sorted(one.rfilename for one in info.siblings), info.siblings[0].size > 100])
""")
    assert result[:2] == ["ann", ["quadrag-test"]]
    for number, kind in enumerate(("dataset", "space", "model")):
        made, taken, info = result[2 + 3 * number : 5 + 3 * number]
        assert made == [kind, "quadrag-test/one"]
        assert taken[:2] == ["HfHubHTTPError", 409] and f"You already created this {kind} repo" in taken[2]
        there = [".gitattributes", *(["README.md"] if kind == "space" else [])]
        assert info == ["quadrag-test/one", kind == "space", there, True]
    assert set(hub.repos) == {(kind, "quadrag-test/one") for kind in ("dataset", "space", "model")}

    refused = client("""
def make(token, name):
    return told(api.create_repo, name, repo_type="dataset", token=token)
result = [make(*each) for each in [
    (False, "quadrag-test/two"), ("hf_wrong", "quadrag-test/two"), ("hf_bob", "quadrag-test/two"),
    ("hf_reader", "quadrag-test/two"), ("hf_ann", "none-such/two"), ("hf_ann", "bob/two"), ("hf_ann", "ann/two"),
]]
def seen(token):
    return [api.repo_exists("quadrag-test/one", repo_type="space", token=token),
            told(api.space_info, "quadrag-test/one", token=token)[:2]]
result += [seen(False), seen("hf_bob"), seen("hf_reader")[0]]
api.update_repo_settings("quadrag-test/one", repo_type="space", private=False)
result.append(seen(False)[0])
result.append(told(api.delete_repo, "quadrag-test/one", repo_type="space", token="hf_bob")[:2])
api.delete_repo("quadrag-test/one", repo_type="space")
result.append(api.repo_exists("quadrag-test/one", repo_type="space"))
""")
    assert [each[1] for each in refused[:6]] == [401, 401, 403, 403, 403, 403]
    assert refused[6].endswith("/datasets/ann/two")
    assert "Invalid credentials in Authorization header" in refused[1][2]
    assert 'rights to create a dataset under the namespace "none-such"' in refused[4][2]
    hidden = "RepositoryNotFoundError"
    assert refused[7:] == [[False, [hidden, 401]], [False, [hidden, 404]], True, True, ["HfHubHTTPError", 403], False]


@pytest.mark.slow
def test_files_go_up_once_and_come_down_the_same(hub: HubServer, client: Client, tmp_path: Path) -> None:
    folder = tmp_path / "client" / "folder"
    (folder / "data" / "中文").mkdir(parents=True)
    content = {
        "data/a.parquet": os.urandom(300_000),
        "data/中文/b c.txt": "好\n".encode() * 400,
        "README.md": b"hello\n",
    }
    content["data/empty.txt"] = b""
    for name, each in content.items():
        (folder / name).write_bytes(each)
    hub.add("dataset", "quadrag-test/one")
    upload = """
one = dict(repo_id="quadrag-test/one", repo_type="dataset")
api.upload_folder(folder_path=here / "folder", **one)
result = api.dataset_info("quadrag-test/one").sha
"""
    head = client(upload)
    repo = hub.repos["dataset", "quadrag-test/one"]
    assert {name: repo.files[name] for name in content} == content
    assert repo.head == head and [commit.title for commit in repo.commits][1:] == ["initial commit"]
    assert [size for path, size in hub.bytes_in.items() if path.startswith("/lfs/")] == [300_000]
    assert repo.at("main").files["data/a.parquet"].lfs and not repo.at("main").files["README.md"].lfs

    hub.clear()
    assert client(upload) == head
    assert sum(hub.bytes_in.values()) < 3000 and not any(method == "PUT" for method, _ in hub.requests)
    assert not any("/commit/" in path for _, path in hub.requests)

    result = client("""
one = dict(repo_id="quadrag-test/one", repo_type="dataset")
down = Path(api.snapshot_download(**one))
result = [{str(path.relative_to(down)): path.read_bytes().hex() for path in down.rglob("*") if path.is_file()}]
commit = api.create_commit(operations=[
    CommitOperationDelete("data/empty.txt"), CommitOperationDelete("data/中文/"),
    CommitOperationCopy("data/a.parquet", "data/b.parquet"), CommitOperationCopy("README.md", "docs/README.md"),
    CommitOperationAdd("README.md", b"---\\nlicense: mit\\n---\\nbye\\n"),
], commit_message="change", **one)
result.append([commit.oid, api.list_repo_files(**one)])
result.append([[type(each).__name__, each.path] for each in api.list_repo_tree(path_in_repo="data", **one)])
(found,) = api.get_paths_info(paths=["data/b.parquet", "none"], **one)
result.append([found.size, found.lfs.sha256 == api.get_paths_info(paths=["data/a.parquet"], **one)[0].lfs.sha256])
result.append([each.title for each in api.list_repo_commits(**one)])
fs = HfFileSystem()
with fs.open("datasets/quadrag-test/one/data/a.parquet", "rb", block_size=1000) as file:
    file.seek(200_000)
    part = file.read(10)
result.append(part.hex())
api.create_tag(tag="v1", **one)
result.append(told(api.create_commit, operations=[CommitOperationAdd("x", b"x")], commit_message="late",
    parent_commit="0" * 40, **one)[:2])
result.append(told(api.create_commit, operations=[CommitOperationDelete("none")], commit_message="m", **one)[:2])
for file, revision in (("none", "main"), ("README.md", "none"), ("README.md", "v1"), ("README.md", commit.oid[:]), ):
    result.append(told(api.hf_hub_download, filename=file, revision=revision, **one))
result.append(told(api.hf_hub_download, "quadrag-test/none", "README.md")[0])
""")
    down = {name: bytes.fromhex(each) for name, each in result[0].items() if name != ".gitattributes"}
    assert down == content
    assert result[1][0] == repo.head != head
    assert result[1][1] == [".gitattributes", "README.md", "data/a.parquet", "data/b.parquet", "docs/README.md"]
    assert result[2] == [["RepoFile", "data/a.parquet"], ["RepoFile", "data/b.parquet"]]
    assert result[3] == [300_000, True]
    assert result[4] == ["change", "Upload folder using huggingface_hub", "initial commit"]
    assert bytes.fromhex(result[5]) == content["data/a.parquet"][200_000:200_010]
    assert repo.card() == {"license": "mit"} and repo.files["docs/README.md"] == b"hello\n"
    assert [each[0] for each in result[6:10]] == [
        *("HfHubHTTPError", "RemoteEntryNotFoundError", "RemoteEntryNotFoundError", "RevisionNotFoundError")
    ]
    assert result[6][1] == 412 and all(f"/snapshots/{repo.head}/" in each for each in result[10:12])
    assert result[12] == "RepositoryNotFoundError"


def test_what_the_hub_does_not_take(hub: HubServer, client: Client) -> None:
    hub.add("space", "quadrag-test/one", sdk="gradio")
    hub.add("dataset", "quadrag-test/one").put({f"data/{number:04}.txt": b"x" for number in range(1200)})
    result = client("""
one = dict(repo_id="quadrag-test/one", repo_type="dataset")
result = [told(api.upload_file, path_or_fileobj=b"x", path_in_repo="x", token=token, **one)[:2]
          for token in (False, "hf_wrong", "hf_bob")]
addition = CommitOperationAdd("x.parquet", b"never uploaded")
addition._upload_mode, addition._is_uploaded, addition._should_ignore, addition._remote_oid = "lfs", True, False, None
result.append(told(api.create_commit, operations=[addition], commit_message="m", **one))
card = b"---\\ntitle: one\\nsdk: gradio\\ncolorFrom: mauve\\n---\\n"
result.append(told(api.upload_file, path_or_fileobj=card, path_in_repo="README.md", repo_id="quadrag-test/one",
    repo_type="space"))
result.append(len(api.list_repo_files(**one)))
""")
    assert [each[1] for each in result[:3]] == [401, 401, 403]
    assert result[3][1] == 400 and "LFS pointer pointed to a file that does not exist" in result[3][2]
    assert result[4][0] == "ValueError" and "colorFrom" in result[4][2]
    assert result[5] == 1201 and ("GET", "/api/datasets/quadrag-test/one/tree/main") in hub.requests
    assert all(len(repo.commits) <= 2 for repo in hub.repos.values())


@pytest.mark.slow
def test_pull_requests(hub: HubServer, client: Client) -> None:
    repo = hub.add("model", "quadrag-test/model", {"README.md": b"hello\n"})
    head = repo.head
    result = client(
        """
model = "quadrag-test/model"
opened = api.create_commit(model, [CommitOperationAdd("a.yaml", b"a: 1\\n"), CommitOperationAdd("b.bin", b"\\0b")],
    commit_message="results", commit_description="of a run", create_pr=True)
result = [opened.pr_url, opened.pr_revision]
api.upload_file(repo_id=model, path_or_fileobj=b"a: 2\\n", path_in_repo="a.yaml", revision=opened.pr_revision)
result.append(Path(api.hf_hub_download(model, "a.yaml", revision=opened.pr_revision)).read_text())
result.append(told(api.hf_hub_download, model, "a.yaml")[0])
result.append([[each.title, each.num, each.status, each.author] for each in api.get_repo_discussions(model)])
result.append(api.get_discussion_details(model, 1).target_branch)
result.append(told(api.merge_pull_request, model, 1)[1])
""",
        token="hf_bob",
    )
    assert result == [
        f"{hub.url}/quadrag-test/model/discussions/1",
        "refs/pr/1",
        "a: 2\n",
        "RemoteEntryNotFoundError",
        [["results", 1, "open", "bob"]],
        "refs/heads/main",
        403,
    ]
    (pull,) = repo.pull_requests
    assert repo.head == head and (pull.title, pull.description) == ("results", "of a run")
    merged = client("""
api.merge_pull_request("quadrag-test/model", 1)
result = api.list_repo_files("quadrag-test/model")
""")
    assert merged == [".gitattributes", "README.md", "a.yaml", "b.bin"]
    assert repo.files["a.yaml"] == b"a: 2\n" and pull.status == "merged"


@pytest.mark.slow
def test_faults(hub: HubServer, client: Client) -> None:
    repo = hub.add("dataset", "quadrag-test/one", {"there.txt": b"there\n" * 1000})
    hub.faults += [
        Fault("drop", match="PUT /lfs/", times=1, after=100),
        Fault("status", match="POST .*/preupload/", times=1, status=429, headers={"Retry-After": "0"}),
        Fault("truncate", match="GET .*/resolve/main/there.txt", times=1),
        Fault("status", match="GET /api/whoami-v2", times=1, status=503, body={"error": "down"}),
    ]
    result = client("""
one = dict(repo_id="quadrag-test/one", repo_type="dataset")
api.upload_file(path_or_fileobj=b"\\0" * 100_000, path_in_repo="a.bin", **one)
result = [Path(api.hf_hub_download(filename="there.txt", **one)).read_text(), told(api.whoami)[:2]]
""")
    assert result == ["there\n" * 1000, ["HfHubHTTPError", 503]]
    assert all(fault.times == 0 for fault in hub.faults)
    assert repo.files["a.bin"] == bytes(100_000)
    assert list(repo.objects) == [path.rpartition("/")[2] for path in hub.bytes_in if path.startswith("/lfs/")]

    hub.verify = False
    hub.faults = [Fault("lie", match="PUT /lfs/"), Fault("lose", match="/commit/", times=1)]
    try:
        result = client("""
one = dict(repo_id="quadrag-test/one", repo_type="dataset")
result = [told(api.upload_file, path_or_fileobj=text, path_in_repo=path, **one)
          for path, text in (("b.txt", b"b"), ("b.bin", b"\\0b"))]
""")
    finally:
        hub.verify = True
    assert (
        result[0][0] in ("ReadError", "RemoteProtocolError") and repo.files["b.txt"] == b"b"
    )  # done, and its answer lost
    assert result[1][:2] == ["BadRequestError", 400] and "b.bin" not in repo.files


def test_as_a_process(tmp_path: Path) -> None:
    command = [sys.executable, hub_server.__file__, "--token", "hf_x=ann:org:write"]

    def ask(path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{url}{path}", data, {"Authorization": "Bearer hf_x"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert ask("/api/whoami-v2")["orgs"][0]["name"] == "org"
            ask("/api/repos/create", {"type": "dataset", "organization": "org", "name": "one"})
            ask("/control", {"faults": [{"action": "status", "match": "whoami", "status": 502}], "clear": True})
            with pytest.raises(urllib.error.HTTPError, match="502"):
                ask("/api/whoami-v2")
            stats = ask("/stats")
        finally:
            process.kill()
    assert stats["requests"] == [["GET", "/api/whoami-v2"]] and stats["repos"]["dataset org/one"]["private"] is False
