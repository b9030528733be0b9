"""The dataset script `crag`: golden rows of the bundled sample, oddities, layouts, releases, private split, downloads.

The golden file was written once, by ``cd tests/datasets_scripts; python test_crag.py > new.json; mv new.json
crag_golden.json``, and then read against the sample; do so again only after a meant change, and read the change.
"""

from __future__ import annotations

import bz2
import hashlib
import json
import random
import re
import shutil
import sys
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from quadrag import catalogue
from quadrag.data import builders, download, files
from quadrag.data.prepare import prepare
from quadrag.errors import QuadragError

GOLDEN = Path(__file__).parent / "crag_golden.json"
FIVE = {release: f"data/crag_task_1_and_2_dev_{release}.jsonl.bz2" for release in ("v5", "v4")}
PARTS = {
    "v5": [f"data/crag_task_3_dev_v5.tar.bz2.part{number}" for number in range(4)],
    "v4": [f"data/crag_task_3_dev_v4.tar.bz2.part{number}" for number in range(1, 5)],
}
EXAMPLE = "example_data/dev_data.jsonl.bz2"
WITHHELD = "the split private (withheld upstream: name a file of yours by the option private_file)"
QA = ["id", "query_time", "domain", "question_type", "static_or_dynamic", "popularity", "query", "answer"]
QA += ["alternatives"]
PAGED = [*QA, "search_results", "page_result"]


def rows(config: str, split: str, data_dir: str | Path = builders.SAMPLE, **options: Any) -> list[dict[str, Any]]:
    builder, _ = builders.open_builder("crag", config, str(data_dir), options, split)
    return list(builders.rows(builder, split))


def record(number: int = 0, **changes: Any) -> dict[str, Any]:
    """One line of upstream's form."""
    page = {"page_name": "n", "page_url": "u", "page_snippet": "s", "page_result": "<p>r</p>", "page_last_modified": ""}
    return {
        **{"interaction_id": f"id-{number}", "query_time": "03/13/2024, 09:30:59 PT", "domain": "open"},
        **{"question_type": "simple", "static_or_dynamic": "static", "query": "who?", "answer": "she"},
        **{
            "alt_ans": [],
            "split": number % 2,
            "popularity": "head",
            "search_results": [page, page | {"page_url": "v"}],
        },
        **changes,
    }


def lines(*records: Any) -> bytes:
    return "".join(json.dumps(each) + "\n" for each in records).encode()


def put(root: Path, content: bytes, name: str = FIVE["v5"]) -> Path:
    """Write a file below a root; returns the root."""
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_bytes(content)
    return root


def one(tmp_path: Path, config: str = "task_1_2", **changes: Any) -> dict[str, Any]:
    """The row of one record."""
    put(tmp_path, bz2.compress(lines(record(**changes))))
    (row,) = rows(config, "validation", tmp_path)
    return row


