"""Every metric's record, `metric.yaml`, against its results and its card."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quadrag import catalogue
from quadrag.errors import QuadragError
from quadrag.metric_record import metric_record

NAMES = sorted(catalogue.metrics())
STANDARD = {"n_total", "n_scored", "unscored", "per_item", "signature", "valid"}


def judge(requests: list[Any]) -> list[str]:
    return ['{"score": 1, "prediction": 1, "question": ["q"]}\n<response>\na\n</response>\nYes, addressed.'] * len(
        requests
    )


# All that a metric can be given, so that its result has every key.
GIVEN: dict[str, dict[str, Any]] = {
    "crud_overlap": {"embed": lambda texts: [[1.0]] * len(texts)},
    "error_detection": {"judge": judge, "questions": ["q"]},
    "omnieval": {"judge": judge, "questions": ["q"], "contexts": ["c"]},
    "ragquesteval": {"judge": judge},
    "rejection_rate": {"judge": judge, "questions": ["q"]},
    "retrieval_ranking": {"predictions": [["a"]], "references": [["a"]], "k": [1, 5]},
    "truthfulness": {"ratings": ["perfect"], "weights": {"t": 1}, "domains": ["d"], "question_types": ["t"]},
}


def result(load_metric: Callable[[str], Any], name: str, **more: Any) -> dict[str, Any]:
    return dict(load_metric(name).compute(**{"predictions": ["a"], "references": ["a"], **GIVEN.get(name, {}), **more}))


@pytest.mark.parametrize("name", NAMES)
def test_a_record_has_the_keys_of_the_result_in_its_order(load_metric: Callable[[str], Any], name: str) -> None:
    record = metric_record(name)
    got = result(load_metric, name, profile="corrected")
    keys = [key for key in got if key not in STANDARD and not key.endswith("_over_scored")]
    assert list(dict.fromkeys(record.key(key).name for key in keys)) == list(record.keys)
    for key in keys:
        low, high = record.key(key).range
        assert got[key] is None or ((low is None or low <= got[key]) and (high is None or got[key] <= high)), key


@pytest.mark.parametrize("name", NAMES)
def test_an_unscored_item_counts_as_the_record_s_worst(load_metric: Callable[[str], Any], name: str) -> None:
    asked = {key: value for key, value in GIVEN.get(name, {}).items() if key != "ratings"}
    nothing = {"predictions": [None], "references": [["a"]] if name == "retrieval_ranking" else ["a"]}
    got = load_metric(name).compute(**{**asked, **nothing, "profile": "corrected"})
    means = {key: value for key, value in got.items() if isinstance(value, float) and key != "unscored_share"}
    assert means and means == {key: metric_record(name).key(key).worst for key in means}


@pytest.mark.parametrize("name", NAMES)
def test_what_needs_a_judge_or_an_embedding_is_not_there_without(load_metric: Callable[[str], Any], name: str) -> None:
    record = metric_record(name)
    if "judge" in record.needs:
        assert all(key.needs == "judge" for key in record.keys.values())
        with pytest.raises(ValueError, match="judge is NoneType; expected a callable"):
            result(load_metric, name, judge=None)
        return
    plain = {"k": [1, 5], "predictions": [["a"]], "references": [["a"]]} if name == "retrieval_ranking" else {}
    got = load_metric(name).compute(**{"predictions": ["b"], "references": ["a"], **plain})
    there = {record.key(key).name for key in got if key not in STANDARD and got[key] is not None}
    assert not [key for key in there if record.keys[key].needs]


PHRASES = [
    (name, key, *phrase)
    for name in NAMES
    for key, record in metric_record(name).keys.items()
    for phrase in record.phrase.items()
]


@pytest.mark.parametrize(("name", "key", "language", "phrase"), PHRASES)
def test_an_answer_with_the_record_s_phrase_has_the_value(
    load_metric: Callable[[str], Any], name: str, key: str, language: str, phrase: str
) -> None:
    options = {"language": language} if language == "zh" else {}
    answers = [phrase, phrase[:-1]]
    got = load_metric(name).compute(predictions=answers, references=["no", "no"], **options)["per_item"]
    assert [row[key] == 1 for row in got] == [True, False]


@pytest.mark.parametrize("name", NAMES)
def test_configs_and_schemas_are_the_module_s(name: str, metrics_root: Path) -> None:
    import evaluate

    record = metric_record(name)
    for config in record.configs or (None,):
        metric = evaluate.load(str(metrics_root / name), config)
        assert hasattr(metric, "response_format") == record.verdict_schema
        if config and config != "all":
            assert config in record.keys


def test_a_key_with_a_number_and_unknown_names() -> None:
    ranking = metric_record("retrieval_ranking")
    assert ranking.key("recall@5") is ranking.key("recall@10") is ranking.keys["recall@k"]
    with pytest.raises(QuadragError, match="'omnieva'"):
        metric_record("omnieva")
    for record, key in ((metric_record("omnieval"), "hall"), (ranking, "map@5")):
        with pytest.raises(QuadragError, match=f"'{key}'"):
            record.key(key)
