"""The dataset script `rgb`: configs and splits, answer shapes, bad files and options, real files."""

from __future__ import annotations

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

rows = partial(sample_rows.rows, "rgb")
CONFIGS = [
    *(f"noise_robustness_{suffix}" for suffix in ("en", "en_original", "zh", "zh_original")),
    *(f"negative_rejection_{suffix}" for suffix in ("en", "en_original", "zh", "zh_original")),
    *(f"information_integration_{language}" for language in ("en", "zh")),
    *(f"counterfactual_robustness_{language}" for language in ("en", "zh")),
]


def test_configs_and_splits() -> None:
    noise = ["noise_0", "noise_20", "noise_40", "noise_60", "noise_80"]
    splits = {"noise": noise, "negative": ["test"], "information": noise[:3], "counterfactual": ["test"]}
    found = {name: config.splits for name, config in catalogue.configs("rgb").items()}
    assert list(found) == CONFIGS
    assert found == {name: splits[name.partition("_")[0]] for name in CONFIGS}


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
    normalize = catalogue.load_script(catalogue.benchmarks()["rgb"]).normalize_answer
    assert normalize(answer) == expected
    assert normalize(expected) == expected, "a shape already normal stays"


@pytest.mark.parametrize("answer", [[], [[]], 70, None, [70], [["a"], []], [[["a"]]], {"a": 1}, [None]])
def test_other_answers_are_refused(answer: Any) -> None:
    normalize = catalogue.load_script(catalogue.benchmarks()["rgb"]).normalize_answer
    with pytest.raises(ValueError, match=re.escape(f"answer is {answer!r}; expected a string, or a list")):
        normalize(answer)


PLAIN = {"id": 0, "query": "q", "answer": "a", "positive": ["p"], "negative": ["n"]}
ASPECTS = PLAIN | {"positive": [["p"], ["r"]]}
FALSE = PLAIN | {"positive_wrong": ["w"], "fakeanswer": "f"}
STRINGS, LISTS = "is not a list of strings", "is not a list of lists of strings"


def without(row: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in keys}


