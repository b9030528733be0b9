"""The words of notes and tables: the same codes with the same slots in every language, and nothing left in English."""

import re
from pathlib import Path
from string import Formatter

import pytest

from quadrag import catalogue
from quadrag.reporting.messages import read_messages, say, translate_table
from quadrag.reporting.table import Cell, Row, Table
from quadrag.reporting.tables import tabulate
from quadrag.reporting.text import to_text
from quadrag.results import Note, NoteCode
from quadrag.retrieval.search import RETRIEVERS
from quadrag.run.folder import read_runs
from quadrag.run.plan import recipes

HAN = re.compile("[\u4e00-\u9fff]")
ENGLISH, CHINESE = read_messages("en"), read_messages("zh")


def slots(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


def test_every_code_has_a_sentence_with_the_same_slots_in_every_language():
    assert ENGLISH["notes"].keys() == CHINESE["notes"].keys() and ENGLISH["signs"].keys() == CHINESE["signs"].keys()
    assert {code.partition(".")[0] for code in ENGLISH["notes"]} == {*NoteCode}
    unlike = [code for code, sentence in ENGLISH["notes"].items() if slots(sentence) != slots(CHINESE["notes"][code])]
    assert unlike == []
    assert [code for code, sentence in CHINESE["notes"].items() if not (HAN.search(sentence) or "{" in sentence)] == []


def test_a_note_says_of_which_runs_it_is():
    assert say(Note(NoteCode.MORE, {"count": 9}, ("a", "b"))).startswith("a, b: 9 ")


@pytest.mark.slow
@pytest.mark.parametrize(
    "run",
    [("rgb", "--all"), ("crag", "task_1_2"), ("crud_rag", "summary", "--limit", "4"), ("omnieval", "all")],
    ids=lambda run: run[0],
)
def test_every_note_of_every_benchmark_is_in_chinese(cli, run):
    for name in ("r", "s"):
        assert cli("run", *run, "--data-dir", "sample", "--out", name).code == 0
    grids = [*tabulate(read_runs(["r"]), page=True), *tabulate(read_runs(["r", "s"]), page=True)]
    notes = dict.fromkeys(note.text for grid in grids for note in translate_table(grid, "zh").notes)
    assert len(notes) > 4 and [text for text in notes if not HAN.search(text)] == []
    assert cli("report", "r", "--labels", "zh", "--html", "zh.html").code == 0
    assert "Percent" not in Path("zh.html").read_text(encoding="utf-8")


def test_what_one_types_and_what_the_user_named_stay_as_they_are():
    configs = {name: one for benchmark in catalogue.benchmarks() for name, one in catalogue.configs(benchmark).items()}
    splits = [split for one in configs.values() for split in one.splits]
    typed = {*catalogue.benchmarks(), *configs, *splits, *catalogue.metrics(), *recipes(), *RETRIEVERS}
    assert {*typed} & {*CHINESE["words"]} <= {"all", "summary"}, "words of tables, too"
    for name in ("v2: judge", "judge (ours)", "mine, tuned"):
        grid = translate_table(Table(name, name, [name], [Row(name, [Cell(name)])], [name]), "zh")
        assert {grid.title, grid.row_header, *grid.columns, grid.rows[0].label, grid.rows[0].cells[0].text} == {name}
        assert to_text(grid).count(name) == 6
