"""Which files the dataset script omnieval reads: layouts, rival sets, places named by options, forms, bad files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from omnieval_files import FINAL, HUMAN, NODES, cell, ids, named, node, put, record, rows

from quadrag import catalogue
from quadrag.data import builders, files
from quadrag.errors import QuadragError

# --- which files are read --------------------------------------------------------------------------------------------


def test_every_level_of_a_checkout_will_do(whole: Path) -> None:
    expected = rows("all", "auto", whole)
    assert rows("all", "auto", whole / FINAL) == expected
    assert rows("all", "human", whole / "human_annotated") == rows("all", "human", whole)
    (whole / HUMAN).rename(whole / "human_annotated/v1022/people.jsonl")
    assert rows("all", "human", whole / "human_annotated") == rows("all", "human", whole)
    (whole / "human_annotated/v1022/people.jsonl").rename(whole / HUMAN)
    assert rows("all", "human", whole / HUMAN.rpartition("/")[0]) == rows("all", "human", whole)
    assert rows("all", "train", whole / "corpus/nodes_dir") == rows("all", "train", whole)
    assert rows("corpus", "corpus", whole / "corpus/nodes_dir" / NODES.partition("/")[0]) == [
        node(n) for n in (1, 2, 3)
    ]


def test_a_folder_s_own_name_tells_nothing(tmp_path: Path) -> None:
    """The user's folders may be named human or train."""
    cell(tmp_path / "human/train", record())
    for folder in (tmp_path, tmp_path / "human", tmp_path / "human/train"):
        assert ids(rows("all", "auto", folder)) == ["auto/banking/retail/extractive_qa/1"]
    put(tmp_path / "other train", "questions.jsonl", named())
    assert ids(rows("all", "auto", tmp_path / "other train")) == ["auto/banking/retail/extractive_qa/1"]


def test_of_upstream_s_stages_the_last_is_taken(tmp_path: Path) -> None:
    for stage in ("", "_clean", "_filter", "_final"):
        cell(tmp_path, record(f"test{stage}"), of=f"gen_datas_test{stage}")
        assert [row["question"] for row in rows("all", "auto", tmp_path)] == [f"test{stage}"]
    _, source = builders.open_builder("omnieval", "all", str(tmp_path))
    assert source.text == f"{tmp_path} (auto: {FINAL}/银行业务/零售银行/抽取类问答.jsonl; unverified)"


def test_rival_sets_are_refused_by_name(tmp_path: Path) -> None:
    cell(tmp_path, record("a"), of="gen_datas_a_final")
    cell(tmp_path, record("b"), of="gen_datas_b_filter")
    put(tmp_path, HUMAN, named())
    with pytest.raises(QuadragError) as caught:
        rows("all", "auto", tmp_path)
    said = "one set of auto (it holds gen_datas_a_final and gen_datas_b_filter; name one by auto_dir)"
    assert str(caught.value) == f"{tmp_path} lacks {said}, which omnieval all needs; the split human is there"
    # The other splits are none the worse.
    assert len(rows("all", "human", tmp_path)) == 1
    assert builders.splits(builders.open_builder("omnieval", "all", str(tmp_path))[0]) == ["human"]
    for name in ("a_final", "b_filter"):
        found = rows("all", "auto", tmp_path, auto_dir=str(tmp_path / f"gen_datas_{name}"))
        assert [row["question"] for row in found] == [name[0]]
    shutil.rmtree(tmp_path / "gen_datas_b_filter")
    cell(tmp_path, record("b"), of="gen_datas_a_clean_final")
    with pytest.raises(QuadragError, match="it holds gen_datas_a_clean_final and gen_datas_a_final; name one"):
        rows("all", "auto", tmp_path)


def test_rival_human_sets_and_rival_cuts_of_the_corpus_are_refused_by_name(tmp_path: Path) -> None:
    put(tmp_path, HUMAN, named())
    put(tmp_path, "human_annotated/v1018/v1018.jsonl", named())
    with pytest.raises(QuadragError, match=r"human_annotated/v1018 and human_annotated/v1022; name one by human_file"):
        rows("all", "human", tmp_path)
    assert len(rows("all", "human", tmp_path, human_file=str(tmp_path / HUMAN))) == 1
    put(tmp_path, "a-2048-256_nodes/corpus.jsonl", node(1))
    put(tmp_path, "b-512-64_nodes/corpus.jsonl", node(2))
    with pytest.raises(QuadragError, match=r"one set of corpus \(it holds a-2048-256_nodes and b-512-64_nodes; name"):
        rows("corpus", "corpus", tmp_path)
    assert ids(rows("corpus", "corpus", tmp_path, corpus_file=str(tmp_path / "b-512-64_nodes"))) == ["n-2"]


