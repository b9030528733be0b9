"""Search recall by number of pages as a table, as rows of a JSON file, and as what a command prints.

It decides nothing about what counts as found; `search` does.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.records import dumps, write_text

from ...tables.cells import interval_cell
from ...tables.grid import Alarm, Cell, Grid, Line
from ...tables.notes import INTERVALS
from .search import SHORT, SearchRecall, search_recall
from .sufficiency import Judge

_HEADS = {"snippets": "in a\nsnippet", "pages": "in snippet or\npage text", "sufficient": "snippets\nsuffice"}
_WITH_TEXT = "snippets and\npage text\nsuffice"
PUBLISHED = (
    "Published: arXiv:2406.04744, Figure 2: of its 4,409 questions about 69% have the answer within 5 pages and 85% "
    "within 50, pages in the order of the search; by a way of deciding that is the authors' own."
)
_DRAWN = "task_1_2 has 5 pages that the authors drew at random from the first 10: compare the figure with task_3."


def recall_grid(recall: SearchRecall, source: str) -> Grid:
    """Make the table: a row per number of pages, a column per way, then the same without short answers.

    Args:
        recall: what was found.
        source: which rows these are, and where they come from.
    """
    found = {(score.way, score.pages, score.longer): score.summary for score in recall.scores}
    short = sum(question.short for question in recall.questions)
    lines = []
    for longer in (False, True) if short else (False,):
        if longer:
            blank = [Cell("")] * len(recall.ways)
            lines.append(Line(f"without answers of up to {SHORT} characters", blank, rule=True))
        for cut in recall.cuts:
            summaries = [found[(way, cut, longer)] for way in recall.ways]
            cells = [interval_cell(one.value, one.interval, one.n_scored) for one in summaries]
            lines.append(Line(f"{' ' * longer}{cut}", cells))
            lines.append(Line(f"{' ' * longer}  n", [Cell(str(one.n_scored)) for one in summaries]))
    heads = _HEADS | ({"sufficient": _WITH_TEXT} if recall.window else {})
    columns = [heads[way] for way in recall.ways]
    return Grid(
        "Figure 2. Search recall by number of pages", "first pages", columns, lines, _notes(recall, source, short)
    )


def _notes(recall: SearchRecall, source: str, short: int) -> list[str]:
    questions, most = recall.questions, max(question.pages for question in recall.questions)
    applicable = sum(question.applicable for question in questions)
    notes: list[str] = [Alarm(f"PARTIAL: {recall.stopped}.")] if recall.stopped else []
    notes += [
        f"Percent of questions. On: {source}.",
        INTERVALS,
        "Found: an accepted answer stands there, whole words and numbers; case, punctuation, blanks and commas between "
        "thousands aside. What is said in other words is not found.",
        f"Questions: {len(questions)}, of which {applicable} have an answer that can be found; of the others it is "
        "invalid question, I don't know, nan or blank, and they do not count.",
        f"With an answer of up to {SHORT} characters, such as yes, which stands on many pages by chance: {short}.",
    ]
    if recall.judge is None:
        notes.append("Not run: snippets judged sufficient (--judge).")
    else:
        notes.append(f"Judged by {recall.judge}, our instructions ({recall.prompt}). {_say_read(recall.window)}")
        notes += _unscored(recall)
    fewer = {cut: sum(question.pages < cut for question in questions) for cut in recall.cuts}
    few = [f"{count} of {len(questions)} for {cut}" for cut, count in fewer.items() if count]
    if few:
        notes.append(f"Questions with fewer pages than asked for, all of which count: {', '.join(few)}.")
    return [*notes, _DRAWN] if most <= 5 else notes


def _say_read(window: int) -> str:
    if not window:
        return "It read snippets alone (page text too: --judge-reads pages)."
    return (
        f"Of each page it read the snippet and up to {window:,} characters of text: the sentences with most words "
        "of the question and of the answers."
    )


def _unscored(recall: SearchRecall) -> list[str]:
    found = [
        f"{score.pages}: " + ", ".join(f"{reason} {count}" for reason, count in score.summary.unscored.items())
        for score in recall.scores
        if score.way == "sufficient" and not score.longer and score.summary.unscored
    ]
    return [f"Without a verdict, and left out, by number of pages: {'; '.join(found)}."] if found else []


def recall_rows(recall: SearchRecall) -> list[dict[str, Any]]:
    """Return the scores as rows of a JSON file, all values in [0, 1]."""
    return [
        {
            "way": score.way,
            "pages": score.pages,
            "answers": f"over {SHORT} characters" if score.longer else "all",
            "value": score.summary.value,
            "interval": None if score.summary.interval is None else list(score.summary.interval),
            "n_total": score.summary.n_total,
            "n_scored": score.summary.n_scored,
            "n_not_applicable": score.summary.n_not_applicable,
            "unscored": score.summary.unscored,
        }
        for score in recall.scores
    ]


def recall_items(recall: SearchRecall) -> list[dict[str, Any]]:
    """Return the questions as rows of a JSON file: first pages with an answer, from 1, and verdicts, in their order."""
    return [
        {
            "id": question.id,
            "pages": question.pages,
            "applicable": question.applicable,
            "short": question.short,
            "first": dict(question.first),
            "sufficient": {str(cut): verdict for cut, verdict in question.verdicts.items()},
        }
        for question in recall.questions
    ]


def run_recall(
    rows: Iterable[Mapping[str, Any]],
    cuts: Sequence[int],
    judge: Judge | None,
    source: str,
    out: Path | None = None,
    advance: Callable[[int], None] | None = None,
    window: int = 0,
) -> tuple[Grid, str | None]:
    """Do what `quadrag recall` does: search, write the JSON file where one is named, make the table.

    Args:
        rows: as in `search_recall`.
        cuts: likewise.
        judge: likewise.
        source: which rows these are, and where they come from.
        out: the JSON file: ``source``, ``judge``, ``prompt``, ``window``, ``stopped``, ``scores``, ``items``.
        advance: likewise.
        window: likewise.

    Returns:
        The table, and why it is partial: the budget ended, and the command's code is then 2; else None.

    Raises:
        QuadragError: as `search_recall` does.
    """
    recall = search_recall(rows, cuts, judge, window, advance)
    if out is not None:
        whole: dict[str, Any] = {"source": source, "judge": recall.judge, "prompt": recall.prompt}
        whole["window"] = recall.window
        whole |= {"stopped": recall.stopped, "scores": recall_rows(recall), "items": recall_items(recall)}
        write_text(out, dumps(whole) + "\n")
    return recall_grid(recall, source), recall.stopped
