"""Two evaluations side by side for a user of pandas and of the page, and what nobody may overlook of them."""

import json
from pathlib import Path

import pytest
from chat_server import ChatServer

import quadrag
from quadrag.baselines.core.benchmark import load
from quadrag.baselines.core.task import Task, load_questions
from quadrag.cli import main
from quadrag.run_files import sha256
from quadrag.run_record import read_run

RGB = ("rgb", "noise_robustness_en")
COLUMN = "accuracy"


def measure(system, name, **more):
    return quadrag.evaluate(*RGB, system, data_dir="sample", name=name, **{"split": "noise_60", **more})


def first(question):
    return question.passages[0].text


def every(question):
    if question.id == "3":
        raise ValueError("no luck")
    return " ".join(one.text for one in question.passages)


def test_a_row_holds_a_question_that_both_have_with_both_values_and_the_difference():
    before, after = measure(first, "v1"), measure(every, "v2", limit=8)
    both = quadrag.compare(before, after)
    frame = both.to_pandas()
    assert (
        list(frame)[:6] == ["id", "split", "query", "gold", "answer_before", "answer_after"]
        and list(frame)[-1] == "config"
    )
    sides = [one.to_pandas().set_index("id") for one in (before, after)]
    assert list(frame["id"]) == list(sides[1].index)
    for row in frame.to_dict("records"):
        mine, theirs = (side.loc[row["id"]] for side in sides)
        assert (row["query"], row["gold"], row["answer_before"]) == (mine["query"], mine["gold"], mine["answer"])
        if row["id"] != "3":
            assert row["answer_after"] == theirs["answer"]
            assert (row[f"{COLUMN}_before"], row[f"{COLUMN}_after"]) == (mine[COLUMN], theirs[COLUMN])
    failed = frame[frame["id"] == "3"].iloc[0]
    assert failed["unscored_after"].startswith("raised: ValueError: no luck (every, test_comparison.py:")
    assert failed[f"{COLUMN}_difference"] != failed[f"{COLUMN}_difference"]
    assert frame[f"{COLUMN}_difference"].mean() == pytest.approx(both["accuracy"].difference)
    assert not {"query", "gold", "answer_before", "answer_after"} & set(both.to_pandas(texts=False))


def test_a_question_whose_gold_changed_is_no_row():
    before, after = measure(first, "v1"), measure(every, "v2")
    asked = Path(after.folder, "questions.jsonl")
    one, *others = asked.read_text().splitlines()
    asked.write_text("\n".join([json.dumps(json.loads(one) | {"sha256": "other"}), *others, ""]))
    run = read_run(asked.parent)
    run.asked = sha256(asked)
    run.write(asked.parent)
    frame = quadrag.compare(before, quadrag.result(after.folder)).to_pandas(texts=False)
    assert list(frame["id"]) == list(before.to_pandas(texts=False)["id"])[1:]


