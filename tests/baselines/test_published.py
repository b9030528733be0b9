"""The printed numbers, the mapping to our names, and the recipes: data held against each other and against the code."""

import csv
from collections import Counter

import pytest
from specs import spec_of

from quadrag import catalogue
from quadrag.baselines.crud_rag.tables import PRINTED as SWEEPS
from quadrag.baselines.rgb.tables import PRINTED, find_columns
from quadrag.benchmark import load
from quadrag.parts import Retrieval
from quadrag.reporting.published import find_published, read_published
from quadrag.run import plan

# Of each benchmark the tables that are mapped, how many numbers they have, and how many recipes there are.
MAPPED = [
    ("rgb", {"1", "3", "5", "7"}, 135, 21),
    ("crud_rag", {"3", "4", "5", "6", "7", "8"}, 1080, 30),
    ("omnieval", {"4", "5"}, 168, 12),
    ("crag", {"5", "11"}, None, 10),
]
UNITS = ("percent", "ratio", "chars")


def printed_in(benchmark, tables):
    path = catalogue.plugin_folder(benchmark) / "published.csv"
    with path.open(encoding="utf-8", newline="") as lines:
        return [row for row in csv.DictReader(lines) if row["table"] in tables and row["unit"] in UNITS]


def recipes(benchmark):
    return {name: recipe for name, recipe in plan.recipes().items() if recipe["benchmark"] == benchmark}


def place(row):
    return (row.table, row.model, row.config, row.split, row.retriever, row.key, *sorted(row.setting.items()))


@pytest.mark.parametrize(("benchmark", "tables", "count", "of_recipes"), MAPPED, ids=[one[0] for one in MAPPED])
def test_every_printed_number_has_one_place_of_ours_and_does_not_change_on_its_way(
    benchmark, tables, count, of_recipes
):
    rows, lines, record = read_published(benchmark), printed_in(benchmark, tables), load(benchmark)
    assert len(rows) == len(lines) == (count or len(lines)) and {row.table for row in rows} == tables
    assert set(Counter(map(place, rows)).values()) == {1}
    configs = catalogue.configs(benchmark)
    for row, line in zip(rows, lines, strict=True):
        scale = 100 if line["unit"] == "percent" else 1
        assert (row.table, round(row.value * scale, 10)) == (line["table"], float(line["value"]))
        said = dict(pair.split("=") for pair in line["setting"].split(";"))
        assert row.model == said["llm"]
        assert row.split in configs[row.config].splits and row.retriever in record.retrievers and row.conditions
        spec = spec_of(benchmark, row.config, retriever=row.retriever).showing(row.setting.get("top_k", 0))
        keys = {(use.module, key) for use in record.metrics(spec) for key in use.keys}
        assert (row.module, row.key) in keys
        assert set(row.setting) <= set(Retrieval.model_fields)
    assert len(recipes(benchmark)) == of_recipes


@pytest.mark.parametrize(
    ("model", "config", "split", "value"),
    [
        # Read off the printed table 1 by eye.
        ("chatglm-6b", "noise_robustness_en_original", "noise_80", 0.7067),
        ("chatgpt", "noise_robustness_zh_original", "noise_60", 0.8767),
        ("chatglm2-6b", "noise_robustness_zh_original", "noise_20", 0.8233),
    ],
)
def test_three_cells_against_the_printed_table(model, config, split, value):
    rows = [row for row in read_published("rgb") if (row.model, row.config, row.split) == (model, config, split)]
    assert [row.value for row in rows] == [pytest.approx(value, abs=1e-12)]


def test_refined_and_original_data_both_stand_beside_the_printed_rows():
    original, refined = (find_published("rgb", f"noise_robustness_en{end}", "own", {}) for end in ("_original", ""))
    assert original == refined and len(original) == 6 * 5
    assert {row.key for row in find_published("rgb", "counterfactual_robustness_zh", "none", {})} == {"accuracy"}


