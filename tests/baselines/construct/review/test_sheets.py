"""Sheets of questions to review go out, to people's own programs, and their grades come back."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from reviewed import Made, first, lines_of, review

from quadrag.baselines.construct.review.grades import list_annotators, read_grades
from quadrag.baselines.construct.review.items import load

EVIL = "=HYPERLINK(1)<b>x</b>"


def fill(path: Path, form: str, who: str, said: list[tuple[str, dict[str, str]]]) -> None:
    """Fill in a file as the program does that people grade with: grade and changed texts of the first items."""
    if form == "csv":
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = list(csv.DictReader(file))
        for line, (given, texts) in zip(lines, said, strict=False):
            line.update(grade=given, annotator=who, **texts)
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            sheet = csv.DictWriter(file, lines[0])
            sheet.writeheader()
            sheet.writerows(lines)
        return
    found = json.loads(path.read_text(encoding="utf-8"))
    for one, (given, texts) in zip(found, said, strict=False):
        if form == "argilla":
            texts = {name: value["value"] for name, value in one["suggestions"].items()} | texts
            one["responses"] = {name: [{"value": text, "user_id": who}] for name, text in texts.items()}
            one["responses"]["grade"] = [{"value": int(given), "user_id": who}]
            continue
        result = [{"from_name": name, "type": "textarea", "value": {"text": [text]}} for name, text in texts.items()]
        result.append({"from_name": "grade", "type": "rating", "value": {"rating": int(given)}})
        one["annotations"] = [
            {"completed_by": {"id": 7, "email": who}, "result": result, "was_cancelled": False},
            {"completed_by": {"id": 8, "email": "x"}, "result": [], "was_cancelled": True},
        ]
    found = [one for one in found if one.get("annotations") or one.get("responses")]
    path.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")


@pytest.mark.parametrize("form", ["csv", "label-studio", "argilla"])
def test_a_sheet_goes_out_and_comes_back(
    form: str, made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = made("rgb")
    first_line, *others = (dataset / "zh.json").read_text(encoding="utf-8").splitlines(keepends=True)
    evil = {**json.loads(first_line), "query": f"{EVIL}是哪天？"}
    (dataset / "zh.json").write_text(json.dumps(evil) + "\n" + "".join(others), encoding="utf-8")
    items = list(load(dataset)[1].values())
    path = tmp_path / ("sheet.csv" if form == "csv" else "sheet.json")
    assert review(dataset, "--sheet", path, "--form", form) == 0
    assert review(dataset, "--sheet", path, "--form", form) == 2
    if form == "csv":
        assert f'\n"{items[0].id}","noise_robustness_zh","\'=HYPERLINK' in path.read_text(encoding="utf-8")
    good = {"question": f"{items[1].fields['question']}（选填）"}
    bad = {"answer": "不在文中的答案"}
    fill(path, form, "a.b@c", [("5", {}), ("3", good), ("3", bad), ("2", {})])
    capsys.readouterr()
    for _ in range(2):  # taken twice, it is on record once
        assert review(dataset, "--take", path) == 2
        out, err = capsys.readouterr()
        assert out == "4 grades taken\n"
        assert err.count("\n") == 1 and err.endswith("correction not taken: answer is not in the passages\n")
    assert list_annotators(dataset) == ["a-b-c"] and len(lines_of(dataset, "a-b-c")) == 4
    found = read_grades(dataset, "a-b-c")
    said = [(5, {}), (3, good), (3, {}), (2, {})]
    assert [found[item.id] for item in items[:4]] == said
    assert review(dataset, "--take", path, "--annotator", "Bob") == 2
    assert read_grades(dataset, "bob") == found


def test_a_list_goes_out_and_comes_back_an_entry_a_line(made: Made, tmp_path: Path) -> None:
    dataset, path = made("omnieval"), tmp_path / "sheet.csv"
    how, item = first(dataset)
    assert review(dataset, "--sheet", path) == 0
    answers = [*item.fields["answer"], "别的说法"]
    fill(path, "csv", "anna", [("3", {"answer": "\n".join(answers)})])
    assert review(dataset, "--take", path) == 0
    correction = read_grades(dataset, "anna")[item.id].correction
    assert correction == {"answer": answers} and how.correct(item, correction)["answer"] == answers


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "id,grade\nx,4", "does not say who graded"),
        ("a.csv", "id,label\nx,4", "no column grade"),
        ("a.json", '[{"annotations": [{"result": [{}]}]}]', "no column grade"),
        ("a.json", '[{"annotations": [{"result": 4}]}]', "is not as Label Studio or Argilla export it"),
        ("a.json", "[4]", "is no list of objects"),
        ("a.json", "{", "is not JSON"),
        ("b.json", "", "cannot read"),
    ],
)
def test_a_file_that_is_no_sheet_is_one_line(
    name: str, text: str, said: str, made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = made("rgb")
    if text:
        (tmp_path / name).write_text(text)
    assert review(dataset, "--take", tmp_path / name) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1
    assert list_annotators(dataset) == []
