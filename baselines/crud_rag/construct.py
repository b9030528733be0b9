"""CRUD-RAG's recipe (Lyu et al. 2024, sections 3.1 to 3.5), for Chinese news.

Each document serves one task, dealt by the seed. The paper searches the web for related reports; here they come from
one's own documents. What stands in the corpus stays: a review corrects no entry's documents.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
    is_grounded,
    load_prompts,
    stands_in,
    text_of,
)
from quadrag.errors import parse_json
from quadrag.records import write_text
from quadrag.systems.extractive import sentences

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_PROMPTS = load_prompts(Path(__file__).with_suffix(".yaml"))
# When a report was published, before its first sentence.
DATELINE = re.compile(r"^\d{4}-\d{2}-\d{2}(?: \d{2}:\d{2}(?::\d{2})?)?[，,]?(?:正文：)?\s*")
_RELATED = 8  # reports that are looked at for the other documents of a question
_FILES = 3  # that upstream's corpus has of each part
_SPLIT, _CORPUS = "data/crud_split/split_merged.json", "data/80000_docs"


def _steps(order: Order) -> Sequence[Step]:
    corpus = Corpus(order.corpus)
    return [
        Step("tasks", lambda rows: _deal(rows, order), together=True),
        Step("related", lambda row: _related(row, corpus)),
        Step("made", lambda row: TASKS[row["task"]].make(row)),
        Step("held", _validate),
        reject_repeats(lambda row: row.get("question") or row.get("event") or row["sentence"], "asked before"),
    ]


def _deal(rows: list[Row], order: Order) -> list[Row]:
    places = list(range(len(rows)))
    order.draw("tasks").shuffle(places)
    tasks = {at: [*TASKS][place % len(TASKS)] for place, at in enumerate(places)}
    return [{**row, "source": row["id"], "task": tasks[at]} for at, row in enumerate(rows)]


def _related(row: Row, corpus: Corpus) -> list[Row]:
    wanted = TASKS[row["task"]].others
    if not wanted:
        return [row]
    query = DATELINE.sub("", row["text"])[:200]
    others = [other for other, _ in corpus.find(query, _RELATED) if other["id"] != row["source"]][:wanted]
    if len(others) < wanted:
        raise Rejected("no related report")
    return [{**row, "others": [other["text"] for other in others]}]


def _documents_of(row: Row) -> list[str]:
    return [row["text"], *row.get("others", ())]


def _make_from_document(row: Row) -> Work:
    made = yield from ask(_PROMPTS[row["task"]], "zh", {"document": row["text"]})
    return [{**row, **made}]


def _make_continuation(row: Row) -> Work:
    beginning, continuing = _cut_near_half(row["text"])
    made = yield from ask(_PROMPTS["event"], "zh", {"document": row["text"]})
    return [{**row, "beginning": beginning, "continuing": continuing, **made}]


def _cut_near_half(text: str) -> tuple[str, str]:
    ends = [end.end() for end in re.finditer(r"[。！？!?；]+[”’」』）]*|\n+", text)]
    ends = [end for end in ends if text[:end].strip() and text[end:].strip()]
    if not ends:
        raise Rejected("a single sentence")
    cut = min(ends, key=lambda end: (abs(2 * end - len(text)), end))
    return text[:cut].strip(), text[cut:].strip()


def _make_from_several(row: Row) -> Work:
    """Take the paper's steps 2 to 5: what the documents share, where they differ, a question on each, all in one."""
    documents = "\n\n".join(f"新闻{at}：{text}" for at, text in enumerate(_documents_of(row), 1))
    common = yield from ask(_PROMPTS["common"], "zh", {"documents": documents})
    slots = {"common": common["common"], "different": "；".join(common["different"]), "documents": documents}

    def read(found: Any) -> list[Row]:
        parts = [{key: text_of(part[key]) for key in ("question", "answer", "passage")} for part in found["questions"]]
        if len(parts) != len(_documents_of(row)):
            raise ValueError("not one question a document")
        return parts

    parts = yield from ask(_PROMPTS["questions"], "zh", slots, read)
    listed = "；".join(f"{part['question']}（{part['answer']}）" for part in parts)
    joined = yield from ask(_PROMPTS["joined"], "zh", {"event": common["event"], "questions": listed})
    thoughts = f"共同点：{common['common']} 不同点：{slots['different']} 小问题：{listed}"
    passages = [part["passage"] for part in parts]
    return [{**row, "event": common["event"], **joined, "thoughts": thoughts, "passages": passages}]


