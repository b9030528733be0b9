"""OmniEval's recipe (Wang et al. 2024, sections 3.1 to 3.3 and appendix C), for documents of any field.

Topics are laid out, each document is given one, and all five tasks are tried on it: generation behind three gates, then
inspection, which drops, mends or keeps. Questions over several documents take the nearest ones of the same topic. What
is left is balanced over topics and tasks and split in two by document. The paper's people are
`quadrag construct review`.
"""

import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.construct.documents import Corpus, reject_repeats
from quadrag.construct.recipe import (
    Item,
    Order,
    Recipe,
    Rejected,
    Row,
    Step,
    Value,
    Work,
    ask,
    check_question,
    find_verbatim,
    language_of,
    load_prompts,
    reject,
    stands_in,
    text_of,
    texts_of,
)
from quadrag.errors import QuadragError, parse_json, read_yaml
from quadrag.records import dumps, read_jsonl, write_jsonl, write_text

SHOWN = 40  # documents that a model sees when it lays out topics
BEGINNING = 120  # characters of each
TASKS = {
    "extractive_qa": "抽取类问答",
    "multi_hop_qa": "多跳推理类问答",
    "contrast_qa": "对比类问答",
    "long_form_qa": "长答案形式问答",
    "conversational_qa": "多轮对话能力",
}
AUTO, CORPUS = "gen_datas_own/questions.jsonl", "own_nodes/corpus.jsonl"
RARE = 0.02  # of the documents: topics that fewer have are pruned
MOST = 2  # questions of a document for a task
_SEVERAL = ("multi_hop_qa", "contrast_qa")  # what a second document may serve
_PROMPTS = load_prompts(Path(__file__).with_suffix(".yaml"))


def _read_topics(path: Path) -> list[str]:
    expected = "fields with their topics, short and without - and /, as `energy: [solar, wind]`"
    try:
        found = read_yaml(path, expected)
        names = [f"{field} - {topic}" for field, topics in found.items() for topic in dict.fromkeys(topics)]
    except (AttributeError, TypeError) as error:
        raise QuadragError(f"{path} holds no topics ({error}); expected {expected}") from None
    if wrong := [name for name in names if not _is_name(name)] or (not names and ["nothing"]):
        raise QuadragError(f"{path} has {wrong[0]!r:.80}; expected {expected}")
    return names


def _is_name(name: str) -> bool:
    return name.count(" - ") == 1 and "/" not in name and len(name) <= 60 and all(map(str.strip, name.split(" - ")))


def _read_tree(found: Any) -> list[str]:
    names = []
    for field in found:
        upper = str(field["topic_name"]).strip()
        for topic in field["sub_topics"] or [{"topic_name": upper}]:
            names.append(f"{upper} - {str(topic['topic_name']).strip()}")
    names = [name for name in dict.fromkeys(names) if _is_name(name)]
    if not names:
        raise ValueError("no topic")
    return names


def _steps(order: Order) -> Sequence[Step]:
    corpus = Corpus(order.corpus)
    names: list[str] = _read_topics(order.topics) if order.topics else []
    laying_out = Step("tree", lambda rows: _lay_out(rows, order, names), together=True)
    return [
        *([] if order.topics else [laying_out]),
        Step("classify", lambda row: _classify(row, names)),
        Step("prune", _prune, together=True),
        Step("tasks", lambda row: [{**row, "task": task, "source": row["id"]} for task in TASKS]),
        Step("related", lambda row: _related(row, corpus)),
        Step("generate", _generate),
        Step("held", _validate),
        Step("inspect", _inspect),
        Step("held-again", _validate),
        reject_repeats(lambda row: str(row["made"][0]["question"])),
        Step("balance", lambda rows: _balance(rows, order), together=True),
    ]


