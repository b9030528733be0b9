"""Verified download against a real server on this machine that serves right, wrong, cut, missing and stalled files."""

import hashlib
import subprocess
from http.server import ThreadingHTTPServer
from threading import Event

import pytest
from small_servers import Quiet, serving

from quadrag.data import files as data_files
from quadrag.data.files import RemoteFile, fault, fetch
from quadrag.errors import QuadragError

CONTENT = "第一行\n{}\n".encode() * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
BLOB = hashlib.sha1(b"blob %d\0" % len(CONTENT) + CONTENT).hexdigest()


class Upstream(ThreadingHTTPServer):
    """Serves `files` by path and does what the other paths are named after; keeps what it was asked for."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {"/right": CONTENT, "/wrong": b"x" * len(CONTENT), "/short": CONTENT[:-1]}
        self.asked: list[str] = []
        self.over = Event()
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(Quiet):
    server: Upstream

    def do_GET(self):
        self.server.asked.append(self.path)
        status, body, length = 200, self.server.files.get(self.path, b""), 0
        if self.path in ("/cut", "/stalled"):
            body, length = CONTENT[:100], len(CONTENT)
        elif self.path == "/500":
            status, body = 500, b"broken"
        elif self.path not in self.server.files:
            status, body = 404, b"not found"
        self.send_response(status)
        self.send_header("Content-Length", str(length or len(body)))
        self.end_headers()
        self.wfile.write(body)
        if self.path == "/stalled":
            self.wfile.flush()
            self.server.over.wait(30)


@pytest.fixture
def upstream():
    server = Upstream()
    with serving(server):
        yield server
        server.over.set()


def test_git_and_sha256_agree_with_their_own_tools(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    git = subprocess.run(["git", "hash-object", str(path)], capture_output=True, text=True, check=True)
    assert git.stdout.strip() == BLOB
    assert fault(path, RemoteFile("file", "", len(CONTENT), SHA256, BLOB)) is None
    for known, found in (({"size": 7}, len(CONTENT)), ({"sha256": "0" * 64}, SHA256), ({"blob": "0" * 40}, BLOB)):
        said = fault(path, RemoteFile("file", "", **known))
        assert str(found) in said and str(*known.values()) in said


def test_nothing_counts_unverified(tmp_path, upstream):
    with pytest.raises(QuadragError, match="file"):
        fetch([RemoteFile("file", f"{upstream.url}/right", len(CONTENT))], tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("known", [{"sha256": SHA256}, {"blob": BLOB}], ids=list)
def test_a_right_file_is_kept_and_not_fetched_again(tmp_path, upstream, known):
    files = [RemoteFile(name, f"{upstream.url}/right", **known) for name in ("a", "sub/b")]
    folder = tmp_path / "new" / "folder"
    for _ in range(2):
        assert fetch(files, folder) == folder
        assert (folder / "a").read_bytes() == (folder / "sub" / "b").read_bytes() == CONTENT
    assert upstream.asked == ["/right"] * 2
    # One that was changed on the disk is fetched again, and it alone.
    (folder / "a").write_bytes(CONTENT[:-1])
    fetch(files, folder)
    assert (folder / "a").read_bytes() == CONTENT
    assert len(upstream.asked) == 3
    assert sorted(path.name for path in folder.rglob("*")) == ["a", "b", "sub"]


@pytest.mark.parametrize("path", ["/wrong", "/short", "/cut", "/stalled", "/404", "/500", "refused"])
@pytest.mark.parametrize("before", [None, b"older"])
def test_what_goes_wrong_is_named_and_nothing_is_left(tmp_path, upstream, monkeypatch, path, before):
    monkeypatch.setattr(data_files, "TIMEOUT", (1, 0.3))
    url = "http://127.0.0.1:9/file" if path == "refused" else upstream.url + path
    if before:
        (tmp_path / "file").write_bytes(before)
    files = [RemoteFile("first", f"{upstream.url}/right", sha256=SHA256)]
    files.append(RemoteFile("file", url, len(CONTENT), SHA256))
    with pytest.raises(QuadragError) as caught:
        fetch(files, tmp_path)
    assert url in str(caught.value) and "\n" not in str(caught.value)
    left = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    assert left == {"first": CONTENT} | ({"file": before} if before else {})


def test_a_folder_that_cannot_be_is_named(tmp_path, upstream):
    (tmp_path / "file").write_bytes(b"not a folder")
    remote = RemoteFile("a", f"{upstream.url}/right", sha256=SHA256)
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(QuadragError, match=f"{folder}/a"):
            fetch([remote], folder)
    (tmp_path / "a").mkdir()
    with pytest.raises(QuadragError, match=f"{tmp_path}/a"):
        fetch([remote], tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "file"]


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_mirror_answers_under_the_same_path(tmp_path, upstream, monkeypatch, slash):
    monkeypatch.setenv("QUADRAG_MIRROR", upstream.url + slash)
    upstream.files["/owner/repository/0123/data/a%20b.json"] = CONTENT
    fetch([RemoteFile("a", "https://host.invalid/owner/repository/0123/data/a%20b.json", blob=BLOB)], tmp_path)
    assert upstream.asked == ["/owner/repository/0123/data/a%20b.json"]
    monkeypatch.setenv("QUADRAG_MIRROR", "mirror-without-a-scheme")
    with pytest.raises(QuadragError, match="mirror-without-a-scheme/x"):
        fetch([RemoteFile("b", "https://host.invalid/x", blob=BLOB)], tmp_path)
