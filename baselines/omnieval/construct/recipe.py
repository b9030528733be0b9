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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quadrag.construct.asking import ask, load_prompts, text_of, texts_of
from quadrag.construct.held import fault_of, find_verbatim, stands_in
from quadrag.construct.recipe import Given, Recipe
from quadrag.construct.search import Corpus, without_repeats
from quadrag.construct.steps import Drop, Each, Row, Step, Whole, Work
from quadrag.errors import QuadragError
from quadrag.reading import parse_yaml
from quadrag.records import write_jsonl, write_text

SHOWN = 40  # documents that a model sees when it lays out topics
BEGINNING = 120  # characters of each


def read_topics(path: Path) -> list[str]:
    """Read topics as ``field - topic``: YAML or JSON, fields with their topics, ``energy: [solar, wind]``."""
    try:
        found = parse_yaml(path.read_bytes(), path, "fields with their topics")
    except OSError as error:
        raise QuadragError(f"cannot read {path} ({error.strerror}); expected fields with their topics") from None
    expected = "expected fields with their topics, as `energy: [solar, wind]`"
    if not isinstance(found, dict) or not all(isinstance(topics, list) and topics for topics in found.values()):
        raise QuadragError(f"{path} holds no topics; {expected}")
    names = [f"{field} - {topic}" for field, topics in found.items() for topic in topics]
    check_names(names, str(path))
    return names


def check_names(names: Sequence[str], where: str) -> None:
    """Refuse names that a file name or a table cannot bear."""
    for name in names:
        if name.count(" - ") != 1 or "/" in name or len(name) > 60 or not all(map(str.strip, name.split(" - "))):
            raise QuadragError(f"{where}: {name!r} is no topic; expected a short field and topic without - and /")
    if len(set(names)) < len(names):
        raise QuadragError(f"{where} names a topic twice; expected each once")


def leaves(found: Any) -> list[str]:
    """Return the leaves of a tree of topics as a model writes it; of another form, it raises as `text_of` does."""
    names = []
    for field in found:
        upper = str(field["topic_name"]).strip()
        for topic in field["sub_topics"] or [{"topic_name": upper}]:
            names.append(f"{upper} - {str(topic['topic_name']).strip()}")
    names = [name for name in dict.fromkeys(names) if name.count(" - ") == 1 and "/" not in name and len(name) <= 60]
    if not names:
        raise ValueError("no topic")
    return names


def show(documents: Sequence[Row], given: Given) -> str:
    """Return beginnings of some documents, drawn, for whoever lays out topics."""
    drawn = given.draw("topics").sample(list(documents), min(SHOWN, len(documents)))
    return "\n".join(f"- {row['title']}：{' '.join(row['text'].split())[:BEGINNING]}" for row in drawn)


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
_PROMPTS = load_prompts(Path(__file__).parent)


def steps(given: Given) -> Sequence[Step]:
    """Return the steps; see the module."""
    corpus = Corpus(given.corpus)
    names: list[str] = read_topics(given.topics) if given.topics else []
    found: list[Step] = []
    if not names:
        found.append(Whole("tree-shown", lambda rows: (_head(rows, given), [])))
        found.append(Each("tree", lambda row: _lay_out(row, names), asks=2, once=True))
    return [
        *found,
        Each("classify", lambda row: _classify(row, names), asks=2),
        Whole("prune", _prune),
        Each("tasks", lambda row: [{**row, "task": task, "source": row["id"]} for task in TASKS], makes=len(TASKS)),
        Each("related", lambda row: _related(row, corpus)),
        Each("generate", _generate, asks=2, makes=MOST),
        Each("held", held),
        Each("inspect", _inspect, asks=2),
        Each("held-again", held),
        Whole("duplicates", lambda rows: without_repeats(rows, lambda row: row["made"][0]["question"])),
        Whole("balance", lambda rows: _balance(rows, given)),
    ]


def write(rows: Sequence[Row], given: Given, out: Path) -> dict[str, int]:
    """Write questions, topics and corpus; see `Recipe.write`."""
    if not rows:
        return {}
    names = sorted({row["topic"] for row in rows})
    write_text(out / "topics.json", json.dumps(names, ensure_ascii=False, indent=1) + "\n")
    nodes = ({"id": _node(row["id"]), "title": row["title"], "contents": row["text"]} for row in given.corpus)
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
            "thought_process": one["thought_process"],
            "question": one["question"],
            "answer": one["answer"],
            "relevant_passage": one["relevant_passage"],
            "topic_name": row["topic"],
            "task_name": TASKS[row["task"]],
            "relevant_node": [_node(name) for name in row["documents"]],
            "evaluation": row.get("evaluation", 2),
        }
        for one in row["made"]
    ]
    return rounds if row["task"] == "conversational_qa" else rounds[0]


