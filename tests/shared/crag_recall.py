"""Rows of questions with pages, what search recall finds in them, and a judge of it."""

from __future__ import annotations

import json
from typing import Any

from quadrag.baselines.crag.recall.search import SearchRecall

YES, NO = '{"sufficient": true}', '{"sufficient": false}'


def row(name: str, answer: str | None, *pages: tuple[str, str], alternatives: tuple[str, ...] = ()) -> dict[str, Any]:
    """A row as the script gives it; of each page a snippet and the body of its HTML."""
    return {
        "id": name,
        "query": f"what about {name}?",
        "query_time": "02/28/2024, 10:04:54 PT",
        "answer": answer,
        "alternatives": list(alternatives),
        "search_results": [
            {"page_name": "", "page_url": "", "page_snippet": snippet, "page_last_modified": ""} for snippet, _ in pages
        ],
        "page_result": [html and f"<html><body><script>Oslo</script><p>{html}</p></body></html>" for _, html in pages],
    }


def values(recalled: SearchRecall, way: str, longer: bool = False) -> list[float | None]:
    return [one.summary.value for one in recalled.scores if one.way == way and one.longer is longer]


ROWS = [
    row("first", "Oslo", ("Oslo", "")),
    row("page", "Oslo", ("no", "in Oslo"), ("Oslo", "")),
    row("third", "Oslo", ("a", "b"), ("c", "d"), ("e", "f Oslo"), alternatives=("Christiania",)),
    row("other", "Oslo", ("in Christiania", "x"), alternatives=("Christiania",)),
    row("short", "no", ("none", "<b>no</b>"), ("x", "y")),
    row("hidden", "Oslo", ("x", "Bergen"), ("", "")),
    row("false", "invalid question", ("invalid question", "invalid question")),
]


def shown(request: list[dict[str, str]]) -> dict[str, Any]:
    """What stands in the JSON object of a request."""
    content = request[0]["content"]
    found = json.JSONDecoder().raw_decode(content, content.index('{"question"'))[0]
    assert isinstance(found, dict)
    return found


class Sees:
    """A judge that finds results sufficient where one of them holds an accepted answer, and remembers its batches."""

    model = "sees-1"

    def __init__(self) -> None:
        self.batches: list[list[list[dict[str, str]]]] = []

    def __call__(self, batch: list[list[dict[str, str]]]) -> list[str]:
        self.batches.append(batch)
        asked = [shown(request) for request in batch]
        return [YES if any(a in r for a in one["answers"] for r in one["results"]) else NO for one in asked]
