"""Grades of people: what is on record whatever happens, what two people come to, which items a person is given."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from reviewed import HUMAN, Made, first, grade, lines_of, review

from quadrag.baselines.construct.review import server
from quadrag.baselines.construct.review.grades import check_annotator, give_grade, list_annotators, read_grades
from quadrag.baselines.construct.review.items import load, sample
from quadrag.errors import QuadragError

GRADER = """
import sys
from pathlib import Path
from quadrag.baselines.construct.review.grades import give_grade
from quadrag.baselines.construct.review.items import load
dataset = Path(sys.argv[1])
review, items = load(dataset)
for name, item in items.items():
    give_grade(dataset, review, item, "anna", 4, {})
    print(name, flush=True)
"""


def test_every_grade_stays_in_the_file_and_the_last_one_counts(made: Made) -> None:
    dataset = made("rgb")
    how, item = first(dataset)
    for given in (2, 5, 5, 4):
        assert give_grade(dataset, how, item, "anna", given, {}) is None
    assert [line["grade"] for line in lines_of(dataset, "anna")] == [2, 5, 4]
    assert read_grades(dataset, "anna")[item.id].grade == 4
    assert read_grades(dataset, "bob") == {}


def test_a_killed_process_loses_no_grade_that_it_told_of(made: Made) -> None:
    dataset = made("rgb")
    process = subprocess.Popen(
        [sys.executable, "-c", GRADER, str(dataset)], stdout=subprocess.PIPE, text=True, env=os.environ.copy()
    )
    assert process.stdout is not None
    told = [process.stdout.readline().strip() for _ in range(7)]
    process.kill()
    told += process.stdout.read().split()
    process.wait()
    assert set(told) <= set(read_grades(dataset, "anna")) and len(told) < len(load(dataset)[1])
    # A line that it left half costs nothing but itself.
    with (dataset / "reviews/anna.jsonl").open("ab") as file:
        file.write(b'{"item": "half')
    grade(dataset, "anna", [1])
    found = read_grades(dataset, "anna")
    assert set(told) <= set(found) and found[told[0]].grade == 1


def test_a_line_that_is_no_grade_counts_for_nothing(made: Made) -> None:
    dataset = made("rgb")
    grade(dataset, "anna", [4, 4])
    one, other = list(load(dataset)[1])[:2]
    lines: list[Any] = [[], 4, {"item": [one]}, {"grade": 5}, {"item": one, "grade": 5}]
    lines += [{"item": one, "grade": given, "correction": {}} for given in (0, 6, "5", 5.0, True, None)]
    lines += [{"item": one, "grade": 3, "correction": wrong} for wrong in (5, [1], {"question": 5}, {"answer": [5]})]
    with (dataset / "reviews/anna.jsonl").open("ab") as file:
        file.writelines(json.dumps(line).encode() + b"\n" for line in lines)
        file.write(b"\xff\n" + b"[" * 100_000 + b"\n")
        for correction in ({"nothing": "of the kind"}, {"question": ["a"]}):
            file.write(json.dumps({"item": other, "grade": 3, "correction": correction}).encode() + b"\n")
    assert read_grades(dataset, "anna") == {one: (4, {}), other: (3, {"question": ["a"]})}
    assert review(dataset, "--human") == 0
    assert len((dataset / "human/zh.json").read_text(encoding="utf-8").splitlines()) == 1


@pytest.mark.parametrize("name", ["../anna", "", "a b", ".anna", "a/b", "x" * 41])
def test_a_name_that_cannot_be_a_files_is_refused(name: str) -> None:
    with pytest.raises(QuadragError, match="annotator"):
        check_annotator(name)


def test_one_person_is_not_two_by_the_case_of_letters(made: Made) -> None:
    assert check_annotator(" Anna ") == check_annotator("anna") == "anna"
    dataset = made("rgb")
    grade(dataset, "anna", [4])
    assert list_annotators(dataset) == ["anna"]


def test_two_people_and_what_they_agree_on(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    dataset = made("rgb")
    _, items = load(dataset)
    other = f"{next(iter(items.values())).fields['question']}（选填）"
    assert review(dataset, "--summary") == 2
    grade(dataset, "anna", [3, 4, 5, 1, 2, 4, 3], {"question": other})
    grade(dataset, "bob", [4, 4, 4, 2, 4, 1])
    with (dataset / "reviews/bob.jsonl").open("a") as file:
        file.write('{"item": "0123456789abcdef", "grade": 5, "correction": {}}\n')
    capsys.readouterr()
    assert review(dataset, "--summary") == 0
    said = capsys.readouterr().out.splitlines()
    # Of 6 both: decisions keep-keep twice, discard-discard once; grades 4-4 once. By chance, of the margins
    # (mend 1, keep 3, discard 2) and (keep 4, discard 2): 16 of 36, so kappa is (1/2 - 4/9) / (5/9) = 0.10.
    assert said[0] == (
        "anna: 7 graded (1 of grade 1, 1 of grade 2, 2 of grade 3, 2 of grade 4, 1 of grade 5); "
        "accepted 5 of 7, 71.4% [35.9%, 91.8%]"
    )
    assert "anna and bob: 6 graded by both; same decision 50.0% (kappa 0.10), same grade 16.7%" in said[2]
    assert said[3].startswith("passed by all who graded: 4 of 7, 57.1%")
    assert said[4] == "1 grades of questions that the dataset no longer has; they count for nothing"


def test_two_corrections_that_differ_wait(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    dataset = made("rgb")
    question = first(dataset)[1].fields["question"]
    grade(dataset, "anna", [3, 5], {"question": f"{question}（选填）"})
    grade(dataset, "bob", [3, 5], {"question": f"{question}（必填）"})
    assert review(dataset, "--summary") == 0
    said = capsys.readouterr().out
    assert "all who graded: 1 of 2" in said and "1 corrected in two ways" in said
    grade(dataset, "bob", [3], {"question": f"{question}（选填）"})
    assert review(dataset, "--summary") == 0
    said = capsys.readouterr().out
    assert "all who graded: 2 of 2" in said and "two ways" not in said


@pytest.mark.parametrize("recipe", HUMAN)
def test_a_recipe_has_its_words_in_both_languages(recipe: str, made: Made) -> None:
    how, items = load(made(recipe), "zh")
    assert [ask for ask in how.asks if not re.search("[\u4e00-\u9fff]", ask)] == []
    words = yaml.safe_load((Path(server.__file__).with_name("words.yaml")).read_text(encoding="utf-8"))
    names = {re.sub(r"_\d+$", "", name) for item in items.values() for name in item.fields}
    assert names <= set(words) and all(entry["zh"] != entry["en"] for entry in words.values())


@pytest.mark.parametrize("recipe", HUMAN)
def test_a_sample_is_even_over_cells_and_a_larger_one_holds_it(recipe: str, made: Made) -> None:
    _, items = load(made(recipe))
    sizes = Counter(item.cell for item in items.values())
    assert len(sizes) > 2
    drawn = [sample(items, n, 2333) for n in (5, 20)]
    assert [len(one) for one in drawn] == [5, 20] and set(drawn[0]) < set(drawn[1])
    counts = Counter(item.cell for item in drawn[1].values())
    full = [counts[cell] for cell in sizes if counts[cell] < sizes[cell]]
    assert max(full) - min(full) <= 1
    assert set(sample(items, 20, 1)) != set(drawn[1])
    assert sample(items, 10**6, 1) == items


def test_what_cannot_be_reviewed_is_refused(made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert review(tmp_path, "--summary") == 2
    dataset = made("rgb")
    grade(dataset, "anna", [1])
    assert review(dataset, "--human") == 2
    grade(dataset, "anna", [5])
    (dataset / "human").mkdir()
    (dataset / "human/mine.txt").write_text("my own")
    assert review(dataset, "--human") == 2
    told = capsys.readouterr().err.splitlines()
    assert ["has no construct.json" in told[0], "nothing of" in told[1], "holds something else" in told[2]] == [
        True
    ] * 3
    assert (dataset / "human/mine.txt").read_text() == "my own"
