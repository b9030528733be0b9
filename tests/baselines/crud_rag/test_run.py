"""CRUD-RAG's runs by the command line, from the files to the table."""

import json
import shutil
from pathlib import Path

import pytest
from altered_runs import alter
from chat_server import ChatServer
from ragquesteval_judges import blocks
from specs import spec_file, spec_of

from quadrag.baselines.crud_rag import benchmark as crud_rag
from quadrag.data.builders import open_builder
from quadrag.data.builders import rows as rows_of
from quadrag.data.files import sample_dir
from quadrag.parts import Retrieval
from quadrag.records import Passage, document_id, read_jsonl

TASKS = crud_rag.TASKS


def questions(config, **options):
    builder, _ = open_builder("crud_rag", config, "sample", None, "test")
    return list(crud_rag.questions(builder, "test", options))


@pytest.mark.parametrize("config", TASKS)
def test_a_run_goes_from_the_files_to_the_table(cli, config):
    code, out, err = cli("run", "crud_rag", config, "--data-dir", "sample", "--option", "gold=test", "--out", "a", "-v")
    assert (code, err) == (0, "")
    found = {row["id"]: row for _, row in read_jsonl(Path("a/retrieved.jsonl"))}
    assert len(found) == 8
    for question in questions(config):
        passages = found[question.id]["passages"]
        assert 0 < len(passages) <= 8
        scores = [passage["score"] for passage in passages]
        assert scores == sorted(scores, reverse=True) and scores[-1] > 0
        assert all(len(passage["text"]) <= 128 for passage in passages)
    scores = {
        (row["metric"], row["key"], row["profile"]): row
        for row in json.loads(Path("a/scores.json").read_text(encoding="utf-8"))
    }
    assert scores["crud_overlap", "bertscore", "official"]["not_run"] == "no embedding"
    assert scores["ragquesteval", "precision", "official"]["not_run"] == "no judge"
    assert 0 < scores["crud_overlap", "rouge_l", "official"]["value"] < 1
    if config != "continuation":
        relevant = {question.id: question.relevant for question in questions(config)}
        ranks = []
        for ident, row in found.items():
            documents = [document_id(Passage(p["id"], "", "")) for p in row["passages"]]
            each = [1 / (documents.index(gold) + 1) if gold in documents else 0.0 for gold in relevant[ident]]
            ranks.append(sum(each) / len(each))
        expected = sum(ranks) / len(ranks)
        assert scores["retrieval_ranking", "mrr_per_gold", "official"]["value"] == pytest.approx(expected)
    assert "Settings: retriever bm25; tokenizer unigram; chunk_size 128" in " ".join(out.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [("--chunk-size", "64"), {"chunk_overlap": 50}, ("--tokenizer", "jieba"), ("--option", "gold=test")],
)
def test_whatever_changes_the_passages_makes_another_index_and_another_run(cli, change):
    base = ("run", "crud_rag", "qa_1doc", "--data-dir", "sample")
    change = spec_file(retrieval=change) if isinstance(change, dict) else change
    assert cli(*base, "--out", "a")[0] == cli(*base, *change, "--out", "b")[0] == 0
    assert Path("a/retrieved.jsonl").read_bytes() != Path("b/retrieved.jsonl").read_bytes()
    code, _, err = cli(*base, *change, "--out", "a")
    assert code == 2 and "holds a run with" in err and err.count("\n") == 1


def test_the_authors_result_files_are_scored_and_what_they_left_out_is_unscored(cli):
    asked = questions("qa_1doc")
    results = [
        {"id": question.id, "log": {"generated_text": question.references}, "valid": True} for question in asked[:-1]
    ]
    whole = {"info": {"task": "QuestAnswer1Doc", "llm": "m"}, "overall": {}, "results": results}
    Path("theirs.json").write_text(json.dumps(whole, ensure_ascii=False, indent=4), encoding="utf-8")
    arguments = ("--benchmark", "crud_rag", "--config", "qa_1doc", "--data-dir", "sample", "--out", "s")
    code, _, err = cli("score", "theirs.json", *arguments)
    assert (code, err) == (0, "")
    rows = {(r["key"], r["profile"]): r for r in json.loads(Path("s/scores.json").read_text(encoding="utf-8"))}
    assert rows["rouge_l", "official"]["value"] == 1 and rows["rouge_l", "official"]["n_scored"] == 7
    assert rows["rouge_l", "corrected"]["value"] == pytest.approx(7 / 8)
    assert rows["rouge_l", "corrected"]["unscored"] == {"api_error": 1}


