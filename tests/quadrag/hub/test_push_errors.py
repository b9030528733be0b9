"""What goes wrong on the way to a Hub is one line that says what to do, and the next run finishes the push."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hub_server import Fault, HubServer

from quadrag import catalogue

Process = Callable[..., "subprocess.CompletedProcess[str]"]
Environment = Callable[..., dict[str, str]]

pytestmark = [pytest.mark.pure, pytest.mark.slow]
ORG = "quadrag-test"
TOKENS = {
    "hf_write": {"name": "ann", "orgs": {ORG: "write"}},
    "hf_read": {"name": "bob", "orgs": {ORG: "read"}},
    "hf_contribute": {"name": "dan", "orgs": {ORG: "contributor"}},
    "hf_other": {"name": "eve", "orgs": {"others": "admin"}},
    "hf_weak": {"name": "ann", "orgs": {ORG: "write"}, "role": "read"},
    "hf_fine": {"name": "ann", "orgs": {ORG: "write"}, "role": "fineGrained"},
}
# One process for many: it sets the server's faults and its own token, then plans and pushes, once for each case.
CASES = """
import json, os, sys, time, urllib.request
wait = time.sleep
time.sleep = lambda seconds: wait(min(seconds, 0.001))  # the client waits 23 s before it gives up
from quadrag.errors import QuadragError
from quadrag.hub.push.plan import plan_push
from quadrag.hub.push.send import push
def ask(faults):
    body = json.dumps({"faults": faults}).encode()
    urllib.request.urlopen(urllib.request.Request(os.environ["HF_ENDPOINT"] + "/control", body, method="POST")).close()
said = []
for case in json.loads(sys.argv[1]):
    ask(case.get("faults", []))
    os.environ.pop("HF_TOKEN", None)
    if case.get("token"):
        os.environ["HF_TOKEN"] = case["token"]
    try:
        what = case.get("what", {"metrics": ["rgb_accuracy"]})
        made = plan_push(case.get("org", "quadrag-test"), **what, acting=not case.get("dry"))
        if case.get("meanwhile"):
            made.hub.api.upload_file(path_or_fileobj=b"x", path_in_repo="x", repo_id="quadrag-test/rgb_accuracy",
                                     repo_type="space")
        said.append(str(made.access) if case.get("dry") else [bool(one.commit) for one in push(made)])
    except QuadragError as error:
        said.append(str(error))
print(json.dumps(said))
"""


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer(TOKENS) as running:
        yield running


@pytest.fixture
def said(forked_python: Process, environment: Environment, hub: HubServer) -> Callable[..., list[Any]]:
    """A function from cases to what each came to: an error's line, or whether something was committed."""

    def run(cases: list[dict[str, Any]]) -> list[Any]:
        done = forked_python(CASES, json.dumps(cases), env=environment(**hub.environment()))
        assert done.returncode == 0, done.stderr
        assert done.stderr == "", "the client is quiet"
        told = json.loads(done.stdout)
        for one in told:
            assert "\n" not in str(one)
            assert len(str(one)) < 500
        assert not any(token in done.stdout for token in TOKENS)
        return list(told)

    return run


def test_who_may_not_write_is_told_before_anything_is(said: Callable[..., list[Any]], hub: HubServer) -> None:
    log_in = "set HF_TOKEN, or run `hf auth login`"
    cases = {
        None: f"nothing can be pushed to {ORG}: there is no token: {log_in}",
        "hf_read": f"nothing can be pushed to {ORG}: bob can only read in {ORG}: ask there for the role write",
        "hf_weak": f"nothing can be pushed to {ORG}: the token of ann can only read: take one with write access to"
        f" {ORG}",
        "hf_other": f"nothing can be pushed to {ORG}: eve is no member of {ORG}: take a token of a member with write"
        " access",
        "hf_refused": f"asking who the token belongs to at {hub.url}: the Hub answered 401 (Invalid credentials in"
        f" Authorization header); HF_TOKEN is refused: take a valid one ({log_in})",
    }
    told = said([{"token": token} for token in cases])
    assert told == list(cases.values())
    absent = f"there is no organisation or user 'nobody' at {hub.url}; create it there, or correct the name"
    told = said([{"token": token, "org": "nobody", "dry": True} for token in (None, "hf_write")])
    assert told == [absent, absent]
    assert not any(method in ("POST", "PUT") for method, path in hub.requests)


def test_a_plan_says_whether_the_token_could_write(said: Callable[..., list[Any]]) -> None:
    tokens = ["hf_write", "hf_read", "hf_contribute", "hf_fine", None]
    told = said([{"token": token, "dry": True} for token in tokens])
    assert [re.search("may=(True|False|None)", one)[1] for one in told] == ["True", "False", "None", "None", "False"]  # type: ignore[index]
    busy = [{"action": "status", "status": 429, "match": "whoami", "headers": {"Retry-After": "9"}}]
    told = said(
        [
            {"token": "hf_write", "dry": True, "org": "ann"},
            {"token": "hf_contribute"},
            {"token": "hf_write", "faults": busy, "dry": True},
        ]
    )
    why = "the Hub answered 429 when asked who the token belongs to"
    assert told == [
        "Access(user='ann', may=True, why='its own namespace')",
        [True],
        f"Access(user=None, may=None, why='{why}')",
    ]


