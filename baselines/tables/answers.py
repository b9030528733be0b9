"""What is odd of the answers behind a table, so that its values say less than they seem to."""

from collections.abc import Iterator, Sequence

from quadrag.chat.keys import known_keys

from ..core.benchmark import load
from ..core.run_record import RunRecord
from ..core.spec import NONE
from ..results.adapter import shorten_list
from ..results.run import Result
from ..systems.extractive import EXTRACTIVE, NO_PASSAGES
from ..systems.own import NOT_GIVEN
from .grid import Alarm
from .names import group_notes, name_apart
from .paper import load_tables

_SHOWN = 40  # characters of an answer
_MOSTLY = 0.9  # share of questions that one text answers: it is told
_LITTLE = 0.02  # share of questions that may have an empty answer
_ENDS = ".。!！"  # of answers that are else the same text
_FAILURES = "; if these are failures, put null in the file, or let the function raise"


def note_answers(results: Sequence[Result]) -> list[str]:
    """Say what of runs' answers is odd: empty or one text, or their passages not measured."""
    told = group_notes(
        (name, note)
        for name, one in zip(name_apart(results), results, strict=True)
        for note in (*_note_texts(one), *map(Alarm, _tell_passages(one)))
    )
    return [type(note)(f"{shorten_list(of)}: {note}" if any(of) else note) for note, of in told]


def _note_texts(result: Result) -> Iterator[str]:
    """Say how many answers are empty, and which text answers nearly all questions."""
    run, parse = result.run, load(result.run.benchmark).parse
    places: dict[str, list[object]] = {}  # the questions of each text
    for (question, _), text in result.texts.items():
        if text is not None:
            plain = parse(question[0], text).strip()
            places.setdefault(plain.rstrip(_ENDS) or plain, []).append(question)
    total = sum(map(len, places.values()))
    if run.llm == EXTRACTIVE:
        if [*places] == [""] and run.retriever == NONE:
            yield f"All answers are empty: {NO_PASSAGES}."
        return
    empty = len(places.pop("", ()))
    if empty > 1 and empty >= _LITTLE * total and not run.count_short("empty"):  # a model's have failed
        own = "contract" in run.parameters or "llm" not in run.services
        yield Alarm(f"{_count(empty, total)} answers are empty{_FAILURES * own}.")
    for text, questions in places.items():
        if len({*questions}) > 1 and len(questions) >= _MOSTLY * total:
            said = known_keys().line(text, longest=_SHOWN)
            yield Alarm(f"{_count(len(questions), total)} answers are the same text, {said!r}.")


def _count(some: int, total: int) -> str:
    return f"All {some}" if some == total else f"{some} of {total}"


def _tell_passages(result: Result) -> Iterator[str]:
    """Say that a run's search is not measured, or found no gold document."""
    run, gave = result.run, result.run.service or {}
    if gave.get("why") and (gave["passages"] or gave["why"] == NOT_GIVEN):
        yield f"Retrieval is not measured: {gave['why']}."
    if gave.get("by") == "form" or (gave.get("by") == "text" and gave.get("gold") == 0):
        yield f"None of the {gave['passages']} passages is a gold document{_tell_left_out(run)}."
    if gave.get("by") in ("id", "text", "form") and (bare := gave.get("bare")):
        yield f"{bare} of {gave['questions'] + bare} answers came without passages: their search counts as 0."


def _tell_left_out(run: RunRecord) -> str:
    """Say which option puts gold documents into a corpus whose authors leave them out."""
    return "".join(
        f"; the authors leave the gold documents out of this corpus, --option {name}={run.splits[0]} adds them"
        for name in load_tables(run.benchmark).corpus_options
    )
