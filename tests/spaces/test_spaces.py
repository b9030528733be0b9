"""Each metric's Space starts as on the Hub, scores what is pasted and says in one line what is wrong with it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

METRICS = Path(__file__).resolve().parents[2] / "metrics"
# Of each page's example: the config, values of the result, and how often a judge was asked.
EXAMPLES: dict[str, tuple[str | None, dict[str, Any], int]] = {
    "crud_overlap": (None, {"bleu_1": 1.0, "length": 14.5}, 0),
    "error_detection": (None, {"error_detection": 1 / 3, "error_detection_judged": 2 / 3, "error_correction": 1.0}, 3),
    "omnieval": ("acc", {"acc": 0.75, "valid": True}, 2),
    "omnieval_overlap": (None, {"em": 0.0}, 0),
    "ragquesteval": (None, {"precision": 1.0, "recall": 0.5}, 3),
    "rejection_rate": (
        None,
        {"rejection_rate": 2 / 3, "rejection_rate_judged": 2 / 3, "unsupported_correct": 1 / 3},
        3,
    ),
    "retrieval_ranking": (None, {"hit@1": 0.0, "recall@5": 0.75}, 0),
    "rgb_accuracy": (None, {"accuracy": 1.0, "accuracy_bounded": 2 / 3}, 0),
    "truthfulness": (None, {"truthfulness": 0.0, "missing": 1 / 3}, 2),
}


def form(name: str) -> dict[str, str]:
    record = yaml.safe_load((METRICS / name / "metric.yaml").read_text(encoding="utf-8"))
    return {box: "\n".join(lines) for box, lines in record["form"].items()}


def post(url: str, config: str | None, boxes: dict[str, str]) -> tuple[dict[str, Any], list[Any], list[str]]:
    from gradio_client import Client

    client = Client(url, verbose=False)
    result, items, asked = client.predict("official", config, *boxes.values(), api_name="/score")
    return {key: json.loads(value) for key, value in result["data"] if key != "signature"}, items["data"], asked


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_is_scored(start: Callable[[str], str], name: str) -> None:
    config, wanted, n = EXAMPLES[name]
    boxes = form(name)
    result, items, asked = post(start(name), config, boxes)
    assert {key: result[key] for key in wanted} == pytest.approx(wanted)
    assert result["n_total"] == result["n_scored"] == len(items) == len(boxes["predictions"].splitlines())
    assert len(asked or []) == n


def test_what_is_wrong_is_told_in_one_line_and_boxes_may_be_empty(start: Callable[[str], str]) -> None:
    from gradio_client.exceptions import AppError

    url, boxes = start("truthfulness"), form("truthfulness")
    rated = dict.fromkeys(boxes, "") | {"ratings": "perfect\n\nincorrect"}
    result, _, _ = post(url, None, rated)
    assert (result["truthfulness"], result["unscored"]) == (0.0, {"unrated": 1})
    lines = {
        "references": ('a\n["b", 7', "references, line 2"),
        "ratings": ("good\n\n", "ratings"),
        "questions": ("", "questions is None"),
    }
    for box, (text, named) in lines.items():
        with pytest.raises(AppError) as caught:
            post(url, None, boxes | {box: text})
        assert named in str(caught.value) and "\n" not in str(caught.value) and "Traceback" not in str(caught.value)


def test_the_page_is_used_in_a_browser(start: Callable[[str], str], browser: Any) -> None:
    url, elsewhere = start("rgb_accuracy"), []
    page = browser.new_page()

    def look(route: Any) -> None:
        inside = route.request.url.startswith(url)
        elsewhere.extend([] if inside else [route.request.url])
        (route.continue_ if inside else route.abort)()

    page.route("**/*", look)
    page.goto(url, wait_until="domcontentloaded")
    page.get_by_label("predictions").fill("<b>70</b>\n170\nx")
    page.get_by_label("references").fill('"70"\n"70"\n"70"')
    page.get_by_role("button", name="Score").click()
    page.get_by_text(str(2 / 3)).first.wait_for()
    page.get_by_role("heading", name="Metric card: ").wait_for()
    assert page.title() == "RGB accuracy" and elsewhere == []
