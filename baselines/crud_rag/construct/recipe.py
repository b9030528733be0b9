"""CRUD-RAG's recipe (Lyu et al. 2024, sections 3.1 to 3.5), for Chinese news.

Each document serves one task, dealt by the seed; `tasks` says how each is made. The paper searches the web for related
reports; here they come from one's own documents. What is made is held against them, and `files` writes what is left.
"""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from quadrag.construct.asking import ask, load_prompts, text_of, texts_of
from quadrag.construct.held import fault_of, find_verbatim, is_grounded, stands_in
from quadrag.construct.recipe import Given, Recipe
from quadrag.construct.search import Corpus, without_repeats
from quadrag.construct.steps import Drop, Each, Row, Step, Whole, Work
from quadrag.records import write_text
from quadrag.systems.extractive import sentences

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_PROMPTS = load_prompts(Path(__file__).parent)
# When a report was published, before its first sentence.
_DATELINE = re.compile(r"^\d{4}-\d{2}-\d{2}(?: \d{2}:\d{2}(?::\d{2})?)?[，,]?(?:正文：)?\s*")


def strip_dateline(text: str) -> str:
    """Return a report without the time that it begins with, as those of CRUD-RAG's corpus do."""
    return _DATELINE.sub("", text)


def documents_of(row: Row) -> list[str]:
    """Return the texts that a question is on, its own document first."""
    return [row["text"], *row.get("others", ())]


def _summary(row: Row) -> Work:
    def read(found: Any) -> tuple[str, str] | None:
        return None if found["event"] is None else (text_of(found["event"]), text_of(found["summary"]))

    made = yield from ask(_PROMPTS["summary"], {"document": row["text"]}, read)
    if made is None:
        raise Drop("no news report")
    return [{**row, "event": made[0], "summary": made[1]}]


def _event(row: Row) -> Work:
    def read(found: Any) -> str | None:
        return None if found["event"] is None else text_of(found["event"])

    event = yield from ask(_PROMPTS["event"], {"document": row["text"]}, read)
    if event is None:
        raise Drop("no news report")
    return [{**row, "event": event}]


def _continuation(row: Row) -> Work:
    return (yield from _event({**row, **_halves(row["text"])}))


def _halves(text: str) -> Row:
    """Cut an article at the sentence boundary nearest to its half."""
    ends = [end.end() for end in re.finditer(r"[。！？!?；]+[”’」』）]*|\n+", text)]
    ends = [end for end in ends if text[:end].strip() and text[end:].strip()]
    if not ends:
        raise Drop("a single sentence")
    cut = min(ends, key=lambda end: (abs(2 * end - len(text)), end))
    return {"beginning": text[:cut].strip(), "continuing": text[cut:].strip()}


def _one_document(row: Row) -> Work:
    def read(found: Any) -> Row | None:
        if found["event"] is None:
            return None
        texts = {key: text_of(found[key]) for key in ("event", "question", "answer")}
        return {**texts, "passages": texts_of(found["passages"])}

    made = yield from ask(_PROMPTS["qa_1doc"], {"document": row["text"]}, read)
    if made is None:
        raise Drop("no question")
    return [{**row, **made}]


