"""`quadrag push` with the genuine client, against a Hub on this machine: what it says, writes, and leaves alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from exported import copy_sample
from hub_server import Fault, HubServer

from quadrag import catalogue
from quadrag.data.builders import SAMPLE, open_builder, rows
from quadrag.data.files import sample_dir
from quadrag.hub.export.manifest import MANIFEST

Process = Callable[..., "subprocess.CompletedProcess[str]"]
Environment = Callable[..., dict[str, str]]

TOKEN = "hf_" + "secret" * 5
ORG = "quadrag-test"
# One process for several steps, each a plan and, with `yes`, the push. The client waits 23 s in all before it gives up.
PUSH = """
import json, os, sys, time, urllib.request
wait = time.sleep
time.sleep = lambda seconds: wait(min(seconds, 0.01))
from pathlib import Path
from quadrag.errors import QuadragError
from quadrag.hub.export import card
from quadrag.hub.push.describe import describe_plan, describe_pushed
from quadrag.hub.push.plan import plan_push
from quadrag.hub.push.send import push
room, said = card.room, []
for step in json.loads(sys.argv[1]):
    yes, cards, token = step.pop("yes", False), step.pop("cards", None), step.pop("token")
    card.room = (lambda name: Path(cards)) if cards else room
    os.environ.pop("HF_TOKEN", None)
    if token:
        os.environ["HF_TOKEN"] = token
    if step.pop("clear", False):
        body = json.dumps({"clear": True}).encode()
        urllib.request.urlopen(urllib.request.Request(os.environ["HF_ENDPOINT"] + "/control", body)).close()
    out, error = [], None
    try:
        made = plan_push("quadrag-test", **step, acting=yes)
        out += describe_plan(made)
        out += ["", *describe_pushed(push(made))] if yes else []
    except QuadragError as raised:
        error = str(raised)
    said.append(["".join(f"{line}\\n" for line in out), error])
print(json.dumps(said))
"""
LOAD = """
import json, sys, evaluate
from datasets import disable_progress_bars, load_dataset
disable_progress_bars()
rows = load_dataset("quadrag-test/crud_rag", "qa_2doc", split="test")
assert list(load_dataset("quadrag-test/crud_rag", "qa_2doc", split="test", streaming=True)) == list(rows)
metric = evaluate.load("quadrag-test/ragquesteval")
cache = {"a": {"question": ["q1", "q2"], "answers": ["500", "173"]}}
def judge(requests):
    return ["问题 1\\n<response>\\n500\\n</response>\\n问题 2\\n<response>\\n无法推断\\n</response>"] * len(requests)
result = metric.compute(predictions=["x"], references=["y"], judge=judge, ids=["a"], question_cache=cache)
print(json.dumps([list(rows), result["precision"], result["recall"]]))
"""


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer({TOKEN: {"name": "ann", "orgs": {ORG: "write"}}}) as running:
        yield running


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which tests stage the samples; what one has staged the next finds."""
    return tmp_path_factory.mktemp("staged")


class Done(NamedTuple):
    """What the command would print, and the line of its error."""

    out: str
    error: str | None


Push = Callable[..., list[Done]]


@pytest.fixture
def push(forked_python: Process, environment: Environment, hub: HubServer, staged: Path) -> Push:
    """A function that does steps in a process of its own, each given by the options of a plan."""

    def run(*steps: dict[str, Any], code: str = PUSH, **changes: str) -> list[Done]:
        given = json.dumps([{"data_dir": SAMPLE, "token": TOKEN, **step} for step in steps])
        env = environment(**{**hub.environment(), "QUADRAG_CACHE": str(staged), **changes})
        done = forked_python(code, given, env=env)
        assert done.returncode == 0, done.stderr
        assert TOKEN not in done.stdout + done.stderr
        assert done.stderr == "", "the client is quiet"
        said = [Done(*each) for each in json.loads(done.stdout)]
        for each in said:
            assert max(map(len, each.out.splitlines()), default=0) <= 80
            assert "\n" not in (each.error or "")
        return said

    return run


def writes(hub: HubServer) -> list[str]:
    """What was asked of the Hub beside reading."""
    return [f"{method} {path}" for method, path in hub.requests if method not in ("GET", "HEAD")]


