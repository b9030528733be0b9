"""Tables, their notes and the page in Chinese: nothing of a run is left in English but names and what one types."""

import re
from pathlib import Path

import pytest

from quadrag import catalogue
from quadrag.baselines.report.all import tabulate_all
from quadrag.baselines.report.summary import summary
from quadrag.baselines.retrieval.registry import RETRIEVERS
from quadrag.baselines.runs.finished import read_runs
from quadrag.baselines.runs.plan import recipes
from quadrag.baselines.tables.chinese import phrases
from quadrag.baselines.tables.grid import Alarm, Cell, Grid, Line
from quadrag.baselines.tables.language import speak, speak_grid, speak_title
from quadrag.baselines.tables.names import keep_name

HAN = re.compile("[\u4e00-\u9fff]")
ENGLISH = re.compile(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}")  # three words of it
CHINESE = phrases.read_phrases().whole
SLOT = re.compile(r"({\d})")
# Chinese beside other letters without a blank, or a blank within Chinese or beside a mark of it.
ILL_SPACED = re.compile(
    r"[\u4e00-\u9fff][A-Za-z0-9`]|[A-Za-z0-9`%][\u4e00-\u9fff]|[\u4e00-\u9fff] [\u4e00-\u9fff]"
    r"|[，。；：？！、（）“”] | [，。；：？！、（）“”]|[\u4e00-\u9fff][,;:?!]"
)


def left_over(notes):
    """What of some notes is left in English."""
    ours = [re.sub("`.*?`", "", speak(note, "zh")) for note in notes if not note.startswith("?")]
    return [note for note in ours if not HAN.search(note) or ENGLISH.search(note)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "run",
    [("rgb", "--all"), ("crag", "task_1_2"), ("crud_rag", "summary", "--limit", "4"), ("omnieval", "all")],
    ids=lambda run: run[0],
)
def test_every_note_of_every_benchmark_is_in_chinese(cli, run):
    for name in ("r", "s"):
        assert cli("run", *run, "--data-dir", "sample", "--out", name).code == 0
    runs = read_runs(["r"])
    [(_, results)] = runs
    grids = [*tabulate_all(runs), summary(results, "official")]
    grids += tabulate_all(read_runs(["r", "s"]))
    notes = dict.fromkeys(note for grid in grids for note in grid.notes)
    assert len(notes) > 8 and left_over(notes) == []
    assert cli("report", "r", "--labels", "zh", "--html", "zh.html").code == 0
    page = Path("zh.html").read_text(encoding="utf-8")
    assert "这些数字没有评测意义" in page and "<dt>命令</dt>" in page and "Percent" not in page


def test_what_one_types_and_what_the_user_named_stay_as_they_are():
    configs = {name: one for benchmark in catalogue.benchmarks() for name, one in catalogue.configs(benchmark).items()}
    splits = [split for one in configs.values() for split in one.splits]
    typed = {*catalogue.benchmarks(), *configs, *splits, *catalogue.metrics(), *recipes(), *RETRIEVERS}
    assert {name for name in typed if speak(name, "zh") != name} == {"all"}, "a word of tables, too"
    for name in ("all", "judge", "null", "v2: judge", "judge (ours)", "mine, tuned", "A: all"):
        kept = keep_name(name)
        assert speak(f"rgb qa, {kept}, official profile", "zh") == f"rgb qa，{name}，官方口径"
        assert speak(f"Comparison: {kept} minus {kept}", "en") == f"Comparison: {name} minus {name}"
        grid = speak_grid(Grid(kept, kept, [kept], [Line(kept, [Cell(kept)])], [kept]), "zh")
        texts = {grid.title, grid.corner, *grid.columns, grid.lines[0].label, grid.lines[0].cells[0].text, *grid.notes}
        assert texts == {name}
    assert keep_name("my_rag v2") == "my_rag v2"


def test_a_table_keeps_its_numbers_names_and_shape():
    lines = [Line("  m (ours)", [Cell("1.0")])]
    grid = Grid("Table 7. Truthfulness of answers", "metric", ["not\nknown", "\n0.2"], lines)
    grid.notes = [Alarm("PARTIAL: the first 3 of 60 questions."), "mrr"]
    ours = speak_grid(grid, "zh")
    assert (ours.title, ours.corner, ours.columns) == ("表 7：回答的真实性", "指标", ["not\nknown", "\n0.2"])
    assert ours.lines == [Line("  m（本次）", [Cell("1.0")])]
    assert ours.notes == ["不完整：只问了 60 题中的前 3 题。", "mrr"] and isinstance(ours.notes[0], Alarm)
    assert speak_grid(grid, "en").lines == grid.lines
    assert speak_title("CRUD-RAG: extractive", "zh") == "CRUD-RAG：extractive"


def test_a_phrase_has_the_slots_of_the_english_and_blanks_by_one_rule():
    slots = [[sorted(SLOT.findall(text.replace("…}", "}"))) for text in pair] for pair in CHINESE.items()]
    assert [pair for pair in slots if pair[0] != pair[1]] == []
    assert [text for text in CHINESE.values() if any(map(ILL_SPACED.search, SLOT.split(text)))] == []