def _make_hallucination(row: Row) -> Work:
    beginning, rest = _cut_near_half(row["text"])
    sentence = sentences(rest)[0]
    error = yield from ask(_PROMPTS["errors"], "zh", {"beginning": beginning, "sentence": sentence})
    if sentence.count(error["from"]) != 1 or error["from"] == error["to"]:
        raise Rejected("the error has no place of its own in the sentence")
    if error["kind"] not in ("doc", "gen", "kno", "num"):
        raise Rejected("unknown kind of error")
    wrong = sentence.replace(error["from"], error["to"])
    return [{**row, "beginning": beginning, "rest": rest, "sentence": sentence, "wrong": wrong, "error": error}]


class Task(NamedTuple):
    """A task: its key in upstream's file, how an entry is made, the other documents that it wants.

    For a review `fields` may be corrected, our name to upstream's key, and `shown` are the documents; of a question
    all whose key begins with ``news``.
    """

    key: str
    make: Callable[[Row], Work]
    others: int
    fields: Mapping[str, str]
    shown: Sequence[str] = ()


_QUESTION = {"question": "questions", "answer": "answers"}
TASKS = {
    "summary": Task("event_summary", _make_from_document, 0, {"event": "event", "summary": "summary"}, ("text",)),
    "continuation": Task("continuing_writing", _make_continuation, 0, {"event": "event"}, ("beginning", "continuing")),
    "qa_1doc": Task("questanswer_1doc", _make_from_document, 0, _QUESTION),
    "qa_2doc": Task("questanswer_2docs", _make_from_several, 1, _QUESTION),
    "qa_3doc": Task("questanswer_3docs", _make_from_several, 2, _QUESTION),
    "hallucination": Task(
        "hallu_modified",
        _make_hallucination,
        0,
        {"wrong_sentence": "hallucinatedContinuation"},
        ("newsBeginning", "realContinuation"),
    ),
}


def _validate(row: Row) -> list[Row]:
    source = "\n".join(_documents_of(row))
    if "question" in row:
        _validate_question(row, source)
    elif row["task"] != "hallucination":
        _validate_event(row, source)
    return [row]


def _validate_event(row: Row, source: str) -> None:
    summary = row.get("summary", "")
    _check_numbers(row["event"] + summary, source)
    check_question(row["event"], [], [source], source, "zh")
    if len(summary) * 2 > len(row["text"]):
        raise Rejected("summary longer than half of the article")


def _validate_question(row: Row, source: str) -> None:
    documents = _documents_of(row)
    answer, passages = row["answer"], row["passages"]
    _check_numbers(answer, source)
    if not is_grounded(answer, source):
        raise Rejected("answer is not in the source")
    check_question(row["question"], [answer], passages, source, "zh")
    if any(find_verbatim(passage, text) is None for passage, text in zip(passages, documents, strict=False)):
        raise Rejected("passage is not in its document")
    parts = re.split("[；;]", answer)
    if len(documents) > 1 and any(all(stands_in(part, text) for part in parts) for text in documents):
        raise Rejected("one document answers alone")


def _check_numbers(made: str, source: str) -> None:
    if any(number not in source for number in _NUMBER.findall(made)):
        raise Rejected("a number that the source lacks")


