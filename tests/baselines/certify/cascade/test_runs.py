"""A run with a cascade of judges: the last is asked only what the others pass on, and nothing twice."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from cascaded_judges import CASCADE, both, flat, says
from chat_server import ChatServer, Rule
from omnieval_judges import metric_of

import quadrag
from quadrag.run_record import read_run

SCORED = ("--benchmark", "crag", "--config", "qa", "--data-dir", "sample", "--ledger", "ledger")


@pytest.fixture
def answers(tmp_path):
    """Answers to the sample: the rule finds four right, small calls five wrong, two right, and of one it says nothing.

    Of the other three one declines, and the question behind two is invalid: no judge is asked about them.
    """
    from quadrag.baselines.core.benchmark import load
    from quadrag.baselines.core.task import load_questions
    from quadrag.baselines.runs.request import RunRequest, make_task

    questions, _ = load_questions(
        make_task(RunRequest("crag", "qa", data_dir="sample", retriever="none")), load("crag")
    )
    said = [f"it is {one.references[-1]} I think" for one in questions[:4]] + ["alpha"] * 11
    said[8], said[10], said[11], said[12] = "beta", "beta", "gamma", "I don't know"
    rows = [{"id": one.id, "answer": text} for one, text in zip(questions, said, strict=True)]
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def asked(server, model):
    """Return what a model was asked, each request as often as it was."""
    return Counter(body["messages"][-1]["content"] for body in server.bodies if body["model"] == model)


def test_a_run_asks_the_last_judge_only_what_is_passed_on(cli, certified, judges, answers):
    done = cli("score", str(answers), *SCORED, *both(judges), "--certificate", "c.json", "--out", "runs/a")
    assert done.code == 0, done.err
    small, big = asked(judges, "small"), asked(judges, "big")
    assert not any("it is" in text for text in small) and any("alpha" in text for text in small)
    assert big and all("beta" in text or "gamma" in text for text in big)
    assert max((small + big).values()) == 2, "each is asked once of each judge at most"
    assert max(small.values()) == max(big.values()) == 1
    run = read_run(Path("runs/a"))
    assert run.cascade == {"truthfulness.accuracy": {"rule:bounded": 4, "small": 5, "big": 3}}
    assert run.inputs.judge == "cascade(small > big)"
    assert run.inputs.judging["cascades"] == {"truthfulness.accuracy": CASCADE}
    assert (run.usage["judge"]["calls"], run.usage["judge 2"]["calls"]) == (small.total(), big.total())
    rows = json.loads(Path("runs/a/scores.json").read_text(encoding="utf-8"))
    official = next(
        row for row in rows if (row["key"], row["profile"], row["slice"]) == ("accuracy", "official", "all")
    )
    assert official["value"] == pytest.approx(7 / 15) and official["signature"].endswith(f"|judge:{CASCADE}")
    assert f"Judge {CASCADE} agrees with people 100% (95% 91–100) on labels, kappa 1.00" in flat(done.out)
    given = "Cascade, accuracy: verdicts of rule:bounded 4, small 5, big 3; big was spared 9 of 12 verdicts (75%)."
    assert given in flat(done.out)
    assert given in flat(Path("runs/a/report.html").read_text(encoding="utf-8"))
    assert f"Judge {CASCADE} agrees with people 100%" in flat(cli("report", "runs/a").out), "it is kept with the run"


def test_an_estimate_takes_the_last_judge_to_be_needed_for_all(cli, certified, judges, answers):
    given = ("--certificate", "c.json", *both(judges)[:4], "--ledger", "none yet")
    run = ("run", "crag", "qa", "--retriever", "none", "--data-dir", "sample", "--out", "r", *given)
    score = ("score", answers, *SCORED[:6], *given)
    for command, calls in ((run, 26), (score, 23)):  # a call for each accepted answer
        told = json.loads(cli(*command, "--estimate", "--json").out)["stages"]
        assert [(one["model"], one["calls"]) for one in told] == [("small", calls), ("big", calls)]
        assert "The judges of a cascade are asked this often at most: " in flat(cli(*command, "--estimate").out)
    assert not judges.bodies


def test_a_replay_gives_the_same_and_asks_nobody(cli, certified, judges, answers):
    how = (*SCORED, *both(judges), "--certificate", "c.json")
    assert cli("score", str(answers), *how, "--out", "runs/a").code == 0
    judges.bodies.clear()
    done = cli("score", str(answers), *how, "--replay", "--out", "runs/b")
    assert done.code == 0 and not judges.bodies, done.err
    assert Path("runs/a/items.jsonl").read_bytes() == Path("runs/b/items.jsonl").read_bytes()
    assert read_run(Path("runs/b")).cascade == read_run(Path("runs/a")).cascade


def test_a_failed_call_is_asked_for_again_and_not_passed_on(cli, certified, judges, answers):
    judges.rules.insert(0, Rule("status", status=400, match="alpha", model="small"))
    how = (*SCORED, *both(judges), "--certificate", "c.json", "--max-failed", "1")
    done = cli("score", str(answers), *how, "--out", "runs/a")
    assert done.code == 0 and "5 api_error" in flat(done.out), done.out
    assert not any("alpha" in text for text in asked(judges, "big"))
    assert read_run(Path("runs/a")).cascade["truthfulness.accuracy"] == {"rule:bounded": 4, "small": 0, "big": 3}
    judges.rules.pop(0)
    judges.bodies.clear()
    assert cli("score", str(answers), *how, "--out", "runs/b").code == 0
    assert all("alpha" in text for text in asked(judges, "small")) and not asked(judges, "big")
    assert read_run(Path("runs/b")).cascade["truthfulness.accuracy"] == {"rule:bounded": 4, "small": 5, "big": 3}


def test_what_the_last_judge_said_unreadably_is_asked_again_of_it_alone(cli, certified, judges, answers):
    judges.rules.insert(0, says("big", "gamma", "Hm."))
    how = (*SCORED, *both(judges), "--certificate", "c.json", "--max-failed", "1")
    assert cli("score", str(answers), *how, "--out", "runs/a").code == 0
    assert read_run(Path("runs/a")).cascade["truthfulness.accuracy"]["big"] == 3
    judges.rules.pop(0)
    judges.bodies.clear()
    done = cli("score", str(answers), *how, "--retry", "unreadable", "--out", "runs/b")
    assert done.code == 0 and not asked(judges, "small")
    assert [text.count("gamma") for text in asked(judges, "big")] == [1]
    rows = json.loads(Path("runs/b/scores.json").read_text(encoding="utf-8"))
    assert not any(row["unscored"] for row in rows if row["key"] == "accuracy")


def test_a_run_that_stops_among_the_verdicts_goes_on_and_asks_nothing_twice(cli, certified, judges, tmp_path):
    judges.models.append("llm")
    judges.rules.insert(0, Rule("reply", model="llm", message={"content": "beta"}))
    (tmp_path / "prices.yaml").write_text(
        "small: {input: 1, output: 1}\nbig: {input: 1000, output: 1}\nllm: {input: 1, output: 1}\n"
    )
    run = ("run", "crag", "qa", "--retriever", "none", "--data-dir", "sample", "--llm", f"{judges.url}#llm")
    how = (
        *both(judges),
        "--certificate",
        "c.json",
        "--prices",
        "prices.yaml",
        "--max-tokens",
        "50",
        "--judge-max-tokens",
        "50",
        "--concurrency",
        "1",
        "--out",
        "runs/a",
    )
    stopped = cli(*run, *how, "--budget", "2.5")
    assert stopped.code == 2 and "budget" in stopped.err, stopped.out
    before = asked(judges, "big").total()
    assert before and read_run(Path("runs/a")).state == "stopped"
    done = cli(*run, *how, "--budget", "100")
    assert done.code == 0, done.err
    assert asked(judges, "big").total() > before
    for model in ("small", "big", "llm"):
        assert max(asked(judges, model).values()) == 1, model
    assert read_run(Path("runs/a")).cascade["truthfulness.accuracy"]["big"] > 0


def test_where_nothing_of_the_small_judge_can_be_read_nobody_is_asked_further(certified, judges):
    both = {"judge": f"{judges.url}#small", "judge_large": f"{judges.url}#big", "certificate": "c.json"}
    with pytest.warns(UserWarning, match="the judge's first verdicts could not be read"):
        found = quadrag.evaluate(
            "crag", "task_1_2", lambda question: "gamma", data_dir="sample", ledger="ledger", **both
        )
    assert any("none of the first 12 verdicts of small could be read" in line for line in found.invalid)
    assert 12 <= asked(judges, "small").total() < 30 and not asked(judges, "big")


def test_from_python(certified, judges):
    found = quadrag.evaluate(
        "crag", "task_1_2", lambda question: "beta", data_dir="sample", judge=f"{judges.url}#small",
        judge_large=f"{judges.url}#big", certificate="c.json", ledger="ledger", out="runs/p",
    )  # fmt: skip
    assert found["accuracy"].signature.endswith(f"|judge:{CASCADE}")
    assert found.result.run.cascade["truthfulness.accuracy"]["small"] == 0
    assert found.result.certificates[0].judge == CASCADE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--judge-large", "big"], r"needs labels that say where the other judge errs; `quadrag certify-judge LABELS"),
        (["--judge", "big", "--judge-large", "big", "--certificate", "c.json"], "big is named twice in one cascade"),
        (["--judge", "big", "--judge-large", "small", "--certificate", "c.json"], "no certificate is of the cascade"),
        (["--judge-large", "big", "--certificate", "c.json"], "no certificate is of the cascade big for a metric of"),
        (["--judge", "rule:bounded", "--judge-large", "big", "--certificate", "c.json"], "rules come with the certif"),
    ],
)
def test_a_run_refuses_a_cascade_that_nothing_is_known_of(cli, certified, judges, answers, options, said):
    options = [f"{judges.url}#{one}" if one in ("small", "big") else one for one in options]
    done = cli("score", str(answers), *SCORED, *options)
    assert done.code == 2 and not judges.bodies
    assert re.fullmatch(f"quadrag: [^\n]*{said}[^\n]*\n", done.err), done.err


def test_a_rule_judges_no_other_answer_than_the_judges_see(cli, certified, judges, answers, tmp_path):
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel

    Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]")).save(str(tmp_path / "tokenizer.json"))
    cut = ("--option", f"trim={tmp_path / 'tokenizer.json'}")
    done = cli("score", str(answers), *SCORED, *both(judges), "--certificate", "c.json", *cut)
    assert done.code == 2 and not judges.bodies
    assert re.fullmatch(r"quadrag: rule:bounded reads whole answers, and judges see them cut [^\n]*\n", done.err)


def test_of_a_metric_without_labels_the_small_judge_decides_all_that_can_be_read(cli, tmp_path):
    rows = "".join(f"{n},问题{n}？,{('GOOD', 'POOR')[n % 2]}{n},答案,{('2', '0')[n % 2]}\n" for n in range(20))
    (tmp_path / "labels.csv").write_text(f"id,question,answer,gold,label\n{rows}", encoding="utf-8")
    with ChatServer(models=["small", "big"], text=verdict(1)) as server:
        server.rules += [
            says("small", "GOOD", verdict(2)),
            says("big", "GOOD", verdict(2)),
            says("big", "POOR", verdict(0)),
            says("small", "宜家贷", verdict(0)),
        ]
        choose = ("certify-judge", "labels.csv", "--metric", "omnieval.acc", *both(server), "--out", "c.json")
        assert "cascade(small[2] > big)" in cli(*choose).out
        server.bodies.clear()
        run = ("run", "omnieval", "all", "--retriever", "none", "--data-dir", "sample", "--limit", "3")
        done = cli(*run, *both(server), "--certificate", "c.json", "--out", "runs/a")
        assert done.code == 0, done.err
        asked_big = [metric_of(body["messages"]) for body in server.bodies if body["model"] == "big"]
        asked_small = {metric_of(body["messages"]) for body in server.bodies if body["model"] == "small"}
    assert asked_small == {"acc", "com", "nac"} and set(asked_big) == {"acc"}
    given = read_run(Path("runs/a")).cascade
    assert given["omnieval.acc"] == {"small": 0, "big": len(asked_big)}
    assert given["omnieval.com"]["big"] == given["omnieval.nac"]["big"] == 0 < given["omnieval.com"]["small"]
    assert "judge not certified: cascade(small[-1, 0, 1, 2] > big) (com)" in flat(done.out)
    assert "Judge cascade(small[2] > big) agrees with people 100%" in flat(done.out)


def verdict(grade):
    return json.dumps({"prediction": grade})
