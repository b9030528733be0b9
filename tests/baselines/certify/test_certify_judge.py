"""`quadrag certify-judge` on sheets of one's own: what is said of a judge, and of whatever is wrong with the sheets."""

from __future__ import annotations

import csv
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from chat_server import ChatServer, Rule

from quadrag.baselines.certify.grades import find_graded

LABELS = """id,question,answer,gold,label
1,Capital of France?,Paris,Paris,right
2,Capital of Italy?,It is Milan,Rome,wrong
3,Who wrote Hamlet?,Shakespeare did,William Shakespeare,right
4,In which year?,I don't know,1912,wrong
5,Largest planet?,Saturn,Jupiter,wrong
6,Smallest prime?,It is two,2,right
"""
VERDICTS = "id,verdict,why\n1,right,a\n2,right,b\n3,right,c\n4,wrong,d\n5,wrong,e\n6,,f\n"


@pytest.fixture
def sheets(cli, tmp_path):
    """A function that writes the sheets, with changes, and runs the command on them."""

    def run(*options, labels=LABELS, verdicts=VERDICTS):
        (tmp_path / "labels.csv").write_text(labels, encoding="utf-8")
        (tmp_path / "verdicts.csv").write_text(verdicts, encoding="utf-8")
        return cli("certify-judge", "labels.csv", *(options or ("--verdicts", "verdicts.csv")))

    return run


def test_verdicts_of_a_file(sheets):
    done = sheets("--verdicts", "verdicts.csv", "--out", "certificate.json")
    assert done.code == 0, done.err
    # Four of five agree; by chance 3/5 * 2/5 + 2/5 * 3/5.
    assert re.search(r"^verdicts +0\.8000 +0\.6154 ", done.out, flags=re.MULTILINE)
    assert "The ceiling is unknown" in done.out
    assert "verdicts: 1 items without a verdict (unreadable 1), left out." in done.out
    assert re.search(r"^right +0\.8000 +0\.6667 +1\.0000 +0\.8000 +2$", done.out, flags=re.MULTILINE)
    assert re.search(r"^wrong +1 +2$", done.out, flags=re.MULTILINE), "the row of the confusion"
    chance = "this may be chance alone, so label more items"
    first = f"verdicts agrees with people 0.80 (0.38–0.96) on labels, kappa 0.62; {chance}."
    assert " ".join(done.out.split()).startswith(first)
    found = json.loads(Path("certificate.json").read_text(encoding="utf-8"))
    assert next(iter(found)) == "sum" and found["labels"]["sha256"].keys() == {"labels.csv"}
    assert found["figures"]["confusion"] == [[2, 0], [1, 2]] and found["prompts"] == []


# Twenty answers are right to the word, sixteen otherwise, twenty-four wrong: the free rules agree on 44 of 60.
FREE_LABELS = "id,question,answer,gold,label\n" + "".join(
    f"{n},What is {n}?,{'x' if n < 20 else 'other'} {n},x {n},{'wrong' if 20 <= n < 44 else 'right'}\n"
    for n in range(60)
)


@pytest.mark.parametrize(
    ("right", "said"),
    [
        ({*range(60)} - {*range(20, 44)}, "agrees with people 1.00 (0.94–1.00) on labels, kappa 1.00; {}."),
        ({*range(20), 44, 45}, "kappa 0.56; {}, so the judge adds little."),
        ({*range(18), *range(44, 52)}, "kappa 0.68; {}, and these labels cannot tell the two apart."),
        (
            {*range(20, 44)},
            "agrees with people no better than chance, 0.00 (0.00–0.06) on labels, kappa -0.92; do not use",
        ),
        ({*range(60)}, "no better than chance, 0.60 (0.47–0.71) on labels, kappa 0.00; do not use it."),
    ],
)
def test_the_first_line_says_what_a_judge_is_worth(sheets, right, said):
    verdicts = "id,verdict\n" + "".join(f"{n},{'right' if n in right else 'wrong'}\n" for n in range(60))
    first = " ".join(sheets(labels=FREE_LABELS, verdicts=verdicts).out.partition("labels: 60")[0].split())
    assert first.startswith("verdicts agrees with people") and said.format("the free rule bounded agrees 0.73") in first


