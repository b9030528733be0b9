"""The dataset script `omnieval` without a folder: the Hub's gated repositories, granted, refused, empty, out of reach.

The Hub is a server on this machine that answers as the Hub does. What its client takes from the environment it takes
at its import, so each case is a process of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from small_servers import Quiet, serving

pytestmark = pytest.mark.slow  # a process each

GENERATED, HUMAN, CORPUS = "OmniEval-AutoGen-Dataset", "OmniEval-Human-Questions", "OmniEval-KnowledgeCorpus"
PAGE = "https://huggingface.co/datasets/RUC-NLPIR/"
COMMIT = "0123456789012345678901234567890123456789"


def lines(*records: Any) -> bytes:
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records).encode()


RECORD = {"question": "问？", "answer": "答", "relevant_node": "n-1", "relevant_passage": "文", "evaluation": 2}
NAMED = RECORD | {"topic_name": "金融 - 保险 - 健康保险", "task_name": "长答案形式问答"}
FILES = {
    GENERATED: {
        "gen_datas_test_final/银行业务/零售银行/抽取类问答.jsonl": lines(RECORD, RECORD),
        "train.jsonl": lines(NAMED),
        "nodes/0.pkl": b"\x80",
        "README.md": b"# gated\n",
    },
    HUMAN: {"README.md": b"# empty\n"},
    CORPUS: {"all-2048-256_nodes/corpus.jsonl": lines({"id": "n-1", "title": "题", "contents": "文"})},
}


class Hub(ThreadingHTTPServer):
    """Serves FILES to whoever has the token `granted`.

    Attributes:
        asked: paths of the files that were fetched.
        closed: repositories that are refused with a token too.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []
        self.closed: set[str] = set()
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(Quiet):
    server: Hub

    def do_GET(self) -> None:
        path = unquote(self.path.partition("?")[0]).removeprefix("/api")
        owner, _, rest = path.removeprefix("/datasets/").partition("/")
        name, _, rest = rest.partition("/")
        token = self.headers.get("Authorization")
        if owner != "RUC-NLPIR" or name not in FILES:
            self._send(404, b"{}", "RepoNotFound")
        elif self.path.startswith("/api/") and rest.startswith("tree/"):
            tree = [
                {"type": "file", "path": file, "size": len(body), "oid": hashlib.sha1(body).hexdigest()}
                for file, body in FILES[name].items()
            ]
            self._send(200, json.dumps(tree).encode())
        elif self.path.startswith("/api/"):
            if token is None and name in self.server.closed:
                self._send(401, b"{}", "RepoNotFound")
                return
            siblings = [{"rfilename": file} for file in FILES[name]]
            self._send(200, json.dumps({"id": f"{owner}/{name}", "sha": COMMIT, "siblings": siblings}).encode())
        elif token is None:
            self._send(401, b"", "GatedRepo")
        elif name in self.server.closed or token != "Bearer granted":
            self._send(403, b"", "GatedRepo")
        else:
            file = rest.removeprefix(f"resolve/{COMMIT}/")
            if self.command == "GET":
                self.server.asked.append(f"{name}/{file}")
            self._send(200, FILES[name][file])

    do_HEAD = do_GET

    def _send(self, code: int, body: bytes, error: str | None = None) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{hashlib.sha1(body).hexdigest()}"')
        if error is not None:
            self.send_header("X-Error-Code", error)
            self.send_header("X-Error-Message", quote(error))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


@pytest.fixture
def hub() -> Iterator[Hub]:
    server = Hub()
    with serving(server):
        yield server


@pytest.fixture
def env(environment: Callable[..., dict[str, str]], hub: Hub) -> Callable[..., dict[str, str]]:
    """A function that makes the environment of a process that sees this Hub, with a token or without."""

    def make(token: str | None = "granted", **changes: str | None) -> dict[str, str]:
        changes = {"HF_HUB_OFFLINE": None, "HF_ENDPOINT": hub.url, "HF_TOKEN": token, **changes}
        return environment(HF_HUB_DISABLE_XET="1", **changes)

    return make


ROWS = """
import json, sys
from quadrag.data import builders
builder, source = builders.open_builder("omnieval", sys.argv[1])
splits = {split: [row["id"] for row in builders.rows(builder, split)] for split in builders.splits(builder)}
print(json.dumps([splits, source.text, builders.fingerprint(builder)]))
"""
BY_ITSELF = """
import json, sys
from quadrag import catalogue
builder = catalogue.builder_class("omnieval")(config_name=sys.argv[1])
builder.download_and_prepare()
print(json.dumps({split: builder.as_dataset(split=split)["id"][:] for split in builder.info.splits}))
"""
ALL = {
    "train": ["train/insurance/health/long_form_qa/1"],
    "auto": ["auto/banking/retail/extractive_qa/1", "auto/banking/retail/extractive_qa/2"],
}


