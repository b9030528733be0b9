"""What every metric keeps: its folder, card and examples, columns and results in every shape, bad input by its name."""

import ast
import inspect
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from ordinary import REPLIES, ordinary

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(p.parent.name for p in (ROOT / "metrics").glob("*/*.py") if p.stem == p.parent.name)
RGB = ("rgb_accuracy", "rejection_rate", "error_detection")
PROFILES = ("official", "corrected")
STANDARD = {"n_total", "n_scored", "unscored", "per_item", "signature", "valid"}
# Answers and references beside the ordinary ones: missing, empty, in lists, without a use.
ITEMS: dict[str, tuple[list[Any], list[Any]]] = {
    "crud_overlap": (["上海市体育局", None, "", "a"], [["上海市体育局发放"], "b", "b", None]),
    "omnieval": (["甲", None, "", "乙"], ["金", ["金", "子"], "金", None]),
    "omnieval_overlap": (["3.2亿元", None, "", "\ud83d基金"], [["3.2亿元", "净利润"], "基金", "基金", ("基金", "")]),
    "ragquesteval": (["P", None, "", "Q"], ["R", "R", "R", None]),
    "retrieval_ranking": ([["a", "b"], None, [], [7, "8"]], [["b"], ["a"], ["a"], (8, 9)]),
    "truthfulness": (["a", None, "", "b"], ["A", ["x", "y"], "x", None]),
}
ITEMS |= {name: (["信息不足", None, "", "1.70"], ["70", ["70"], [["70", "80"]], ["70", ["80"]]]) for name in RGB}


@pytest.fixture(params=FOLDERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def metric(name: str, load_metric: Callable[[str], Any]) -> Any:
    return load_metric(name)


def options(name: str, n: int) -> dict[str, Any]:
    given = {key: value for key, value in ordinary(name).items() if key not in ("predictions", "references")}
    return {key: value[:1] * n if isinstance(value, list) else value for key, value in given.items()}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.filterwarnings("ignore:.*verdicts:UserWarning")
def test_all_at_once_in_batches_and_one_by_one(metric: Any, name: str, profile: str) -> None:
    answers, golds = ITEMS[name]
    more = {**options(name, 4), "profile": profile}
    whole = metric.compute(predictions=answers, references=golds, **more)
    metric.add_batch(predictions=answers[:2], references=golds[:2])
    metric.add_batch(predictions=[], references=[])
    metric.add_batch(predictions=tuple(answers[2:]), references=golds[2:])
    assert metric.compute(**more) == whole
    for answer, gold in zip(answers, golds, strict=True):
        metric.add(prediction=answer, reference=gold)
    assert metric.compute(**more) == whole


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.filterwarnings("ignore:.*verdicts:UserWarning")
def test_rows_counts_and_means_belong_together(metric: Any, name: str, profile: str) -> None:
    answers, golds = ITEMS[name]
    got = metric.compute(predictions=answers, references=golds, **options(name, 4), profile=profile)
    assert got["n_total"] == 4 == got["n_scored"] + sum(got["unscored"].values())
    assert got["unscored"]["api_error"] == 1
    keys = [key for key in got["per_item"][0] if key not in ("reasons", "ruled")]
    assert all(key.split("@")[0] in metric.inputs_description for key in keys)
    for row in got["per_item"]:
        assert set(row) - {"ruled"} == {*keys, "reasons"}
        assert all(row[key] is None or type(row[key]) is float for key in keys)
        if profile == "corrected" or name != "truthfulness":  # there an unscored item is a hallucination
            assert set(row["reasons"]) == {key for key in keys if row[key] is None}
    for key in keys:
        values = [row[key] for row in got["per_item"] if row[key] is not None]
        n = sum(row["reasons"].get(key) != "not_applicable" for row in got["per_item"])
        worst = (n - len(values)) * (key == "hal")
        n = n if profile == "corrected" else len(values)
        assert got[key] == (pytest.approx((sum(values) + worst * (profile == "corrected")) / n) if n else None), key
        if profile == "corrected":
            assert got[f"{key}_over_scored"] == (pytest.approx(sum(values) / len(values)) if values else None)


@pytest.mark.parametrize("profile", PROFILES)
def test_no_items(metric: Any, name: str, profile: str) -> None:
    got = metric.compute(predictions=[], references=[], **options(name, 0), profile=profile)
    assert (got["n_total"], got["n_scored"], got["unscored"], got["per_item"]) == (0, 0, {}, [])
    assert all(value is None for key, value in got.items() if key not in STANDARD)


def test_states_give_the_reason_of_an_item_without_an_answer(metric: Any, name: str) -> None:
    states = ["truncated", "unparsable", "raised", None, "null"]
    gold = ["d1"] if name == "retrieval_ranking" else "a"
    got = metric.compute(predictions=[None] * 5, references=[gold] * 5, **options(name, 5), states=states)
    assert got["unscored"] == dict.fromkeys(["truncated", "unparsable", "raised", "api_error", "null"], 1)
    assert got["n_scored"] == 0


# Bad input: an option that takes the place of an ordinary one, and what the error names.
BAD = yaml.safe_load(Path(__file__).with_name("bad_input.yaml").read_text(encoding="utf-8"))
# The same, of what is no data.
BAD_OBJECTS: dict[str, list[tuple[dict[str, Any], str]]] = {
    "judged": [({"judge": lambda requests: []}, "0 replies"), ({"judge": lambda requests: "Yes"}, "str")],
    "crud_overlap": [
        ({"embed": lambda texts: [1.0] * len(texts)}, "embed returned shape (4,)"),
        ({"embed": lambda texts: [[math.nan]] * len(texts)}, "finite"),
    ],
    "truthfulness": [({"judges": [print]}, "judge alone"), ({"judge": None, "judges": [print, 1]}, "judge is int")],
}


@pytest.mark.filterwarnings("ignore:.*verdicts:UserWarning")
def test_bad_input_is_one_line_that_names_it_and_leaves_nothing_behind(metric: Any, name: str) -> None:
    groups = ["all", name, *["judged"] * (name in REPLIES), *["rgb"] * (name in RGB)]
    groups += ["asked"] * (name in REPLIES and name != "ragquesteval")
    for changed, named in [row for group in groups for row in (*BAD.get(group, ()), *BAD_OBJECTS.get(group, ()))]:
        with pytest.raises(ValueError) as caught:
            metric.compute(**{**ordinary(name), **changed})
        assert type(caught.value) is ValueError and named in str(caught.value), (changed, str(caught.value))
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="states"):
        metric.compute(**ordinary(name), states=[])
    locked = [lock for lock in metric.filelocks or [] if lock.is_locked]
    assert locked == [], "evaluate would keep its file locked, and the next call wait a second for it"
    assert metric.compute(**ordinary(name))["n_total"] == 3
    with pytest.raises(TypeError, match="'profil'"):
        metric.compute(**ordinary(name), profil="corrected")


