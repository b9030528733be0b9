"""`quadrag list BENCHMARK --statistics`: counts and lengths against the files, and what a part is called."""

from __future__ import annotations

import bz2
import csv
import hashlib
import json
import math
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from quadrag import catalogue
from quadrag.baselines.core.benchmark import known
from quadrag.baselines.statistics.record import ALL, Counts, load_statistics
from quadrag.data.files import sample_dir
from quadrag.paths import room

PAGES = "data/crag_task_1_and_2_dev_v5.jsonl.bz2"
PART = "part of the authors' file"


@pytest.fixture
def statistics(cli: Any) -> Callable[..., dict[str, Any]]:
    """A function that returns the object which the command prints for scripts."""

    def count(benchmark: str, folder: Any) -> dict[str, Any]:
        done = cli("list", benchmark, "--statistics", "--data-dir", folder, "--json")
        assert done.code == 0, done.err
        found: dict[str, Any] = json.loads(done.out)
        return found

    return count


def rows_of(found: dict[str, Any]) -> dict[tuple[str, str], int]:
    return {(one["config"], one["split"]): one["rows"] for one in found["rows"]}


def lengths_of(found: dict[str, Any], config: str, split: str, text: str) -> list[Any]:
    (one,) = [one for one in found["lengths"] if (one["config"], one["split"], one["text"]) == (config, split, text)]
    return [one[name] for name in ("n", "mean", "median", "95%", "longest", "total")]


def describe(texts: Sequence[str]) -> list[Any]:
    """Lengths by the definition: the shortest that half, and 95%, of the texts do not exceed."""
    sizes = sorted(map(len, texts))
    half, most = (sizes[math.ceil(len(sizes) * share) - 1] for share in (0.5, 0.95))
    return [len(sizes), pytest.approx(sum(sizes) / len(sizes)), half, most, sizes[-1], sum(sizes)]


def test_crag_is_counted_as_its_file_has_it(statistics: Any) -> None:
    lines = bz2.decompress((sample_dir("crag") / PAGES).read_bytes()).decode().splitlines()
    records = [json.loads(line) for line in lines]
    found = statistics("crag", "sample")
    assert sum(rows_of(found).values()) == len(records)
    for key, title in (("static_or_dynamic", "Table 3"), ("question_type", "Table 4")):
        expected = Counter((record[key], record["domain"]) for record in records)
        expected += Counter((record[key], ALL) for record in records)
        expected += Counter((ALL, record["domain"]) for record in records)
        ours = {(one["line"], one["column"]): one["rows"] for one in found["counts"] if one["table"].startswith(title)}
        assert {place: rows for place, rows in ours.items() if rows} == {**expected, (ALL, ALL): len(records)}
    public = [record for record in records if record["split"] == 1]
    assert lengths_of(found, "task_1_2", "public", "question") == describe([one["query"] for one in public])
    pages = [page["page_result"] for one in public for page in one["search_results"]]
    assert lengths_of(found, "task_1_2", "public", "page (HTML)") == describe(pages)


def test_rgb_is_counted_by_its_files(cli: Any, statistics: Any) -> None:
    files = {path.name: path.read_text(encoding="utf-8").splitlines() for path in sample_dir("rgb").glob("*.json")}
    done = cli("list", "rgb", "--statistics", "--data-dir", "sample")
    assert {line.split()[0]: int(line.split()[1]) for line in done.out.splitlines()[4 : 4 + len(files)]} == {
        name: len(lines) for name, lines in files.items()
    }
    found = statistics("rgb", "sample")
    nested = [json.loads(line)["positive"] for line in files["zh_int.json"]]
    texts = [text for row in nested for aspect in row for text in aspect]
    assert lengths_of(found, "information_integration_zh", "noise_0", "positive") == describe(texts)


def test_crud_rag_and_omnieval_in_their_samples(statistics: Any) -> None:
    found = statistics("crud_rag", "sample")
    split = json.loads((sample_dir("crud_rag") / "data/crud_split/split_merged.json").read_text(encoding="utf-8"))
    assert rows_of(found)["summary", "test"] == len(split["event_summary"])
    summaries = [row["summary"] for row in split["event_summary"]]
    assert lengths_of(found, "summary", "test", "reference") == describe(summaries)
    printed = {(one["config"], one["split"]): one["printed"] for one in found["rows"]}
    assert printed["qa_2doc", "full"] == 3192 and printed["corpus", "corpus"] == 86834
    assert printed["qa_2doc", "test"] is None
    found = statistics("omnieval", "sample")
    cells = {
        (one["line"], one["column"]): one["rows"]
        for one in found["counts"]
        if one["table"] == "Questions by topic and task: train"
    }
    lines = (sample_dir("omnieval") / "gen_datas_train_final/保险/财产保险/对比类问答.jsonl").read_text(
        encoding="utf-8"
    )
    assert cells["insurance/property", "contrast_qa"] == len(lines.splitlines())
    assert (
        cells[ALL, ALL]
        == rows_of(found)["all", "train"]
        == sum(rows for place, rows in cells.items() if ALL not in place)
    )


