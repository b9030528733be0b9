"""A certificate counts what the judge itself said: not what rules decide, nor more than its replies hold."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule

from quadrag.baselines.certify.certificate import read_certificate

HEAD = "id,question,answer,gold,label\n"
RUN = ("crag", "qa", "--retriever", "none", "--data-dir", "sample", "--ledger", "ledger")


def rows(kind, label, n, start=0):
    """Rows of a sheet: answers that equal their gold, that decline, or that a judge is asked about."""
    answer = {"equal": "gold {0}", "declines": "I don't know", "asked": "it is {0} I think"}[kind]
    return "".join(f"{kind}{label}{at},What is {at}?,{answer.format(at)},gold {at},{label}\n" for at in range(start, n))


# Judged: 12 right and 10 wrong ones; by rule: 20 right, and 8 wrong.
SHEET = HEAD + rows("equal", "right", 20) + rows("declines", "wrong", 8) + rows("asked", "right", 12)
SHEET += rows("asked", "wrong", 32, 22)


def flat(text):
    return " ".join(text.split())


@pytest.fixture
def certify(cli, tmp_path):
    """A function that certifies a judge by its replies, and returns what was printed and the certificate's figures."""

    def run(text, *options, sheet=SHEET, rules=()):
        (tmp_path / "labels.csv").write_text(sheet, encoding="utf-8")
        with ChatServer(models=["j"], text=text) as server:
            server.rules += [Rule("reply", match=match, message={"content": reply}) for match, reply in rules]
            given = ("--judge", f"{server.url}#j", "--ledger", "ledger", "--out", "c.json")
            done = cli("certify-judge", "labels.csv", *given, *options)
        found = Path("c.json")
        return done, json.loads(found.read_text(encoding="utf-8"))["figures"] if found.exists() else {}

    return run


@pytest.mark.parametrize(("score", "agreement"), [(0, 10 / 22), (1, 12 / 22)])
def test_a_judge_that_always_says_one_thing_looks_good_in_no_line(certify, score, agreement):
    done, figures = certify(f'{{"score": {score}}}')
    assert done.code == 0, done.err
    assert (figures["n"], figures["kappa"]) == (22, 0) and figures["agreement"] == pytest.approx(agreement)
    pipeline = figures["pipeline"]
    assert (pipeline["n"], pipeline["by_rule"]) == (50, 28)
    assert pipeline["agreement"] == pytest.approx((28 + 22 * agreement) / 50)
    shown = flat(done.out)
    assert shown.startswith("j agrees with people no better than chance") and "do not use it" in shown
    assert f"All 22 verdicts of the judge j are the same, accuracy {score}" in shown
    for name in ("j", "rules and j"):
        (line,) = re.findall(rf"^{name} {{2,}}(.*)$", done.out, re.MULTILINE)
        assert all(cell.endswith("!") for cell in line.split()[:-1]), "each value is marked"
    assert "By class" not in done.out and "Bias" not in done.out


@pytest.mark.parametrize(
    ("sheet", "n", "by_rule", "agreed"),
    [
        (SHEET, 22, 28, 12 + 3),
        (SHEET.replace("I don't know", "gold is not this"), 30, 20, 12 + 3),
        (HEAD + SHEET[SHEET.index("asked") :], 22, 0, 12 + 3),
        (SHEET.replace("it is 1 I think", "I DON'T KNOW"), 21, 29, 11 + 3),
        (SHEET.replace("it is 1 I think", "Invalid question"), 21, 29, 11 + 3),
    ],
)
def test_figures_are_of_what_the_judge_was_asked(certify, sheet, n, by_rule, agreed):
    """It calls all right but three that are wrong."""
    done, figures = certify('{"score": 1}', sheet=sheet, rules=[(f"it is {at}", '{"score": 0}') for at in (22, 23, 24)])
    assert done.code == 0, done.err
    assert figures["n"] == n == sum(map(sum, figures["confusion"]))
    assert figures["agreement"] == pytest.approx(agreed / n)
    assert figures.get("pipeline", {}).get("by_rule", 0) == by_rule
    assert ("rules and j" in done.out) == bool(by_rule)