def golden(config: str, split: str) -> dict[str, Any]:
    """What the golden file keeps of a split: all of it as a digest, and three rows to read."""

    def short(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: short(item) for key, item in value.items()}
        if isinstance(value, list):
            return [short(item) for item in value[:2]]
        return value if not isinstance(value, str) or len(value) <= 48 else value[:48] + "…"

    found = rows(config, split)
    text = "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in found)
    places = (("first", 0), ("middle", len(found) // 2), ("last", -1))
    shown = {place: short(found[at]) for place, at in places}
    return {"count": len(found), "sha256": hashlib.sha256(text.encode()).hexdigest(), **shown}


def all_golden() -> dict[str, dict[str, Any]]:
    return {
        name: {split: golden(name, split) for split in ("validation", "public")} for name in catalogue.configs("crag")
    }


EXPECTED = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}


@pytest.mark.parametrize(("config", "split"), [(config, split) for config in EXPECTED for split in EXPECTED[config]])
def test_golden_rows(config: str, split: str) -> None:
    assert golden(config, split) == EXPECTED[config][split]


def test_configs_splits_and_columns() -> None:
    assert list(EXPECTED) == list(catalogue.configs("crag")) == ["qa", "task_1_2", "task_3"]
    for name, config in catalogue.configs("crag").items():
        assert config.splits == ["validation", "public", "private"]
        assert config.description
        builder, _ = builders.open_builder("crag", name, builders.SAMPLE)
        assert builders.splits(builder) == ["validation", "public"]
        assert list(builder.info.features) == (QA if name == "qa" else PAGED)
    with pytest.raises(ValueError, match="task_1_2"):
        catalogue.builder_class("crag")()


def test_the_sample_is_of_one_piece() -> None:
    """The three configs hold the same questions, the pages stand beside their HTML, and qa is task_1_2 without them."""
    for split in ("validation", "public"):
        few, paged, many = (rows(config, split) for config in catalogue.configs("crag"))
        assert few == [{key: row[key] for key in QA} for row in paged]
        assert len({row["id"] for row in few}) == len(few) > 0
        assert all(len(row["search_results"]) == len(row["page_result"]) for row in [*paged, *many])
        assert {row["id"] for row in many} <= {row["id"] for row in few}
        assert all(
            set(page) == {"page_name", "page_url", "page_snippet", "page_last_modified"}
            for page in paged[0]["search_results"]
        )


def test_files_are_the_pinned_ones_in_the_parts_order() -> None:
    cls = catalogue.builder_class("crag")
    used = {EXAMPLE}
    for release in ("v5", "v4"):
        for name in catalogue.configs("crag"):
            config = cls(config_name=name, release=release).config
            expected = PARTS[release] if name == "task_3" else [FIVE[release]]
            assert config.files == config.files_of("public") == config.files_of("validation") == expected
            assert config.files_of("private") == []
            used |= set(expected)
    assert used == set(cls.FILES)
    record = Path(__file__).resolve().parents[3] / "shared" / "specs" / "upstream_files.csv"
    if record.is_file():
        table = [line.split(",") for line in record.read_text(encoding="utf-8").splitlines()]
        facts = {row[3]: row for row in table if row[0] == "crag"}
        for name, (size, sha256, blob) in cls.FILES.items():
            row = facts[name]
            assert [str(size), sha256, blob or ""] == row[4:7]
            if name != EXAMPLE:
                assert row[7] == "lfs"
                assert cls.URL + name == "https://media.githubusercontent.com/media/{1}/{2}/{3}".format(*row)


# --- rows ------------------------------------------------------------------------------------------------------------


def test_what_a_row_holds(tmp_path: Path) -> None:
    expected = {
        **{"id": "id-0", "query_time": "03/13/2024, 09:30:59 PT", "domain": "open", "question_type": "simple"},
        **{"static_or_dynamic": "static", "popularity": "head", "query": "who?", "answer": "she", "alternatives": []},
    }
    assert one(tmp_path, "qa") == expected
    page = {"page_name": "n", "page_url": "u", "page_snippet": "s", "page_last_modified": ""}
    paged = {"search_results": [page, page | {"page_url": "v"}], "page_result": ["<p>r</p>"] * 2}
    assert one(tmp_path) == expected | paged
    assert list(one(tmp_path)) == PAGED


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"answer": "nan"}, {"answer": "nan"}),
        ({"answer": float("nan")}, {"answer": "nan"}),
        ({"answer": None}, {"answer": None}),
        ({"answer": 12}, {"answer": "12"}),
        ({"answer": ""}, {"answer": ""}),
        ({"answer": "[1, 2]"}, {"answer": "[1, 2]"}),
        ({"answer": ["a", ["b", "c"]], "alt_ans": ["d", "b"]}, {"answer": "a", "alternatives": ["b", "c", "d"]}),
        ({"answer": []}, {"answer": None, "alternatives": []}),
        ({"alt_ans": None, "alternative_answers": "['a']"}, {"alternatives": ["a"]}),
        ({"alt_ans": ["a", "b"], "alternative_answers": '["b", "c"]'}, {"alternatives": ["a", "b", "c"]}),
        ({"popularity": ""}, {"popularity": "web"}),
        ({"popularity": None}, {"popularity": None}),
        ({"popularity": float("nan")}, {"popularity": None}),
        ({"domain": None, "query_time": float("nan")}, {"domain": None, "query_time": None}),
        ({"split": "0"}, {"id": "id-0"}),
        ({"question_type": "post-processing heavy"}, {"question_type": "post-processing heavy"}),
        ({"query": "caf\u00e9 \ud83d"}, {"query": "caf\u00e9 \ufffd"}),
        ({"search_results": None}, {"search_results": [], "page_result": []}),
        ({"search_results": []}, {"search_results": [], "page_result": []}),
        (
            {"search_results": [{"page_result": None, "page_last_modified": " Tue, 27 Feb 2024 22:55:55 GMT"}, {}]},
            {
                "search_results": [
                    dict.fromkeys(("page_name", "page_url", "page_snippet"), "")
                    | {"page_last_modified": " Tue, 27 Feb 2024 22:55:55 GMT"},
                    dict.fromkeys(("page_name", "page_url", "page_snippet", "page_last_modified"), ""),
                ],
                "page_result": ["", ""],
            },
        ),
        (
            {"search_results": [{"page_result": "\ud83d\ude00 \udc00 \x00 \u2028"}]},
            {"page_result": ["\U0001f600 \ufffd \x00 \u2028"]},
        ),
    ],
)
def test_oddities_are_taken(tmp_path: Path, changes: dict[str, Any], expected: dict[str, Any]) -> None:
    row = one(tmp_path, **changes)
    assert {key: row[key] for key in expected} == expected
    row_of_qa = one(tmp_path, "qa", **changes)
    assert row_of_qa == {key: row[key] for key in QA}


