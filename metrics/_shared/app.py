# SPDX-License-Identifier: Apache-2.0
"""The page of a metric's Space: a box for each entry of `form` in `metric.yaml`, with an example; tables out.

A line of a box is an item: a text, a list or a text in quotation marks as JSON has them, or nothing for none. What a
judge replied elsewhere is pasted, a line a request, in the order in which the page lists what was asked.
"""

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr
import yaml

_FOLDER = Path(__file__).parent
_RECORD = yaml.safe_load((_FOLDER / "metric.yaml").read_text(encoding="utf-8"))
_FORM = _RECORD["form"]
_, _HEADER, _CARD = (_FOLDER / "README.md").read_text(encoding="utf-8").split("---", 2)
_METRICS = {
    config: evaluate.load(str(_FOLDER / f"{_RECORD['name']}.py"), config) for config in _RECORD.get("configs", [None])
}


class Pasted:
    """A judge that repeats what was pasted, in order, None where that is at an end; it keeps what it was asked."""

    model = "pasted"

    def __init__(self, replies: list[Any]) -> None:
        self._replies: Iterator[Any] = iter(replies)
        self.asked: list[str] = []

    def __call__(self, requests: list[Any]) -> list[Any]:
        self.asked += [request[-1]["content"] for request in requests]
        return [next(self._replies, None) for _ in requests]


def _read(name: str, text: str) -> list[Any]:
    entries: list[Any] = []
    for n, line in enumerate(text.splitlines(), 1):
        try:
            entries.append(json.loads(line) if line.lstrip()[:1] in ("[", '"') else line.strip() or None)
        except (ValueError, RecursionError):
            raise ValueError(f"{name}, line {n}: {line[:60]!r} is no JSON; expected a list, or a text") from None
    return entries


def score(profile: str, config: str | None, *boxes: str) -> dict[str, Any]:
    """Return the metric's result of what stands in the boxes, an empty one not given, and what a judge was asked."""
    metric = _METRICS[config]
    given: dict[str, Any] = {name: _read(name, text) for name, text in zip(_FORM, boxes, strict=True) if text.strip()}
    replies = given.pop("replies", None)
    for name in given.keys() - {"predictions", "references", *metric.SCORER.COLUMNS}:
        (given[name],) = given[name][:1]
    judge = Pasted(replies or [])
    judged = {"judge": judge} if replies or metric.SCORER.JUDGES[0] else {}
    return {**metric.compute(**given, **judged, profile=profile), "asked": judge.asked}


def _show(*chosen: Any) -> tuple[Any, Any, Any]:
    try:
        scores = score(*chosen)
    except (TypeError, ValueError) as error:
        raise gr.Error(html.escape(str(error), quote=False), print_exception=False) from error
    asked, rows = scores.pop("asked"), scores.pop("per_item")
    values = [[key, json.dumps(value, ensure_ascii=False)] for key, value in scores.items()]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[n, *(json.dumps(row.get(key), ensure_ascii=False) for key in columns)] for n, row in enumerate(rows, 1)]
    return values, {"headers": ["item", *columns], "data": cells}, asked


with gr.Blocks(title=yaml.safe_load(_HEADER)["title"]) as demo:
    gr.Markdown(f"# {yaml.safe_load(_HEADER)['title']}\n\n{yaml.safe_load(_HEADER)['description']}")
    profile = gr.Radio(["official", "corrected"], value="official", label="profile")
    config = gr.Radio([*_METRICS], value=next(iter(_METRICS)), label="config", visible=len(_METRICS) > 1)
    boxes = [gr.Textbox("\n".join(lines), label=name, lines=3, max_lines=12) for name, lines in _FORM.items()]
    button = gr.Button("Score", variant="primary")
    values = gr.Dataframe(headers=["key", "value"], label="result", wrap=True)
    items = gr.Dataframe(label="items", wrap=True)
    asked = gr.JSON(label="what a judge was asked", visible="replies" in _FORM)
    gr.Markdown(_CARD)
    button.click(_show, [profile, config, *boxes], [values, items, asked], api_name="score")

if __name__ == "__main__":
    demo.launch(show_error=True)
