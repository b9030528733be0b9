"""The printed numbers, the mapping to our names, and the recipes: data held against each other and against the code."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from quadrag import catalogue
from quadrag.baselines.crud_rag.tables import PRINTED as SWEEPS
from quadrag.baselines.rgb.tables import PRINTED, find_columns
from quadrag.benchmark import load
from quadrag.parts import Conditions, Retrieval
from quadrag.paths import room
from quadrag.reporting.published import find_published, read_published
from quadrag.run import plan

FOLDER = Path(room("baselines"))


def printed():
    with (FOLDER / "rgb" / "published.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def recipes(benchmark="rgb"):
    return {name: recipe for name, recipe in plan.recipes().items() if recipe["benchmark"] == benchmark}


def test_every_printed_row_is_mapped():
    assert len(printed()) == len(read_published("rgb")) == 135
    assert {row["unit"] for row in printed()} == {"percent"}
    places = Counter(
        (row.table, row.model, row.config, row.split, row.retriever, row.key) for row in read_published("rgb")
    )
    assert set(places.values()) == {1}, "no two printed numbers fall on one place of ours"


def test_every_mapped_name_exists():
    configs = catalogue.configs("rgb")
    for row in read_published("rgb"):
        assert row.split in configs[row.config].splits
        assert configs[row.config].language == row.language
        assert row.retriever in load("rgb").retrievers
        keys = {metric.module: metric.keys for metric in load("rgb").metrics(row.config, Conditions(row.retriever))}
        assert row.key in keys[row.module], row
        assert 0 <= row.value <= 1
        assert row.conditions


@pytest.mark.parametrize(
    ("setting", "metric", "config", "split", "retriever", "key", "value"),
    [
        # Read off the CSV by eye: table 1, table 3 and table 7.
        ("chatglm-6b", "accuracy", "noise_robustness_en_original", "noise_80", "own", "accuracy", 0.7067),
        ("chatgpt", "accuracy", "noise_robustness_zh_original", "noise_60", "own", "accuracy", 0.8767),
        ("chatglm2-6b", "accuracy", "noise_robustness_zh_original", "noise_20", "own", "accuracy", 0.8233),
    ],
)
def test_three_cells_against_the_printed_table(setting, metric, config, split, retriever, key, value):
    (row,) = [
        row
        for row in read_published("rgb")
        if (row.model, row.config, row.split, row.retriever, row.key) == (setting, config, split, retriever, key)
    ]
    assert row.value == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("line", printed(), ids=lambda row: f"{row['table']}-{row['setting']}-{row['metric']}")
def test_no_printed_number_changes_on_its_way(line):
    setting = dict(pair.split("=") for pair in line["setting"].split(";"))
    rows = [row for row in read_published("rgb") if (row.table, row.model) == (line["table"], setting["model"])]
    rows = [row for row in rows if row.language == setting["lang"]]
    assert any(round(row.value * 100, 10) == float(line["value"]) for row in rows)


def test_refined_and_original_data_both_stand_beside_the_printed_rows():
    original, refined = (find_published("rgb", f"noise_robustness_en{end}", "own", {}) for end in ("_original", ""))
    assert original == refined and len(original) == 6 * 5
    assert {row.key for row in find_published("rgb", "counterfactual_robustness_zh", "none", {})} == {"accuracy"}
    assert len(find_published("rgb", "counterfactual_robustness_zh", "none", {})) == 2


def test_the_papers_tables_hold_every_printed_number():
    assert {row.table for row in read_published("rgb")} == set(PRINTED)
    for number, (_, heads) in PRINTED.items():
        english, chinese = (find_columns(number, language) for language in ("en", "zh"))
        assert [(config.removesuffix("_en"), *place) for config, *place in english] == [
            (config.removesuffix("_zh"), *place) for config, *place in chinese
        ], "one head for both languages"
        if number in ("1", "5"):
            assert list(heads) == [f"{int(split.removeprefix('noise_')) / 100:g}" for _, split, *_ in english]
    seventh = dict(zip(PRINTED["7"][1], find_columns("7", "en"), strict=True))
    assert seventh["Acc"][2:] == ("none", "rgb_accuracy", "accuracy") and seventh["Acc_doc"][2] == "own"
    assert [seventh[head][-1] for head in ("ED", "ED*", "CR")] == [
        "error_detection",
        "error_detection_judged",
        "error_correction",
    ]
    assert [key for *_, key in find_columns("3", "zh")] == ["rejection_rate", "rejection_rate_judged"]


def test_there_are_21_recipes_and_all_parse():
    assert len(recipes()) == 21
    for name, recipe in recipes().items():
        assert set(recipe) == {"benchmark", "system", "runs", "published"}, name
        assert recipe["system"]["sampling"] == {"temperature": 0.2} and recipe["system"]["model"], name
        for run in recipe["runs"]:
            assert set(run) <= {"config", "retriever"}, name
            assert run["config"] in catalogue.configs("rgb"), name
            assert run.get("retriever", "own") in load("rgb").retrievers, name


def test_each_row_of_a_printed_table_has_exactly_one_recipe():
    rows = Counter()
    for name, recipe in recipes().items():
        table, model = str(recipe["published"]["table"]), recipe["published"]["model"]
        runs = {(run["config"], run.get("retriever", "own")) for run in recipe["runs"]}
        covered = [
            (row.table, row.model, row.config, row.split, row.retriever, row.key)
            for row in read_published("rgb")
            if (row.table, row.model) == (table, model) and (row.config, row.retriever) in runs
        ]
        assert covered, f"{name} reproduces nothing that is printed"
        assert {(c[2], c[4]) for c in covered} == runs, f"{name} runs more than its row needs"
        rows.update(covered)
    everything = {
        (row.table, row.model, row.config, row.split, row.retriever, row.key) for row in read_published("rgb")
    }
    assert set(rows) == everything
    assert set(rows.values()) == {1}


def printed_by_crud_rag():
    with (FOLDER / "crud_rag" / "published.csv").open(encoding="utf-8", newline="") as lines:
        return [row for row in csv.DictReader(lines) if row["metric"] != "count"]


def test_every_printed_score_of_crud_rag_is_mapped():
    rows = read_published("crud_rag")
    assert len(rows) == len(printed_by_crud_rag()) == 1080
    for row, line in zip(rows, printed_by_crud_rag(), strict=True):
        assert row.table == line["table"] and row.config == line["task"] and row.split == "test"
        assert row.retriever in load("crud_rag").retrievers and row.conditions
        keys = {m.module: m.keys for m in load("crud_rag").metrics(row.config, Conditions(row.retriever))}
        assert row.key in keys[row.module]
        assert round(row.value * (1 if row.key == "length" else 100), 10) == float(line["value"])


def test_settings_of_printed_rows_are_settings_of_ours():
    names = set(Retrieval.model_fields)
    for row in read_published("crud_rag"):
        assert {"chunk_size", "chunk_overlap", "top_k"} <= set(row.setting) <= names
        assert ("embedding" in row.setting) == (row.retriever != "bm25")
        assert ("reranker" in row.setting) == (row.retriever == "hybrid-rerank")


def test_the_printed_rows_beside_a_run_are_those_of_its_settings():
    default = {"chunk_size": 128, "chunk_overlap": 0, "top_k": 8}
    rows = find_published("crud_rag", "summary", "bm25", {**default, "tokenizer": "unigram", "corpus": "x"})
    assert {row.table for row in rows} == {"5"} and len(rows) == 6
    assert {row.key: row.value for row in rows}["rouge_l"] == pytest.approx(0.3377)
    # The printed BM25 is of the authors' search server, whose terms are single characters.
    assert find_published("crud_rag", "summary", "bm25", {**default, "tokenizer": "jieba"}) == []
    assert find_published("crud_rag", "summary", "bm25", {**default, "tokenizer": "unigram", "top_k": 4}) == []
    assert find_published("crud_rag", "summary", "dense", {}) == [], "of what is not known no row is the same"
    models = {row.model for row in find_published("crud_rag", "qa_1doc", "dense", {**default, "embedding": "bge-base"})}
    assert len(models) == 8
    assert find_published("crud_rag", "summary", "none", {}) == []


def test_crud_rag_has_a_recipe_for_each_printed_row():
    found = recipes("crud_rag")
    assert len(found) == 30
    seen = set()
    for name, recipe in found.items():
        assert name.startswith(f"crud_rag-table{recipe['published']['table']}-")
        assert [run["config"] for run in recipe["runs"]] == [config for config, _ in load("crud_rag").paper_runs()]
        varies = SWEEPS[str(recipe["published"]["table"])][1]
        rows = [
            row
            for row in read_published("crud_rag")
            if row.table == str(recipe["published"]["table"])
            and row.retriever == recipe["retriever"]
            and all(recipe["retrieval"].get(key) == value for key, value in row.setting.items())
            and (varies != "llm" or row.model == recipe["published"]["llm"])
        ]
        assert len(rows) == 36, f"{name} stands for one row: six tasks by six metrics"
        seen.update((row.table, row.config, row.key, row.model, row.retriever, *row.setting.items()) for row in rows)
    assert len(seen) == 1080


def printed_in(benchmark, *tables):
    with (FOLDER / benchmark / "published.csv").open(encoding="utf-8", newline="") as lines:
        return [row for row in csv.DictReader(lines) if row["table"] in tables]


def place(row):
    return (row.table, row.model, row.config, row.split, row.retriever, row.key, *sorted(row.setting.items()))


def test_every_number_of_omnievals_tables_4_and_5_is_mapped_and_none_twice():
    rows, lines = read_published("omnieval"), printed_in("omnieval", "4", "5")
    assert len(rows) == len(lines) == 4 * 9 * 2 + 4 * (5 + 7) * 2
    assert set(Counter(map(place, rows)).values()) == {1}
    splits = catalogue.configs("omnieval")["all"].splits
    for row, line in zip(rows, lines, strict=True):
        said = dict(pair.split("=") for pair in line["setting"].split(";"))
        assert (row.table, row.model, row.key) == (line["table"], said["generator"], line["metric"])
        assert row.value == float(line["value"]) and line["unit"] == "ratio"
        assert row.split == line["split"].split("_")[0] and row.split in splits
        assert row.config == "all" and row.conditions
        if said["retriever"] == "none":
            assert (row.retriever, row.setting) == ("none", {})
        else:
            assert (row.retriever, row.setting) == ("dense", {"embedding": said["retriever"], "top_k": 5})
        assert row.retriever in load("omnieval").retrievers
        conditions = Conditions(row.retriever, top_k=row.setting.get("top_k", 0))
        assert (row.module, row.key) in {
            (m.module, key) for m in load("omnieval").metrics("all", conditions) for key in m.keys
        }


def test_omnieval_has_a_recipe_for_each_printed_row_and_asks_as_the_authors_did():
    found = recipes("omnieval")
    assert len(found) == 4 + 8
    seen = []
    for name, recipe in found.items():
        said = recipe["published"]
        assert name.startswith(f"omnieval-table{said['table']}-")
        sampling = recipe["system"]["sampling"]
        assert (sampling["temperature"], sampling["top_p"], sampling["max_tokens"]) == (0.3, 0.85, 1024)
        ((run),) = recipe["runs"]
        # Without passages the authors' code fills in its form of a conversation; with them it gives a list's text.
        assert run == {"config": "all", "options": {"conversation": "text" if said["retriever"] == "none" else "repr"}}
        assert recipe["retriever"] == ("none" if said["retriever"] == "none" else "dense")
        assert recipe.get("retrieval", {}).get("embedding", "none") == said["retriever"]
        # What their code puts before queries and passages is its own affair for each of the four.
        assert (recipe.get("retrieval", {}).get("instruction") == "both") is (said["retriever"] != "none")
        rows = [
            row
            for row in read_published("omnieval")
            if (row.table, row.model) == (str(said["table"]), said["generator"])
            and row.setting.get("embedding", "none") == said["retriever"]
        ]
        assert len(rows) == 2 * {"none": 5}.get(said["retriever"], 9 if said["table"] == 4 else 7)
        seen += map(place, rows)
    assert sorted(seen) == sorted(map(place, read_published("omnieval")))


def test_every_number_of_crags_tables_5_and_11_is_mapped_and_none_twice():
    rows, lines = read_published("crag"), [row for row in printed_in("crag", "5", "11") if row["unit"] == "percent"]
    assert len(rows) == len(lines)
    assert set(Counter(map(place, rows)).values()) == {1}
    configs = catalogue.configs("crag")
    for row, line in zip(rows, lines, strict=True):
        said = dict(pair.split("=") for pair in line["setting"].split(";"))
        assert (row.table, row.model, row.key) == (line["table"], said["llm"], line["metric"])
        assert round(row.value * 100, 10) == float(line["value"])
        assert row.retriever in load("crag").retrievers and row.split in configs[row.config].splits and row.conditions
        keys = {m.module: m.keys for m in load("crag").metrics(row.config, Conditions(row.retriever))}
        assert row.key in keys[row.module]