def test_odd_rows_are_written_and_read_back(tmp_path: Path) -> None:
    """What Arrow cannot hold would fail here."""
    odd = [
        record(0, answer=float("nan"), popularity="", search_results=[{"page_result": "\ud800\x00\U0001f600"}]),
        record(2, answer=None, alt_ans="[nan, '\\ud800']", search_results=[]),
    ]
    put(tmp_path, bz2.compress(lines(*odd)))
    builder, _ = builders.open_builder("crag", "task_1_2", str(tmp_path))
    builder.download_and_prepare(output_dir=str(tmp_path / "out"))
    assert list(builder.as_dataset(split="validation")) == rows("task_1_2", "validation", tmp_path)


def test_keys_that_v4_and_the_example_lack(tmp_path: Path) -> None:
    bare = {key: value for key, value in record().items() if key not in ("popularity", "alt_ans")}
    put(tmp_path, bz2.compress(lines(bare)), FIVE["v4"])
    (row,) = rows("qa", "validation", tmp_path, release="v4")
    assert (row["popularity"], row["alternatives"]) == (None, [])


def test_line_ends_blank_lines_and_a_byte_order_mark(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbf" + lines(record(0)).replace(b"\n", b"\r\n") + b"\n  \r\n" + lines(record(2)).rstrip()
    assert [row["id"] for row in rows("qa", "validation", put(tmp_path, bz2.compress(text)))] == ["id-0", "id-2"]


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in record(3).items() if name != key}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([1], " is a list; expected an object"),
        (without("interaction_id"), ": no interaction_id, only the keys query_time, domain, question_type, st"),
        (record(3, interaction_id=""), ": interaction_id is ''; expected a text"),
        (record(3, interaction_id=7), ": interaction_id is 7; expected a text"),
        (record(3, interaction_id="id-1"), ": id-1 stands in {path}:1 too; expected unique ids"),
        (without("query"), ": no query, only the keys interaction_id,"),
        (record(3, query=None), ": query is None; expected a text"),
        (without("answer"), " has no answer; found the keys interaction_id, query_time"),
        (without("split"), " has no split; found the keys interaction_id, query_time"),
        (record(3, split=2), ": split is 2; expected 0 (validation) or 1 (public)"),
        (record(3, split=True), ": split is True; expected 0 (validation) or 1 (public)"),
        (record(3, split=None), ": split is None; expected 0 (validation) or 1 (public)"),
        (without("search_results"), " has no search_results; expected a list of pages, each an object"),
        (record(3, search_results="[]"), " has search_results of another kind; expected a list of pages, each an"),
        (record(3, search_results=["a"]), " has search_results of another kind; expected a list of pages, each an"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, bad: Any, message: str) -> None:
    put(tmp_path, bz2.compress(lines(record(1)) + b"\n" + lines(bad)))
    path = tmp_path / FIVE["v5"]
    with pytest.raises(QuadragError) as caught:
        rows("task_1_2", "public", tmp_path)
    assert str(caught.value).startswith(f"{path}:3{message.format(path=path)}")


