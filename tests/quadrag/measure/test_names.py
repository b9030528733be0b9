"""Scores and differences by the names that a user tries, and a comparison in a notebook."""

import copy
import html
import io
import json
import pickle
import re
import sys
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pandas
import pytest

import quadrag
from quadrag.baselines.tables.grid import Grid
from quadrag.measure.notebook import table_html

RGB = ("rgb", "noise_robustness_en")


def measure(system, name, *place, **more):
    return quadrag.evaluate(*(place or RGB), system, data_dir="sample", name=name, **more)


def first(question):
    return question.passages[0].text


def every(question):
    return " ".join(one.text for one in question.passages)


def test_a_score_of_one_split_is_found_with_and_without_metric_and_split():
    found = measure(first, "one", split="noise_60")
    wanted = found["accuracy"]
    for name in ("rgb_accuracy.accuracy", "noise_60/accuracy", "noise_60/rgb_accuracy.accuracy"):
        assert found[name] is wanted and name in found
    assert set(found) <= set(found.to_pandas())
    assert list(found) == ["accuracy", "accuracy_bounded"]
    with pytest.raises(KeyError, match="unknown score 'noise_20/accuracy'; nearest: accuracy"):
        found["noise_20/accuracy"]
    assert "other.accuracy" not in found and found.get("noise_20/accuracy") is None


def test_a_score_of_several_splits_says_which_there_are():
    lost = iter(range(10))

    def failing(question):
        return None if question.split == "noise_0" and next(lost) < 2 else every(question)

    found, other = (measure(one, one.__name__, limit=2) for one in (failing, every))
    wanted = ", ".join(f"result['noise_{part}/accuracy']" for part in (0, 20, 40, 60, 80))
    others = wanted.partition(", ")[2]  # of the first the two are not compared
    both = quadrag.compare(found, other)
    for name in ("accuracy", "rgb_accuracy.accuracy"):
        with pytest.raises(KeyError, match=re.escape(f"{name} stands for several splits: use {wanted}")):
            found[name]
        with pytest.raises(KeyError, match=re.escape(f"{name} stands for several splits: use {others}")):
            both[name]
    with pytest.raises(KeyError, match="Not compared, INVALID in failing: all 5 splits/accuracy"):
        both["all 5 splits/accuracy"]
    assert found["noise_40/rgb_accuracy.accuracy"] is found["noise_40/accuracy"]


def test_a_score_is_the_number_that_it_holds_where_one_is_expected():
    score = measure(first, "one", split="noise_60")["accuracy"]
    assert (float(score), round(score, 2)) == (score.value, round(score.value, 2))
    assert f"{score:.3f}" == f"{score.value:.3f}" and f"{score}" == str(score)
    half = replace(score, value=score.value / 2)
    assert half < score > 0.1 and half < 1 and score >= score.value >= half and half <= score
    for lacking, why in (({"reason": "no judge"}, "no judge"), ({}, "none of its 12 questions was scored")):
        for use in (float, round, lambda one: one > 0.5, lambda one: f"{one:.2f}"):
            with pytest.raises(quadrag.QuadragError) as raised:
                use(replace(score, value=None, **lacking))
            assert str(raised.value) == str(replace(score, value=None, **lacking)) == f"accuracy has no value: {why}"


def test_an_error_of_a_score_without_a_value_comes_without_the_way_in_here():
    score = measure(first, "one", split="noise_60")["accuracy"]
    lacking = replace(score, value=None, reason="no judge")
    for use in (
        lambda: lacking * 100,
        lambda: 1 - lacking,
        lambda: score + lacking,
        lambda: lacking > 0.5,
        lambda: float(lacking),
        lambda: -lacking,
        lambda: f"{lacking:.1f}",
        lambda: np.mean([lacking, score]),
    ):
        with pytest.raises(quadrag.QuadragError, match=r"^accuracy has no value: no judge$") as caught:
            use()
        ours = [one for one in caught.traceback if "quadrag/measure" in str(one.path)]
        assert len([one for one in ours if "/tests/" not in str(one.path)]) == 1


def test_of_a_score_pandas_and_json_take_the_value():
    score = measure(first, "one", split="noise_60")["accuracy"]
    assert pandas.DataFrame({"accuracy": [score.value, replace(score, value=None).value]})["accuracy"].mean() == 0.75
    assert json.loads(json.dumps({"accuracy": score.value})) == {"accuracy": 0.75}


