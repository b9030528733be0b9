"""A table as a notebook shows it: HTML without script, a bar behind each share."""

import html
from urllib.parse import quote

from quadrag.baselines.charts.bar import draw_bars
from quadrag.baselines.page.code import mark_code
from quadrag.baselines.tables.grid import Alarm, Grid, Verdict, align_cells


def table_html(grid: Grid, file: str = "") -> str:
    """Write a table as HTML: verdicts, title and alarms stand above it, other notes under it in one paragraph.

    A note that ends with the name of a `file` is a link to it.
    """
    bars = draw_bars(grid)
    rows = []
    for line, cells, bar in zip(grid.lines, align_cells(grid, "\u2007"), bars, strict=True):
        texts = [html.escape(text) for text in (line.label, *(cell.text for cell in cells))]
        rows.append("".join(f"<td>{text}</td>" for text in [*texts, *([bar] if any(bars) else [])]))
    head = "".join(
        f"<th>{html.escape(name)}</th>" for name in (grid.corner, *grid.columns, *([""] if any(bars) else []))
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    said = "".join(f"<p><b>{mark_code(note)}</b></p>" for note in grid.notes if isinstance(note, Verdict))
    alarms = "".join(f"<p><b>{mark_code(note)}</b></p>" for note in grid.notes if isinstance(note, Alarm))
    below = [_link(mark_code(note), html.escape(file)) for note in grid.notes if not isinstance(note, Alarm | Verdict)]
    notes = f"<p>{' '.join(below)}</p>" if below else ""
    table = f'<div style="overflow-x:auto"><table><tr>{head}</tr>{body}</table></div>'
    return f"<div>{said}<b>{html.escape(grid.title)}</b>{alarms}{table}{notes}</div>"


def _link(note: str, file: str) -> str:
    return f'{note[: -len(file)]}<a href="{quote(file)}">{file}</a>' if file and note.endswith(file) else note
