"""Results to a model's repository: what the genuine client sends, reads back, and is refused."""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict

import pytest
import yaml
from hub_server import Fault, HubServer
from result_runs import CRAG, MODEL, ORG, RGB, plan

TOKENS = {"hf_ann": {"name": "ann", "orgs": {}}, "hf_bob": {"name": "bob", "orgs": {}}}
# What a command does with a plan, and what came of it. The plan comes made: making it takes `datasets`.
PUSH = """
import json, pickle, sys
from quadrag.errors import QuadragError
from quadrag.hub.client import Hub
from quadrag.hub.results.pull_request import compare_results, push_results
for act, file in zip(sys.argv[1::2], sys.argv[2::2]):
    plan, hub = pickle.load(open(file, "rb")), Hub()
    try:
        if act == "push":
            done = push_results(plan, hub)
            print(json.dumps([done.url, done.opened, done.describe()]))
        else:
            changes = compare_results(plan, hub).changes
            print(json.dumps([[each.path, each.changed, each.diff, each.after] for each in changes]))
    except QuadragError as error:
        print(error, file=sys.stderr)
"""
READ_BACK = """
import json, sys, yaml
from dataclasses import asdict
from huggingface_hub import hf_hub_download, parse_eval_result_entries
for path in sys.argv[2:]:
    text = open(hf_hub_download(sys.argv[1], path, revision="refs/pr/1"), encoding="utf-8").read()
    print(json.dumps([asdict(entry) for entry in parse_eval_result_entries(yaml.safe_load(text))]))
"""


@pytest.fixture
def hub():
    with HubServer(TOKENS) as running:
        running.add("model", MODEL, {"README.md": b"# model\n"})
        yield running


@pytest.fixture
def client(forked_python, environment, hub):
    """A function that runs a client's code with a token."""

    def run(code, *arguments, token="hf_bob", **changes):
        return forked_python(code, *arguments, env=environment(**{**hub.environment(token), **changes}))

    return run


@pytest.fixture
def push(client, tmp_path):
    """A function that pushes plans, or looks what they would change, one after the other in one process.

    It returns what came of each, in place of a result the line of its error.
    """

    def run(*plans, act="push", **options):
        words = []
        for at, planned in enumerate(plans):
            (tmp_path / f"{at}.plan").write_bytes(pickle.dumps(planned))
            words += [act, tmp_path / f"{at}.plan"]
        done = client(PUSH, *words, **options)
        assert done.returncode == 0, done.stderr
        said = [json.loads(line) for line in done.stdout.splitlines()] + done.stderr.splitlines()
        assert len(said) == len(plans), said
        assert "hf_bob" not in done.stdout + done.stderr
        return said

    return run


@pytest.mark.slow
def test_a_pull_request_is_opened_once_and_read_back_by_the_client(runs, hub, client, push):
    both, part, other = plan(runs / "all", runs / "crag"), plan(runs / "crag"), plan(runs / "all", runs / "noise")
    url = f"{hub.url}/{MODEL}/discussions/1"
    # The same again, or a part of it, is open already.
    standing = [url, False, f"{url} is open already with the same results"]
    assert push(both, both, part) == [[url, True, f"opened {url}"], standing, standing]
    repo = hub.repos["model", MODEL]
    (opened,) = repo.pull_requests
    assert (opened.title, opened.author, opened.status) == ("Evaluation results: crag, rgb", "bob", "open")
    assert f"- `{ORG}/rgb` `noise_robustness_en_noise_0`: " in opened.description
    assert set(repo.files) == {".gitattributes", "README.md"}
    assert set(repo.files_at("refs/pr/1")) == {*repo.files, RGB, CRAG}
    read = client(READ_BACK, MODEL, *both.files).stdout.splitlines()
    assert [json.loads(line) for line in read] == [list(map(asdict, entries)) for entries in both.files.values()]
    # Another user's is another's.
    assert push(part, token="hf_ann")[0][1] is True
    # Merged, it stands there, and other results of the same tasks are another pull request.
    repo.merge(1, "ann")
    assert push(both, other) == [
        [None, False, "the results stand there already; nothing to do"],
        [f"{hub.url}/{MODEL}/discussions/3", True, f"opened {hub.url}/{MODEL}/discussions/3"],
    ]


@pytest.mark.slow
def test_what_others_wrote_in_the_file_is_kept_and_the_dry_run_shows_the_change(runs, hub, push):
    others = """\
# by hand
- dataset: {id: cais/hle, task_id: hle}
  value: 20.9
  evaluation_framework: hle
  verifyToken: abc
- dataset: {id: quadrag-test/rgb, task_id: noise_robustness_en_noise_40}
  value: 1.5
- dataset: {id: quadrag-test/rgb, task_id: noise_robustness_en_noise_80}
  value: 2.5
  date: 2025-01-15
"""
    repo = hub.repos["model", MODEL]
    repo.put({RGB: others.encode()})
    before = repo.head
    hub.add("model", "ann/new")
    noise, new = plan(runs / "noise"), plan(runs / "noise", model="ann/new", accept_name=True)
    [(path, changed, diff, after)], [(_, _, whole, alone)] = push(noise, new, act="look", token=None)
    assert (path, changed, repo.head, repo.pull_requests) == (RGB, True, before, [])
    assert not any(method in ("POST", "PUT") for method, _ in hub.requests)
    assert "-  value: 1.5\n" in diff
    kept, ours, own = yaml.safe_load(after)
    assert [kept, own] == yaml.safe_load(others)[::2]
    entry = noise.results[0].entry
    assert (ours["value"], ours["notes"]) == (entry.value, entry.notes)
    # Where there is no file, the diff is the file.
    assert whole.startswith(f"--- /dev/null\n+++ {RGB}\n")
    assert "".join(line[1:] for line in whole.splitlines(keepends=True)[3:]) == alone
    assert push(noise)[0][1] is True
    assert repo.files_at("refs/pr/1")[RGB].decode() == after


