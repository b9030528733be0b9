"""`quadrag label --metric errors`: the paper's classes of errors, given to wrong answers by people."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

RUN = ("run", "rgb", "information_integration_zh", "--data-dir", "sample", "--out", "R")
CONFIG = ("--benchmark", "rgb", "--config", "noise_robustness_zh", "--split", "noise_40", "--data-dir", "sample")


@pytest.fixture
def integrated(cli: Any) -> Any:
    """A function that sorts the wrong answers of a run of the extractive baseline, in an empty folder."""
    assert cli(*RUN).code == 0
    return lambda *arguments: cli("label", "R", "--metric", "errors", *arguments)


def rows_of(name: str) -> list[dict[str, str]]:
    with Path(name).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def cells(out: str, label: str, block: str = "class ") -> list[str]:
    """The cells of the first line with a label below a heading."""
    below = out[out.index(block) :].splitlines()
    return next(line for line in below if line.strip().startswith(label)).replace(label, "").split()


def test_people_fill_in_a_sheet(integrated: Any) -> None:
    code, out, _ = integrated("--out", "sheet.csv")
    assert code == 0 and out.startswith("sheet.csv: 19 of 19 items") and "\nmisalignment: " in out
    rows = rows_of("sheet.csv")
    assert all(row["passages"] and row["label"] == "" for row in rows)
    first, second, third, *_ = sorted(row["id"] for row in rows)
    said = {first: "Merging", second: "merging; long distance", third: "other"}
    Path("filled.csv").write_text("id;label\n" + "".join(f'{name};"{text}"\n' for name, text in said.items()))
    code, out, _ = integrated("--people", "filled.csv")
    assert code == 0 and "28% merging" in out and max(map(len, out.splitlines())) <= 80
    assert cells(out, "merging")[0] == "66.7" and cells(out, "other")[0] == cells(out, "long distance")[0] == "33.3"
    assert cells(out, "wrong", "answers   ") == ["5", "7", "7"] and cells(out, "sorted", "wrong   ") == ["3", "0", "0"]


def test_a_sheet_holds_no_formula_and_nothing_that_a_terminal_obeys(cli: Any) -> None:
    answers = ["=HYPERLINK(1)", "@x", "a\x1b[31m red\ud83d", "plain", "-1", "x" * 9, "", "b\r\nc"]
    ids = [(number, sample) for number in range(12) for sample in (0, 1)]
    lines = [{"id": number, "sample": sample, "answer": (answers * 2)[number]} for number, sample in ids]
    Path("a.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert cli("score", "a.jsonl", *CONFIG, "--out", "R").code == 0
    assert cli("label", "R", "--metric", "errors", "--out", "sheet.csv").code == 0
    sheet = rows_of("sheet.csv")
    texts = {row["answer"] for row in sheet}
    assert {"'=HYPERLINK(1)", "'@x", "-1", "b\nc"} <= texts
    assert not any("\x1b" in cell for cell in texts)
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in texts - {"-1"})
    assert {row["id"][-2:] for row in sheet} == {"/0", "/1"}, "each sample of a question by itself"


def test_bad_input_is_one_line(integrated: Any, cli: Any) -> None:
    integrated("--out", "sheet.csv")
    Path("bad.csv").write_text("id,label\nnoise_0/2/0,laziness\n")
    Path("twice.csv").write_text("id,label\nnoise_0/2/0,other\nnoise_0/2/0,other\n")
    people = [("--people", name) for name in ("nowhere.csv", "bad.csv", "twice.csv")]
    for arguments in [(), ("--out", "sheet.csv"), ("--out", "a", "--people", "b"), *people]:
        code, out, err = integrated(*arguments)
        assert (code, out) == (2, "") and err.count("\n") == 1, err
    cli("run", "rgb", "counterfactual_robustness_en", "--data-dir", "sample", "--out", "C")
    assert cli("label", "C", "--metric", "errors", "--out", "s").code == 2
