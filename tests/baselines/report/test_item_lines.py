"""How `quadrag show` writes a question: cut or whole, as ids alone, what a rule decided, what is scored."""

import json
from functools import partial
from pathlib import Path

from chat_server import ChatServer

import quadrag
from quadrag.baselines.page.answers import collect_answers
from quadrag.baselines.report.items.gold import place_gold
from quadrag.baselines.report.items.lines import Manner
from quadrag.baselines.runs.finished import read_runs
from quadrag.records import Question, write_jsonl

SAMPLE = ("--data-dir", "sample")


def score(cli, name, rows, *more):
    write_jsonl(Path(f"{name}.jsonl"), rows)
    assert cli("score", f"{name}.jsonl", *more, *SAMPLE, "--out", name).code == 0


def ask(cli, *place):
    return [json.loads(line) for line in cli("questions", *place, *SAMPLE).out.splitlines()]


def test_texts_are_cut_alike_in_a_terminal_and_whole_elsewhere(cli, monkeypatch, capsys):
    lines = [{"id": str(at), "answer": f"the {at} end of it " * 20 + "at last"} for at in range(12)]
    score(cli, "long", lines, "--benchmark", "rgb", "--config", "negative_rejection_en")
    one, told = ("show", "long", "--id", "3"), "Texts are cut at 160 characters: --verbose shows them whole\n"
    assert "at last\n" in cli(*one).out and told not in cli(*one).out, "in a pipe"
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    out = cli(*one).out
    assert "at last" not in out and out.endswith(told)
    assert "文本只显示前 160 个字符，加 --verbose 显示全文\n" in cli(*one, "--labels", "zh").out
    assert "at last\n" in cli(*one, "--verbose").out
    quadrag.result("long").show(wrong=True, metric="rejection_rate")
    assert "cut at 160 characters: verbose=True shows" in capsys.readouterr().out


def test_a_passage_is_cut_around_the_gold():
    question = Question("rgb", "c", "s", "1", "?", ["May 6"], "en")
    manner, find = Manner(longest=80), partial(place_gold, question)
    far, near = "An early word. " * 30, "A late word. " * 30
    shown = manner.line(f"{far}It came on May 6. {near}", find)
    assert "It came on May 6." in shown and shown[0] == shown[-1] == "…" and len(shown) == 80 and manner.cut
    assert manner.line(f"{far}It came on May 6.", find).endswith("It came on May 6.")
    for text in (f"On May 6. {near}", near):
        assert manner.line(text, find) == text[:79] + "…"
    assert Manner().line(f"{far}May 6", find) == f"{far}May 6"


def test_ids_alone_are_for_scripts(cli):
    asked = ask(cli, "rgb", "information_integration_en")
    right = [row | {"answer": " ".join(one["text"] for one in row["passages"])} for row in asked]
    score(cli, "right", right)
    score(cli, "wrong", [row | {"answer": "?"} if row["id"] in ("3", "5", "11") else row for row in right])
    assert cli("show", "wrong", "--wrong", "--ids").out == "3\n5\n11\n", "each once, though in three splits"
    assert cli("show", "right", "wrong", "--ids").out == "3\n5\n11\n"
    assert cli("show", "wrong", "--wrong", "--ids", "--limit", "2", "--labels", "zh").out == "3\n5\n"
    assert cli("show", "right", "--wrong", "--ids").out == ""
    assert len(cli("show", "right", "--ids").out.splitlines()) == 12


def test_what_a_rule_decided_and_which_gold_the_judge_was_told_is_said(cli):
    with ChatServer(models=["j"], text='{"score": 0} it is wrong') as judge:
        quadrag.evaluate(
            "crag",
            "task_1_2",
            lambda question: "I don't know" if "forward p/e" in question.query else "perhaps",
            split="public",
            data_dir="sample",
            judge=f"{judge.url}#j",
            ledger="L",
            out="run",
        )
    show = ("show", "run", "--ledger", "L", "--limit")
    first, second = cli(*show, "2").out.split("\n\n")[:2]
    ruled = "decided by rule, without the judge: truthfulness, accuracy, hallucination, missing"
    assert f"  {ruled}\n" in first and ", the judge:" not in first and ruled not in second
    for gold in ("$1.12", "1.12"):
        assert f'  truthfulness ({gold}), the judge: {{"score": 0}} it is wrong\n' in second
    assert "  由规则判定，未问裁判：truthfulness, " in cli(*show, "1", "--labels", "zh").out
    one, two = (item["runs"][0] for item in collect_answers(read_runs(["run"]), "L").items[:2])
    assert one["reasons"]["truthfulness.missing"] == "decided by rule, without the judge"
    assert [*two["verdicts"]] == ["truthfulness ($1.12)", "truthfulness (1.12)"]


def test_what_is_scored_stands_beside_an_answer_of_which_it_is_a_part(cli):
    answers = ("Let me think. <response>十九座</response>", " 十九座 ")
    asked = ask(cli, "crud_rag", "qa_1doc")
    score(cli, "a", [row | {"answer": text} for row, text in zip(asked, answers, strict=False)])
    first, second = cli("show", "a").out.split("\n\n")[:2]
    assert "  answer    Let me think. <response>十九座</response>\n  scored    十九座\n" in first
    assert "  answer    十九座\n" in second and "  scored" not in second
    assert [item["runs"][0]["scored"] for item in collect_answers(read_runs(["a"])).items] == ["十九座", ""]
