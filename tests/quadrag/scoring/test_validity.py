"""No number stands unmarked where the judge, or the model, gave nothing that can be scored, or the same of all."""

import json
import re
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule, asked_of
from kept_runs import record

import quadrag
from quadrag.metric_record import find_verdict
from quadrag.records import read_jsonl

pytestmark = pytest.mark.plugins

CRAG = ("run", "crag", "task_1_2", "--data-dir", "sample")  # 15 questions of a judge, 13 of them asked, twice
TEN = (*CRAG, "--split", "public", "--limit", "10")
OMNIEVAL = ("run", "omnieval", "extractive_qa", "--data-dir", "sample", "--retriever", "none")
REJECTION = ("run", "rgb", "negative_rejection_en", "--data-dir", "sample")  # 12 questions
ERRORS = ("run", "rgb", "counterfactual_robustness_en", "--data-dir", "sample")
READABLE = '{"score": 0}'
DEAD = "http://127.0.0.1:9/v1#j"


@pytest.fixture(autouse=True)
def answers(server):
    server.state.text = "The capital is Paris."


@pytest.fixture
def ask(cli, server, judge):
    """A function that makes a run, and returns what it printed and how often the judge was asked."""

    def run(place, *more, said=None, out="r"):
        judge.state.text = judge.state.text if said is None else said
        before = judge.requests
        spec = ("--llm", f"{server.url}#m", "--judge", f"{judge.url}#j", "--ledger", "L", "--out", out)
        return cli(*place, *spec, *more), judge.requests - before

    return run


def values(folder, *keys, **how):
    result = quadrag.result(folder, **how)
    return [(result[key].value, result[key].n, result[key].valid) for key in keys]


@pytest.mark.parametrize("said", ["lorem ipsum 0", '{"score": ', '{"error": {"message": "overloaded"}}'])
def test_verdicts_that_cannot_be_read_are_no_number(ask, cli, said):
    ran, _ = ask(TEN, said=said)
    assert ran.code == 3 and ran.err == "" and "INVALID, " in ran.out
    result = quadrag.result("r")
    score, missing = result["truthfulness"], result["missing"]
    assert (score.value, score.interval, score.valid, score.n_total) == (None, None, False, 10)
    assert score.n + sum(score.unscored.values()) == 10
    assert (missing.valid, missing.n, missing.unscored) == (True, 10, {}), "a rule decides it"
    assert result["accuracy_bounded"].valid and result["accuracy_bounded"].value is not None
    frame = result.to_pandas()
    lacking = frame["truthfulness"].isna()
    assert lacking.sum() == 10 - score.n and frame.loc[lacking, "unscored"].ne("").all()
    assert frame["accuracy_bounded"].notna().all()
    official = [row["truthfulness.truthfulness"]["official"] for _, row in read_jsonl(Path("r/items.jsonl"))]
    assert None not in official, "the files keep what the authors' code makes of it"
    for text in (ran.out, cli("report", "r").out):
        assert re.search(r"^truthfulness +INVALID +– +\d of 10", text, re.MULTILINE)
    page = Path("r/report.html").read_text(encoding="utf-8")
    assert 'class="alarm loud">INVALID' in page
    assert cli(*TEN, "--llm", "extractive", "--judge", DEAD, "--split", "nowhere", "--out", "s").code == 2


def test_how_many_may_fail_is_the_users_choice(ask, judge):
    judge.rules.append(Rule("reply", times=4, message={"content": "well"}))
    one = ("--concurrency", "1")
    ran, _ = ask(TEN, *one, "--max-failed", "0.1", said='{"score": 1}')
    lost = [note["params"] for note in record("r")["notes"] if note["code"] == "invalid"]
    ((failed, total),) = {(params["failed"], params["total"]) for params in lost}
    assert ran.code == 3 and failed >= 2 and total == 8, "rules decide two of ten"
    assert ask(TEN, *one, "--max-failed", failed / 8)[0].code == 0, "the share itself is not too much"
    ((_, n, valid),) = values("r", "truthfulness")
    assert (n, valid) == (10, True)