@pytest.mark.parametrize("name", REPLIES)
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
def test_a_judge_that_raises_is_heard_and_one_that_waits_is_refused(
    load_metric: Callable[[str], Any], name: str
) -> None:
    def judge(requests: list[Any]) -> list[str]:
        raise RuntimeError("out of budget")

    async def slow(requests: list[Any]) -> list[str]:
        return ["Yes"] * len(requests)

    with pytest.raises(RuntimeError, match="out of budget"):
        load_metric(name).compute(**{**ordinary(name), "judge": judge})
    with pytest.raises(ValueError, match="coroutine"):
        load_metric(name).compute(**{**ordinary(name), "judge": slow})
    assert load_metric(name).compute(**ordinary(name))["n_total"] == 3


SIGNATURES = {
    "crud_overlap": "1.1.0|profile:{}|tokenizer:jieba-0.42.1|bleu:sacrebleu-*|embed:none|prompt:none|judge:none",
    "error_detection": "1.2.0|profile:{}|language:en|tokenizer:none|prompt:6eaee04e|judge:none",
    "omnieval": "1.3.0|profile:{}|metrics:acc+hal+com+utl+nac|tokenizer:none|prompt:421da01f|judge:none",
    "omnieval_overlap": "1.1.0|profile:{}|tokenizer:jieba-0.42.1|prompt:none|judge:none",
    "ragquesteval": "1.2.0|profile:{}|questions:cache-*|tokenizer:jieba-0.42.1|prompt:3c650088|judge:none",
    "rejection_rate": "1.2.0|profile:{}|language:en|references:yes|tokenizer:none|prompt:cda2dc3e|judge:none",
    "retrieval_ranking": "1.0.0|profile:{}|k:1,5,10|tokenizer:none|prompt:none|judge:none",
    "rgb_accuracy": "1.1.0|profile:{}|language:en|tokenizer:none|prompt:none|judge:none",
    "truthfulness": "1.3.0|profile:{}|failures:*|tokenizer:none|prompt:f3b0bb57|judge:none",
}


@pytest.mark.filterwarnings("ignore:.*verdicts:UserWarning")
def test_a_signature_names_all_that_the_values_depend_on(metric: Any, name: str) -> None:
    for profile in PROFILES:
        wanted = re.escape(f"{name}|version:{SIGNATURES[name].format(profile)}").replace(r"\*", r"[\w.]+")
        signature = metric.compute(**ordinary(name), profile=profile)["signature"]
        assert re.fullmatch(wanted, signature), signature


