"""The task-by-topic matrix and OmniEval's tables as data: labels, what stands in a cell, which table a run is under."""

from typing import Any

import pytest
from specs import record_of

from quadrag.baselines.omnieval.tables import FIELDS, KEYS, TASKS, TOPICS, matrix_tables, tabulate
from quadrag.benchmark import load
from quadrag.data.builders import open_builder, rows
from quadrag.reporting.published import read_published
from quadrag.reporting.table import name_model
from quadrag.results import Run, Score
from quadrag.spec import Replica


def score(place: str, value: float | None = 0.5, key: str = "acc", **more: Any) -> Score:
    interval = None if value is None else [max(value - 0.1, 0), value + 0.1]
    counts = {"n_total": 7, "n_scored": 6, "n_not_applicable": 1, "unscored": {}}
    row = {"config": "all", "split": "auto", "slice": place, "metric": "omnieval", "key": key, "profile": "official"}
    row |= {"benchmark": "omnieval", "value": value, "interval": interval, **counts, "signature": "s", **more}
    return Score.from_row(row)


def whole(key: str = "acc", value: float | None = 0.5, **more: Any) -> list[Score]:
    """The rows of a full matrix."""
    places = ["all", *(f"topic={topic}" for topic in TOPICS), *(f"task={task}" for task in TASKS)]
    places += [f"cell={topic}/{task}" for topic in TOPICS for task in TASKS]
    places += [f"macro:{grouping}" for grouping in ("topic", "task", "cell")]
    return [score(place, value, key, **more) for place in places]


def test_labels_are_those_of_the_dataset_rows():
    builder, _ = open_builder("omnieval", "all", "sample", None, "auto")
    topics, tasks, english = {}, {}, {}
    for row in rows(builder, "auto"):
        topics[row["topic"]] = row["topic_zh"]
        english[row["topic"]] = row["topic_en"]
        tasks[row["task"]] = row["task_zh"]
    ours = {topic: f"{FIELDS[topic.partition('/')[0]][1]} - {label[1]}" for topic, label in TOPICS.items()}
    assert ours == topics
    assert {topic: FIELDS[topic.partition("/")[0]][0] for topic in TOPICS} == {
        topic: name.partition(" - ")[0] for topic, name in english.items()
    }
    assert {task: label[1].replace("\n", "") for task, label in TASKS.items()} == tasks
    assert tuple(TASKS) == load("omnieval").parts


def test_every_cell_stands_in_its_row_and_column():
    order = list(TOPICS)
    scores = [row for row in whole() if not row.slice.startswith("cell=")]
    for topic in TOPICS:
        for at, task in enumerate(TASKS):
            scores.append(score(f"cell={topic}/{task}", order.index(topic) / 100 + at / 1000))
    (grid,) = matrix_tables(scores, "run", "official")
    by_label = {line.label.strip(): line for line in grid.rows}
    for topic, label in TOPICS.items():
        values = [f"{order.index(topic) + at / 10:.1f}" for at in range(5)]
        assert [cell.text for cell in by_label[label[0]].cells] == [*values, "50.0"]
    assert [line.label for line in grid.rows if line.label in {field[0] for field in FIELDS.values()}] == [
        field[0] for field in FIELDS.values()
    ]


def test_only_what_a_split_holds_is_shown_and_no_matrix_of_what_has_no_cells():
    places = ("all", "topic=fintech/ai", "cell=fintech/ai/contrast_qa", "task=contrast_qa", "task=multi_hop_qa")
    scores = [*(score(place) for place in places), score("macro:cell", 0.25)]
    (grid,) = matrix_tables(scores, "run", "official", "zh")
    assert grid.columns == ["多跳推理\n类问答", "对比类\n问答", "全部"]
    assert [line.label for line in grid.rows] == ["金融科技", " 人工智能", "全部主题", "  n", "宏平均（单元）"]
    (grid,) = matrix_tables([score(place) for place in places[:4]], "run", "official")
    assert grid.columns == ["all"], "said once"
    assert matrix_tables([score("all"), score("topic=fintech/ai")], "run", "official") == []
    assert matrix_tables([score(place) for place in places], "run", "corrected") == []


# --- tables 4 and 5 --------------------------------------------------------------------------------------------------


def run(llm: str = "Qwen/Qwen2.5-72B-Instruct", retriever: str = "dense", embedding: str = "gte-qwen2-1.5b", **more):
    searched = {"embedding": embedding, "top_k": 5} if retriever == "dense" else None
    run = record_of("omnieval", "all", ["auto"], retriever, llm, retrieval=searched, source="here")
    metrics = {row.key: row.module for row in read_published("omnieval")}
    scores = [score("all", 0.25, key, metric=metrics[key], **more) for key in KEYS]
    return Run(run, scores, [])


@pytest.mark.parametrize(
    ("runs", "table"),
    [
        ([run(embedding="bge-m3")], "4"),  # Table 5 prints none with this embedding
        ([run()], "5"),
        ([run(), run(retriever="none")], "5"),
        ([run(embedding="bge-m3"), run("other", embedding="jina-zh")], "5"),
        ([run(retriever="bm25"), run()], "4"),
    ],
)
def test_runs_stand_under_the_table_that_varies_what_they_vary(runs, table):
    (grid,) = tabulate(runs, ["official"])
    assert grid.title.startswith(f"Table {table}. ") and grid.row_header == "auto"
    published = [line for line in grid.rows if line.kind == "published"]
    assert len(published) == {"4": 4, "5": 8}[table]
    ours = [line.label for line in grid.rows if line.label.endswith("(ours)")]
    assert len(ours) == len(runs)
    for label, result in zip(ours, runs, strict=True):
        inputs = result.record
        how = {"none": "alone", "dense": (inputs.retrieval or {}).get("embedding")}
        assert label == f"{name_model(inputs)} {how.get(inputs.retriever, inputs.retriever)} (ours)"


@pytest.mark.parametrize(
    ("recipe", "named", "row"),
    [
        ("table5-qwen2.5-72b-alone", "none qwen2.5-72b", "qwen2.5-72b alone"),
        ("table5-yi15-34b-gte", "gte-qwen2-1.5b yi15-34b", "yi15-34b gte-qwen2-1.5b"),
    ],
)
def test_a_run_of_a_recipe_stands_right_under_its_row(recipe, named, row):
    ours, other = run(), run("Qwen/Qwen2.5-7B-Instruct", retriever="bm25")
    ours.record.spec = ours.record.spec.changed(replica=Replica(recipe=f"omnieval-{recipe}", row=named))
    (grid,) = tabulate([other, ours], ["official"])
    lines = [line for line in grid.rows if not line.label.startswith("  ")]
    at = [line.label for line in lines].index(row)
    assert lines[at + 1].label == " Qwen2.5-72B-Instruct gte-qwen2-1.5b (ours)"
    assert lines[-1].label.endswith("bm25 (ours)") and lines[-1].rule
