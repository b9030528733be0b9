# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: reference answers and generated answers per question in, the result out.

It asks no judge: the answers that one gave elsewhere are pasted. Rows with the same item belong together, in order.
"""

from pathlib import Path
from typing import Any

import evaluate
from page import CSS, PROFILE, rows_of, shown, space

metric = evaluate.load(str(Path(__file__).with_name("ragquesteval.py")))
TITLE = "RAGQuestEval"
INTRO = """\
Put one question a row into the table, with the answer that a judge found in the reference text and the one it found
in the generated text; `无法推断` where it found none. `recall` is the share of the questions answered by the reference
that the generated text answers too, `precision` how well the two answers agree (0 to 1, higher is better). Rows with
the same item are about one text; a row without an item belongs to the one above."""
COLUMNS = ["item", "question", "reference", "answer"]
EXAMPLE = [
    ["1", "总额是多少？", "500万元", "500万元"],
    ["1", "多少家场馆可用？", "173家", "无法推断"],
    ["1", "哪个城市发放？", "陕西西安市", "西安市"],
]


class Pasted:
    """A judge that repeats what was pasted; the first line of a request is the item's place."""

    model = "pasted"

    def __init__(self, answers: list[list[str]]) -> None:
        self.replies = [
            "\n".join(f"问题 {n}\n<response>\n{text}\n</response>" for n, text in enumerate(texts, 1))
            for texts in answers
        ]

    def __call__(self, requests: list[Any]) -> list[str]:
        """One reply per request."""
        return [self.replies[int(request[0]["content"].partition("\n")[0])] for request in requests]


def score(table: Any, profile: str) -> tuple[str, dict[str, Any]]:
    """Score the rows that are not blank; a row without an item belongs to the one above."""
    rows = rows_of(table, COLUMNS, required=("question", "reference"))
    cache: dict[str, dict[str, list[str]]] = {}
    answers: dict[str, list[str]] = {}
    item = "1"
    for n, (name, question, expected, answer) in enumerate(rows, 1):
        if "response>" in answer.lower():
            raise ValueError(f"row {n}: the answer holds a <response> tag; paste what stands between the tags")
        item = " ".join(name.split()) or item
        entry = cache.setdefault(item, {"question": [], "answers": []})
        entry["question"].append(question.strip())
        entry["answers"].append(expected.strip())
        answers.setdefault(item, []).append(answer.strip())
    ids = list(cache)
    scores = metric.compute(
        predictions=[str(place) for place in range(len(ids))],
        references=ids,
        judge=Pasted(list(answers.values())),
        profile=profile,
        ids=ids,
        question_cache=cache,
        prompts={"answers": "{text}\n{questions}"},
    )
    return shown(scores)


demo = space(TITLE, INTRO, COLUMNS, EXAMPLE, "one question per row", [PROFILE], score)

if __name__ == "__main__":
    demo.launch(css=CSS, show_error=True)
