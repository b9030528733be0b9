"""Whose the data of a run are, and that published numbers stand beside those alone that may be the authors'."""

import base64
import bz2
import csv
import hashlib
import json
from pathlib import Path

import pytest
from exported import copy_as_authors
from specs import spec_of

from quadrag import catalogue
from quadrag.benchmark import load
from quadrag.loading import load_questions
from quadrag.paths import room

pytestmark = pytest.mark.plugins

OWN = [
    {"id": at, "query": f"第{at}问？", "answer": [f"答{at}"], "positive": [f"答{at}。"] * 3, "negative": ["无关。"] * 4}
    for at in range(8)
]
NOISE = ("rgb", "noise_robustness_zh", "noise_60")  # beside which 87.67 chatgpt is printed


def put(folder, rows, name="zh_refine.json"):
    folder.mkdir(exist_ok=True)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def genuine(real_data, name="zh_refine.json"):
    lines = (real_data("RGB") / "data" / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def run(cli, folder, place=NOISE, out="r"):
    benchmark, config, split = place
    ran = cli("run", benchmark, config, "--split", split, "--data-dir", folder, "--out", out)
    assert ran.code == 0, ran.err
    record = json.loads(Path(out, "run.json").read_text(encoding="utf-8"))
    return record["provenance"], " ".join(ran.out.split())


def others(rows, **changes):
    return [{**row, **{name: change(row) for name, change in changes.items()}} for row in rows]


# What becomes of genuine rows, whose they then are, and how many of how many there are.
CASES = {
    "as they are": (lambda rows: rows, "partial", [(200, 300)]),
    "a few of them": (lambda rows: rows[40:47], "partial", [(7, 300)]),
    "in another order": (lambda rows: rows[::-1], "partial", [(200, 300)]),
    "nobody here has held": (lambda rows: others(rows[:100], id=lambda row: row["id"] + 200), "unverified", []),
    "with some that nobody has held": (
        lambda rows: [*rows[:50], *others(rows[50:100], id=lambda row: row["id"] + 200)],
        "unverified",
        [],
    ),
    "with another answer": (lambda rows: [*rows[1:], *others(rows[:1], answer=lambda row: ["别的"])], "own", []),
    "with another question": (lambda rows: others(rows, query=lambda row: row["query"] + "请"), "own", []),
    "their ids alone": (lambda rows: OWN, "own", []),
    "ids of one's own": (lambda rows: others(OWN, id=lambda row: row["id"] + 1000), "own", []),
    "more than there are": (lambda rows: [{**OWN[0], "id": 1000 + at} for at in range(320)], "own", []),
}


@pytest.mark.parametrize(("change", "whose", "held"), CASES.values(), ids=CASES)
def test_rows_tell_whose_they_are_where_the_file_is_not_the_authors(cli, tmp_path, real_data, change, whose, held):
    found, shown = run(cli, put(tmp_path / "data", change(genuine(real_data))))
    told = json.loads(Path("r/run.json").read_text("utf-8"))["held"]
    assert (found, [(part["done"], part["total"]) for part in told]) == (whose, held)
    assert ("87.67 chatgpt" in shown) == (whose != "own")


@pytest.mark.parametrize(
    ("kept", "change", "whose"),
    [
        (900, {}, "partial"),
        (8, {}, "partial"),
        (8, {"ID": "f" * 20}, "unverified"),  # behind it stands a number
        (8, {"ID": "own-"}, "own"),
        (8, {"summary": "别的摘要。"}, "own"),
    ],
)
def test_rows_of_a_file_whose_count_nobody_knows(cli, tmp_path, real_data, kept, change, whose):
    name = "data/crud_split/split_merged.json"
    rows = json.loads((real_data("CRUD_RAG") / name).read_text(encoding="utf-8"))["event_summary"][:kept]
    new = [{**row, **({"ID": f"{change['ID']}{at:04}"} if "ID" in change else change)} for at, row in enumerate(rows)]
    (tmp_path / "C" / name).parent.mkdir(parents=True)
    (tmp_path / "C" / name).write_text(json.dumps({"event_summary": new}, ensure_ascii=False), encoding="utf-8")
    asked = ("--retriever", "none", "--limit", "2", "--data-dir", tmp_path / "C", "--out", "r")
    assert cli("run", "crud_rag", "summary", *asked).code == 0
    assert json.loads(Path("r", "run.json").read_text("utf-8"))["provenance"] == whose


@pytest.mark.parametrize(
    ("ids", "whose"), [(None, "partial"), ("{}", "own"), ("3dbed55e-66a3-4dcd-907d-096f49387e4{}", "own")]
)
def test_questions_of_crag_by_their_ids(cli, tmp_path, real_data, ids, whose):
    name = "example_data/dev_data.jsonl.bz2"
    lines = bz2.decompress((real_data("CRAG") / name).read_bytes()).splitlines()
    rows = [json.loads(line) for line in lines]
    for at, row in enumerate(rows if ids else ()):
        row["interaction_id"] = ids.format(at)
        row["search_results"] = row["search_results"][:1]
    (tmp_path / "C" / name).parent.mkdir(parents=True)
    (tmp_path / "C" / name).write_bytes(bz2.compress("".join(f"{json.dumps(row)}\n" for row in rows).encode()))
    assert run(cli, tmp_path / "C", ("crag", "task_1_2", "public"))[0] == whose


def test_a_file_that_is_the_authors_by_its_sums_needs_no_digests(cli, tmp_path, monkeypatch):
    rows = [{**OWN[0], "id": at} for at in range(300)]
    folder = put(tmp_path / "data", rows)
    content = (folder / "zh_refine.json").read_bytes()
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    for sums in ((len(content), hashlib.sha256(content).hexdigest(), None), (None, None, blob)):
        monkeypatch.setitem(catalogue.builder_class("rgb").FILES, "zh_refine.json", sums)
        whose, shown = run(cli, folder)
        assert whose == "authors" and "87.67 chatgpt " in shown and "on all" not in shown


def test_a_corpus_of_ones_own_is_none_of_the_authors(cli, tmp_path, monkeypatch):
    folder = copy_as_authors("crud_rag", tmp_path / "C", monkeypatch)
    assert run(cli, folder, ("crud_rag", "qa_1doc", "test"), "a")[0] == "partial"
    file = next(Path(folder).rglob("documents_dup_part_1_part_1"))
    file.write_text("我的文章。\n", encoding="utf-8")
    whose, shown = run(cli, folder, ("crud_rag", "qa_1doc", "test"), "b")
    assert whose == "own" and "gpt-3.5-turbo" not in shown


def digests(question):
    """Eight bytes: four of a digest of its id, four of one of id, question, gold."""
    whole = [question.id, question.query, question.references]
    return b"".join(hashlib.sha256(json.dumps(part).encode()).digest()[:4] for part in (whole[:1], whole))


@pytest.mark.parametrize(
    ("benchmark", "place", "splits"),
    [
        ("rgb", "RGB", {"noise_robustness_zh": "noise_0", "negative_rejection_zh": "test"}),
        ("rgb", "RGB", {"information_integration_zh": "noise_0", "counterfactual_robustness_en": "test"}),
        ("crud_rag", "CRUD_RAG", {"summary": "test"}),
        ("crag", "CRAG", {"qa": "public", "task_1_2": "public"}),
    ],
)
def test_the_digests_are_those_of_genuine_files(benchmark, place, splits, real_data):
    with (Path(room("baselines")) / benchmark / "authors.csv").open(encoding="utf-8", newline="") as lines:
        held = {row["config"]: row["questions"] for row in csv.DictReader(lines)}
    for config, split in splits.items():
        task = spec_of(benchmark, config, split, data_dir=str(real_data(place)))
        questions, source = load_questions(task, load(benchmark))
        packed = b"".join(sorted({digests(question) for question in questions}))
        assert base64.b64decode(held[config]) == packed and source.provenance.theirs
