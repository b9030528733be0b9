"""Ids and passages are read as users' libraries give them, and what is not understood is named with its type."""

import dataclasses
import datetime
import json
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from own_system import SUMMARY, measure
from rag_server import RagServer, Rule
from specs import spec_of

import quadrag
from quadrag.benchmark import load
from quadrag.cli import main
from quadrag.errors import Unreadable
from quadrag.loading import load_questions
from quadrag.passages import read_passages
from quadrag.records import Passage, read_jsonl

pytestmark = pytest.mark.plugins

OTHER = "no-document-of-the-corpus"


class Document:
    """LangChain's, in the names of its parts; of a base that iterates over these."""

    def __init__(self, page_content: str, metadata: dict[str, Any] | None = None, id: str | None = None) -> None:
        self.page_content, self.metadata, self.id, self.type = page_content, metadata or {}, id, "Document"

    def __iter__(self):
        yield from vars(self).items()


class TextNode:
    """LlamaIndex's."""

    def __init__(self, text: str, id_: str) -> None:
        self.text, self.id_, self.node_id, self.metadata = text, id_, id_, {}

    def get_content(self) -> str:
        return self.text


@dataclasses.dataclass
class NodeWithScore:
    """LlamaIndex's, which knows the parts of its node."""

    node: Any
    score: float | None = None

    @property
    def text(self) -> str:
        return str(self.node.text)


@dataclasses.dataclass
class Found:
    """Haystack's document."""

    id: str = ""
    content: str | None = None
    blob: Any = None
    meta: dict[str, Any] = dataclasses.field(default_factory=dict)
    score: float | None = None


Hit = namedtuple("Hit", "doc_id text score")
# Each is two passages: one that is no document, then GOLD, which is set for every question.
FORMS: dict[str, Any] = {
    "texts": lambda gold: [OTHER, gold],
    "array": lambda gold: np.array([OTHER, gold]),
    "column": lambda gold: pd.Series([OTHER, gold], name="id"),
    "table": lambda gold: pd.DataFrame({"id": [OTHER, gold], "text": ["a", "b"], "score": [0.9, None]}),
    "rows of a table": lambda gold: [one for _, one in pd.DataFrame({"id": [OTHER, gold]}).iterrows()],
    "generator": lambda gold: (one for one in [OTHER, gold]),
    "pairs": lambda gold: [(OTHER, 0.9), (gold, 0.8)],
    "pairs of numpy": lambda gold: zip(np.array([OTHER, gold]), np.array([0.9, 0.8], dtype="float32"), strict=True),
    "langchain": lambda gold: [Document("a", id=OTHER), Document("b", id=gold)],
    "langchain by metadata": lambda gold: [Document("a", {"source": OTHER}), Document("b", {"source": gold})],
    "llamaindex": lambda gold: [NodeWithScore(TextNode("a", OTHER), 0.9), NodeWithScore(TextNode("b", gold))],
    "haystack": lambda gold: [Found(OTHER, "a", score=0.9), Found(gold, "b")],
    "search engine": lambda gold: [{"_id": one, "_score": 1.5, "_source": {"text": "a"}} for one in (OTHER, gold)],
    "named tuples": lambda gold: [Hit(OTHER, "a", 0.9), Hit(gold, "b", 0.8)],
    "objects": lambda gold: [SimpleNamespace(id=OTHER, text="a"), SimpleNamespace(id=np.str_(gold), text=None)],
    "mappings": lambda gold: [{"id": OTHER, "text": "a"}, {"document_id": gold, "score": float("nan")}],
}


def golds() -> dict[str, str]:
    found, _ = load_questions(spec_of(*SUMMARY, data_dir="sample", retriever="none"), load("crud_rag"))
    return {one.id: one.relevant[0] for one in found}


@pytest.mark.parametrize("form", FORMS)
def test_a_gold_document_is_found_at_its_rank_however_it_is_handed_back(form):
    known = golds()
    result = measure(lambda question: (question.query, FORMS[form](known[question.id])), limit=5)
    assert result["mrr"].value == 0.5 and result.valid
    whole = measure(
        lambda question: {"answer": question.query, "passages": FORMS[form](known[question.id])}, limit=5, name="whole"
    )
    assert whole["mrr"].value == 0.5


RESULTS: dict[str, Any] = {
    "llamaindex": lambda said, found: SimpleNamespace(response=said, source_nodes=found, metadata={}),
    "langchain": lambda said, found: {"input": "?", "context": found, "answer": said},
    "langchain's older": lambda said, found: {"query": "?", "result": said, "source_documents": found},
    "an object": lambda said, found: SimpleNamespace(answer=said, passages=found),
    "a named tuple": lambda said, found: namedtuple("Result", "passages answer")(found, said),
    "a pair": lambda said, found: (said, found),
}


@pytest.mark.parametrize("form", RESULTS)
def test_results_of_the_usual_frameworks_are_an_answer_with_its_passages(form):
    known = golds()

    def mine(question):
        return RESULTS[form](question.query, [Document("a", id=OTHER), Document("b", id=known[question.id])])

    result = measure(mine, limit=5)
    assert result["mrr"].value == 0.5 and result["rouge_l"].n == 5