def _head(rows: list[Row], given: Given) -> list[Row]:
    shown = show(rows, given)
    return [{**row, "shown": shown} if at == 0 else row for at, row in enumerate(rows)]


def _lay_out(row: Row, names: list[str]) -> Work:
    if "shown" in row:
        prompt = _PROMPTS["tree"][row["language"]]
        names += yield from ask(prompt, {"documents": row.pop("shown")}, leaves)
    return [row]


def _classify(row: Row, names: Sequence[str]) -> Work:
    if not names:
        raise Drop("no topics were laid out")
    listed = "; ".join(f"{number} {name}" for number, name in enumerate(names, 1))
    slots = {"topics": listed, "document": f"{row['title']}\n{row['text']}"}

    def read(found: Any) -> int:
        number = found["topic_id"]
        if type(number) is not int or not 0 <= number <= len(names):
            raise ValueError(f"topic {number!r}")
        return number

    number = yield from ask(_PROMPTS["classify"][row["language"]], slots, read)
    if not number:
        raise Drop("of no topic")
    return [{**row, "topic": names[number - 1]}]


def _prune(rows: list[Row]) -> tuple[list[Row], list[tuple[Row, str]]]:
    counts = Counter(row["topic"] for row in rows)
    rare = {topic for topic, n in counts.items() if n < RARE * len(rows)}
    return [row for row in rows if row["topic"] not in rare], [
        (row, "topic pruned") for row in rows if row["topic"] in rare
    ]


def _related(row: Row, corpus: Corpus) -> list[Row]:
    documents = [(row["id"], row["text"])]
    if row["task"] in _SEVERAL:
        found = corpus.find(row["text"][:300], 3)
        near = [(other["id"], other["text"]) for other, _ in found if other["id"] != row["id"]]
        documents += near[:1]
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
    made = yield from ask(_PROMPTS["generate"][row["language"]], _slots(row), _read_made)
    if not made:
        raise Drop("gates: document or task does not fit")
    if row["task"] == "conversational_qa":
        return [{**row, "made": made}]
    return [{**row, "id": f"{row['id']}/{at}", "made": [one]} for at, one in enumerate(made[:MOST])]


def held(row: Row) -> list[Row]:
    """Hold every question against its documents; its passages become their own text."""
    source = "\n".join(row["texts"])
    made = []
    for one in row["made"]:
        if fault := fault_of(one["question"], one["answer"], one["relevant_passage"], source, row["language"]):
            raise Drop(fault)
        if row["task"] == "extractive_qa" and not any(stands_in(answer, source) for answer in one["answer"]):
            raise Drop("answer is not in the source")
        passages = [find_verbatim(passage, source) for passage in one["relevant_passage"]]
        made.append({**one, "relevant_passage": passages})
    if row["task"] == "conversational_qa" and len(made) < 2:
        raise Drop("a conversation of one round")
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

    verdict, mended = yield from ask(_PROMPTS["inspect"][row["language"]], slots, read)
    if verdict == 0:
        raise Drop("inspection: not usable")
    return [{**row, "made": mended or row["made"], "evaluation": verdict}]


def _balance(rows: list[Row], given: Given) -> tuple[list[Row], list[tuple[Row, str]]]:
    """Keep of each cell of the matrix at most twice the mean of all cells, drawn, and split by document."""
    cells: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        cells[row["topic"], row["task"]].append(row)
    most = math.ceil(2 * len(rows) / len(cells)) if cells else 0
    draw = given.draw("balance")
    kept_ids = {id(row) for cell in cells.values() for row in draw.sample(cell, min(most, len(cell)))}
    sources = sorted({row["source"] for row in rows})
    given.draw("split").shuffle(sources)
    auto = set(sources[: math.ceil(len(sources) / 2)])
    kept = [{**row, "split": "auto" if row["source"] in auto else "train"} for row in rows if id(row) in kept_ids]
    return kept, [(row, "its cell is full") for row in rows if id(row) not in kept_ids]


RECIPE = Recipe(languages=("zh", "en"), least=100, most=20_000, steps=steps, write=write, takes=("topics",))
