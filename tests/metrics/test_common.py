"""What every metric keeps: its folder, card and examples; and what RGB's three do alike: shapes, results, errors."""

from __future__ import annotations

import ast
import inspect
import os
import py_compile
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

NAMES = ("rgb_accuracy", "rejection_rate", "error_detection")
JUDGED = NAMES[1:]
FOLDERS = sorted(
    p.parent.name for p in (Path(__file__).parents[2] / "metrics").glob("*/*.py") if p.stem == p.parent.name
)
PROFILES = ("official", "corrected")
STANDARD = {"n_total", "n_scored", "unscored", "per_item", "signature"}
ANSWERS = ["信息不足", "70", None, "", "There are factual errors. 70", "1.70"]
GOLDS = ["70", ["70"], [["70", "80"]], ["70", ["80", "90"]], "70", "70"]


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def metric(name: str, load_metric: Callable[[str], Any]) -> Any:
    return load_metric(name)


@pytest.mark.parametrize("profile", PROFILES)
def test_compute_add_batch_and_add_agree(metric: Any, profile: str) -> None:
    whole = metric.compute(predictions=ANSWERS, references=GOLDS, profile=profile)
    metric.add_batch(predictions=ANSWERS[:2], references=GOLDS[:2])
    metric.add_batch(predictions=[], references=[])
    metric.add_batch(predictions=ANSWERS[2:], references=GOLDS[2:])
    assert metric.compute(profile=profile) == whole
    for answer, gold in zip(ANSWERS, GOLDS, strict=True):
        metric.add(prediction=answer, reference=gold)
    assert metric.compute(profile=profile) == whole
    assert whole["n_total"] == len(ANSWERS) and whole["unscored"] == {"api_error": 1}


def test_result_rows(metric: Any) -> None:
    got = metric.compute(predictions=ANSWERS, references=GOLDS)
    keys = set(got) - STANDARD
    for row in got["per_item"]:
        assert set(row) == keys | {"reasons"}
        assert set(row["reasons"]) == {key for key in keys if row[key] is None}
        assert all(value is None or type(value) is float for key, value in row.items() if key != "reasons")
        assert set(row["reasons"].values()) <= {"api_error", "unparsable", "truncated", "not_applicable"}


@pytest.mark.parametrize("profile", PROFILES)
def test_no_items(metric: Any, profile: str) -> None:
    got = metric.compute(predictions=[], references=[], profile=profile)
    assert (got["n_total"], got["n_scored"], got["unscored"], got["per_item"]) == (0, 0, {}, [])
    assert all(value is None for key, value in got.items() if key not in STANDARD)


def test_no_item_with_an_answer(metric: Any, name: str) -> None:
    key = {"rgb_accuracy": "accuracy"}.get(name, name)
    official, corrected = (metric.compute(predictions=[None], references=["a"], profile=p) for p in PROFILES)
    assert official[key] is None and (corrected[key], corrected[f"{key}_over_scored"]) == (0.0, None)


def test_states_give_the_reason(metric: Any) -> None:
    states = ["truncated", "unparsable", "raised", None, None, "truncated"]
    got = metric.compute(predictions=[None, None, None, None, "a", "a"], references=["a"] * 6, states=states)
    assert got["unscored"] == {"truncated": 1, "unparsable": 1, "raised": 1, "api_error": 1} and got["n_scored"] == 2


def test_an_array_and_a_tuple_are_lists(metric: Any) -> None:
    import numpy as np

    got = metric.compute(predictions=np.array(["70", "80"]), references=(("70",), np.array(["80"])))
    assert got == metric.compute(predictions=["70", "80"], references=[["70"], ["80"]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"predictions": ["a"], "references": ["a", "b"]}, "1 predictions but 2 references"),
        ({"predictions": "a", "references": ["a"]}, "predictions is str; expected a list"),
        ({"predictions": None, "references": ["a"]}, "predictions is NoneType; expected a list"),
        ({"predictions": [1], "references": ["a"]}, r"predictions\[0\] is int; expected a string or None"),
        ({"predictions": ["a"], "references": "a"}, "references is str; expected a list"),
        ({"predictions": ["a"], "references": [7]}, r"references\[0\] is int; expected"),
        ({"predictions": ["a"], "references": [{"a": 1}]}, r"references\[0\] is dict; expected"),
        ({"predictions": ["a"], "references": [["a", 7]]}, r"references\[0\]\[1\] is int; expected"),
        (
            {"predictions": ["a"], "references": [["a", [None]]]},
            r"references\[0\]\[1\]\[0\] is NoneType; expected",
        ),
        ({"predictions": ["a"], "references": [[[["a"]]]]}, r"references\[0\]\[0\]\[0\] is list; expected"),
        ({"profile": "offical"}, "profile is 'offical'; expected 'official' or 'corrected'"),
        ({"language": "de"}, "language is 'de'; expected 'en' or 'zh'"),
        ({"states": ["api_error"]}, "states has 1 entries for 2 predictions"),
        ({"states": [None, "late"]}, r"states\[1\] is 'late'; expected None or one of api_error"),
    ],
)
def test_bad_input_is_one_clear_line_and_leaves_nothing_behind(
    metric: Any, given: dict[str, Any], message: str
) -> None:
    good: dict[str, Any] = {"predictions": ["a", None], "references": ["a", "a"]}
    with pytest.raises(ValueError, match=message) as caught:
        metric.compute(**{**good, **given})
    assert "\n" not in str(caught.value)
    assert metric.compute(**good)["n_total"] == 2