def _several_documents(row: Row) -> Work:
    """Take the paper's steps 2 to 5: what the documents share, where they differ, a question on each, all in one."""
    documents = "\n\n".join(f"新闻{at}：{text}" for at, text in enumerate(documents_of(row), 1))

    def read_common(found: Any) -> Row | None:
        if found["related"] is not True:
            return None
        texts = {key: text_of(found[key]) for key in ("event", "common")}
        return {**texts, "different": texts_of(found["different"])}

    common = yield from ask(_PROMPTS["common"], {"documents": documents}, read_common)
    if common is None:
        raise Drop("documents are not related")
    slots = {"common": common["common"], "different": "；".join(common["different"]), "documents": documents}

    def read_questions(found: Any) -> list[Row]:
        parts = [{key: text_of(one[key]) for key in ("question", "answer", "passage")} for one in found["questions"]]
        if len(parts) != len(documents_of(row)):
            raise ValueError("not one question a document")
        return parts

    parts = yield from ask(_PROMPTS["questions"], slots, read_questions)
    listed = "；".join(f"{part['question']}（{part['answer']}）" for part in parts)

    def read_joined(found: Any) -> tuple[str, str] | None:
        return None if found["question"] is None else (text_of(found["question"]), text_of(found["answer"]))

    joined = yield from ask(_PROMPTS["joined"], {"event": common["event"], "questions": listed}, read_joined)
    if joined is None:
        raise Drop("questions could not be joined")
    thoughts = f"共同点：{common['common']} 不同点：{slots['different']} 小问题：{listed}"
    made = {"event": common["event"], "question": joined[0], "answer": joined[1], "thoughts": thoughts}
    return [{**row, **made, "passages": [part["passage"] for part in parts]}]


def _hallucination(row: Row) -> Work:
    parts = _first_sentence(row)
    slots = {"beginning": parts["beginning"], "sentence": parts["sentence"]}

    def read(found: Any) -> Row:
        return {key: text_of(found[key]) for key in ("kind", "from", "to", "why")}

    made = yield from ask(_PROMPTS["errors"], slots, read)
    return [_erred({**row, **parts}, made)]


def _first_sentence(row: Row) -> Row:
    halves = _halves(row["text"])
    return {
        "beginning": halves["beginning"],
        "rest": halves["continuing"],
        "sentence": sentences(halves["continuing"])[0],
    }


def _erred(row: Row, made: Row) -> Row:
    sentence = row["sentence"]
    if sentence.count(made["from"]) != 1 or made["from"] == made["to"]:
        raise Drop("the error has no place of its own in the sentence")
    if made["kind"] not in ("doc", "gen", "kno", "num"):
        raise Drop("unknown kind of error")
    return {**row, "kind": made["kind"], "wrong": sentence.replace(made["from"], made["to"]), "error": made}


MAKERS: dict[str, Callable[[Row], Work]] = {
    "summary": _summary,
    "continuation": _continuation,
    "qa_1doc": _one_document,
    "qa_2doc": _several_documents,
    "qa_3doc": _several_documents,
    "hallucination": _hallucination,
}


KEYS = {
    "summary": "event_summary",
    "continuation": "continuing_writing",
    "qa_1doc": "questanswer_1doc",
    "qa_2doc": "questanswer_2docs",
    "qa_3doc": "questanswer_3docs",
    "hallucination": "hallu_modified",
}
_FILES = 3  # that upstream's corpus has of each part


def write(rows: Sequence[Row], given: Given, out: Path) -> dict[str, int]:
    """Write the split file and the corpus; see `Recipe.write`."""
    found = {task: [row for row in rows if row["task"] == task] for task in MAKERS}
    merged = {KEYS[task]: [_entry(row) for row in of_task] for task, of_task in found.items() if of_task}
    if not merged:
        return {}
    write_text(out / "data/crud_split/split_merged.json", json.dumps(merged, ensure_ascii=False, indent=1) + "\n")
    left = {row["source"] for row in rows if row["task"] in ("summary", "continuation", "hallucination")}
    stay = [row for row in given.corpus if row["id"] not in left]
    for part in range(_FILES):
        text = "".join(f"{_line(row['text'])}\n" for row in stay[part::_FILES])
        write_text(out / f"data/80000_docs/documents_dup_part_1_part_{part + 1}", text)
    real = "".join(f"{_line(row['rest'])}\n" for row in found["hallucination"])
    if real:
        write_text(out / "data/80000_docs/documents_hallu.txt_part_1", real)
    return {f"{task}/test": len(of_task) for task, of_task in found.items() if of_task}


def _line(text: str) -> str:
    return " ".join(text.split())


