"""`quadrag prepare` as a user meets it: what it builds of a folder's files, and what it says of those that lack."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from prepared_data import other_data, sample

from quadrag import catalogue
from quadrag.data import builders
from quadrag.data.files import sample_dir
from quadrag.data.prepare import prepare

Process = Callable[..., "subprocess.CompletedProcess[str]"]
Environment = Callable[..., dict[str, str]]


@pytest.mark.slow
def test_a_partial_folder_builds_what_it_holds_and_names_what_it_lacks(
    quadrag: Process, environment: Environment, tmp_path: Path
) -> None:
    folder = other_data(tmp_path / "partial")
    done = quadrag("prepare", "rgb", "--data-dir", folder, env=environment())
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "noise_robustness_zh: noise_0 12, noise_20 12, noise_40 12, noise_60 12, noise_80 12" in lines
    assert "negative_rejection_zh: test 12" in lines
    assert f"information_integration_zh: not built, {folder} lacks zh_int.json" in lines
    assert sum("not built" in line for line in lines) == 10
    done = quadrag("prepare", "rgb", "--config", "information_integration_en", "--data-dir", folder, env=environment())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"quadrag: {folder} holds none of the files of rgb: lacking en_int.json\n"


@pytest.mark.slow
def test_keys_that_a_file_lacks_leave_their_configs_out(
    quadrag: Process, environment: Environment, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    split, full = root / "data/crud_split/split_merged.json", root / "data/crud/merged.zip"
    shutil.copytree(sample_dir("crud_rag"), root)
    content = json.loads(split.read_text(encoding="utf-8"))
    kept = {key: content[key] for key in ("event_summary", "questanswer_1doc")}
    split.write_text(json.dumps(kept), encoding="utf-8")
    full.unlink()
    (root / "src/quest_eval/Summary_quest_gt_save.json").unlink()
    done = quadrag("prepare", "crud_rag", "--data-dir", root, env=environment())
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert f"summary: test {len(kept['event_summary'])}" in lines
    assert f"qa_1doc: test {len(kept['questanswer_1doc'])}" in lines
    assert f"corpus: corpus {len(sample('corpus', 'corpus', 'crud_rag'))}" in lines
    held = "data/crud_split/split_merged.json (it holds event_summary, questanswer_1doc), data/crud/merged.zip"
    assert f"continuation: not built, {root} lacks continuing_writing in {held}" in lines
    assert f"hallucination: not built, {root} lacks hallu_modified in {held}" in lines
    assert sum("not built" in line for line in lines) == 4
    done = quadrag("prepare", "crud_rag", "--config", "hallucination", "--data-dir", root, env=environment())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"quadrag: {root} holds none of the files of crud_rag: lacking data/crud/merged.zip")
    # A broken file is no lacking one.
    full.write_bytes(b"PK\3\4 cut short")
    done = quadrag("prepare", "crud_rag", "--data-dir", root, env=environment())
    assert done.returncode == 2
    assert done.stderr == f"quadrag: {full} is no whole zip (File is not a zip file); fetch it again\n"


def test_what_a_config_was_built_without_is_named(own_cache: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    shutil.copytree(sample_dir("crud_rag"), root)
    (root / "data/crud/merged.zip").unlink()
    for name in ("ContinueWriting", "Summary"):
        (root / f"src/quest_eval/{name}_quest_gt_save.json").unlink()
    done = prepare("crud_rag", None, str(root))
    assert done.lacking == {}
    assert list(done.built) == list(catalogue.configs("crud_rag"))
    assert list(done.built["ragquesteval"]) == ["qa_1doc", "qa_2doc", "qa_3doc", "hallucination"]
    assert done.partial == {
        **{name: ["data/crud/merged.zip"] for name in list(done.built)[:6]},
        "corpus": [
            "documents_dup_part_1_part_3 to documents_dup_part_15_part_3",
            "documents_hallu.txt_part_2 to documents_hallu.txt_part_3",
        ],
        "ragquesteval": [
            "src/quest_eval/ContinueWriting_quest_gt_save.json",
            "src/quest_eval/Summary_quest_gt_save.json",
        ],
    }
    assert prepare("rgb", "noise_robustness_zh", builders.SAMPLE).partial == {}


@pytest.mark.slow
def test_real_crud_rag_files_build(
    quadrag: Process, python: Process, environment: Environment, real_data: Callable[[str], Path]
) -> None:
    root = real_data("CRUD_RAG")
    if (root / "data/crud/merged.zip").exists() or not (root / "data/80000_docs").is_dir():
        pytest.skip("not the files of the real-data pack")
    done = quadrag("prepare", "crud_rag", "--data-dir", root, env=environment())
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "summary: test 900" in lines
    assert "corpus: corpus 68126" in lines
    assert "ragquesteval: qa_1doc 800, qa_2doc 800" in lines
    assert sum(line.endswith("(it holds event_summary), data/crud/merged.zip") for line in lines) == 5
    code = """
from datasets import load_dataset
corpus = load_dataset("crud_rag", "corpus", split="corpus")
print(len(corpus), corpus[-1]["file"], corpus[-1]["line"])
"""
    loaded = python(code, env=environment())
    assert loaded.stdout == "68126 documents_hallu.txt_part_3 1710\n", loaded.stderr


@pytest.mark.slow
def test_real_partial_files_build(quadrag: Process, environment: Environment, real_data: Callable[[str], Path]) -> None:
    root = real_data("RGB")
    done = quadrag("prepare", "rgb", "--data-dir", root, env=environment())
    assert done.returncode == 0, done.stderr
    for name, config in catalogue.configs("rgb").items():
        (file,) = config.files
        path = root / "data" / file
        if path.is_file():
            count = sum(1 for _ in path.open(encoding="utf-8"))
            assert f"{name}: " + ", ".join(f"{split} {count}" for split in config.splits) in done.stdout.splitlines()
        else:
            assert f"{name}: not built, {root} lacks {file}" in done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rgbb", "--data-dir", "sample"), "unknown benchmark 'rgbb'; nearest: rgb"),
        (("rgb", "--config", "noise_robustnes_zh"), "unknown config of rgb 'noise_robustnes_zh'; nearest: noise_robu"),
        (("rgb", "--data-dir", "/absent/folder"), "no folder '/absent/folder'; expected the files of rgb or the root"),
        (("rgb", "--data-dir", ""), "no folder ''; expected the files of rgb or the root"),
    ],
)
def test_bad_arguments_get_one_line(
    quadrag: Process, environment: Environment, arguments: tuple[str, ...], message: str
) -> None:
    done = quadrag("prepare", *arguments, env=environment())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"quadrag: {message}")
    assert done.stderr.count("\n") == 1


def test_a_bad_file_gets_one_line_and_leaves_nothing(
    quadrag: Process, environment: Environment, tmp_path: Path
) -> None:
    folder = other_data(tmp_path / "bad")
    with (folder / "zh_refine.json").open("a", encoding="utf-8") as file:
        file.write("\n{'id': 12}\n")
    done = quadrag("prepare", "rgb", "--config", "noise_robustness_zh", "--data-dir", folder, env=environment())
    assert done.returncode == 2
    assert done.stderr.startswith(f"quadrag: {folder / 'zh_refine.json'}:13 is not JSON")
    assert done.stderr.count("\n") == 1
    cache = tmp_path / "home" / "huggingface" / "datasets"
    assert not [path for path in cache.rglob("*") if path.suffix in (".arrow", ".json", ".part")]
