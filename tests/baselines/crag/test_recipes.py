"""CRAG's recipes: windows, tokenizers, tables, and what is lacking, said before anything is paid for."""

import bz2
import json
import re
from pathlib import Path

import pytest
import yaml
from crag_files import lines, put, record
from crag_runs import private

from quadrag.run.plan import recipes


def test_a_recipe_of_a_table_runs_the_four_settings_with_its_windows(cli, server):
    server.models[:] = ["meta-llama/Meta-Llama-3-8B-Instruct"]
    arguments = ("--llm", server.url, "--data-dir", "sample", "--ledger", "L", "--out", "a")
    code, out, err = cli("run", "--recipe", "crag-table11-llama-3-8b-instruct", *arguments, "-v")
    assert (code, err) == (0, "")
    inputs = json.loads(Path("a/task_3-snippets-kg/run.json").read_text())["digests"]
    assert inputs["retrieval"]["web_window"] == 16000 and inputs["retrieval"]["kg_window"] == 8000
    assert inputs["retrieval"]["later"] == "show" and inputs["system"]["model"] == "meta-llama/Meta-Llama-3-8B-Instruct"
    assert "web_window 16000; kg_window 8000" in " ".join(out.split())


@pytest.mark.parametrize("named", [False, True])
def test_a_recipes_windows_are_tokens_of_the_tokenizer_or_four_characters_each(cli, server, words, named):
    """What the model was sent of pages whose snippets would fill any window."""
    server.models[:] = ["tiiuae/falcon-40b"]
    arguments = private("p.jsonl", ("a", ""), snippet="one two " * 20_000)[5:]
    recipe = recipes()["crag-table11-falcon-40b"]
    Path("task1.yaml").write_text(yaml.safe_dump({**recipe, "runs": recipe["runs"][1:2]}))
    if named:
        arguments = (*arguments, "--option", f"window_tokenizer={words}")
    arguments = (*arguments, "--split", "private", "--llm", server.url, "--ledger", "L", "--out", "a")
    code, _, err = cli("run", "--recipe", "task1.yaml", *arguments)
    assert (code, err) == (0, "")
    (body,) = server.state.bodies
    shown = re.search(r"(?:one two )+", body["prompt"])[0]
    assert len(shown.split()) == 1000 if named else len(shown) == 4000


def test_what_a_later_run_of_several_lacks_is_said_before_the_first(cli, server):
    server.models[:] = ["tiiuae/falcon-40b"]
    arguments = ("run", "--recipe", "crag-table11-falcon-40b", "--llm", server.url, "--data-dir", "sample")
    for options, message in (
        (("--option", "kg=none.sqlite"), "no knowledge graph 'none.sqlite'"),
        (("--option", "web_windows=3"), "unknown option of crag 'web_windows'; nearest: web_window"),
    ):
        code, _, err = cli(*arguments, *options, "--ledger", "L", "--out", "a")
        assert code == 2 and message in err and err.count("\n") == 1, err
    assert not [body for body in server.state.bodies], "nothing was paid for"


def test_without_a_graph_the_other_settings_run_and_those_that_need_it_are_named(cli, server, tmp_path):
    put(tmp_path / "CRAG", bz2.compress(lines(*map(record, range(4)))))
    where = ("--data-dir", "CRAG", "--ledger", "L")
    needs = "--retriever snippets-kg needs the knowledge graph: quadrag kg build SRC kg.sqlite, then"
    model = ("--llm", f"{server.url}#m")
    asked = ("run", "--recipe", "crag-table5-gpt-4-turbo-2024-04-09", *where, *model, "--out", "a")
    entity = ("--entity-llm", f"{server.url}#m")
    for ran in (cli("run", "crag", "--all", *where, *entity, "--out", "b"), cli(*asked)):
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.count(f"\ntask_1_2 snippets-kg: not run, {needs}") == 1
        assert "Task 1\n" in ran.out and "Task 2" not in ran.out
    assert "2 of the recipe's 4 runs" in ran.out
    one = cli("run", "crag", "task_1_2", "--retriever", "snippets-kg", *where, *entity, "--out", "c")
    assert one.code == 2 and one.err.startswith(f"quadrag: {needs}") and not Path("c").exists()


@pytest.mark.slow
def test_a_recipe_stands_in_its_own_table(cli, server):
    server.models[:] = ["tiiuae/falcon-40b"]
    arguments = ("--llm", server.url, "--data-dir", "sample", "--ledger", "L")
    code, out, _ = cli("run", "--recipe", "crag-table11-falcon-40b", *arguments, "--out", "a")
    assert code == 0 and "Table 11. " in out and re.search(r"falcon-40b[<~]? +21\.9", out)
    server.models[:] = ["gpt-4-turbo-2024-04-09", "meta-llama/Meta-Llama-3-70B-Instruct"]
    code, out, _ = cli("run", "--recipe", "crag-table5", *arguments, "--out", "b")
    assert code == 0 and "Table 5. " in out and "falcon" not in out.partition("Published:")[0]
