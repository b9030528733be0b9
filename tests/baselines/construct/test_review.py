"""People grade what was made: what is on record, what two people come to, what a correction must hold."""

import csv
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from quadrag import cli
from quadrag.construct.checks import stands_in
from quadrag.construct.review import check_annotator, give_grade, list_annotators, load, read_grades, sample
from quadrag.construct.steps import Rejected
from quadrag.data.builders import open_builder, rows
from quadrag.errors import QuadragError

Made = Callable[[str], Path]
# Of each recipe a config and the column of its question, where the human split is.
HUMAN = {
    "crag": ("task_1_2", "validation", "query", "human"),
    "rgb": ("noise_robustness_zh", "noise_0", "query", "human"),
    "crud_rag": ("qa_1doc", "test", "query", "human"),
    "omnieval": ("extractive_qa", "human", "question", "."),
}
GRADER = """
import sys
from pathlib import Path
from quadrag.construct.review import give_grade, load
dataset = Path(sys.argv[1])
review, items = load(dataset)
for name, item in items.items():
    give_grade(dataset, review, item, "anna", 4, {})
    print(name, flush=True)
"""


def review(*arguments: Any) -> int:
    return cli.main(["construct", "review", *map(str, arguments)])


def grade(dataset: Path, who: str, grades: Iterable[int], texts: dict[str, str] | None = None) -> None:
    """Grade the first items of a dataset; of grade 3 with corrections."""
    how, items = load(dataset)
    for item, given in zip(items.values(), grades, strict=False):
        assert give_grade(dataset, how, item, who, given, (texts or {}) if given == 3 else {}) is None


def on_record(dataset: Path, who: str) -> dict[str, tuple[int, Any]]:
    return {name: (said.grade, said.correction) for name, said in read_grades(dataset, who).items()}


def lines_of(dataset: Path, who: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (dataset / "reviews" / f"{who}.jsonl").read_bytes().splitlines()]


def test_every_grade_stays_in_the_file_and_the_last_one_counts(made: Made) -> None:
    dataset = made("rgb")
    for given in (2, 5, 5, 4):
        grade(dataset, "anna", [given])
    assert [line["grade"] for line in lines_of(dataset, "anna")] == [2, 5, 4]
    assert [said.grade for said in read_grades(dataset, "anna").values()] == [4]
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


def test_an_annotators_name_names_a_file_whatever_the_case_of_its_letters() -> None:
    assert check_annotator(" Anna ") == check_annotator("anna") == "anna"
    for name in ("../anna", "", "a b", ".anna", "a/b", "x" * 41):
        with pytest.raises(QuadragError, match="annotator"):
            check_annotator(name)