def test_a_file_that_is_no_list_of_results_is_left_alone(runs, hub, push):
    texts = ["value: 3\n", "- 3\n", "- dataset: cais/hle\n", "\tno: [yaml", "- [a\n"]
    models = [f"ann/model-{at}" for at in range(len(texts))]
    for model, text in zip(models, texts, strict=True):
        hub.add("model", model, {RGB: text.encode()})
    said = push(*(plan(runs / "noise", model=model, accept_name=True) for model in models))
    assert said == [
        f"{RGB} of {model} is no list of results; mend or remove it there, then run again" for model in models
    ]
    assert all(not repo.pull_requests for repo in hub.repos.values())


@pytest.mark.slow
def test_what_the_hub_refuses_is_said_in_one_line(runs, hub, push):
    hub.add("model", "carl/secret", private=True)
    hub.add("model", "carl/gated", {RGB: b"[]"}, gated="manual")
    refusal = {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access to model carl/gated is restricted"}
    hub.faults.append(Fault("status", match="/carl/gated/resolve/", status=403, headers=refusal))
    models = ["ann/none", "carl/secret", "carl/gated", MODEL]
    plans = [plan(runs / "noise", model=model, accept_name=True) for model in models]
    hub.faults.append(Fault("status", match="GET /api/models/.*discussions", status=400, body={"error": "not now"}))
    none, secret, gated, broken = push(*plans)
    for said, model in ((none, "ann/none"), (secret, "carl/secret")):
        assert said.startswith(f"reading the results of {model}: the Hub answered 404")
        assert "it is not there, or private" in said
    assert gated == "carl/gated is gated, and its files are not shown to you; ask for access there"
    assert broken.startswith(f"looking for open pull requests on {MODEL}: the Hub answered 400")
    (no_token,) = push(plans[-1], token=None)
    assert no_token.startswith(f"opening a pull request on {MODEL}: there is no token")
    (wrong,) = push(plans[-1], token="hf_wrong")
    assert wrong.startswith(f"opening a pull request on {MODEL}: the Hub answered 401")
    assert "HF_TOKEN is refused" in wrong
    hub.faults = [Fault("status", match="GET /api/whoami", status=200, body=["ann"])]
    (other,) = push(plans[-1])
    assert other.startswith(f"opening a pull request on {MODEL}: the answer cannot be used (it does not say whose")
    (nobody,) = push(plans[-1], HF_ENDPOINT="http://127.0.0.1:9")
    assert nobody.startswith(f"opening a pull request on {MODEL}: no connection")
    assert all(not repo.pull_requests for repo in hub.repos.values())


@pytest.mark.slow
def test_the_command_offers_yes_only_where_there_is_something_to_do(runs, hub, client):
    code = """
import sys
from quadrag.cli import main
words = ["push", "quadrag-test", "--metric", "rgb_accuracy"]
assert [main(words), main([*words, "--yes"]), main(words)] == [0] * 3
words = ["push", "quadrag-test", "--results", "ann/model", "--run", sys.argv[1], "--accept-data"]
assert [main(words), main([*words, "--yes"])] == [0] * 2
"""
    hub.tokens["hf_bob"] = {"name": "bob", "orgs": {ORG: "write"}}
    done = client(code, runs / "noise")
    assert done.returncode == 0, done.stderr
    ends = [line for line in done.stdout.splitlines() if line.startswith("nothing ")]
    assert ends == [
        "nothing was written; the same command with --yes does this",
        "nothing to do",
        "nothing was sent; the same command with --yes opens the pull request",
    ]
    hub.repos["model", MODEL].merge(1, "ann")
    words = ["push", ORG, "--results", MODEL, "--run", runs / "noise", "--accept-data"]
    done = client("import sys; from quadrag.cli import main; main(sys.argv[1:])", *words)
    assert done.stdout.splitlines() == [f"{RGB}: the same stands there already", "nothing to do"]


def test_a_connection_lost_after_the_commit_leaves_one_pull_request(runs, hub, push):
    hub.faults.append(Fault("lose", match="POST /api/models/ann/model/commit/main", times=1))
    noise = plan(runs / "noise")
    said = push(noise, noise)
    assert len(hub.repos["model", MODEL].pull_requests) == 1
    url = f"{hub.url}/{MODEL}/discussions/1"
    # The second run finds what the first, which heard nothing, has opened.
    assert said[0] == [url, False, f"{url} is open already with the same results"]
    assert said[1].startswith(f"opening a pull request on {MODEL}: the connection was lost")
