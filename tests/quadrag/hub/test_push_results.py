"""Results to a model's repository: what runs give, what is refused, what the genuine client sends and reads back."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
from dataclasses import asdict

import pytest
import yaml
from chat_server import ChatServer
from hub_server import Fault, HubServer

from quadrag import catalogue
from quadrag.cli import main
from quadrag.data.files import UPSTREAM_SOURCE, sample_dir
from quadrag.errors import QuadragError
from quadrag.hub.results.notes import hide_places, in_unit, same_model
from quadrag.hub.results.plan import plan_results
from quadrag.hub.results.tasks import write_eval_yaml

ORG, MODEL = "quadrag-test", "ann/model"
TOKENS = {"hf_ann": {"name": "ann", "orgs": {}}, "hf_bob": {"name": "bob", "orgs": {}}}
RGB, CRAG = ".eval_results/quadrag-rgb.yaml", ".eval_results/quadrag-crag-none.yaml"

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


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs of the real pipeline on files in upstream's layout, by name; none is on upstream's own."""
    root = tmp_path_factory.mktemp("runs")
    for benchmark in ("rgb", "crag", "crud_rag"):
        shutil.copytree(sample_dir(benchmark), root / "data" / benchmark)
    with ChatServer(models=[MODEL, "another"]) as server:

        def run(out, benchmark, *arguments):
            place = ["--out", root / out, "--data-dir", root / "data" / benchmark, "--ledger", root / "ledger.sqlite"]
            llm = ["--llm", f"{server.url}#{MODEL}"]
            assert main([str(each) for each in ("run", benchmark, *arguments, *llm, *place)]) == 0

        run("noise", "rgb", "noise_robustness_en", "--split", "noise_40")
        run("all/noise", "rgb", "noise_robustness_en", "--split", "noise_0")
        run("all/rejection", "rgb", "negative_rejection_zh", "--samples", "2")
        run("all/none", "rgb", "counterfactual_robustness_en", "--retriever", "none")
        run("limited", "rgb", "noise_robustness_zh", "--split", "noise_0", "--limit", "3")
        run("summary", "crud_rag", "summary", "--retriever", "bm25", "--top-k", "4")
        run("crag", "crag", "task_1_2", "--retriever", "none", "--judge", f"{server.url}#another")
        run("unjudged", "crag", "task_3", "--retriever", "none")
    return root


@pytest.fixture
def copied(runs, tmp_path):
    """A function that copies a run and changes its run.json."""

    def copy(name="noise", change=lambda info: None):
        folder = tmp_path / "copied" / name
        shutil.copytree(runs / name, folder)
        info = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        del info["sum"]  # as of a version that kept none
        change(info)
        (folder / "run.json").write_text(json.dumps(info), encoding="utf-8")
        return folder

    return copy


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


def plan(*runs, model=MODEL, **options):
    return plan_results(ORG, model, runs, **{"accept_data": True, **options})


def scores_of(folder):
    rows = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    return {
        (row["split"], f"{row['metric']}.{row['key']}", row["profile"]): row for row in rows if row["slice"] == "all"
    }