def test_what_is_shared_lies_once_and_links_lead_there(metrics_root: Path) -> None:
    shared = {path.name for path in (metrics_root / "_shared").glob("*.py")} - {"__init__.py"}
    links = [path for folder in FOLDERS for path in (metrics_root / folder).iterdir() if path.is_symlink()]
    assert all(path.readlink() == Path("..", "_shared", path.name) for path in links)
    assert {path.name for path in links} == shared
    own = [path for path in metrics_root.glob("*/*.py") if not path.is_symlink()]
    assert not [path for path in own if path.name in shared and path.parent.name != "_shared"]


def test_a_folder_imports_the_packages_it_requires_and_its_own_files_alone(metrics_root: Path, name: str) -> None:
    folder = metrics_root / name
    siblings = {path.stem for path in folder.glob("*.py")} - {"app"}
    lines = (folder / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert all(re.fullmatch(r"[a-z_]+(>=|==)\d+(\.\d+)+", line) for line in lines)
    packages: set[str] = set()
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert len(node.names) == 1, (path, node.lineno)
                packages.add(node.names[0].name.split(".")[0])
            elif isinstance(node, ast.ImportFrom) and node.level:
                assert node.level == 1 and node.module in siblings, (path, node.lineno)
            elif isinstance(node, ast.ImportFrom):
                packages.add(str(node.module).split(".")[0])
    # A Space has Gradio, which brings PyYAML.
    assert packages - set(sys.stdlib_module_names) - {"gradio", "yaml"} == {re.split("[>=]", line)[0] for line in lines}


def test_one_metric_class_and_its_options(metrics_root: Path, metric: Any, name: str) -> None:
    import evaluate

    module = sys.modules[type(metric).__module__]
    kinds = [x for x in vars(module).values() if inspect.isclass(x) and issubclass(x, evaluate.Metric)]
    assert kinds == [type(metric)] and metric.name == name
    own = inspect.signature(metric.SCORER).parameters.keys() - {"common", "profiles", "judges", "config"}
    asked = {"predictions", "references", "profile", "states", *metric.SCORER.COLUMNS, *own}
    asked |= {"judge"} if name in REPLIES else set()
    documented = metric.inputs_description.split("Returns:")[0]
    card = (metrics_root / name / "README.md").read_text(encoding="utf-8")
    assert all(f"    {keyword}: " in documented and f"**{keyword}**" in card for keyword in asked)
    assert metric.inputs_description in str(metric.compute.__doc__) and metric.citation.strip() in card


@pytest.mark.slow
def test_examples_run_by_the_bare_names(metrics_root: Path, tmp_path: Path) -> None:
    env = {**os.environ, "HF_MODULES_CACHE": str(tmp_path / "modules"), "HF_HOME": str(tmp_path / "home")}
    env |= {"HF_EVALUATE_CACHE": str(tmp_path / "evaluate"), "HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1"}
    script = Path(__file__).with_name("doctests.py")
    command = [sys.executable, str(script), *(str(metrics_root / name) for name in FOLDERS)]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


ANSWERS = ["It was 70.", "No."]


def test_a_column_is_a_list_and_a_table_is_none(load_metric: Callable[[str], Any]) -> None:
    import pandas as pd
    import pyarrow as pa

    frame, metric = pd.DataFrame({"answer": ANSWERS, "gold": ["70", "70"]}), load_metric("rgb_accuracy")
    columns = [tuple(ANSWERS), frame["answer"], np.array(ANSWERS), pa.chunked_array([ANSWERS]), iter(ANSWERS)]
    columns += [dict(enumerate(ANSWERS)).values(), list(map(np.str_, ANSWERS))]
    for column in columns:
        got = metric.compute(predictions=column, references=frame["gold"])
        assert [row["accuracy"] for row in got["per_item"]] == [1.0, 0.0]
    tables = [frame, frame[["answer"]], pa.table(frame), dict.fromkeys(ANSWERS, "x"), set(ANSWERS), "70"]
    tables += [dict.fromkeys(ANSWERS).keys(), [{"answer": text} for text in ANSWERS]]
    for metric in map(load_metric, ("rgb_accuracy", "omnieval_overlap", "crud_overlap")):
        for table in tables:
            for column in ("predictions", "references"):
                with pytest.raises(ValueError, match=column):
                    metric.compute(**{"predictions": ["x"] * 2, "references": ["70"] * 2, column: table})
    for lacking in (None, float("nan"), pd.NA, np.float64("nan")):
        got = load_metric("rgb_accuracy").compute(predictions=["70", lacking], references=["70", "70"])
        assert (got["accuracy"], got["n_scored"], got["unscored"]) == (1.0, 1, {"api_error": 1})
