"""`quadrag certify-judge`: figures of verdicts and of live judges, what counts as the judge's own, what is refused."""

import json
import re
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule

from quadrag.judges.labels import find_graded
from quadrag.results.certificates import Certificate

pytestmark = pytest.mark.plugins

HEAD = "id,question,answer,gold,label\n"
LABELS = f"""{HEAD}1,Capital of France?,Paris,Paris,right
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

    def run(*typed, options="--judge verdicts.csv", labels=LABELS, verdicts=VERDICTS):
        (tmp_path / "labels.csv").write_text(labels, encoding="utf-8")
        (tmp_path / "verdicts.csv").write_text(verdicts, encoding="utf-8")
        return cli("certify-judge", "labels.csv", *(typed or options.split()))

    return run


def figures(path="c.json"):
    return json.loads(Path(path).read_text(encoding="utf-8"))["figures"]


def test_verdicts_of_a_file(sheets):
    done = sheets("--judge", "verdicts.csv", "--out", "c.json")
    assert done.code == 0, done.err
    # Four of five agree; by chance 3/5 * 2/5 + 2/5 * 3/5.
    assert re.search(r"^verdicts +80\.0 +0\.62 ", done.out, flags=re.MULTILINE)
    assert re.search(r"^right +66\.7 +100\.0 +80\.0 +2 +0 +2$", done.out, flags=re.MULTILINE)
    found = json.loads(Path("c.json").read_text(encoding="utf-8"))
    assert next(iter(found)) == "sum" and found["labels"]["sha256"].keys() == {"labels.csv"}
    assert found["figures"]["confusion"] == [[2, 0], [1, 2]] and found["prompts"] == []
    assert found["figures"]["agreement_interval"] == pytest.approx([0.3755, 0.9638], abs=1e-4)
    assert found["figures"]["unreadable"] == {"unreadable": 1}


WORTH_LABELS = HEAD + "".join(f"{n},What is {n}?,x,,{'wrong' if 20 <= n < 44 else 'right'}\n" for n in range(60))


@pytest.mark.parametrize(
    ("right", "kappa", "code", "agreement"),
    [
        ({*range(60)} - {*range(20, 44)}, 1.0, "judge_agreement.ranking", "100% (95% 94–100)"),
        ({*range(20), 44, 45}, 0.56, "judge_agreement.ranking", "77% (95% 65–86)"),
        ({*range(18), *range(20, 38), *range(44, 58)}, 0.15, "judge_agreement.unknown", None),
        ({*range(20, 44)}, -0.92, "judge_by_chance", "0% (95% 0–6)"),
        ({*range(60)}, 0.0, "judge_by_chance", "60% (95% 47–71)"),
    ],
)
def test_the_first_line_says_what_a_judge_is_worth(sheets, right, kappa, code, agreement):
    verdicts = "id,verdict\n" + "".join(f"{n},{'right' if n in right else 'wrong'}\n" for n in range(60))
    done = sheets("--judge", "verdicts.csv", "--out", "c.json", labels=WORTH_LABELS, verdicts=verdicts)
    note = Certificate.from_row(json.loads(Path("c.json").read_text(encoding="utf-8")), "c.json").note(["accuracy"])
    assert note.code == code.partition(".")[0] and note.params.get("kind", "") == code.partition(".")[2]
    assert agreement in (None, note.params["agreement"]) and note.params["kappa"] in done.out
    assert figures()["kappa"] == pytest.approx(kappa, abs=0.005)


def test_people_are_the_ceiling_and_groups_widen_the_interval(sheets):
    rows = [f"{n},{n // 10},{'right' if n % 2 else 'wrong'},right,{'right' if n % 4 else 'wrong'}" for n in range(80)]
    labels = "id,group,label,annotator1,annotator2\n" + "\n".join(rows)
    verdicts = "id,verdict\n" + "\n".join(f"{n},{'right' if n % 2 or n < 20 else 'wrong'}" for n in range(80))
    done = sheets("--judge", "verdicts.csv", "--out", "c.json", labels=labels, verdicts=verdicts)
    assert re.search(r"people \(ceiling\) +75\.0 +0\.00 ", done.out), done.err
    assert figures()["groups"] == 8
    low, high = figures()["agreement_interval"]
    assert low < 0.875 - 0.08 and high > 0.875 + 0.08, "wider than of 80 single items"


def test_items_on_which_people_split_evenly_are_left_out_and_count_for_the_ceiling(sheets):
    rows = [f"{n},,{'right' if n % 2 else 'wrong'},{'right' if n % 2 or n == 4 else 'wrong'}\n" for n in range(12)]
    verdicts = "id,verdict\n" + "".join(f"{n},{'right' if n % 2 else 'wrong'}\n" for n in range(12) if n != 4)
    done = sheets(labels="id,label,annotator1,annotator2\n" + "".join(rows), verdicts=verdicts)
    assert done.code == 0 and "1 items on which people split evenly are left out" in done.out, done.err
    assert re.search(r"people \(ceiling\) +91\.7 .* 12$", done.out, flags=re.MULTILINE), done.out


def test_a_live_judge_is_asked_as_a_run_asks_it(cli, tmp_path):
    more = "7,Highest mountain?,It is Everest,Mount Everest,right\n8,Longest river?,It is the Nile,Nile,right\n"
    replies = {"Milan": '{"score": 0}', "Saturn": '{"score": 0}', "Shakespeare": "Well."}
    (tmp_path / "labels.csv").write_text(LABELS + more, encoding="utf-8")
    with ChatServer(models=["j"], text='{"score": 1}') as server:
        server.rules += [Rule("reply", match=city, message={"content": text}) for city, text in replies.items()]
        spec = ("--judge", f"{server.url}#j", "--ledger", "ledger.sqlite")
        done = cli("certify-judge", "labels.csv", *spec, "--out", "c.json")
        assert done.code == 0, done.err
        asked = len(server.bodies)
        assert cli("certify-judge", "labels.csv", *spec, "--replay").code == 0
    # Of eight answers one equals its gold and one is missing: six are asked about.
    assert asked == len(server.bodies) == 6
    assert (figures()["n"], figures()["agreement"], figures()["pipeline"]["n"]) == (5, 1, 7)
    assert figures()["unreadable"] == {"unparsable": 1}


def rows(kind, label, n, start=0):
    """Rows of a sheet: answers that equal their gold, that decline, or that a judge is asked about."""
    answer = {"equal": "gold {0}", "declines": "I don't know", "asked": "it is {0} I think"}[kind]
    return "".join(f"{kind}{label}{at},What is {at}?,{answer.format(at)},gold {at},{label}\n" for at in range(start, n))


# Judged: 12 right and 10 wrong ones; by rule: 20 right, and 8 wrong.
SHEET = HEAD + rows("equal", "right", 20) + rows("declines", "wrong", 8) + rows("asked", "right", 12)
SHEET += rows("asked", "wrong", 32, 22)


@pytest.fixture
def certify(cli, tmp_path):
    """A function that certifies a judge by its replies, and returns what was printed and the certificate's figures."""

    def run(text, *options, sheet=SHEET, rules=()):
        (tmp_path / "labels.csv").write_text(sheet, encoding="utf-8")
        with ChatServer(models=["j"], text=text) as server:
            server.rules += [Rule("reply", match=match, message={"content": reply}) for match, reply in rules]
            given = ("--judge", f"{server.url}#j", "--ledger", "ledger", "--out", "c.json")
            done = cli("certify-judge", "labels.csv", *given, *options)
        return done, figures() if Path("c.json").exists() else {}

    return run


