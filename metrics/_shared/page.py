# SPDX-License-Identifier: Apache-2.0
"""The page of a metric's Space: a table of rows in, the result out, the metric's card below."""

import csv
import functools
import html
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr
import yaml

Rows = list[list[str]]
_CARD = Path(__file__).with_name("README.md")
# Wide tables scroll and headings stay whole on a narrow screen; boxes and hints are seen; no line is cut.
_CSS = """
.gradio-container { --block-info-text-color: var(--block-title-text-color) }
#card table { display: block; overflow-x: auto; border: 0; word-break: normal; overflow-wrap: normal }
#card :is(th, td), #summary :is(table, th, td) { border-color: var(--border-color-primary) }
#paste .input-container { border: 1px solid var(--border-color-primary) }
#paste .submit-button { margin: 4px }
.json-holder .string { overflow-wrap: anywhere }
@media (max-width: 640px) { th .header { font-size: 11px; white-space: nowrap } th .cell-menu-button { display: none } }
"""
_BUTTONS = {
    "profile": {"info": "official: as the authors' code computes; corrected: as the paper defines, over all rows"},
    "language": {"info": "of the answers"},
}


def load(name: str, config: str | None = None) -> Any:
    """Return the metric beside this file."""
    return evaluate.load(str(Path(__file__).with_name(f"{name}.py")), config)


def buttons(metric: Any) -> list[gr.Radio]:
    """Return the buttons for those of the common options that the metric has."""
    return [
        gr.Radio([*metric.OPTIONS[name].choices], value=metric.OPTIONS[name].default, label=name, **words)
        for name, words in _BUTTONS.items()
        if name in metric.OPTIONS
    ]


class Pasted:
    """A judge that repeats what was pasted: the reply of the row whose number opens a request, or all in order."""

    model = "pasted"

    def __init__(self, replies: list[Any], numbered: bool = True) -> None:
        self.replies, self.numbered = replies, numbered

    def __call__(self, requests: list[Any]) -> list[str | None]:
        """One reply per request, None where none was pasted."""
        if not self.numbered:
            return self.replies
        places = [int(request[0]["content"].partition("\n")[0].strip('"')) for request in requests]
        return [self.replies[place] or None for place in places]


def verdicts(pasted: Iterable[str]) -> dict[str, Any]:
    """Return the options of a metric that may ask a judge, one pasted verdict a row; none where none was pasted."""
    replies = [verdict if verdict.strip() else None for verdict in pasted]
    return {"judge": Pasted(replies, numbered=False), "questions": [""] * len(replies)} if any(replies) else {}


@contextmanager
def show_faults() -> Iterator[None]:
    """Show what is wrong with the input as one line on the page."""
    try:
        yield
    except (ValueError, csv.Error) as error:
        what = f"what was pasted is no CSV: {error}" if isinstance(error, csv.Error) else str(error)
        raise gr.Error(html.escape(what, quote=False), print_exception=False) from error


def rows_of(table: Any, columns: list[str], required: tuple[str, ...] = ()) -> Rows:
    """Return the rows of a data frame that are not blank, checked: each cell a text, the required ones not empty."""
    rows = [["" if cell is None or cell != cell else cell for cell in row] for row in table.values.tolist()]
    rows = [row for row in rows if any(str(cell).strip() for cell in row)]
    if not rows:
        raise ValueError("the table is empty; type or paste at least one row")
    if list(table.columns) != columns:
        raise ValueError(f"the table's columns are {', '.join(map(str, table.columns))}; expected {', '.join(columns)}")
    for n, row in enumerate(rows, 1):
        for column, cell in zip(columns, row, strict=True):
            if not isinstance(cell, str):
                raise ValueError(f"row {n}, {column}: {cell!r} is a number; send it as a text")
            if column in required and not cell.strip():
                raise ValueError(f"row {n}: {column} is empty; fill it in, or empty the whole row")
    return rows


def read_pasted(text: str, columns: list[str]) -> Rows:
    """Return the rows of pasted CSV, or of cells copied from a spreadsheet, without their line of headers."""
    tabs = "\t" in text.partition("\n")[0]
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    lines = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if tabs else ",", strict=True)
    rows = [row for row in lines if any(cell.strip() for cell in row)]
    if rows and [cell.strip().lower() for cell in rows[0]] == columns:
        del rows[0]
    if not rows:
        raise ValueError("nothing was pasted; expected CSV, or cells copied from a spreadsheet")
    for n, row in enumerate(rows, 1):
        if len(row) != len(columns):
            raise ValueError(f"pasted row {n} has {len(row)} cells; expected {len(columns)}: {', '.join(columns)}")
    return rows


