"""Questions that failed: single questions count them as the score of the profile does, in Python, shell and page."""

import re
import shutil
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule

import quadrag
from quadrag.baselines.page.answers import collect_answers
from quadrag.baselines.page.changes import list_changes
from quadrag.baselines.runs.finished import read_runs
from quadrag.baselines.scoring.faults import shorten_list
from quadrag.run_record import read_run

PLACE = ("rgb", "noise_robustness_en")
COLUMN = "accuracy"
FAILED = ("3", "9")


def measure(name, failed=(), **more):
    """A run in which all passages are the answer; the function raises at the questions of these ids."""

    def answer(question):
        if question.id in failed:
            raise ValueError("no luck")
        return " ".join(one.text for one in question.passages)

    return quadrag.evaluate(
        *PLACE, answer, **{"split": "noise_60", "data_dir": "sample", "out": name, "name": name, **more}
    )


@pytest.fixture
def two(cli):
    """Runs `a` and `b`, made with the corrected profile: two questions failed in `b`, else they are the same."""
    return measure("a", profile="corrected"), measure("b", FAILED, profile="corrected")


def shown(ran):
    assert ran.code == 0, ran.err
    return re.findall(r"^noise_robustness_en noise_60 (\d+)$", ran.out, re.MULTILINE)


@pytest.mark.parametrize("profile", ["official", "corrected"])
def test_the_mean_of_a_column_is_the_score(two, profile):
    one = quadrag.result("b", profile)
    frame = one.to_pandas(texts=False)
    assert frame[COLUMN].mean() == pytest.approx(one["accuracy"].value)
    assert frame[COLUMN].isna().sum() == (2 if profile == "official" else 0)
    assert list(frame[frame["unscored"].str.startswith("raised: ", na=False)]["id"]) == list(FAILED), (
        "the reason stands in both"
    )
    both = quadrag.compare("a", "b", profile=profile)
    difference = both.to_pandas(texts=False)[f"{COLUMN}_difference"]
    assert difference.mean() == pytest.approx(both["accuracy"].difference)
    assert difference.count() == both["accuracy"].n


def test_the_mean_of_a_column_is_the_score_where_official_makes_values_of_what_cannot_be_read(cli):
    with ChatServer(models=["j"], text='{"score": 1}') as server:
        server.rules.append(Rule("reply", times=1, message={"content": "who knows"}))
        given = {"split": "public", "data_dir": "sample", "judge": f"{server.url}#j", "concurrency": 1}
        found = quadrag.evaluate("crag", "task_1_2", lambda question: f"perhaps {question.id}", out="j", **given)
    assert found["truthfulness"].unscored == {"unparsable": 1}
    for one in (found, quadrag.result("j", "corrected")):
        column = one.to_pandas(texts=False)["truthfulness"]
        assert column.mean() == pytest.approx(one["truthfulness"].value)


def test_of_many_names_the_first_are_listed_and_never_one_alone_left_out():
    assert shorten_list(["a", "b", "c", "d", "e"]) == "a, b, c, d, e"
    assert shorten_list(["a", "b", "c", "d", "e", "f"]) == "a, b, c, d and 2 more"
    assert [shorten_list(["a", "b", "c", "d", "e"], few) for few in (3, 9)] == ["a, b, c and 2 more", "a, b, c, d, e"]


def test_what_official_leaves_out_is_told_apart_from_what_it_makes_values_of(cli):
    def answer(question):
        if question.id == FAILED[0]:
            raise ValueError("no luck")
        return f"There are factual errors in document {question.id}."

    with ChatServer(models=["j"], text="Yes, it does.") as server:
        server.rules.append(Rule("reply", times=1, message={"content": "who knows"}))
        given = {"data_dir": "sample", "judge": f"{server.url}#j", "concurrency": 1}
        found = quadrag.evaluate("rgb", "counterfactual_robustness_en", answer, out="j", **given)
    failed = (
        "counterfactual_robustness_en test: 2 of 12 items failed (1 raised, 1 unparsable), official leaves 1 out and"
    )
    told = [note.split(", corrected counts all as wrong: ") for note in found.notes if "unparsable" in note]
    assert [one[0] for one in told] == [f"{failed} makes values of 1", f"{failed} does not apply to 1"]
    assert [one[1].rstrip(".") for one in told] == ["error_detection_judged", "error_correction"]
    assert [found[key].n for key in ("error_detection_judged", "error_correction")] == [11, 10]