def test_a_failed_computation_keeps_no_lock(metric: Any) -> None:
    # evaluate would keep its cache file locked, and the next call wait a second for it
    with pytest.raises(ValueError, match="states has"):
        metric.compute(predictions=["a"], references=["a"], states=[])
    assert metric.filelocks is None and metric.data is None


@pytest.mark.parametrize("name", ["rgb_accuracy", "error_detection"])
@pytest.mark.parametrize("references", [None, ["a", None]])
def test_references_are_required(load_metric: Callable[[str], Any], name: str, references: Any) -> None:
    with pytest.raises(ValueError, match="NoneType; expected"):
        load_metric(name).compute(predictions=["a", "b"], references=references)


async def ask_slowly(requests: list[Any]) -> list[str]:
    return ["Yes"] * len(requests)


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize("name", JUDGED)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"questions": None}, "judge was given without questions"),
        ({"questions": ["q"]}, "questions has 1 entries for 2 predictions"),
        ({"questions": ["q", None]}, r"questions\[1\] is NoneType; expected a string"),
        ({"judge": lambda requests: ["Yes"]}, "judge returned 1 replies to 2 requests"),
        ({"judge": lambda requests: "Yes"}, "judge returned str; expected a list"),
        ({"judge": lambda requests: None}, "judge returned NoneType; expected a list"),
        ({"judge": ask_slowly}, "judge returned coroutine; .*; write it as a plain function, not an async one"),
        ({"prompt": "Q {question}"}, r"prompt has no \{answer\}"),
    ],
)
def test_bad_judge(load_metric: Callable[[str], Any], name: str, given: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"predictions": ["a", "b"], "references": ["a", "b"], "questions": ["q", "q"]}
    good["judge"] = lambda requests: ["Yes"] * len(requests)
    with pytest.raises(ValueError, match=message):
        load_metric(name).compute(**{**good, **given})
    assert load_metric(name).compute(**good)["n_total"] == 2


@pytest.mark.parametrize("name", JUDGED)
def test_a_judge_that_raises_is_heard(load_metric: Callable[[str], Any], name: str) -> None:
    def judge(requests: list[Any]) -> list[str]:
        raise RuntimeError("out of budget")

    with pytest.raises(RuntimeError, match="out of budget"):
        load_metric(name).compute(predictions=["a"], references=["a"], questions=["q"], judge=judge)


def test_what_is_shared_lies_once_and_links_lead_there(metrics_root: Path) -> None:
    shared = {path.name for path in (metrics_root / "_shared").glob("*.py")} - {"__init__.py"}
    links = [path for folder in FOLDERS for path in (metrics_root / folder).iterdir() if path.is_symlink()]
    assert all(path.readlink() == Path("..", "_shared", path.name) for path in links)
    assert {path.name for path in links} == shared
    own = [path for path in metrics_root.glob("*/*.py") if not path.is_symlink()]
    assert not [path for path in own if path.name in shared and path.parent.name != "_shared"]
    assert len({path.read_bytes() for path in own}) == len(own)


@pytest.mark.parametrize("folder_name", FOLDERS)
def test_evaluate_takes_along_every_file_of_a_folder(metrics_root: Path, folder_name: str) -> None:
    from evaluate.loading import get_imports

    folder = metrics_root / folder_name
    direct = {name for kind, name, *_ in get_imports(str(folder / f"{folder_name}.py")) if kind == "internal"}
    assert direct == {path.stem for path in folder.glob("*.py")} - {folder_name, "app", "page"}


