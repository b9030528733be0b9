"""Where CRAG's files are: layouts, releases, the example file, the private split, and what is lacking."""

from __future__ import annotations

import bz2
import hashlib
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from crag_files import EXAMPLE, FIVE, PARTS, QA, WITHHELD, lines, put, record, rows

from quadrag import catalogue
from quadrag.data import builders, files
from quadrag.errors import QuadragError


def test_every_layout_will_do(tmp_path: Path) -> None:
    sample = files.sample_dir("crag") / "data"
    names = [Path(name).name for name in (FIVE["v5"], *PARTS["v5"])]
    expected = {config: rows(config, "public") for config in catalogue.configs("crag")}
    root, joined = tmp_path / "root", tmp_path / "joined"
    (root / "data").mkdir(parents=True)
    joined.mkdir()
    for name in names:
        shutil.copy(sample / name, root / "data" / name)
    for folder in (root, root / "data"):
        assert {config: rows(config, "public", folder) for config in expected} == expected
    # As the authors' instructions leave them: unpacked, and joined.
    (joined / names[0].removesuffix(".bz2")).write_bytes(bz2.decompress((sample / names[0]).read_bytes()))
    whole = joined / "crag_task_3_dev_v5.tar.bz2"
    whole.write_bytes(b"".join((sample / name).read_bytes() for name in names[1:]))
    assert {config: rows(config, "public", joined) for config in expected} == expected
    _, source = builders.open_builder("crag", "task_3", str(joined))
    assert source.text == f"{joined} (crag_task_3_dev_v5.tar.bz2: unverified)"
    # A part that was left beside the joined archive is not read as well.
    shutil.copy(sample / names[1], joined / names[1])
    assert rows("task_3", "public", joined) == expected["task_3"]


def test_missing_files_are_named(tmp_path: Path) -> None:
    put(tmp_path, b"", PARTS["v5"][1])
    put(tmp_path, b"", PARTS["v5"][3])
    with pytest.raises(QuadragError) as caught:
        builders.open_builder("crag", "task_3", str(tmp_path), split="public")
    absent = f"{PARTS['v5'][0]}, {PARTS['v5'][2]}"
    assert str(caught.value) == f"{tmp_path} lacks {absent}, which crag task_3 needs"
    with pytest.raises(QuadragError, match=rf"lacks {FIVE['v4']}, {re.escape(WITHHELD)}, which crag qa needs"):
        builders.open_builder("crag", "qa", str(tmp_path), {"release": "v4"})
    # By the script itself, as `datasets` 3.6 calls it.
    builder = catalogue.builder_class("crag")(config_name="qa", data_dir=str(tmp_path))
    with pytest.raises(FileNotFoundError, match=rf"{tmp_path} lacks {FIVE['v5']}, {re.escape(WITHHELD)}"):
        builder.download_and_prepare(output_dir=str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_releases_are_kept_apart(tmp_path: Path) -> None:
    put(tmp_path, bz2.compress(lines(record(1, query="five?"))))
    put(tmp_path, bz2.compress(lines(record(1, query="four?"))), FIVE["v4"])
    assert [rows("qa", "public", tmp_path, release=each)[0]["query"] for each in ("v5", "v4")] == ["five?", "four?"]
    prints = [
        builders.fingerprint(builders.open_builder("crag", "qa", str(tmp_path), {"release": each})[0])
        for each in ("v5", "v4")
    ]
    assert prints[0] != prints[1]


def test_the_example_stands_in_where_nothing_else_is_there(tmp_path: Path) -> None:
    put(tmp_path, bz2.compress(lines(record(1), record(3))), EXAMPLE)
    for config in ("qa", "task_1_2"):
        builder, source = builders.open_builder("crag", config, str(tmp_path))
        assert source.text == (
            f"{tmp_path} (the example file dev_data.jsonl.bz2 in place of {Path(FIVE['v5']).name}; "
            "dev_data.jsonl.bz2: unverified)"
        )
        assert builders.splits(builder) == ["public"]
        assert [row["id"] for row in builders.rows(builder, "public")] == ["id-1", "id-3"]
    held = f"{tmp_path} lacks rows of validation in dev_data.jsonl.bz2 (it holds public), which crag qa needs"
    held += "; the split public is there"
    with pytest.raises(QuadragError, match=re.escape(held)):
        builders.open_builder("crag", "qa", str(tmp_path), split="validation")
    with pytest.raises(QuadragError, match=rf"lacks {PARTS['v5'][0]}, .*, which crag task_3 needs"):
        builders.open_builder("crag", "task_3", str(tmp_path))
    assert rows("qa", "public", tmp_path, release="v4") == rows("qa", "public", tmp_path)
    # A true file, of whichever release, and the example stands in no longer.
    put(tmp_path, bz2.compress(lines(record(5))), FIVE["v4"])
    assert [row["id"] for row in rows("qa", "public", tmp_path, release="v4")] == ["id-5"]
    with pytest.raises(QuadragError, match=rf"lacks {FIVE['v5']}, which crag qa needs"):
        rows("qa", "public", tmp_path)


def test_the_pinned_example_counts_as_upstream_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, bz2.compress(lines(record(1))), EXAMPLE)
    content = (tmp_path / EXAMPLE).read_bytes()
    cls = catalogue.builder_class("crag")
    facts = (len(content), hashlib.sha256(content).hexdigest(), None)
    monkeypatch.setattr(cls, "FILES", {**cls.FILES, EXAMPLE: facts})
    assert builders.open_builder("crag", "qa", str(tmp_path))[1].text.endswith("v5.jsonl.bz2; the authors' own files)")