# --- where the files are ---------------------------------------------------------------------------------------------


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
    assert source == f"{joined} (crag_task_3_dev_v5.tar.bz2: not upstream's pinned file)"
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
        assert source == (
            f"{tmp_path} (the example file dev_data.jsonl.bz2 in place of {Path(FIVE['v5']).name}; "
            "dev_data.jsonl.bz2: not upstream's pinned file)"
        )
        assert builders.splits(builder) == ["public"]
        assert [row["id"] for row in builders.rows(builder, "public")] == ["id-1", "id-3"]
    held = f"{tmp_path} lacks rows of validation in dev_data.jsonl.bz2 (it holds public), which crag qa needs"
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
    assert builders.open_builder("crag", "qa", str(tmp_path))[1].endswith("v5.jsonl.bz2; upstream's pinned files)")


def test_a_split_without_a_row_is_left_out_and_named(tmp_path: Path) -> None:
    put(tmp_path, bz2.compress(lines(record(0), record(2))))
    builder, _ = builders.open_builder("crag", "task_1_2", str(tmp_path))
    assert builders.splits(builder) == ["validation"]
    with pytest.raises(QuadragError, match=r"lacks rows of public in .* \(it holds validation\), which crag task_1_2"):
        rows("task_1_2", "public", tmp_path)


# --- the private split -----------------------------------------------------------------------------------------------


def test_the_private_split_says_that_it_is_withheld(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path))
    for config in catalogue.configs("crag"):
        with pytest.raises(QuadragError) as caught:
            rows(config, "private")
        assert str(caught.value) == f"{files.sample_dir('crag')} lacks {WITHHELD}, which crag {config} needs"
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
    assert source == f"{tmp_path} (held back.jsonl: not upstream's pinned file)"
    assert builders.splits(builder) == ["private"]
    builder, _ = builders.open_builder("crag", "qa", builders.SAMPLE, {"private_file": str(own)})
    assert builders.splits(builder) == ["validation", "public", "private"]
    assert list(builders.rows(builder, "public")) == rows("qa", "public")
    # With no folder named, nothing needs to be fetched for it.
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("QUADRAG_MIRROR", "http://127.0.0.1:9")  # nothing listens there
    builder, source = builders.open_builder("crag", "qa", None, {"private_file": str(own)}, "private")
    assert source == str(own)
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


# --- built, streamed, downloaded -------------------------------------------------------------------------------------

LOADED = [("qa", "public"), ("task_1_2", "validation"), ("task_3", "public"), ("qa", "private")]


def with_private(split: str, tmp_path: Path) -> dict[str, Any]:
    if split != "private":
        return {}
    (tmp_path / "own.jsonl").write_bytes(lines(record(1), record(2)))
    return {"private_file": str(tmp_path / "own.jsonl")}


@pytest.mark.parametrize("streaming", [False, True], ids=["built", "streamed"])
@pytest.mark.parametrize(("config", "split"), LOADED)
def test_datasets_3_runs_the_script_folder(tmp_path: Path, config: str, split: str, streaming: bool) -> None:
    import datasets

    if int(datasets.__version__.split(".")[0]) >= 4:
        pytest.skip(f"datasets {datasets.__version__} runs no scripts; 3.6.0 does")
    options = with_private(split, tmp_path)
    folder = catalogue.benchmarks()["crag"].parent
    loaded = datasets.load_dataset(
        str(folder),
        config,
        split=split,
        streaming=streaming,
        trust_remote_code=True,
        data_dir=str(folder / "sample"),
        **options,
    )
    assert list(loaded) == rows(config, split, **options)


