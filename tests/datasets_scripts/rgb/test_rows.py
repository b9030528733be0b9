"""The dataset script `rgb`: configs and splits, answer shapes, bad files and options, real files."""

import json
import re
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sample_rows

from quadrag import catalogue
from quadrag.data import builders
from quadrag.data.files import sample_dir

rows, refusal = partial(sample_rows.rows, "rgb"), partial(sample_rows.refusal, "rgb")
normalize = catalogue.load_script(catalogue.benchmarks()["rgb"]).normalize_answer
NOISE, FACT, PARTS = "noise_robustness_en", "counterfactual_robustness_zh", "information_integration_en"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("70", [["70"]]),
        (["70"], [["70"]]),
        (["1月3日", "1月12日"], [["1月3日"], ["1月12日"]]),
        ([["SE 3", "SE3"]], [["SE 3", "SE3"]]),
        ([["2521525辆", "252万辆"], "超过240万"], [["2521525辆", "252万辆"], ["超过240万"]]),
        (["超过240万", ["2521525辆", "252万辆"]], [["超过240万"], ["2521525辆", "252万辆"]]),
        ([["a", "b"], ["c"]], [["a", "b"], ["c"]]),
        ("", [[""]]),
    ],
)
def test_every_answer_shape_becomes_one(answer: Any, expected: list[list[str]]) -> None:
    assert normalize(answer) == expected
    assert normalize(expected) == expected, "a shape already normal stays"


@pytest.mark.parametrize("answer", [[], [[]], 70, None, [70], [["a"], []], [[["a"]]], {"a": 1}, [None]])
def test_other_answers_are_refused(answer: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(answer))):
        normalize(answer)


PLAIN = {"id": 0, "query": "q", "answer": "a", "positive": ["p"], "negative": ["n"]}
ASPECTS = PLAIN | {"positive": [["p"], ["r"]]}
FALSE = PLAIN | {"positive_wrong": ["w"], "fakeanswer": "f"}


BAD = [
    (NOISE, {"id": 0, "query": "q", "answer": "a", "positive": ["p"]}, "negative"),
    (NOISE, {"query": "q", "answer": "a", "positive": ["p"], "negative": ["n"]}, "id"),
    (FACT, PLAIN, "positive_wrong"),
    (FACT, PLAIN | {"positive_wrong": ["w"]}, "fakeanswer"),
    *((NOISE, PLAIN | {"id": value}, f"id is {value!r}") for value in ("0", True, 0.5)),
    (NOISE, PLAIN | {"query": None}, "query is None"),
    (NOISE, PLAIN | {"answer": 7}, "answer is 7"),
    (NOISE, PLAIN | {"answer": []}, "answer is []"),
    *((NOISE, PLAIN | {"positive": value}, "positive") for value in ("p", [["p"]])),
    *((NOISE, PLAIN | {"negative": value}, "negative") for value in (None, ["n", None])),
    *((PARTS, ASPECTS | {"positive": value}, "positive") for value in (["p"], "p", [["p", 1]])),
    *((FACT, FALSE | {"positive_wrong": value}, "positive_wrong") for value in ("w", [])),
    *((FACT, FALSE | {"fakeanswer": value}, "fakeanswer") for value in (5, [["f"]])),
]


@pytest.mark.parametrize(("config", "line", "named"), BAD)
def test_a_bad_line_is_named(tmp_path: Path, config: str, line: Any, named: str) -> None:
    good, known = ASPECTS if config == PARTS else FALSE, catalogue.config("rgb", config)
    (tmp_path / known.files[0]).write_text("\n".join(map(json.dumps, (good | {"id": -1}, line))), encoding="utf-8")
    said = refusal(config, known.splits[0], tmp_path)
    assert said.startswith(f"{tmp_path / known.files[0]}:2") and named in said


def test_upstream_oddities_are_taken(tmp_path: Path) -> None:
    odd = "一\r二\t三\u00a0四\u2028五"
    lines = [
        json.dumps(ASPECTS | {"asnwer1": ["x"], "answer2": ["y"], "positive": [[odd], []]}, ensure_ascii=False),
        "",
        json.dumps(ASPECTS | {"id": 7, "query": "\ud83d\ude00\ud83d"}),
    ]
    (tmp_path / "zh_int.json").write_text("\n".join(lines), encoding="utf-8", newline="\n")
    found = rows("information_integration_zh", "noise_0", tmp_path)
    assert [row["id"] for row in found] == [0, 7]
    assert found[1]["query"] == "\U0001f600\ufffd"
    assert found[0]["positive"] == [[odd], []]
    assert odd in found[0]["documents"]


def test_keys_of_other_files_mean_nothing(tmp_path: Path) -> None:
    lines = [FALSE | {"positive": ["p0", "p1"], "fakeanswer": {"any": 1}}, PLAIN | {"id": 1}]
    (tmp_path / "en_refine.json").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    found = rows("noise_robustness_en", "noise_0", tmp_path)
    assert sorted(found[0]["documents"]) == ["n", "p0", "p1"]
    assert [(row["positive_wrong"], row["fakeanswer"]) for row in found] == [([], []), ([], [])]


def test_the_root_of_an_upstream_checkout_will_do(tmp_path: Path) -> None:
    shutil.copytree(sample_dir("rgb"), tmp_path / "data")
    split = ("counterfactual_robustness_zh", "test")
    assert rows(*split, tmp_path) == rows(*split)


def test_options_change_the_documents_shown() -> None:
    name = "noise_robustness_zh"
    assert {len(row["documents"]) for row in rows(name, "noise_0", passage_num=3)} == {3}
    (split,) = builders.splits(builders.open_builder("rgb", name, builders.SAMPLE, {"noise_ratio": 0.333})[0])
    third = rows(name, split, noise_ratio=0.333)
    assert all(sum(text in row["negative"] for text in row["documents"]) == 2 for row in third)
    assert rows(name, "noise_40", noise_ratio=0.4) == rows(name, "noise_40")
    fixed, own = rows(name, "noise_80"), rows(name, "noise_80", order="per_item")
    assert own == rows(name, "noise_80", order="per_item") != fixed
    assert [sorted(row["documents"]) for row in own] == [sorted(row["documents"]) for row in fixed]
    fact = rows("counterfactual_robustness_zh", "test", noise_ratio=0.2, correct_ratio=0.4)
    row = next(row for row in fact if len(row["positive"]) >= 5 and row["negative"])
    kinds = (row["positive_wrong"], row["positive"], row["negative"])
    assert [sum(text in texts for text in row["documents"]) for texts in kinds] == [2, 2, 1]
