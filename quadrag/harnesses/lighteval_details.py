"""The details that ``lighteval`` writes, read as answers for `quadrag score`.

It reads ``details_*.parquet`` of the tasks of `lighteval/`, and nothing of other tasks. Scores in the file are left
aside: they are computed again. lighteval is not needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError

_PLACE = ("id", "config", "split")


def is_details(path: Path) -> bool:
    """Whether a file is read here: no other form of answers is Parquet."""
    return path.suffix == ".parquet"


def answers(path: Path) -> Iterator[dict[str, Any]]:
    """Yield a line of answers for every detail, in the order of the data: lighteval shuffles its documents.

    Yields:
        `id`, `config`, `split` and `answer`, which is None, with its reason as `state`, where the call failed.

    Raises:
        QuadragError: the file cannot be read, or holds something else.
    """
    import pyarrow.parquet as pq
    from pyarrow import ArrowException

    try:
        with pq.ParquetFile(path) as file:
            lacks = {"doc", "model_response"} - set(file.schema_arrow.names)
            rows = [{}] if lacks else file.read(["doc", "model_response"]).to_pylist()
    except (OSError, ArrowException) as error:
        why = str(error).splitlines()[0]
        raise QuadragError(f"cannot read {path} ({why}); expected a details_*.parquet of lighteval") from None
    lines = [_line(f"{path}: row {number}", row) for number, row in enumerate(rows, 1)]
    for _, line in sorted(lines, key=lambda pair: pair[0]):
        yield line


def _line(where: str, row: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return the document's place in the data, and its line of answers."""
    doc, response = row.get("doc"), row.get("model_response")
    doc = doc if isinstance(doc, Mapping) else {}
    specific, place = doc.get("specific"), str(doc.get("id"))
    named = isinstance(specific, Mapping) and all(isinstance(specific.get(name), str) for name in _PLACE)
    if not isinstance(specific, Mapping) or not named or not place.isdecimal():
        raise QuadragError(f"{where} is of no quadrag task; expected doc.specific with {', '.join(_PLACE)}")
    texts = response.get("text") if isinstance(response, Mapping) else None
    if not isinstance(texts, list) or len(texts) > 1:
        raise QuadragError(f"{where} has the replies {texts!r:.60}; expected one, or none of a call that failed")
    line = {name: specific[name] for name in (*_PLACE, "conditions") if name in specific} | {
        "answer": texts[0] if texts else None
    }
    return int(place), line if texts else {**line, "state": specific.get("state") or "api_error"}