@pytest.mark.parametrize(("config", "split"), LOADED)
def test_built_streamed_and_read_rows_are_the_same(tmp_path: Path, config: str, split: str) -> None:
    options = with_private(split, tmp_path)
    builder = catalogue.builder_class("crag")(config_name=config, **options)
    builders.point_to(builder, files.sample_dir("crag"))
    expected = rows(config, split, **options)
    assert list(builder.as_streaming_dataset(split=split)) == expected
    builder.download_and_prepare(output_dir=str(tmp_path / "out"))
    assert list(builder.as_dataset(split=split)) == expected


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path / "cache"


def test_what_is_prepared_is_read_from_the_cache(own_cache: Path, tmp_path: Path) -> None:
    shutil.copytree(files.sample_dir("crag"), tmp_path / "root")
    done = prepare("crag", None, str(tmp_path / "root"))
    assert {name: list(splits) for name, splits in done.built.items()} == {
        name: ["validation", "public"] for name in catalogue.configs("crag")
    }
    assert done.partial == {name: [WITHHELD] for name in done.built}
    for config in done.built:
        for split in ("validation", "public"):
            builder, source = builders.open_builder("crag", config, split=split)
            assert source.endswith("not upstream's pinned file), as prepared")
            assert list(builders.rows(builder, split)) == rows(config, split)


@pytest.mark.slow
def test_nothing_is_left_of_a_broken_archive(own_cache: Path, tmp_path: Path) -> None:
    """The first rows are whole; the fault is found at the end, and named."""
    large = (random.Random(number).randbytes(200_000).hex() for number in range(8))
    records = [record(n, search_results=[{"page_result": text}]) for n, text in enumerate(large)]
    content = bz2.compress(lines(*records))
    path = put(tmp_path / "root", content[:-5]) / FIVE["v5"]
    with pytest.raises(QuadragError) as caught:
        prepare("crag", "task_1_2", str(tmp_path / "root"))
    assert str(caught.value) == f"{path} is cut short, its bzip2 data do not end; fetch it again"
    assert [each for each in own_cache.rglob("*") if each.is_file() and each.suffix != ".lock"] == []
    assert [each for each in own_cache.iterdir() if each.name.startswith("quadrag-")] == []
    # What came before the fault can be streamed.
    found = builders.rows(builders.open_builder("crag", "task_1_2", str(tmp_path / "root"))[0], "public")
    assert [next(found)["id"] for _ in range(2)] == ["id-1", "id-3"]
    with pytest.raises(QuadragError, match="is cut short"):
        list(found)


DOWNLOAD = """
import json, sys
from pathlib import Path
from quadrag import catalogue
path, config, split, streaming = sys.argv[1:]
builder = catalogue.load_script(Path(path)).Crag(config_name=config)
try:
    if streaming == "True":
        rows = list(builder.as_streaming_dataset(split=split))
    else:
        builder.download_and_prepare()
        rows = list(builder.as_dataset(split=split))
except Exception as error:
    while error.__cause__:
        error = error.__cause__
    rows = f"{type(error).__name__}: {error}"
print(json.dumps(rows))
"""


@pytest.fixture
def upstream() -> Any:
    """A server that has the sample where upstream has its files."""
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(files.sample_dir("crag")))
    )
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def facts(name: str) -> tuple[int, str, None]:
    content = (files.sample_dir("crag") / name).read_bytes()
    return len(content), hashlib.sha256(content).hexdigest(), None


