"""How people review OmniEval's questions: those of the split `auto`; what they pass is the split `human`.

The paper has the five questions (appendix C, people); the order in which they are asked is ours.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.construct.held import language_of
from quadrag.construct.review.items import Item, Review, Value
from quadrag.construct.steps import Row
from quadrag.errors import QuadragError
from quadrag.reading import parse_json
from quadrag.records import read_jsonl, write_text

from .recipe import AUTO, CORPUS, TASKS, held

ASKS = {
    "en": (
        "Does the question meet the requirements of its task?",
        "Does it fit its topic?",
        "Is it complete in meaning by itself, but for later rounds of a conversation?",
        "Is the answer correct and complete?",
        "Are the passages the right ones, and all that is needed?",
    ),
    "zh": (
        "问题是否符合其任务的要求？",
        "它是否符合其主题？",
        "它本身的意思是否完整（对话的后续轮次除外）？",
        "答案是否正确、完整？",
        "片段是否合适，并且足够？",
    ),
}
_NAMES = {"question": "question", "answer": "answer", "passages": "relevant_passage"}
_TASKS = {name: task for task, name in TASKS.items()}


def read(dataset: Path) -> Iterator[Item]:
    """Yield the questions of the split `auto`, conversations as wholes."""
    path = dataset / AUTO
    if not path.is_file():
        return
    nodes = {row["id"]: row["contents"] for _, row in read_jsonl(dataset / CORPUS)}
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = parse_json(text, f"{path}:{number}")
        rounds = line if isinstance(line, list) else [line]
        try:
            yield _item(line, rounds, nodes)
        except (KeyError, TypeError, IndexError) as error:
            raise QuadragError(f"{path}:{number} lacks {error}; make the dataset again") from None


def _item(line: Any, rounds: Sequence[Row], nodes: Mapping[str, str]) -> Item:
    first = rounds[0]
    fields: dict[str, Value] = {
        _name(name, at, len(rounds)): one[key] for at, one in enumerate(rounds) for name, key in _NAMES.items()
    }
    marks = [answer for one in rounds for answer in one["answer"]]
    texts = [nodes[name] for name in first["relevant_node"]]
    cell = f"{first['topic_name']} / {_TASKS[first['task_name']]}"
    return Item(cell, fields, marks, texts, ", ".join(first["relevant_node"]), line, rounds)


def _name(name: str, at: int, rounds: int) -> str:
    return name if rounds == 1 else f"{name}_{at + 1}"


def correct(item: Item, changed: Mapping[str, Value]) -> Any:
    """Return a line whose every round holds against the documents; its passages are their own text."""
    fields = {**item.fields, **changed}
    rounds = item.kept
    made = [
        {**one, **{key: fields[_name(name, at, len(rounds))] for name, key in _NAMES.items()}}
        for at, one in enumerate(rounds)
    ]
    task, language = _TASKS[rounds[0]["task_name"]], language_of("\n".join(item.passages))
    (row,) = held({"task": task, "texts": item.passages, "language": language, "made": made})
    return row["made"] if isinstance(item.line, list) else row["made"][0]


def write(passed: Sequence[tuple[Item, Any]], dataset: Path, out: Path) -> dict[str, int]:
    """Write the one file of the split `human`; see `Review.write`."""
    from quadrag.records import dumps

    write_text(out / "review" / "review.jsonl", "".join(f"{dumps(line)}\n" for _, line in passed))
    splits = {"all/human": len(passed)}
    for task in TASKS:
        if n := sum(item.cell.endswith(f" / {task}") for item, _ in passed):
            splits[f"{task}/human"] = n
    return splits


REVIEW = Review(ASKS, read, correct, write, human="human_annotated")
