"""Which files the dataset script omnieval reads: layouts, rival sets, places named by options, forms; the corpus."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from omnieval_files import FINAL, HUMAN, NODES, cell, ids, named, node, put, record, rows
from pyarrow import parquet

from quadrag import catalogue
from quadrag.data import builders, files
from quadrag.data.prepare import prepare
from quadrag.errors import QuadragError


def questions(split: str, root: Path, **options: Any) -> list[str]:
    return [row["question"] for row in rows("all", split, root, **options)]


def test_every_level_of_a_checkout_will_do(whole: Path) -> None:
    assert rows("all", "auto", whole / FINAL) == rows("all", "auto", whole)
    human = rows("all", "human", whole)
    for folder in ("human_annotated", HUMAN.rpartition("/")[0]):
        assert rows("all", "human", whole / folder) == human
    (whole / HUMAN).rename(whole / "human_annotated/v1022/people.jsonl")
    assert rows("all", "human", whole / "human_annotated") == human
    assert rows("all", "train", whole / "corpus/nodes_dir") == rows("all", "train", whole)
    nodes = whole / "corpus/nodes_dir" / NODES.partition("/")[0]
    assert rows("corpus", "corpus", nodes) == [node(n) for n in (1, 2, 3)]


def test_a_folders_own_name_tells_nothing(tmp_path: Path) -> None:
    cell(tmp_path / "human/train", record())
    put(tmp_path / "other train", "questions.jsonl", named())
    for folder in ("human", "human/train", "other train"):
        assert ids(rows("all", "auto", tmp_path / folder)) == ["auto/banking/retail/extractive_qa/1"]


def test_of_upstreams_stages_the_last_is_taken_and_rivals_are_refused_by_name(tmp_path: Path) -> None:
    for stage in ("", "_clean", "_filter", "_final"):
        cell(tmp_path, record(f"test{stage}"), of=f"gen_datas_test{stage}")
        assert questions("auto", tmp_path) == [f"test{stage}"]
    cell(tmp_path, record("b"), of="gen_datas_b_filter")
    put(tmp_path, HUMAN, named())
    with pytest.raises(QuadragError, match=r"gen_datas_b_filter and gen_datas_test and .*; name one by auto_dir"):
        rows("all", "auto", tmp_path)
    # The other splits are none the worse.
    assert builders.splits(builders.open_builder("omnieval", "all", str(tmp_path))[0]) == ["human"]
    assert questions("auto", tmp_path, auto_dir=str(tmp_path / "gen_datas_b_filter")) == ["b"]
    put(tmp_path, "human_annotated/v1018/v1018.jsonl", named())
    with pytest.raises(QuadragError, match=r"human_annotated/v1018 and human_annotated/v1022; name one by human_file"):
        rows("all", "human", tmp_path)
    assert len(rows("all", "human", tmp_path, human_file=str(tmp_path / HUMAN))) == 1
    put(tmp_path, "a-2048-256_nodes/corpus.jsonl", node(1))
    put(tmp_path, "b-512-64_nodes/corpus.jsonl", node(2))
    with pytest.raises(QuadragError, match=r"a-2048-256_nodes and b-512-64_nodes"):
        rows("corpus", "corpus", tmp_path)
    assert ids(rows("corpus", "corpus", tmp_path, corpus_file=str(tmp_path / "b-512-64_nodes"))) == ["n-2"]


def test_files_are_known_by_their_keys_and_train_by_its_name(whole: Path) -> None:
    before = {split: rows("all", split, whole) for split in ("train", "auto", "human")}
    assert ids(before["train"]) == ["train/investment/bonds/extractive_qa/1", "train/fintech/ai/extractive_qa/1"]
    assert not {"train investment/bonds", "train fintech/ai"} & {row["question"] for row in before["auto"]}
    predicted = record(id="x", output={"pred": "30元"})
    put(whole, f"evaluator/pred_results/{FINAL}/bge_TOP5-m/银行业务 - 零售银行 - 抽取类问答.pred.jsonl", predicted)
    put(whole, f"{FINAL}/elsewhere.jsonl", predicted)
    put(whole, "corpus/nodes_dir/gen_datas_all-2048-256_docs/corpus.jsonl", node(9))
    put(whole, "corpus/few_shot/source.jsonl", node(8))
    put(whole, "configs/topic_tree.json", json.dumps([{"topic_name": "金融", "sub_topics": []}]))
    put(whole, "examples/questions.jsonl", record())
    put(whole, f"corpus/nodes_dir/{NODES.partition('/')[0]}/0.pkl", b"\x80\x04cposix\nsystem\n")
    assert {split: rows("all", split, whole) for split in before} == before
    assert ids(rows("corpus", "corpus", whole)) == ["n-1", "n-2", "n-3"]


def test_what_a_split_lacks_is_said(tmp_path: Path) -> None:
    root = cell(tmp_path / "root", record())
    put(root, HUMAN, "", " ")
    for config, split, said in (
        ("all", "train", "questions of train .*train_dir"),
        ("all", "human", "questions of human .*human_file"),
        ("contrast_qa", "auto", "questions of auto contrast_qa"),
        ("corpus", "corpus", "nodes of corpus .*corpus_file"),
    ):
        with pytest.raises(QuadragError, match=f"^{root} lacks {said}"):
            rows(config, split, root)
    assert builders.splits(builders.open_builder("omnieval", "all", str(root))[0]) == ["auto"]
    with pytest.raises(QuadragError, match=r"human_file .*v1022\.jsonl holds none"):
        rows("all", "human", root, human_file=str(root / HUMAN))
    # By the script itself, as `datasets` 3.6 calls it.
    builder = catalogue.builder_class("omnieval")(config_name="contrast_qa", data_dir=str(root))
    with pytest.raises(FileNotFoundError, match=r"questions of train contrast_qa .*, questions of auto contrast_qa"):
        builder.download_and_prepare(output_dir=str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_splits_broken_file_and_a_task_that_is_not_there_leave_the_others(whole: Path) -> None:
    assert builders.splits(builders.open_builder("omnieval", "long_form_qa", str(whole))[0]) == ["auto"]
    assert builders.splits(builders.open_builder("omnieval", "contrast_qa", str(whole))[0]) == ["auto", "human"]
    put(whole, HUMAN, "{")
    put(whole, f"corpus/nodes_dir/{NODES}", "{")
    assert len(rows("all", "auto", whole)) == 192
    for config, split in (("all", "human"), ("corpus", "corpus")):
        with pytest.raises(QuadragError, match=r"jsonl:1 is not JSON"):
            rows(config, split, whole)
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
    # With one of them and no data_dir, nothing is fetched.
    builder, source = builders.open_builder("omnieval", "all", None, options)
    assert builders.splits(builder) == ["train", "auto", "human"]
    assert source.text == f"{own / 'any'} and {own / 'any'} and {own / 'people.jsonl'}"
    assert files.own_files(builder.config, "human") == {"human_file": own / "people.jsonl"}
    builder, _ = builders.open_builder("omnieval", "all", None, {"auto_dir": own / "any"})
    assert builders.splits(builder) == ["auto"]
    builder = catalogue.builder_class("omnieval")(config_name="all", human_file=str(own / "people.jsonl"))
    builder.download_and_prepare(output_dir=str(tmp_path / "out"))
    assert {split: one.num_examples for split, one in builder.info.splits.items()} == {"human": 1}
    for option, split, kind in (("human_file", "human", "nodes"), ("auto_dir", "auto", "nodes")):
        with pytest.raises(QuadragError, match=f"named by {option}, holds no questions"):
            rows("all", split, root, **{option: own / f"{kind}.jsonl"})


@pytest.mark.parametrize(
    ("config", "options", "said"),
    [
        ("all", {"train_dir": "nowhere"}, "train_dir is 'nowhere'"),
        ("all", {"auto_dir": ""}, "auto_dir is ''"),
        ("all", {"corpus_file": "."}, "all takes no corpus_file"),
        ("corpus", {"human_file": "."}, "corpus takes no human_file"),
        ("corpus", {"min_evaluation": 1}, "corpus takes no min_evaluation"),
        ("all", {"min_evaluation": 3}, "min_evaluation is 3"),
        ("all", {"min_evaluation": True}, "min_evaluation is True"),
        ("all", {"min_evaluation": "2"}, "min_evaluation is '2'"),
    ],
)
def test_bad_options_are_named_before_any_row(config: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(QuadragError, match=f"^omnieval {config}: {said}"):
        builders.open_builder("omnieval", config, None, options)


def test_json_and_parquet_as_the_hub_may_have_them(tmp_path: Path) -> None:
    records = [named(question=f"第{n}问？", evaluation=None if n % 2 else 2) for n in range(5)]
    folder = tmp_path / "p/OmniEval-AutoGen-Dataset/data"
    folder.mkdir(parents=True)
    for number, part in enumerate((records[:3], records[3:])):
        parquet.write_table(pa.Table.from_pylist(part), folder / f"test-{number:05}.parquet")
    put(tmp_path / "j", "OmniEval-AutoGen-Dataset/auto.json", json.dumps(records, ensure_ascii=False, indent=1))
    put(tmp_path / "l", "OmniEval-AutoGen-Dataset/auto.json", *records)
    found = rows("all", "auto", tmp_path / "p")
    assert [row["question"] for row in found] == [f"第{n}问？" for n in range(5)]
    assert ids(found) == [f"auto/banking/retail/extractive_qa/{n}" for n in range(1, 6)]
    assert rows("all", "auto", tmp_path / "j") == rows("all", "auto", tmp_path / "l") == found
    put(tmp_path / "j", "OmniEval-AutoGen-Dataset/copy.jsonl", *records)
    with pytest.raises(QuadragError, match=r"several forms, \.json, \.jsonl; name one by auto_dir"):
        rows("all", "auto", tmp_path / "j")
    talk = [named(task="conversational_qa"), named(task="conversational_qa", question="又？")]
    put(tmp_path / "t", "OmniEval-Human-Questions/all.json", json.dumps([named(), talk]))
    assert [name.rpartition("/")[2] for name in ids(rows("all", "human", tmp_path / "t"))] == ["1", "2.1", "2.2"]


def test_train_of_a_repository_is_what_says_so(tmp_path: Path) -> None:
    put(tmp_path, "OmniEval-AutoGen-Dataset/train.jsonl", named(question="一"))
    put(tmp_path, "OmniEval-AutoGen-Dataset/test.jsonl", named(question="二"))
    put(tmp_path, "OmniEval-Human-Questions/test.jsonl", named(question="三"))
    put(tmp_path, "OmniEval-KnowledgeCorpus/train-00000-of-00001.jsonl", node(1))
    assert [questions(split, tmp_path) for split in ("train", "auto", "human")] == [["一"], ["二"], ["三"]]
    assert ids(rows("corpus", "corpus", tmp_path)) == ["n-1"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b'[{"question": 1},\n{'),
        ("a.json", "[\n'答'".encode("gb18030")),
        ("a.parquet", b"PAR1 cut short"),
        ("a.parquet", b"<html>"),
        ("a.jsonl", b"version https://git-lfs.github.com/spec/v1\n"),
        ("a.jsonl", b"[" * 100_000),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / "OmniEval-AutoGen-Dataset" / name
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(QuadragError) as caught:
        rows("all", "auto", tmp_path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_one_line_in_two_files_and_two_files_of_one_cell_are_named(tmp_path: Path) -> None:
    cell(tmp_path, record())
    put(tmp_path, f"{FINAL}/more.jsonl", named())
    with pytest.raises(QuadragError, match=r"more\.jsonl:1: auto/banking/retail/extractive_qa/1 .*抽取类问答"):
        rows("all", "auto", tmp_path)
    for folder in ("反洗钱（AML）", "反洗钱(AML)"):
        put(tmp_path, f"{FINAL}/监管与合规/{folder}/对比类问答.jsonl", record())
    with pytest.raises(QuadragError, match="are both of regulation/anti_money_laundering contrast_qa"):
        rows("all", "auto", tmp_path)


def test_what_is_prepared_is_read_and_known_by_every_file_that_decides_rows(
    own_cache: Path, whole: Path, tmp_path: Path
) -> None:
    def fingerprint(config: str = "all", root: Path | None = whole, split: str | None = None, **options: Any) -> str:
        return builders.fingerprint(builders.open_builder("omnieval", config, root and str(root), options, split)[0])

    done = prepare("omnieval", None, str(whole))
    assert done.built["all"] == {"train": 2, "auto": 192, "human": 4}
    assert done.built["conversational_qa"] == {"auto": 64, "human": 2}
    assert len(done.partial["long_form_qa"]) == 2
    for config, splits in done.built.items():
        for split in splits:
            builder, _ = builders.open_builder("omnieval", config, split=split)
            assert list(builders.rows(builder, split)) == rows(config, split, whole)
    _, source = builders.open_builder("omnieval", "all")
    assert f"(train: 2 files of corpus/nodes_dir/gen_datas_train_final; auto: 80 files of {FINAL}; " in source.text
    plain = fingerprint()
    assert fingerprint(root=None) == plain
    assert fingerprint(root=Path(shutil.copytree(whole, tmp_path / "copy"))) == plain
    by_split = {split: fingerprint(split=split) for split in ("train", "auto", "human")}
    assert len({plain, *by_split.values(), fingerprint(min_evaluation=1), fingerprint(min_evaluation=2)}) == 6
    assert fingerprint(split="auto", root=whole / FINAL) == by_split["auto"], "its place decides nothing"
    assert fingerprint(split="auto", auto_dir=str(whole / FINAL)) == by_split["auto"]
    extractive, corpus = fingerprint("extractive_qa", split="auto"), fingerprint("corpus")
    # Any of the eighty files.
    cell(whole, record("改过"), topic="fintech/ai", task="contrast_qa")
    assert fingerprint(split="auto") != by_split["auto"]
    assert (fingerprint("extractive_qa", split="auto"), fingerprint("corpus")) == (extractive, corpus)
    put(whole, f"corpus/nodes_dir/{NODES}", node(1))
    assert fingerprint("corpus") != corpus


def test_nodes(tmp_path: Path) -> None:
    lone = r'{"id": "n-4", "title": "题4", "contents": "\ud800"}'
    put(tmp_path, NODES, node(1), node(2, title=None, extra=1), {"id": 3, "contents": ""}, lone)
    assert rows("corpus", "corpus", tmp_path) == [
        node(1),
        node(2, title=""),
        {"id": "3", "title": "", "contents": ""},
        node(4, contents="\ufffd"),
    ]
    path = tmp_path / "p/OmniEval-KnowledgeCorpus/data/train-00000-of-00001.parquet"
    path.parent.mkdir(parents=True)
    parquet.write_table(pa.Table.from_pylist([node(n) for n in range(200)]), path)
    assert rows("corpus", "corpus", tmp_path / "p") == [node(n) for n in range(200)]


def test_sources_cut_alike_are_one_corpus_and_copies_are_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    put(tmp_path, "a-2048-256_nodes/corpus.jsonl", node(1), node(2))
    put(tmp_path, "b-2048-256_nodes/corpus.jsonl", node(2), node(3), node(1))
    assert ids(rows("corpus", "corpus", tmp_path)) == ["n-1", "n-2", "n-3"]
    assert [entry.getMessage() for entry in caplog.records] == ["omnieval corpus: skipped 2 copies of nodes"]
    put(tmp_path, "b-2048-256_nodes/corpus.jsonl", node(2, contents="另一篇"))
    first, second = (f"{tmp_path}/{name}-2048-256_nodes/corpus.jsonl" for name in "ab")
    with pytest.raises(QuadragError, match=f"^{second}:1: n-2 stands in {first}:2 too"):
        rows("corpus", "corpus", tmp_path)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ([node(2)], "list"),
        ({"title": "题", "contents": "文"}, "id"),
        (node(2, id=""), "id is ''"),
        (node(2, id=["a"]), "id is"),
        ({"id": "n-2", "text": "文"}, "contents"),
        (node(2, contents=None), "contents is None"),
        ("{", "not JSON"),
    ],
)
def test_a_bad_node_is_named(tmp_path: Path, bad: Any, said: str) -> None:
    put(tmp_path, NODES, node(1), bad)
    with pytest.raises(QuadragError) as caught:
        rows("corpus", "corpus", tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / NODES}:2")
    assert said in str(caught.value)


def test_a_set_made_by_people_is_one_folder_however_deep_its_files_lie(tmp_path: Path) -> None:
    for number, place in enumerate(("deep", "deeper/still")):
        put(tmp_path, f"human_annotated/v1018/{place}/{number}.jsonl", named(question=f"question {number}"))
    assert len(questions("human", tmp_path)) == 2