def test_what_rules_get_wrong_counts_against_the_pipeline_alone(certify):
    sheet = SHEET.replace("equalright0,What is 0?,gold 0,gold 0,right", "equalright0,What is 0?,gold 0,gold 0,wrong")
    right, wrong = [f'"What is {at}?"' for at in range(12)], '{"score": 0}'
    done, figures = certify(wrong, sheet=sheet, rules=[(one, '{"score": 1}') for one in right])
    assert done.code == 0, done.err
    assert figures["agreement"] == 1 and figures["pipeline"]["agreement"] == pytest.approx(49 / 50)
    assert read_certificate(Path("c.json")).rates == (1, 12, 1, 10)


@pytest.mark.parametrize(
    ("sheet", "code", "said"),
    [
        (HEAD + rows("equal", "right", 9) + rows("declines", "wrong", 9), 2, "was asked about none: rules decide all"),
        (HEAD + rows("equal", "right", 9) + rows("asked", "wrong", 9), 2, "no item is labelled right, all 9 are wrong"),
        (SHEET.partition("askedright")[0] + rows("asked", "right", 2) + rows("asked", "wrong", 3, 1), 3, "of 3 quest"),
    ],
)
def test_no_certificate_where_rules_leave_too_little(certify, sheet, code, said):
    done, figures = certify('{"score": 0}', sheet=sheet)
    assert done.code == code and not figures and not done.out
    assert re.fullmatch(f"quadrag: [^\n]*{said}[^\n]*\n", done.err), done.err


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        ('{"score": 1, "explanation": "the same"', True),
        ('{"score": 1, "explanation": "the sa', True),
        ('Well: {"score": 1,\n"explanation": "same"\n', True),
        ('{"score": 1}', True),
        ('```json\n{"score": 1}\n```', True),
        ("It is right.", False),
        ('{"score": 0} or {"score": 1}', False),
    ],
)
def test_replies_are_read_as_the_metric_reads_them_when_corrected(certify, cli, reply, read):
    """Of a live judge and of a file alike."""
    wrong = [(f'"What is {at}?"', '{"score": 0}') for at in range(22, 32)]
    done, figures = certify(reply, rules=wrong)
    assert done.code == (0 if read else 3), done.err
    assert not read or (figures["agreement"], figures["n"]) == (1, 22)
    said = ["id,verdict", 'askedwrong22,"{""score"": 0}"', "askedwrong23,wrong"]
    quoted = reply.replace('"', '""')
    Path("said.csv").write_text("\n".join([*said, *(f'askedright{at},"{quoted}"' for at in range(6))]))
    done = cli("certify-judge", "labels.csv", "--verdicts", "said.csv")
    if read:
        assert done.code == 0 and re.search(r"^said +100\.0 +1\.00 .* 8$", done.out, re.MULTILINE), done.err
    else:
        assert done.code == 2 and "expected right or wrong (对 or 错), or nothing" in done.err


def test_a_file_of_verdicts_holds_the_judges_own_on_every_item(cli, tmp_path):
    (tmp_path / "labels.csv").write_text(SHEET, encoding="utf-8")
    said = [line.split(",")[0] for line in SHEET.splitlines()[1:]]
    (tmp_path / "v.csv").write_text(
        "id,verdict\n" + "".join(f"{n},{'right' if 'right' in n else 'wrong'}\n" for n in said)
    )
    done = cli("certify-judge", "labels.csv", "--verdicts", "v.csv")
    assert re.search(r"^v +100\.0 +1\.00 .* 50$", done.out, re.MULTILINE) and "rules and" not in done.out


def test_a_run_shows_the_pipelines_agreement_beside_the_judges(cli, tmp_path):
    (tmp_path / "labels.csv").write_text(SHEET, encoding="utf-8")
    with ChatServer(models=["j"], text='{"score": 0}') as server:
        server.rules += [
            Rule("reply", match=f'"What is {at}?"', message={"content": '{"score": 1}'}) for at in range(11)
        ]
        judge = ("--judge", f"{server.url}#j")
        assert cli("certify-judge", "labels.csv", *judge, "--ledger", "ledger", "--out", "c.json").code == 0
        done = cli("run", *RUN, *judge, "--certificate", "c.json", "--out", "runs/a")
    assert "Judge j agrees with people 95%" in flat(done.out), done.err
    page = Path("runs/a/report.html").read_text(encoding="utf-8")
    assert "j, labels" in page and "rules and j, labels" in page