def test_failures_of_the_hub_are_one_line_and_the_next_run_finishes(
    said: Callable[..., list[Any]], hub: HubServer
) -> None:
    def status(number: int, match: str, **more: Any) -> dict[str, Any]:
        return {"action": "status", "status": number, "match": match, **more}

    def drop(match: str, action: str = "drop") -> dict[str, Any]:
        return {"action": action, "match": match}

    repo, again = f"{ORG}/rgb_accuracy", "run the same command again"
    lost = rf"the connection was lost \(.+\); what arrived is kept: {again}"
    info, commit = "GET /api/spaces/", "POST /api/spaces/.*/commit/"
    cases: list[tuple[dict[str, Any], str]] = [
        (drop("GET /api/whoami"), rf"asking who the token belongs to at {hub.url}: {lost}"),
        *(
            (
                status(200, "GET /api/whoami", body=body),
                f"asking who the token belongs to at {hub.url}: the answer cannot be used"
                rf" \(it does not say whose the token is\); check HF_ENDPOINT, then {again}",
            )
            for body in ([1], "hello", {"orgs": []}, {"name": "ann", "orgs": ["x"]}, {"name": "ann", "auth": 5})
        ),
        (drop(info), f"reading {repo}: {lost}"),
        (drop(info, "truncate"), rf"reading {repo}: (the connection was lost|the answer cannot be used) \(.*{again}"),
        (
            status(200, info, body="please log in to this network"),
            rf"reading {repo}: the answer cannot be used \(.+\); check HF_ENDPOINT, then {again}",
        ),
        (
            status(500, info),
            rf"reading {repo}: the Hub answered 500 \(injected 500\); what arrived is kept: {again} la",
        ),
        (
            status(429, info, headers={"Retry-After": "30"}),
            rf"reading {repo}: the Hub answered 429 \(injected 429\); wait 30 s, then {again}",
        ),
        (
            status(
                429, info, headers={"RateLimit": '"api";r=0;t=55', "RateLimit-Policy": '"fixed window";"api";q=1;w=300'}
            ),
            rf"reading {repo}: the Hub answered 429 \(injected 429\); wait 55 s, then {again}",
        ),
        (
            status(400, info, body={"error": "no good:\nhf_write"}),
            rf"reading {repo}: the Hub answered 400 \(no good: \*\*\*\); correct what it names",
        ),
        (
            status(403, "POST /api/repos/create"),
            rf"creating {repo}: the Hub answered 403 \(injected 403\); HF_TOKEN may not do that: take one with write",
        ),
        (
            # One that this token cannot see is absent until its name is asked for.
            status(409, "POST /api/repos/create", body={"error": "You already created this space repo"}),
            rf"creating {repo}: the Hub answered 409 \(You already created this space repo\); the name is taken, by"
            f" another push a moment ago or by a repository that HF_TOKEN cannot see: {again}, or take another organ",
        ),
        (
            status(402, "POST /api/repos/create", body={"error": "Payment required"}),
            rf"creating {repo}: the Hub answered 402 \(Payment required\); correct what it names",
        ),
        (drop("POST /api/repos/create"), f"creating {repo}: {lost}"),
        # From here on the repository is there, without a file of ours.
        (drop("POST /api/repos/create", "lose"), f"creating {repo}: {lost}"),
        (drop("/preupload/"), rf"sending \S+ to {repo}: {lost}"),
        (status(503, "/preupload/"), rf"sending \S+ to {repo}: the Hub answered 503 .*{again} later"),
        (drop(commit), f"committing to {repo}: {lost}"),
        (status(504, commit), rf"committing to {repo}: the Hub answered 504 .*{again} later"),
        (
            status(400, "POST /api/validate-yaml", body={"errors": [{"message": '"emoji" is bad'}]}),
            rf'committing to {repo}: .*"emoji" is bad',
        ),
    ]
    told = said([{"token": "hf_write", "faults": [fault]} for fault, _ in cases])
    for one, (fault, expected) in zip(told, cases, strict=True):
        assert re.match(expected, str(one)), f"{fault}: {one}"
    there = hub.repos["space", repo]
    assert len(there.commits) == 1

    # The answer of a commit is lost, but not the commit.
    told = said([{"token": "hf_write", "faults": [drop(commit, "lose")]}, {"token": "hf_write"}])
    assert re.fullmatch(f"committing to {repo}: {lost}", told[0])
    assert told[1] == [False]
    assert len(there.commits) == 2
    # A change between plan and push is seen, and what it brought is kept.
    there.put({"README.md": b"---\nsdk: gradio\n---\nof another\n"})
    told = said([{"token": "hf_write", "meanwhile": True}, {"token": "hf_write"}])
    assert told == [
        f"committing to {repo}: the Hub answered 412 (A commit has happened since. Please refresh and try again.);"
        f" somebody changed it meanwhile: {again}",
        [True],
    ]
    folder = catalogue.metric_folder("rgb_accuracy")
    names = {path.name for path in folder.iterdir() if path.is_file()}
    assert set(there.files) == {".gitattributes", ".quadrag.json", "x", *names}
    assert there.files["app.py"] == (folder / "app.py").read_bytes()


