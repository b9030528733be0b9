"""Sweeps: recipes of a table, each row beside the printed one; and the tables of runs that search a corpus."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from quadrag import catalogue
from quadrag.baselines.campaign import read_runs, swept
from quadrag.baselines.sweep import sweep_grids


def table(out: str, title: str) -> list[str]:
    """Lines of the table with this title, to the next empty line but those that are part of it."""
    lines = out.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(title))
    end = next((place for place in range(start + 1, len(lines)) if lines[place].startswith("Percent")), len(lines))
    return lines[start:end]


def test_a_tables_name_stands_for_its_recipes():
    assert [name.rpartition("-")[2] for name in swept("crud_rag-table3")] == [
        "chunk128",
        "chunk256",
        "chunk512",
        "chunk64",
    ]
    assert len(swept("crud_rag-table8")) == 8 and len(swept("rgb-table1")) == 6
    assert swept("crud_rag-table5-bm25") == swept(None) == swept("crud_rag-table") == swept("mine.yaml") == []


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
    grids = sweep_grids("crud_rag", sweep_of_chunks, ("official", "corrected"))
    titles = [grid.title for grid in grids]
    assert titles == [f"Table 3. Chunk size, with top-k in step: {config}" for config in ("qa_1doc", "summary")]
    labels = [line.label for line in grids[0].lines]
    # The printed rows are dense: ours, by BM25, stand under no one of them, but after them all.
    printed = [f"{size}, gpt-3.5-turbo" for size in (64, 128, 256, 512)]
    assert labels[:4] == printed
    assert [label for label in labels[4:] if "," in label] == [f"{size}, extractive" for size in (64, 128, 256)]
    assert any("retriever bm25" in note for note in grids[0].notes)


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
        printed = next(line for line in lines[place:] if "gpt-3.5-turbo" in line)
        assert bleu in printed
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
    assert code == 2 and "say every retriever" in err


def test_a_recipe_with_an_unknown_setting_is_one_line(cli):
    Path("r.yaml").write_text("benchmark: crud_rag\nretrieval: {chunk_sise: 3}\nruns:\n  - {config: summary}\n")
    code, _, err = cli("run", "--recipe", "r.yaml", "--data-dir", "sample")
    assert code == 2 and "nearest: chunk_size" in err and err.count("\n") == 1


def test_a_sweep_runs_every_recipe_and_prints_the_papers_table(cli, monkeypatch):
    from chat_server import ChatServer

    recipes = [yaml.safe_load(catalogue.recipes()[name].read_text()) for name in swept("crud_rag-table8")]
    with ChatServer(text="<response>答案</response>", models=[recipe["model"] for recipe in recipes]) as server:
        arguments = ("--recipe", "crud_rag-table8", "--data-dir", "sample", "--limit", "1", "--ledger", "L")
        # The rows of table 8 are dense; the sweep over models is run here with what needs no weights.
        from quadrag.baselines import campaign

        read = campaign._read_recipe

        def with_bm25(name):
            found, recipe = read(name)
            return found, {**recipe, "retriever": "bm25", "retrieval": {"chunk_size": 128, "top_k": 8}}

        monkeypatch.setattr(campaign, "_read_recipe", with_bm25)
        code, out, err = cli("run", *arguments, "--llm", server.url, "--out", "s")
        assert (code, err) == (0, "")
        assert server.requests == 8 * 6
    folders = sorted(path.name for path in Path("s").iterdir() if path.is_dir())
    assert folders == sorted(swept("crud_rag-table8"))
    models = {json.loads(path.read_text())["inputs"]["llm"] for path in Path("s").glob("*/*/run.json")}
    assert len(models) == 8
    titles = re.findall(r"^Table 8\. Language model: (\w+)", out, flags=re.MULTILINE)
    assert titles == ["summary", "continuation", "qa_1doc", "qa_2doc", "qa_3doc", "hallucination"]
    assert max(map(len, out.splitlines())) <= 80


def test_all_six_tasks_take_the_users_retriever(cli):
    code, out, err = cli("run", "crud_rag", "--all", "--data-dir", "sample", "--retriever", "none")
    assert (code, err) == (0, "")
    assert Path("runs/crud_rag-all-none/summary/scores.json").is_file()
    assert "No row of the paper was made under these settings." in out


def test_tasks_whose_key_a_file_lacks_are_named_and_the_others_run(cli):
    from quadrag.data import sample_dir

    part = Path("data/crud_split")
    part.mkdir(parents=True)
    whole = json.loads((sample_dir("crud_rag") / "data/crud_split/split_merged.json").read_text(encoding="utf-8"))
    (part / "split_merged.json").write_text(json.dumps({"event_summary": whole["event_summary"]}), encoding="utf-8")
    code, out, err = cli("run", "crud_rag", "--all", "--data-dir", ".", "--retriever", "none", "--out", "r")
    assert (code, err) == (0, "")
    assert re.search(r"^qa_1doc: not run, \. lacks .*questanswer_1doc", out, flags=re.MULTILINE)
    assert Path("r/summary/scores.json").is_file() and not Path("r/qa_1doc").exists()
