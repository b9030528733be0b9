"""What becomes of corrections: they are held against the source, and the human split has what was passed."""

from __future__ import annotations

from collections import Counter

import pytest
from reviewed import HUMAN, Made, review

from quadrag import cli
from quadrag.baselines.construct.held import stands_in
from quadrag.baselines.construct.review.grades import give_grade, read_grades
from quadrag.baselines.construct.review.items import load
from quadrag.baselines.construct.steps import Drop
from quadrag.data.builders import open_builder, rows


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [name for name in HUMAN if name != "crag"])
def test_a_correction_is_held_against_the_source_and_a_failing_one_told(recipe: str, made: Made) -> None:
    dataset = made(recipe)
    how, items = load(dataset)
    item = next(item for item in items.values() if "question" in item.fields)
    answer = item.marks[0]
    bad = {"question": f"{item.fields['question']}{answer}是？"} if len(answer) > 1 else {"question": "本文说了什么？"}
    fault = give_grade(dataset, how, item, "anna", 3, bad)
    assert fault in ("answer stands in the question", "question speaks of the document")
    assert read_grades(dataset, "anna")[item.id] == (3, {}), "the grade itself is on record"
    assert give_grade(dataset, how, item, "anna", 3, {"question": "What is the name of the river?"}) is not None
    good = f"{item.fields['question']}（选填）"
    assert give_grade(dataset, how, item, "anna", 3, {"question": good}) is None
    assert give_grade(dataset, how, item, "anna", 3, {"question": f" {item.fields['question']}\n"}) is None
    assert give_grade(dataset, how, item, "anna", 3, bad) == fault
    assert read_grades(dataset, "anna")[item.id] == (3, {"question": good}), "nothing took it back"
    assert "only what has grade 3" in str(give_grade(dataset, how, item, "anna", 4, {"question": f"{good}！"}))


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
    graded = min(6, len(here))
    assert f"of {graded} that were graded, by 1 of them, the {len(wanted)} that passed are here" in card
    assert "Licence of the documents: CC BY 4.0." in card and "No person has read" not in card
    assert {path: path.read_bytes() for path in before} == before, "nothing of the dataset itself is changed"
    run = ["run", recipe, config, "--split", split, "--data-dir", str(dataset / folder), "--out", str(dataset / "run")]
    assert cli.main([*run, *(["--retriever", "bm25"] if recipe in ("crud_rag", "omnieval") else [])]) == 0


def test_crags_answer_is_computed_and_its_other_file_corrected_too(made: Made) -> None:
    dataset = made("crag")
    how, items = load(dataset)
    item = next(item for item in items.values() if item.line["split"] == 0)
    assert "is computed" in str(give_grade(dataset, how, item, "anna", 3, {"answer": "something else"}))
    assert give_grade(dataset, how, item, "anna", 3, {"question": "沛溪县的龙舟公开赛在哪一天？"}) == (
        "question in another language"
    )
    assert give_grade(dataset, how, item, "anna", 3, {"other_answers": "one form\n\nanother one"}) is None
    assert review(dataset, "--human") == 0
    found = {}
    for config in ("task_1_2", "task_3"):
        for folder in (dataset, dataset / "human"):
            builder, _ = open_builder("crag", config, str(folder), None, "validation")
            found[folder, config] = [row for row in rows(builder, "validation") if row["query"] == item.line["query"]]
        ((before,), (after,)) = (found[folder, config] for folder in (dataset, dataset / "human"))
        assert after == {**before, "alternatives": ["one form", "another one"]}


def test_a_corrected_answer_parts_rgbs_passages_anew(made: Made) -> None:
    dataset = made("rgb")
    how, items = load(dataset)
    done = Counter[str]()
    for item in items.values():
        answer = item.passages[0][:5]
        fields = {"answer": [answer], "question": "请填空：____在哪里举行，什么时候？"}
        try:
            line = how.correct(item, fields)
        except Drop:
            continue
        done[item.kept[1]] += 1
        aspects = line["positive"] if item.kept[1] == "int" else [line["positive"]]
        assert [answer] == line["answer"][0] and item.passages[0] in aspects[0]
        for answers, positive in zip(line["answer"], aspects, strict=True):
            assert all(any(stands_in(one, text) for one in answers) for text in positive)
            assert not any(stands_in(one, text) for one in answers for text in line["negative"])
        if item.kept[1] == "fact":
            assert not any(stands_in(answer, text) for text in line["positive_wrong"])
    assert set(done) == {"base", "int", "fact"}