def files(hub: HubServer, kind: str, name: str) -> set[str]:
    return set(hub.repos[kind, f"{ORG}/{name}"].files) - {".gitattributes"}


@pytest.mark.slow
def test_a_plan_says_what_would_change_and_writes_nothing(push: Push, hub: HubServer) -> None:
    done, nobody = push({}, {"token": None, "metrics": ["rgb_accuracy"], "private": True})
    assert done.error is None
    said = done.out.splitlines()
    assert said[:2] == [f"quadrag-test on {hub.url}", "  token    ann may write there (role write)"]
    names = [f"dataset {ORG}/{name}" for name in catalogue.benchmarks()]
    names += [f"space {ORG}/{name}" for name in catalogue.metrics()]
    assert [line.partition(":")[0] for line in said if re.match("dataset|space", line)] == names
    assert said[-1].startswith(f"{len(names)} to create, 0 to change, 0 as they are to be; ")
    assert "  public; licence apache-2.0; the bundled sample, 384 rows" in said
    assert any("noise_robustness_en/*.parquet (5 files, " in line for line in said)
    # Without a token what is public can be read.
    assert nobody.error is None
    assert nobody.out.splitlines()[1] == "  token    there is no token: set HF_TOKEN, or run `hf auth login`"
    assert "  private; licence" in nobody.out
    assert (writes(hub), hub.repos) == ([], {})


@pytest.mark.slow
def test_what_was_pushed_loads_and_is_not_pushed_again(
    push: Push, hub: HubServer, forked_python: Process, environment: Environment
) -> None:
    what = {"benchmarks": ["crud_rag"], "metrics": ["ragquesteval"], "yes": True}
    done, again = push(what, {**what, "clear": True})
    assert (done.error, again.error) == (None, None)
    assert f"{hub.url}/datasets/{ORG}/crud_rag\n  created: " in done.out
    metric = {path.name for path in catalogue.metric_folder("ragquesteval").iterdir() if path.is_file()}
    assert files(hub, "space", "ragquesteval") == {*metric, MANIFEST}
    assert hub.repos["space", f"{ORG}/ragquesteval"].sdk == "gradio"
    # All of a repository in one commit, after the Hub's own first.
    assert [len(repo.commits) for repo in hub.repos.values()] == [2, 2]
    # The cards name the repositories that they stand in.
    for kind, name, line in [
        ("dataset", "crud_rag", f'load_dataset("{ORG}/crud_rag", "'),
        ("space", "ragquesteval", f'>>> metric = evaluate.load("{ORG}/ragquesteval")\n'),
    ]:
        card = hub.repos[kind, f"{ORG}/{name}"].files["README.md"].decode()
        assert line in card
        assert '"ORG/' not in card
    # The second run changed nothing.
    assert again.out.count("nothing to do") == 4
    assert again.out.count("\n  leave ") == 2
    assert writes(hub) == []

    builder, _ = open_builder("crud_rag", "qa_2doc", SAMPLE)
    expected = [list(rows(builder, "test")), 1.0, 0.5]
    others = [other] if (other := os.environ.get("QUADRAG_OTHER_PYTHON")) else []
    for executable in [{}, *({"executable": other} for other in others)]:
        loaded = forked_python(LOAD, env=environment(**hub.environment()), **executable)
        assert loaded.returncode == 0, loaded.stderr
        assert json.loads(loaded.stdout) == expected


@pytest.mark.pure
def test_a_new_card_updates_the_card_alone(push: Push, hub: HubServer, tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parents[3] / "hub_cards", tmp_path / "cards")
    card = tmp_path / "cards" / "crag.md"
    card.write_text(card.read_text(encoding="utf-8") + "\nOne line more.\n", encoding="utf-8")
    what = {"benchmarks": ["crag"], "yes": True}
    _, done = push(what, {**what, "cards": str(tmp_path / "cards"), "clear": True})
    assert done.error is None
    assert re.search(rf"\n  replace  {re.escape(MANIFEST)} \(\S+ kB\), README.md \(\S+ kB\)\n  leave", done.out)
    repo = hub.repos["dataset", f"{ORG}/crag"]
    assert repo.files["README.md"].endswith(b"\nOne line more.\n")
    assert not any("PUT" in one or "/lfs/" in one for one in writes(hub))
    assert len(repo.commits) == 3
    # The record is that of an export too: who has the repository's folder can go on with it.
    assert {"inputs", "splits", "files"} == set(json.loads(repo.files[MANIFEST]))


