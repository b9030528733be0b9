"""Verified download against a real server on this machine that serves right, wrong, cut, missing and stalled files."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import socket
import subprocess
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from small_servers import Quiet, serving

from quadrag import catalogue
from quadrag.data import download
from quadrag.data.download import RemoteFile, fault, fetch
from quadrag.data.files import digest as digest_of_all
from quadrag.data.files import sample_dir
from quadrag.errors import QuadragError

CONTENT = "第一行\n{}\n".encode() * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
BLOB = hashlib.sha1(b"blob %d\0" % len(CONTENT) + CONTENT).hexdigest()


class Upstream(ThreadingHTTPServer):
    """Serves `files` by path and does what the other paths are named after; keeps what it was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {"/right": CONTENT, "/wrong": b"x" * len(CONTENT), "/short": CONTENT[:-1]}
        self.asked: list[str] = []
        self.over = Event()
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(Quiet):
    server: Upstream

    def do_GET(self) -> None:
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
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    with serving(server):
        yield server
        server.over.set()


def test_git_and_sha256_agree_with_their_own_tools(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    git = subprocess.run(["git", "hash-object", str(path)], capture_output=True, text=True, check=True)
    assert git.stdout.strip() == BLOB
    assert fault(path, RemoteFile("file", "", len(CONTENT), SHA256, BLOB)) is None


@pytest.mark.parametrize(
    ("known", "found"),
    [
        ({"sha256": SHA256}, None),
        ({"blob": BLOB}, None),
        ({"size": len(CONTENT), "blob": BLOB}, None),
        ({"size": 7, "sha256": SHA256}, f"{len(CONTENT)} bytes, expected 7"),
        ({"sha256": "0" * 64, "blob": BLOB}, f"sha256 {SHA256}, expected {'0' * 64}"),
        ({"sha256": SHA256, "blob": "0" * 40}, f"git blob id {BLOB}, expected {'0' * 40}"),
    ],
)
def test_what_is_known_is_checked(tmp_path: Path, known: dict[str, Any], found: str | None) -> None:
    (tmp_path / "file").write_bytes(CONTENT)
    assert fault(tmp_path / "file", RemoteFile("file", "", **known)) == found


def test_nothing_counts_unverified(tmp_path: Path, upstream: Upstream) -> None:
    with pytest.raises(ValueError, match="file has neither a sha256 nor a git blob id"):
        fetch([RemoteFile("file", f"{upstream.url}/right", len(CONTENT))], tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("known", [{"sha256": SHA256}, {"blob": BLOB}], ids=list)
def test_a_right_file_is_kept_and_not_fetched_again(tmp_path: Path, upstream: Upstream, known: dict[str, str]) -> None:
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


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/wrong", r"file from {url}/wrong has sha256 \w+, expected \w+; removed it, run again or use --data-dir"),
        ("/short", r"file from {url}/short has \d+ bytes, expected \d+; removed it, run again or use --data-dir"),
        ("/cut", r"cannot fetch {url}/cut \(\w+ after \d+ bytes\); check the network, name a mirror in QUADRAG_MIRROR"),
        ("/stalled", r"cannot fetch {url}/stalled \(\w+ after \d+ bytes\); check the network, name a mirror in"),
        ("/404", r"{url}/404 answered 404; run again later or use --data-dir"),
        ("/500", r"{url}/500 answered 500; run again later or use --data-dir"),
    ],
)
def test_what_goes_wrong_is_named_and_nothing_is_left(
    tmp_path: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, path: str, message: str
) -> None:
    monkeypatch.setattr(download, "_TIMEOUT", (1, 0.3))
    files = [RemoteFile("first", f"{upstream.url}/right", sha256=SHA256)]
    files.append(RemoteFile("file", upstream.url + path, len(CONTENT), SHA256))
    with pytest.raises(QuadragError) as caught:
        fetch(files, tmp_path)
    assert re.match(message.format(url=re.escape(upstream.url)), str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["first"], "the right one stays, of the other nothing"


def test_a_wrong_file_never_replaces_one_from_before(tmp_path: Path, upstream: Upstream) -> None:
    (tmp_path / "file").write_bytes(b"older")
    with pytest.raises(QuadragError, match="answered 404"):
        fetch([RemoteFile("file", f"{upstream.url}/404", sha256=SHA256)], tmp_path)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"older")]