def test_the_samples_of_a_question_are_one_row_with_their_means():
    lines = []
    for number, one in enumerate(quadrag.questions(*RGB, split="noise_60", data_dir="sample")):
        place = {"benchmark": "rgb", "config": one.config, "split": one.split, "id": one.id}
        whole = " ".join(passage.text for passage in one.passages)
        lines += [place | {"sample": at, "answer": whole if at <= number % 3 else ""} for at in range(3)]
    Path("three.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert main(["score", "three.jsonl", "--data-dir", "sample", "--out", "three"]) == 0
    both = quadrag.compare(measure(first, "v1"), "three")
    frame = both.to_pandas(texts=False)
    assert len(frame) == 12 and list(frame[f"{COLUMN}_after"][:3]) == pytest.approx([1 / 3, 2 / 3, 1])
    assert frame[f"{COLUMN}_difference"].mean() == pytest.approx(both["accuracy"].difference)


def test_a_row_holds_a_metric():
    before, after = measure(first, "v1"), measure(every, "v2")
    (row, _) = before.to_pandas(by="metric").to_dict("records")
    score = before["accuracy"]
    assert " ".join(row) == "score value low high n n_total valid reason split pooled metric config system folder"
    assert row == {
        "score": "accuracy",
        "system": "v1",
        "config": "noise_robustness_en",
        "split": "noise_60",
        "pooled": False,
        "metric": "accuracy",
        "value": score.value,
        "low": score.interval[0],
        "high": score.interval[1],
        "n": 12,
        "n_total": 12,
        "valid": True,
        "reason": "",
        "folder": str(before.folder),
    }
    both = quadrag.compare(before, after)
    (row, _) = both.to_pandas(by="metric").to_dict("records")
    assert (row["before"], row["after"]) == (score.value, after["accuracy"].value)
    found = both["accuracy"]
    assert (row["difference"], row["n"], row["p"]) == (found.difference, 11, found.p)
    assert row["verdict"] == found.verdict == "not decided"
    line = f"accuracy {100 * found.difference:+.1f} points (95% {100 * found.interval.low:.1f} to "
    assert str(found).startswith(line) and str(found).endswith(": not decided") and ", n 11, p " in str(found)
    place = (row["system_before"], row["system_after"], row["config"], row["split"], row["metric"])
    assert place == ("v1", "v2", *RGB[1:], "noise_60", "accuracy")
    assert (row["folder_before"], row["folder_after"]) == (str(before.folder), str(after.folder))
    with pytest.raises(TypeError, match="positional"):
        before.to_pandas("metric")


def test_what_is_printed_over_all_splits_is_a_score_and_a_row():
    def whole(question):
        return " ".join(one.text for one in question.passages)

    before, after = (measure(one, name, split=None) for one, name in ((first, "v1"), (whole, "v3")))
    name = "all 5 splits/accuracy"
    line = next(line for line in repr(before).splitlines() if line.startswith(name))
    score = before[name]
    assert before["accuracy"] is before["rgb_accuracy.accuracy"] is score and next(iter(before)) == name
    low, high = score.interval
    assert line.split()[-6:-4] == [f"{100 * score.value:.1f}", f"{100 * low:.1f}–{100 * high:.1f}"]
    assert line.endswith(" 12 × 5 splits")
    assert str(score) == "accuracy 60.0% (95% 33.3–80.0), n 12/12" and score.split == "all 5 splits"
    (row, *_) = before.to_pandas(by="metric").to_dict("records")
    assert (row["score"], row["split"], row["metric"], row["value"]) == (name, "all 5 splits", "accuracy", score.value)
    assert before["accuracy_bounded"].split == "all 5 splits", "of every metric, not of headlines alone"
    both = quadrag.compare(before, after)
    assert both["accuracy_bounded"] == both["accuracy_bounded"].difference == pytest.approx(0.4)
    pair = both["accuracy"]
    assert pair is both[name] and next(iter(both)) == name and pair.n == 12
    low, high = (f"{100 * end:.1f}" for end in pair.interval)
    assert " ".join(repr(both).split()).startswith(
        f"v3 is better on accuracy: +40.0 points over all 5 splits (95% {low} to {high}; p "
    )
    (row, *_) = both.to_pandas(by="metric").to_dict("records")
    assert (row["before"], row["after"], row["difference"]) == pytest.approx((0.6, 1.0, 0.4))
    gained = both.to_pandas(texts=False).groupby("id")[f"{COLUMN}_difference"].mean()
    assert [row["better"], row["worse"], row["equal"]] == [(gained > 0).sum(), (gained < 0).sum(), (gained == 0).sum()]


def test_what_is_not_compared_is_a_row_with_the_reason():
    before = measure(first, "v1", split=None)
    part = measure(every, "v3", split="noise_0")
    both = quadrag.compare(before, part)
    rows = both.to_pandas(by="metric").set_index("score")
    assert set(rows["difference"].dropna().index) == set(both)
    lacking = rows.loc["noise_20/accuracy"]
    assert (lacking["reason"], lacking["n"], lacking["before"]) == ("only v1 has it", 0, 0.75)
    name = "all 5 splits/accuracy"
    assert rows.loc[name, "reason"] == "only v1 has it"
    with pytest.raises(KeyError, match=f"Not compared, only v1 has it: {name}"):
        both[name]


def test_columns_have_one_order_and_one_type_whatever_failed():
    asked = iter(range(12))

    def failing(question):
        return None if next(asked) else "x"

    fine, broken = (measure(one, one.__name__) for one in (first, failing))
    assert not broken.valid
    for one, other in (
        (fine.to_pandas(), broken.to_pandas()),
        (fine.to_pandas(by="metric"), broken.to_pandas(by="metric")),
    ):
        assert list(one) == list(other)
        numbers = [name for name in one if name.startswith("accuracy") or name in ("value", "low", "high")]
        assert {str(frame[name].dtype) for frame in (one, other) for name in numbers} == {"float64"}
    unscored = [one.to_pandas()["unscored"] for one in (fine, broken)]
    assert [str(one.dtype) for one in unscored] == ["object"] * 2 and unscored[0].tolist() == [None] * 12


def test_the_page_holds_both_runs(tmp_path):
    both = quadrag.compare(measure(first, "v1"), measure(every, "v2"))
    page = both.report(tmp_path / "pages" / "both.html")
    text = page.read_text(encoding="utf-8")
    assert "v2 minus v1" in text and "v1, v2" in text


def test_failures_and_a_part_are_told_as_the_report_tells_them(capsys):
    def broken(question):
        if question.id in ("3", "5"):
            raise ValueError("no luck")
        return first(question)

    whole, bad, part = measure(first, "v1"), measure(broken, "broken"), measure(first, "part", limit=6)
    both = quadrag.compare(whole, bad)
    capsys.readouterr()
    assert main(["report", str(whole.folder), str(bad.folder)]) in (0, None)
    reported = " ".join(capsys.readouterr().out.split())
    for said in (repr(both), both._repr_html_(), reported):
        assert "noise_robustness_en noise_60: 2 of 12 items failed (2 raised)" in said
        assert "on the 10 questions that both scored; 2 failed in" in " ".join(said.split())
    said = repr(quadrag.compare(whole, part))
    assert "part: PARTIAL: " in said and "6 of 12 questions." in said
    assert "; on the 6 questions that both scored)." in " ".join(said.split())


def test_a_profile_with_the_opposite_verdict_is_told_in_python_in_the_terminal_and_on_the_page(capsys, tmp_path):
    """Official BLEU has no brevity penalty: the first words of the reference score higher than most of it."""
    place = ("crud_rag", "summary")
    found, _ = load_questions(Task(*place, data_dir="sample", retriever="none"), load("crud_rag"))
    gold = {one.id: str(one.references) for one in found}

    def measure_cut(cut, name):
        return quadrag.evaluate(*place, lambda question: cut(gold[question.id]), data_dir="sample", name=name)

    sides = [measure_cut(lambda text: text[:16], "short"), measure_cut(lambda text: text[:60] + "是的" * 30, "long")]
    told = "The other profile, corrected, says otherwise: long is better on bleu: +"
    both = quadrag.compare(*sides)
    shown = " ".join(repr(both).split())
    assert told in shown and both["bleu"].verdict == "worse"
    assert told in both.report(tmp_path / "both.html").read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["report", *(str(one.folder) for one in sides)]) in (0, None)
    assert told in " ".join(capsys.readouterr().out.split())