def test_names_are_listed_without_the_table_and_an_attribute_says_how_a_score_is_found():
    found = measure(first, "one", split="noise_60")
    both = quadrag.compare(found, measure(every, "other", split="noise_60"))
    for result, one in ((found, "accuracy 75.0%"), (both, "accuracy +25.0 points")):
        assert repr(result.keys()) == "dict_keys(['accuracy', 'accuracy_bounded'])"
        assert f"[{one}" in repr(result.values()) and f"('accuracy', {one}" in repr(result.items())
        with pytest.raises(AttributeError, match=r" has no attribute 'accuracy'; the score is \['accuracy'\]$"):
            _ = result.accuracy
        with pytest.raises(AttributeError, match=r" has no attribute 'acuracy'$"):
            _ = result.acuracy
        assert not hasattr(result, "_repr_png_")
    assert pickle.loads(pickle.dumps(found)).scores == copy.deepcopy(found).scores == found.scores


def test_a_function_without_a_name_is_called_what_a_sentence_can_say():
    part = {"data_dir": "sample", "split": "noise_60", "limit": 5}
    for system, name in (
        (lambda question: "x", "lambda"),
        (partial(every), "every"),
        (partial(partial(lambda end, question: end), "x"), "lambda"),
    ):
        assert quadrag.evaluate(*RGB, system, **part, out=name, fresh=True).name == name


def test_a_result_says_why_its_name_has_a_number():
    plain, again = (quadrag.evaluate(*RGB, first, data_dir="sample", split="noise_60", limit=5) for _ in range(2))
    assert [plain.name, again.name] == ["first", "first-2"] and "Named " not in repr(plain)
    told = f"Named first-2: {plain.folder} holds an earlier run; out= with fresh=True keeps one name."
    assert told in " ".join(repr(again).split()) and told in again._repr_html_()


def test_scores_and_differences_are_computed_with_and_taken_by_numpy():
    before, after = (measure(one, one.__name__, split="noise_60") for one in (first, every))
    mine, other, gain = before["accuracy"], after["accuracy"], quadrag.compare(before, after)["accuracy"]
    assert (mine.value, other.value, gain.difference) == (0.75, 1, 0.25)
    assert (mine * 100, 100 * mine, mine + other, other - mine, 1 - mine, mine / other) == (
        75,
        75,
        1.75,
        0.25,
        0.25,
        0.75,
    )
    assert (gain * 100, -gain, abs(gain), f"{gain:.2f}", sum([mine, other])) == (25, -0.25, 0.25, "0.25", 1.75)
    assert np.mean([mine, other]) == 0.875 and np.array([mine, gain]).dtype == float
    assert list(mine * np.array([1, 2])) == list(np.array([1, 2]) * mine) == [0.75, 1.5]
    assert mine == 0.75 == gain + 0.5 and np.float64(0.75) == mine != other and gain == 0.25
    assert mine == copy.deepcopy(mine) != replace(mine, n=3) and mine != "mine"
    assert replace(mine, value=None) != 0.75
    with pytest.raises(TypeError, match="unhashable"):
        hash(mine)
    assert repr(gain) == str(gain) and str(gain).endswith(", n 12, p 0.125: not decided")


def test_a_score_is_printed_as_tables_write_it():
    score = measure(first, "one", split="noise_60")["accuracy"]
    assert str(score) == "accuracy 75.0% (95% 46.8–91.1), n 12/12" and repr(score) == str(score)
    assert str(replace(score, interval=None, n=3)) == "accuracy 75.0%, n 3/12"
    length = replace(score, metric="crud_overlap", key="length", value=52.6, interval=(49.0, 55.2))
    assert str(length) == "length 52.6 characters (95% 49–55), n 12/12"
    below = replace(score, metric="truthfulness", key="truthfulness", value=-0.25, interval=(-0.5, 0.1))
    assert str(below) == "truthfulness -25.0% (95% -50.0 to 10.0), n 12/12"


def test_a_metric_that_is_not_compared_says_why():
    both = quadrag.compare(*(measure(one, one.__name__, "crag", "task_1_2", limit=2) for one in (first, every)))
    with pytest.raises(KeyError, match="Not compared, no judge: truthfulness"):
        both["truthfulness"]
    assert "truthfulness" not in both and both.get("truthfulness") is None


def test_a_run_is_not_compared_with_itself():
    one = measure(first, "one", limit=2, out="runs/one")
    for other, said in (
        (one, "runs/one is named twice"),
        ("runs/../runs/one/", "runs/one and runs/../runs/one are the same"),
    ):
        with pytest.raises(quadrag.QuadragError, match=f"^nothing to compare: {said}; name another one$"):
            quadrag.compare(one, other)


def test_that_the_data_are_made_up_is_said():
    sides = [measure(one, one.__name__, limit=2) for one in (first, every)]
    for shown in (*sides, quadrag.compare(*sides)):
        assert repr(shown).count("The data are the bundled sample, which is made up.") == 1


