"""Which files the dataset script omnieval reads: two layouts, rival sets, places named by options, forms, the Hub's."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pyarrow as pa
import pytest
from huggingface_hub.errors import GatedRepoError
from omnieval_files import FINAL, HUMAN, NODES, PLACES, TASKS, cell, ids, named, node, put, record, refusal, rows
from pyarrow import parquet

from quadrag import catalogue
from quadrag.cli import main
from quadrag.data import builders

GENERATED, PEOPLE, CORPUS = "OmniEval-AutoGen-Dataset", "OmniEval-Human-Questions", "OmniEval-KnowledgeCorpus"


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A checkout of OmniEval."""
    root = tmp_path / "root"
    for topic in PLACES:
        for task in TASKS:
            lines = [record(f"{topic} {task} {number}") for number in (1, 2)]
            talk = [[record("一"), record("二"), record("三")], [record("甲")]]
            cell(root, *(talk if task == "conversational_qa" else lines), topic=topic, task=task)
    for topic in ("investment/bonds", "fintech/ai"):
        cell(root, record(f"train {topic}"), topic=topic, of="corpus/nodes_dir/gen_datas_train_final")
    talk = [named(task="conversational_qa"), named(task="conversational_qa", question="又？")]
    put(root, HUMAN, named(question="人写的"), talk, named("fintech/ai", "contrast_qa"))
    return put(root, f"corpus/nodes_dir/{NODES}", node(1), node(2), node(3))


def questions(split: str, root: Path, **options: Any) -> list[str]:
    return [row["question"] for row in rows("all", split, root, **options)]


def readable(config: str, root: Path | None, **options: Any) -> list[str]:
    return builders.splits(builders.open_builder("omnieval", config, root and str(root), options)[0])


def test_every_cell_of_the_matrix_has_ids_of_the_whole_whatever_is_loaded(whole: Path) -> None:
    found = rows("all", "auto", whole)
    assert {(row["topic"], row["task"]) for row in found} == {(topic, task) for topic in PLACES for task in TASKS}
    assert len({row["id"] for row in found}) == len(found) == 16 * (4 * 2 + 4)
    assert all(row["topic_zh"] == " - ".join(PLACES[row["topic"]]) for row in found)
    assert [row["topic"] for row in found[:12:11]] == ["banking/retail"] * 2
    for split in ("train", "auto", "human"):
        everything = rows("all", split, whole)
        for task in TASKS:
            if expected := [row for row in everything if row["task"] == task]:
                assert rows(task, split, whole) == expected
    assert ids(rows("all", "human", whole)) == [
        "human/banking/retail/extractive_qa/1",
        "human/banking/retail/conversational_qa/2.1",
        "human/banking/retail/conversational_qa/2.2",
        "human/fintech/ai/contrast_qa/3",
    ]
    assert rows("corpus", "corpus", whole) == [node(n) for n in (1, 2, 3)]


def test_a_folder_of_files_will_do_and_what_is_no_data_is_passed_over(whole: Path) -> None:
    before = {split: rows("all", split, whole) for split in ("train", "auto", "human")}
    for split, folder in (("auto", FINAL), ("human", "human_annotated"), ("train", "corpus/nodes_dir")):
        assert rows("all", split, whole / folder) == before[split]
    assert ids(rows("corpus", "corpus", whole / "corpus/nodes_dir" / NODES.partition("/")[0])) == ["n-1", "n-2", "n-3"]
    predicted = record(id="x", output={"pred": "30元"})
    put(whole, f"evaluator/pred_results/{FINAL}/bge_TOP5-m/银行业务 - 零售银行 - 抽取类问答.pred.jsonl", predicted)
    put(whole, "corpus/nodes_dir/gen_datas_all-2048-256_docs/corpus.jsonl", node(9))
    put(whole, "corpus/few_shot/source.jsonl", node(8))
    put(whole, "configs/topic_tree.json", json.dumps([{"topic_name": "金融", "sub_topics": []}]))
    put(whole, "examples/questions.jsonl", record())
    put(whole, f"corpus/nodes_dir/{NODES.partition('/')[0]}/0.pkl", b"\x80\x04cposix\nsystem\n")
    assert {split: rows("all", split, whole) for split in before} == before
    assert ids(rows("corpus", "corpus", whole)) == ["n-1", "n-2", "n-3"]