@pytest.mark.slow
def test_the_real_files(cli: Any, statistics: Any, real_data: Callable[[str], Path]) -> None:
    found = statistics("crud_rag", real_data("CRUD_RAG"))
    assert rows_of(found) == {
        ("summary", "test"): 900,
        ("corpus", "corpus"): 68126,
        ("ragquesteval", "qa_1doc"): 800,
        ("ragquesteval", "qa_2doc"): 800,
    }
    assert [round(lengths_of(found, "summary", "test", text)[1]) for text in ("query", "reference")] == [70, 201]
    needed = {one["needs"] for one in found["lacking"]}
    assert "data/crud/merged.zip" in needed and "src/quest_eval/Summary_quest_gt_save.json" in needed
    assert rows_of(statistics("rgb", real_data("RGB")))["noise_robustness_zh", "noise_0"] == 200
    done = cli("list", "crag", "--statistics", "--data-dir", real_data("CRAG"))
    assert f"6      1,335  {PART}" in done.out
    assert (
        "real-time          2 100%    0   0%" in done.out and "paper          434  42%    0   0%    2   0%" in done.out
    )
    assert "not there: task_1_2 (validation) needs rows of validation in dev_data.jsonl.bz2" in done.err


def test_a_part_is_said_to_be_one_and_the_sample_is_none(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(sample_dir("rgb") / "en_refine.json", tmp_path)
    here = ("list", "rgb", "--statistics", "--data-dir", tmp_path)
    assert PART not in cli(*here).out, "own data"
    content = (tmp_path / "en_refine.json").read_bytes()
    sums = (len(content), hashlib.sha256(content).hexdigest(), None)
    monkeypatch.setitem(catalogue.builder_class("rgb").FILES, "en_refine.json", sums)
    done = cli(*here)
    assert done.code == 0 and PART in done.out
    assert "not there: counterfactual_robustness_zh (test) needs zh_fact.json" in done.err
    assert PART not in cli("list", "rgb", "--statistics", "--data-dir", "sample").out


def test_what_a_paper_prints_has_a_place_of_its_own_among_the_counts() -> None:
    """Every printed count is shown, under the labels that the data have, and the printed sums are theirs."""
    tables: list[tuple[str, Counts]] = []
    for benchmark in known():
        tables += [(benchmark, table) for source in load_statistics(benchmark).sources for table in source.counts]
    printed = [(benchmark, table) for benchmark, table in tables if table.printed]
    assert [table.title.split(".")[0] for _, table in printed] == ["Table 3", "Table 4", "Popularity by domain"]
    for _, table in printed:
        assert {line for line, _ in table.printed} == {*table.lines, ALL}
        for column in {column for _, column in table.printed}:
            assert table.printed[ALL, column] == sum(table.printed[line, column] for line in table.lines)
    with (Path(room("baselines")) / "crag" / "published.csv").open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["metric"] == "count"]
    assert sum(len(table.printed) for _, table in printed) == len(rows)


def test_what_is_prepared_is_counted_without_a_folder(cli: Any, tmp_path: Path, monkeypatch: Any) -> None:
    shutil.copytree(sample_dir("rgb"), tmp_path / "R")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    assert cli("prepare", "rgb", "--data-dir", "R").code == 0
    done, given = (cli("list", "rgb", "--statistics", "--json", *more) for more in ((), ("--data-dir", tmp_path / "R")))
    assert done.code == 0 and json.loads(done.out)["counts"] == json.loads(given.out)["counts"]
    assert json.loads(done.out)["lengths"] == json.loads(given.out)["lengths"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rgb", "--statistics", "--data-dir", "empty"), "nothing of rgb is in empty; it needs en_refine.json"),
        (("rgb", "--statistics", "--data-dir", "gone"), "no folder 'gone'"),
        (("rgb", "--statistics"), "nothing of rgb is in the cache; it needs `quadrag prepare rgb`"),
        (("rbg", "--statistics"), "unknown benchmark 'rbg'"),
        (("--statistics",), "--statistics is of one benchmark; name it"),
        (("rgb", "--data-dir", "sample"), "--data-dir is for the counts of data; give --statistics too"),
        (("rgb", "--json"), "--json is for --recipe NAME and --statistics; give one of them too"),
        (("rgb", "--statistics", "--data-dir", "broken"), "en_refine.json:1 is not JSON"),
    ],
)
def test_bad_input_is_one_line(cli: Any, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "en_refine.json").write_text("{" * 9)
    done = cli("list", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("quadrag: ") and done.err.count("\n") == 1 and said in done.err
