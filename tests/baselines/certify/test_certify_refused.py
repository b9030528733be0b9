"""`quadrag certify-judge` refuses wrong sheets, options and judges in one line."""

from __future__ import annotations

import re

import pytest
from chat_server import ChatServer
from graded_sheets import LABELS, VERDICTS


@pytest.mark.parametrize(
    ("labels", "verdicts", "said"),
    [
        (
            LABELS,
            VERDICTS + "77,right,\n",
            r"verdicts.csv:8: item '77' has no label in labels; expected its ids, as '1'",
        ),
        (LABELS + "3,Who?,He,x,wrong\n", VERDICTS, r"labels.csv:8: item '3' has two labels \('right' and 'wrong'\)"),
        (LABELS + "3,Who?,He,x,right\n", VERDICTS, r"labels.csv:8: item '3' has two labels \('right' twice\)"),
        (
            LABELS.replace("Rome,wrong", "Rome,maybe"),
            VERDICTS,
            r"labels.csv:3 has label 'maybe'; expected right or wrong",
        ),
        (
            LABELS.replace("Rome,wrong", "Rome,也许"),
            VERDICTS,
            r"labels.csv:3 has label '也许'; expected right or wrong \(对 or 错\)",
        ),
        (LABELS.replace("Rome,wrong", "Rome,"), VERDICTS, r"labels.csv:3 has no label; expected right or wrong"),
        (LABELS.replace(",wrong", ",right"), VERDICTS, r"labels.csv: no item is labelled wrong, all 6 are right"),
        (
            LABELS,
            VERDICTS.replace("2,right", "2,maybe"),
            r"verdicts.csv:3: verdict 'maybe' on '2'; expected right or wrong",
        ),
        (LABELS, VERDICTS + "1,wrong,\n", r"verdicts.csv:8: item '1' has two verdicts; expected one in a file"),
        (
            LABELS,
            "id,answer,verdict\n2,It is Rome,right\n",
            r"the answer of '2' is 'It is Rome', people saw 'It is Milan'",
        ),
        (
            LABELS,
            "id,question,verdict\n1,法国的首都？,right\n",
            r"people saw 'Capital of France\?'; .* different languages",
        ),
        (
            LABELS,
            "id,judged\n1,right\n",
            r"verdicts.csv has no column verdict; expected id and verdict, found id, judged",
        ),
        ("", VERDICTS, r"labels.csv holds no row; expected a line of names \(id and label\)"),
        (LABELS, "id,verdict\n1,\n2,\n", r"verdicts has no readable verdict on labels; expected one at least"),
        (LABELS + "8,a,b,c,right,what\n", VERDICTS, r"labels.csv:8 has 6 cells under 5 names; put a text with commas"),
    ],
)
def test_one_line_for_whatever_is_wrong(sheets, labels, verdicts, said):
    done = sheets(labels=labels, verdicts=verdicts)
    assert done.code == 2 and not done.out
    assert re.fullmatch(f"quadrag: [^\n]*{said}[^\n]*\n", done.err), done.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["nothing.csv"], r"no file nothing.csv; expected a CSV file with id and label, or EVOUNA, OpenQA-eval"),
        (["openqa"], r"unknown label set 'openqa'; nearest: OpenQA-eval"),
        (
            ["wice", "--metric", "truthfulness", "--data-dir", "."],
            r"WiCE has no labels for truthfulness; .* omnieval.hal",
        ),
        (["alce", "--data-dir", "."], r"has no file of alce; expected human_eval/human_eval_utility_completed.json"),
        (["labels.csv", "--metric", "omnieval"], r"omnieval has several graded values; expected omnieval.acc or"),
        (["labels.csv", "--metric", "rgb_accuracy"], r"rgb_accuracy asks no judge for a grade; expected one of"),
        (["labels.csv", "--against", "x.csv"], r"--against tests two judges; name the first"),
        (["labels.csv", "--judge", "rule:plain", "--against", "x.csv"], r"cannot read x.csv \(No such file"),
        (["labels.csv", "--judge", "extractive"], r"--judge extractive judges nothing; expected http"),
        (["labels.csv", "--judge", "rule:boundd"], r"unknown judge of labels 'rule:boundd'; nearest: rule:bounded"),
        (["labels.csv", "--out", "c.json"], r"--out takes one judge's certificate; name it with --judge rule:bounded"),
        (["labels.csv", "--judge", "rule:plain", "--judge", "rule:exact"], r"--judge names several; one is certified"),
        (["labels.csv", "--judge", "rule:plain", "--fresh"], r"--fresh does nothing here"),
    ],
)
def test_one_line_for_what_cannot_be_asked(cli, tmp_path, options, said):
    (tmp_path / "labels.csv").write_text(LABELS, encoding="utf-8")
    done = cli("certify-judge", *options)
    assert done.code == 2, done.out
    assert re.fullmatch(f"quadrag: [^\n]*{said}[^\n]*\n", done.err), done.err