def test_repeats_and_a_test_of_two(sheets, tmp_path):
    (tmp_path / "again.csv").write_text("id,verdict\n1,right\n2,wrong\n", encoding="utf-8")
    (tmp_path / "other.csv").write_text("id,verdict\n1,wrong\n2,wrong\n3,wrong\n4,wrong\n5,wrong\n6,wrong\n")
    done = sheets("--verdicts", "verdicts.csv", "again.csv", "--against", "other.csv")
    assert done.code == 0, done.err
    assert "asked 2 times, the same verdict each time on 0.5000 of 2 items." in done.out
    assert "of 5 items verdicts alone is right on 2, other alone on 1" in " ".join(done.out.split())
    # Two heads or fewer of three throws, or as many tails: 1; mid-p takes half of the observed one's weight.
    assert "verdicts and other cannot be told apart" in " ".join(done.out.split())


def test_people_are_the_ceiling_and_groups_widen_the_interval(sheets):
    rows = [f"{n},{n // 10},{'right' if n % 2 else 'wrong'},right,{'right' if n % 4 else 'wrong'}" for n in range(80)]
    labels = "id,group,label,annotator1,annotator2\n" + "\n".join(rows)
    verdicts = "id,verdict\n" + "\n".join(f"{n},{'right' if n % 2 or n < 20 else 'wrong'}" for n in range(80))
    done = sheets(labels=labels, verdicts=verdicts)
    assert done.code == 0, done.err
    assert re.search(r"people \(ceiling\) +0\.7500 +0\.0000", done.out)
    assert "95% intervals by group (8), drawn with replacement." in done.out


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
    chinese = sheets("--verdicts", "verdicts.csv", "--labels", "zh", labels=labels, verdicts=verdicts)
    assert chinese.code == 2 and "这一行还没有中文" not in chinese.err and chinese.err != done.err


@pytest.mark.parametrize(
    ("right", "wrong"), [("对", "错"), ("是", "否"), ("1", "0"), ("TRUE", "False"), ("yes", "no"), ("正确", "错误")]
)
def test_labels_and_columns_as_people_write_them(sheets, right, wrong):
    rows = LABELS.partition("\n")[2]
    rows = rows.replace(",right", f",{right}").replace(",wrong", f",{wrong}")
    done = sheets(labels=f"编号,问题,回答,标准答案,标签\n{rows}")
    assert done.code == 0 and done.out == sheets().out, done.err
    assert find_graded("rejection_rate").read("是") == "yes"
    assert find_graded("rejection_rate").read("对") is None, "right, or a refusal"


def test_a_small_chance_is_not_written_as_none(sheets, tmp_path):
    rows = [f"{n},{'right' if n % 2 else 'wrong'}" for n in range(40)]
    (tmp_path / "other.csv").write_text("id,verdict\n" + "\n".join(f"{n},wrong" for n in range(40)))
    done = sheets(
        "--verdicts",
        "verdicts.csv",
        "--against",
        "other.csv",
        labels="id,label\n" + "\n".join(rows),
        verdicts="id,verdict\n" + "\n".join(rows),
    )
    assert "(McNemar, mid-p below 0.0001, exact below 0.0001)" in " ".join(done.out.split()), done.err


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
    chinese = cli("certify-judge", *options, "--labels", "zh")
    assert chinese.code == 2 and "这一行还没有中文" not in chinese.err and chinese.err != done.err


def test_a_set_that_cannot_be_fetched_is_told_in_one_line(cli, monkeypatch):
    monkeypatch.setenv("QUADRAG_MIRROR", "http://127.0.0.1:9")
    done = cli("certify-judge", "wice")
    assert done.code == 2
    assert re.fullmatch(r"quadrag: cannot fetch http://127.0.0.1:9/ryokamoi/wice/\w{40}/data/[^\n]*\n", done.err)


