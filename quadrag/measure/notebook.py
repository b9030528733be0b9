"""A table as a notebook shows it: HTML without script, a bar behind each share."""

import html
from collections.abc import Sequence

from quadrag.baselines.tables.grid import Alarm, Grid, align_cells


def table_html(title: str, grid: Grid, shares: Sequence[float | None] = ()) -> str:
    """Write a table as HTML.

    Args:
        title: stands above it.
        grid: the table; its alarms stand under the title, its other notes under the table.
        shares: from 0 to 1, one a line, drawn as bars; None where there is none. No column of bars when empty.
    """
    rows = []
    for at, (line, cells) in enumerate(zip(grid.lines, align_cells(grid, "\u2007"), strict=True)):
        texts = [html.escape(text) for text in (line.label, *(cell.text for cell in cells))]
        rows.append("".join(f"<td>{text}</td>" for text in [*texts, *([_bar(shares[at])] if shares else [])]))
    head = "".join(f"<th>{html.escape(name)}</th>" for name in (grid.corner, *grid.columns, *([""] if shares else [])))
    alarms = "".join(f"<p><b>{html.escape(note)}</b></p>" for note in grid.notes if isinstance(note, Alarm))
    notes = "".join(f"<p>{html.escape(note)}</p>" for note in grid.notes if not isinstance(note, Alarm))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<div><b>{html.escape(title)}</b>{alarms}<table><tr>{head}</tr>{body}</table>{notes}</div>"


def _bar(share: float | None) -> str:
    if share is None:
        return ""
    return (
        '<div style="width:8em;background:#8883"><div style="height:.8em;background:#4a7fb5;'
        f'width:{100 * share:.0f}%"></div></div>'
    )