def _write(rows: Sequence[Row], order: Order, out: Path) -> dict[str, int]:
    if not rows:
        return {}
    gone = {row["source"] for row in rows if row["task"] in ("summary", "continuation", "hallucination")}
    stay = [row for row in order.corpus if row["id"] not in gone]
    for part in range(_FILES):
        text = "".join(f"{_line(row['text'])}\n" for row in stay[part::_FILES])
        write_text(out / f"{_CORPUS}/documents_dup_part_1_part_{part + 1}", text)
    if real := "".join(f"{_line(row['rest'])}\n" for row in rows if row["task"] == "hallucination"):
        write_text(out / f"{_CORPUS}/documents_hallu.txt_part_1", real)
    return _write_split([(row["task"], _entry(row)) for row in rows], out)


def _write_split(entries: Sequence[tuple[str, Row]], out: Path) -> dict[str, int]:
    tasks = [task for task in TASKS if any(task == of for of, _ in entries)]
    merged = {TASKS[task].key: [entry for of, entry in entries if of == task] for task in tasks}
    write_text(out / _SPLIT, json.dumps(merged, ensure_ascii=False, indent=1) + "\n")
    return {f"{task}/test": len(merged[TASKS[task].key]) for task in tasks}


def _line(text: str) -> str:
    return " ".join(text.split())


def _entry(row: Row) -> dict[str, Any]:
    task = row["task"]
    name = hashlib.sha256(f"{task}\n{row['source']}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
    if task in ("summary", "continuation"):
        keys = ("event", "summary") if task == "summary" else ("event", "beginning", "continuing")
        return {"ID": name, **{key: row[key] for key in keys}, "text": _line(row["text"]), "title": row["title"]}
    if task == "hallucination":
        error = row["error"]
        return {
            "ID": f"{error['kind']}_{name}",
            "headLine": row["title"],
            "type": error["kind"],
            "newsBeginning": row["beginning"],
            "hallucinatedContinuation": row["wrong"],
            "generatedBy": "quadrag construct",
            "appearedKeywords": [error["to"]],
            "allKeywords": {error["to"]: f"不合理，{error['why']}"},
            "realContinuation": row["sentence"],
            "newsRemainder": row["rest"],
            "hallucinatedMod": row["sentence"],
        }
    news = {f"news{at}": _line(text) for at, text in enumerate(_documents_of(row), 1)}
    thoughts = {"thoughts": row["thoughts"]} if len(news) > 1 else {}
    made = {"event": row["event"], **news, **thoughts}
    return {"ID": name, **made, "questions": row["question"], "answers": row["answer"]}


# Review.


def _items(dataset: Path) -> Iterator[Item]:
    path = dataset / _SPLIT
    merged = parse_json(path.read_bytes(), path) if path.is_file() else {}
    for name, task in TASKS.items():
        for entry in merged.get(task.key, ()):
            fields: dict[str, Value] = {field: entry[key] for field, key in task.fields.items()}
            documents = [entry[key] for key in task.shown or [key for key in entry if key.startswith("news")]]
            marks = [entry["answers"]] if "answers" in entry else []
            source = entry.get("title") or entry.get("headLine") or ""
            yield Item(name, fields, marks, documents, source, entry, name)


def _correct(item: Item, changed: Mapping[str, Value]) -> Row:
    line: dict[str, Any] = {**item.line, **{TASKS[item.kept].fields[name]: value for name, value in changed.items()}}
    if item.kept == "hallucination" and line["hallucinatedContinuation"] == line["realContinuation"]:
        raise Rejected("nothing is wrong in the sentence")
    first, *others = item.passages if item.kept.startswith("qa") else [line.get("text", "")]
    row = {"task": item.kept, "text": first, "others": others, "passages": item.passages}
    _validate(row | {name: line[key] for name, key in TASKS[item.kept].fields.items()})
    return line


def _write_passed(passed: Sequence[tuple[Item, Row]], dataset: Path, out: Path) -> dict[str, int]:
    shutil.copytree(dataset / _CORPUS, out / _CORPUS)
    return _write_split([(item.kept, line) for item, line in passed], out)


RECIPE = Recipe(_steps, _write, _items, _correct, _write_passed, _PROMPTS["asks"], languages=("zh",), least=200)
