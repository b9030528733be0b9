# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: rows in, the result out; verdicts made elsewhere are pasted."""

from typing import Any

from page import Pasted, Rows, buttons, launch, load

metric = load("ragquesteval")


def replies(answers: list[list[str]]) -> list[str]:
    """What a judge would reply about each item, given its answers."""
    return [
        "\n".join(f"问题 {n}\n<response>\n{text}\n</response>" for n, text in enumerate(texts, 1)) for texts in answers
    ]


def score(table: Rows, profile: str) -> dict[str, Any]:
    """Score the rows that are not blank; a row without an item belongs to the one above."""
    cache: dict[str, dict[str, list[str]]] = {}
    answers: dict[str, list[str]] = {}
    item = "1"
    for n, (name, question, expected, answer) in enumerate(table, 1):
        if "response>" in answer.lower():
            raise ValueError(f"row {n}: the answer holds a <response> tag; paste what stands between the tags")
        item = " ".join(name.split()) or item
        entry = cache.setdefault(item, {"question": [], "answers": []})
        entry["question"].append(question.strip())
        entry["answers"].append(expected.strip())
        answers.setdefault(item, []).append(answer.strip())
    ids = list(cache)
    return metric.compute_quietly(
        predictions=[str(place) for place in range(len(ids))],
        references=ids,
        judge=Pasted(replies(list(answers.values()))),
        profile=profile,
        ids=ids,
        question_cache=cache,
        prompts={"answers": "{text}\n{questions}"},
    )


if __name__ == "__main__":
    launch(buttons(metric), score)
