"""Three ordinary items for each metric, the second by a judge that says yes to all, and which columns it takes."""

import json
from typing import Any

REPLIES = {
    "rejection_rate": "No, the question is not addressed by the documents.",
    "error_detection": "Yes, the model has identified the factual errors.",
    "ragquesteval": '{"question": ["何时？"]}',
    "truthfulness": '{"score": 1}',
    "omnieval": '{"prediction": 1}',
}
COLUMNS = {
    "rgb_accuracy": (),
    "rejection_rate": ("questions",),
    "error_detection": ("questions",),
    "crud_overlap": (),
    "ragquesteval": ("ids",),
    "retrieval_ranking": (),
    "truthfulness": ("questions", "domains", "question_types", "ratings"),
    "omnieval": ("questions", "contexts", "history"),
    "omnieval_overlap": (),
}


def ordinary(name: str) -> dict[str, Any]:
    def judge(requests: list[Any]) -> list[str]:
        json.dumps(requests, ensure_ascii=False).encode()  # can be sent
        return [REPLIES[name]] * len(requests)

    given: dict[str, Any] = {"predictions": ["70", "b", "c"], "references": ["70", "b", "d"]}
    if name == "retrieval_ranking":
        given = {column: [["d1"], ["d2"], ["d3"]] for column in given}
    given |= {"judge": judge} if name in REPLIES else {}
    given |= {column: ["q"] * 3 for column in COLUMNS[name] if column not in ("ratings", "domains", "question_types")}
    if name == "ragquesteval":
        given["question_cache"] = {"q": {"question": ["何时？"], "answers": ["昨天"]}}
    if name == "omnieval":
        given |= {"contexts": [["p"]] * 3, "history": [None] * 3}
    return given