def test_a_judge_that_always_says_one_thing_looks_good_in_no_line(certify):
    agreement = 10 / 22
    done, found = certify('{"score": 0}')
    assert done.code == 0, done.err
    assert (found["n"], found["kappa"]) == (22, 0) and found["agreement"] == pytest.approx(agreement)
    assert (found["pipeline"]["n"], found["pipeline"]["by_rule"]) == (50, 28)
    assert found["pipeline"]["agreement"] == pytest.approx((28 + 22 * agreement) / 50)
    for name in ("j", "rules and j"):
        (line,) = re.findall(rf"^{name} {{2,}}(.*)$", done.out, re.MULTILINE)
        assert all(cell.endswith("!") for cell in line.split()[:-1]), "each value is marked"


@pytest.mark.parametrize(
    ("sheet", "n", "by_rule", "agreed"),
    [
        (SHEET, 22, 28, 12 + 3),
        (SHEET.replace("I don't know", "gold is not this"), 30, 20, 12 + 3),
        (HEAD + SHEET[SHEET.index("asked") :], 22, 0, 12 + 3),
        (SHEET.replace("it is 1 I think", "I DON'T KNOW"), 21, 29, 11 + 3),
    ],
)
def test_figures_are_of_what_the_judge_was_asked(certify, sheet, n, by_rule, agreed):
    """It calls all right but three that are wrong."""
    done, found = certify('{"score": 1}', sheet=sheet, rules=[(f"it is {at}", '{"score": 0}') for at in (22, 23, 24)])
    assert done.code == 0, done.err
    assert found["n"] == n == sum(map(sum, found["confusion"]))
    assert found["agreement"] == pytest.approx(agreed / n)
    assert found.get("pipeline", {}).get("by_rule", 0) == by_rule


