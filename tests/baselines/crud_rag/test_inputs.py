"""What CRUD-RAG's runs depend on, what the user puts in place of a stage, and what is refused."""

import json
from pathlib import Path

import pytest
from altered_runs import alter
from specs import spec_file, spec_of

from quadrag.baselines.crud_rag import benchmark as crud_rag
from quadrag.data.builders import open_builder
from quadrag.parts import Retrieval


def questions(config, **options):
    builder, _ = open_builder("crud_rag", config, "sample", None, "test")
    return list(crud_rag.questions(builder, "test", options))


def _inputs(folder):
    return json.loads(Path(folder, "run.json").read_text(encoding="utf-8"))["digests"]


def test_what_names_do_not_say_of_a_search_is_among_the_inputs(cli):
    base = ("run", "crud_rag", "summary", "--data-dir", "sample", "--tokenizer", "jieba", "--out", "a")
    assert cli(*base)[0] == 0
    search = _inputs("a")["search"]
    assert search["bm25"]["terms"]["package"] == "0.42.1" and search["bm25"]["bm25s"] and search["chunks"]["version"]
    alter("a", lambda info: info["digests"]["search"]["bm25"]["terms"].update(package="0.42"))
    code, _, err = cli(*base)
    assert code == 2 and "holds a run with search.bm25.terms.package" in err and err.count("\n") == 1


def test_another_judge_setting_or_other_shipped_questions_make_another_run(cli):
    import shutil

    from chat_server import ChatServer
    from ragquesteval_judges import blocks

    from quadrag.data.files import sample_dir

    shutil.copytree(sample_dir("crud_rag"), "d")
    with ChatServer(models=["j"], text=blocks(["x"] * 3)) as server:
        base = (
            "run",
            "crud_rag",
            "qa_1doc",
            "--data-dir",
            "d",
            "--judge",
            f"{server.url}#j",
            "--max-failed",
            "1",
            "--ledger",
            "L",
        )
        assert cli(*base, "--out", "a")[0] == 0
        code, _, err = cli(*base, *spec_file(judges=[{"sampling": {"max_tokens": 7}}]), "--out", "a")
        assert code == 2 and "parameters.max_tokens 1024, not 7" in err
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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--split", "full", "--option", "gold=test"), "gold=test lacks most gold documents of the split full"),
        (("--retriever", "none", "--option", "gold=test"), "--retriever none searches none"),
        (("--bertscore", "nope"), "unknown embedding 'nope'"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_done(cli, arguments, words):
    code, _, err = cli("run", "crud_rag", "summary", "--data-dir", "sample", *arguments, "--out", "a")
    assert code == 2 and words in err and err.count("\n") == 1, err
    assert not Path("a").exists()


def test_an_index_address_is_kept_without_its_password():

    index = "milvus:http://user:secret@host:19530/db"
    task = spec_of("crud_rag", "summary", retriever="dense", retrieval=Retrieval(index=index))
    assert task.settings()["index"] == "milvus:http://host:19530/db"
