"""What the server sends: the values of the graph's functions as compact JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from quadrag.kg.graph import Graph

# Functions that return what a table holds under a name; its text goes out as it is, 9 ms sooner where it is long.
_STORED = {
    "open_get_entity": "open",
    "finance_get_price_history": "price",
    "finance_get_detailed_price_history": "detailed",
    "finance_get_dividends_history": "dividend",
    "finance_get_info": "info",
}


def answer(graph: Any, name: str) -> Callable[..., bytes]:
    """The function of that name, with the body of the response for its value."""
    function: Callable[..., Any] = getattr(graph, name)

    def value(*values: Any) -> bytes:
        return dump({"result": function(*values)})

    def text(query: str) -> bytes:
        rows = graph.rows(_STORED[name], "value FROM {} WHERE name = ?", query)
        stored: str = rows[0][0] if rows else "null"
        # Python's spelling of what JSON cannot hold; where it only stands in a text, nothing is lost but time.
        return value(query) if "NaN" in stored or "Infinity" in stored else b'{"result":' + stored.encode() + b"}"

    # Only a graph itself: what wraps it may answer otherwise.
    return text if name in _STORED and type(graph) is Graph else value


def dump(value: Any) -> bytes:
    """Write a value as compact JSON; a number that JSON cannot hold (NaN, infinity) becomes null."""
    options: dict[str, Any] = {"allow_nan": False, "separators": (",", ":")}
    try:
        text = json.dumps(value, ensure_ascii=False, **options)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, **options)
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Half a surrogate pair is text to Python and JSON, yet not to UTF-8.
        return json.dumps(json.loads(text), **options).encode()


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