def test_two_people_and_what_they_agree_on(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    dataset = made("rgb")
    other = f"{next(iter(load(dataset)[1].values())).fields['question']}（选填）"
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
    assert "accepted 5 of 7, 71.4% [35.9%, 91.8%]" in said[0]
    assert "6 graded by both; same decision 50.0% (kappa 0.10), same grade 16.7%" in said[2]
    assert "4 of 7, 57.1%" in said[3] and said[4].startswith("1 grades of")
    # Corrected in two ways, an item waits until both corrections are the same.
    grade(dataset, "bob", [3], {"question": f"{other}！"})
    assert review(dataset, "--summary") == 0
    assert "3 of 7" in (waiting := capsys.readouterr().out) and "1 corrected in two ways" in waiting
    grade(dataset, "bob", [3], {"question": other})
    assert review(dataset, "--summary") == 0
    assert "4 of 7" in (joined := capsys.readouterr().out) and "two ways" not in joined


@pytest.mark.parametrize("recipe", HUMAN)
def test_a_sample_is_even_over_cells_and_a_larger_one_holds_it(recipe: str, made: Made) -> None:
    _, items = load(made(recipe))
    sizes = Counter(item.cell for item in items.values())
    assert len(sizes) > 2
    drawn = [sample(items, n, 2333) for n in (5, 20)]
    assert [len(found) for found in drawn] == [5, 20] and set(drawn[0]) < set(drawn[1])
    counts = Counter(item.cell for item in drawn[1].values())
    full = [counts[cell] for cell in sizes if counts[cell] < sizes[cell]]
    assert max(full) - min(full) <= 1
    assert set(sample(items, 20, 1)) != set(drawn[1])
    assert sample(items, 10**6, 1) == items


def test_what_cannot_be_reviewed_is_refused(made: Made, tmp_path: Path) -> None:
    assert review(tmp_path, "--summary") == 2
    dataset = made("rgb")
    grade(dataset, "anna", [1])
    assert review(dataset, "--human") == 2
    grade(dataset, "anna", [5])
    (dataset / "human").mkdir()
    (dataset / "human/mine.txt").write_text("my own")
    assert review(dataset, "--human") == 2
    assert (dataset / "human/mine.txt").read_text() == "my own"


@pytest.mark.parametrize("recipe", [name for name in HUMAN if name != "crag"])
def test_a_correction_is_held_against_the_source_and_a_failing_one_told(recipe: str, made: Made) -> None:
    dataset = made(recipe)
    how, items = load(dataset)
    item = next(item for item in items.values() if "question" in item.fields)
    answer = item.marks[0]
    bad = {"question": f"{item.fields['question']}{answer}是？"} if len(answer) > 1 else {"question": "本文说了什么？"}
    fault = give_grade(dataset, how, item, "anna", 3, bad)
    assert fault in ("answer stands in the question", "question speaks of the document")
    assert on_record(dataset, "anna")[item.id] == (3, {}), "the grade itself is on record"
    assert give_grade(dataset, how, item, "anna", 3, {"question": "What is the name of the river?"}) is not None
    good = f"{item.fields['question']}（选填）"
    for texts in ({"question": good}, {"question": f" {item.fields['question']}\n"}):
        assert give_grade(dataset, how, item, "anna", 3, texts) is None
    assert give_grade(dataset, how, item, "anna", 3, bad) == fault
    assert on_record(dataset, "anna")[item.id] == (3, {"question": good}), "nothing took it back"
    assert give_grade(dataset, how, item, "anna", 4, {"question": f"{good}！"}), "only what has grade 3 is corrected"


@pytest.mark.slow
@pytest.mark.parametrize("recipe", HUMAN)
def test_the_human_split_holds_what_was_passed_as_it_was_corrected(recipe: str, made: Made) -> None:
    config, split, column, folder = HUMAN[recipe]
    dataset = made(recipe)
    before = {path: path.read_bytes() for path in dataset.rglob("*") if path.is_file()}
    how, items = load(dataset)
    cell = next((item for item in items.values() if config in item.cell), None)
    here = [item for item in items.values() if (item.cell == cell.cell if cell else item.line["split"] == 0)]
    mended = f"{here[2].fields['question']}{'（选填）' if cell else ' Really?'}"
    for item, given in zip(here, (1, 2, 3, 4, 5, 3), strict=False):
        texts = {"question": mended} if item is here[2] else {}
        assert give_grade(dataset, how, item, "anna", given, texts) is None
    wanted = [mended, *(item.fields["question"] for item in here[3:5])]
    for _ in range(2):  # the second one takes the place of the first
        assert review(dataset, "--human") == 0
        builder, _ = open_builder(recipe, config, str(dataset / folder), None, split)
        assert [row[column] for row in rows(builder, split)] == wanted
    card = (dataset / how.human / "README.md").read_text(encoding="utf-8")
    assert f"the {len(wanted)} that passed are here" in card and "Licence of the documents: CC BY 4.0." in card
    assert {path: path.read_bytes() for path in before} == before, "nothing of the dataset itself is changed"
    run = ["run", recipe, config, "--split", split, "--data-dir", str(dataset / folder), "--out", str(dataset / "run")]
    assert cli.main([*run, *(["--retriever", "bm25"] if recipe in ("crud_rag", "omnieval") else [])]) == 0


def test_crags_answer_is_computed_and_its_other_file_corrected_too(made: Made) -> None:
    dataset = made("crag")
    how, items = load(dataset)
    item = next(item for item in items.values() if item.line["split"] == 0)
    for wrong in ({"answer": "something else"}, {"question": "沛溪县的龙舟公开赛在哪一天？"}):
        assert give_grade(dataset, how, item, "anna", 3, wrong) is not None
    assert give_grade(dataset, how, item, "anna", 3, {"other_answers": "one form\n\nanother one"}) is None
    assert review(dataset, "--human") == 0
    for config in ("task_1_2", "task_3"):
        found = []
        for folder in (dataset, dataset / "human"):
            builder, _ = open_builder("crag", config, str(folder), None, "validation")
            found += [row for row in rows(builder, "validation") if row["query"] == item.line["query"]]
        before, after = found
        assert after == {**before, "alternatives": ["one form", "another one"]}


def test_a_corrected_answer_parts_rgbs_passages_anew(made: Made) -> None:
    how, items = load(made("rgb"))
    done = set()
    for item in items.values():
        answer = item.passages[0][:5]
        try:
            line = how.correct(item, {"answer": [answer], "question": "请填空：____在哪里举行，什么时候？"})
        except Rejected:
            continue
        done.add(item.kept[1])
        aspects = line["positive"] if item.kept[1] == "int" else [line["positive"]]
        assert [answer] == line["answer"][0] and item.passages[0] in aspects[0]
        for answers, positive in zip(line["answer"], aspects, strict=True):
            assert all(any(stands_in(one, text) for one in answers) for text in positive)
            assert not any(stands_in(one, text) for one in answers for text in line["negative"])
        if item.kept[1] == "fact":
            assert not any(stands_in(answer, text) for text in line["positive_wrong"])
    assert done == {"base", "int", "fact"}


def fill(path: Path, said: list[tuple[str, dict[str, str]]]) -> None:
    """Fill in grade and changed texts of the first rows of a sheet."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    for line, (given, texts) in zip(lines, said, strict=False):
        line.update(grade=given, annotator="a.b@c", **texts)
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        sheet = csv.DictWriter(file, lines[0])
        sheet.writeheader()
        sheet.writerows(lines)


def test_a_sheet_goes_out_and_comes_back(made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dataset, path = made("rgb"), tmp_path / "sheet.csv"
    first_line, *others = (dataset / "zh.json").read_text(encoding="utf-8").splitlines(keepends=True)
    evil = {**json.loads(first_line), "query": "=HYPERLINK(1)<b>x</b>是哪天？"}
    (dataset / "zh.json").write_text(json.dumps(evil) + "\n" + "".join(others), encoding="utf-8")
    items = list(load(dataset)[1].values())
    assert review(dataset, "--sheet", path) == 0
    assert review(dataset, "--sheet", path) == 2
    assert f'\n"{items[0].id}","noise_robustness_zh","\'=HYPERLINK' in path.read_text(encoding="utf-8")
    good = {"question": f"{items[1].fields['question']}（选填）"}
    fill(path, [("5", {}), ("3", good), ("3", {"answer": "不在文中的答案"}), ("2", {})])
    capsys.readouterr()
    for _ in range(2):  # taken twice, it is on record once
        assert review(dataset, "--take", path) == 2
        assert capsys.readouterr().err.count("\n") == 1, "one line for the correction that was not taken"
    assert list_annotators(dataset) == ["a-b-c"] and len(lines_of(dataset, "a-b-c")) == 4
    found = on_record(dataset, "a-b-c")
    assert [found[item.id] for item in items[:4]] == [(5, {}), (3, good), (3, {}), (2, {})]
    assert review(dataset, "--take", path, "--annotator", "Bob") == 2
    assert on_record(dataset, "bob") == found


def test_a_list_goes_out_and_comes_back_an_entry_a_line(made: Made, tmp_path: Path) -> None:
    dataset, path = made("omnieval"), tmp_path / "sheet.csv"
    how, items = load(dataset)
    item = next(iter(items.values()))
    assert review(dataset, "--sheet", path) == 0
    answers = [*item.fields["answer"], "别的说法"]
    fill(path, [("3", {"answer": "\n".join(answers)})])
    assert review(dataset, "--take", path) == 0
    correction = read_grades(dataset, "a-b-c")[item.id].correction
    assert correction == {"answer": answers} and how.correct(item, correction)["answer"] == answers


@pytest.mark.parametrize("text", ["id,grade\nx,4", "{"])
def test_a_file_that_is_no_sheet_is_one_line(text: str, made: Made, tmp_path: Path, capsys: Any) -> None:
    dataset = made("rgb")
    (tmp_path / "a.csv").write_text(text)
    assert review(dataset, "--take", tmp_path / "a.csv") == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert list_annotators(dataset) == []