def read_list(text: str, row: int, nested: bool = False) -> Any:
    """Return a cell's text as it is, or the JSON list of texts that it holds; `nested`: or of lists of texts."""
    if not text.lstrip().startswith("["):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    lists = [part if nested and isinstance(part, list) and part else [part] for part in value or [None]]
    if not all(isinstance(entry, str) for part in lists for entry in part):
        wanted = ', or of lists of texts; expected ["all", "needed"] or [["either", "or"]]'
        what = wanted if nested else '; expected ["one", "two"]'
        raise ValueError(f"row {row}: {text[:60]!r} begins with [ and is no JSON list of texts{what}")
    return value


def answers(rows: Rows, nested: bool = False) -> dict[str, list[Any]]:
    """Return the first two columns as predictions and references, as `read_list` reads these."""
    references = [read_list(row[1], n, nested) for n, row in enumerate(rows, 1)]
    return {"predictions": [row[0] for row in rows], "references": references}


def summarise(scores: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the result in short (the first value, how many rows it is over, the other values) and as it is."""
    values = {key: value for key, value in scores.items() if value is None or isinstance(value, float)}
    texts = {key: "no value" if value is None else str(round(value, 4)) for key, value in values.items()}
    first, *others = texts
    unscored = ", ".join(f"{n} {reason}" for reason, n in scores["unscored"].items()) or "none"
    counts = f"n_total: **{scores['n_total']}** · n_scored: **{scores['n_scored']}** · unscored: **{unscored}**"
    table = ["| | value |", "|---|---|", *(f"| {key} | {texts[key]} |" for key in others)] if others else []
    return "\n".join([f"# {first}: {texts[first]}", "", counts, "", *table]), scores


def launch(options: list[Any], score: Callable[..., dict[str, Any]]) -> None:
    """Serve the page that ``space.yaml`` describes, and below its table the `options`.

    The file has `title`, `intro` (Markdown), `columns`, `example` (rows), `label` (what a row is) and the columns that
    are `required`. `score` makes of the rows that are not blank, and of the options in their order, the metric's
    result.
    """
    shown = yaml.safe_load(Path(__file__).with_name("space.yaml").read_text(encoding="utf-8"))
    title, columns, required = shown["title"], shown["columns"], tuple(shown.get("required", ()))
    name = os.environ.get("SPACE_ID")
    card = f"https://huggingface.co/spaces/{name}/blob/main/README.md" if name else "#card"

    @show_faults()
    @functools.wraps(score)
    def run(table: Any, *chosen: Any) -> tuple[str, dict[str, Any]]:
        return summarise(score(rows_of(table, columns, required), *chosen))

    with gr.Blocks(title=title) as demo:
        gr.Markdown(f"# {title}\n\n{shown['intro']} The [metric card]({card}) has the details.")
        with gr.Row():
            with gr.Column():
                table = gr.Dataframe(
                    shown["example"],
                    headers=columns,
                    column_count=len(columns),
                    column_widths=[f"{100 // len(columns)}%"] * len(columns),
                    wrap=True,
                    interactive=True,
                    label=shown["label"],
                )
                pasted = gr.Textbox(
                    label="or paste rows",
                    info=f"CSV, or cells copied from a spreadsheet: {', '.join(columns)}. They replace the table.",
                    lines=2,
                    max_lines=6,
                    placeholder=",".join(columns),
                    submit_btn="Into the table",
                    elem_id="paste",
                )
                for option in options:
                    option.render()
                submit = gr.Button("Submit", variant="primary")
            with gr.Column():
                summary = gr.Markdown("The result appears here.", container=True, elem_id="summary")
                result = gr.JSON(label="result", open=True)
        gr.Markdown(_CARD.read_text(encoding="utf-8").split("---", 2)[-1], elem_id="card")
        pasted.submit(show_faults()(lambda text: read_pasted(text, columns)), pasted, table)
        # What stands there from before goes first, so that no old value stands beside an error.
        clear = submit.click(None, None, [summary, result], js="() => ['', null]")
        clear.then(run, [table, *options], [summary, result], api_name="score")
    demo.launch(css=_CSS, show_error=True)