@pytest.mark.parametrize(
    ("sheet", "code"),
    [
        (HEAD + rows("equal", "right", 9) + rows("declines", "wrong", 9), 2),
        (HEAD + rows("equal", "right", 9) + rows("asked", "wrong", 9), 2),
        (SHEET.partition("askedright")[0] + rows("asked", "right", 2) + rows("asked", "wrong", 3, 1), 3),
    ],
)
def test_no_certificate_where_rules_leave_too_little(certify, sheet, code):
    done, found = certify('{"score": 0}', sheet=sheet)
    assert done.code == code and not found and not done.out and done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        ('{"score": 1, "explanation": "the same"', True),
        ('```json\n{"score": 1}\n```', True),
        ("It is right.", False),
        ('{"score": 0} or {"score": 1}', False),
    ],
)
def test_replies_are_read_as_the_metric_reads_them_of_a_live_judge_and_of_a_file(certify, cli, reply, read):
    done, found = certify(reply, rules=[(f'"What is {at}?"', '{"score": 0}') for at in range(22, 32)])
    assert done.code == (0 if read else 3), done.err
    assert not read or (found["agreement"], found["n"]) == (1, 22)
    said = ["id,verdict", 'askedwrong22,"{""score"": 0}"', "askedwrong23,wrong"]
    quoted = reply.replace('"', '""')
    Path("said.csv").write_text("\n".join([*said, *(f'askedright{at},"{quoted}"' for at in range(6))]))
    done = cli("certify-judge", "labels.csv", "--judge", "said.csv", "--out", "file.json")
    assert done.code == (0 if read else 2), done.err
    assert not read or (figures("file.json")["agreement"], figures("file.json")["n"]) == (1, 8)


@pytest.mark.parametrize(
    ("metric", "text", "grade"),
    [(name, text, "right") for name in ("truthfulness",) for text in ("对", "是", "1", "TRUE", "yes", "正确", "Right")]
    + [("truthfulness", text, "wrong") for text in ("错", "否", "0", "False", "no", "错误")]
    + [("truthfulness", "也许", None), ("rejection_rate", "是", "yes"), ("rejection_rate", "对", None)],
)
def test_labels_as_people_write_them(metric, text, grade):
    assert find_graded(metric).read(text) == grade