def test_a_set_is_fetched_verified_and_kept(cli, monkeypatch, real_data):
    genuine = real_data("real_labels") / "wice" / "claim_dev.jsonl"
    content = genuine.read_bytes()

    class Mirror(BaseHTTPRequestHandler):
        asked: ClassVar[list[str]] = []

        def do_GET(self):
            self.asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(content if len(self.asked) > 1 else content[:-1])

        def log_message(self, format, *arguments):
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Mirror) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("QUADRAG_MIRROR", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("QUADRAG_CACHE", str(Path("cache").absolute()))
        short = cli("certify-judge", "wice", "--items", "items.csv")
        done = cli("certify-judge", "wice", "--items", "items.csv")
        again = cli("certify-judge", "WiCE-lenient", "--items", "more.csv")
        server.shutdown()
    assert short.code == 2 and "3490478 bytes, expected 3490479" in short.err
    assert done.out == "items.csv: 349 items\n" and again.out == "more.csv: 349 items\n"
    path = "/ryokamoi/wice/ddeb6c183665e2a20c5f03c5aa07f03888b9870f/data/entailment_retrieval/claim/dev.jsonl"
    assert Mirror.asked == [path, path], "kept for the other set of the same file"


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


def test_rules_need_no_judge(cli, tmp_path):
    (tmp_path / "labels.csv").write_text(LABELS, encoding="utf-8")
    done = cli("certify-judge", "labels.csv")
    # Only the first answer holds its gold; four of six labels agree with that.
    assert [line.split()[:2] for line in done.out.splitlines() if line.startswith("rule:")] == [
        ["rule:bounded", "0.6667"],
        ["rule:plain", "0.6667"],
        ["rule:exact", "0.6667"],
    ]


def test_a_live_judge_is_asked_as_a_run_asks_it(cli, tmp_path):
    (tmp_path / "labels.csv").write_text(LABELS, encoding="utf-8")
    with ChatServer(models=["j"], text='{"score": 1}') as server:
        server.rules += [Rule("reply", match=city, message={"content": text}) for city, text in REPLIES.items()]
        spec = ("--judge", f"{server.url}#j", "--ledger", "ledger.sqlite")
        done = cli("certify-judge", "labels.csv", *spec, "--repeats", "2", "--out", "c.json")
        assert done.code == 0, done.err
        asked = len(server.bodies)
        again = cli("certify-judge", "labels.csv", *spec, "--replay")
    # Of six answers one equals its gold and one is missing: four are asked about, twice.
    assert asked == 8
    assert "j: 1 items without a verdict (unparsable 1), left out." in done.out
    assert "asked 2 times, the same verdict each time on 1.0000 of 5 items." in done.out
    assert re.search(r"^j +1\.0000 +1\.0000 ", done.out, flags=re.MULTILINE)
    assert "4 replies from the ledger" in again.out
    assert json.loads((tmp_path / "c.json").read_text())["judge"] == "j"


REPLIES = {"Milan": '{"score": 0}', "Saturn": '{"score": 0}', "Shakespeare": "Well."}


def test_a_dead_or_silent_judge_makes_no_certificate(cli, tmp_path):
    (tmp_path / "labels.csv").write_text(LABELS, encoding="utf-8")
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
    told = f"quadrag: INVALID, j gave no readable verdict on 4 of 6 items; no certificate; {why}; --fresh asks"
    assert told in silent.err and "agrees with people" not in silent.out
    assert none.code == 2 and "它说 'no verdict'，而判断应如 '{\"score\": 1}'：试用 --judge-format json" in none.err


def test_pairs_are_the_sign_of_two_values(cli, tmp_path, real_data):
    folder = real_data("real_labels")
    with ChatServer(models=["j"], text='{"prediction": 1}') as server:
        done = cli(
            "certify-judge", "ragchecker", "--data-dir", folder, "--judge", f"{server.url}#j", "--ledger", "ledger"
        )
        assert done.code == 0, done.err
    # It gives every answer the same, so it calls every pair even: right on the 85 that people do.
    assert re.search(rf"^j +{85 / 280:.4f} +0\.0000", done.out, flags=re.MULTILINE)
    assert re.search(r"^people \(ceiling\) +0\.6000", done.out, flags=re.MULTILINE)


def test_items_go_out_and_come_back(cli, tmp_path, real_data):
    folder = real_data("real_labels")
    assert cli("certify-judge", "openqa-eval", "--data-dir", folder, "--items", "items.csv").code == 0
    with (tmp_path / "items.csv").open(encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    with (tmp_path / "mine.csv").open("w", encoding="utf-8", newline="") as text:
        out = csv.writer(text)
        out.writerows([["id", "answer", "verdict"], *([row["id"], row["answer"], row["label"]] for row in rows)])
    for labels in (("openqa-eval", "--data-dir", folder), ("items.csv",)):
        done = cli("certify-judge", *labels, "--verdicts", "mine.csv")
        assert done.code == 0, done.err
        assert re.search(r"^mine +1\.0000 +1\.0000", done.out, flags=re.MULTILINE)


STUDIO = [
    {
        "id": 7,
        "data": {"question": "q", "answer": "a"},
        "annotations": [
            {"result": [{"value": {"choices": ["right"]}}]},
            {"result": [{"value": {"choices": ["right"]}}]},
        ],
    },
    {
        "id": 8,
        "data": {"question": "q", "answer": "b"},
        "annotations": [
            {"result": [{"value": {"choices": ["wrong"]}}]},
            {"result": [{"value": {"choices": ["right"]}}]},
        ],
    },
    {
        "id": 9,
        "data": {"question": "q", "answer": "c"},
        "annotations": [{"result": [{"value": {"choices": ["wrong"]}}]}],
    },
]
ARGILLA = [
    {
        "id": "7",
        "fields": {"question": "q", "answer": "a"},
        "responses": {"label": [{"value": "right"}, {"value": "right"}]},
    },
    {
        "id": "8",
        "fields": {"question": "q", "answer": "b"},
        "responses": {"label": [{"value": "wrong"}, {"value": "right"}]},
    },
    {"id": "9", "fields": {"question": "q", "answer": "c"}, "responses": [{"values": {"label": {"value": "wrong"}}}]},
]


@pytest.mark.parametrize("export", [STUDIO, ARGILLA], ids=["label studio", "argilla"])
def test_exports_of_annotation_tools(cli, tmp_path, export):
    (tmp_path / "export.json").write_text(json.dumps(export), encoding="utf-8")
    (tmp_path / "v.csv").write_text("id,verdict\n7,right\n9,wrong\n")
    done = cli("certify-judge", "export.json", "--verdicts", "v.csv")
    assert done.code == 0, done.err
    assert "export: 2 labels (right 1, wrong 1)" in done.out
    assert "1 items on which people split evenly are left out." in done.out


def test_a_row_for_every_annotator(cli, tmp_path):
    rows = "1,ann,right\n1,bob,right\n2,ann,wrong\n2,bob,right\n3,ann,wrong\n"
    (tmp_path / "labels.csv").write_text("id,annotator,label\n" + rows)
    (tmp_path / "v.csv").write_text("id,verdict\n1,right\n3,wrong\n")
    done = cli("certify-judge", "labels.csv", "--verdicts", "v.csv")
    assert done.code == 0, done.err
    assert "labels: 2 labels (right 1, wrong 1)" in done.out
    # The two agree on one of the two items that both labelled.
    assert re.search(r"^people \(ceiling\) +0\.5000 +\S+ +\S+ +2$", done.out, flags=re.MULTILINE)
    (tmp_path / "labels.csv").write_text("id,annotator,label\n" + rows + "3,ann,right\n")
    twice = cli("certify-judge", "labels.csv", "--verdicts", "v.csv")
    assert twice.code == 2 and "labels.csv:7: annotator 'ann' labelled item '3' twice" in twice.err


def test_hallucination_needs_passages_and_no_gold(cli, tmp_path):
    (tmp_path / "labels.csv").write_text("id,question,answer,label\n1,q,a,0\n2,q,b,1\n")
    with ChatServer(models=["j"], text='{"prediction": 1}') as server:
        spec = ("--metric", "omnieval.hal", "--judge", f"{server.url}#j", "--ledger", "ledger")
        bare = cli("certify-judge", "labels.csv", *spec)
        (tmp_path / "labels.csv").write_text("id,question,answer,passages,label\n1,q,a,text of one,0\n2,q,b,other,1\n")
        done = cli("certify-judge", "labels.csv", *spec)
    assert bare.code == 2 and "labels has no passages to show a judge" in bare.err
    assert done.code == 0, done.err
    assert re.search(r"^j +0\.5000 +0\.0000", done.out, flags=re.MULTILINE)
    assert any("text of one" in body["messages"][-1]["content"] for body in server.bodies)
