"""No number stands unmarked where the judge, or the model, gave nothing that can be scored."""

import json
import re
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule

from quadrag.cli import main

CRAG = ("run", "crag", "task_1_2", "--split", "public", "--data-dir", "sample", "--limit", "10")
REJECTION = ("run", "rgb", "negative_rejection_en", "--data-dir", "sample")
BAD = {
    "yes": "Yes",
    "garbage": "lorem ipsum 0",
    "cut": '{"score": ',
    "nothing": "",
    "error": '{"error": {"message": "overloaded"}}',
    "fenced prose": "```\nI think so\n```",
}


def run(tmp_path, place, *more):
    return main([*place, "--ledger", str(tmp_path / "ledger"), "--out", str(tmp_path / "run"), *map(str, more)])


def record(tmp_path):
    return json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("said", BAD.values(), ids=BAD)
def test_verdicts_that_cannot_be_read_are_no_number(said, tmp_path, capsys):
    with ChatServer(models=["j"], text=said) as judge:
        assert run(tmp_path, CRAG, "--judge", f"{judge.url}#j") == 3
        out, err = capsys.readouterr()
        assert err.count("quadrag: INVALID") == 1 and "unparsable" in err
        line = next(line for line in out.splitlines() if line.startswith("truthfulness "))
        assert re.fullmatch(r"truthfulness +– +– +\d of 10.*", line)
        assert "INVALID, task_1_2 public" in " ".join(out.split())
        page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
        assert re.search(
            r'>truthfulness</th><td data-head="public">–.*\n.*>n</th><td data-head="public">\d of 10</td>', page
        )
        # Every figure is still in the file; what is shown again is marked again.
        rows = json.loads((tmp_path / "run" / "scores.json").read_text(encoding="utf-8"))
        assert next(row["value"] for row in rows if (row["key"], row["profile"]) == ("truthfulness", "official")) < 0
        assert main(["report", str(tmp_path / "run")]) in (0, None)
        assert line in capsys.readouterr().out
        assert run(tmp_path, CRAG, "--judge", f"{judge.url}#j") == 3, "shown again"


def test_how_many_may_fail_is_the_users_choice(tmp_path, capsys):
    with ChatServer(models=["j"], text='{"score": 1}') as judge:
        judge.rules.append(Rule("reply", times=4, message={"content": "well"}))
        spec = ("--judge", f"{judge.url}#j", "--concurrency", "1")
        assert run(tmp_path, CRAG, *spec, "--max-failed", "0.1") == 3
        failed = int(re.search(r"(\d) of 10 items failed", capsys.readouterr().err)[1])
        assert failed >= 2
        # The share itself is not too much; kept replies answer here.
        again = ("--out", str(tmp_path / "again"), "--max-failed", f"{failed / 10}")
        assert run(tmp_path, CRAG, *spec, *again) == 0
        assert re.search(rf"^truthfulness .* {10 - failed} of 10 ", capsys.readouterr().out, re.MULTILINE)


def test_a_model_that_replies_with_nothing_is_invalid_and_an_empty_line_of_a_file_is_an_answer(tmp_path, capsys):
    with ChatServer(models=["m"], text="") as model:
        assert run(tmp_path, REJECTION, "--llm", f"{model.url}#m") == 3
    assert "12 of 12 items failed (12 empty reply)" in capsys.readouterr().err
    assert record(tmp_path)["empty"] == {"negative_rejection_en/test": 12}
    answers = tmp_path / "run" / "answers.jsonl"
    score = ["score", str(answers), "--benchmark", "rgb", "--config", "negative_rejection_en", "--data-dir", "sample"]
    assert main(score) == 0


def test_code_2_wins(tmp_path, capsys):
    with ChatServer(models=["j"], text="Yes") as judge:
        assert run(tmp_path, CRAG, "--judge", f"{judge.url}#j", "--limit", "3", "--split", "nowhere") == 2
    assert "INVALID" not in capsys.readouterr().err
    assert not Path(tmp_path / "run").exists()


def test_an_invalid_run_is_no_result_on_the_hub(tmp_path):
    from quadrag.errors import QuadragError
    from quadrag.hub.results.plan import plan_results

    with ChatServer(models=["o/m"], text="") as model:
        assert run(tmp_path, REJECTION, "--llm", f"{model.url}#o/m") == 3
    with pytest.raises(QuadragError, match="INVALID"):
        plan_results("org", "o/m", [tmp_path / "run"], accept_data=True)