@pytest.mark.parametrize("folder_name", FOLDERS)
def test_a_folder_imports_packages_and_its_own_files_alone(metrics_root: Path, folder_name: str) -> None:
    folder = metrics_root / folder_name
    siblings = {path.stem for path in folder.glob("*.py")}
    required = {line.split(">=")[0].split("==")[0] for line in (folder / "requirements.txt").read_text().split()}
    packages = {"gradio", "yaml"} | required  # a Space has both: gradio brings PyYAML
    packages |= set(sys.stdlib_module_names)
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert len(node.names) == 1 and node.names[0].name.split(".")[0] in packages, (
                    path,
                    node.lineno,
                )
            elif isinstance(node, ast.ImportFrom):
                # app.py is a script, and alone imports the page: evaluate has neither.
                beside = {"page"} if path.name == "app.py" else set()
                allowed = (siblings - {"app", "page"}) if node.level == 1 else packages | beside
                assert node.level <= 1 and str(node.module).split(".")[0] in allowed, (path, node.lineno)


@pytest.mark.parametrize("folder_name", FOLDERS)
def test_one_metric_class_and_its_options(
    metrics_root: Path, load_metric: Callable[[str], Any], folder_name: str
) -> None:
    import evaluate

    metric = load_metric(folder_name)
    module = sys.modules[type(metric).__module__]
    kinds = [x for x in vars(module).values() if inspect.isclass(x) and issubclass(x, evaluate.Metric)]
    assert kinds == [type(metric)] and metric.name == folder_name
    asked = inspect.signature(metric.compute).parameters
    assert {name: asked[name].default for name in metric.OPTIONS} == {
        name: option.default for name, option in metric.OPTIONS.items()
    }
    assert set(asked) == {"predictions", "references", *metric.OPTIONS}
    documented = metric.inputs_description.split("Returns:")[0]
    card = (metrics_root / folder_name / "README.md").read_text(encoding="utf-8")
    assert all(f"    {keyword}: " in documented and f"**{keyword}**" in card for keyword in asked)
    assert metric.inputs_description in str(metric.compute.__doc__)
    with pytest.raises(TypeError, match=r"compute\(\) got an unexpected keyword argument 'profil'"):
        metric.compute(predictions=["a"], references=["a"], profil="corrected")


def test_keys_are_documented(metric: Any) -> None:
    got = metric.compute(predictions=["a"], references=["a"])
    assert all(key in metric.inputs_description for key in got)


@pytest.mark.parametrize("folder_name", FOLDERS)
def test_folder_is_a_space(metrics_root: Path, folder_name: str, tmp_path: Path) -> None:
    folder = metrics_root / folder_name
    for name in ("app.py", "page.py"):
        py_compile.compile(str(folder / name), cfile=str(tmp_path / "compiled.pyc"), doraise=True)
        assert "launch_gradio_widget" not in (folder / name).read_text(encoding="utf-8")
    required = [line.split(">=")[0] for line in (folder / "requirements.txt").read_text().split()]
    assert required[:2] == ["evaluate", "datasets"]
    front, card = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)[1:]
    meta = yaml.safe_load(front)
    assert (meta["sdk"], meta["app_file"], meta["tags"]) == ("gradio", "app.py", ["evaluate", "metric"])
    sections = [line[3:] for line in card.splitlines() if line.startswith("## ")]
    assert sections == ["Description", "How to use", "Examples", "Limitations and bias", "Citation"]
    for part in (
        "### Inputs",
        "### Output values",
        "### Values from papers",
    ):
        assert part in card


@pytest.mark.slow
def test_examples_run_by_the_bare_names(metrics_root: Path, tmp_path: Path) -> None:
    env = {**os.environ, "HF_MODULES_CACHE": str(tmp_path / "modules"), "HF_HOME": str(tmp_path / "home")}
    env |= {
        "HF_EVALUATE_CACHE": str(tmp_path / "evaluate"),
        "HF_HUB_OFFLINE": "1",
        "HF_EVALUATE_OFFLINE": "1",
    }
    script = Path(__file__).with_name("doctests.py")
    command = [sys.executable, str(script), *(str(metrics_root / name) for name in FOLDERS)]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_paper_s_numbers_come_from_counts(tally: ModuleType) -> None:
    # Table 7, CR: 1 of 3, 1 of 4 and 4 of 7 judged detections, as `result` averages them.
    for right, of, printed in ((1, 3, 33.33), (1, 4, 25.0), (4, 7, 57.14)):
        cells: list[dict[str, Any]] = [{"cr": float(i < right)} for i in range(of)] + [
            {"cr": tally.NOT_APPLICABLE}
        ] * 93
        for profile in PROFILES:
            assert round(100 * tally.result(["cr"], cells, profile, "")["cr"], 2) == printed