def test_rival_sets_are_refused_by_name(tmp_path: Path) -> None:
    for name in ("gen_datas_test", "gen_datas_test_clean"):
        cell(tmp_path, record(name), of=name)
    for version in ("v1018", "v1022"):
        put(tmp_path, f"human_annotated/{version}/deep/{version}.jsonl", named())
    put(tmp_path, "a-2048-256_nodes/corpus.jsonl", node(1))
    put(tmp_path, "b-512-64_nodes/corpus.jsonl", node(2))
    for config, split, option, place in (
        ("all", "auto", "auto_dir", "gen_datas_test_clean"),
        ("all", "human", "human_file", "human_annotated/v1018"),
        ("corpus", "corpus", "corpus_file", "b-512-64_nodes"),
    ):
        said = refusal(config, split, tmp_path)
        assert option in said and ("-512-64_nodes" if config == "corpus" else place) in said
        assert len(rows(config, split, tmp_path, **{option: tmp_path / place})) == 1
    cell(tmp_path, record(), of="gen_datas_train")
    assert readable("all", tmp_path) == ["train"], "the other splits are none the worse"


def test_what_a_split_lacks_is_said_and_leaves_the_others(whole: Path, tmp_path: Path) -> None:
    root = cell(tmp_path / "few", record())
    put(root, HUMAN, "", " ")
    for config, split, option in (
        ("all", "train", "train_dir"),
        ("all", "human", "human_file"),
        ("contrast_qa", "auto", "auto_dir"),
        ("corpus", "corpus", "corpus_file"),
    ):
        said = refusal(config, split, root)
        assert said.startswith(f"{root} lacks {config} of {split}") and option in said
    assert readable("all", root) == ["auto"]
    assert readable("long_form_qa", whole) == ["auto"] and readable("contrast_qa", whole) == ["auto", "human"]
    put(whole, HUMAN, "{")
    put(whole, f"corpus/nodes_dir/{NODES}", "{")
    assert len(rows("all", "auto", whole)) == 192
    for config, split in (("all", "human"), ("corpus", "corpus")):
        assert "jsonl:1" in refusal(config, split, whole)
    put(whole, f"{FINAL}/银行业务/零售银行/对比类问答.jsonl", "{not json")
    assert len(rows("extractive_qa", "auto", whole)) == 32, "a task reads its own files alone"


def test_places_named_by_options(tmp_path: Path) -> None:
    root, own = tmp_path / "root", tmp_path / "own"
    cell(root, record("of data_dir"))
    cell(own, record("mine"), of="any")
    put(own, "people.jsonl", named())
    put(own, "nodes.jsonl", node(7))
    options = {"train_dir": own / "any", "auto_dir": own / "any", "human_file": own / "people.jsonl"}
    assert questions("auto", root, **options) == ["mine"]
    assert ids(rows("extractive_qa", "train", root, **options)) == ["train/banking/retail/extractive_qa/1"]
    assert ids(rows("corpus", "corpus", root, corpus_file=own / "nodes.jsonl")) == ["n-7"]
    assert readable("all", None, **options) == ["train", "auto", "human"]
    assert readable("all", None, auto_dir=own / "any") == ["auto"]
    builder = catalogue.builder_class("omnieval")(config_name="all", human_file=str(own / "people.jsonl"))
    builder.download_and_prepare(output_dir=str(tmp_path / "out"))
    assert {split: each.num_examples for split, each in builder.info.splits.items()} == {"human": 1}


