"""The dataset script `rgb`: configs and splits, answer shapes, bad files and options, real files."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sample_rows

from quadrag import catalogue
from quadrag.data import builders
from quadrag.data.files import sample_dir
from quadrag.errors import QuadragError

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
    (NOISE, "{", "JSON"),
    (NOISE, "[" * 100_000, "JSON"),
    (NOISE, "答案".encode("gb18030"), "JSON"),
    (NOISE, "[1]", "list"),
    (NOISE, "7", "int"),
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
    (FACT, FALSE | {"id": -1}, "id -1"),
]


@pytest.mark.parametrize(("config", "line", "named"), BAD)
def test_a_bad_line_is_named(tmp_path: Path, config: str, line: Any, named: str) -> None:
    good, text = ASPECTS if config == PARTS else FALSE, json.dumps(line) if isinstance(line, dict) else line
    ((name,), split) = (catalogue.config("rgb", config).files, catalogue.config("rgb", config).splits[0])
    content = [json.dumps(good | {"id": -1}).encode(), text if isinstance(text, bytes) else text.encode()]
    (tmp_path / name).write_bytes(b"\n".join(content))
    said = refusal(config, split, tmp_path)
    assert said.startswith(f"{tmp_path / name}:2") and named in said


def test_an_empty_and_a_lacking_file_are_named(tmp_path: Path) -> None:
    assert "zh_int.json" in refusal("information_integration_zh", "noise_0", tmp_path)
    (tmp_path / "zh_int.json").write_text("\n \n", encoding="utf-8")
    assert "zh_int.json is empty" in refusal("information_integration_zh", "noise_0", tmp_path)
    builder = catalogue.builder_class("rgb")(config_name="noise_robustness_zh", data_dir=str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"zh_refine\.json"):
        builder.download_and_prepare(output_dir=str(tmp_path / "out"))


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


@pytest.mark.parametrize(
    ("config", "options", "said"),
    [
        (NOISE, {"passage_num": -1}, "passage_num is -1"),
        (NOISE, {"passage_num": 2.5}, "passage_num is 2.5"),
        (NOISE, {"passage_num": True}, "passage_num is True"),
        (NOISE, {"noise_ratio": 1.1}, "noise_ratio is 1.1"),
        (NOISE, {"noise_ratio": float("nan")}, "noise_ratio is nan"),
        (NOISE, {"noise_ratio": "0.2"}, "noise_ratio is '0.2'"),
        (NOISE, {"order": "random"}, "order is 'random'"),
        (NOISE, {"correct_ratio": 0.2}, "correct_ratio is 0.2"),
        (FACT, {"correct_ratio": -0.1}, "correct_ratio is -0.1"),
        (FACT, {"noise_ratio": 0.8, "correct_ratio": 0.4}, "4 noise and 2 correct documents"),
        (NOISE, {"noise_rate": 0.2}, "noise_ratio"),
    ],
)
def test_bad_options_are_named_before_any_row(config: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(QuadragError, match=re.escape(said)):
        builders.open_builder("rgb", config, builders.SAMPLE, options)


def test_options() -> None:
    name = "noise_robustness_zh"
    assert [len(row["documents"]) for row in rows(name, "noise_40", passage_num=0, noise_ratio=0.4)] == [0] * 12
    assert {len(row["documents"]) for row in rows(name, "noise_0", passage_num=3)} == {3}
    (split,) = builders.splits(builders.open_builder("rgb", name, builders.SAMPLE, {"noise_ratio": 0.333})[0])
    assert split == "noise_33_3"
    third = rows(name, split, noise_ratio=0.333)
    assert all(sum(text in row["negative"] for text in row["documents"]) == 2 for row in third)
    assert rows(name, "noise_40", noise_ratio=0.4) == rows(name, "noise_40")
    fixed, own = rows(name, "noise_80"), rows(name, "noise_80", order="per_item")
    assert own == rows(name, "noise_80", order="per_item")
    assert [row["documents"] for row in own] != [row["documents"] for row in fixed]
    assert [sorted(row["documents"]) for row in own] == [sorted(row["documents"]) for row in fixed]
    fact = rows("counterfactual_robustness_zh", "test", noise_ratio=0.2, correct_ratio=0.4)
    row = next(row for row in fact if len(row["positive"]) >= 5 and row["negative"])
    forms = Counter(
        "wrong" if text in row["positive_wrong"] else "true" if text in row["positive"] else "negative"
        for text in row["documents"]
    )
    assert forms == {"wrong": 2, "true": 2, "negative": 1}


@pytest.mark.parametrize(
    ("file", "config", "expected"),
    [
        ("zh_refine", "noise_robustness_zh", "85d03e1f7d7ab715e060c90bb8e5dd2711efdf60ea68742e30fd51189c1ec604"),
        ("zh_refine", "negative_rejection_zh", "1057e513614816b63566426a97d3546d47e290834698efbad29ab725d004be31"),
        ("zh_int", "information_integration_zh", "0fed8077fd3fe41627cca2df45779ee9e67c7cf5e0c3fc291ddd8af4b45551eb"),
        ("en_fact", "counterfactual_robustness_en", "74f745c62913e5dbcd88659e69e0954a4450ceac5526eb479b4f13d9458ebed0"),
    ],
)
def test_golden_rows_of_real_files(real_data: Callable[[str], Path], file: str, config: str, expected: str) -> None:
    root = real_data("RGB")
    if not (root / "data" / f"{file}.json").is_file():
        pytest.skip(f"no {file}.json in {root}")
    found = [row for split in catalogue.config("rgb", config).splits for row in rows(config, split, root)]
    assert sample_rows.digest(found, "") == expected