@pytest.mark.slow
def test_files_of_another_are_kept_and_our_own_go(push: Push, hub: HubServer, tmp_path: Path) -> None:
    mine = {"benchmarks": ["rgb"], "accept_licence": True, "yes": True}
    (done,) = push({**mine, "data_dir": copy_sample("rgb", tmp_path / "mine")})
    assert done.error is None
    repo = hub.repos["dataset", f"{ORG}/rgb"]
    before = set(repo.files)
    assert "noise_robustness_en/noise_0-00000-of-00001.parquet" in before
    assert "licence cc-by-nc-sa-4.0" in done.out
    edited = "negative_rejection_en/test-00000-of-00001.parquet"
    repo.put({"notes.md": b"of another", edited: b"edited", "README.md": b"---\nlicense: mit\n---\nby another hand\n"})

    (tmp_path / "part").mkdir()
    shutil.copy(sample_dir("rgb") / "zh_int.json", tmp_path / "part")
    part = {**mine, "data_dir": str(tmp_path / "part")}
    seen, done = push({**part, "yes": False}, part)
    assert done.error is None
    # The plan says the same before as when it is carried out.
    assert done.out.startswith(seen.out)
    assert "\n  keep     notes.md (not quadrag's)\n" in done.out
    assert f"\n  delete   {edited} (6 B) (put or\n           changed there by another)\n" in done.out
    assert re.search(r"  replace  README.md \(\S+ kB\) \(put or changed there by another\)\n", done.out)
    zh = {f"information_integration_zh/noise_{n}-00000-of-00001.parquet" for n in (0, 20, 40)}
    assert set(repo.files) == {".gitattributes", "notes.md", *zh, "README.md", "eval.yaml", MANIFEST}
    assert b"by another hand" not in repo.files["README.md"]
    assert set(re.findall(r"config: (\S+)", repo.files["eval.yaml"].decode())) == {"information_integration_zh"}


@pytest.mark.pure
def test_data_that_may_not_be_hosted_go_out_as_a_recipe(push: Push, hub: HubServer) -> None:
    (done,) = push({"data_dir": None, "benchmarks": ["omnieval", "crud_rag"], "yes": True})
    assert done.error is None
    for name in ("omnieval", "crud_rag"):
        assert files(hub, "dataset", name) == {"README.md", "eval.yaml", MANIFEST}
        card = hub.repos["dataset", f"{ORG}/{name}"].files["README.md"].decode()
        assert "quadrag prepare" in card
        assert f'load_dataset("{ORG}' not in card, "nothing can be loaded from here"
    assert "a card with the way to the data, which are not hosted again" in " ".join(done.out.split())


@pytest.mark.slow
def test_uploads_that_arrived_are_not_sent_again(push: Push, hub: HubServer) -> None:
    what = {"benchmarks": ["crud_rag"], "yes": True}
    hub.faults = [Fault("drop", match=r"PUT /lfs/\S+/[0-7]", after=2000)]
    (done,) = push(what)
    lost = rf"sending \S+ to {ORG}/crud_rag: the connection was lost \(.+\); what arrived is kept: run the same command"
    assert re.match(lost, str(done.error))
    repo = hub.repos["dataset", f"{ORG}/crud_rag"]
    assert set(repo.files) == {".gitattributes"}, "a reader sees nothing of it"
    arrived = set(repo.objects)
    # Now one is cut once, which the client mends by itself.
    hub.faults = [Fault("drop", match="PUT /lfs/", times=1, after=1000)]
    hub.clear()
    (done,) = push(what)
    assert done.error is None
    sent = {path.rpartition("/")[2] for method, path in hub.requests if method == "PUT"}
    assert sent == set(repo.objects) - arrived
    assert arrived, "some were not cut"
    assert sent, "some were"
    assert hub.faults[0].times == 0
    assert len(repo.files) == 2 + 20


