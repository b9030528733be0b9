"""`quadrag label`: a draw of a run's items with known probabilities, and the score corrected by people's labels."""

import codecs
import csv
import io
import json
import re
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule
from hypothesis import given
from hypothesis import strategies as st

from quadrag.judges.corrected import share_out
from quadrag.records import read_jsonl
from quadrag.reporting.labelled import write_gold


@pytest.fixture
def judged(cli):
    """A run of 15 answers of which the judge calls all right but those about one gold."""
    with ChatServer(models=["j"], text='{"score": 1}') as server:
        server.rules.append(Rule("reply", match="copper lanterns", message={"content": '{"score": 0}'}))
        done = cli(
            "run", "crag", "qa", "--retriever", "none", "--data-dir", "sample", "--judge", f"{server.url}#j",
            "--ledger", "ledger", "--out", "runs/a",
        )  # fmt: skip
    assert done.code == 0, done.err
    return cli


def rows_of(name):
    with Path(name).open(encoding="utf-8-sig", newline="") as text:
        return list(csv.DictReader(text))


def fill(name, label, out="filled.csv"):
    rows = rows_of(name)
    with Path(out).open("w", encoding="utf-8", newline="") as text:
        sheet = csv.DictWriter(text, rows[0])
        sheet.writeheader()
        sheet.writerows(row | {"label": label(row)} for row in rows)
    return out


def test_a_sheet_goes_out_and_comes_back(judged):
    done = judged("label", "runs/a", "--n", 8, "--out", "sheet.csv")
    assert done.code == 0, done.err
    assert Path("sheet.csv").read_bytes().startswith(codecs.BOM_UTF8), "spreadsheets show Chinese by the mark alone"
    rows = rows_of("sheet.csv")
    assert len(rows) == 8 and all(row["question"] and row["gold"] and not row["label"] for row in rows)
    # Each drawn item stands for so many: together for all 15.
    assert sum(1 / float(row["probability"]) for row in rows) == pytest.approx(15, abs=1e-3)
    back = judged("label", "runs/a", "--people", fill("sheet.csv", lambda row: "right"))
    assert back.code == 0, back.err
    assert re.search(r"^corrected by labels +100\.0 +\d+\.\d to 100\.0 +15$", back.out, flags=re.MULTILINE)
    values = {row["id"]: row["truthfulness.accuracy"] for _, row in read_jsonl(Path("runs/a/items.jsonl"))}
    said = [one["official"] for row in rows if "official" not in (one := values[row["id"]]).get("ruled", ())]
    agreed = said.count(1)
    assert 0 < agreed < len(said) < 8, "a rule decided some: these are no verdicts of the judge"
    assert f"The judge and the labels agree on {agreed} of {len(said)}." in back.out
    whole = 100 * sum(one["official"] for one in values.values()) / 15
    assert re.search(rf"^rules and the judge +{whole:.1f} +– +15$", back.out, flags=re.MULTILINE), back.out
    again = judged("label", "runs/a", "--out", "sheet.csv")
    assert again.code == 2 and "sheet.csv is there" in again.err