@pytest.mark.slow
def test_an_entry_bears_the_official_value_in_percent_and_how_it_came_about(runs):
    (result,) = plan(runs / "noise").results
    row = scores_of(runs / "noise")["noise_40", "rgb_accuracy.accuracy", "official"]
    info = json.loads((runs / "noise" / "run.json").read_text(encoding="utf-8"))
    assert result.path == RGB
    assert (result.entry.dataset_id, result.entry.task_id) == (f"{ORG}/rgb", "noise_robustness_en_noise_40")
    assert result.entry.value == round(100 * row["value"], 2)
    assert result.entry.date == info["started"]
    assert result.entry.dataset_revision is None
    notes = result.entry.notes
    low, high = (round(100 * bound, 2) for bound in row["interval"])
    for part in (
        "NOT COMPARABLE: other files than upstream's pinned ones",
        "rgb_accuracy.accuracy, profile official, percent",
        f"95% interval {low} to {high}",
        f"{row['n_total']} answers, {row['n_scored']} scored, 0 unscored",
        "profile corrected ",
        "retriever own",
        "judge none",
        "asked with temperature 0.2, samples 1",
        f"prompts sha256 {info['inputs']['prompts']}",
        "data: en_refine.json: not upstream's pinned file",
        "accuracy_bounded ",
        f"quadrag {info['inputs']['quadrag']}",
        f"signature {row['signature']}",
    ):
        assert part in notes
    assert str(runs) not in notes
    assert "\n" not in notes


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (UPSTREAM_SOURCE, UPSTREAM_SOURCE),
        ("/data/RGB (upstream's pinned files)", "upstream's pinned files"),
        ("/data/RGB (upstream's pinned files), as prepared", "upstream's pinned files"),
        ("~/a; corpus: /b (48 files)", "48 files"),
        ("", "not named"),
    ],
)
def test_upstreams_own_files_need_no_leave(copied, source, shown):
    # Whole upstream files are not at hand; what a run says of them is.
    (result,) = plan(copied(change=lambda info: info.update(source=source)), accept_data=False).results
    assert result.entry.notes.startswith("rgb_accuracy.accuracy, profile official, percent; 95% interval ")
    assert f"; data: {shown}; " in result.entry.notes


def test_a_folder_of_runs_gives_the_results_of_all_in_the_order_of_the_tasks(runs):
    planned = plan(runs / "all", runs / "noise", source="https://example.org/runs")
    assert [one.task.id for one in planned.results] == [
        "noise_robustness_en_noise_0",
        "noise_robustness_en_noise_40",
        "negative_rejection_zh",
    ]
    assert list(planned.files) == [RGB]
    assert planned.left_out == [
        f"{runs / 'all' / 'none'}: retriever none, and rgb asks about the documents of its questions"
    ]
    assert {one.entry.source_url for one in planned.results} == {"https://example.org/runs"}
    assert "samples 2" in planned.results[2].entry.notes
    assert "24 answers" in planned.results[2].entry.notes
    # A folder that is named twice is one folder.
    assert len(plan(runs / "all", runs / "all" / "noise").results) == 2


def test_another_way_to_find_passages_has_a_file_of_its_own(runs):
    planned = plan(runs / "crag", runs / "summary", runs / "unjudged")
    assert list(planned.files) == [CRAG, ".eval_results/quadrag-crud_rag.yaml"]
    truth, rouge = planned.results
    assert truth.entry.value == in_unit(
        scores_of(runs / "crag")["public", "truthfulness.truthfulness", "official"]["value"], percent=True
    )
    assert "judge another" in truth.entry.notes
    assert "retriever none" in truth.entry.notes
    assert rouge.entry.task_id == "summary"
    assert "retriever bm25 (tokenizer unigram, chunk_size 128, chunk_overlap 0, top_k 4)" in rouge.entry.notes
    assert planned.left_out == [f"{runs / 'unjudged'}: task_3 public has no truthfulness.truthfulness (no judge)"]
    with pytest.raises(QuadragError, match=r"^there is no value of a task: .*unjudged: .*\(no judge\)$"):
        plan(runs / "unjudged")


def test_a_file_of_answers_is_told_from_a_run(runs, tmp_path):
    answers = tmp_path / "answers.jsonl"
    shutil.copy(runs / "noise" / "answers.jsonl", answers)
    place = ["--data-dir", runs / "data" / "rgb", "--out", tmp_path / "scored"]
    words = ("score", answers, "--benchmark", "rgb", "--config", "noise_robustness_en", "--split", "noise_40", *place)
    assert main([str(word) for word in words]) == 0
    with pytest.raises(QuadragError, match=r"asked 'answers', not ann/model; .* or give --accept-name"):
        plan(tmp_path / "scored")
    (result,) = plan(tmp_path / "scored", accept_name=True).results
    assert "asked as answers, samples 1" in result.entry.notes
    assert result.entry.date is None
    assert result.entry.value == plan(runs / "noise").results[0].entry.value


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("noise", "other files than upstream's pinned ones; these are not the benchmark's own questions"),
        ("limited", "--limit 3; other files"),
        ("summary", "other files than upstream's pinned ones; a part of the files; these"),
        ("data", "holds no run.json; expected the folder of a run"),
    ],
)
def test_runs_that_are_no_result_of_the_model_are_refused_in_one_line(runs, name, said):
    with pytest.raises(QuadragError) as error:
        plan(runs / name, accept_data=False)
    assert str(error.value).startswith(str(runs / name))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def change(**entries):
    return lambda info: info.update(entries)


