"""A table as a notebook shows it: HTML without script, a bar behind each share."""

import html
from urllib.parse import quote

from quadrag.baselines.charts.bar import draw_bars
from quadrag.baselines.page.code import mark_code
from quadrag.baselines.tables.draw import align_cells
from quadrag.baselines.tables.grid import Alarm, Detail, Grid, Verdict
from quadrag.printing import clean

_LEFT = 'style="text-align:left"'  # a notebook puts all to the right


def table_html(grid: Grid, file: str = "") -> str:
    """Write a table as HTML: verdicts, title and alarms stand above it, other notes under it, small, a line each.

    Alarms and notes have the signs that they have in a terminal. What a line's bar is of, its head says. A note that
    ends with the name of a `file` is a link to it.
    """
    bars = draw_bars(grid)
    drawn = any(bars)
    rows = []
    for line, cells, bar in zip(grid.lines, align_cells(grid, "\u2007"), bars, strict=True):
        label, texts = html.escape(line.label), [html.escape(cell.text) for cell in cells]
        if any(texts):
            rest = "".join(f"<td>{text}</td>" for text in [*texts, *[bar] * drawn])
            rows.append(f"<td {_LEFT}>{label}</td>{rest}")
        else:  # it stands above a group of lines
            rows.append(f'<th {_LEFT} colspan="{1 + len(texts) + drawn}">{label}</th>')
    head = f"<th {_LEFT}>{html.escape(grid.corner)}</th>"
    heads = [*grid.columns, *([f"{_name_drawn(grid)}, 95%"] if drawn else [])]
    head += "".join(f"<th>{html.escape(name)}</th>" for name in heads)
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


def _name_drawn(grid: Grid) -> str:
    """Return the name of the column whose figures are drawn."""
    drawn = (at for line in grid.lines for at, cell in enumerate(line.cells) if cell.figure)
    return grid.columns[next(drawn)]


def _link(note: str, file: str) -> str:
    return f'{note[: -len(file)]}<a href="{quote(file)}">{file}</a>' if file and note.endswith(file) else note
