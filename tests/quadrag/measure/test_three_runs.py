"""Three evaluations and more in Python: printed as `quadrag report` prints them, as tables and as a page."""

import copy

import pandas
import pytest

import quadrag
from quadrag.cli import main

RGB = ("rgb", "noise_robustness_en")


def measure(system, name, **more):
    given = {"split": "noise_80", "data_dir": "sample", "name": name, "out": name}
    return quadrag.evaluate(*RGB, system, **given | more)


def first(question):
    return question.passages[0].text


def every(question):
    return " ".join(one.text for one in question.passages)


def odd(question):
    return every(question) if int(question.id) % 2 else "I do not know"


@pytest.fixture
def three():
    return [measure(one, one.__name__) for one in (first, odd, every)]


def test_what_is_printed_is_what_the_report_prints(three, capsys):
    found = quadrag.compare(*three)
    for more in ([], ["--verbose"]):
        capsys.readouterr()
        found.show(verbose=bool(more))
        shown = capsys.readouterr().out
        assert main(["report", "first", "odd", "every", *more]) in (0, None)
        assert capsys.readouterr().out.startswith(shown)
    lines = repr(found).splitlines()
    (head,) = [at for at, line in enumerate(lines) if line.startswith("run ")]
    assert [line.split()[:3] for line in lines[head + 1 : head + 4]] == [
        ["every", "100.0", "+100.0"],
        ["odd", "50.0", "+50.0"],
        ["first", "0.0", "–"],
    ]
    assert lines[head + 3].split()[-3:] == ["12", "–", "–"] and "its interval" in lines[head]
    assert max(map(len, lines)) <= 80 and "Under each value" not in repr(found)
    page = found._repr_html_()
    heads = "<th>value</th><th>95% interval</th><th>difference</th><th>its interval</th>"
    assert heads in page, "what the bars show stands as a number, beside the interval of the difference"
    assert '<td style="text-align:left">every</td><td>100.0</td><td>75.8–100.0</td><td>+100.0</td>' in page
    assert page.count("<svg") == 3 and "<th>value, 95%</th>" in page and "--s2" not in page, (
        "a bar for each value, and no difference on its scale"
    )
    chinese = quadrag.compare("first", "odd", "every", labels="zh")
    assert "every 在 accuracy 上最好（100.0）：好于 first、odd" in repr(chinese)


def test_a_row_holds_a_metric_of_a_run_with_its_difference_from_the_first(three):
    frame = quadrag.compare(*three).to_pandas(by="metric")
    heads = list(frame["headline"])
    assert heads == sorted(heads, reverse=True) and {*heads} == {True, False}, "headlines first"
    rows = {(row["system"], row["score"]): row for row in frame.to_dict("records")}
    assert list(rows) == [(one.name, name) for name in ("accuracy", "accuracy_bounded") for one in three]
    for one in three[1:]:
        row, score, pair = rows[one.name, "accuracy"], one["accuracy"], quadrag.compare(three[0], one)["accuracy"]
        assert (row["config"], row["split"], row["metric"]) == (RGB[1], "noise_80", "accuracy")
        assert (row["value"], row["low"], row["high"], row["n"]) == (score.value, *score.interval, score.n)
        assert (row["difference"], row["difference_low"], row["difference_high"]) == (pair.difference, *pair.interval)
        assert (row["difference_n"], row["p"], row["verdict"]) == (pair.n, pair.p, "better")
    ps = [rows[name, "accuracy"]["p_holm"] for name in ("odd", "every")]
    assert ps == [rows["odd", "accuracy"]["p"], 2 * rows["every", "accuracy"]["p"]], "the two are adjusted together"
    found = quadrag.compare(*three)["accuracy"]
    assert [*found] == ["odd", "every"] and [one.p_holm for one in found.values()] == ps
    assert [one.difference for one in found.values()] == [0.5, 1.0] and found["odd"].verdict == "better"
    assert frame["difference"].isna().tolist() == [True, False, False] * 2
    numbers = ["value", "low", "high", "difference", "difference_low", "difference_high", "p", "p_holm"]
    assert {str(frame[name].dtype) for name in numbers} == {"float64"}
    assert {str(frame[name].dtype) for name in ("n", "difference_n")} == {"Int64"}, "whole, also where one is lacking"


def test_a_run_without_a_value_has_the_reason(three):
    def broken(question):
        return every(question) if question.id == "1" else None

    runs = [measure(one, one.__name__, split=None, out=f"all/{one.__name__}") for one in (first, every, broken)]
    for some in (runs, runs[::-1], [three[1], three[0], measure(broken, "broken")]):
        line, *others = [line for line in repr(quadrag.compare(*some)).splitlines() if line.startswith("broken ")]
        assert line.split() == ["broken", "INVALID", *"––––", "INVALID"], "of all splits, of the first, or of one"
        assert others == [] or others[0].split() == ["broken", *["INVALID"] * 5]
    frame = quadrag.compare(*runs, three[1]).to_pandas(by="metric").set_index(["score", "system"])
    for name in ("all 5 splits/accuracy", "noise_0/accuracy_bounded"):
        row = frame.loc[name, "broken"]
        assert row["reason"] == "11 of 12 items failed (11 unparsable)" and not row["valid"]
        assert row["folder"] == "all/broken"
    assert list(frame.loc["noise_0/accuracy", "reason"])[::3] == ["", "not run"]
    assert frame.loc[("noise_80/accuracy", "odd"), "value"] == three[1]["accuracy"].value