def test_train_is_what_says_so(whole: Path) -> None:
    assert ids(rows("all", "train", whole)) == [
        "train/investment/bonds/extractive_qa/1",
        "train/fintech/ai/extractive_qa/1",
    ]
    assert not {"train investment/bonds", "train fintech/ai"} & {row["question"] for row in rows("all", "auto", whole)}


def test_files_are_known_by_their_keys(whole: Path) -> None:
    """Copies of the questions in predictions, sources, settings, parents of nodes and pickles are none of ours."""
    before = {split: rows("all", split, whole) for split in ("train", "auto", "human")}
    predicted = record(id="x", output={"pred": "30元"})
    put(whole, f"evaluator/pred_results/{FINAL}/bge_TOP5-m/银行业务 - 零售银行 - 抽取类问答.pred.jsonl", predicted)
    put(whole, f"{FINAL}/elsewhere.jsonl", predicted)
    put(whole, "corpus/nodes_dir/gen_datas_all-2048-256_docs/corpus.jsonl", node(9))
    put(whole, "corpus/few_shot/source.jsonl", node(8))
    put(whole, "configs/topic_tree.json", json.dumps([{"topic_name": "金融", "sub_topics": []}]))
    put(whole, "examples/questions.jsonl", record())
    for name in ("0.pkl", "shuffle_index.datapkl"):
        put(whole, f"corpus/nodes_dir/{NODES.partition('/')[0]}/{name}", b"\x80\x04cposix\nsystem\n")
    assert {split: rows("all", split, whole) for split in before} == before
    assert ids(rows("corpus", "corpus", whole)) == ["n-1", "n-2", "n-3"]


OPENED = """
import json, sys
opened = []
sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" else None)
from quadrag.data import builders
for config, split in (("all", "auto"), ("corpus", "corpus")):
    builder, _ = builders.open_builder("omnieval", config, sys.argv[1])
    assert list(builders.rows(builder, split)) and builders.fingerprint(builder)
print(json.dumps([name for name in opened if name.startswith(sys.argv[1])]))
"""


def test_pickles_are_never_opened(whole: Path, python: Any, environment: Any) -> None:
    for folder in (whole / "corpus/nodes_dir" / NODES.partition("/")[0], whole / FINAL):
        for name in ("0.pkl", "1.pkl", "shuffle_index.datapkl"):
            (folder / name).write_bytes(b"\x80")
    done = python(OPENED, whole, env=environment())
    assert done.returncode == 0, done.stderr
    assert {Path(name).suffix for name in json.loads(done.stdout)} >= {".jsonl"}
    assert "pkl" not in done.stdout


