"""Files of CRAG's form, made for tests: records, the places where upstream has them, and what is read."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import sample_rows

rows, refusal = partial(sample_rows.rows, "crag"), partial(sample_rows.refusal, "crag")
FIVE = {release: f"data/crag_task_1_and_2_dev_{release}.jsonl.bz2" for release in ("v5", "v4")}
PARTS = {
    "v5": [f"data/crag_task_3_dev_v5.tar.bz2.part{number}" for number in range(4)],
    "v4": [f"data/crag_task_3_dev_v4.tar.bz2.part{number}" for number in range(1, 5)],
}
EXAMPLE = "example_data/dev_data.jsonl.bz2"
QA = ["id", "query_time", "domain", "question_type", "static_or_dynamic", "popularity", "query", "answer"]
QA += ["alternatives"]


def record(number: int = 0, **changes: Any) -> dict[str, Any]:
    page = {"page_name": "n", "page_url": "u", "page_snippet": "s", "page_result": "<p>r</p>", "page_last_modified": ""}
    return {
        **{"interaction_id": f"id-{number}", "query_time": "03/13/2024, 09:30:59 PT", "domain": "open"},
        **{"question_type": "simple", "static_or_dynamic": "static", "query": "who?", "answer": "she"},
        **{
            "alt_ans": [],
            "split": number % 2,
            "popularity": "head",
            "search_results": [page, page | {"page_url": "v"}],
        },
        **changes,
    }


def lines(*records: Any) -> bytes:
    return "".join(json.dumps(each) + "\n" for each in records).encode()


def put(root: Path, content: bytes, name: str = FIVE["v5"]) -> Path:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_bytes(content)
    return root