def change_inputs(**entries):
    return lambda info: info["inputs"].update(entries)


def test_what_is_accepted_is_said_in_the_notes(runs, copied):
    (limited,) = plan(runs / "limited").results
    assert limited.entry.notes.startswith("NOT COMPARABLE: --limit 3, other files than")
    folder = copied(change=change_inputs(options={"passage_num": 3}, llm="/srv/models/it"))
    with pytest.raises(QuadragError, match=r"option passage_num=3; other files than .*; these are not"):
        plan(folder, accept_data=False, accept_name=True)
    with pytest.raises(QuadragError, match=r"asked '/srv/models/it', not ann/model; .*--accept-name"):
        plan(folder)
    (other,) = plan(folder, accept_name=True).results
    assert other.entry.notes.startswith("NOT COMPARABLE: option passage_num=3, other files than")
    assert "asked as it with temperature 0.2" in other.entry.notes


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (change_inputs(llm="extractive"), "was answered by the extractive baseline, which is no model; run with --llm"),
        (change(state="stopped", stopped="the budget is spent"), "is not finished (the budget is spent); run the same"),
        (change(state="running"), "is not finished (running); run the same command again"),
        (change(source="bundled sample"), "bundled sample, whose questions are made up; run on real data"),
        (change(given=["answers.jsonl"]), "answers.jsonl of"),
        (change(inputs=3), "run.json is damaged"),
        (change(files=[]), "run.json is damaged"),
        (
            change(files={"retrieved.jsonl": "0" * 64}),
            "scores.json is not as the run wrote it; remove it and run again",
        ),
        (change(given=5), "run.json is damaged"),
        (change(started=5), "run.json is damaged"),
        (change_inputs(options=[1]), "run.json is damaged"),
        (change_inputs(retrieval="bm25"), "run.json is damaged"),
        (change_inputs(parameters=[1]), "run.json is damaged"),
        (change_inputs(benchmark="rgp"), "unknown benchmark 'rgp'; nearest: rgb"),
        (change_inputs(config="noise_robustness"), "unknown config of rgb 'noise_robustness'; nearest: noise_"),
        (change_inputs(config="negative_rejection_en"), "unknown split in"),
    ],
)
def test_a_run_that_is_not_whole_is_refused_in_one_line(copied, changed, said):
    with pytest.raises(QuadragError) as error:
        plan(copied(change=changed))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


NO_VALUE = '[{"slice": "all", "metric": "m", "split": "s", "key": "k", "profile": "p", "value": "high", "n_total": 1,\
 "signature": ""}]'


@pytest.mark.parametrize("text", ["", "[", "{}", "[1]", '[{"slice": "all"}]', "null", NO_VALUE])
def test_broken_scores_are_refused(copied, text):
    folder = copied()
    (folder / "scores.json").write_text(text)
    with pytest.raises(QuadragError, match=r"has no readable scores.json|is not as the run wrote it"):
        plan(folder)
    if text == NO_VALUE:  # also where no sum would tell
        (folder / "run.json").write_text(json.dumps({**json.loads((folder / "run.json").read_text()), "files": {}}))
        with pytest.raises(QuadragError, match=r"has no readable scores.json"):
            plan(folder)
    (folder / "run.json").write_text(text)
    with pytest.raises(QuadragError, match=r"run.json is damaged"):
        plan(folder)


def test_scores_edited_by_hand_and_unknown_metrics_are_refused(copied):
    folder = copied()
    path = folder / "scores.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"rgb_accuracy"', '"rgb_accurate"'), encoding="utf-8")
    with pytest.raises(QuadragError, match=r"scores.json is not as the run wrote it; remove it and run again"):
        plan(folder)
    info = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    info["files"]["scores.json"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "run.json").write_text(json.dumps(info), encoding="utf-8")
    with pytest.raises(QuadragError, match=r"unknown metric in .* 'rgb_accurate'; nearest: rgb_accuracy"):
        plan(folder)