def test_a_split_without_a_row_is_left_out_and_named(tmp_path: Path) -> None:
    put(tmp_path, bz2.compress(lines(record(0), record(2))))
    builder, _ = builders.open_builder("crag", "task_1_2", str(tmp_path))
    assert builders.splits(builder) == ["validation"]
    with pytest.raises(
        QuadragError, match=r"lacks rows of public in .* \(it holds validation\), .*; the split validation is there"
    ):
        rows("task_1_2", "public", tmp_path)


def test_the_private_split_says_that_it_is_withheld(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path))
    for config in catalogue.configs("crag"):
        with pytest.raises(QuadragError) as caught:
            rows(config, "private")
        lacking = f"{files.sample_dir('crag')} lacks {WITHHELD}, which crag {config} needs"
        assert str(caught.value).startswith(lacking)
        # Before anything is fetched.
        with pytest.raises(QuadragError, match=re.escape(f"crag {config} lacks {WITHHELD}")):
            builders.open_builder("crag", config, split="private")
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("packed", [False, True])
def test_the_private_split_comes_from_the_user_s_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    own = tmp_path / "held back.jsonl"
    text = lines(record(0, split=2), {k: v for k, v in record(1).items() if k not in ("answer", "split")})
    own.write_bytes(bz2.compress(text) if packed else text)
    for folder in (builders.SAMPLE, str(put(tmp_path, b"", EXAMPLE))):
        found = rows("task_1_2", "private", folder, private_file=str(own))
        assert [(row["id"], row["answer"], len(row["page_result"])) for row in found] == [
            ("id-0", "she", 2),
            ("id-1", None, 2),
        ]
        assert rows("qa", "private", folder, private_file=own) == [{key: row[key] for key in QA} for row in found]
    builder, source = builders.open_builder("crag", "qa", str(tmp_path), {"private_file": str(own)}, "private")
    assert source.text == f"{tmp_path} (held back.jsonl: unverified)"
    assert builders.splits(builder) == ["private"]
    builder, _ = builders.open_builder("crag", "qa", builders.SAMPLE, {"private_file": str(own)})
    assert builders.splits(builder) == ["validation", "public", "private"]
    assert list(builders.rows(builder, "public")) == rows("qa", "public")
    # With no folder named, nothing needs to be fetched for it.
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("QUADRAG_MIRROR", "http://127.0.0.1:9")  # nothing listens there
    builder, source = builders.open_builder("crag", "qa", None, {"private_file": str(own)}, "private")
    assert source.text == str(own)
    assert [row["id"] for row in builders.rows(builder, "private")] == ["id-0", "id-1"]


def test_the_private_file_s_content_is_in_the_fingerprint_and_its_place_is_not(tmp_path: Path) -> None:
    def fingerprint(path: Path | None, split: str | None) -> str:
        options = {} if path is None else {"private_file": str(path)}
        return builders.fingerprint(builders.open_builder("crag", "qa", builders.SAMPLE, options, split)[0])

    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(lines(record(1)))
    shutil.copy(one, two)
    assert fingerprint(one, "private") == fingerprint(two, "private")
    assert fingerprint(one, "public") == fingerprint(None, "public")
    assert len({fingerprint(one, "private"), fingerprint(one, None), fingerprint(None, None)}) == 3
    two.write_bytes(lines(record(1, query="else?")))
    assert fingerprint(one, "private") != fingerprint(two, "private")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"release": "v3"}, "crag qa: release is 'v3'; expected 'v5' or 'v4'"),
        ({"release": 5}, "crag qa: release is 5; expected 'v5' or 'v4'"),
        ({"private_file": "/absent"}, "crag qa: private_file is '/absent', which is no file; expected JSON Lines or a"),
        ({"private_file": ""}, "crag qa: private_file is '', which is no file; expected JSON Lines or a tar"),
        ({"private": "x"}, "unknown option of crag 'private'; nearest: private_file"),
    ],
)
def test_bad_options_are_named_before_any_row(options: dict[str, Any], message: str) -> None:
    with pytest.raises(QuadragError) as caught:
        builders.open_builder("crag", "qa", builders.SAMPLE, options)
    assert str(caught.value).startswith(message)
