"""People grade what was made: what stands in their sheets, what two come to, what a correction must hold."""

import csv
import json
from collections import Counter

import pytest

from quadrag import cli
from quadrag.construct.recipe import Rejected, stands_in
from quadrag.construct.review import load, read_grades, review_page, sample, sheet_of
from quadrag.data.builders import open_builder, rows
from quadrag.errors import QuadragError
from quadrag.records import write_jsonl

# Of each recipe a config and the column of its question, where the human split is.
HUMAN = {
    "crag": ("task_1_2", "validation", "query", "human"),
    "rgb": ("noise_robustness_zh", "noise_0", "query", "human"),
    "crud_rag": ("qa_1doc", "test", "query", "human"),
    "omnieval": ("extractive_qa", "human", "question", "."),
}


def review(*arguments):
    return cli.main(["construct", "review", *map(str, arguments)])


def grade(dataset, who, grades, texts=None, ids=()):
    """Grade items of a dataset, the first ones without ids, as the page does; return what is wrong with the last."""
    how, items = load(dataset)
    page, fault = review_page(dataset, how, items, who), ""
    for name, given in zip([*ids] or items, grades, strict=False):
        fault = page.save(name, str(given), (texts or {}) if given == 3 else {})
    return fault


def on_record(dataset, who):
    how, items = load(dataset)
    return {name: said[:2] for name, said in read_grades(sheet_of(dataset, who), how, items).items()}


def test_an_annotators_name_names_a_file_whatever_the_case_of_its_letters(tmp_path):
    assert sheet_of(tmp_path, " Anna ") == sheet_of(tmp_path, "anna") == tmp_path / "reviews" / "anna.csv"
    for name in ("../anna", "", "a b", ".anna", "a/b", "x" * 41):
        with pytest.raises(QuadragError):
            sheet_of(tmp_path, name)


def test_two_people_and_what_they_agree_on(made, capsys):
    dataset = made("rgb")
    other = f"{next(iter(load(dataset)[1].values())).fields['question']}（选填）"
    assert review(dataset, "--summary") == 2
    grade(dataset, "anna", [2])
    grade(dataset, "anna", [3, 4, 5, 1, 2, 4, 3], {"question": other})
    grade(dataset, "bob", [4, 4, 4, 2, 4, 1])
    capsys.readouterr()
    assert review(dataset, "--summary") == 0
    said = capsys.readouterr().out
    # Of 6 both: decisions keep-keep twice, discard-discard once; grades 4-4 once. By chance, of the margins
    # (mend 1, keep 3, discard 2) and (keep 4, discard 2): 16 of 36, so kappa is (1/2 - 4/9) / (5/9) = 0.10.
    assert "accepted 5 of 7, 71.4% [35.9%, 91.8%]" in said
    assert "6 graded by both; same decision 50.0% (kappa 0.10), same grade 16.7%" in said
    assert "4 of 7, 57.1%" in said
    # Corrected in two ways, an item waits until both corrections are the same.
    grade(dataset, "bob", [3], {"question": f"{other}！"})
    assert review(dataset, "--summary") == 0
    assert "3 of 7" in (waiting := capsys.readouterr().out) and "two ways" in waiting
    grade(dataset, "bob", [3], {"question": other})
    assert review(dataset, "--summary") == 0
    assert "4 of 7" in (joined := capsys.readouterr().out) and "two ways" not in joined


@pytest.mark.parametrize("recipe", HUMAN)
def test_a_sample_is_even_over_cells_and_a_larger_one_holds_it(recipe, made):
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


def test_what_cannot_be_reviewed_is_refused(made, tmp_path):
    assert review(tmp_path, "--summary") == 2
    dataset = made("rgb")
    grade(dataset, "anna", [1])
    assert review(dataset, "--human") == 2
    grade(dataset, "anna", [5])
    (dataset / "human").mkdir()
    (dataset / "human/mine.txt").write_text("my own")
    assert review(dataset, "--human") == 2
    assert (dataset / "human/mine.txt").read_text() == "my own"
    (dataset / "reviews/bob.csv").write_text("id,grade\nx,7\n")
    assert review(dataset, "--summary") == 2


@pytest.mark.parametrize("recipe", [name for name in HUMAN if name != "crag"])
def test_a_correction_is_held_against_the_source_and_a_failing_one_told(recipe, made):
    dataset = made(recipe)
    item = next(item for item in load(dataset)[1].values() if "question" in item.fields)
    answer, good = item.marks[0], f"{item.fields['question']}（选填）"
    bad = {"question": f"{item.fields['question']}{answer}是？"} if len(answer) > 1 else {"question": "本文说了什么？"}
    fault = grade(dataset, "anna", [3], bad, [item.id])
    assert fault in ("answer stands in the question", "question speaks of the document")
    assert on_record(dataset, "anna")[item.id] == (3, {}), "the grade itself is on record"
    assert grade(dataset, "anna", [3], {"question": "What is the name of the river?"}, [item.id])
    assert not grade(dataset, "anna", [3], {"question": good}, [item.id])
    assert grade(dataset, "anna", [3], bad, [item.id]) == fault
    assert on_record(dataset, "anna")[item.id] == (3, {"question": good}), "nothing took it back"
    grade(dataset, "anna", [4], {}, [item.id])
    assert on_record(dataset, "anna")[item.id] == (4, {}), "what is kept is kept as it was made"