def test_an_empty_reply_of_a_model_has_failed_and_an_empty_answer_of_a_file_has_not(cli, server):
    server.state.text = ""
    assert cli(*REJECTION, "--llm", f"{server.url}#m", "--out", "r").code == 3
    assert [*record("r")["short"].values()] == ["empty"] * 12
    assert quadrag.result("r")["rejection_rate"].unscored == {"empty reply": 12}
    place = ("--benchmark", "rgb", "--config", "negative_rejection_en", "--data-dir", "sample")
    assert cli("score", "r/answers.jsonl", *place).code == 0


def test_a_reply_that_was_cut_has_failed(cli, server):
    server.rules.append(Rule("reply", times=3, reply={"finish_reason": "length"}))
    asked = (*REJECTION, "--llm", f"{server.url}#m", "--ledger", "L", "--out", "r")
    assert cli(*asked).code == 3 and quadrag.result("r")["rejection_rate"].unscored == {"cut reply": 3}
    assert cli(*asked, "--max-failed", "1").code == 0 and values("r", "rejection_rate")[0][1:] == (12, True)
    assert cli(*asked, "--retry", "cut,empty").code == 0 and server.requests == 15, "three are asked again"


def test_an_item_fails_once_by_its_reply_before_its_verdict(cli):
    manners = iter([Rule("status", status=400), Rule("reply", message={"content": ""})])
    with (
        ChatServer(models=["m"], manner=lambda body: next(manners, None)) as model,
        ChatServer(models=["j"], text=lambda body: "No." if "nothing" in asked_of(body) else "lorem") as judge,
    ):
        asked = ("--llm", f"{model.url}#m", "--judge", f"{judge.url}#j", "--ledger", "L", "--out", "r")
        assert cli(*REJECTION, *asked).code == 3
    judged = quadrag.result("r")["rejection_rate_judged"]
    assert (judged.value, judged.unscored) == (None, {"api_error": 1, "unparsable": 10, "empty reply": 1})
    assert quadrag.result("r")["rejection_rate"].unscored == {"api_error": 1}


def test_each_profile_is_held_against_what_it_has_judged(ask, server):
    # `corrected` decides by rule that each answer is missing; `official` has all but two of them judged.
    server.state.text = "I can not answer the question because the references do not say it."
    assert ask(TEN, said="blub")[0].code == 3
    assert values("r", "truthfulness") == [(None, 2, False)]
    assert values("r", "truthfulness", "missing", profile="corrected") == [(0, 10, True), (1, 10, True)]
    assert ask(TEN, "--profile", "corrected", out="c")[0].code in (0, None)
    assert quadrag.result("c").valid and not quadrag.result("c", profile="official").valid


@pytest.mark.parametrize(
    ("place", "free", "judged"),
    [(CRAG, "missing", "truthfulness"), pytest.param(OMNIEVAL, "f1", "acc", marks=pytest.mark.slow)],
)
def test_a_judge_of_whose_first_verdicts_none_can_be_read_is_asked_no_further(ask, cli, server, place, free, judged):
    assert cli(*place, "--llm", f"{server.url}#m", "--ledger", "L", "--out", "u").code == 0
    ran, calls = ask(place, said="lorem ipsum")
    assert (ran.code, calls, ran.err) == (3, 12, "")
    assert quadrag.result("r")[free].value == quadrag.result("u")[free].value is not None
    score = quadrag.result("r")[judged]
    assert (score.value, score.n, score.unscored) == (None, 0, {"unjudged": score.n_total})
    answered = server.requests
    assert [ask(place, *more)[1] for more in ((), ("--retry", "unreadable"))] == [0, 12]
    if place == CRAG:
        assert ask(CRAG, "--retry", "unreadable", said=READABLE)[0].code == 0 and quadrag.result("r").valid
    assert server.requests == answered, "no answer was asked for again"