# How spreadsheets save a sheet: encoding, what parts cells, the end of a line.
FORMS = {
    "as it went out": ("utf-8-sig", ",", "\n"),
    "without a mark": ("utf-8", ",", "\r\n"),
    "of a decimal comma": ("utf-8-sig", ";", "\r\n"),
    "by tabs": ("utf-8", "\t", "\n"),
    "Unicode text": ("utf-16", "\t", "\r\n"),
    "of a Chinese system": ("gb18030", ",", "\r\n"),
    "of an old one": ("utf-8", ",", "\r"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", ["plain", "wide"])
def test_a_sheet_is_read_as_spreadsheets_save_it(cli, form, shape):
    encoding, sign, end = FORMS[form]
    rows = [
        [" id ", "question", "answer", "gold", "label"],
        ["1", "Capital?", f'It is "Paris"{sign} 对', "Paris", "right"],
    ]
    rows += [
        ["2", "Where?", "=1+1", "Rome", "wrong"],
        ["3", "Who?", "北京\n或上海", "北京", "对"],
        ["", " ", "", "", ""],
    ]
    rows = [[*row, "", ""] for row in rows] if shape == "wide" else rows
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=sign, lineterminator=end, quoting=csv.QUOTE_ALL * (end == "\r")).writerows(rows)
    Path("s.csv").write_bytes(text.getvalue().encode(encoding))
    done = cli("certify-judge", "s.csv", "--judge", "rule:plain", "--items", "items.csv")
    assert done.code == 0 and "s: 3 labels (right 2, wrong 1)" in done.out, (done.out, done.err)
    items = [[row[name] for name in ("id", "question", "answer", "gold", "label")] for row in rows_of("items.csv")]
    assert items == [
        ["1", "Capital?", f'It is "Paris"{sign} 对', '["Paris"]', "right"],
        ["2", "Where?", "'=1+1", '["Rome"]', "wrong"],
        ["3", "Who?", "北京\n或上海", '["北京"]', "right"],
    ]


@pytest.mark.parametrize(
    ("text", "encoding", "answer"),
    [
        ("id;answer;label\n1;Größe über 5 °C;right\n2;x;wrong\n", "cp1252", None),
        ("id,answer,label\n1,公司２０２３年营收５％。,right\n2,x,wrong\n", "gb18030", "公司２０２３年营收５％。"),
        ("id,answer,label\n1,привет мир,right\n2,x,wrong\n", "cp1251", None),
        ("id,answer,label\n1,台積電在臺灣的營收,right\n2,x,wrong\n", "big5", None),
        ("id,answer,label\n1,日本語です,right\n2,x,wrong\n", "shift-jis", None),
    ],
)
def test_a_sheet_is_read_in_what_its_bytes_tell_and_in_nothing_else(cli, text, encoding, answer):
    Path("s.csv").write_bytes(text.encode(encoding))
    done = cli("certify-judge", "s.csv", "--judge", "s.csv", "--items", "items.csv")
    if answer is None:
        assert done.code == 2 and done.err.startswith("quadrag: s.csv is not UTF-8") and done.err.count("\n") == 1
    else:
        assert rows_of("items.csv")[0]["answer"] == answer, done.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,label\n1,right,\n2,wrong,\n", None),
        ("id,label,,\n1,right\n2,wrong\n\n,,,\n", None),
        ("id,label,\n1,right,a note\n2,wrong,\n", None),
        ("id,answer,label\n1,Paris, France,right\n2,Rome,wrong\n", "s.csv:2 has 4 cells under 3 names"),
        ("id,answer,label,why\n1,Paris, France,right,\n2,Rome,wrong,\n", "s.csv:2 has 5 cells under 4 names"),
        ('id,answer,label\n1,"Paris,right\n2,Rome,wrong\n', "is not CSV"),
        ("id,name,kind,label\n1,a, b,c,right,\n2,d,e,wrong\n", "s.csv:2 has 6 cells under 4 names"),
        ("id,label,label\n1,right,wrong\n", "names the column label twice"),
    ],
)
def test_a_cell_too_many_is_told_unless_it_is_blank(cli, text, said):
    Path("s.csv").write_text(text)
    Path("v.csv").write_text("id,verdict\n1,right\n2,wrong\n")
    done = cli("certify-judge", "s.csv", "--judge", "v.csv")
    assert (done.code, done.err) == (0, "") if said is None else done.code == 2 and said in done.err, done


HOSTILE = ["=1+1", "'=1+1", "''=1+1", "+1 555", "-5", "'-5", "-x", "@SUM(A1)", "\t=1", "\r=1", "＝1", "'tis", "-0.25"]