def test_what_failed_is_listed_as_worse_under_the_profile_that_counts_it(two, cli, capsys):
    assert shown(cli("show", "a", "b", "--worse")) == list(FAILED), "the runs' own profile"
    ran = cli("show", "a", "b", "--worse", "--profile", "corrected", "--limit", "1")
    assert "  b answer  raised: ValueError: no luck" in ran.out
    assert "  b accuracy, accuracy_bounded: 0 (raised)\n" in ran.out
    assert "1 of 2 questions on which b is worse" in ran.out
    assert ran.out.endswith("; 12 count in both; 2 failed in b and count as wrong.\n")
    one = ("show", "b", "--id", FAILED[0], "--profile", "official")
    assert "  accuracy, accuracy_bounded: – (raised)\n" in cli(*one).out, "of the profile that is shown alone"
    assert "  accuracy, accuracy_bounded: corrected 0 (raised)\n" in cli(*one, "--verbose").out
    official = cli("show", "a", "b", "--worse", "--profile", "official").out
    assert official == "No question on which b is worse by accuracy; 10 scored in both; 2 failed in b.\n"
    assert shown(cli("show", "b", "--wrong")) == list(FAILED)
    assert cli("show", "b", "--wrong", "--profile", "official").out.startswith("noise_robustness_en noise_60: 2 of 12")
    assert "\n2 items (3, 9): raised\n\n" in cli("show", "b").out, "once for all of a reason"
    measure("several", FAILED, split=None)
    out = cli("show", "several", "--unscored", "--limit", 1).out
    assert "\n10 answers (2 questions): raised\n\n" in out and out.endswith("\n1 of 10 answers\n"), "of five splits"
    capsys.readouterr()
    quadrag.compare(*two).show(worse=True)
    assert "2 of 2 questions on which b is worse" in capsys.readouterr().out
    quadrag.compare(*two, profile="official").show(worse=True)
    assert "No question on which b is worse" in capsys.readouterr().out


@pytest.mark.parametrize("profile", ["official", "corrected"])
def test_the_page_lists_what_failed_where_the_profile_counts_it(two, profile):
    lost = list_changes(collect_answers(read_runs(["a", "b"]), profile=profile))
    assert [one.place.split("/")[-3] for one in lost.lost] == list(FAILED) if profile == "corrected" else lost is None
    page = quadrag.compare(*two, profile=profile).report("both.html").read_text(encoding="utf-8")
    index = collect_answers(read_runs(["a", "b"])).index
    assert index["items"][3]["values"][1][0] == 0, "without a name it is the runs' own profile"
    assert ("corrected profile" in page) == (profile == "corrected")


def test_a_report_goes_by_the_profile_that_both_runs_were_made_with(two, cli):
    assert [read_run(Path(name)).profile for name in "ab"] == ["corrected"] * 2
    ran = cli("report", "a", "b", "--html", "page.html")
    assert "Percent, corrected profile" in ran.out
    assert "b is worse" in Path("page.html").read_text(encoding="utf-8")
    named = cli("report", "a", "b", "--profile", "official").out
    assert "Percent, official profile" in named
    measure("c")
    mixed = " ".join(cli("report", "c", "b").out.split())
    assert "Percent, official profile" in mixed
    assert "different profiles. Shown here: official; for the other: --profile corrected." in mixed
    assert "different profiles" not in cli("report", "c", "b", "--profile", "official").out
    cli("score", "a/answers.jsonl", "--benchmark", PLACE[0], "--config", PLACE[1], "--data-dir", "sample", "--profile",
        "corrected", "--out", "s")  # fmt: skip
    assert read_run(Path("s")).profile == "corrected"


def test_profiles_that_differ_are_refused_with_the_way_out(two):
    before = quadrag.result("a", "official")
    with pytest.raises(quadrag.QuadragError, match=r'quadrag.compare\(\.\.\., profile="official"\)'):
        quadrag.compare(before, two[1])
    assert quadrag.compare(before, two[1], profile="corrected")["accuracy"].n == 12
    assert quadrag.compare(before, "b")["accuracy"].n == 10, "a folder has the profile of what is beside it"
    assert quadrag.compare("a", "b")["accuracy"].n == 12
    with pytest.raises(quadrag.QuadragError, match="unknown profile 'correct'; nearest: corrected"):
        quadrag.compare(*two, profile="correct")


def test_failures_among_the_compared_questions_alone_are_told(two, cli):
    part = measure("part", limit=6)
    told = "; on the 5 questions that both scored; 1 failed in b)."
    assert told in " ".join(repr(quadrag.compare(part, "b")).split())
    assert told in " ".join(cli("report", "part", "b", "--profile", "official").out.split())


def test_that_only_one_side_was_judged_is_told(cli):
    place = ("crag", "task_1_2")
    given = {"split": "public", "data_dir": "sample"}
    with ChatServer(models=["j"], text='{"score": 1}') as server:
        judged = quadrag.evaluate(*place, lambda question: "x", judge=f"{server.url}#j", out="j", name="j", **given)
    plain = quadrag.evaluate(*place, lambda question: "y", out="p", name="p", **given)
    told = "Not compared, only j was judged: truthfulness, accuracy, hallucination."
    for sides, line in (((judged, plain), told), ((plain, judged), f"- {told}")):
        assert [one for one in repr(quadrag.compare(*sides)).splitlines() if "Not compared" in one] == [line]
    assert f"\n- {told}\n" in cli("report", "p", "j").out
    shutil.copytree("p", "q")
    assert f"- j minus p: {told}" in " ".join(cli("report", "p", "q", "j").out.split())


def test_over_which_questions_both_values_are_is_told_where_it_is_not_all(two):
    told = "on the 10 questions that both scored"
    assert "on the " not in " ".join(repr(quadrag.compare(*two)).split()), "it is all, since failures count"
    assert told in " ".join(repr(quadrag.compare(*two, profile="official")).split())