def test_a_function_measured_again_is_called_by_its_number_everywhere():
    runs = [measure(one, "rag", out=None) for one in (first, odd, every)]
    names = ["rag", "rag-2", "rag-3"]
    assert [one.name for one in runs] == names and " noise_80, rag-2, official profile\n" in repr(runs[1])
    own = pandas.concat([one.to_pandas(by="metric") for one in runs])
    assert list(own.pivot(index="score", columns="system", values="value")) == names
    found = quadrag.compare(*runs)
    assert list(found.to_pandas(by="metric")["system"])[:3] == names and "Runs: " not in repr(found)
    assert "rag-3 minus rag," in repr(quadrag.compare(runs[0], runs[2]))


def test_over_several_splits_the_metric_over_all_of_them_comes_first():
    runs = [measure(one, one.__name__, split=None, limit=6) for one in (first, odd, every)]
    frame = quadrag.compare(*runs).to_pandas(by="metric")
    whole = frame[frame["score"] == "all 5 splits/accuracy"]
    assert frame["pooled"].tolist() == (frame["split"] == "all 5 splits").tolist() and frame["pooled"].dtype == bool
    assert list(whole.index) == [0, 1, 2] and list(whole["system"]) == ["first", "odd", "every"]
    splits = frame[(frame["split"] != "all 5 splits") & frame["score"].str.endswith("/accuracy")]
    for name, here in splits.groupby("system"):
        assert here["value"].mean() == pytest.approx(whole.set_index("system").loc[name, "value"])


def test_what_no_run_has_a_value_of_takes_the_place_of_no_other_metric():
    place = ("rgb", "counterfactual_robustness_en")
    runs = [quadrag.evaluate(*place, lambda question: "no", data_dir="sample", name=name, out=name) for name in "xyz"]
    assert [runs[0][name].value for name in ("accuracy", "error_detection", "error_correction")] == [0, 0, None]
    shown = repr(quadrag.compare(*runs))
    assert all(f"\n{one.name} " in shown for one in runs)


def test_a_row_holds_a_question_of_a_run(three):
    frame = quadrag.compare(*three).to_pandas(texts=False)
    for one in three:
        own = frame[frame["system"] == one.name].drop(columns="system").reset_index(drop=True)
        assert own.equals(one.to_pandas(texts=False))
    assert len(frame) == 36 and "answer" in quadrag.compare(*three).to_pandas()


def test_the_page_holds_all_runs(three):
    page = quadrag.compare(*three).report("pages/three.html").read_text(encoding="utf-8")
    assert "Differences from first" in page


def test_systems_of_one_name_are_told_apart_by_their_folders(three):
    again = measure(odd, "odd", out="again")
    assert set(quadrag.compare(*three, again).to_pandas(by="metric")["system"]) == {"first", "odd", "every", "again"}


def test_pages_beside_folders_which_a_glob_names_too_are_passed_over(three, capsys):
    assert main(["report", "first", "every", "--html", "compare.html"]) in (0, None)
    capsys.readouterr()
    assert main(["report", "first", "every"]) in (0, None)
    alone = capsys.readouterr().out
    assert main(["report", "compare.html", "first", "every"]) in (0, None)
    assert capsys.readouterr().out == alone
    assert main(["report", "compare.html"]) == 2
    assert "compare.html holds no run.json; expected the folder of a run" in capsys.readouterr().err


def test_what_cannot_be_compared_is_refused_in_one_line(three):
    found = quadrag.compare(*three)
    other = quadrag.evaluate("rgb", "negative_rejection_en", first, data_dir="sample", out="other")
    for runs, said in (
        ([*three[:2], "official"], "'official' is no run; a profile is given by its name: profile='official'"),
        ([*three, "./first"], "nothing to compare: first is named twice; name another one"),
        ([*three[:2], "none"], "none holds no run.json; expected the folder of a run"),
        ([*three[:2], quadrag.result("every", "corrected")], "one has the profile official, another corrected; "),
    ):
        with pytest.raises(quadrag.QuadragError) as told:
            quadrag.compare(*runs)
        assert str(told.value).startswith(said) and "\n" not in str(told.value)
    assert quadrag.compare(*three, profile="corrected").profile == "corrected"
    crag = [
        quadrag.evaluate("crag", "task_1_2", first, data_dir="sample", split="public", out=name) for name in ("x", "y")
    ]
    with pytest.raises(
        quadrag.QuadragError, match=r"nothing to compare: other is rgb negative_rejection_en .*; x is crag"
    ):
        quadrag.compare(other, *crag)
    with pytest.raises(KeyError, match="unknown score 'acuracy'; nearest: accuracy"):
        found["acuracy"]
    with pytest.raises(quadrag.QuadragError, match=r"no worse=; name two, as quadrag\.compare\('first', 'every'\)$"):
        found.show(worse=True)
    with pytest.raises(quadrag.QuadragError, match="unknown argument of show 'verbos'; nearest: verbose"):
        found.show(verbos=True)
    with pytest.raises(AttributeError, match="there is no counts; compare two"):
        _ = found.counts
    assert repr(copy.deepcopy(found)) == repr(found)
