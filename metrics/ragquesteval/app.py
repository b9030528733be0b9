# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: reference answers and generated answers per question in, the result out.

It asks no judge: the answers that one gave elsewhere are pasted. Rows with the same item belong together, in order.
"""

from pathlib import Path
from typing import Any

import evaluate
import gradio as gr

HERE = Path(__file__).parent
metric = evaluate.load(str(HERE / "ragquesteval.py"))


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


def score(table: list[list[Any]], profile: str) -> dict[str, Any]:
    """Score the rows that are not empty; a row without an item belongs to the one above."""
    cache: dict[str, dict[str, list[str]]] = {}
    answers: dict[str, list[str]] = {}
    item = "1"
    for row in table:
        name, question, expected, answer = (str(cell or "").strip() for cell in row)
        item = " ".join(name.split()) or item
        if question or expected or answer:
            entry = cache.setdefault(item, {"question": [], "answers": []})
            entry["question"].append(question)
            entry["answers"].append(expected)
            answers.setdefault(item, []).append(answer)
    ids = list(cache)
    try:
        scores: dict[str, Any] = metric.compute(
            predictions=[str(place) for place in range(len(ids))],
            references=ids,
            judge=Pasted(list(answers.values())),
            profile=profile,
            ids=ids,
            question_cache=cache,
            prompts={"answers": "{text}\n{questions}"},
        )
    except ValueError as error:
        raise gr.Error(str(error)) from error
    return scores


card = (HERE / "README.md").read_text(encoding="utf-8")
demo = gr.Interface(
    fn=score,
    inputs=[
        gr.Dataframe(
            value=[
                ["1", "总额是多少？", "500万元", "500万元"],
                ["1", "多少家场馆可用？", "173家", "无法推断"],
                ["1", "哪个城市发放？", "陕西西安市", "西安市"],
            ],
            headers=["item", "question", "reference answer", "generated answer"],
            datatype="str",
            type="array",
            column_count=4,
            label="one question per row; the answer 无法推断 is none",
        ),
        gr.Radio(["official", "corrected"], value="official", label="profile"),
    ],
    outputs=gr.JSON(label="result", open=True),
    title="RAGQuestEval",
    article=card.split("---", 2)[-1],
    flagging_mode="never",
)

if __name__ == "__main__":
    demo.launch()