def test_a_set_that_cannot_be_fetched_is_told_in_one_line(cli, monkeypatch):
    monkeypatch.setenv("QUADRAG_MIRROR", "http://127.0.0.1:9")
    done = cli("certify-judge", "wice")
    assert done.code == 2
    assert re.fullmatch(r"quadrag: cannot fetch http://127.0.0.1:9/ryokamoi/wice/\w{40}/data/[^\n]*\n", done.err)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("wice/dev.jsonl", '{"label": "no"}\n', r"dev.jsonl: not in the form of WiCE \(KeyError\('meta'\)\)"),
        ("evouna/NQ.json", "5", r"NQ.json: not in the form of EVOUNA"),
        ("openqa_eval/NQ301_BEM.tsv", "a\tb\n", r"NQ301_human.tsv, .* is not in the folder"),
        (
            "export.json",
            '[{"id": 1, "annotations": 5}]',
            r"export.json, item 1 is not as Label Studio or Argilla export",
        ),
        ("export.json", '{"id": 1}', r"export.json is no list of objects"),
        ("sheet.csv", "id,label\n1,\x00\n", r"sheet.csv:2 has label"),
    ],
)
def test_one_line_for_files_that_are_something_else(cli, tmp_path, name, content, said):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content, encoding="utf-8")
    sets = {"wice": "wice", "evouna": "evouna", "openqa_eval": "openqa-eval"}
    done = cli("certify-judge", sets.get(path.parent.name, name), "--data-dir", ".", "--verdicts", "v.csv")
    assert done.code == 2
    assert re.fullmatch(f"quadrag: [^\n]*{said}[^\n]*\n", done.err), done.err


def test_a_dead_or_silent_judge_makes_no_certificate(cli, tmp_path):
    more = "7,Highest mountain?,It is Everest,Mount Everest,right\n"
    (tmp_path / "labels.csv").write_text(LABELS + more, encoding="utf-8")
    dead = cli("certify-judge", "labels.csv", "--judge", "http://127.0.0.1:9/v1#j", "--ledger", "a", "--out", "c.json")
    assert dead.code == 2 and dead.err.startswith("quadrag: ")
    with ChatServer(models=["j"], text="no verdict") as server:
        two = "id,question,answer,gold,label\n1,a?,b c,b,对\n2,d?,e,f,错\n"
        (tmp_path / "two.csv").write_text(two, encoding="utf-8")
        silent = cli("certify-judge", "labels.csv", "--judge", f"{server.url}#j", "--ledger", "a", "--out", "c.json")
        none = cli("certify-judge", "two.csv", "--judge", f"{server.url}#j", "--ledger", "a", "--labels", "zh")
        assert not (tmp_path / "c.json").exists()
        server.state.text = '{"score": 1}'
        again = ("certify-judge", "labels.csv", "--judge", f"{server.url}#j", "--ledger", "a", "--out", "c.json")
        repaired = [cli(*again, *more).code for more in ((), ("--fresh",))]
    assert silent.code == 3 and repaired == [3, 0]
    why = "it said 'no verdict', where a verdict is like '{\"score\": 1}': try --judge-format json, or another judge"
    told = "quadrag: INVALID, j gave no readable verdict on 5 of 5 items; 2 more are decided by rule; no certificate"
    assert silent.err == f"{told}; {why}; --fresh asks this one anew\n"
    assert silent.out == "", "no figure of a judge that says nothing"
    assert none.code == 2 and "it said 'no verdict'" in none.err


@pytest.mark.parametrize("questions", [1, 4])
def test_labels_of_few_questions_have_no_interval_and_no_certificate(cli, tmp_path, questions):
    rows = "".join(f"{n},q{min(n, questions - 1)},{'right' if n else 'wrong'}\n" for n in range(6))
    (tmp_path / "labels.csv").write_text(f"id,question,label\n{rows}", encoding="utf-8")
    (tmp_path / "v.csv").write_text(f"id,question,verdict\n{rows}", encoding="utf-8")
    several = "s" * (questions > 1)
    few = f"abels of {questions} question{several} tell nothing of a judge: label 5 questions or more"
    done = cli("certify-judge", "labels.csv", "--verdicts", "v.csv")
    assert done.code in (0, None) and done.out.startswith(f"L{few}.\n"), done.out
    assert (
        "No interval under 5 questions." in done.out and " to " not in done.out.split("\n", 1)[1].split("By class")[0]
    )
    refused = cli("certify-judge", "labels.csv", "--verdicts", "v.csv", "--out", "c.json")
    assert refused.code == 2 and refused.err == f"quadrag: l{few}, or leave out --out\n"
    assert not (tmp_path / "c.json").exists()
