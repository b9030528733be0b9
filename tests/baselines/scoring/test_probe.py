"""A judge whose first verdicts cannot be read is asked no further, and nothing that was made before is lost."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule

import quadrag
from quadrag.metric_record import metric_record

CRAG = ("run", "crag", "task_1_2", "--data-dir", "sample")  # 26 verdicts
OMNIEVAL = ("run", "omnieval", "extractive_qa", "--data-dir", "sample", "--retriever", "none")
MADE_UP = r"! The data are the bundled sample, which is made up\. ! No published value stands beside made-up data\. "
READABLE = '{"score": 0}'


@pytest.fixture(autouse=True)
def answers(server):
    server.state.text = "The capital is Paris."


def ask(cli, place, server, judge, *more):
    before = judge.requests
    spec = ("--llm", f"{server.url}#m", "--judge", f"{judge.url}#j", "--ledger", "L", "--out", "r")
    ran = cli(*place, *spec, *more)
    return ran, judge.requests - before


@pytest.mark.slow
@pytest.mark.parametrize("place", [CRAG, OMNIEVAL])
def test_garbage_ends_after_the_first_verdicts(cli, server, judge, place):
    judge.state.text = "lorem ipsum"
    ran, calls = ask(cli, place, server, judge)
    assert ran.code == 3 and calls == 12 and ran.err == ""
    told = " ".join(ran.out.split())
    assert "INVALID" in told and "name another judge, or ask this one again with --retry unreadable" in told
    answered = server.requests
    assert [ask(cli, place, server, judge, *more)[1] for more in ((), ("--retry", "unreadable"))] == [0, 12]
    judge.state.text = READABLE
    if place == CRAG:
        assert ask(cli, CRAG, server, judge, "--retry", "unreadable")[0].code == 0
    assert server.requests == answered, "no answer was asked for again"


@pytest.mark.slow
@pytest.mark.parametrize(("place", "form"), [(CRAG, '{"score": 1}'), (OMNIEVAL, '{"prediction": 1}')])
def test_what_needs_no_judge_is_shown_wherever_the_run_is(cli, server, judge, place, form):
    unjudged = cli(*place, "--llm", f"{server.url}#m", "--ledger", "L", "--out", "u").out
    judge.state.text = "lorem ipsum"
    ran, _ = ask(cli, place, server, judge)
    told = "none of the first 12 verdicts of j could be read, and it is asked no further: .*; it said 'lorem ipsum',"
    told += f" where a verdict is like {re.escape(repr(form))}; try --judge-format json, or name another judge, or ask"
    again = [cli("report", "r"), cli("show", "r", "--wrong", "--ledger", "L"), ask(cli, place, server, judge)[0]]
    assert [one.code for one in again] == [0, 0, 3]
    page = html.unescape(Path("r/report.html").read_text(encoding="utf-8"))
    for text in (ran.out, again[0].out, again[1].out, again[2].out, page):
        assert re.search(told, " ".join(text.split()))
    rows, before = (
        {line.split()[0]: line.split()[1:3] for line in text.splitlines() if line} for text in (ran.out, unjudged)
    )
    free = "missing" if place == CRAG else "f1"
    judged = "truthfulness" if place == CRAG else "acc"
    assert rows[free] == before[free] and "–" not in rows[free] and rows[judged] == ["INVALID", "–"]


@pytest.mark.slow
def test_what_a_judge_was_to_find_is_not_counted_by_a_phrase_instead(cli, server, judge):
    server.state.text, judge.state.text = "There are factual errors in the provided documents.", "lorem ipsum"
    errors = ("run", "rgb", "counterfactual_robustness_en", "--data-dir", "sample", "--samples", "2", "--seed", "7")
    ran, _ = ask(cli, errors, server, judge)
    lines = [line.split() for line in ran.out.splitlines()]
    assert ran.code == 3 and ["error_detection", "100.0", "75.8–100.0", "24", "of", "24"] in [one[:6] for one in lines]
    assert ["error_correction", "INVALID", "–", "0", "of", "24"] in [one[:6] for one in lines]


@pytest.mark.slow
def test_another_judge_may_be_named_in_the_same_folder(cli, server, judge):
    judge.state.text = "lorem ipsum"
    assert ask(cli, CRAG, server, judge)[0].code == 3
    answered = server.requests
    with ChatServer(models=["k"], text=READABLE) as other:
        ran = cli(*CRAG, "--llm", f"{server.url}#m", "--judge", f"{other.url}#k", "--ledger", "L", "--out", "r")
    assert ran.code == 0 and server.requests == answered and "INVALID" not in ran.out


@pytest.mark.slow
def test_a_function_is_not_asked_again_about_what_a_judge_could_not_say(judge, tmp_path):
    asked: list[str] = []

    def system(question):
        asked.append(question.id)
        return "Paris"

    given = {"data_dir": "sample", "out": tmp_path / "r", "ledger": str(tmp_path / "L")}
    judge.state.text = "lorem ipsum"
    with pytest.warns(UserWarning, match="the judge's first verdicts could not be read"):
        result = quadrag.evaluate("crag", "task_1_2", system, judge=f"{judge.url}#j", **given)
    assert " ".join(repr(result).split()).count('ask this one again with retry="unreadable"') == 1
    assert not result.valid and not result["accuracy"].valid and result["missing"].value is not None
    judge.state.text = READABLE
    result = quadrag.evaluate("crag", "task_1_2", system, judge=f"{judge.url}#j", retry="unreadable", **given)
    assert result.valid and result["accuracy"].value is not None and len(asked) == len(set(asked))


@pytest.mark.slow
@pytest.mark.parametrize("before", [(), ("--max-failed", "0.9")])
def test_the_user_may_have_it_asked_to_the_end_and_is_told_at_the_number(cli, server, judge, before):
    judge.state.text = "lorem ipsum"
    if before:
        assert ask(cli, CRAG, server, judge, *before)[0].code == 3
    ran, _ = ask(cli, CRAG, server, judge, "--max-failed", 1)
    assert ran.code == 0 and judge.requests > 20
    told = r"NOT RELIABLE, task_1_2 public: 1\d of 13 verdicts could not be read, they count as wrong: truthfulness, "
    result = quadrag.result("r")
    texts = [ran.out, cli("report", "r").out, cli("show", "r", "--wrong", "--ledger", "L").out]
    texts.append(Path("r/report.html").read_text(encoding="utf-8"))
    for text in (*texts, repr(result)):
        assert re.search(told, " ".join(text.split()))
    page = texts[-1]
    assert 'class="alarm loud">NOT RELIABLE' in page and "<h1>NOT RELIABLE: crag" in page
    cards = re.findall(r"<dt>(\w+)</dt><dd><b>[^<]+<strong>NOT RELIABLE</strong>", page)
    assert cards == ["truthfulness", "accuracy", "hallucination"], "a rule decides missing"
    above = " ".join(ran.out.partition("\nmetric ")[0].split())  # the numbers, whatever -v
    kept = r"12 of \d+ verdicts are kept ones, from 20[-\d]+ [:\d]+ UTC on\. "
    kept += r"--retry unreadable asks those again that could not be read\. "
    same = r"! All 15 answers are the same text, 'The capital is Paris'\."
    title = f"crag task_1_2 public, m {MADE_UP}"
    assert re.fullmatch(f"{kept * bool(before)}{title}! NOT RELIABLE, .*, hallucination\\. {same}", above)


@pytest.mark.slow
def test_a_few_that_could_not_be_read_are_told_under_the_number(cli, server, judge):
    judge.state.text = READABLE
    judge.rules.append(Rule("reply", times=1, message={"content": "lorem"}))
    ran, _ = ask(cli, CRAG, server, judge, "--concurrency", 1)
    assert ran.code == 0 and "NOT RELIABLE" not in ran.out
    told = "task_1_2 public: 1 of 13 verdicts could not be read, they count as wrong: truthfulness, accuracy"
    assert told in " ".join(ran.out.split()) and "Unscored" not in ran.out
    judge.rules += [Rule("reply", times=1, message={"content": READABLE}), Rule("status", times=1, status=400)]
    ran, _ = ask(cli, CRAG, server, judge, "--concurrency", 1, "--fresh")
    assert "1 of 13 items failed (1 api_error), they count as wrong: truth" in " ".join(ran.out.split())


@pytest.mark.slow
@pytest.mark.parametrize("said", ["lorem ipsum", "Yes"])
def test_what_official_takes_for_a_verdict_is_told_too(cli, server, judge, said):
    judge.state.text = said
    place = ("run", "rgb", "negative_rejection_en", "--data-dir", "sample")
    ran, _ = ask(cli, place, server, judge, "--max-failed", 1)
    assert re.search(r"rejection_rate_judged +0\.0 .* 12 of 12", ran.out), "official reads any text"
    told = (
        "NOT RELIABLE, negative_rejection_en test: 12 of 12 verdicts could not be read, official makes values of them,"
    )
    assert f"{told} corrected counts them as wrong: rejection_rate_judged." in " ".join(ran.out.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "metric"),
    [
        (CRAG, "truthfulness"),
        (OMNIEVAL, "omnieval"),
        (("run", "rgb", "negative_rejection_en", "--data-dir", "sample"), "rejection_rate"),
        (("run", "rgb", "counterfactual_robustness_zh", "--data-dir", "sample"), "error_detection"),
    ],
)
def test_the_verdict_that_is_named_as_an_example_is_one(cli, server, judge, place, metric):
    judge.state.text = metric_record(metric).verdict
    ran, _ = ask(cli, place, server, judge)
    assert ran.code == 0 and "could not be read" not in ran.out and "Unscored" not in ran.out


def test_one_verdict_among_the_first_that_can_be_read_is_enough(cli, server, judge):
    judge.state.text = READABLE
    judge.rules.append(Rule("reply", times=7, message={"content": "lorem"}))
    ran, calls = ask(cli, CRAG, server, judge, "--concurrency", 1, "--max-failed", 0.5)
    assert ran.code == 0 and calls > 20
    assert f"judge {calls} made, 0 kept" in ran.out, "the first verdicts are asked for once and are no kept replies"


def test_few_verdicts_are_no_reason(cli, server, judge):
    judge.state.text = "lorem ipsum"
    ran, calls = ask(cli, (*CRAG, "--limit", 6), server, judge)
    assert ran.code == 3 and calls <= 12 and "INVALID" in ran.out


@pytest.mark.slow
@pytest.mark.parametrize("garbage", [4, 12])
def test_replies_that_were_asked_for_again_are_not_counted_as_kept(cli, server, judge, garbage):
    judge.rules.append(Rule("reply", times=garbage, message={"content": "lorem"}))
    place = ("run", "rgb", "negative_rejection_en", "--data-dir", "sample")
    assert ask(cli, place, server, judge)[0].code == 3
    ran, calls = ask(cli, place, server, judge, "--retry", "unreadable")
    assert calls == garbage and f"judge {garbage} made, {12 - garbage} kept replies used" in ran.out
    assert (f"{judge.url}, oldest" in ran.out) == (garbage < 12)


def test_a_verdict_that_one_profile_alone_asks_for_is_asked_for_again(cli, server, judge):
    server.state.text = "I do not know."  # missing by a rule of corrected, judged by official
    judge.state.text = "lorem"
    place = (*CRAG, "--limit", 3)
    first, asked = ask(cli, place, server, judge)
    judge.state.text = READABLE
    again, repeated = ask(cli, place, server, judge, "--retry", "unreadable")
    assert asked == repeated > 0 and "unparsable" in first.out and "unparsable" not in again.out


DEAD = pytest.mark.parametrize(  # without #MODEL it is called by its address
    ("address", "name"), [("http://127.0.0.1:9/v1#j", "j"), ("http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1")]
)


@DEAD
@pytest.mark.slow
def test_a_dead_judge_costs_no_answers_and_is_called_the_judge(address, name, cli, server, judge):
    dead = [*CRAG, "--llm", f"{server.url}#m", "--judge", address, "--ledger", "L", "--out", "r"]
    ran = cli(*dead)
    told = f"the judge {name} does not answer: the first 12 calls all failed: http://127.0.0.1:9/v1: "
    assert ran.code == 2 and ran.err == "", "it is said once, above the table"
    assert "; the answers are kept in r: run again to go on with a judge that does." in " ".join(ran.out.split())
    unjudged = f"INVALID, task_1_2 public: not judged: truthfulness, accuracy, hallucination; {told}"
    dead[dead.index("--out") + 1 :] = ["j"]
    piped = cli(*dead, "--json")
    assert f"\nquadrag: {told}" in piped.err, "stdout is for a program"
    as_json = json.loads(piped.out)
    shown = [ran.out, cli("report", "r").out, Path("r/report.html").read_text(encoding="utf-8")]
    for text in (*shown, f"INVALID, {as_json['invalid'][0]}", f"INVALID, {quadrag.result('r').invalid[0]}"):
        assert unjudged in " ".join(html.unescape(text).split())
        assert "PARTIAL" not in text and "Not run" not in text
    for text in shown[:2]:
        assert re.search(r"^missing +0\.0 ", text, re.MULTILINE)
        assert re.search(r"^truthfulness +INVALID +– +0 of 15\b", text, re.MULTILINE)
    answered = server.requests
    judge.state.text = READABLE
    assert ask(cli, CRAG, server, judge)[0].code == 0 and server.requests == answered


@pytest.mark.parametrize("dead", [False, True])
def test_each_question_and_score_says_that_it_was_the_judge(cli, judge, capsys, dead):
    judge.state.text = "who can say"
    spec = "http://127.0.0.1:9/v1#j" if dead else f"{judge.url}#j"
    place = {"split": "public", "data_dir": "sample", "out": "r"}
    with pytest.warns(UserWarning, match="INVALID"):
        result = quadrag.evaluate("crag", "task_1_2", lambda question: "Paris", judge=spec, **place)
    why = "the judge does not answer" if dead else "the judge's first verdicts could not be read"
    score = result["truthfulness"]
    assert (score.value, score.n, score.unscored, score.reason) == (None, 0, {"unjudged": 15}, why)
    assert result["accuracy_bounded"].reason == ""
    frame = result.to_pandas()
    assert frame["truthfulness"].isna().all()
    assert set(frame["unscored"]) == {f"unjudged: {why}"}
    judge.state.text = READABLE
    again = place | {"out": "again", "fresh": True}
    read = quadrag.evaluate("crag", "task_1_2", lambda question: "Paris", judge=f"{judge.url}#j", **again)
    anew = read.to_pandas()
    assert read.valid and list(anew) == list(frame) and anew.dtypes.equals(frame.dtypes)
    capsys.readouterr()
    result.show(wrong=True, metric="truthfulness")
    assert capsys.readouterr().out.startswith("INVALID, task_1_2 public: ")
    shown = cli("show", "r", "--unscored", "--limit", "1").out
    assert f": – (unjudged: {why})\n" in shown and shown.endswith("1 of 15 items\n")
    shutil.copytree("r", "s")
    both = cli("show", "r", "s", "--worse", "--metric", "truthfulness").out.splitlines()
    assert [line[:12] for line in both] == ["r: INVALID, ", "s: INVALID, ", "Not compared"]
    chinese = cli("show", "r", "--unscored", "--limit", "1", "--labels", "zh").out
    assert chinese.startswith("无效") and "裁判" in chinese.split("  truthfulness")[1].split("\n")[0]


@pytest.mark.slow
@DEAD
def test_answers_are_scored_without_a_dead_judge_as_in_a_run_and_again_in_the_same_folder(
    address, name, cli, judge, tmp_path
):
    asked = quadrag.questions("crag", "task_1_2", data_dir="sample")
    rows = [{"id": one.id, "config": one.config, "split": one.split, "answer": "Paris"} for one in asked]
    Path("mine.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    score = ("score", "mine.jsonl", "--benchmark", "crag", "--data-dir", "sample", "--ledger", "L", "--out", "s")
    ran = cli(*score, "--judge", address)
    told = f"the judge {name} does not answer: the first 12 calls all failed: http://127.0.0.1:9/v1: "
    assert ran.code == 2 and ran.err == ""
    unjudged = f"INVALID, task_1_2 public: not judged: truthfulness, accuracy, hallucination; {told}"
    for text in (ran.out, cli("report", "s").out):
        assert unjudged in " ".join(text.split()) and "PARTIAL" not in text and "Not run" not in text
        assert re.search(r"^missing +0\.0 ", text, re.MULTILINE)
    judge.state.text = READABLE
    again = cli(*score, "--judge", f"{judge.url}#j")
    assert again.code == 0 and "INVALID" not in again.out
    Path("s", "report.html").unlink()
    ran = cli(*score, "--judge", f"{judge.url}#j", "--retry", "unreadable")
    assert ran.code == 0 and Path("s", "report.html").exists()
    ran = cli(*score, "--judge", f"{judge.url}#k")
    assert ran.code == 2 and "s is there and is no empty folder" in ran.err


def test_scores_without_a_verdict_get_another_judge_in_their_folder_and_those_with_verdicts_do_not(cli, judge):
    judge.state.models = ["j", "k"]
    lines = (f'{{"id": {n}, "answer": "There are factual errors."}}\n' for n in range(12))
    Path("mine.jsonl").write_text("".join(lines), encoding="utf-8")
    place = ("--benchmark", "rgb", "--config", "counterfactual_robustness_en", "--data-dir", "sample", "--ledger", "L")
    score = ("score", "mine.jsonl", *place, "--out", "s")
    assert cli(*score).code == 0
    judge.state.text = "who can say"
    assert cli(*score, "--judge", f"{judge.url}#j").code == 3
    judge.state.text = "Yes, the answer says so."
    shutil.copy("mine.jsonl", "yours.jsonl")
    other = cli("score", "yours.jsonl", *place, "--out", "s", "--judge", f"{judge.url}#k")
    assert other.code == 2 and "s is there and is no empty folder" in other.err
    ran = cli(*score, "--concurrency", "2", "--judge", f"{judge.url}#k")
    assert ran.code == 0 and "INVALID" not in ran.out
    assert quadrag.result("s").valid
    ran = cli(*score, "--judge", f"{judge.url}#l")
    assert ran.code == 2 and "s is there and is no empty folder" in ran.err


def test_a_finished_run_is_so_still_where_its_judge_has_died(cli, server, judge):
    judge.rules += [Rule("reply", times=1, message={"content": READABLE}), Rule("status", times=1, status=400)]
    judge.state.text = READABLE
    assert ask(cli, CRAG, server, judge, "--concurrency", 1)[0].code == 0
    ended = cli("report", "r").out
    judge.rules.append(Rule("status", status=401))
    again = ask(cli, CRAG, server, judge)[0]
    assert again.code == 2 and again.out == "" and "the judge j does not answer: the first call failed" in again.err
    assert "1 of 13 items failed" in " ".join(ended.split()) and cli("report", "r").out == ended


@pytest.mark.slow
def test_a_dead_judge_is_told_in_python(tmp_path, judge):
    asked: list[str] = []
    given = {"data_dir": "sample", "out": tmp_path / "r", "ledger": str(tmp_path / "L")}

    def system(question):
        asked.append(question.id)
        return "Paris"

    with pytest.warns(UserWarning, match="accuracy, hallucination: the judge does not answer; result.inv"):
        result = quadrag.evaluate("crag", "task_1_2", system, judge="http://127.0.0.1:9/v1#x", **given)
    told = " ".join(repr(result).split())
    assert "the judge x does not answer: " in told and "; the answers are kept in " in told
    assert not result.valid and result["missing"].value == 0 and result["accuracy"].value is None
    judge.state.text = READABLE
    result = quadrag.evaluate("crag", "task_1_2", system, judge=f"{judge.url}#j", **given)
    assert result.valid and result["accuracy"].value is not None and len(asked) == len(set(asked))