def test_two_runs_of_one_task_are_refused(runs, copied):
    with pytest.raises(QuadragError, match=r"both runs of rgb noise_robustness_en noise_40 with the same retriever"):
        plan(runs / "noise", copied())


@pytest.mark.parametrize(
    ("org", "model"), [("a/b", MODEL), ("", MODEL), (ORG, "a/b/c"), (ORG, "ann/"), (ORG, "../m"), (ORG, "ann/mü")]
)
def test_names_that_the_hub_cannot_have_are_refused(runs, org, model):
    with pytest.raises(QuadragError, match=r"is no (name|model) on the Hub; expected"):
        plan_results(org, model, [runs / "noise"])


def test_a_source_is_a_web_address(runs):
    with pytest.raises(QuadragError, match=r"^the source 'runs/a' is no web address; expected https://"):
        plan(runs / "noise", source="runs/a")


@pytest.mark.pure
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--results", ""], "'' is no model on the Hub; expected OWNER/NAME"),
        (["--results", "", "--run", "runs/a"], "'' is no model on the Hub; expected OWNER/NAME"),
        (["--results", MODEL], "--results needs the runs; give --run DIR"),
        (["--results", MODEL, "--private"], "--private is not for --results; leave it out"),
        (["--run", "runs/a"], "--run is only for --results; leave it out"),
    ],
)
def test_a_name_that_came_out_empty_pushes_nothing_else(words, said, capsys):
    """As of a shell's variable that is not set: not all of the benchmarks in its place."""
    assert main(["push", ORG, *words, "--yes"]) == 2
    assert capsys.readouterr().err == f"quadrag: {said}\n"


@pytest.mark.pure
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("asked as /home/ann/models/Qwen", "asked as Qwen"),
        ("x|judge:/data/m/judge|tokenizer:~/t", "x|judge:judge|tokenizer:t"),
        ("mean(/a/b+../c/d)", "mean(b+d)"),
        ("C:\\Users\\ann\\kg.sqlite x", "kg.sqlite x"),
        ("Qwen/Qwen2.5-7B at https://example.org/a/b, 1/2", "Qwen/Qwen2.5-7B at https://example.org/a/b, 1/2"),
    ],
)
def test_places_on_the_users_machine_are_not_told(text, shown):
    assert hide_places(text) == shown


def test_a_place_with_blanks_in_it_is_not_told_either(copied):
    place = "/home/ann smith/my models/bge (1)/it"
    folder = copied(change=change_inputs(llm=place, retrieval={"embedding": place, "top_k": 4}))
    (result,) = plan(folder, accept_name=True).results
    assert "retriever own (embedding it, top_k 4); judge none; asked as it with" in result.entry.notes
    assert not any(word in result.entry.notes for word in ("home", "smith", "models", "bge"))


@pytest.mark.pure
def test_a_model_is_known_by_its_name_alone():
    assert same_model("Qwen/Qwen3-8B", "qwen/qwen3-8b")
    assert same_model("Qwen/Qwen3-8B:together", "Qwen/Qwen3-8B")
    assert same_model("Qwen/Qwen3-8B@0123abc", "Qwen/Qwen3-8B")
    assert not same_model("Qwen/Qwen3-8B-Base", "Qwen/Qwen3-8B")
    assert not same_model("Qwen3-8B", "Qwen/Qwen3-8B")
    assert (in_unit(1 / 3, True), in_unit(1 / 3, False), str(in_unit(-0.00001, True))) == (33.33, 0.3333, "0.0")


def test_every_benchmark_has_tasks_that_results_can_name(runs):
    # What stands in eval.yaml under an id is what an entry names.
    for result in plan(runs / "all", runs / "crag", runs / "summary").results:
        tasks = yaml.safe_load(write_eval_yaml(result.benchmark, ORG) or "")["tasks"]
        assert {"id": result.task.id, "config": result.task.config, "split": result.task.split} in tasks
    assert set(catalogue.benchmarks()) == {"rgb", "crag", "crud_rag", "omnieval"}


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
