"""Recipes whose files are not there, whose folder holds other runs, or that are named in vain: what to type."""

import shutil
from pathlib import Path

import pytest
from chat_server import ChatServer

from quadrag.data.files import sample_dir

pytestmark = pytest.mark.plugins

ROW = "rgb-table7-chatgpt-zh"


@pytest.fixture
def run(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with ChatServer(models=["gpt-3.5-turbo"]) as server:
        yield lambda *words: cli("run", *words, "--llm", server.url, "--ledger", "L")


@pytest.mark.parametrize(
    ("words", "files"),
    [
        (("--recipe", "rgb-table1-chatgpt"), "D lacks en.json"),
        (("rgb", "--all"), "D lacks en_refine.json"),
        (("--recipe", ROW), "zh_fact.json"),
    ],
)
def test_a_folder_without_the_files_names_them(run, words, files):
    Path("D").mkdir()
    code, _, err = run(*words, "--data-dir", "D")
    assert code == 2 and files in err and err.count("\n") == 1


@pytest.mark.slow
def test_a_sweep_leaves_rows_without_files_out_and_asks_the_others(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("D").mkdir()
    shutil.copy(sample_dir("rgb") / "zh_fact.json", "D")
    sweep = ("run", "--recipe", "rgb-table7", "--limit", "2", "--ledger", "L", "--data-dir", "D")
    with ChatServer(models=["gpt-3.5-turbo", "Qwen/Qwen-7B-Chat"]) as server:
        code, out, err = cli(*sweep, "--llm", server.url)
        asked = {body["model"] for body in server.bodies}
        assert (code, err) == (0, "") and asked == {"gpt-3.5-turbo", "Qwen/Qwen-7B-Chat"}
        assert "Table 7." in out and "rgb-table7-chatgpt-en: not run, D lacks en_fact.json" in out
        Path("D", "zh_fact.json").unlink()
        done = cli(*sweep, "--llm", server.url, "--out", "none")
    assert done.code == 2 and "en_fact.json" in done.err and done.err.count("\n") == 1


@pytest.mark.parametrize(
    "given",
    [("--option", "noise_ratio=0.2", "--option", "passage_num=3"), ("--split", "test"), ("--retriever", "none")],
)
def test_what_a_recipe_says_is_refused_in_one_line(run, given):
    code, _, err = run("--recipe", ROW, "--data-dir", "sample", *given)
    assert code == 2 and ROW in err and given[-1].rpartition("=")[2] in err and err.count("\n") == 1