def _write(rows: Sequence[Row], order: Order, out: Path) -> dict[str, int]:
    if not rows:
        return {}
    names = sorted({row["topic"] for row in rows})
    write_text(out / "topics.json", json.dumps(names, ensure_ascii=False, indent=1) + "\n")
    nodes = ({"id": _node(row["id"]), "title": row["title"], "contents": row["text"]} for row in order.corpus)
    write_jsonl(out / CORPUS, nodes)
    splits: dict[str, int] = {}
    for split, file in (("auto", AUTO), ("train", "gen_datas_train_own/questions.jsonl")):
        here = [row for row in rows if row["split"] == split]
        if not here:
            continue
        write_jsonl(out / file, (_line(row) for row in here))
        tasks = Counter(row["task"] for row in here for _ in row["made"])  # each round of a conversation is a question
        splits[f"all/{split}"] = tasks.total()
        splits |= {f"{task}/{split}": tasks[task] for task in TASKS if task in tasks}
    return splits


def _node(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _line(row: Row) -> Any:
    rounds = [
        {
            **made,
            "topic_name": row["topic"],
            "task_name": TASKS[row["task"]],
            "relevant_node": [_node(name) for name in row["documents"]],
            "evaluation": row["evaluation"],
        }
        for made in row["made"]
    ]
    return rounds if row["task"] == "conversational_qa" else rounds[0]


def _lay_out(rows: list[Row], order: Order, names: list[str]) -> Work:
    drawn = order.draw("topics").sample(rows, min(SHOWN, len(rows)))
    shown = "\n".join(f"- {row['title']}：{' '.join(row['text'].split())[:BEGINNING]}" for row in drawn)
    try:
        names += yield from ask(_PROMPTS["tree"], rows[0]["language"], {"documents": shown}, _read_tree)
    except Rejected as reason:
        return [reject(row, f"no topics: {reason}") for row in rows]
    return rows


def _classify(row: Row, names: Sequence[str]) -> Work:
    listed = "; ".join(f"{number} {name}" for number, name in enumerate(names, 1))
    slots = {"topics": listed, "document": f"{row['title']}\n{row['text']}"}
    made = yield from ask(_PROMPTS["classify"], row["language"], slots)
    if not 0 < made["topic_id"] <= len(names):
        raise Rejected("of no topic")
    return [{**row, "topic": names[made["topic_id"] - 1]}]


def _prune(rows: list[Row]) -> list[Row]:
    counts = Counter(row["topic"] for row in rows)
    return [row if counts[row["topic"]] >= RARE * len(rows) else reject(row, "topic pruned") for row in rows]


def _related(row: Row, corpus: Corpus) -> list[Row]:
    documents = [(row["id"], row["text"])]
    if row["task"] in _SEVERAL:
        others = [other for other, _ in corpus.find(row["text"][:300], 3) if other["id"] != row["id"]]
        documents += [(other["id"], other["text"]) for other in others[:1]]
    return [{**row, "documents": [name for name, _ in documents], "texts": [text for _, text in documents]}]


def _read_made(found: Any) -> list[Row]:
    return [
        {
            "thought_process": str(one.get("thought_process") or ""),
            "question": text_of(one["question"]),
            "answer": texts_of(one["answer"]),
            "relevant_passage": texts_of(one["relevant_passage"]),
        }
        for one in found
    ]


def _slots(row: Row) -> dict[str, str]:
    language = row["language"]
    head = "文档" if language == "zh" else "Document "
    return {
        "topic": row["topic"],
        "task": TASKS[row["task"]] if language == "zh" else row["task"].replace("_", " "),
        "requirements": _PROMPTS["requirements"][row["task"]][language],
        "documents": "\n\n".join(f"{head}{at}:\n{text}" for at, text in enumerate(row["texts"], 1)),
    }


def _generate(row: Row) -> Work:
    made = yield from ask(_PROMPTS["generate"], row["language"], _slots(row), _read_made)
    if not made:
        raise Rejected("gates: document or task does not fit")
    if row["task"] == "conversational_qa":
        return [{**row, "made": made}]
    return [{**row, "id": f"{row['id']}/{at}", "made": [one]} for at, one in enumerate(made[:MOST])]


def _validate(row: Row) -> list[Row]:
    source = "\n".join(row["texts"])
    made = []
    for one in row["made"]:
        check_question(one["question"], one["answer"], one["relevant_passage"], source, row["language"])
        if row["task"] == "extractive_qa" and not any(stands_in(answer, source) for answer in one["answer"]):
            raise Rejected("answer is not in the source")
        made.append({**one, "relevant_passage": [find_verbatim(text, source) for text in one["relevant_passage"]]})
    if row["task"] == "conversational_qa" and len(made) < 2:
        raise Rejected("a conversation of one round")
    return [{**row, "made": made}]


def _inspect(row: Row) -> Work:
    slots = {**_slots(row), "made": json.dumps(row["made"], ensure_ascii=False)}

    def read(found: Any) -> tuple[int, list[Row]]:
        verdict = found["evaluation"]
        if type(verdict) is not int or verdict not in (0, 1, 2):
            raise ValueError(f"evaluation {verdict!r}")
        mended = _read_made(found["corrected_result"]) if verdict == 1 else []
        if verdict == 1 and len(mended) != len(row["made"]):
            raise ValueError("a correction of another length")
        return verdict, mended

    verdict, mended = yield from ask(_PROMPTS["inspect"], row["language"], slots, read)
    if verdict == 0:
        raise Rejected("inspection: not usable")
    return [{**row, "made": mended or row["made"], "evaluation": verdict}]


def _balance(rows: list[Row], order: Order) -> list[Row]:
    """Keep of each cell of the matrix at most twice the mean of all cells, drawn, and split by document."""
    cells: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        cells[row["topic"], row["task"]].append(row)
    most = math.ceil(2 * len(rows) / len(cells)) if cells else 0
    draw = order.draw("balance")
    kept = {id(row) for cell in cells.values() for row in draw.sample(cell, min(most, len(cell)))}
    sources = sorted({row["source"] for row in rows})
    order.draw("split").shuffle(sources)
    auto = set(sources[: math.ceil(len(sources) / 2)])
    return [
        {**row, "split": "auto" if row["source"] in auto else "train"}
        if id(row) in kept
        else reject(row, "its cell is full")
        for row in rows
    ]


# Review: of the questions of the split `auto`; what people pass is the split `human`.

_NAMES = {"question": "question", "answer": "answer", "passages": "relevant_passage"}
_TASK_OF = {name: task for task, name in TASKS.items()}


def _items(dataset: Path) -> Iterator[Item]:
    path = dataset / AUTO
    if not path.is_file():
        return
    nodes = {row["id"]: row["contents"] for _, row in read_jsonl(dataset / CORPUS)}
    with path.open(encoding="utf-8") as lines:
        for number, text in enumerate(lines, 1):
            line = parse_json(text, f"{path}:{number}")
            rounds = line if isinstance(line, list) else [line]
            fields: dict[str, Value] = {
                _name(name, at, len(rounds)): made[key]
                for at, made in enumerate(rounds)
                for name, key in _NAMES.items()
            }
            marks = [answer for made in rounds for answer in made["answer"]]
            source = rounds[0]["relevant_node"]
            cell = f"{rounds[0]['topic_name']} / {_TASK_OF[rounds[0]['task_name']]}"
            yield Item(cell, fields, marks, [nodes[name] for name in source], ", ".join(source), line, rounds)


def _name(name: str, at: int, rounds: int) -> str:
    return name if rounds == 1 else f"{name}_{at + 1}"


def _correct(item: Item, changed: Mapping[str, Value]) -> Any:
    fields, rounds = {**item.fields, **changed}, item.kept
    made = [
        {**each, **{key: fields[_name(name, at, len(rounds))] for name, key in _NAMES.items()}}
        for at, each in enumerate(rounds)
    ]
    task, language = _TASK_OF[rounds[0]["task_name"]], language_of("\n".join(item.passages))
    (row,) = _validate({"task": task, "texts": item.passages, "language": language, "made": made})
    return row["made"] if isinstance(item.line, list) else row["made"][0]


def _write_passed(passed: Sequence[tuple[Item, Any]], dataset: Path, out: Path) -> dict[str, int]:
    write_text(out / "review" / "review.jsonl", "".join(f"{dumps(line)}\n" for _, line in passed))
    counts = {task: sum(item.cell.endswith(f" / {task}") for item, _ in passed) for task in TASKS}
    return {f"{name}/human": n for name, n in {"all": len(passed), **counts}.items() if n}


RECIPE = Recipe(
    _steps, _write, _items, _correct, _write_passed, _PROMPTS["asks"], takes=("topics",), human="human_annotated"
)