@pytest.mark.slow
@pytest.mark.parametrize("streaming", [False, True], ids=["built", "streamed"])
@pytest.mark.parametrize("config", ["qa", "task_3"])
def test_without_a_folder_the_script_downloads_and_verifies(
    tmp_path: Path,
    python: Callable[..., Any],
    environment: Callable[..., dict[str, str]],
    upstream: str,
    config: str,
    streaming: bool,
) -> None:
    import datasets

    if streaming and int(datasets.__version__.split(".")[0]) >= 4:
        pytest.skip(f"datasets {datasets.__version__} streams no remote file; quadrag gives it a folder")
    text = catalogue.benchmarks()["crag"].read_text(encoding="utf-8")
    text, changed = re.subn('^_URL = ".*"', f'_URL = "{upstream}"', text, flags=re.M)
    assert changed == 1
    (tmp_path / "crag_wrong.py").write_text(text, encoding="utf-8")
    pinned = catalogue.builder_class("crag").FILES
    for name in (FIVE["v5"], *PARTS["v5"]):
        old, new = pinned[name], facts(name)
        assert text.count(f'({old[0]}, "{old[1]}"') == 1
        text = text.replace(f'({old[0]}, "{old[1]}"', f'({new[0]}, "{new[1]}"')
    (tmp_path / "crag_right.py").write_text(text, encoding="utf-8")
    env = environment(HF_HUB_OFFLINE=None)
    right = python(DOWNLOAD, tmp_path / "crag_right.py", config, "public", streaming, env=env)
    assert json.loads(right.stdout) == rows(config, "public"), right.stderr
    if not streaming:
        wrong = json.loads(python(DOWNLOAD, tmp_path / "crag_wrong.py", config, "public", streaming, env=env).stdout)
        name = FIVE["v5"] if config == "qa" else PARTS["v5"][0]
        found, expected = ("{} bytes, sha256 {}".format(*each) for each in (facts(name), pinned[name]))
        assert wrong == f"ValueError: {upstream}{name}: {found}, expected {expected}; removed, load it again"


def test_quadrag_fetches_verifies_and_names_a_wrong_part(
    tmp_path: Path, upstream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cls = catalogue.builder_class("crag")
    here = {name: facts(name) for name in PARTS["v5"]}
    wrong = (here[PARTS["v5"][2]][0], "0" * 64, None)
    monkeypatch.setattr(cls, "URL", upstream)
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path))
    monkeypatch.setattr(cls, "FILES", {**cls.FILES, **here, PARTS["v5"][2]: wrong})
    fetched = tmp_path / "upstream" / "crag"
    with pytest.raises(QuadragError, match=rf"{PARTS['v5'][2]} from .* has sha256 [0-9a-f]+, expected 0+; removed it"):
        builders.open_builder("crag", "task_3", split="public")
    assert sorted(each for each in fetched.rglob("*") if each.is_file()) == [fetched / PARTS["v5"][n] for n in (0, 1)]
    monkeypatch.setattr(cls, "FILES", {**cls.FILES, **here})
    builder, source = builders.open_builder("crag", "task_3")
    assert source == files.UPSTREAM_SOURCE
    assert builders.splits(builder) == ["validation", "public"]
    assert list(builders.rows(builder, "public")) == rows("task_3", "public")
    own = tmp_path / "own"
    own.write_bytes(lines(record(1)))
    _, source = builders.open_builder("crag", "task_3", None, {"private_file": str(own)})
    assert source == f"{files.UPSTREAM_SOURCE} and {own}"
    assert files.own_files(builder.config) == {}


def test_rows_are_written_one_by_one(tmp_path: Path) -> None:
    """Fifty pages a row: what gathers rows takes gigabytes."""
    import pyarrow as pa

    builder = catalogue.builder_class("crag")(config_name="task_3")
    builders.point_to(builder, files.sample_dir("crag"), "public")
    builder.download_and_prepare(output_dir=str(tmp_path / "out"))
    (path,) = (tmp_path / "out").glob("*.arrow")
    with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as reader:
        assert {batch.num_rows for batch in reader} == {1}


def test_a_large_file_is_summed_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summed = []

    def counted(path: Path, total: Any) -> str:
        summed.append(path.name)
        return digest(path, total)

    digest = download._digest
    monkeypatch.setattr(download, "_digest", counted)
    monkeypatch.setattr(download, "_LARGE", 100)
    for name, size in (("large", 100), ("small", 98)):
        path = tmp_path / name
        for content in (b"a" * size, b"b" * (size + 1)):
            path.write_bytes(content)
            for _ in range(2):
                assert download.sha256(path) == hashlib.sha256(content).hexdigest()
                assert files.digest({name: path})
    assert (summed.count("large"), summed.count("small")) == (2, 8)


if __name__ == "__main__":
    json.dump(all_golden(), sys.stdout, ensure_ascii=False, indent=1)
    print()