def test_hallucination_needs_passages_and_no_gold(sheets):
    with ChatServer(models=["j"], text='{"prediction": 1}') as server:
        spec = ("--metric", "omnieval.hal", "--judge", f"{server.url}#j", "--ledger", "ledger")
        bare = sheets(*spec, labels="id,question,answer,label\n1,q,a,0\n2,q,b,1\n")
        done = sheets(*spec, labels="id,question,answer,passages,label\n1,q,a,text of one,0\n2,q,b,other,1\n")
    assert bare.code == 2 and "passages" in bare.err
    assert done.code == 0 and re.search(r"^j +50\.0! +0\.00! ", done.out, flags=re.MULTILINE), done.err
    assert any("text of one" in body["messages"][-1]["content"] for body in server.bodies)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"verdicts": VERDICTS + "77,right,\n"}, "verdicts.csv:8: item '77'"),
        ({"labels": LABELS + "3,Who?,He,x,wrong\n"}, "labels.csv:8: item '3'"),
        ({"labels": LABELS.replace("Rome,wrong", "Rome,maybe")}, "labels.csv:3 has label 'maybe'"),
        ({"labels": LABELS.replace("Rome,wrong", "Rome,")}, "labels.csv:3"),
        ({"labels": LABELS.replace(",wrong", ",right")}, "wrong"),
        ({"verdicts": VERDICTS.replace("2,right", "2,maybe")}, "verdicts.csv:3: verdict 'maybe'"),
        ({"verdicts": VERDICTS + "1,wrong,\n"}, "verdicts.csv:8: item '1'"),
        ({"verdicts": "id,answer,verdict\n2,It is Rome,right\n"}, "'It is Rome'"),
        ({"verdicts": "id,judged\n1,right\n"}, "verdict"),
        ({"labels": ""}, "labels.csv"),
        ({"verdicts": "id,verdict\n1,\n2,\n"}, "verdicts"),
        ({"options": "--metric rgb_accuracy"}, "rgb_accuracy"),
        ({"options": "--against x.csv"}, "--against"),
        ({"options": "--judge x.csv"}, "x.csv"),
        ({"options": "--judge extractive"}, "extractive"),
        ({"options": "--judge recorded:nobody"}, "nobody"),
        ({"options": "--metric truthfulness"}, "--judge"),
    ],
)
def test_a_wrong_sheet_or_option_is_one_line_that_names_it(sheets, given, said):
    done = sheets(**given)
    assert done.code == 2 and not done.out
    assert said in done.err and done.err.count("\n") == 1, done.err


def test_a_dead_or_silent_judge_makes_no_certificate(cli, tmp_path, monkeypatch):
    (tmp_path / "labels.csv").write_text(
        f"{LABELS}7,Highest mountain?,It is Everest,Mount Everest,right\n", encoding="utf-8"
    )
    given = ("--ledger", "a", "--out", "c.json")
    dead = cli("certify-judge", "labels.csv", "--judge", "http://127.0.0.1:9/v1#j", *given)
    assert dead.code == 2 and dead.err.count("\n") == 1
    monkeypatch.setenv("QUADRAG_MIRROR", "http://127.0.0.1:9")
    unfetched = cli("certify-judge", "wice")
    assert unfetched.code == 2 and unfetched.err.count("\n") == 1
    with ChatServer(models=["j"], text="no verdict") as server:
        silent = cli("certify-judge", "labels.csv", "--judge", f"{server.url}#j", *given)
        assert not Path("c.json").exists()
        server.state.text = '{"score": 1}'
        again = [
            cli("certify-judge", "labels.csv", "--judge", f"{server.url}#j", *given, *more).code
            for more in ((), ("--fresh",))
        ]
    assert silent.code == 3 and silent.out == "" and again == [3, 0]
    assert "'no verdict'" in silent.err and "5 of 5" in silent.err


@pytest.mark.parametrize("questions", [1, 4])
def test_labels_of_few_questions_have_no_interval_and_no_certificate(sheets, questions):
    text = "".join(f"{n},q{min(n, questions - 1)},{'right' if n else 'wrong'}\n" for n in range(6))
    given = {"labels": f"id,question,label\n{text}", "verdicts": f"id,question,verdict\n{text}"}
    done = sheets(**given)
    assert done.code in (0, None) and "tell nothing of a judge" in done.out and " to " not in done.out
    refused = sheets("--judge", "verdicts.csv", "--out", "c.json", **given)
    assert refused.code == 2 and str(questions) in refused.err and not Path("c.json").exists()