@pytest.mark.parametrize(
    ("place", "more", "rules", "said", "code", "calls"),
    [
        ((*CRAG, "--limit", 6), (), (), "lorem", 3, 12),  # few are no reason to stop
        (CRAG, ("--max-failed", 1), (), "lorem", 0, 26),
        (CRAG, ("--max-failed", 0.5), ("lorem",) * 7, READABLE, 0, 26),
        (REJECTION, (), ("lorem",) * 4, "No, the question is not addressed by the documents.", 3, 12),
    ],
)
def test_how_far_a_judge_is_asked(ask, judge, place, more, rules, said, code, calls):
    judge.rules += [Rule("reply", times=1, message={"content": text}) for text in rules]
    ran, made = ask(place, "--concurrency", 1, *more, said=said)
    assert ran.code == code and made <= calls and (calls == 12 or made > 20)
    if rules and code:
        again, repeated = ask(place, "--retry", "unreadable")
        assert again.code == 0 and repeated == len(rules), "the others are kept ones"


def test_a_verdict_that_one_profile_alone_asks_for_is_asked_for_again(ask, server):
    server.state.text = "I do not know."  # missing by a rule of corrected, judged by official
    _, asked = ask((*CRAG, "--limit", 3), said="lorem")
    _, repeated = ask((*CRAG, "--limit", 3), "--retry", "unreadable", said=READABLE)
    assert asked == repeated > 0 and not quadrag.result("r")["truthfulness"].unscored


def test_a_dead_judge_costs_no_answers_and_another_may_be_named(ask, cli, server):
    ran = cli(*CRAG, "--llm", f"{server.url}#m", "--judge", DEAD, "--ledger", "L", "--out", "r")
    assert ran.code == 2 and ran.err == "" and "does not answer" in " ".join(ran.out.split())
    assert values("r", "truthfulness", "missing") == [(None, 0, False), (0, 15, True)]
    answered = server.requests
    assert ask(CRAG, said=READABLE)[0].code == 0 and server.requests == answered and quadrag.result("r").valid


def _answer_nothing(body):
    """Say of each question about a text that it has no answer there."""
    asked = re.findall(r"^问题 \d+：", asked_of(body), re.MULTILINE)
    return "\n".join(["<response>\n无法推断\n</response>"] * len(asked))


@pytest.mark.parametrize(
    ("place", "said", "marked"),
    [
        (REJECTION, "No, it is not addressed.", ["rejection_rate.rejection_rate_judged"]),
        ((*REJECTION, "--limit", 2), "No, it is not addressed.", ["rejection_rate.rejection_rate_judged"]),
        ((*REJECTION, "--limit", 1), "No, it is not addressed.", []),
        (REJECTION, lambda body: ("Yes, it is addressed.", "No, it is not addressed.")[len(asked_of(body)) % 2], []),
        (
            TEN,
            lambda body: json.dumps({"score": 0, "explanation": f"{len(asked_of(body))}"}),
            [f"truthfulness.{key}" for key in ("truthfulness", "accuracy", "hallucination")],
        ),
        (
            ERRORS,
            lambda body: f"Yes, the model has identified the factual errors.{'!' * (len(asked_of(body)) % 2)}",
            ["error_detection.error_detection_judged"],
        ),
        (
            (*OMNIEVAL, "--limit", "6"),
            lambda body: '{"prediction":' + " " * (len(asked_of(body)) % 2) + "1}",
            ["omnieval.acc", "omnieval.com", "omnieval.nac"],
        ),
        (("run", "crud_rag", "summary", "--data-dir", "sample"), _answer_nothing, ["ragquesteval.recall"]),
    ],
)
def test_values_that_rest_on_verdicts_which_are_all_the_same_are_marked(cli, judge, place, said, marked):
    judge.state.text = said
    ran = cli(*place, "--llm", "extractive", "--judge", f"{judge.url}#j", "--ledger", "L", "--out", "r")
    constant = [note["params"]["keys"] for note in record("r")["notes"] if note["code"] == "judge_constant"]
    assert [key for keys in constant for key in keys] == marked
    assert ran.code or (" marks what rests on them" in " ".join(ran.out.split())) == bool(marked)


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("truthfulness.accuracy", "truthfulness.accuracy"),
        ("truthfulness.accuracy_weighted", "truthfulness.accuracy"),
        ("truthfulness.missing", ""),
        ("error_detection.error_correction", "error_detection.error_detection_judged"),
        ("error_detection.error_detection", ""),
    ],
)
def test_a_value_rests_on_its_own_verdict_or_on_that_which_says_whether_it_is_there(name, verdict):
    assert find_verdict(*name.split(".")) == verdict