def test_what_a_split_lacks_is_said(tmp_path: Path) -> None:
    root = cell(tmp_path / "root", record())
    place = "a folder gen_datas_* with `train` in its name, or name it by train_dir"
    listed = "human_annotated/*/*.jsonl; the Hub's repository of them is listed empty"
    for split, said in (
        ("train", f"questions of train ({place})"),
        ("human", f"questions of human ({listed}, or name it by human_file)"),
    ):
        with pytest.raises(QuadragError) as caught:
            rows("all", split, root)
        assert str(caught.value).startswith(f"{root} lacks {said}, which omnieval all needs; the split ")
    with pytest.raises(QuadragError, match=r"questions of auto contrast_qa \(a folder gen_datas_\*, or name it by"):
        rows("contrast_qa", "auto", root)
    with pytest.raises(QuadragError, match=r"nodes of corpus \(a folder \*_nodes with corpus\.jsonl, or name it by"):
        rows("corpus", "corpus", root)
    # By the script itself, as `datasets` 3.6 calls it.
    builder = catalogue.builder_class("omnieval")(config_name="contrast_qa", data_dir=str(root))
    with pytest.raises(
        FileNotFoundError, match=r"root lacks questions of train contrast_qa .*, questions of auto contr"
    ):
        builder.download_and_prepare(output_dir=str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_an_empty_human_set_is_lacking_and_no_error_for_others(tmp_path: Path, content: str) -> None:
    cell(tmp_path, record())
    put(tmp_path, HUMAN, content)
    builder, _ = builders.open_builder("omnieval", "all", str(tmp_path))
    assert builders.splits(builder) == ["auto"]
    assert len(list(builders.rows(builder, "auto"))) == 1
    with pytest.raises(QuadragError, match="lacks questions of human"):
        rows("all", "human", tmp_path)
    with pytest.raises(QuadragError, match=r"questions of human \(human_file .*v1022\.jsonl holds none\)"):
        rows("all", "human", tmp_path, human_file=str(tmp_path / HUMAN))


def test_a_human_set_without_a_task_lacks_it(whole: Path) -> None:
    builder, _ = builders.open_builder("omnieval", "long_form_qa", str(whole))
    assert builders.splits(builder) == ["auto"]
    assert builders.splits(builders.open_builder("omnieval", "contrast_qa", str(whole))[0]) == ["auto", "human"]


def test_a_split_s_broken_file_leaves_the_others(whole: Path) -> None:
    put(whole, HUMAN, "{")
    put(whole, f"corpus/nodes_dir/{NODES}", "{")
    assert len(rows("all", "auto", whole)) == 192
    assert len(rows("all", "train", whole)) == 2
    for config, split in (("all", "human"), ("corpus", "corpus")):
        with pytest.raises(QuadragError, match=r"jsonl:1 is not JSON"):
            rows(config, split, whole)


# --- options ---------------------------------------------------------------------------------------------------------


def test_places_named_by_options(tmp_path: Path) -> None:
    root, own = tmp_path / "root", tmp_path / "own"
    cell(root, record("of data_dir"))
    cell(own, record("mine"), of="any")
    put(own, "people.jsonl", named())
    put(own, "nodes.jsonl", node(7))
    options = {"train_dir": own / "any", "auto_dir": own / "any", "human_file": own / "people.jsonl"}
    assert [row["question"] for row in rows("all", "auto", root, **options)] == ["mine"]
    for split in ("train", "auto"):
        assert ids(rows("extractive_qa", split, root, **options)) == [f"{split}/banking/retail/extractive_qa/1"]
    assert ids(rows("all", "human", root, **options)) == ["human/banking/retail/extractive_qa/1"]
    assert ids(rows("corpus", "corpus", root, corpus_file=own / "nodes.jsonl")) == ["n-7"]
    # With one of them and no data_dir, nothing is fetched.
    builder, source = builders.open_builder("omnieval", "all", None, options)
    assert builders.splits(builder) == ["train", "auto", "human"]
    assert source.text == f"{own / 'any'} and {own / 'any'} and {own / 'people.jsonl'}"
    assert files.own_files(builder.config, "human") == {"human_file": own / "people.jsonl"}
    builder, source = builders.open_builder("omnieval", "all", None, {"auto_dir": own / "any"})
    assert (builders.splits(builder), source.text) == (["auto"], str(own / "any"))
    with pytest.raises(QuadragError, match="lacks questions of human"):
        list(builders.rows(builder, "human"))


def test_without_a_folder_the_script_reads_what_options_name(tmp_path: Path) -> None:
    put(tmp_path, "people.jsonl", named())
    builder = catalogue.builder_class("omnieval")(config_name="all", human_file=str(tmp_path / "people.jsonl"))
    builder.download_and_prepare(output_dir=str(tmp_path / "out"))
    assert {split: len(builder.as_dataset(split=split)) for split in builder.info.splits} == {"human": 1}


@pytest.mark.parametrize(
    ("config", "options", "message"),
    [
        ("all", {"train_dir": "nowhere"}, "train_dir is 'nowhere', which is not there; expected a folder or a file"),
        ("all", {"auto_dir": ""}, "auto_dir is '', which is not there; expected a folder or a file"),
        ("all", {"corpus_file": "."}, "all takes no corpus_file; its own are train_dir, auto_dir, human_file"),
        ("corpus", {"human_file": "."}, "corpus takes no human_file; its own are corpus_file"),
        ("corpus", {"min_evaluation": 1}, "corpus takes no min_evaluation; its own are corpus_file"),
        ("all", {"min_evaluation": 3}, "min_evaluation is 3; expected -1, 0, 1, 2 or None"),
        ("all", {"min_evaluation": True}, "min_evaluation is True; expected -1, 0, 1, 2 or None"),
        ("all", {"min_evaluation": "2"}, "min_evaluation is '2'; expected -1, 0, 1, 2 or None"),
    ],
)
def test_bad_options_are_named_before_any_row(config: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(QuadragError) as caught:
        builders.open_builder("omnieval", config, None, options)
    assert str(caught.value) == f"omnieval {config}: {message}"


def test_a_file_of_another_kind_is_named(tmp_path: Path) -> None:
    put(tmp_path, "nodes.jsonl", node(1))
    put(tmp_path, "questions.jsonl", named())
    with pytest.raises(
        QuadragError, match=r"named by human_file, holds no questions; found the keys id, title, contents"
    ):
        rows("all", "human", tmp_path, human_file=str(tmp_path / "nodes.jsonl"))
    with pytest.raises(
        QuadragError, match="named by corpus_file, holds no nodes; found the keys thought_process, quest"
    ):
        rows("corpus", "corpus", tmp_path, corpus_file=str(tmp_path / "questions.jsonl"))


# --- forms -----------------------------------------------------------------------------------------------------------


def test_json_and_parquet_as_the_hub_has_them(tmp_path: Path) -> None:
    """Questions whose fields tell all, in parts: numbered through, in the order of the names."""
    import pyarrow as pa
    from pyarrow import parquet

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
    with pytest.raises(QuadragError, match=r"one set of auto \(it holds files of several forms, \.json, \.jsonl; name"):
        rows("all", "auto", tmp_path / "j")


def test_an_array_holds_conversations_as_lists(tmp_path: Path) -> None:
    talk = [named(task="conversational_qa"), named(task="conversational_qa", question="又？")]
    put(tmp_path, "OmniEval-Human-Questions/all.json", json.dumps([named(), talk]))
    assert ids(rows("all", "human", tmp_path)) == [
        "human/banking/retail/extractive_qa/1",
        "human/banking/retail/conversational_qa/2.1",
        "human/banking/retail/conversational_qa/2.2",
    ]


def test_train_of_a_repository_is_what_says_so(tmp_path: Path) -> None:
    put(tmp_path, "OmniEval-AutoGen-Dataset/train.jsonl", named(question="一"))
    put(tmp_path, "OmniEval-AutoGen-Dataset/test.jsonl", named(question="二"))
    put(tmp_path, "OmniEval-Human-Questions/test.jsonl", named(question="三"))
    put(tmp_path, "OmniEval-KnowledgeCorpus/train-00000-of-00001.jsonl", node(1))
    found = {split: [row["question"] for row in rows("all", split, tmp_path)] for split in ("train", "auto", "human")}
    assert found == {"train": ["一"], "auto": ["二"], "human": ["三"]}
    assert ids(rows("corpus", "corpus", tmp_path)) == ["n-1"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b'[{"question": 1},\n{', ":2 is not JSON (Expecting property name enclosed in double quotes at"),
        ("a.json", "[\n'答'".encode("gb18030"), ":2 is not UTF-8; expected JSON in UTF-8"),
        ("a.parquet", b"PAR1 cut short", " is no whole Parquet ("),
        ("a.parquet", b"<html>", " is no Parquet; fetch it again"),
        ("a.jsonl", b"version https://git-lfs.github.com/spec/v1\n", " is a Git LFS pointer, not the file; run `git"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / "OmniEval-AutoGen-Dataset" / name
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(QuadragError) as caught:
        rows("all", "auto", tmp_path)
    assert str(caught.value).startswith(f"{path}{message}")
    assert "\n" not in str(caught.value)


def test_one_line_in_two_files_is_named(tmp_path: Path) -> None:
    """A file of a cell beside one whose fields tell, which has the same line of the same cell."""
    cell(tmp_path, record())
    put(tmp_path, f"{FINAL}/more.jsonl", named())
    with pytest.raises(
        QuadragError, match=r"more\.jsonl:1: auto/banking/retail/extractive_qa/1 stands in .*抽取类问答"
    ):
        rows("all", "auto", tmp_path)