def test_json_and_parquet_as_the_hub_may_have_them(tmp_path: Path) -> None:
    records = [named(question=f"第{n}问？", evaluation=None if n % 2 else 2) for n in range(5)]
    folder = tmp_path / "p" / GENERATED / "data"
    folder.mkdir(parents=True)
    for number, part in enumerate((records[:3], records[3:])):
        parquet.write_table(pa.Table.from_pylist(part), folder / f"test-{number:05}.parquet")
    put(tmp_path / "j", f"{GENERATED}/auto.json", json.dumps(records, ensure_ascii=False, indent=1))
    put(tmp_path / "l", f"{GENERATED}/auto.json", *records)
    found = rows("all", "auto", tmp_path / "p")
    assert [row["question"] for row in found] == [f"第{n}问？" for n in range(5)]
    assert ids(found) == [f"auto/banking/retail/extractive_qa/{n}" for n in range(1, 6)]
    assert rows("all", "auto", tmp_path / "j") == rows("all", "auto", tmp_path / "l") == found
    put(tmp_path / "j", f"{GENERATED}/copy.jsonl", *records)
    assert "auto_dir" in refusal("all", "auto", tmp_path / "j"), "the same in two forms"
    talk = [named(task="conversational_qa"), named(task="conversational_qa", question="又？")]
    put(tmp_path, f"{PEOPLE}/all.json", json.dumps([named(), talk]))
    assert [name.rpartition("/")[2] for name in ids(rows("all", "human", tmp_path))] == ["1", "2.1", "2.2"]
    parquet.write_table(pa.Table.from_pylist([node(n) for n in range(200)]), tmp_path / PEOPLE / "nodes.parquet")
    at = tmp_path / PEOPLE / "nodes.parquet"
    assert rows("corpus", "corpus", tmp_path, corpus_file=at) == [node(n) for n in range(200)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b'[{"question": 1},\n{'),
        ("a.json", "[\n'答'".encode("gb18030")),
        ("a.parquet", b"PAR1 cut short"),
        ("a.parquet", b"<html>"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / GENERATED / name
    path.parent.mkdir()
    path.write_bytes(content)
    assert refusal("all", "auto", tmp_path).startswith(str(path))


def test_one_line_in_two_files_and_two_files_of_one_cell_are_named(tmp_path: Path) -> None:
    cell(tmp_path, record())
    put(tmp_path, f"{FINAL}/more.jsonl", named())
    said = refusal("all", "auto", tmp_path)
    assert "more.jsonl:1" in said and "auto/banking/retail/extractive_qa/1" in said and "抽取类问答.jsonl:1" in said
    for folder in ("反洗钱（AML）", "反洗钱(AML)"):
        put(tmp_path, f"{FINAL}/监管与合规/{folder}/对比类问答.jsonl", record())
    assert "regulation/anti_money_laundering contrast_qa" in refusal("all", "auto", tmp_path)


def test_any_file_decides_the_fingerprint_and_its_place_does_not(whole: Path, tmp_path: Path) -> None:
    def fingerprint(config: str = "all", root: Path = whole, **options: Any) -> str:
        return builders.fingerprint(builders.open_builder("omnieval", config, str(root), options, "auto")[0])

    plain, extractive = fingerprint(), fingerprint("extractive_qa")
    assert fingerprint(root=Path(shutil.copytree(whole, tmp_path / "copy"))) == fingerprint(root=whole / FINAL) == plain
    assert fingerprint(auto_dir=str(whole / FINAL)) == plain
    assert len({plain, fingerprint(min_evaluation=1), fingerprint(min_evaluation=2)}) == 3
    cell(whole, record("改过"), topic="fintech/ai", task="contrast_qa")
    assert fingerprint() != plain and fingerprint("extractive_qa") == extractive


class Repositories(dict[str, Path | Exception]):
    """Stands in for `snapshot_download`: a folder or an error of each repository; keeps what it was asked for."""

    asked: list[tuple[str, Any]]

    def __call__(self, name: str, repo_type: str, allow_patterns: list[str], local_dir: Path) -> None:
        self.asked.append((name, allow_patterns))
        found = self[name.removeprefix("RUC-NLPIR/")]
        if isinstance(found, Exception):
            raise found
        shutil.copytree(found, local_dir, dirs_exist_ok=True)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> Repositories:
    generated, human, corpus = (tmp_path / "hub" / letter for letter in "abc")
    cell(generated, record(), record())
    put(generated, "train.jsonl", named("insurance/health", "long_form_qa"))
    put(human, "README.md", "# empty")
    put(corpus, "all-2048-256_nodes/corpus.jsonl", node(1))
    repositories = Repositories({GENERATED: generated, PEOPLE: human, CORPUS: corpus})
    repositories.asked = []
    monkeypatch.setattr(huggingface_hub, "snapshot_download", repositories)
    monkeypatch.setattr("datasets.config.DOWNLOADED_DATASETS_PATH", own_cache / "downloads")
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "quadrag"))
    return repositories