def test_a_side_that_is_invalid_is_named_with_its_reason():
    good = measure(first, "mine")
    left = iter(range(24))
    bad, worse = (measure(lambda question: next(left) % 2 or "x", name) for name in ("mine", "third"))
    for sides in ((good, bad), (bad, good)):
        with pytest.raises(quadrag.QuadragError) as told:
            quadrag.compare(*sides)
        said = str(told.value)
        assert said.startswith("nothing to compare: mine-2 is INVALID, noise_robustness_en noise_60: 6 of 12")
        assert said.endswith('; retry="failed" asks it again about the 6 questions on which it failed')
    with pytest.raises(quadrag.QuadragError, match=r"mine-2 is INVALID, .* failed; third is INVALID, .* failed$"):
        quadrag.compare(bad, worse)


def test_one_result_alone_is_not_compared():
    one = measure(first, "mine")
    with pytest.raises(quadrag.QuadragError, match=r"not a list of them; write compare\(\*runs\)$"):
        quadrag.compare([one, one])
    with pytest.raises(quadrag.QuadragError, match=r"^compare takes two evaluations or more, here is one$"):
        quadrag.compare(one)
    with pytest.raises(quadrag.QuadragError, match=r"^compare 比较两次或更多的评测，这里只有一次$"):
        quadrag.compare(one, labels="zh")


def test_a_metric_by_which_no_question_is_shown_is_refused():
    sides = [measure(first, name) for name in ("mine", "yours")]
    with pytest.raises(quadrag.QuadragError, match=r"'zzz' says which questions .* worse=True or better=True with it"):
        quadrag.compare(*sides).show(metric="zzz")


def test_answers_of_a_run_that_stopped_are_counted_wherever_numbers_are_shown(capsys):
    left = iter(range(5))

    def stopping(question):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return "old"

    with pytest.raises(KeyboardInterrupt):
        measure(stopping, "mine")
    mixed = measure(first, "mine")
    assert mixed.to_pandas()["answer"].tolist().count("old") == 5
    capsys.readouterr()
    mixed.show()
    other = measure(first, "other")
    both = quadrag.compare(other, mixed)
    shown = [capsys.readouterr().out, repr(mixed), mixed._repr_html_(), repr(quadrag.result(mixed.folder))]
    shown += [repr(both), both._repr_html_()]
    both.show()
    for text in (*shown, capsys.readouterr().out):
        said = " ".join(text.split())
        assert "5 of 12 answers are kept ones, from 20" in said and "fresh=True asks anew" in said
        assert "--" not in said.replace("var(--", "")  # of a colour
    kept, head = (repr(both).index(f"\n{one}") for one in ("! mine: 5 of 12 answers", "metric"))
    assert kept < head, "above the table"
    assert "kept ones" not in repr(other) + other._repr_html_()
    chinese = quadrag.result(mixed.folder, labels="zh")
    for said in (repr(chinese), repr(quadrag.compare(other.folder, chinese, labels="zh"))):
        assert "12 个回答中有 5 个是已存的，" in said and "重新提问。" in said.replace("\n  ", "")
    assert said.index("\n! mine：12 个") < said.index("\n指标")


def test_answers_that_stand_while_the_judge_was_dead_are_counted_too(monkeypatch):
    monkeypatch.setenv("QUADRAG_CACHE", "cache")
    place = ("crag", "task_1_2")
    part = {"data_dir": "sample", "split": "public", "limit": 3, "out": "mine"}
    with pytest.warns(UserWarning, match="the judge does not answer"):
        quadrag.evaluate(*place, lambda question: "old", judge="http://127.0.0.1:9/v1#j", **part)
    with ChatServer(models=["j"]) as server:
        judge = {"judge": f"{server.url}#j", "judge_service": "http://127.0.0.1:9/v1", "max_failed": 1}
        found = quadrag.evaluate(*place, lambda question: "new", **judge, **part)
    assert set(found.to_pandas()["answer"]) == {"old"}
    assert "\n! All 3 answers are kept ones, from 20" in repr(found)