@pytest.mark.slow
@pytest.mark.pure
def test_an_interrupted_push_goes_on(
    push: Push, hub: HubServer, environment: Environment, staged: Path, tmp_path: Path
) -> None:
    hub.faults = [Fault("stall", match="POST /api/spaces/.*/commit/")]
    env = environment(**hub.environment(TOKEN), QUADRAG_CACHE=str(staged))
    options = json.dumps([{"metrics": ["rgb_accuracy"], "yes": True, "token": TOKEN}])
    with subprocess.Popen(
        [sys.executable, "-c", PUSH, options], cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        limit = time.monotonic() + 60
        while not any("/commit/" in path for _, path in hub.requests) and time.monotonic() < limit:
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        _, told = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGINT
    assert b"KeyboardInterrupt" in told
    hub.faults = []
    assert len(hub.repos["space", f"{ORG}/rgb_accuracy"].commits) == 1
    # The repository is there with nothing but what the Hub itself put in.
    (done,) = push({"metrics": ["rgb_accuracy"], "yes": True})
    assert done.error is None
    assert "1 to change" in done.out
    assert "changed: " in done.out


@pytest.mark.pure
def test_a_name_that_is_anothers_is_left_alone(push: Push, hub: HubServer) -> None:
    no_sums = b'{"files": {"app.py": %s}}' % (b"1" * 40)
    hub.add("space", f"{ORG}/rgb_accuracy", {"app.py": b"print()\n", MANIFEST: no_sums})
    hub.add("dataset", f"{ORG}/rgb", {"README.md": b"---\nlicense: mit\n---\nmine\n"})
    # A record of some other kind makes it no push of ours.
    hub.add("space", f"{ORG}/rejection_rate", {MANIFEST: b"{}"})
    what = {"metrics": ["rgb_accuracy", "rejection_rate", "truthfulness"], "benchmarks": ["rgb"]}
    for done in push(what, {**what, "yes": True}):
        assert done == (
            "",
            f"name taken: dataset {ORG}/rgb, space {ORG}/rgb_accuracy, space {ORG}/rejection_rate on {hub.url}"
            " were not pushed by quadrag; rename or remove it there, or name other benchmarks, metrics or another"
            " organisation",
        )
    assert writes(hub) == []


@pytest.mark.pure
def test_licences_and_names_come_before_the_hub(push: Push, hub: HubServer, tmp_path: Path) -> None:
    licence, benchmark, metric = push(
        {"data_dir": copy_sample("rgb", tmp_path / "mine")}, {"benchmarks": ["rgbb"]}, {"metrics": ["rgb_acuracy"]}
    )
    assert licence.error == (
        "not for commercial use: crag (cc-by-nc-4.0), rgb (cc-by-nc-sa-4.0); with --accept-licence they go out under"
        " that licence, or name others by --benchmark and --metric"
    )
    assert str(benchmark.error).startswith("unknown benchmark 'rgbb'; nearest: rgb")
    assert str(metric.error).startswith("unknown metric 'rgb_acuracy'; nearest: rgb_acc")
    assert hub.requests == []


@pytest.mark.slow
@pytest.mark.pure
def test_no_room_to_stage_is_one_line(push: Push, hub: HubServer, tmp_path: Path) -> None:
    # A limit on the size of files fails a write as a full disk does.
    limited = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (9000, resource.RLIM_INFINITY))
""" + PUSH.replace("print(json", "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)\nprint(json")
    cache = str(tmp_path / "cache")
    what = {"benchmarks": ["crag"]}
    (done,) = push(what, code=limited, QUADRAG_CACHE=cache)
    assert done.error == (
        f"cannot stage crag in {cache}/hub/sample (File too large); make room there or name a folder in QUADRAG_CACHE,"
        " then run the same command again"
    )
    (done,) = push(what, QUADRAG_CACHE=cache)
    assert done.error is None
    # What was staged and then damaged is staged again; so is what was staged by another version.
    staged = tmp_path / "cache" / "hub" / "sample" / "crag"
    (staged / "README.md").unlink()
    (again,) = push(what, QUADRAG_CACHE=cache)
    assert again == done
    assert (staged / "README.md").is_file()