ALL = {
    "train": ["train/insurance/health/long_form_qa/1"],
    "auto": ["auto/banking/retail/extractive_qa/1", "auto/banking/retail/extractive_qa/2"],
}


def read(config: str, **options: Any) -> dict[str, list[str]]:
    builder, _ = builders.open_builder("omnieval", config, None, options)
    return {split: ids(list(builders.rows(builder, split))) for split in builders.splits(builder)}


def test_the_repositories_are_brought_without_pickles(hub: Repositories, tmp_path: Path) -> None:
    put(tmp_path, "own.jsonl", named("insurance/health", "long_form_qa"))
    own = {"human": ["human/insurance/health/long_form_qa/1"]}
    assert read("all", human_file=str(tmp_path / "own.jsonl")) == own and hub.asked == []
    assert read("all") == ALL, "the human set is empty upstream, and no error for the others"
    assert hub.asked == [(f"RUC-NLPIR/{name}", ["*.jsonl", "*.json", "*.parquet"]) for name in (GENERATED, PEOPLE)]
    assert read("corpus") == {"corpus": ["n-1"]}
    assert read("all", human_file=str(tmp_path / "own.jsonl")) == own, "what was brought before is of no concern"


@pytest.mark.parametrize("config", ["all", "corpus"])
def test_the_script_by_itself_brings_them_too(hub: Repositories, tmp_path: Path, config: str) -> None:
    builder = catalogue.builder_class("omnieval")(config_name=config, cache_dir=str(tmp_path / "cache"))
    builder.download_and_prepare()
    found = {split: builder.as_dataset(split=split)["id"][:] for split in builder.info.splits}
    assert found == (ALL if config == "all" else {"corpus": ["n-1"]})


def test_prepare_builds_what_can_be_had_and_says_what_is_refused(
    hub: Repositories, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    hub[PEOPLE] = GatedRepoError("no", response=SimpleNamespace(status_code=403, headers={}, request=None))
    assert main(["prepare", "omnieval"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert {"all: train 1, auto 2", "extractive_qa: auto 2", "corpus: corpus 1"} <= {*out}
    assert any(PEOPLE in entry.getMessage() and "403" in entry.getMessage() for entry in caplog.records)


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (GatedRepoError("no", response=SimpleNamespace(status_code=401, headers={}, request=None)), "401"),
        (ConnectionError("refused"), "refused"),
    ],
)
def test_what_cannot_be_had_is_one_line_with_the_page(hub: Repositories, error: Exception, named: str) -> None:
    hub[CORPUS] = error
    said = refusal("corpus", "corpus", None)
    assert named in said and f"https://huggingface.co/datasets/RUC-NLPIR/{CORPUS}" in said