def test_the_columns_of_the_papers_tables_are_the_same_in_both_languages():
    for number, (_, heads) in PRINTED.items():
        english, chinese = (find_columns(number, language) for language in ("en", "zh"))
        assert [(config.removesuffix("_en"), *at) for config, *at in english] == [
            (config.removesuffix("_zh"), *at) for config, *at in chinese
        ]
        if number in ("1", "5"):
            assert list(heads) == [f"{int(split.removeprefix('noise_')) / 100:g}" for _, split, *_ in english]
    seventh = dict(zip(PRINTED["7"][1], find_columns("7", "en"), strict=True))
    assert seventh["Acc"][2:] == ("none", "rgb_accuracy", "accuracy") and seventh["Acc_doc"][2] == "own"
    keys = ["error_detection", "error_detection_judged", "error_correction"]
    assert [seventh[head][-1] for head in ("ED", "ED*", "CR")] == keys


def test_the_printed_rows_beside_a_run_are_those_of_its_settings():
    default = {"chunk_size": 128, "chunk_overlap": 0, "top_k": 8}
    rows = find_published("crud_rag", "summary", "bm25", {**default, "tokenizer": "unigram", "corpus": "x"})
    assert {row.table for row in rows} == {"5"} and len(rows) == 6
    assert {row.key: row.value for row in rows}["rouge_l"] == pytest.approx(0.3377)
    # The printed BM25 is of the authors' search server, whose terms are single characters.
    for retriever, settings in (
        ("bm25", {**default, "tokenizer": "jieba"}),
        ("bm25", {**default, "tokenizer": "unigram", "top_k": 4}),
        ("dense", {}),
        ("none", {}),
    ):
        assert find_published("crud_rag", "summary", retriever, settings) == []
    models = {row.model for row in find_published("crud_rag", "qa_1doc", "dense", {**default, "embedding": "bge-base"})}
    assert len(models) == 8


def test_each_row_of_rgbs_tables_has_exactly_one_recipe():
    rows = Counter()
    for name, recipe in recipes("rgb").items():
        said, runs = recipe["published"], {(run["config"], run.get("retriever", "own")) for run in recipe["runs"]}
        of_row = [row for row in read_published("rgb") if (row.table, row.model) == (str(said["table"]), said["llm"])]
        covered = [row for row in of_row if (row.config, row.retriever) in runs]
        assert {(row.config, row.retriever) for row in covered} == runs, f"{name} runs more than its row needs"
        rows.update(map(place, covered))
    assert set(rows) == set(map(place, read_published("rgb"))) and set(rows.values()) == {1}


def test_each_row_of_crud_rags_tables_has_a_recipe():
    seen = set()
    for name, recipe in recipes("crud_rag").items():
        table = str(recipe["published"]["table"])
        assert [run["config"] for run in recipe["runs"]] == [config for config, _ in load("crud_rag").paper_runs(False)]
        rows = [
            row
            for row in read_published("crud_rag")
            if (row.table, row.retriever) == (table, recipe["retriever"])
            and all(recipe["retrieval"].get(key) == value for key, value in row.setting.items())
            and (SWEEPS[table][1] != "llm" or row.model == recipe["published"]["llm"])
        ]
        assert len(rows) == 36, f"{name} stands for one row: six tasks by six metrics"
        seen.update(map(place, rows))
    assert len(seen) == 1080


def test_each_row_of_omnievals_tables_has_a_recipe_that_asks_as_the_authors_did():
    seen = []
    for recipe in recipes("omnieval").values():
        said, retrieval = recipe["published"], recipe.get("retrieval", {})
        alone = "embedding" not in said
        sampling = recipe["system"]["sampling"]
        assert (sampling["temperature"], sampling["top_p"], sampling["max_tokens"]) == (0.3, 0.85, 1024)
        # Without passages the authors' code fills in its form of a conversation; with them it gives a list's text.
        assert recipe["runs"] == [{"config": "all", "options": {"conversation": "text" if alone else "repr"}}]
        assert recipe["retriever"] == ("none" if alone else "dense")
        assert retrieval.get("embedding") == said.get("embedding")
        assert (retrieval.get("instruction") == "both") is not alone  # before queries and passages alike
        seen += [
            place(row)
            for row in read_published("omnieval")
            if (row.table, row.model) == (str(said["table"]), said["llm"])
            and row.setting.get("embedding") == said.get("embedding")
        ]
    assert sorted(seen) == sorted(map(place, read_published("omnieval")))
