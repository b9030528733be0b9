"""Sweeps: recipes of a table, each row beside the printed one; and the tables of runs that search a corpus."""

import json
import re
from pathlib import Path

import pytest
import yaml
from chat_server import ChatServer

from quadrag.baselines.crud_rag.tables import tabulate
from quadrag.data.files import sample_dir
from quadrag.run.folder import read_runs
from quadrag.run.plan import recipes


def table(out: str, title: str) -> list[str]:
    """Lines of the table with this title, to the next empty line but those that are part of it."""
    lines = out.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(title))
    end = next((place for place in range(start + 1, len(lines)) if lines[place].startswith("Percent")), len(lines))
    return lines[start:end]


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
    labels = [line.label for line in grid.rows if not line.label.startswith(" ")]
    # The printed rows are dense: ours, by BM25, stand under no one of them, but after them all.
    printed = [f"{size}, gpt-3.5-turbo" for size in (64, 128, 256, 512)]
    ours = [f"{size}, extractive" for size in (64, 128, 256)]
    assert labels == ["summary", *printed, *ours, "qa_1doc", *printed, *ours]
    assert any("retriever bm25" in str(note) for note in grid.notes)


def test_one_run_under_a_printed_rows_settings_stands_beside_it(cli):
    code, out, err = cli("run", "--recipe", "crud_rag-table5-bm25", "--data-dir", "sample", "--llm", "extractive")
    assert (code, err) == (0, "")
    lines = table(out, "crud_rag, extractive")
    for task, bleu in (("summary", "25.19"), ("continuation", "3.51"), ("hallucination", "33.09")):
        place = next(n for n, line in enumerate(lines) if line.startswith(task))
        printed = next(line for line in lines[place:] if "  paper: gpt-3.5-turbo " in line)
        assert bleu in printed
    assert "Published: arXiv:2401.17043, table 5, row bm25." in out
    assert max(map(len, out.splitlines())) <= 80
    assert Path("runs/crud_rag-table5-bm25/report.html").is_file()


def test_tasks_whose_key_a_file_lacks_are_named_and_the_others_run(cli):
    part = Path("data/crud_split")
    part.mkdir(parents=True)
    whole = json.loads((sample_dir("crud_rag") / "data/crud_split/split_merged.json").read_text(encoding="utf-8"))
    (part / "split_merged.json").write_text(json.dumps({"event_summary": whole["event_summary"]}), encoding="utf-8")
    code, out, err = cli("run", "crud_rag", "--all", "--data-dir", ".", "--retriever", "none", "--out", "r")
    assert (code, err) == (0, "")
    assert re.search(r"^qa_1doc none: not run, \. lacks .*questanswer_1doc", out, flags=re.MULTILINE)
    assert Path("r/summary/scores.json").is_file() and not Path("r/qa_1doc").exists()


def test_the_folder_of_a_sweep_is_reported_and_one_that_did_not_finish_is_named(cli, sweep_of_chunks):
    code, out, err = cli("report", "swept")
    assert (code, err) == (0, "")
    assert "Table 3. Chunk size, with top-k in step\n" in out and max(map(len, out.splitlines())) <= 80
    rows = [line.split(",")[0] for line in table(out, "Table 3") if ", extractive" in line]
    assert rows[:6] == ["64", "128", "256"] * 2, "by size, not by the names of the folders, in both tasks"
    Path("swept/chunk64/summary/scores.json").unlink()
    code, out, err = cli("report", "swept")
    assert code == 0 and err == "not finished and left out: swept/chunk64/summary\n"
    code, _, err = cli("report", "swept", "swept/chunk64/qa_1doc")
    assert code == 2 and "swept holds several runs of qa_1doc test; compare single folders" in err


def test_the_authors_sampling_is_sent_by_their_recipes(cli):
    with ChatServer(models=["gpt-3.5-turbo"], text="答案") as server:
        arguments = ("--recipe", "crud_rag-table5-bm25", "--data-dir", "sample", "--limit", "1", "--ledger", "L")
        code, _, err = cli("run", *arguments, "--llm", server.url, "--max-tokens", "9", "--out", "a")
        assert (code, err) == (0, "")
        (body, *_) = server.state.bodies
    assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.1, 0.9, 9), "what the user says goes first"
    for name, recipe in recipes().items():
        if name.startswith("crud_rag-"):
            assert recipe["system"]["sampling"] == {"temperature": 0.1, "top_p": 0.9, "max_tokens": 1280}


def test_a_model_that_is_not_there_ends_a_sweep_which_goes_on_once_it_is(cli):
    with ChatServer(models=["gpt-3.5-turbo"], text="答案") as server:
        arguments = ("--recipe", "rgb-table7", "--data-dir", "sample", "--limit", "1", "--ledger", "L", "--out", "s")
        code, _, err = cli("run", *arguments, "--llm", server.url)
        assert code == 2 and err.count("\n") == 1
        assert "quadrag: rgb-table7-qwen-7b-chat-zh: " in err
        done = server.requests
        server.state.models.append("Qwen/Qwen-7B-Chat")
        code, out, _ = cli("run", *arguments, "--llm", server.url)
        assert code == 0 and "Table 7" in out and server.requests > done
        assert all(body["model"] != "gpt-3.5-turbo" for body in server.bodies[done:])


def test_a_recipes_own_model_is_asked(cli):
    with ChatServer(models=["m"], text="答案") as server:
        system = {"llm": f"{server.url}#m", "sampling": {"top_p": 0.5}}
        recipe = {"benchmark": "crud_rag", "retriever": "none", "system": system, "runs": [{"config": "summary"}]}
        Path("r.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")
        code, _, err = cli("run", "--recipe", "r.yaml", "--data-dir", "sample", "--limit", "1", "--ledger", "L")
        assert (code, err) == (0, "")
        assert [(body["model"], body["top_p"]) for body in server.bodies] == [("m", 0.5)]
