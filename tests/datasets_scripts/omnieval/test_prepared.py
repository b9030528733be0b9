"""OmniEval prepared: what is read from the cache, and the fingerprint of all files that decide rows."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from omnieval_files import FINAL, HUMAN, NODES, cell, node, put, record, rows

from quadrag.data import builders
from quadrag.data.prepare import prepare


def test_what_is_prepared_is_read_from_the_cache(own_cache: Path, whole: Path) -> None:
    done = prepare("omnieval", None, str(whole))
    assert done.built["all"] == {"train": 2, "auto": 192, "human": 4}
    assert done.built["conversational_qa"] == {"auto": 64, "human": 2}
    assert done.built["long_form_qa"] == {"auto": 32}
    assert done.built["corpus"] == {"corpus": 3}
    assert done.lacking == {}
    assert [reason.partition(" (")[0] for reason in done.partial["long_form_qa"]] == [
        "questions of train long_form_qa",
        "questions of human long_form_qa",
    ]
    for config, splits in done.built.items():
        for split in splits:
            builder, source = builders.open_builder("omnieval", config, split=split)
            assert source.text.endswith("; unverified), as prepared")
            expected = rows(config, split, whole)
            assert list(builders.rows(builder, split)) == list(builder.as_dataset(split=split)) == expected
    builder, source = builders.open_builder("omnieval", "all")
    assert builders.fingerprint(builder) == builders.fingerprint(
        builders.open_builder("omnieval", "all", str(whole))[0]
    )
    assert f"(train: 2 files of corpus/nodes_dir/gen_datas_train_final; auto: 80 files of {FINAL}; " in source.text
    assert f"human: {HUMAN}; unverified)" in source.text


def test_the_fingerprint_covers_every_file_that_decides_rows_and_options(whole: Path, tmp_path: Path) -> None:
    def fingerprint(config: str = "all", root: Path = whole, split: str | None = None, **options: Any) -> str:
        return builders.fingerprint(builders.open_builder("omnieval", config, str(root), options, split)[0])

    plain = fingerprint()
    shutil.copytree(whole, tmp_path / "copy")
    assert fingerprint(root=tmp_path / "copy") == plain
    by_split = {split: fingerprint(split=split) for split in ("train", "auto", "human")}
    assert len({plain, *by_split.values(), fingerprint(min_evaluation=1), fingerprint(min_evaluation=2)}) == 6
    assert fingerprint(split="auto", root=whole / FINAL) == by_split["auto"], "its place decides nothing"
    assert fingerprint(split="auto", auto_dir=str(whole / FINAL)) == by_split["auto"]
    contrast, corpus = fingerprint("contrast_qa", split="auto"), fingerprint("corpus")
    # Any of the eighty files.
    cell(whole, record("改过"), topic="fintech/ai", task="contrast_qa")
    assert fingerprint(split="auto") != by_split["auto"]
    assert fingerprint(split="human") == by_split["human"]
    assert fingerprint("contrast_qa", split="auto") != contrast
    extractive = fingerprint("extractive_qa", split="auto")
    cell(whole, record("又改"), topic="fintech/ai", task="contrast_qa")
    assert fingerprint("extractive_qa", split="auto") == extractive
    assert fingerprint("corpus") == corpus
    put(whole, f"corpus/nodes_dir/{NODES}", node(1))
    assert fingerprint("corpus") != corpus
