"""A model file of the CRAG challenge in whole runs: it is handed pages, and refused where it cannot be."""

import json
from pathlib import Path

from crag_runs import MODEL, SAMPLE, lines, private, questions


def test_a_model_file_of_the_challenge_is_run_as_it_is(cli, stages):
    Path("mine/models").mkdir(parents=True)
    Path("mine/models/user_config.py").write_text(MODEL)
    arguments = ("run", "crag", "task_1_2", *SAMPLE, "--llm", "challenge:mine/models/user_config.py", "--ledger", "L")
    code, out, err = cli(*arguments, "--out", "a")
    assert code == 0, err
    known = questions()
    answers = {row["id"]: row for row in lines("answers.jsonl")}
    assert all(row["answer"].startswith(known[ident].query) for ident, row in answers.items()) and len(answers) == 15
    assert any("<" in row["answer"] for row in answers.values()), "the pages come with their HTML"
    info = json.loads(Path("a/run.json").read_text())
    assert info["digests"]["system"]["model"] == "challenge:user_config.py" and info["latency"]["p95"] < 30
    assert "calls: 15 made, 0 kept replies used" in out
    assert cli(*arguments, "--out", "b")[0] == 0
    assert stages(Path("a")) == stages(Path("b"))


def test_other_pages_are_another_run_though_the_snippets_are_the_same(cli):
    Path("m.py").write_text(MODEL)
    arguments = private("p.jsonl", ("a", "<p>one</p>"))
    model = ("--llm", "challenge:m.py", "--ledger", "L", "--out", "a")
    assert cli(*arguments, *model)[0] == 0
    Path("p.jsonl").unlink()
    private("p.jsonl", ("a", "<b>two</b>"))
    code, _, err = cli(*arguments, *model)
    assert code == 2 and "holds a run with search.pages" in err
