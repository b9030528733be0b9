"""Every reply of `replies.yaml` on every route: it is a failure that says why, or the answer that it holds; no more."""

import re
import resource
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from hostile_server import GOOD, KEY, QUERY, SECRETS, HostileServer, fill

from quadrag.chat.client import ChatClient
from quadrag.chat.ledger import Ledger
from quadrag.chat.reply import Failure, Reply
from quadrag.errors import QuadragError, one_line
from quadrag.systems.own import OpenQuestion
from quadrag.systems.service import RagService

ROWS = yaml.safe_load((Path(__file__).parent / "replies.yaml").read_text(encoding="utf-8"))
WELL = {"name": "well", "text": GOOD}
ROUTES = {"chat": "chat", "judge": "chat", "rag": "plain", "rag-chat": "chat"}
LIMITS = {"timeout": 2.5, "retries": 0, "max_reply_bytes": 1_000_000, "concurrency": 16}


@pytest.fixture(scope="module")
def server():
    with HostileServer([WELL, *ROWS]) as running:
        yield running


def set_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("QUADRAG_API_KEY", KEY)


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def open_route(route: str, server: HostileServer, ledger: Ledger | None) -> Any:
    options = {"ledger": ledger, **LIMITS}
    place = {"rag": f"/rag?api_key={QUERY}"}.get(route, f"/v1?api_key={QUERY}#m")
    return (RagService if route.startswith("rag") else ChatClient)(server.secret_url + place, **options)


def ask(route: str, client: Any, names: list[str]) -> list[Any]:
    if route.startswith("rag"):
        replies = client.ask([OpenQuestion(name, f"attack:{name}", (), (), "rgb", "c", "s", "en") for name in names])
    else:
        chats = [[{"role": "user", "content": f"attack:{name}"}] for name in names]
        replies = client(chats) if route == "judge" else client.complete(chats)
    return [reply.text if isinstance(reply, Reply) else reply for reply in replies]


def rows_of(kind: str) -> list[dict[str, Any]]:
    return [row for row in ROWS if row.get("for", kind) == kind]


@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES)
def test_a_reply_is_a_failure_that_says_why_or_its_answer(server, tmp_path, monkeypatch, route):
    set_keys(monkeypatch)
    before = peak()
    rows = [WELL, *rows_of(ROUTES[route])]
    with Ledger(tmp_path / "L") as ledger, closing(open_route(route, server, ledger)) as client:
        found = ask(route, client, [row["name"] for row in rows])
        kept = sum("text" in row or "cut before" in row["says"] for row in rows)
        assert len(ledger) == kept, "what is no answer is not kept"
    assert peak() - before < 300, "MiB, of which a body may take a few"
    wrong = {row["name"]: came for row, came in zip(rows, found, strict=True) if not is_as_said(row, came)}
    assert not wrong


def is_as_said(row: dict[str, Any], came: Any) -> bool:
    if "text" in row:
        return bool(came == fill(row["text"]))
    if not isinstance(came, Failure) or came.reason not in ("api_error", "unparsable", "truncated"):
        return False
    line = came.detail
    clean = line == one_line(line) and 0 < len(line) <= 300 and not any(one in line for one in SECRETS.values())
    return clean and re.search(row["says"], line) is not None


LISTS = {
    "names": ({"data": [{"id": "a"}, {"id": "b"}]}, r"2 models \(a, b\)"),
    "odd-names": ({"data": [{"id": None}, {"id": 7}, {"id": "a"}]}, None),
    "no-names": ({"data": [{}]}, "no list of models"),
    "no-objects": ({"data": ["a"]}, "no list of models"),
    "no-list": ({"data": 7}, "no list of models"),
    "escapes": ({"data": [{"id": "a\x1b[2Jb"}]}, "0 models"),
    "secret": ({"data": [{"id": "<<key>>"}]}, "0 models"),
    "long": ({"data": [{"id": "a" * 1000}]}, "0 models"),
    "space": ({"data": [{"id": " a model"}]}, "0 models"),
}
LISTED = dict.fromkeys(("form-deep-list", "form-html", "text-null"), "no list of models")
ALSO_LISTED = ("error-deep-list", "charset-hex", "redirect-port", "redirect-host", "form-deep-list", "form-html")
ALSO_LISTED += ("text-null", "size-bomb", "size-endless", "size-zstd", "echo-query", "escapes-bidi", "wire-stall")


def test_a_list_of_models_is_read_or_refused(monkeypatch):
    set_keys(monkeypatch)
    rows = [{"name": name, "whole": whole, "says": says} for name, (whole, says) in LISTS.items()]
    rows += [{**row, "says": LISTED.get(row["name"], row["says"])} for row in ROWS if row["name"] in ALSO_LISTED]
    with HostileServer(rows) as server:
        for row in rows:
            client = ChatClient(f"{server.secret_url}/attack:{row['name']}/v1?api_key={QUERY}", **LIMITS)
            with client:
                if row["says"] is None:
                    assert client.model == "a"
                    continue
                with pytest.raises(QuadragError, match=row["says"]) as error:
                    _ = client.model
            line = str(error.value)
            assert line == one_line(line) and len(line) < 450, row["name"]
            assert not [name for name, secret in SECRETS.items() if secret in line], row["name"]


def test_nothing_is_shown_or_logged(server, caplog, capfd, monkeypatch):
    set_keys(monkeypatch)
    caplog.set_level("DEBUG")
    names = [row["name"] for row in ROWS if row["name"].startswith(("echo", "redirect", "wire-head", "wire-chunks"))]
    for route in ROUTES:
        with closing(open_route(route, server, None)) as client:
            ask(route, client, ["well", *names])
    said = capfd.readouterr()
    logged = caplog.text
    for name, secret in SECRETS.items():
        assert secret not in said.out + said.err and secret not in logged, name
