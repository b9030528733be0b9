"""Sweeps: recipes of a table, each row beside the printed one; and the tables of runs that search a corpus."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from exported import copy_as_authors

from quadrag import catalogue
from quadrag.baselines.crud_rag.tables import tabulate
from quadrag.baselines.runs.finished import read_runs
from quadrag.baselines.runs.recipe import plan_runs, recipes_of_table, select_settings
from quadrag.baselines.runs.request import RunRequest


def table(out: str, title: str) -> list[str]:
    """Lines of the table with this title, to the next empty line but those that are part of it."""
    lines = out.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(title))
    end = next((place for place in range(start + 1, len(lines)) if lines[place].startswith("Percent")), len(lines))
    return lines[start:end]


def test_a_tables_name_stands_for_its_recipes():
    assert [name.rpartition("-")[2] for name in recipes_of_table("crud_rag-table3")] == [
        "chunk128",
        "chunk256",
        "chunk512",
        "chunk64",
    ]
    assert len(recipes_of_table("crud_rag-table8")) == 8 and len(recipes_of_table("rgb-table1")) == 6
    assert (
        recipes_of_table("crud_rag-table5-bm25")
        == recipes_of_table(None)
        == recipes_of_table("crud_rag-table")
        == recipes_of_table("mine.yaml")
        == []
    )


@pytest.fixture
def sweep_of_chunks(cli):
    """A sweep over chunk sizes with BM25: table 3 without a model to encode with."""
    folder = Path("recipes")
    folder.mkdir()
    for size, top_k in ((64, 16), (128, 8), (256, 4)):
        recipe = {
            "benchmark": "crud_rag",
            "retriever": "bm25",
            "retrieval": {"chunk_size": size, "top_k": top_k, "tokenizer": "unigram"},
            "runs": [{"config": "qa_1doc"}, {"config": "summary"}],
        }
        path = folder / f"chunk{size}.yaml"
        path.write_text(yaml.safe_dump(recipe), encoding="utf-8")
        code, _, err = cli("run", "--recipe", path.resolve(), "--data-dir", "sample", "--out", f"swept/chunk{size}")
        assert (code, err) == (0, "")
    return [result for _, results in read_runs([f"swept/chunk{n}" for n in (64, 128, 256)]) for result in results]


def test_runs_that_differ_stand_in_the_table_that_varies_what_they_vary(sweep_of_chunks):
    (grid,) = tabulate(sweep_of_chunks, ("official", "corrected"))
    assert grid.title == "Table 3. Chunk size, with top-k in step"
    labels = [line.label for line in grid.lines if not line.label.startswith(" ")]
    # The printed rows are dense: ours, by BM25, stand under no one of them, but after them all.
    printed = [f"{size}, gpt-3.5-turbo" for size in (64, 128, 256, 512)]
    ours = [f"{size}, extractive" for size in (64, 128, 256)]
    assert labels == ["summary", *printed, *ours, "qa_1doc", *printed, *ours]
    assert any("retriever bm25" in note for note in grid.notes)


def test_one_run_under_a_printed_rows_settings_stands_beside_it(cli):
    code, out, err = cli("run", "--recipe", "crud_rag-table5-bm25", "--data-dir", "sample", "--llm", "extractive")
    assert (code, err) == (0, "")
    lines = table(out, "crud_rag, extractive")
    for task, bleu in (
        ("summary", "25.19"),
        ("continuation", "3.51"),
        ("qa_1doc", "39.91"),
        ("hallucination", "33.09"),
    ):
        place = next(n for n, line in enumerate(lines) if line.startswith(task))
        printed = next(line for line in lines[place:] if "  paper: gpt-3.5-turbo " in line)
        assert bleu in printed
    assert "Published: arXiv:2401.17043, table 5, row bm25." in out
    assert max(map(len, out.splitlines())) <= 80
    assert Path("runs/crud_rag-table5-bm25/report.html").is_file()


def test_a_recipe_needs_an_address_for_its_model(cli):
    code, _, err = cli("run", "--recipe", "crud_rag-table8-qwen2-7b", "--data-dir", "sample")
    assert code == 2 and "asks Qwen/Qwen2-7B-Instruct; say where with --llm" in err


def test_what_a_recipe_says_is_not_said_again(cli):
    arguments = ("run", "--recipe", "crud_rag-table5-bm25", "--data-dir", "sample", "--llm", "extractive")
    code, _, err = cli(*arguments, "--top-k", "3")
    assert code == 2 and "says --top-k 8; leave it out" in err
    code, _, err = cli(*arguments, "--retriever", "none")
    assert code == 2 and "says the retriever of every run; leave out --retriever " in err


def test_an_embedding_replaces_one_and_not_what_a_table_varies(cli):
    ask = RunRequest(recipe="crud_rag-table5", retrieval={"embedding": "mine"}, llm="extractive")
    bm25, dense, *_ = select_settings(ask, recipes_of_table("crud_rag-table5"))
    assert plan_runs(bm25)[0].replaced == {} and "embedding" not in plan_runs(bm25)[0].retrieval
    planned = plan_runs(dense)[0]
    assert planned.replaced == {"embedding": "bge-base"} and planned.retrieval["embedding"] == "mine"
    same = plan_runs(replace(dense, retrieval={"embedding": "bge-base"}))[0]
    assert same.replaced == {}, "it is the recipe's own"
    arguments = ("run", "--recipe", "crud_rag-table6", "--embedding", "mine", "--llm", "extractive")
    code, _, err = cli(*arguments, "--data-dir", "sample")
    assert code == 2 and err.count("\n") == 1 and "--embedding replaces one" in err


def test_a_recipe_with_an_unknown_setting_is_one_line(cli):
    Path("r.yaml").write_text("benchmark: crud_rag\nretrieval: {chunk_sise: 3}\nruns:\n  - {config: summary}\n")
    code, _, err = cli("run", "--recipe", "r.yaml", "--data-dir", "sample")
    assert code == 2 and "nearest: chunk_size" in err and err.count("\n") == 1


@pytest.mark.slow
def test_a_sweep_runs_every_recipe_and_prints_the_papers_table(cli, monkeypatch):
    from chat_server import ChatServer

    recipes = [yaml.safe_load(catalogue.recipes()[name].read_text()) for name in recipes_of_table("crud_rag-table8")]
    with ChatServer(text="<response>答案</response>", models=[recipe["model"] for recipe in recipes]) as server:
        arguments = ("--recipe", "crud_rag-table8", "--data-dir", "sample", "--limit", "1", "--ledger", "L")
        # The rows of table 8 are dense; the sweep over models is run here with what needs no weights.
        from quadrag.baselines.runs import recipe as recipes_of

        read = recipes_of.read_recipe

        def with_bm25(name):
            found, recipe = read(name)
            return found, {**recipe, "retriever": "bm25", "retrieval": {"chunk_size": 128, "top_k": 8}}

        monkeypatch.setattr(recipes_of, "read_recipe", with_bm25)
        code, out, err = cli("run", *arguments, "--llm", server.url, "--out", "s")
        assert (code, err) == (0, "")
        assert server.requests == 8 * 6
    folders = sorted(path.name for path in Path("s").iterdir() if path.is_dir())
    assert folders == sorted(recipes_of_table("crud_rag-table8"))
    models = {json.loads(path.read_text())["inputs"]["llm"] for path in Path("s").glob("*/*/run.json")}
    assert len(models) == 8
    assert out.count("Table 8. Language model\n") == 1
    tasks = ("summary", "continuation", "qa_1doc", "qa_2doc", "qa_3doc", "hallucination")
    assert [line.strip() for line in out.splitlines() if line.strip() in tasks] == list(tasks)
    assert all(out.count(f"\n{model.rpartition('/')[2]} ") >= 6 for model in models), "every model in every task"
    _, _, block = out.partition("\nsummary")
    labels = re.findall(r"(?m)^\w\S+", block.partition("\ncontinuation")[0])
    pairs = list(zip(labels[::2], labels[1::2], strict=True))
    assert all(own.lower().startswith(printed[:-1]) for printed, own in pairs), "ours under the printed one"
    assert max(map(len, out.splitlines())) <= 80


def test_all_six_tasks_take_the_users_retriever(cli):
    code, out, err = cli("run", "crud_rag", "--all", "--data-dir", "sample", "--retriever", "none")
    assert (code, err) == (0, "")
    assert Path("runs/crud_rag-all-none-extractive/summary/scores.json").is_file()
    assert "No published value stands beside." in out


def test_tasks_whose_key_a_file_lacks_are_named_and_the_others_run(cli):
    from quadrag.data.files import sample_dir

    part = Path("data/crud_split")
    part.mkdir(parents=True)
    whole = json.loads((sample_dir("crud_rag") / "data/crud_split/split_merged.json").read_text(encoding="utf-8"))
    (part / "split_merged.json").write_text(json.dumps({"event_summary": whole["event_summary"]}), encoding="utf-8")
    code, out, err = cli("run", "crud_rag", "--all", "--data-dir", ".", "--retriever", "none", "--out", "r")
    assert (code, err) == (0, "")
    assert re.search(r"^qa_1doc: not run, \. lacks .*questanswer_1doc", out, flags=re.MULTILINE)
    assert Path("r/summary/scores.json").is_file() and not Path("r/qa_1doc").exists()


def test_the_folder_of_a_sweep_is_reported_and_one_that_did_not_finish_is_named(cli, sweep_of_chunks):
    code, out, err = cli("report", "swept")
    assert (code, err) == (0, "")
    assert "Table 3. Chunk size, with top-k in step\n" in out and max(map(len, out.splitlines())) <= 80
    rows = [line.split(",")[0] for line in table(out, "Table 3") if ", extractive" in line]
    assert rows == ["64", "128", "256"] * 2, "by size, not by the names of the folders, in both tasks"
    Path("swept/chunk64/summary/scores.json").unlink()
    code, out, err = cli("report", "swept")
    assert code == 0 and err == "not finished and left out: swept/chunk64/summary\n"
    code, _, err = cli("report", "swept", "swept/chunk64/qa_1doc")
    assert code == 2 and "swept holds several runs of qa_1doc test; compare single folders" in err


def test_runs_that_one_label_would_name_alike_are_told_apart(cli):
    base = ("run", "crud_rag", "qa_1doc", "--data-dir", "sample", "--option", "gold=test")
    assert cli(*base, "--out", "two/a")[0] == cli(*base, "--tokenizer", "jieba", "--out", "two/b")[0] == 0
    code, out, _ = cli("report", "two")
    assert code == 0 and max(map(len, out.splitlines())) <= 80
    for title in ("Table 5", "Retrieval"):
        lines = "\n".join(table(out, title))
        assert re.search(r"\n *tokenizer( unigram|\b.*\n *unigram)", lines), "a long label may go on in the next line"
        assert re.search(r"\n *tokenizer( jieba|\b.*\n *jieba)", lines)


@pytest.mark.slow
def test_no_printed_row_stands_beside_another_split(cli):
    base = ("run", "crud_rag", "--all", "--data-dir", "sample")
    code, out, _ = cli(*base, "--split", "full", "--out", "full")
    assert code == 0 and "No published value stands beside." in out
    assert "gpt-3.5-turbo" in cli(*base, "--out", "test").out


@pytest.mark.slow
def test_gold_documents_in_the_corpus_are_said_beside_printed_rows(cli, monkeypatch):
    said = "Ours searched a corpus with gold=test, the published rows one without."
    data = copy_as_authors("crud_rag", Path("CRUD_RAG"), monkeypatch)
    for arguments in (("summary",), ("--all",)):
        base = ("run", "crud_rag", *arguments, "--data-dir", data)
        assert said in " ".join(cli(*base, "--option", "gold=test", "--out", f"g{arguments[0]}").out.split())
        assert said not in " ".join(cli(*base, "--out", f"n{arguments[0]}").out.split())


def test_only_a_table_s_name_is_a_sweep(cli):
    assert recipes_of_table("crud_rag") == recipes_of_table("rgb-table7-chatgpt") == []
    code, _, err = cli("run", "--recipe", "crud_rag", "--data-dir", "sample", "--llm", "extractive")
    assert code == 2 and "unknown recipe 'crud_rag'" in err and err.count("\n") == 1


def test_a_sweep_over_models_is_not_run_with_one(cli):
    for llm in ("extractive", "http://127.0.0.1:9/v1#m", "local:m"):
        code, _, err = cli("run", "--recipe", "crud_rag-table8", "--data-dir", "sample", "--llm", llm)
        assert code == 2 and "the recipes ask 8 models" in err and err.count("\n") == 1
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("retrieval: {chunk_size: x}", "chunk_size is 'x'; expected a whole number from 1"),
        ("retrieval: {chunk_size: 12.5}", "chunk_size is 12.5"),
        ("retrieval: {top_k: 0}", "top_k is 0; expected a whole number from 1"),
        ("retrieval: {top_k: '8'}", "top_k is '8'"),
        ("retrieval: {chunk_overlap: true}", "chunk_overlap is True"),
        ("retrieval: {tokenizer: [jieba]}", "tokenizer is ['jieba']; expected a name"),
        ("retrieval: null", "retrieval is None; expected a mapping"),
        ("retrieval: [top_k]", "retrieval is ['top_k']; expected a mapping"),
        ("top_p: 1.5", "top_p is 1.5; expected a number from 0 to 1"),
        ("max_tokens: 0.5", "max_tokens is 0.5"),
        ("temperature: true", "temperature is True"),
    ],
)
def test_a_recipes_values_are_checked_before_anything_is_run(cli, line, words):
    Path("r.yaml").write_text(f"benchmark: crud_rag\n{line}\nruns:\n  - {{config: summary}}\n", encoding="utf-8")
    code, _, err = cli("run", "--recipe", "r.yaml", "--data-dir", "sample", "--out", "a")
    assert code == 2 and words in err and err.count("\n") == 1, err
    assert not Path("a").exists()


def test_the_authors_sampling_is_sent_by_their_recipes(cli):
    from chat_server import ChatServer

    with ChatServer(models=["gpt-3.5-turbo"], text="答案") as server:
        arguments = ("--recipe", "crud_rag-table5-bm25", "--data-dir", "sample", "--limit", "1", "--ledger", "L")
        code, _, err = cli("run", *arguments, "--llm", server.url, "--max-tokens", "9", "--out", "a")
        assert (code, err) == (0, "")
        (body, *_) = server.state.bodies
    assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.1, 0.9, 9), "what the user says goes first"
    for name in catalogue.recipes():
        if name.startswith("crud_rag-"):
            recipe = yaml.safe_load(catalogue.recipes()[name].read_text(encoding="utf-8"))
            assert (recipe["temperature"], recipe["top_p"], recipe["max_tokens"]) == (0.1, 0.9, 1280)


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="sentence-transformers is installed")
def test_a_sweep_leaves_out_what_is_not_installed_and_says_so(cli):
    arguments = ("run", "--recipe", "crud_rag-table5", "--data-dir", "sample", "--llm", "extractive", "--limit", "1")
    code, out, err = cli(*arguments, "--out", "s")
    assert (code, err) == (0, "") and "crud_rag, extractive" in out
    assert "\ncrud_rag-table5-dense: not run, embedding BAAI/bge-base-zh-v1.5 needs sentence-transformers" in out
    assert sorted(path.name for path in Path("s").iterdir() if path.is_dir()) == ["crud_rag-table5-bm25"]
    code, _, err = cli(
        "run", "--recipe", "crud_rag-table6", "--data-dir", "sample", "--llm", "extractive", "--out", "t"
    )
    assert code == 2 and err.count("\n") == 1 and "needs sentence-transformers" in err


@pytest.mark.slow
def test_one_folder_may_hold_several_benchmarks(cli):
    assert cli("demo", "--out", "d")[0] == 0
    code, out, err = cli("report", "d")
    assert (code, err) == (0, "")
    assert "crud_rag, extractive" in out and "Table 1. Noise robustness" in out


def test_a_model_that_is_not_there_ends_a_sweep_before_anything_is_asked(cli):
    from chat_server import ChatServer

    with ChatServer(models=["gpt-3.5-turbo"], text="答案") as server:
        arguments = ("--recipe", "rgb-table7", "--data-dir", "sample", "--limit", "1", "--ledger", "L", "--out", "s")
        code, _, err = cli("run", *arguments, "--llm", server.url)
        assert code == 2 and err.count("\n") == 1
        assert "quadrag: rgb-table7-qwen-7b-chat-zh: " in err and server.requests == 0 and not Path("s").exists()
        server.state.models.append("Qwen/Qwen-7B-Chat")
        code, out, _ = cli("run", *arguments, "--llm", server.url)
        assert code == 0 and "Table 7" in out
