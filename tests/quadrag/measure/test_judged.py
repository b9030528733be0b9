"""A judge in Python: it is asked, also of a finished run, whose answers stand."""

import re

import pytest
from chat_server import ChatServer, Rule
from own_system import measure

import quadrag
from quadrag.errors import QuadragError


def test_a_judge_is_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "cache"))
    with ChatServer(models=["j"]) as server:
        result = measure(lambda q: "Paris", "crag", "task_1_2", judge=f"{server.url}#j", split="public", limit=3)
    assert any("judge:j" in score.signature for score in result.values())


def test_a_judge_may_be_added_to_a_finished_run_and_the_function_is_not_asked(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "cache"))
    asked = []

    def mine(question):
        asked.append(question.id)
        if len(asked) == 2:
            raise ValueError("no luck")
        return "Paris"

    place = ("crag", "task_1_2")
    part = {"split": "public", "limit": 6, "out": "mine"}
    plain = measure(mine, *place, **part)
    with ChatServer(models=["j"], text='{"score": 1}') as server:
        judge = {"judge": f"{server.url}#j"}
        for other in ({"limit": 8}, {"split": "validation"}, {"name": "other"}):
            with pytest.raises(QuadragError):
                measure(mine, *place, **{**part, **other, **judge})
        assert plain.scores == quadrag.result("mine").scores and not server.bodies
        capsys.readouterr()
        judged = measure(mine, *place, **part, **judge)
        said = capsys.readouterr().err
        with pytest.raises(QuadragError, match="holds a finished run"):
            measure(mine, *place, **part, judge=f"{server.url}#j")
    assert re.search(r"quadrag: the answers of 20.* UTC are judged; the function was not asked\n", said)
    assert len(asked) == 6 and judged["truthfulness"].n == 6 and judged["truthfulness"].unscored == {"raised": 1}
    assert list(judged.to_pandas()["answer"]) == list(plain.to_pandas()["answer"])


def test_the_mark_of_what_rests_on_a_judge_that_says_the_same_of_all_is_in_the_score_and_its_table(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "cache"))
    with ChatServer(models=["j"], text='{"score": 1}') as server:
        found = measure(lambda q: "x", "crag", "task_1_2", judge=f"{server.url}#j", out="r")
    why = "the judge says the same of every answer"
    assert str(found["accuracy"]).endswith(f"%! (95% 62.1–96.3), n 15/15; ! {why}")
    assert "!" not in str(found["missing"]), "which no judge says"
    reasons = found.to_pandas(by="metric").set_index("score")["reason"]
    assert {*reasons["truthfulness":"hallucination"]} == {why} and {*reasons["missing":]} == {""}
    table = quadrag.compare(found, *(measure(lambda q: "y", "crag", "task_1_2", name=name) for name in "ab"))
    rows = table.to_pandas(by="metric").set_index(["score", "system"])["reason"]
    assert {*rows["truthfulness"]} == {why, "no judge"}
    assert "裁判对所有回答只有一种判断" in str(quadrag.result("r", labels="zh")["accuracy"])


def test_what_rests_on_a_judge_that_is_doubtful_in_one_run_is_marked_in_the_other_beside_it(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "cache"))
    with ChatServer(models=["j"], text='{"score": 1}') as server:
        server.rules.append(Rule("reply", match="no luck", message={"content": '{"score": 0}'}))
        part = {"split": "public", "judge": f"{server.url}#j"}
        runs = []
        for name, praised in (("often", 13), ("seldom", 2)):
            left = iter(range(praised))
            system = lambda _, left=left: "no luck" if next(left, None) is None else "something else"  # noqa: E731
            runs.append(measure(system, "crag", "task_1_2", name=name, out=name, **part))
    marked = [re.search(r"\d!", repr(one)) is not None for one in runs]
    assert marked == [True, False], "words find the praise wrong in the first run alone"
    rows = [line.split() for line in repr(quadrag.compare(*runs)).splitlines()]
    assert [row[1][-1] + row[2][-1] for row in rows if row[:1] == ["accuracy"]] == ["!!"]
    assert "!" not in repr(runs[1]["accuracy"]), "what was given stays as it is"
    assert runs[0]["accuracy"].reason == "a judge's verdicts are far from what words say"
    beside = quadrag.compare(*runs).after["accuracy"]
    assert beside.reason == runs[0]["accuracy"].reason and "!" in str(beside)