def test_a_refused_connection_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: refused, and nobody else can take the port
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/file"
        with pytest.raises(QuadragError, match=rf"cannot fetch {url} \(ConnectionError after 0 bytes\); check the net"):
            fetch([RemoteFile("file", url, sha256=SHA256)], tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_is_named(tmp_path: Path, upstream: Upstream) -> None:
    (tmp_path / "file").write_bytes(b"not a folder")
    remote = RemoteFile("a", f"{upstream.url}/right", sha256=SHA256)
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(
            QuadragError, match=rf"cannot write {folder}/a \(\w.*\); make room there or name a folder in Q"
        ):
            fetch([remote], folder)
    (tmp_path / "a").mkdir()
    with pytest.raises(QuadragError, match=rf"cannot write {tmp_path}/a \(Is a directory\)"):
        fetch([remote], tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "file"]


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_mirror_answers_under_the_same_path(
    tmp_path: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, slash: str
) -> None:
    monkeypatch.setenv("QUADRAG_MIRROR", upstream.url + slash)
    upstream.files["/owner/repository/0123/data/a%20b.json"] = CONTENT
    fetch([RemoteFile("a", "https://host.invalid/owner/repository/0123/data/a%20b.json", blob=BLOB)], tmp_path)
    assert upstream.asked == ["/owner/repository/0123/data/a%20b.json"]
    monkeypatch.setenv("QUADRAG_MIRROR", "mirror-without-a-scheme")
    with pytest.raises(QuadragError, match=r"cannot fetch mirror-without-a-scheme/x \(MissingSchema after 0 bytes\)"):
        fetch([RemoteFile("b", "https://host.invalid/x", blob=BLOB)], tmp_path)


def test_every_file_of_every_script_can_be_verified() -> None:
    for name in catalogue.benchmarks():
        builder = catalogue.builder_class(name)
        if hasattr(builder, "search"):
            assert builder.FILES == {}, "gated upstream, so that nobody can pin what is there"
            continue
        used = {file for config in catalogue.configs(name).values() for file in config.files}
        # Other releases and stand-ins are not among the files of the configs as they are without options.
        assert used
        assert used <= set(builder.FILES)
        for size, sha256, blob in builder.FILES.values():
            assert sha256 or blob
            assert size is None or size > 0
            assert sha256 is None or re.fullmatch("[0-9a-f]{64}", sha256)
            assert blob is None or re.fullmatch("[0-9a-f]{40}", blob)


def test_the_scripts_facts_are_the_recorded_ones() -> None:
    record = Path(__file__).resolve().parents[4] / "shared" / "specs" / "upstream_files.csv"
    if not record.is_file():
        pytest.skip(f"no record of the upstream files at {record}")
    with record.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["benchmark"] == "rgb"]
    builder = catalogue.builder_class("rgb")
    assert {
        Path(row["path"]).name: (
            int(row["bytes"]) if row["bytes"] else None,
            row["sha256"] or None,
            row["git_blob_sha1"],
        )
        for row in rows
    } == builder.FILES
    address = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"
    assert {builder.URL + name for name in builder.FILES} == {address.format(**row) for row in rows}


# The command line on a script whose facts are those of the files at hand, which may be a part of upstream's.
WITH_FACTS = """
import json, sys
from quadrag import catalogue, cli
facts = json.loads(sys.argv.pop(1))
catalogue.builder_class("rgb").FILES = {name: tuple(known) for name, known in facts.items()}
sys.exit(cli.main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("of", ["sample", "real"])
def test_prepare_fetches_verifies_and_builds_through_a_mirror(
    upstream: Upstream,
    real_data: Callable[[str], Path],
    environment: Callable[..., dict[str, str]],
    python: Callable[..., subprocess.CompletedProcess[str]],
    quadrag: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
    of: str,
) -> None:
    name, config = "zh_int.json", "information_integration_zh"
    path = (sample_dir("rgb") if of == "sample" else real_data("RGB") / "data") / name
    if not path.is_file():
        pytest.skip(f"no {path}")
    builder = catalogue.builder_class("rgb")
    content = path.read_bytes()
    upstream.files[builder.URL.removeprefix("https://raw.githubusercontent.com") + name] = content
    env = environment(QUADRAG_MIRROR=upstream.url)
    cached = tmp_path / "home" / "quadrag" / "upstream" / "rgb"

    remote = RemoteFile(name, "", *builder.FILES[name])
    if fault(path, remote) is not None:  # not upstream's whole file: the genuine facts refuse it, in one line
        done = quadrag("prepare", "rgb", "--config", config, env=env)
        assert (done.returncode, done.stdout) == (2, "")
        expected = (
            rf"quadrag: {name} from {upstream.url}/.* has {len(content)} bytes, expected {remote.size}; removed it"
        )
        assert re.match(expected, done.stderr), done.stderr
        assert done.stderr.count("\n") == 1
        assert not list(cached.iterdir())
        assert not list((tmp_path / "home").rglob("*.arrow"))

    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    facts = {name: (len(content), hashlib.sha256(content).hexdigest(), blob)}
    upstream.asked.clear()
    for _ in range(2):
        done = python(WITH_FACTS, json.dumps(facts), "prepare", "rgb", "--config", config, env=env)
        assert done.returncode == 0, done.stderr
        count = content.count(b"\n")
        assert f"{config}: noise_0 {count}, noise_20 {count}, noise_40 {count}" in done.stdout.splitlines()
    assert len(upstream.asked) == 1, "the second time the verified file is there"
    assert [path.read_bytes() for path in cached.iterdir()] == [content]


def test_a_large_file_is_summed_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summed = []

    def counted(path: Path, total: Any) -> str:
        summed.append(path.name)
        return digest(path, total)

    digest = download._digest
    monkeypatch.setattr(download, "_digest", counted)
    monkeypatch.setattr(download, "_LARGE", 100)
    for name, size in (("large", 100), ("small", 98)):
        path = tmp_path / name
        for content in (b"a" * size, b"b" * (size + 1)):
            path.write_bytes(content)
            for _ in range(2):
                assert download.sha256(path) == hashlib.sha256(content).hexdigest()
                assert digest_of_all({name: path})
    assert (summed.count("large"), summed.count("small")) == (2, 8)