def test_no_cell_is_carried_out_and_every_text_comes_back(cli):
    rows = [{"id": str(at), "answer": text, "label": ("right", "wrong")[at % 2]} for at, text in enumerate(HOSTILE)]
    Path("l.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert cli("certify-judge", "l.jsonl", "--judge", "rule:plain", "--items", "a.csv").code == 2, "no golds, no rule"
    for before, after in (("l.jsonl", "a.csv"), ("a.csv", "b.csv")):
        cli("certify-judge", before, "--judge", "none.csv", "--items", after)
    cells = [row["answer"] for row in rows_of("a.csv")]
    assert [cell for cell in cells if cell.startswith(tuple("=+-@\t\r＝"))] == ["-5", "-0.25"], "numbers stay numbers"
    assert [cell[cell != text :] for text, cell in zip(HOSTILE, cells, strict=True)] == HOSTILE
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    assert Path("a.csv").read_bytes().startswith(codecs.BOM_UTF8)


def test_labels_of_a_random_draw(judged):
    ids = [
        row["id"] for row in map(eval, Path("runs/a/answers.jsonl").read_text().replace("null", "None").splitlines())
    ]
    Path("mine.csv").write_text(
        "id,label\n" + "".join(f"{name},{'right' if n % 2 else ''}\n" for n, name in enumerate(ids))
    )
    done = judged("label", "runs/a", "--people", "mine.csv")
    assert done.code == 0, done.err
    assert re.search(r"^corrected by labels +100\.0 +64\.6 to 100\.0 +15$", done.out, flags=re.MULTILINE)
    assert "8 rows have no label" in done.out and "taken for a random draw" in done.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda rows: rows[0].update(label="maybe"),
            r"sheet.csv:2 has label 'maybe'; expected right or wrong",
        ),
        (lambda rows: rows[0].update(id="x"), r"sheet.csv:2: item 'x' is twice, or not one of these"),
        (lambda rows: rows.append(rows[0]), r"sheet.csv:\d+: item '[^']+' is twice"),
        (
            lambda rows: rows[0].update(question="谁？"),
            r"the question of '[^']+' is '谁？', people saw .* the same language",
        ),
        (lambda rows: rows[0].update(answer="Another."), r"the answer of '[^']+' is 'Another.', people saw"),
        (lambda rows: [row.update(label="") for row in rows], r"sheet.csv holds no label; expected right or wrong"),
    ],
)
def test_one_line_for_a_wrong_sheet(judged, change, said):
    judged("label", "runs/a", "--n", 6, "--out", "empty.csv")
    rows = [row | {"label": "right"} for row in rows_of("empty.csv")]
    change(rows)
    with Path("sheet.csv").open("w", encoding="utf-8", newline="") as text:
        sheet = csv.DictWriter(text, rows[0])
        sheet.writeheader()
        sheet.writerows(rows)
    done = judged("label", "runs/a", "--people", "sheet.csv")
    assert done.code == 2
    assert re.fullmatch(f"quadrag: [^\n]*{said}[^\n]*\n", done.err), done.err


def test_a_verdict_that_could_not_be_read_is_no_verdict_of_wrong(cli):
    run = ("run", "rgb", "negative_rejection_zh", "--data-dir", "sample", "--ledger", "ledger", "--limit", "8")
    metric = ("--metric", "rejection_rate")
    with ChatServer(models=["j"], text="lorem ipsum") as server:
        done = cli(*run, "--judge", f"{server.url}#j", "--out", "runs/a")
        assert done.code == 3, done.err
        none = cli("label", "runs/a", "--out", "sheet.csv", *metric)
        assert none.code == 2 and "no verdict could be read; ask again" in none.err, none.err
        said = "No, the question is not addressed by the documents."
        server.rules.append(Rule("reply", times=5, message={"content": said}))
        cli(*run, "--judge", f"{server.url}#j", "--out", "runs/b", "--fresh")
    drawn = cli("label", "runs/b", "--n", "8", "--out", "sheet.csv", *metric)
    assert "8 of 8 items" in drawn.out
    back = cli("label", "runs/b", "--people", fill("sheet.csv", lambda row: "yes"), *metric)
    assert re.search(r"^the judge alone +100\.0 +– +5$", back.out, flags=re.MULTILINE), back.out
    assert "The judge and the labels agree on 5 of 5." in back.out
    assert "3 of 8 items have no verdict that could be read." in back.out


def test_a_run_without_a_judge_has_nothing_to_correct(cli):
    cli("run", "crag", "qa", "--retriever", "none", "--data-dir", "sample", "--out", "runs/a")
    done = cli("label", "runs/a", "--out", "sheet.csv")
    assert done.code == 2 and "runs/a has no judged score; expected a run with --judge" in done.err


@given(st.dictionaries(st.text(max_size=3), st.integers(1, 500), min_size=1, max_size=5), st.integers(1, 600))
def test_shares_are_whole_and_no_stratum_is_left_out(sizes, n):
    given = share_out(sizes, n)
    assert all(min(2, sizes[name]) <= given[name] <= sizes[name] for name in sizes)
    assert sum(given.values()) == max(min(n, sum(sizes.values())), sum(min(2, size) for size in sizes.values()))


@pytest.mark.parametrize(
    ("references", "cell"),
    [
        ([["1月17日"]], "1月17日"),
        ([["1月17日", "January 17"]], '["1月17日", "January 17"]'),
        (["one", "two", "one"], '["one", "two"]'),
        ([["a", "b"], ["c"]], "a / b; c"),
        ("text", "text"),
        (None, ""),
    ],
)
def test_gold_is_written_as_people_read_it_and_labels_take_it(references, cell):
    assert write_gold(references) == cell