def test_an_upload_that_is_acknowledged_and_not_there_is_seen(said: Callable[..., list[Any]], hub: HubServer) -> None:
    lie = {"token": "hf_write", "what": {"benchmarks": ["crag"], "data_dir": "sample"}}
    faults = [{"action": "lie", "match": "PUT /lfs/", "times": 1}]
    told = said([{**lie, "faults": faults}, lie])
    assert re.match(rf"sending \S+ to {ORG}/crag: the Hub answered 404 \(Object ", told[0])
    hub.verify = False
    told[0] = said([{**lie, "what": {**lie["what"], "metrics": []}, "faults": faults}])[0]
    assert told == [[False], [True]]


def test_a_hub_that_cannot_be_asked_is_one_line(
    forked_python: Process, environment: Environment, hub: HubServer
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{unused.getsockname()[1]}"
        code = CASES.replace("    ask(", "    (lambda faults: None)(")
        for changes, expected in [
            ({"HF_ENDPOINT": dead}, f"looking up {ORG}: no connection (Connection refused); check the network and"),
            (
                {"HF_ENDPOINT": "hub.local"},
                "HF_ENDPOINT is 'hub.local'; expected http://HOST or https://HOST, or leave",
            ),
            ({"HF_ENDPOINT": "http://[::1"}, "HF_ENDPOINT is 'http://[::1'; expected http://HOST or https://HOST, or"),
            (
                {"HF_ENDPOINT": dead.replace("//", "//ann:secret@")},
                f"HF_ENDPOINT has a user name or a password in it, and the Hub takes a token; expected {dead}, and set",
            ),
            (
                {"HF_ENDPOINT": "ann:secret@hub.local"},
                "HF_ENDPOINT is '***@hub.local'; expected http://HOST or https://HOST, or leave it out",
            ),
            ({"HF_HUB_OFFLINE": "1"}, f"looking up {ORG}: HF_HUB_OFFLINE is set, so the Hub is not asked; unset it"),
        ]:
            env = environment(**{**hub.environment(), **changes})
            done = forked_python(code, json.dumps([{"dry": True}]), env=env)
            assert (done.returncode, done.stderr) == (0, ""), done.stderr
            assert json.loads(done.stdout)[0].startswith(expected)
    assert hub.requests == []


def test_other_servers_are_asked_for_lfs_alone_and_not_for_ever(
    forked_python: Process, environment: Environment, hub: HubServer
) -> None:
    """The client reads HF_HUB_DISABLE_XET once, and has no limit of time of its own."""
    code = """
import datasets, errno, json, os
from quadrag.hub import client as hub
from quadrag.errors import QuadragError
from huggingface_hub import constants
hub.Hub(endpoint="https://huggingface.co")
assert not constants.HF_HUB_DISABLE_XET and "HF_HUB_DISABLE_XET" not in os.environ
mine = hub.Hub(token="hf_write")
assert constants.HF_HUB_DISABLE_XET and "hf_write" not in repr(mine) and mine.endpoint == os.environ["HF_ENDPOINT"]
hub._SECONDS.update(read=0.2)
try:
    with hub.hub_errors("reading", "O/N"):
        mine.api.repo_info("O/N", repo_type="dataset")
except QuadragError as error:
    print(error)
try:
    with hub.hub_errors("sending c/s to", "O/N"):
        mine.api.upload_file(path_or_fileobj=open("absent", "rb"), path_in_repo="c/s", repo_id="O/N")
except QuadragError as error:
    print(error)
for wrong in (OSError(errno.ENOSPC, "No space left on device"), FileNotFoundError(errno.ENOENT, "No usable folder")):
    try:
        with hub.hub_errors("reading", "O/N"):
            raise wrong
    except QuadragError as error:
        print(error)
try:
    hub.Hub(token="hf_wr\u00eft\u00e9")
except QuadragError as error:
    print(error)
try:
    with hub.hub_errors("reading", "O/N"):
        {}["a slip of ours"]
except KeyError:
    print("KeyError")
"""
    hub.faults = [Fault("stall", match="GET /api/datasets")]
    done = forked_python(code, env=environment(**{**hub.environment(), "HF_HUB_DISABLE_XET": None}))
    assert done.returncode == 0, done.stderr
    line, absent, full, lacking, sign, slip = done.stdout.splitlines()
    assert full == "reading O/N: No space left on device (on this machine); run the same command again"
    assert lacking == "reading O/N: No usable folder (on this machine); run the same command again"
    assert sign == "the token has a sign in it that no token has; set HF_TOKEN, or run `hf auth login`"
    assert absent == "sending c/s to O/N: No such file or directory (absent); run the same command again"
    assert re.fullmatch(
        r"reading O/N: no answer in 0\.2 s \(.+\); what arrived is kept: run the same command again", line
    )
    assert slip == "KeyError"
