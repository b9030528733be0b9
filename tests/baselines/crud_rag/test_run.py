"""CRUD-RAG's runs by the command line, from the files to the table."""

import json
from pathlib import Path

import pytest
from specs import spec_file

from quadrag.baselines.crud_rag import benchmark as crud_rag
from quadrag.data.builders import open_builder
from quadrag.records import Passage, document_id, read_jsonl

TASKS = [config for config, _ in crud_rag.paper_runs()]


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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--retriever", "bn25"), "nearest: bm25"),
        (("--tokenizer", "jiba"), "nearest: jieba"),
        (("--embedding", "m"), "does not use --embedding"),
        (("--retriever", "none", "--top-k", "4"), "does not use --top-k"),
        (("--option", "gold=tset"), "gold"),
        (("--option", "query=paper"), "summary does not use the option query; leave it out"),
        (("--option", "glod=test"), "nearest: gold"),
        (("--split", "tset"), "nearest: test"),
    ],
)
def test_bad_settings_are_one_line(cli, arguments, words):
    code, _, err = cli("run", "crud_rag", "summary", "--data-dir", "sample", *arguments, "--out", "a")
    assert code == 2 and err.count("\n") == 1 and words in err, err
    assert not Path("a/answers.jsonl").exists()


@pytest.mark.parametrize("config", ["corpus", "ragquesteval"])
def test_configs_without_questions_are_refused(cli, config):
    code, _, err = cli("run", "crud_rag", config, "--data-dir", "sample")
    assert code == 2 and "holds no questions; expected one of summary" in err


def test_settings_of_a_corpus_are_refused_where_there_is_none(cli):
    code, _, err = cli("run", "rgb", "noise_robustness_en", "--data-dir", "sample", "--top-k", "3")
    assert code == 2 and "the retriever own of rgb does not use --top-k" in err


def test_the_authors_result_files_are_scored_and_what_they_left_out_is_unscored(cli):
    asked = questions("qa_1doc")
    results = [
        {
            "id": question.id,
            "metrics": {"bleu-avg": 1.0},
            "log": {"generated_text": question.references, "ground_truth_text": question.references},
            "valid": True,
        }
        for question in asked[:-1]
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


def test_a_result_file_of_another_form_is_one_line(cli):
    Path("theirs.json").write_text('{\n"results": [{"id": "x"}]}', encoding="utf-8")
    code, _, err = cli("score", "theirs.json", "--benchmark", "crud_rag", "--config", "qa_1doc", "--data-dir", "sample")
    assert code == 2 and "theirs.json:1 has no answer" in err and err.count("\n") == 1


def test_a_judge_is_asked_once_for_both_profiles_with_the_shipped_questions(cli):
    from chat_server import ChatServer

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
    shipped = {
        row["id"]: row for row in data_rows(open_builder("crud_rag", "ragquesteval", "sample", None, "qa_1doc")[0])
    }
    with_questions = next(row for row in shipped.values() if row["questions"])
    assert any(with_questions["questions"][0] in text for text in asked)


def data_rows(builder):
    from quadrag.data.builders import rows

    return list(rows(builder, "qa_1doc"))