def test_a_judge_is_asked_once_for_both_profiles_with_the_shipped_questions(cli):
    with ChatServer(models=["m", "j"], text="问题 1\n<response>\n无法推断\n</response>") as server:
        arguments = ("--data-dir", "sample", "--retriever", "none", "--llm", f"{server.url}#m", "--ledger", "L")
        code, _, err = cli(
            "run", "crud_rag", "qa_1doc", *arguments, "--judge", f"{server.url}#j", "--max-failed", "1", "--out", "a"
        )
        assert (code, err) == (0, "")
        asked = [body["messages"][-1]["content"] for body in server.state.bodies if body["model"] == "j"]
    assert len(asked) == len(set(asked)), "no verdict is paid for twice"
    rows = {
        (row["metric"], row["key"], row["profile"]): row
        for row in json.loads(Path("a/scores.json").read_text(encoding="utf-8"))
    }
    official, corrected = (rows["ragquesteval", "recall", profile] for profile in ("official", "corrected"))
    assert official["n_total"] == corrected["n_total"] == 8
    assert "|questions:cache-" in official["signature"] and "|judge:j" in official["signature"]
    # One answer where several are needed: the authors' code loses such items, the corrected profile counts them.
    assert official["unscored"].get("misaligned", 0) > 0
    assert sum(official["unscored"].values()) + official["n_scored"] + official["n_not_applicable"] == 8
    assert corrected["value"] == 0
    shipped = rows_of(open_builder("crud_rag", "ragquesteval", "sample", None, "qa_1doc")[0], "qa_1doc")
    with_questions = next(row for row in shipped if row["questions"])
    assert any(with_questions["questions"][0] in text for text in asked)


def _inputs(folder):
    return json.loads(Path(folder, "run.json").read_text(encoding="utf-8"))["digests"]


def test_what_names_do_not_say_of_a_search_is_among_the_inputs(cli):
    base = ("run", "crud_rag", "summary", "--data-dir", "sample", "--tokenizer", "jieba", "--out", "a")
    assert cli(*base)[0] == 0
    search = _inputs("a")["search"]
    assert search["bm25"]["terms"]["package"] == "0.42.1" and search["bm25"]["bm25s"] and search["chunks"]["version"]
    alter("a", lambda info: info["digests"]["search"]["bm25"]["terms"].update(package="0.42"))
    code, _, err = cli(*base)
    assert code == 2 and "search.bm25.terms.package" in err and err.count("\n") == 1


def test_another_judge_setting_or_other_shipped_questions_make_another_run(cli):
    shutil.copytree(sample_dir("crud_rag"), "d")
    with ChatServer(models=["j"], text=blocks(["x"] * 3)) as server:
        judge = ("--judge", f"{server.url}#j", "--max-failed", "1", "--ledger", "L")
        base = ("run", "crud_rag", "qa_1doc", "--data-dir", "d", *judge)
        assert cli(*base, "--out", "a")[0] == 0
        code, _, err = cli(*base, *spec_file(judges=[{"sampling": {"max_tokens": 7}}]), "--out", "a")
        assert code == 2 and "judge" in err
        path = Path("d/src/quest_eval/QuestAnswer1Doc_quest_gt_save.json")
        shipped = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps(dict(list(shipped.items())[:-1])), encoding="utf-8")
        code, _, err = cli(*base, "--out", "a")
        assert code == 2 and "holds a run with judge.given" in err
        path.write_text("[", encoding="utf-8")
        requests = server.requests
        code, _, err = cli(*base, "--out", "b")
        assert code == 2 and path.name in err and err.count("\n") == 1
        assert server.requests == requests and not Path("b").exists(), "said before anything is done"


def test_an_index_address_is_kept_without_its_password():
    retrieval = Retrieval(index="milvus:http://user:secret@host:19530/db")
    spec = spec_of("crud_rag", "summary", retriever="dense", retrieval=retrieval)
    assert spec.settings()["index"] == "milvus:http://host:19530/db"
