"""What stands in for a list of answers, and what only looks like one: a column is a list, a table is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

ANSWERS = ["It was 70.", "No."]
FRAME = pd.DataFrame({"answer": ANSWERS, "gold": ["70", "70"]})
COLUMNS: dict[str, Callable[[], Any]] = {
    "a tuple": lambda: tuple(ANSWERS),
    "a column of pandas": lambda: FRAME["answer"],
    "an array": lambda: np.array(ANSWERS),
    "a column of Arrow": lambda: pa.chunked_array([ANSWERS]),
    "a generator of texts": lambda: (text for text in ANSWERS),
    "values of a mapping": lambda: dict(enumerate(ANSWERS)).values(),
}
TABLES: dict[str, Callable[[], Any]] = {
    "a frame": lambda: FRAME[["answer", "gold"]],
    "a frame of one column": lambda: FRAME[["answer"]],
    "a table of Arrow": lambda: pa.table(FRAME),
    "a mapping": lambda: dict.fromkeys(ANSWERS, "x"),
    "a generator of mappings": lambda: ({"answer": text} for text in ANSWERS),
    "keys of a mapping": lambda: dict.fromkeys(ANSWERS).keys(),
    "a set": lambda: set(ANSWERS),
    "a text": lambda: "70",
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_a_list(load_metric: Any, name: str) -> None:
    got = load_metric("rgb_accuracy").compute(predictions=COLUMNS[name](), references=FRAME["gold"])
    assert [row["accuracy"] for row in got["per_item"]] == [1.0, 0.0]


@pytest.mark.parametrize("metric", ["rgb_accuracy", "omnieval_overlap", "crud_overlap"])
@pytest.mark.parametrize("column", ["predictions", "references"])
@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_refused(load_metric: Any, metric: str, column: str, name: str) -> None:
    inputs = {"predictions": ["x"] * 2, "references": ["70"] * 2, column: TABLES[name]()}
    with pytest.raises(ValueError, match=column):
        load_metric(metric).compute(**inputs)


@pytest.mark.parametrize("lacking", [None, float("nan"), pd.NA, np.float64("nan")])
def test_what_a_column_lacks_is_an_item_without_an_answer(load_metric: Any, lacking: Any) -> None:
    got = load_metric("rgb_accuracy").compute(predictions=["70", lacking], references=["70", "70"])
    assert (got["accuracy"], got["n_scored"], got["unscored"]) == (1.0, 1, {"api_error": 1})


def test_answers_of_numpy_are_texts(load_metric: Any) -> None:
    got = load_metric("rgb_accuracy").compute(predictions=[np.str_("70"), "half \ud83d"], references=["70", "half"])
    assert got["accuracy"] == 1.0