@pytest.mark.slow
@pytest.mark.parametrize("recipe", HUMAN)
def test_the_human_split_holds_what_was_passed_as_it_was_corrected(recipe, made):
    config, split, column, folder = HUMAN[recipe]
    dataset = made(recipe)
    before = {path: path.read_bytes() for path in dataset.rglob("*") if path.is_file()}
    how, items = load(dataset)
    cell = next((item for item in items.values() if config in item.cell), None)
    here = [item for item in items.values() if (item.cell == cell.cell if cell else item.line["split"] == 0)]
    mended = f"{here[2].fields['question']}{'（选填）' if cell else ' Really?'}"
    for item, given in zip(here, (1, 2, 3, 4, 5, 3), strict=False):
        assert not grade(dataset, "anna", [given], {"question": mended} if item is here[2] else {}, [item.id])
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


def test_crags_answer_is_computed_and_its_other_file_corrected_too(made):
    dataset = made("crag")
    _, items = load(dataset)
    item = next(item for item in items.values() if item.line["split"] == 0)
    for wrong in ({"answer": "something else"}, {"question": "沛溪县的龙舟公开赛在哪一天？"}):
        assert grade(dataset, "anna", [3], wrong, [item.id])
    assert not grade(dataset, "anna", [3], {"other_answers": "one form\n\nanother one"}, [item.id])
    assert review(dataset, "--human") == 0
    for config in ("task_1_2", "task_3"):
        found = []
        for folder in (dataset, dataset / "human"):
            builder, _ = open_builder("crag", config, str(folder), None, "validation")
            found += [row for row in rows(builder, "validation") if row["query"] == item.line["query"]]
        before, after = found
        assert after == {**before, "alternatives": ["one form", "another one"]}


def test_a_corrected_answer_parts_rgbs_passages_anew(made):
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


def test_a_sheet_is_filled_in_by_a_spreadsheet_and_a_larger_sample_keeps_it(made, capsys):
    dataset = made("rgb")
    first_line, *others = (dataset / "zh.json").read_text(encoding="utf-8").splitlines(keepends=True)
    evil = {**json.loads(first_line), "query": "=HYPERLINK(1)<b>x</b>是哪天？"}
    (dataset / "zh.json").write_text(json.dumps(evil) + "\n" + "".join(others), encoding="utf-8")
    items = load(dataset)[1]
    assert review(dataset, "--annotator", "Anna", "--sheet") == 0
    path = dataset / "reviews/anna.csv"
    first, second, third, fourth, *_ = items
    assert f'\n"{first}","noise_robustness_zh","\'=HYPERLINK' in path.read_text(encoding="utf-8")
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    good = f"{items[second].fields['question']}（选填）"
    changes = {
        first: ("5", {}),
        second: ("3", {"question": good}),
        third: ("3", {"answer": "不在文中"}),
        fourth: ("2", {}),
    }
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        sheet = csv.DictWriter(file, lines[0], delimiter=";")
        sheet.writeheader()
        for line in lines[:20]:
            given, texts = changes.get(line["id"], ("", {}))
            sheet.writerow({**line, "grade": given, **texts})
    for _ in range(2):
        found = on_record(dataset, "anna")
        assert found == {
            first: (5, {}), second: (3, {"question": good}), third: (3, {"answer": ["不在文中"]}), fourth: (2, {}),
        }  # fmt: skip
        assert review(dataset, "--annotator", "anna", "--sheet") == 0, "the rest is put below"
    assert review(dataset, "--summary") == 0
    assert f"anna: {third} does not pass" in capsys.readouterr().out


def test_a_list_is_an_entry_a_line(made):
    dataset = made("omnieval")
    how, items = load(dataset)
    item = next(iter(items.values()))
    answers = [*item.fields["answer"], "别的说法"]
    assert not grade(dataset, "anna", [3], {"answer": "\n".join(answers)})
    correction = on_record(dataset, "anna")[item.id][1]
    assert correction == {"answer": answers} and how.correct(item, correction)["answer"] == answers


def test_a_line_separator_in_a_text_parts_no_line_and_a_line_that_lacks_something_is_named(tmp_path):
    made = {"question": "Q?", "answer": ["a\u2028b"], "relevant_passage": ["p"], "relevant_node": ["n"]}
    made |= {"topic_name": "field - topic", "task_name": "抽取类问答"}
    write_jsonl(tmp_path / "own_nodes/corpus.jsonl", [{"id": "n", "title": "", "contents": "p"}])
    write_jsonl(tmp_path / "gen_datas_own/questions.jsonl", [made])
    (tmp_path / "construct.json").write_text('{"recipe": "omnieval"}')
    (item,) = load(tmp_path)[1].values()
    assert item.fields["answer"] == ["a\u2028b"]
    del made["answer"]
    write_jsonl(tmp_path / "gen_datas_own/questions.jsonl", [made])
    with pytest.raises(QuadragError, match="lacks 'answer'"):
        load(tmp_path)
