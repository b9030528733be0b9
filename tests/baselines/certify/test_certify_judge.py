"""`quadrag certify-judge` on sheets of one's own: what is said of a judge."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule
from graded_sheets import LABELS


def test_verdicts_of_a_file(sheets):
    done = sheets("--verdicts", "verdicts.csv", "--out", "certificate.json")
    assert done.code == 0, done.err
    # Four of five agree; by chance 3/5 * 2/5 + 2/5 * 3/5.
    assert re.search(r"^verdicts +80\.0 +0\.62 ", done.out, flags=re.MULTILINE)
    assert "The ceiling is unknown" in done.out
    assert "verdicts: 1 items without a verdict (unreadable 1), left out." in done.out
    assert re.search(r"^right +80\.0 +66\.7 +100\.0 +80\.0 +2$", done.out, flags=re.MULTILINE)
    assert re.search(r"^wrong +1 +2$", done.out, flags=re.MULTILINE), "the row of the confusion"
    free = "the free rule bounded agrees 80%, so the judge adds little"
    chance = "its kappa may be chance alone, so label more items"
    first = f"verdicts agrees with people 80% (95% 38–96) on labels, kappa 0.62; {free}; {chance}."
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
        ({*range(60)} - {*range(20, 44)}, "agrees with people 100% (95% 94–100) on labels, kappa 1.00; {}."),
        ({*range(20), 44, 45}, "kappa 0.56; {}, so the judge adds little."),
        ({*range(14)}, "kappa 0.34; the free rule bounded agrees more often, 73%, so do not use the judge."),
        ({*range(18), *range(44, 52)}, "kappa 0.68; {}, and these labels cannot tell the two apart."),
        (
            {*range(20, 44)},
            "agrees with people no better than chance, 0% (95% 0–6) on labels, kappa -0.92; do not use",
        ),
        ({*range(60)}, "no better than chance, 60% (95% 47–71) on labels, kappa 0.00; do not use it."),
    ],
)
def test_the_first_line_says_what_a_judge_is_worth(sheets, right, said):
    verdicts = "id,verdict\n" + "".join(f"{n},{'right' if n in right else 'wrong'}\n" for n in range(60))
    first = " ".join(sheets(labels=FREE_LABELS, verdicts=verdicts).out.partition("labels: 60")[0].split())
    assert first.startswith("verdicts agrees with people") and said.format("the free rule bounded agrees 73%") in first


def test_repeats_and_a_test_of_two(sheets, tmp_path):
    (tmp_path / "again.csv").write_text("id,verdict\n1,right\n2,wrong\n", encoding="utf-8")
    (tmp_path / "other.csv").write_text("id,verdict\n1,wrong\n2,wrong\n3,wrong\n4,wrong\n5,wrong\n6,wrong\n")
    done = sheets("--verdicts", "verdicts.csv", "again.csv", "--against", "other.csv")
    assert done.code == 0, done.err
    assert "asked 2 times, the same verdict each time on 50.0% of 2 items." in done.out
    assert "of 5 items verdicts alone is right on 2, other alone on 1" in " ".join(done.out.split())
    # Two heads or fewer of three throws, or as many tails: 1; mid-p takes half of the observed one's weight.
    assert "verdicts and other cannot be told apart" in " ".join(done.out.split())


def test_people_are_the_ceiling_and_groups_widen_the_interval(sheets):
    rows = [f"{n},{n // 10},{'right' if n % 2 else 'wrong'},right,{'right' if n % 4 else 'wrong'}" for n in range(80)]
    labels = "id,group,label,annotator1,annotator2\n" + "\n".join(rows)
    verdicts = "id,verdict\n" + "\n".join(f"{n},{'right' if n % 2 or n < 20 else 'wrong'}" for n in range(80))
    done = sheets(labels=labels, verdicts=verdicts)
    assert done.code == 0, done.err
    assert re.search(r"people \(ceiling\) +75\.0 +0\.00 ", done.out)
    assert "95% intervals by group (8), drawn with replacement." in done.out


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


def test_an_interval_without_width_is_not_shown_and_long_lines_are_broken(sheets):
    rows = [f"{n},{'right' if n % 2 else 'wrong'}" for n in range(40)]
    labels, said = "id,label\n" + "\n".join(rows), "id,verdict\n" + "\n".join(f"{n},wrong" for n in range(40))
    done = sheets("--verdicts", "verdicts.csv", "--out", "certificate.json", labels=labels, verdicts=said)
    found = re.search(r"^verdicts +50\.0! +0\.00! +0\.\d\d! +40\n +35\.2 to 64\.8 +– +", done.out, re.MULTILINE)
    assert found, done.out
    found = json.loads(Path("certificate.json").read_text(encoding="utf-8"))["figures"]
    assert found["kappa_interval"] == [0, 0], "the file keeps all"
    assert max(map(len, done.out.splitlines())) <= 100


def test_rules_need_no_judge(cli, tmp_path):
    (tmp_path / "labels.csv").write_text(LABELS, encoding="utf-8")
    done = cli("certify-judge", "labels.csv")
    # Only the first answer holds its gold; four of six labels agree with that.
    assert [line.split()[:2] for line in done.out.splitlines() if line.startswith("rule:")] == [
        ["rule:bounded", "66.7"],
        ["rule:plain", "66.7"],
        ["rule:exact", "66.7"],
    ]


def test_a_first_look_asks_about_some_labels_and_says_so(cli, tmp_path):
    (tmp_path / "labels.csv").write_text(FREE_LABELS.replace("?,x", "?,It is x"), encoding="utf-8")
    (tmp_path / "other.csv").write_text("id,verdict\n" + "".join(f"{n},wrong\n" for n in range(60)))
    with ChatServer(models=["j"], text='{"score": 1}') as server:
        spec = ("labels.csv", "--judge", f"{server.url}#j", "--ledger", "ledger", "--out", "c.json")
        done = cli("certify-judge", *spec, "--limit", "20", "--against", "other.csv")
        assert done.code == 0 and sum(server.calls.values()) == 20, done.err
        wider = cli("certify-judge", *spec, "--limit", "30")
        assert sum(server.calls.values()) == 30 and "20 replies from the ledger" in wider.out, wider.err
        assert "j agrees" in cli("certify-judge", *spec).out and sum(server.calls.values()) == 60
        assert "first look" not in cli("certify-judge", *spec, "--limit", "60").out, "that is all of them"
    shown = " ".join(done.out.split())
    assert "on 20 of 60 labels of labels, kappa" in shown and "labels: 20 of 60 labels (right" in shown
    assert "A first look: 20 of 60 labels, drawn at random." in shown
    assert done.out.count("Agreement with people") == 1, "of both judges at once"
    refused = cli("certify-judge", "labels.csv", "--verdicts", "other.csv", "--limit", "20")
    assert refused.code == 2 and "--limit does nothing here" in refused.err


def test_a_live_judge_is_asked_as_a_run_asks_it(cli, tmp_path):
    (tmp_path / "labels.csv").write_text(LABELS + MORE, encoding="utf-8")
    with ChatServer(models=["j"], text='{"score": 1}') as server:
        server.rules += [Rule("reply", match=city, message={"content": text}) for city, text in REPLIES.items()]
        spec = ("--judge", f"{server.url}#j", "--ledger", "ledger.sqlite")
        done = cli("certify-judge", "labels.csv", *spec, "--repeats", "2", "--out", "c.json")
        assert done.code == 0, done.err
        asked = len(server.bodies)
        again = cli("certify-judge", "labels.csv", *spec, "--replay")
    # Of eight answers one equals its gold and one is missing: six are asked about, twice.
    assert asked == 12
    assert "j: 1 items without a verdict (unparsable 1), left out." in done.out
    assert "asked 2 times, the same verdict each time on 100.0% of 5 items." in done.out
    for name, n in (("j", 5), ("rules and j", 7)):
        assert re.search(rf"^{name} +100\.0 +1\.00 .* {n}$", done.out, flags=re.MULTILINE), done.out
    assert "6 replies from the ledger" in again.out
    assert json.loads((tmp_path / "c.json").read_text())["judge"] == "j"


MORE = "7,Highest mountain?,It is Everest,Mount Everest,right\n8,Longest river?,It is the Nile,Nile,right\n"
REPLIES = {"Milan": '{"score": 0}', "Saturn": '{"score": 0}', "Shakespeare": "Well."}
