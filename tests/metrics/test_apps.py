"""What a Space makes of the rows of its table, without Gradio; `tests/spaces/` has the pages, in a browser."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest
import yaml

METRICS = Path(__file__).parents[2] / "metrics"


class Error(Exception):
    """Gradio's."""

    def __init__(self, message: str, print_exception: bool = True) -> None:
        super().__init__(message)


@pytest.fixture
def app(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    gradio = ModuleType("gradio")
    vars(gradio).update(Error=Error, Blocks=object, Radio=lambda *given, **more: (given, more), Textbox=dict)
    monkeypatch.setitem(sys.modules, "gradio", gradio)
    for name in ("page", "app"):
        spec = importlib.util.spec_from_file_location(name, METRICS / request.param / f"{name}.py")
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
    yield module


def score(app: ModuleType, rows: list[list[Any]], *options: str) -> dict[str, Any]:
    folder = Path(str(app.__file__)).parent
    shown = yaml.safe_load((folder / "space.yaml").read_text(encoding="utf-8"))
    page = sys.modules["page"]
    table = pd.DataFrame(rows, columns=shown["columns"], dtype=object)
    return dict(app.score(page.rows_of(table, shown["columns"], tuple(shown.get("required", ()))), *options))


JSON = '["3.2亿元", "3.20亿元"]'
OFF, COR = "official", "corrected"
REJECTED, ANSWERED = "No, it is not addressed.", "Yes, it is addressed."
FOUND, NOT_FOUND = "Yes, it has identified them.", "No, it has not identified them."
ROWS: list[tuple[str, list[list[Any]], tuple[str, ...], dict[str, Any]]] = [
    ("crud_overlap", [["一样", "一样"], ["", ""], ["", "一样"]], (COR,), {"rouge_l": 0.5, "n_total": 2}),
    ("omnieval_overlap", [["3.2亿元", JSON], ["x", "y"]], (OFF,), {"em": 0.25}),
    ("omnieval_overlap", [["3.2亿元", JSON], ["x", "y"]], (COR,), {"em": 0.5}),
    ("rgb_accuracy", [["in NYC", '[["NYC", "New York"]]'], ["a", '["a", "b"]'], ["170", "70"]], (OFF, "en"),
     {"accuracy": 2 / 3, "accuracy_bounded": 1 / 3}),
    ("rgb_accuracy", [["SE 3 x", "SE 3"]], (OFF, "zh"), {"accuracy": 0.0}),
    ("retrieval_ranking", [["x, d1", "d1"], ["d1 d2", "d2"]], ("2, 1", OFF), {"mrr": 0.5, "hit@1": 0.0, "hit@2": 1.0}),
    ("rejection_rate", [["no", "", ""], ["insufficient information", "", ""]], (OFF, "en"),
     {"rejection_rate": 0.5, "unsupported_correct": KeyError, "rejection_rate_judged": KeyError}),
    ("rejection_rate", [["70", "70", REJECTED], ["insufficient information", "70", ANSWERED], ["x", "y", " "]],
     (OFF, "en"), {"rejection_rate": 2 / 3, "unsupported_correct": 1 / 3, "rejection_rate_judged": 0.5, "n_scored": 2}),
    ("error_detection", [["There are factual errors. 0", "0", ""], ["x", '["x"]', ""]], (OFF, "en"),
     {"error_detection": 0.5, "error_correction": 1.0, "error_detection_judged": KeyError}),
    ("error_detection", [["0", "0", FOUND], ["y", '["x"]', FOUND], ["x", "x", NOT_FOUND]], (COR, "en"),
     {"error_detection": 0.0, "error_correction": 0.5, "error_detection_judged": 2 / 3}),
    ("omnieval", [["x", JSON, '{"prediction": 2}'], ["x", "y", '{"prediction": 1}'], ["x", "y", ""]], ("acc", COR),
     {"acc": 0.5, "unscored": {"api_error": 1}}),
    ("omnieval", [["x", "y", '{"prediction": 1}']], ("hal", OFF), {"hal": 1.0}),
    ("truthfulness", [["Paris", "paris", ""], ["I don't know", "1912", ""]], (OFF,), {"truthfulness": 0.5}),
    ("truthfulness", [["Paris", "paris", ""], ["1990", JSON, '{"score": 0}'], ["b", "c", '{"score": 1}']], (OFF,),
     {"truthfulness": 1 / 3, "accuracy": 2 / 3}),
    ("truthfulness", [["a", "b", "Perfect"], ["a", "", "incorrect"], ["a", "b", " "]], (OFF,),
     {"truthfulness": 0.0, "unscored": {"unrated": 1}}),
    ("ragquesteval",
     [["甲", "总额？", "500万元", "500万元"], ["乙", "哪里？", "西安", "无法推断"], ["", "谁？", "他", "他"]], (OFF,),
     {"precision": 1.0, "recall": 0.75, "n_total": 2}),
]  # fmt: skip


@pytest.mark.parametrize(("app", "rows", "options", "wanted"), ROWS, indirect=["app"])
def test_rows_are_scored(
    app: ModuleType, rows: list[list[Any]], options: tuple[str, ...], wanted: dict[str, Any]
) -> None:
    got = score(app, rows, *options)
    for key, value in wanted.items():
        if value is KeyError:
            assert key not in got
        else:
            assert got[key] == (pytest.approx(value) if isinstance(value, float) else value), key
    shown, whole = sys.modules["page"].summarise(got)
    first = next(iter(got))
    assert shown.startswith(f"# {first}: {round(got[first], 4)}\n") and whole is got
    assert f"n_total: **{got['n_total']}** · n_scored: **{got['n_scored']}**" in shown
    assert all(f"{n} {why}" in shown for why, n in got["unscored"].items())


BAD = [
    ("omnieval_overlap", [["", None], [float("nan"), ""]], "empty"),
    ("omnieval_overlap", [["a", "b"], ["c", " "]], "row 2: accepted"),
    ("omnieval_overlap", [["a", 7]], "row 1, accepted: 7"),
    ("omnieval_overlap", [["a", '["b", 7']], "row 1"),
    ("omnieval_overlap", [["a", '[["b"]]']], "row 1"),
    ("omnieval_overlap", [["a", "[]"]], "row 1"),
    ("rgb_accuracy", [["a", '["b", [[]]]']], "row 1"),
    ("rejection_rate", [["a", "b", ""], ["a", "", ""]], "row 2"),
    ("truthfulness", [["a", "b", "perfect"], ["a", "b", "good"]], "row 2: 'good'"),
    ("truthfulness", [["a", "", ""]], "row 1: accepted"),
    ("ragquesteval", [["1", "问", "答", "a</Response>"]], "row 1"),
    ("retrieval_ranking", [["a", "a"]], "k[0] is 'x'"),
]


@pytest.mark.parametrize(("app", "rows", "named"), BAD, indirect=["app"])
def test_what_cannot_be_scored_is_named_by_its_row(app: ModuleType, rows: list[list[Any]], named: str) -> None:
    options = {
        "rgb_accuracy": ("official", "en"),
        "rejection_rate": ("official", "en"),
        "retrieval_ranking": ("x", "official"),
    }
    name = Path(str(app.__file__)).parent.name
    with pytest.raises(ValueError) as caught:
        score(app, rows, *options.get(name, ("official",)))
    assert named in str(caught.value)
    with pytest.raises(Error, match="&lt;b&gt;"), sys.modules["page"].show_faults():
        raise ValueError("row 1: <b>")


@pytest.mark.parametrize("app", ["rgb_accuracy"], indirect=True)
def test_a_metric_has_a_button_for_each_common_option(app: ModuleType) -> None:
    made = sys.modules["page"].buttons(app.metric)
    assert [(choices, more["value"]) for (choices,), more in made] == [
        (["official", "corrected"], "official"), (["en", "zh"], "en")
    ]  # fmt: skip


@pytest.mark.parametrize("app", ["rgb_accuracy"], indirect=True)
def test_rows_are_pasted_as_csv_or_from_a_spreadsheet(app: ModuleType) -> None:
    def read(text: str) -> list[list[str]]:
        rows: list[list[str]] = sys.modules["page"].read_pasted(text, ["a", "b"])
        return rows

    rows = [["x, y", "1"], ["two\nlines", ""]]
    assert read('"x, y",1\n"two\nlines",\n') == read('A, b\n"x, y",1\n,\n"two\nlines",') == rows
    assert read("x, y\t1\r\n") == rows[:1] and len(read(f"{'x' * 200_000},1")[0][0]) == 200_000
    for text, named in (
        ("", "nothing"),
        ("a,b\n", "nothing"),
        ("1,2\n1,2,3", "row 2 has 3 cells"),
        ("1\t2\t3", "row 1"),
    ):
        with pytest.raises(ValueError, match=named):
            read(text)