@pytest.mark.parametrize(
    ("config", "line", "message"),
    [
        (
            "noise_robustness_zh",
            "{",
            ":2 is not JSON (Expecting property name enclosed in double quotes); expected JSON",
        ),
        ("noise_robustness_zh", "[1]", ":2 holds a list; expected JSON Lines, one object a line"),
        ("noise_robustness_zh", "7", ":2 holds a int; expected JSON Lines, one object a line"),
        (
            "noise_robustness_zh",
            without(PLAIN, "query", "negative"),
            ":2 has no query, negative; found the keys id, an",
        ),
        ("negative_rejection_en", without(PLAIN, "id"), ":2 has no id; found the keys query, answer,"),
        ("counterfactual_robustness_en", without(FALSE, "positive_wrong"), ":2 has no positive_wrong; found"),
        ("counterfactual_robustness_en", without(FALSE, "fakeanswer"), ":2 has no fakeanswer; found"),
        ("noise_robustness_en", PLAIN | {"id": "0"}, ":2: id is '0'; expected a whole number"),
        ("noise_robustness_en", PLAIN | {"id": True}, ":2: id is True; expected a whole number"),
        ("noise_robustness_en", PLAIN | {"id": 0.5}, ":2: id is 0.5; expected a whole number"),
        ("noise_robustness_en", PLAIN | {"query": None}, ":2: query is None; expected a string"),
        ("noise_robustness_en", PLAIN | {"answer": 7}, ":2: answer is 7; expected a string, or a list of strings"),
        ("noise_robustness_en", PLAIN | {"answer": []}, ":2: answer is []; expected a string, or a list of strings"),
        ("noise_robustness_en", PLAIN | {"positive": "p"}, f":2: positive {STRINGS}"),
        ("noise_robustness_en", PLAIN | {"positive": [["p"]]}, f":2: positive {STRINGS}"),
        ("noise_robustness_en", PLAIN | {"negative": ["n", None]}, f":2: negative {STRINGS}"),
        ("noise_robustness_en", PLAIN | {"negative": None}, f":2: negative {STRINGS}"),
        ("information_integration_en", ASPECTS | {"positive": ["p"]}, f":2: positive {LISTS}"),
        ("information_integration_en", ASPECTS | {"positive": "p"}, f":2: positive {LISTS}"),
        ("information_integration_en", ASPECTS | {"positive": [["p", 1]]}, f":2: positive {LISTS}"),
        ("counterfactual_robustness_zh", FALSE | {"positive_wrong": "w"}, f":2: positive_wrong {STRINGS}"),
        ("counterfactual_robustness_zh", FALSE | {"positive_wrong": []}, ":2: 1 positive but 0 positive_wrong docume"),
        ("counterfactual_robustness_zh", FALSE | {"fakeanswer": 5}, ":2: fakeanswer is 5; expected a string or a li"),
        ("counterfactual_robustness_zh", FALSE | {"fakeanswer": [["f"]]}, ":2: fakeanswer is [['f']]; expected a str"),
        (
            "counterfactual_robustness_zh",
            FALSE | {"id": -1},
            ":2: id -1 stands here a second time; expected unique ids",
        ),
        ("noise_robustness_zh", "答案".encode("gb18030"), " is not UTF-8; expected JSON Lines in UTF-8"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, config: str, line: Any, message: str) -> None:
    good = ASPECTS if "integration" in config else FALSE
    (name,) = catalogue.config("rgb", config).files
    if isinstance(line, dict):
        line = json.dumps(line)
    second = line if isinstance(line, bytes) else line.encode()
    (tmp_path / name).write_bytes(json.dumps(good | {"id": -1}).encode() + b"\n" + second + b"\n")
    split = catalogue.config("rgb", config).splits[0]
    with pytest.raises(QuadragError) as caught:
        rows(config, split, tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / name}{message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_an_empty_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "zh_int.json").write_text(content, encoding="utf-8")
    with pytest.raises(QuadragError, match=r"zh_int\.json is empty; expected JSON Lines"):
        rows("information_integration_zh", "noise_0", tmp_path)


def test_upstream_oddities_are_taken(tmp_path: Path) -> None:
    """Blank lines, carriage returns, tabs and no-break spaces in documents, keys that no config needs."""
    odd = "一\r二\t三\u00a0四\u2028五"
    lines = [
        json.dumps(ASPECTS | {"asnwer1": ["x"], "answer2": ["y"], "positive": [[odd], []]}, ensure_ascii=False),
        "",
        json.dumps(ASPECTS | {"id": 7}),
    ]
    (tmp_path / "zh_int.json").write_text("\n".join(lines), encoding="utf-8", newline="\n")
    found = rows("information_integration_zh", "noise_0", tmp_path)
    assert [row["id"] for row in found] == [0, 7]
    assert found[0]["positive"] == [[odd], []]
    assert odd in found[0]["documents"]


def test_keys_of_other_files_mean_nothing(tmp_path: Path) -> None:
    lines = [FALSE | {"positive": ["p0", "p1"], "fakeanswer": {"any": 1}}, PLAIN | {"id": 1}]
    (tmp_path / "en_refine.json").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    found = rows("noise_robustness_en", "noise_0", tmp_path)
    assert sorted(found[0]["documents"]) == ["n", "p0", "p1"]
    assert [(row["positive_wrong"], row["fakeanswer"]) for row in found] == [([], []), ([], [])]


def test_a_lacking_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(QuadragError, match=rf"{tmp_path} lacks zh_refine\.json, which rgb noise_robustness_zh needs"):
        rows("noise_robustness_zh", "noise_0", tmp_path)
    with pytest.raises(QuadragError, match=r"no folder '.*/absent'; expected the files of rgb or the root"):
        rows("noise_robustness_zh", "noise_0", tmp_path / "absent")
    builder = catalogue.builder_class("rgb")(config_name="noise_robustness_zh", data_dir=str(tmp_path))
    with pytest.raises(
        FileNotFoundError, match=rf"needs zh_refine\.json; neither {tmp_path} nor {tmp_path}/data holds"
    ):
        builder.download_and_prepare(output_dir=str(tmp_path / "out"))


def test_the_root_of_an_upstream_checkout_will_do(tmp_path: Path) -> None:
    shutil.copytree(sample_dir("rgb"), tmp_path / "data")
    split = ("counterfactual_robustness_zh", "test")
    assert rows(*split, tmp_path) == rows(*split)


@pytest.mark.parametrize(
    ("config", "options", "message"),
    [
        ("noise_robustness_en", {"passage_num": -1}, "passage_num is -1; expected a whole number from 0"),
        ("noise_robustness_en", {"passage_num": 2.5}, "passage_num is 2.5; expected a whole number from 0"),
        ("noise_robustness_en", {"passage_num": True}, "passage_num is True; expected a whole number from 0"),
        ("noise_robustness_en", {"noise_ratio": 1.1}, "noise_ratio is 1.1; expected a number from 0 to 1"),
        ("noise_robustness_en", {"noise_ratio": float("nan")}, "noise_ratio is nan; expected a number from 0 to 1"),
        ("noise_robustness_en", {"noise_ratio": "0.2"}, "noise_ratio is '0.2'; expected a number from 0 to 1"),
        ("noise_robustness_en", {"order": "random"}, "order is 'random'; expected 'fixed' or 'per_item'"),
        ("noise_robustness_en", {"correct_ratio": 0.2}, "correct_ratio is an option of counterfactual_robustness;"),
        ("counterfactual_robustness_en", {"correct_ratio": -0.1}, "correct_ratio is -0.1; expected a number from 0 to"),
        (
            "counterfactual_robustness_en",
            {"noise_ratio": 0.8, "correct_ratio": 0.4},
            "4 noise and 2 correct documents do not fit into 5 passages",
        ),
    ],
)
def test_bad_options_are_named_before_any_row(config: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(QuadragError, match=f"^rgb {config}: {re.escape(message)}"):
        builders.open_builder("rgb", config, builders.SAMPLE, options)


def test_an_unknown_option_gets_the_nearest() -> None:
    with pytest.raises(QuadragError, match=r"unknown option of rgb 'noise_rate'; nearest: noise_ratio"):
        builders.open_builder("rgb", "noise_robustness_en", builders.SAMPLE, {"noise_rate": 0.2})


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


REAL = {
    "zh_refine": "noise_robustness_zh",
    "zh_int": "information_integration_zh",
    "en_fact": "counterfactual_robustness_en",
}


@pytest.fixture(params=REAL)
def real(request: pytest.FixtureRequest, real_data: Callable[[str], Path]) -> tuple[str, Path]:
    root = real_data("RGB")
    path = root / "data" / f"{request.param}.json"
    if not path.is_file():
        pytest.skip(f"no {path}")
    return request.param, root


def test_real_files_hold_what_is_known_of_them(real: tuple[str, Path]) -> None:
    name, root = real
    config = REAL[name]
    lines = [json.loads(line) for line in (root / "data" / f"{name}.json").open(encoding="utf-8")]
    by_split = {split: rows(config, split, root) for split in catalogue.config("rgb", config).splits}
    whole = {"zh_refine": 300, "zh_int": 100, "en_fact": 100}[name]
    for split, found in by_split.items():
        assert [row["id"] for row in found] == list(range(len(lines))), split
        assert len(found) <= whole
        assert [row["query"] for row in found] == [line["query"] for line in lines]
        assert all(group and all(group) for row in found for group in row["answer"])
    found = next(iter(by_split.values()))
    if name == "zh_refine":
        shapes = Counter(isinstance(line["answer"][0], list) for line in lines)
        assert shapes[True] <= 17
        assert shapes[False] <= 283
        assert all(len(line["answer"]) == 1 for line in lines if isinstance(line["answer"][0], list))
        assert min(len(row["positive"]) for row in found) >= 5
        assert max(len(row["positive"]) for row in found) <= 29
        assert min(len(row["negative"]) for row in found) >= 5
        assert max(len(row["negative"]) for row in found) <= 36
        for split, rows_of_split in by_split.items():
            noise = int(split.removeprefix("noise_")) // 20
            for row in rows_of_split:
                assert len(row["documents"]) == 5
                assert Counter(row["documents"]) == Counter(row["positive"][: 5 - noise] + row["negative"][:noise])
        assert all(row["documents"][-1] == row["positive"][0] for row in by_split["noise_80"]), "the sole one is last"
    elif name == "zh_int":
        assert {len(row["positive"]) for row in found} <= {2, 3, 4, 5, 7}
        assert all(5 <= len(row["negative"]) <= 74 for row in found)
        for row in by_split["noise_40"]:
            assert len(row["documents"]) == max(5, len(row["positive"]))
            assert all(set(aspect) & set(row["documents"]) for aspect in row["positive"])
    else:
        assert all(1 <= len(row["positive"]) == len(row["positive_wrong"]) <= 9 for row in found)
        assert all(len(row["documents"]) == min(5, len(row["positive"])) for row in found)
        assert all(set(row["documents"]) <= set(row["positive_wrong"]) for row in found)
        assert sum(len(row["positive"]) < 5 for row in found) <= 62
        assert Counter(type(line["answer"]).__name__ for line in lines)["list"] <= 28
        assert all(len(row["answer"]) == len(row["fakeanswer"]) == 1 for row in found)


def test_real_negative_rejection_shows_negatives_only(real_data: Callable[[str], Path]) -> None:
    root = real_data("RGB")
    if not (root / "data" / "zh_refine.json").is_file():
        pytest.skip(f"no zh_refine.json in {root}/data")
    for row in rows("negative_rejection_zh", "test", root):
        assert row["documents"] == [row["negative"][i] for i in (1, 4, 3, 2, 0)]