READ = [
    ([np.int64(7), 7, 7.0, np.float64(7)], [Passage("7", "", "")] * 4),
    (pd.Series([7, None]).dropna(), [Passage("7", "", "")]),
    ([(7, 0.5), (np.int64(7), np.float32(0.5))], [Passage("7", "", "", 0.5)] * 2),
    ([(7, 2)], [Passage("7", "", "", 2.0)]),
    ([{"id": ["d"], "text": "a", "score": "0.3"}, {"id": "d", "text": 3}], ["a", Passage("d", "", "")]),
    ([("x\ud83d", 1)], [Passage("x\ufffd", "", "", 1.0)]),
    ([{"text": "a"}, {"id": None, "text": "b"}, {"id": "", "text": ""}], ["a", "b", ""]),
    ([{"id": "d", "metadata": {"title": "t", "id": "other"}}], [Passage("d", "t", "")]),
    ([{"id": None, "metadata": {"id": "d"}, "page_content": "a"}], [Passage("d", "", "a")]),
    ([{"document": {"id": "d", "text": "a"}, "relevance_score": 0.5}], [Passage("d", "", "a", 0.5)]),
    ([Passage("d", "t", "a", 0.5), Passage("e", "", "")], [Passage("d", "t", "a", 0.5), Passage("e", "", "")]),
    ((), []),
    (pd.DataFrame({"id": [3.0, 4.0]}), [Passage("3", "", ""), Passage("4", "", "")]),
]


@pytest.mark.parametrize(("found", "passages"), READ)
def test_passages_are_read(found, passages):
    wanted = [Passage(f"rag/{at}", "", one) if isinstance(one, str) else one for at, one in enumerate(passages)]
    read = list(read_passages(found))
    assert read == wanted
    assert all(type(part) in (str, float, type(None)) for one in read for part in one)


STRANGE = [
    ("d", "passages are a str; expected a list"),
    ({"id": "d"}, "passages are a dict"),
    (7, r"passages are an int \(7\)"),
    (Passage("d", "", "a"), "passages are a Passage"),
    (Document("a", id="d"), "passages are a Document"),
    (pd.Series({"id": "d", "text": "a"}), "passages are a Series"),
    ([datetime.datetime(2020, 1, 1)], "passage 1 is a datetime; expected an id, a text, or both"),
    (["d", None], "passage 2 is None"),
    ([0.5], r"passage 1 is a float \(0.5\)"),
    ([("d", "e")], "passage 1 is a tuple"),
    (np.array([["d", "e"]]), "passage 1 is a ndarray"),
    (["d", {"txt": "a", "n": 1}], "passage 2 is a dict with the keys txt, n"),
    ([{"id": True, "text": 3}], "passage 1 is a dict with the keys id, text"),
]


@pytest.mark.parametrize(("found", "said"), STRANGE)
def test_what_is_not_understood_is_named_in_a_line(found, said):
    with pytest.raises(Unreadable, match=f"^{said}") as told:
        read_passages(found)
    assert "\n" not in str(told.value)


@pytest.mark.filterwarnings("ignore:INVALID")
def test_a_passage_that_is_not_understood_is_a_failure_of_its_question_alone_at_every_entrance():
    last = quadrag.questions(*SUMMARY, data_dir="sample")[-1]
    odd = ["d", {"txt": "a"}]

    def mine(question):
        return question.query, odd if question.id == last.id else ["d"]

    measure(mine, out="python", max_failed=1)
    with RagServer([("d", "", "text")]) as server:
        server.rules.append(Rule("merge", match=last.query, body={"passages": odd}))
        run = ["run", *SUMMARY, "--data-dir", "sample", "--rag", server.url, "--ledger", "L", "--max-failed", "1"]
        assert main([*run, "--concurrency", "1", "--out", "http"]) == 0
    for folder in ("python", "http"):
        states = {row["id"]: row["state"] for _, row in read_jsonl(Path(folder, "answers.jsonl"))}
        assert [ident for ident, state in states.items() if state != "ok"] == [last.id]
        told = json.loads(Path(folder, "run.json").read_text())["failures"]
        assert ["passage 2 is a dict with the keys txt" in line for line in told.values()] == [True]
    lines = [{"id": one.id, "answer": "x", "passages": odd} for one in quadrag.questions(*SUMMARY, data_dir="sample")]
    Path("a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    score = ["score", "a.jsonl", "--benchmark", SUMMARY[0], "--config", SUMMARY[1], "--data-dir", "sample"]
    assert main(score) == 2


def test_ids_and_pairs_stand_the_same_by_function_file_and_service():
    known = golds()
    found = {ident: [[OTHER, 0.9], [gold, 0.5], {"id": 7}] for ident, gold in known.items()}
    found[min(found)] = []
    measure(lambda question: (question.id, found[question.id]), out="python")
    lines = [{"id": ident, "answer": ident, "passages": passages} for ident, passages in found.items()]
    Path("a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    score = ["score", "a.jsonl", "--benchmark", SUMMARY[0], "--config", SUMMARY[1], "--data-dir", "sample"]
    assert main([*score, "--out", "file"]) == 0
    with RagServer([("d", "", "text")], answers={ident: ident for ident in known}) as server:
        for question in quadrag.questions(*SUMMARY, data_dir="sample"):
            server.rules.append(Rule("merge", match=question.query, body={"passages": found[question.id]}))
        run = ["run", *SUMMARY, "--data-dir", "sample", "--rag", server.url, "--ledger", "L", "--out", "http"]
        assert main(run) == 0
    for name in ("answers.jsonl", "items.jsonl", "scores.json"):
        one, *others = (Path(folder, name).read_bytes() for folder in ("python", "file", "http"))
        assert others == [one, one], name
    assert Path("python/retrieved.jsonl").read_bytes() == Path("http/retrieved.jsonl").read_bytes()
    assert quadrag.result("http")["mrr"].value == 0.5 * (1 - 1 / len(found))