def test_with_a_token_the_repositories_are_brought_without_pickles(python: Any, env: Any, hub: Hub) -> None:
    first = python(ROWS, "all", env=env())
    assert first.returncode == 0, first.stderr
    found, source, fingerprint = json.loads(first.stdout)
    assert found == ALL, "the human set is empty upstream, and no error for the others"
    assert source == "the authors' repositories on the Hub, which give no checksums"
    wanted = {f"{GENERATED}/{name}" for name in FILES[GENERATED] if name.endswith(".jsonl")}
    assert set(hub.asked) == wanted
    corpus = json.loads(python(ROWS, "corpus", env=env()).stdout)
    assert corpus[0] == {"corpus": ["n-1"]}
    # What is in the Hub's cache is not fetched again, nor is a network needed.
    hub.asked.clear()
    for changes in ({}, {"HF_HUB_OFFLINE": "1"}):
        assert json.loads(python(ROWS, "all", env=env(**changes)).stdout) == [found, source, fingerprint]
    assert hub.asked == []


@pytest.mark.parametrize("config", ["all", "corpus"])
def test_the_script_by_itself_brings_them_too(python: Any, env: Any, config: str) -> None:
    done = python(BY_ITSELF, config, env=env())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == (ALL if config == "all" else {"corpus": ["n-1"]})


def test_prepare_makes_the_bare_name_load(quadrag: Any, python: Any, env: Any) -> None:
    done = quadrag("prepare", "omnieval", env=env())
    assert done.returncode == 0, done.stderr
    built = done.stdout.splitlines()
    assert "all: train 1, auto 2" in built
    assert "extractive_qa: auto 2" in built
    assert "corpus: corpus 1" in built
    code = 'from datasets import load_dataset; print(load_dataset("omnieval", "corpus", split="corpus")[0])'
    assert python(code, env=env(HF_HUB_OFFLINE="1")).stdout == "{'id': 'n-1', 'title': '题', 'contents': '文'}\n"


@pytest.mark.parametrize(("token", "status"), [(None, 401), ("other", 403)])
def test_a_refusal_is_one_line_that_says_where_to_ask(quadrag: Any, env: Any, token: str | None, status: int) -> None:
    done = quadrag("prepare", "omnieval", "--config", "corpus", env=env(token))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"quadrag: {PAGE}{CORPUS} is gated and answered {status}; ask for access on that page and log in "
        "(`hf auth login`, or HF_TOKEN), or name a folder of its files by --data-dir (data_dir)\n"
    )


def test_a_repository_that_is_hidden_without_a_token_is_a_refusal(quadrag: Any, env: Any, hub: Hub) -> None:
    hub.closed.add(CORPUS)
    done = quadrag("prepare", "omnieval", "--config", "corpus", env=env(None))
    assert done.returncode == 2
    assert done.stderr.startswith(f"quadrag: {PAGE}{CORPUS} is gated and answered 401; ask for access on that page")
    assert done.stderr.count("\n") == 1


def test_a_refused_repository_beside_others_is_said(quadrag: Any, env: Any, hub: Hub) -> None:
    hub.closed.add(HUMAN)
    FILES[HUMAN]["v1022.jsonl"] = lines(NAMED)
    try:
        done = quadrag("prepare", "omnieval", "--config", "all", env=env())
    finally:
        del FILES[HUMAN]["v1022.jsonl"]
    assert done.returncode == 0, done.stderr
    assert "all: train 1, auto 2" in done.stdout.splitlines()
    assert f"{PAGE}{HUMAN} is gated and answered 403; ask for access" in done.stderr


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"HF_HUB_OFFLINE": "1"}, "cannot be fetched ("), ({"HF_ENDPOINT": "http://127.0.0.1:9"}, "cannot be fetched (")],
)
def test_a_hub_out_of_reach_is_one_line(quadrag: Any, env: Any, changes: dict[str, str], reason: str) -> None:
    done = quadrag("prepare", "omnieval", "--config", "corpus", env=env(**changes))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"quadrag: {PAGE}{CORPUS} {reason}")
    assert done.stderr.endswith("; run again later, or name a folder of its files by --data-dir (data_dir)\n")
    assert done.stderr.count("\n") == 1


def test_options_leave_the_hub_alone(python: Any, env: Any, hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_bytes(lines(NAMED))
    code = ROWS.replace("sys.argv[1])", 'sys.argv[1], None, {"human_file": sys.argv[2]})')
    done = python(code, "all", tmp_path / "own.jsonl", env=env(None, HF_ENDPOINT="http://127.0.0.1:9"))
    assert done.returncode == 0, done.stderr
    found, source, _ = json.loads(done.stdout)
    assert found == {"human": ["human/insurance/health/long_form_qa/1"]}
    assert source == str(tmp_path / "own.jsonl")
    assert hub.asked == []
