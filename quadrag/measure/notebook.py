"""A table as a notebook shows it: HTML without script."""

import html
from urllib.parse import quote

from quadrag.baselines.page.page import mark_code
from quadrag.baselines.tables.grid import Alarm, Detail, Grid, Verdict
from quadrag.printing import clean

_LEFT = 'style="text-align:left"'  # a notebook puts all to the right


def table_html(grid: Grid, file: str = "") -> str:
    """Write a table as HTML: verdicts, title and alarms stand above it, other notes under it, small, a line each.

    Alarms and notes have the signs that they have in a terminal. A note that ends with the name of a `file` is a link
    to it.
    """
    rows = []
    for line in grid.lines:
        label, texts = html.escape(line.label), [html.escape(cell.text) for cell in line.cells]
        if any(texts):
            rows.append(f"<td {_LEFT}>{label}</td>{''.join(f'<td>{text}</td>' for text in texts)}")
        else:  # it stands above a group of lines
            rows.append(f'<th {_LEFT} colspan="{1 + len(texts)}">{label}</th>')
    head = f"<th {_LEFT}>{html.escape(grid.corner)}</th>"
    head += "".join(f"<th>{html.escape(name)}</th>" for name in grid.columns)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    table = f'<div style="overflow-x:auto"><table><tr>{head}</tr>{body}</table></div>'
    said = "".join(f"<p><b>{mark_code(note)}</b></p>" for note in grid.notes if isinstance(note, Verdict))
    alarms = [f"! {mark_code(note)}" for note in grid.notes if isinstance(note, Alarm)]
    above = f"<p>{'<br>'.join(alarms)}</p>" * bool(alarms)
    below = [
        f"- {_link(mark_code(note), html.escape(file))}"
        for note in grid.notes
        if not isinstance(note, Alarm | Detail | Verdict)
    ]
    notes = f"<p><small>{'<br>'.join(below)}</small></p>" if below else ""
    return clean(f"<div>{said}<b>{html.escape(grid.title)}</b>{above}{table}{notes}</div>")


def _link(note: str, file: str) -> str:
    return f'{note[: -len(file)]}<a href="{quote(file)}">{file}</a>' if file and note.endswith(file) else note