def _entry(row: Row) -> dict[str, Any]:
    name = hashlib.sha256(f"{row['task']}\n{row['source']}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
    text = _line(row["text"])
    if row["task"] == "summary":
        return {"ID": name, "event": row["event"], "summary": row["summary"], "text": text, "title": row["title"]}
    if row["task"] == "continuation":
        keys = ("event", "beginning", "continuing")
        return {"ID": name, **{key: row[key] for key in keys}, "text": text, "title": row["title"]}
    if row["task"] == "hallucination":
        error = row["error"]
        return {
            "ID": f"{row['kind']}_{name}",
            "headLine": row["title"],
            "type": row["kind"],
            "newsBeginning": row["beginning"],
            "hallucinatedContinuation": row["wrong"],
            "generatedBy": "quadrag construct",
            "appearedKeywords": [error["to"]],
            "allKeywords": {error["to"]: f"不合理，{error['why']}"},
            "realContinuation": row["sentence"],
            "newsRemainder": row["rest"],
            "hallucinatedMod": row["sentence"],
        }
    news = {f"news{at}": _line(one) for at, one in enumerate(documents_of(row), 1)}
    thoughts = {"thoughts": row["thoughts"]} if row.get("others") else {}
    made = {"event": row["event"], **news, **thoughts}
    return {"ID": name, **made, "questions": row["question"], "answers": row["answer"]}


TASKS = tuple(MAKERS)
_RELATED = 8  # reports that are looked at for the other documents of a question


def steps(given: Given) -> Sequence[Step]:
    """Return the steps; see the module."""
    whole = Corpus(given.corpus)
    return [
        Whole("tasks", lambda rows: (_deal(rows, given), [])),
        Each("related", lambda row: _related(row, whole)),
        Each("made", lambda row: MAKERS[row["task"]](row), asks=6),
        Each("held", held),
        Whole(
            "duplicates",
            lambda rows: without_repeats(
                rows, lambda row: row.get("question") or row.get("event") or row["sentence"], "asked before"
            ),
        ),
    ]


def _deal(rows: list[Row], given: Given) -> list[Row]:
    order = list(range(len(rows)))
    given.draw("tasks").shuffle(order)
    tasks = {at: TASKS[place % len(TASKS)] for place, at in enumerate(order)}
    return [{**row, "source": row["id"], "task": tasks[at]} for at, row in enumerate(rows)]


def _related(row: Row, corpus: Corpus) -> list[Row]:
    wanted = {"qa_2doc": 1, "qa_3doc": 2}.get(row["task"], 0)
    if not wanted:
        return [row]
    query = strip_dateline(row["text"])[:200]
    others = [other for other, _ in corpus.find(query, _RELATED) if other["id"] != row["source"]][:wanted]
    if len(others) < wanted:
        raise Drop("no related report")
    return [{**row, "others": [other["text"] for other in others]}]


def held(row: Row) -> list[Row]:
    """Hold what was made against its documents."""
    source = "\n".join(documents_of(row))
    if row["task"] in ("summary", "continuation"):
        said = row["event"] + row.get("summary", "")
        if any(number not in source for number in NUMBER.findall(said)):
            raise Drop("a number that the source lacks")
        if fault := fault_of(row["event"], [], [source], source, "zh"):
            raise Drop(fault)
        if row["task"] == "summary" and len(row["summary"]) * 2 > len(row["text"]):
            raise Drop("summary longer than half of the article")
    elif row["task"] != "hallucination":
        if any(number not in source for number in NUMBER.findall(row["answer"])):
            raise Drop("a number that the source lacks")
        if not is_grounded(row["answer"], source):
            raise Drop("answer is not in the source")
        if fault := fault_of(row["question"], [row["answer"]], row["passages"], source, "zh"):
            raise Drop(fault)
        for passage, text in zip(row["passages"], documents_of(row), strict=False):
            if find_verbatim(passage, text) is None:
                raise Drop("passage is not in its document")
        if row.get("others") and any(
            all(stands_in(part, text) for part in re.split("[；;]", row["answer"])) for text in documents_of(row)
        ):
            raise Drop("one document answers alone")
    return [row]


RECIPE = Recipe(languages=("zh",), least=200, most=20_000, steps=steps, write=write)
