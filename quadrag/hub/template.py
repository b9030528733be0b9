"""Markdown of the cards, from the templates in ``templates/``."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any


def fill_template(name: str, **values: Any) -> str:
    """Return the text of ``templates/NAME.md.jinja``, without a line break at its end."""
    text: str = _templates().get_template(f"{name}.md.jinja").render(values)
    return text.rstrip("\n")


def as_code(names: Iterable[str]) -> str:
    """Return names as Markdown shows them: in backticks, with commas."""
    return ", ".join(f"`{name}`" for name in names)


@cache
def _templates() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(Path(__file__).with_name("templates"))
    made = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["code"] = as_code
    made.filters["cell"] = lambda text: text.replace("|", "\\|")
    return made
