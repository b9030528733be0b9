"""A judge trained on labels: how they are parted, what it learns, that it gives verdicts where it gave none."""

import csv
import json

import pytest

from quadrag import cli
from quadrag.errors import QuadragError
from quadrag.judges.labels import Item, find_graded, read_labels
from quadrag.judges.training import make_lessons, split_by_case


def write_labels(path, n):
    with path.open("w", encoding="utf-8", newline="") as file:
        sheet = csv.writer(file)
        sheet.writerow(["id", "question", "answer", "gold", "label", "group"])
        for at in range(n):
            # Of what a rule would decide, an equal answer, there is none.
            label = "right" if at % 3 else "wrong"
            sheet.writerow([f"i{at}", f"Question {at}?", f"about {at}", f"{at} units", label, f"g{at // 2}"])
    return path


def test_cases_stay_on_one_side_in_the_paper_s_shares():
    items = [Item(str(at), "right", group=f"case {at // 5}") for at in range(500)]
    parts = split_by_case(items, seed=1)
    assert [len(part) for part in parts] == [250, 50, 200]
    cases = [{item.group for item in part} for part in parts]
    assert not (cases[0] & cases[1] or cases[0] & cases[2] or cases[1] & cases[2])
    assert sorted(int(item.id) for part in parts for item in part) == list(range(500))
    assert split_by_case(items, seed=1) == parts != split_by_case(items, seed=2)


def test_a_lesson_is_what_a_run_asks_with_the_verdict_people_gave(tmp_path):
    labels = read_labels(write_labels(tmp_path / "labels.csv", 6), find_graded("truthfulness"))
    lessons = make_lessons(labels, labels.items)
    assert all(f"Question {at}?" in lesson[-2]["content"] for at, lesson in enumerate(lessons))
    said = {item.label: json.loads(lesson[-1]["content"]) for item, lesson in zip(labels.items, lessons, strict=True)}
    assert said == {"right": {"score": 1}, "wrong": {"score": 0}}


def test_a_metric_whose_verdict_is_no_number_cannot_be_learned(tmp_path):
    path = tmp_path / "labels.csv"
    graded = find_graded("rejection_rate")
    path.write_text(
        "id,question,answer,gold,label\n"
        + "".join(f"{at},q{at},a,g,{grade}\n" for at, grade in enumerate(graded.grades))
    )
    labels = read_labels(path, graded)
    with pytest.raises(QuadragError, match="labels"):
        make_lessons(labels, labels.items)


@pytest.mark.serve
@pytest.mark.timeout(900)
def test_a_trained_judge_gives_verdicts_where_it_gave_none(smollm2_folder, tmp_path, capsys):
    pytest.importorskip("peft", reason="peft is not installed (extra: judge)")
    labels = write_labels(tmp_path / "labels.csv", 10)
    line = ["construct", "judge", str(labels), "--model", str(smollm2_folder), "--out", str(tmp_path / "judge")]
    line += ["--ledger", str(tmp_path / "ledger.sqlite"), "--rate", "0.001", "--passes", "1", "--batch", "2"]
    assert cli.main(line) == 0
    printed = capsys.readouterr().out
    certificate = json.loads((tmp_path / "judge/certificate.json").read_text())
    assert certificate["judge"] == "judge" and certificate["figures"]["unreadable"] == {}
    assert certificate["figures"]["n"] == 4 and "kappa" in printed and smollm2_folder.name not in printed
    parts = json.loads((tmp_path / "judge/labels.json").read_text())
    assert [len(parts[name]) for name in ("learn", "choose", "unseen")] == [4, 2, 4]
    assert (tmp_path / "judge/adapter/adapter_config.json").is_file()
    assert cli.main(line) == 2
    assert "give a new folder" in capsys.readouterr().err
