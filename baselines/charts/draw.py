"""Charts of tables, drawn when a page is made: from a grid's figures to SVG that stands in the page.

What is drawn is decided by the grid's form; how each form looks is in `forms.py`. The library, vl-convert, draws
Vega-Lite without a network. Colours are variables of the page's style, so a chart follows its theme.
"""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple
from unicodedata import category
from xml.etree import ElementTree

from quadrag.errors import QuadragError, one_line

from ..tables.grid import Grid
from .forms import lay_out
from .layers import Text

_CONFIG = {
    "aria": False,
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {
        "domain": False,
        "ticks": False,
        "gridColor": "var(--rule)",
        "labelColor": "var(--faint)",
        "labelFontSize": 11,
        "labelLimit": 0,
        "labelOverlap": False,
        "labelPadding": 6,
        "title": None,
        "titleColor": "var(--faint)",
        "titleFontSize": 11,
        "titleFontWeight": "normal",
    },
    "point": {"opacity": 1},
}
_DROPPED = ("role", "aria-", "class", "pointer-events", "opacity", "version")


class Chart(NamedTuple):
    """A chart: its panels by what heads each, and a line that explains its signs."""

    panels: Sequence[tuple[str, str]]
    legend: str


def can_draw() -> bool:
    """Whether the library is there."""
    return find_spec("vl_convert") is not None


def draw_grid(grid: Grid, words: Mapping[str, str]) -> Chart | None:
    """Draw a table with the `words` of a chart by name; None where it has no form, or too few cells have figures."""
    layout = lay_out(grid, words)
    if layout is None:
        return None
    panels = []
    for title, views in layout.panels:
        label = " · ".join(filter(None, (grid.title, title))) + words["below"]
        panels.append((title, "".join(_draw(view, label, name) for name, view in views.items())))
    return Chart(panels, layout.legend)


def _draw(view: Mapping[str, Any], label: str, name: str) -> str:
    """Draw one view as an element of a page: an image with a label, without what is for drawing alone."""
    import vl_convert

    shown = {**view, "config": _CONFIG, "background": None}
    texts: Sequence[Text] = shown.pop("usermeta")["texts"]
    try:
        svg = vl_convert.vegalite_to_svg(_clean(shown), show_warnings=False)
    except BaseException as error:
        # The library lacks what it needs to work; its first kind of error is no Exception.
        if type(error).__name__ != "PanicException" and not isinstance(error, ValueError):
            raise
        raise QuadragError(
            f"a chart cannot be drawn ({one_line(error, 200)}); close other programs, and run again"
        ) from None
    root = ElementTree.fromstring(svg)
    _strip(root)
    root[0].extend(_write(text) for text in texts if text.text)
    root.attrib = {
        "class": name,
        "role": "img",
        "aria-label": _clean(label),
        **{key: root.attrib[key] for key in ("width", "height", "viewBox")},
    }
    return ElementTree.tostring(root, encoding="unicode")


def _write(text: Text) -> ElementTree.Element:
    """Write a text at its place; its middle is high above its foot by 0.3 of its size."""
    place = {"x": f"{text.x:g}", "y": f"{text.y + 0.3 * text.size:.1f}"}
    look = {"fill": text.colour, "font-size": str(text.size), "font-weight": str(text.weight)}
    anchor = {} if text.anchor == "start" else {"text-anchor": text.anchor}
    element = ElementTree.Element("text", place | anchor | look)
    element.text = _clean(text.text)
    return element


def _clean(value: Any) -> Any:
    """Put blanks in place of characters that no drawing can hold, in all texts: one ends the library's process."""
    if isinstance(value, str):
        return "".join(" " if category(one).startswith("C") else one for one in value)
    if isinstance(value, Mapping):
        return {name: _clean(one) for name, one in value.items()}
    return [_clean(one) for one in value] if isinstance(value, list) else value


def _strip(element: ElementTree.Element) -> None:
    """Take away namespaces, empty parts and what a page has no use for, in an element and all within."""
    element.tag = element.tag.rpartition("}")[2]
    for name in list(element.attrib):
        if name.startswith(_DROPPED):
            del element.attrib[name]
    for child in list(element):
        _strip(child)
        empty = child.tag == "path" and not {"fill", "stroke"} & child.attrib.keys()
        if empty or (child.tag == "g" and not len(child)):
            element.remove(child)
