"""What every script refuses alike, in one line with the place: what is no JSON, ids, options, files that lack."""

import json
from pathlib import Path
from typing import Any

import crag_files
import crud_rag_files
import omnieval_files
import pytest
from omnieval_files import FINAL, NODES
from sample_rows import refusal

from quadrag import catalogue

PLAIN = {"id": 0, "query": "q", "answer": "a", "positive": ["p"], "negative": ["n"]}
# Config, split, the one file behind it, and a good record; CRUD-RAG's is one JSON object.
FILES: dict[str, tuple[str, str, str, Any]] = {
    "rgb": ("noise_robustness_zh", "noise_0", "zh_refine.json", PLAIN),
    "crag": ("qa", "public", crag_files.FIVE["v5"], crag_files.record(1)),
    "crud_rag": ("summary", "test", crud_rag_files.SPLIT, crud_rag_files.SUMMARY),
    "omnieval": ("all", "auto", f"{FINAL}/银行业务/零售银行/抽取类问答.jsonl", omnieval_files.record()),
    "omnieval ": ("corpus", "corpus", NODES, omnieval_files.node(1)),
}
LFS = b"version https://git-lfs.github.com/spec/v1"
UNREADABLE = [b"{", b"[" * 100_000, "答案".encode("gb18030"), LFS, b"7", b"null"]


def put(root: Path, name: str, *contents: bytes) -> Path:
    path = root / FILES[name][2]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\n".join(contents))
    return path


@pytest.mark.parametrize("bad", UNREADABLE)
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_record_is_named(tmp_path: Path, name: str, bad: bytes) -> None:
    config, split, _, good = FILES[name]
    whole = name == "crud_rag"
    path = put(tmp_path, name, *([] if whole else [json.dumps(good).encode()]), bad)
    assert refusal(name.strip(), config, split, tmp_path).startswith(str(path) if whole else f"{path}:2")


@pytest.mark.parametrize("name", ["rgb", "crag", "crud_rag"])
def test_an_id_that_stands_twice_is_named(tmp_path: Path, name: str) -> None:
    config, split, _, good = FILES[name]
    contents = [{"event_summary": [good] * 2}] if name == "crud_rag" else [good, good]
    path = put(tmp_path, name, *(json.dumps(each).encode() for each in contents))
    said = refusal(name, config, split, tmp_path)
    key = next(good[each] for each in ("id", "ID", "interaction_id") if each in good)
    assert said.startswith(str(path)) and f"id {key}" in said


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_not_there_or_empty_is_named(tmp_path: Path, name: str) -> None:
    config, split, file, _ = FILES[name]
    said = refusal(name.strip(), config, split, tmp_path)
    assert said.startswith(f"{tmp_path} lacks ") and (file in said or name.startswith("omnieval"))
    # By the script itself, as `datasets` 3.6 calls it.
    builder = catalogue.builder_class(name.strip())(config_name=config, data_dir=str(tmp_path))
    with pytest.raises(FileNotFoundError, match=str(tmp_path)):
        builder.download_and_prepare(output_dir=str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    path = put(tmp_path, name, b"", b" ")
    if not name.startswith("omnieval"):
        assert refusal(name, config, split, tmp_path).startswith(str(path))


FACT = "counterfactual_robustness_zh"
OPTIONS: list[tuple[str, str, dict[str, Any]]] = [
    *(("rgb", FACT, {"passage_num": value}) for value in (-1, 2.5, True)),
    *(("rgb", FACT, {"noise_ratio": value}) for value in (1.1, float("nan"), "0.2")),
    ("rgb", FACT, {"order": "random"}),
    ("rgb", FACT, {"correct_ratio": -0.1}),
    ("rgb", "noise_robustness_en", {"correct_ratio": 0.2}),
    *(("crag", "qa", {"release": value}) for value in ("v3", 5)),
    *(("crag", "qa", {"private_file": value}) for value in ("/absent", "")),
    *(("crud_rag", "corpus", {"gold": value}) for value in ("train", True, "")),
    ("crud_rag", "summary", {"gold": "test"}),
    ("crud_rag", "qa_1doc", {"whole": True}),
    ("omnieval", "all", {"train_dir": "nowhere"}),
    ("omnieval", "all", {"auto_dir": ""}),
    ("omnieval", "all", {"corpus_file": "."}),
    ("omnieval", "corpus", {"min_evaluation": 1}),
    *(("omnieval", "all", {"min_evaluation": value}) for value in (3, True, "2")),
]


@pytest.mark.parametrize(("name", "config", "options"), OPTIONS)
def test_bad_options_are_named_before_any_row(name: str, config: str, options: dict[str, Any]) -> None:
    said = refusal(name, config, catalogue.config(name, config).splits[0], **options)
    assert all(f"{option} is {value!r}" in said for option, value in options.items())


def test_options_that_do_not_fit_or_are_unknown() -> None:
    assert "4 noise and 2 correct" in refusal("rgb", FACT, "test", noise_ratio=0.8, correct_ratio=0.4)
    assert "noise_ratio" in refusal("rgb", FACT, "test", noise_rate=0.2)
