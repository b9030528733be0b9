"""`quadrag label`: a draw of a run's items with known probabilities, and the score corrected by people's labels."""

from __future__ import annotations

import codecs
import csv
import re
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule
from hypothesis import given
from hypothesis import strategies as st

from quadrag.baselines.certify.draw import share_out
from quadrag.baselines.certify.grades import graded_keys
from quadrag.baselines.report.items.spelled import write_gold
from quadrag.baselines.tables.language import speak
from quadrag.metric_record import metric_record
from quadrag.records import read_jsonl


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
    assert "The judge narrows nothing" in back.out
    values = {row["id"]: row["truthfulness.accuracy"] for _, row in read_jsonl(Path("runs/a/items.jsonl"))}
    said = [one["official"] for row in rows if "official" not in (one := values[row["id"]]).get("ruled", ())]
    agreed = said.count(1)
    assert 0 < agreed < len(said) < 8, "a rule decided some: these are no verdicts of the judge"
    assert f"The judge and the labels agree on {agreed} of {len(said)}." in back.out
    whole = 100 * sum(one["official"] for one in values.values()) / 15
    assert re.search(rf"^rules and the judge +{whole:.1f} +– +15$", back.out, flags=re.MULTILINE), back.out
    again = judged("label", "runs/a", "--out", "sheet.csv")
    assert again.code == 2 and "sheet.csv is there already" in again.err


def test_a_sheet_that_a_spreadsheet_saved_as_gbk_is_told_its_cure(judged):
    judged("label", "runs/a", "--n", 8, "--out", "sheet.csv")
    Path("gbk.csv").write_bytes(Path(fill("sheet.csv", lambda row: "对")).read_text(encoding="utf-8").encode("gbk"))
    back = judged("label", "runs/a", "--people", "gbk.csv", "--labels", "zh")
    assert back.code == 2
    assert back.err == "quadrag: gbk.csv 不是 UTF-8；应为 UTF-8 的 CSV：iconv -f GB18030 -t UTF-8 gbk.csv > NEW\n"


def test_what_a_label_may_be_is_said_in_chinese(judged):
    judged("label", "runs/a", "--n", 8, "--out", "sheet.csv")
    back = judged("label", "runs/a", "--people", fill("sheet.csv", lambda row: "也许"), "--labels", "zh")
    assert back.code == 2
    assert back.err == "quadrag: filled.csv:2 的 label 为“也许”；应为 right 或 wrong（对或错），或留空\n"


def test_labels_of_a_random_draw(judged):
    ids = [
        row["id"] for row in map(eval, Path("runs/a/answers.jsonl").read_text().replace("null", "None").splitlines())
    ]
    Path("mine.csv").write_text(
        "id,label\n" + "".join(f"{name},{'right' if n % 2 else ''}\n" for n, name in enumerate(ids))
    )
    done = judged("label", "runs/a", "--people", "mine.csv")
    assert done.code == 0, done.err
    assert re.search(r"^labels alone +100\.0 +64\.6 to 100\.0 +7$", done.out, flags=re.MULTILINE)
    assert "8 rows have no label" in done.out and "taken for a random draw" in done.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda rows: rows[0].update(label="maybe"),
            r"sheet.csv:2 has label 'maybe'; expected right or wrong \(对 or 错\), or nothing",
        ),
        (lambda rows: rows[0].update(id="x"), r"sheet.csv:2: this run has no judged item 'x'"),
        (lambda rows: rows.append(rows[0]), r"sheet.csv:\d+: item '[^']+' has two labels"),
        (
            lambda rows: rows[0].update(question="谁？"),
            r"the question of '[^']+' is not this run's; .* the same language",
        ),
        (lambda rows: rows[0].update(answer="Another."), r"the answer of '[^']+' is not this run's"),
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
        assert none.code == 2 and "none of the 8 verdicts could be read; ask the judge again" in none.err, none.err
        said = "No, the question is not addressed by the documents."
        server.rules.append(Rule("reply", times=5, message={"content": said}))
        cli(*run, "--judge", f"{server.url}#j", "--out", "runs/b", "--fresh")
    drawn = cli("label", "runs/b", "--n", "8", "--out", "sheet.csv", *metric)
    assert "8 of 8 items (" in drawn.out and "5 scored as yes" in drawn.out and "3 without a verdict" in drawn.out
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


def test_a_page_to_label_on(judged):
    done = judged("label", "runs/a", "--n", 8, "--out", "label.html")
    assert done.code == 0, done.err
    assert done.out.endswith(
        "Is the answer right?\nOpen it in a browser: it saves a sheet, label.csv, among your downloads.\n"
        "next: quadrag label runs/a --people label.csv\n"
    )
    page = Path("label.html").read_text(encoding="utf-8")
    assert 'lang="en"' in page and "8 answers to label" in page and '<h4 id="asks">Is the answer right?</h4>' in page
    again = judged("label", "runs/a", "--out", "label.html")
    assert again.code == 2 and "label.html is there already" in again.err


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


def test_every_graded_value_has_a_question_in_both_languages():
    for name in graded_keys():
        module, _, key = name.partition(".")
        asks = metric_record(module).key(key).asks
        assert "?" in asks and "？" in speak(asks, "zh"), name