def test_a_difference_is_found_by_the_same_names():
    pairs = quadrag.compare(*(measure(one, one.__name__, split="noise_80") for one in (first, every)))
    assert pairs["rgb_accuracy.accuracy"] is pairs["noise_80/accuracy"] is pairs["accuracy"]
    with pytest.raises(KeyError, match="unknown score 'acuracy'; nearest: accuracy, accuracy_bounded"):
        pairs["acuracy"]


def test_a_comparison_shows_both_values_and_its_notes_below_in_normal_weight():
    before, after = (measure(one, one.__name__, split="noise_80") for one in (first, every))
    pairs = quadrag.compare(before, after)
    low, high = (f"{100 * one['accuracy'].value:.1f}" for one in (before, after))
    headline, title, longer, made_up, head, line, *notes = repr(pairs).splitlines()
    assert headline.startswith("every is better on accuracy: +100.0 points (95% ")
    assert title == "Comparison: every minus first, noise_robustness_en noise_80"
    assert longer.endswith(" times as long.") and " can only rise with length; " in longer
    assert made_up == "! The data are the bundled sample, which is made up."
    assert re.split(r" {2,}", head) == ["metric", "first", "every", "difference", "95% interval", "verdict", "p"]
    assert re.split(r" {2,}", line)[1:4] == [low, high, "+100.0"] and line.endswith(" better  < 0.001")
    page = pairs._repr_html_().replace("\u00a0", " ")
    assert (
        page.index(f"<b>{html.escape(headline)}</b>")
        < page.index(f"<td>{low}</td><td>{high}</td>")
        < page.index("</table>")
    )
    assert "- Percent, official profile. Better or worse: p below 0.05." in notes
    assert page.index("</table>") < page.index(
        "<p><small>- Percent, official profile. Better or worse: p below 0.05.<br>"
    )
    assert page.count("<b>") == 2 and page.index("! The data are the bundled") < page.index("<table>")
    assert page.count("<svg") == 1
    assert "<th>difference, 95%</th>" in page and "--s2" not in page
    fewer = measure(first, "fewer", split="noise_80", limit=6)
    uneven = repr(quadrag.compare(before, fewer))
    assert "on the 6 questions that both scored" in " ".join(uneven.split()) and "scored)" not in repr(pairs)
    assert "Questions scored in both: 6." in uneven and max(map(len, uneven.splitlines())) <= 80


def test_a_wrong_name_is_told_without_the_way_in_here_and_the_page_is_a_link():
    found = measure(first, "first", split="noise_80")
    for result in (found, quadrag.compare(found, measure(every, "every", split="noise_80"))):
        with pytest.raises(KeyError, match="unknown score 'acuracy'") as caught:
            result["acuracy"]
        assert len(caught.traceback) == 2 and caught.value.__suppress_context__
    page = found.folder / "report.html"
    assert f'The page: <a href="{page}">{page}</a></small></p>' in found._repr_html_()


def test_what_was_not_run_is_said_and_commands_are_code():
    found = measure(first, "one", "crag", "task_1_2", limit=2)
    both = quadrag.compare(found, measure(every, "other", "crag", "task_1_2", limit=2))
    for shown in (found, both):
        for text in (" ".join(repr(shown).split()), shown._repr_html_()):
            assert text.count("Not run: truthfulness, accuracy, hallucination (judge=).") == 1
        assert set(shown.to_pandas(by="metric").set_index("score").loc["truthfulness":"hallucination", "reason"]) == {
            "no judge"
        }
    page = table_html(Grid("", "", [], [], ["see `quadrag <x>`", "more"]))
    assert page.endswith("<p><small>- see <code>quadrag &lt;x&gt;</code><br>- more</small></p></div>")


def test_an_alarm_stands_above_the_table_with_its_sign():
    left = iter(range(12))

    def mine(question):
        return None if next(left) < 5 else "x"

    page = measure(mine, "broken", split="noise_80")._repr_html_()
    assert page.index("<p>! INVALID, ") < page.index("<table>")


@pytest.mark.slow
def test_in_a_notebook_a_bar_shows_how_far_a_slow_function_is(monkeypatch):
    cell = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})  # by whose name a notebook is known
    for seconds in (0, 1.1):
        monkeypatch.setattr("sys.stderr", cell())
        measure(lambda question, wait=seconds: time.sleep(wait) or "x", f"s{seconds}", split="noise_80", limit=3)
        assert ("noise_robustness_en: answers: " in sys.stderr.getvalue()) == bool(seconds), "nothing of a fast one"


def test_in_a_notebook_what_is_shown_is_one_text(monkeypatch, capsys):
    found = measure(first, "one", split="noise_80")
    capsys.readouterr()
    found.show()
    plain = capsys.readouterr().out
    shell = type("ZMQInteractiveShell", (), {})()  # by whose name a notebook is known
    monkeypatch.setattr("builtins.get_ipython", lambda: shell, raising=False)
    found.show()
    assert capsys.readouterr().out == plain and "accuracy" in plain
