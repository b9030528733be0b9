"""What became of the documents: as tables for a screen, and as the dataset's card."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.hub.card import join_card, size_category
from quadrag.reporting.table import Cell, Row, Table

RULES = "rules"  # in place of a model's name
_REASONS = 5  # of a step, the most frequent ones


def tabulate_steps(stages: Sequence[Mapping[str, Any]]) -> Table:
    """Make the table of what came into each step, what was kept, and what was dropped for which reasons."""
    lines, notes = [], []
    for stage in stages:
        counts = stage["rows"], stage["kept"], sum(stage["dropped"].values())
        lines.append(Row(stage["step"], [Cell(f"{count:,}") for count in counts]))
        reasons = [f"{count:,} {why}" for why, count in stage["dropped"].items()]
        if more := reasons[_REASONS:]:
            reasons[_REASONS:] = [f"{len(more):,} further reasons"]
        notes += [f"{stage['step']} dropped {'; '.join(reasons)}."] if reasons else []
    return Table("What became of the documents", "step", ["rows", "kept", "dropped"], lines, notes)


def tabulate_counts(title: str, what: str, column: str, counts: Mapping[str, int]) -> Table:
    """Make the table of how many questions each split has, or how many requests each step takes."""
    return Table(title, what, [column], [Row(name, [Cell(f"{count:,}")]) for name, count in counts.items()])


def make_card(record: Mapping[str, Any], languages: Sequence[str], by_rule: str) -> str:
    """Return a dataset's README from ``construct.json``; `by_rule` is what its questions are without a model."""
    from jinja2 import Template

    title, licence = f"Documents of one's own, in the form of {record['recipe']}", record["licence"]
    header: dict[str, Any] = {
        "pretty_name": title,
        "language": list(languages),
        "license": "other" if licence else "unknown",
        **({"license_name": licence} if licence else {}),
        "size_categories": [size_category(max(record["splits"].values()))],
        "tags": ["rag", "quadrag", "synthetic"],
    }
    text = Path(__file__).with_name("card.md.jinja").read_text(encoding="utf-8")
    template = Template(text, trim_blocks=True, keep_trailing_newline=True)
    body = template.render(record, title=title, ruled=record["model"] == RULES, by_rule=by_rule)
    return join_card(header, body)
