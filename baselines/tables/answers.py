"""What is odd of the answers behind a table, so that its values say less than they seem to."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from quadrag.chat.keys import known_keys
from quadrag.metric_record import metric_record, show_key
from quadrag.run_record import RunRecord
from quadrag.stats import NOT_APPLICABLE

from ..core.result import PROFILES, Result
from ..core.settings import NONE
from ..scoring.faults import shorten_list
from ..scoring.rows import reason_of
from ..scoring.rules import find_refused
from ..systems.extractive import EXTRACTIVE, NO_PASSAGES
from .answer_texts import (
    Place,
    count_questions,
    find_error,
    find_errors,
    find_rows,
    is_looked_for,
    is_right,
    join_varying,
    list_looking,
    plain_text,
    sort_texts,
)
from .folded import fold_lines, fold_notes
from .grid import Alarm, Detail
from .names import join_runs, name_apart
from .passages import tell_passages

_SHOWN = 40  # characters of an answer
_FEW, _SHARE = 5, 0.05  # questions, and their share, that may have one answer by chance
_MANY, _MOSTLY = 10, 0.9  # questions, and their share, that one text answers which a metric looks for: it is told
_LITTLE = 0.02  # share of questions that may have an empty answer
_MOST = 3  # texts that are told
_MOST_LINES = 8  # lines of several runs: of more, those alike but for their numbers are one
# What to do where they are errors, by how the answers came.
_SERVICE = "let the service reply with an error status"
_CONSTANT = ": a system that says so of any question has the same value"
_INSTEAD = {
    "python": "let the function raise",
    "file": "put null in the file",
    "json": _SERVICE,
    "openai": _SERVICE,
}


def note_answers(results: Sequence[Result]) -> list[str]:
    """Say what of a run's answers is odd: empty or one text, right but refused, their passages not read, or none known.

    That the baseline has nothing to say without passages is as it should be, and is no alarm; nor is it that answers
    decline with the phrase that a prompt asks for.
    """
    bare = [one.run.inputs.config for one in results if _is_bare(one) and not any(sort_texts(one))]
    where = f"Without documents all answers of {', '.join(dict.fromkeys(bare))}" if len(results) > 1 else "All answers"
    named = list(zip(name_apart(results), results, strict=True))
    told = [
        (name, note)
        for name, one in named
        for note in (*map(Alarm, (*_tell_texts(one), *tell_passages(one), *_tell_folded(one))), *_tell_refused(one))
    ]
    unsaid = fold_lines([(name, line) for name, one in named for line in _tell_unsaid(one)], numbers=False)
    return [
        *(
            type(note)(f"{join_runs(of, results)}: {note}." if any(of) else f"{_begin(note) if of else note}.")
            for note, of in fold_notes(told, len(told) > _MOST_LINES)
        ),
        *[f"{where} are empty: {NO_PASSAGES}."] * bool(bare),
        *(Alarm(f"{join_runs(of, results)}: {line}" if any(of) else line) for line, of in unsaid.items()),
    ]


def _begin(line: str) -> str:
    return line[0].upper() + line[1:]


def note_kinds(results: Sequence[Result]) -> list[Detail]:
    """List the kinds of a run's error texts, where there are several."""
    found = [_count_kinds(errors) for one in results if len(errors := find_errors(one)) > 1]
    listed = [", ".join(f"{kind} ({n})" for kind, n in kinds.items()) for kinds in found]
    return [Detail(f"Answers that read like error texts: {each}.") for each in listed]


def _is_bare(result: Result) -> bool:
    """Whether sentences of passages answered where no passages were shown."""
    return result.run.inputs.llm == EXTRACTIVE and result.run.inputs.retriever == NONE


def _tell_texts(result: Result) -> Iterator[str]:
    """Say how many answers are empty, and which texts answer many questions, as an error's does.

    A text that a metric looks for, as a rejection, is told of where nearly all answers are so: a system that says it
    of any question has the best value.
    """
    parts = sort_texts(result)
    by_text = join_varying(result, parts)
    if result.run.inputs.llm == EXTRACTIVE and (any(by_text) or _is_bare(result)):
        return
    total = sum(map(len, by_text.values()))
    asked = count_questions(result, [place for places in by_text.values() for place in places])
    answered = {text: count_questions(result, places) for text, places in by_text.items() if text}
    many = [text for text, n in answered.items() if (n >= _FEW and n > _SHARE * asked) or (n > 1 and find_error(text))]
    if len(by_text) == 1 and total > 1 and not result.run.count_short("empty"):
        many = [*by_text]
    elif "" in by_text and not result.run.count_short("empty"):  # a model's have failed
        n = count_questions(result, by_text[""])
        if n > 1 and n >= _LITTLE * asked:
            left = _list_leaving(find_rows(result, by_text[""]))
            how = f"official leaves them out of {shorten_list(left)}" if left else "they count as they are"
            yield f"{len(by_text[''])} of {total} answers are empty, {how}{_advise(result.run, 'failures')}"
    errors = find_errors(result)
    if len(errors) > 1:
        often, n = next(iter(_count_kinds(errors).items()))
        yield (
            f"{sum(map(len, errors.values()))} of {total} answers read like error texts, of {len(errors)} kinds, most "
            f"often {often} ({n}){_advise(result.run, 'errors')}"
        )
        many = [text for text in many if text not in errors]
    declined = {text for text in many if text and _is_declined(result, text, by_text[text])}
    sought = {text for text in many if is_looked_for(result, by_text[text])}
    mostly = {text for text in sought if answered[text] >= max(_MANY, _MOSTLY * asked)}
    best = {text for text in mostly if any(map(is_right, find_rows(result, by_text[text])))}
    few = {text for text in declined if answered[text] < _MOSTLY * asked}
    told = [text for text in many if text not in sought | few or text in best]
    for text in sorted(told, key=lambda text: -len(by_text[text]))[:_MOST]:
        n = len(by_text[text])
        whole = {plain_text(result.texts[place] or "") for place in by_text[text]}
        part = " in the part that is scored" * whole.isdisjoint(parts)
        alike = " but for numbers" * (text not in parts and not find_error(text))
        said = f"the same text{alike}{part}, {_quote(text)}" if text else "empty"
        refusal = text and not find_error(text) and any(map(list_looking, find_rows(result, by_text[text])))
        advice = "" if refusal or text in declined else _advise(result.run, "errors" if text else "failures")
        if advice and text and not find_error(text) and answered[text] >= _MOSTLY * asked and _searches(result.run):
            advice += "; else the search may return the same document for all"
        how = _CONSTANT if text in best else advice
        yield f"{f'all {n}' if n == total else f'{n} of {total}'} answers are {said}{how}"


def _tell_refused(result: Result) -> Iterator[str]:
    """Say how many answers with the gold a phrase of refusal makes wrong, or how many answers decline with it."""
    refused, right = result.run.refused
    total = sum(result.texts.get(place) is not None for place in _list_asked(result))
    if right:
        told = f"{refused}{f' of {total}' * bool(total)} answers hold the refusal phrase"
        yield Alarm(f"{told}: the authors' code counts them wrong; {right} of them hold the gold")
    elif refused >= _FEW and _SHARE * total < refused < _MOSTLY * total:
        yield f"{refused} of {total} answers decline with the phrase that the prompt asks for"


def _tell_folded(result: Result) -> Iterator[str]:
    """Say of how many answers official, letter by letter, decides otherwise than a reader of the texts would."""
    for name in dict.fromkeys(name for row in result.items for name in row if "." in name):
        record = metric_record(name.partition(".")[0]).key(name.partition(".")[2])
        if not record.folded or record.about:
            continue
        values = [tuple(row[name].get(profile) for profile in PROFILES) for row in result.items if name in row]
        values = [both for both in values if None not in both]
        # What else sets the two apart lowers the corrected value.
        otherwise = sum(low < high if record.differs else low != high for low, high in values)
        if otherwise > _SHARE * len(values):
            yield (
                f"{otherwise} of {len(values)} answers count otherwise in official {show_key(*name.split('.', 1))}, "
                "which compares letter by letter: see corrected"
            )


def _list_asked(result: Result) -> Iterator[Place]:
    """List the answers of which a metric knows the phrase of refusal, as of several tasks not all are."""
    known: dict[str, bool] = {}
    for row in result.items:
        for metric, dot, key in (name.partition(".") for name in row if name not in known):
            known[metric + dot + key] = bool(dot) and metric_record(metric).key(key).refused
        if any(known[name] for name in row):
            yield (row["config"], row["split"], row["id"]), row["sample"]


def _is_declined(result: Result, text: str, places: Collection[Place]) -> bool:
    """Whether a text holds the phrase of refusal that the prompt of its questions asks for, which a metric knows."""
    known = (name.partition(".") for row in find_rows(result, places) for name in row if "." in name)
    asked = any(metric_record(metric).key(key).refused for metric, _, key in {*known})
    chinese = {row["config"] for row in result.scores if "language:zh" in row.get("signature", "")}
    languages = {"zh" if key[0] in chinese else "en" for key, _ in places}
    return asked and all(find_refused(text, [], language) is not None for language in languages)


def _tell_unsaid(result: Result) -> Iterator[str]:
    """Say which phrase a metric looks for where hardly an answer holds it, and no judge looks for its meaning.

    Of tasks in several languages each is told of apart.
    """
    if result.run.inputs.llm == EXTRACTIVE:
        return
    places: dict[tuple[str, str], set[tuple[str, str]]] = {}  # of tasks, by metric and language
    for row in result.scores:
        if "not_run" not in row:
            language = "zh" if "language:zh" in row["signature"] else "en"
            name = f"{row['metric']}.{row['key']}"
            places.setdefault((name, language), set()).add((row["config"], row["split"]))
    records = {name: metric_record(name.partition(".")[0]).key(name.partition(".")[2]) for name, _ in places}
    judged = {word for record in records.values() for word in record.words}
    way = "let your system say it, or " * bool(_find_way(result.run))
    for (name, language), here in places.items():
        phrase = records[name].phrase.get(language)
        if not phrase or records[name].direction != "higher" or name in judged:
            continue
        items = [row for row in result.items if name in row and (row["config"], row["split"]) in here]
        values = [row[name] for row in items if row[name]["official"] is not None]
        held = sum(entry["corrected"] == 1 for entry in values)  # official may count right answers too
        if held <= _LITTLE * len(values) and result.run.count_short("empty") < len(values):
            yield f"{held} of {len(values)} answers hold the phrase that is looked for, `{phrase}`: {way}name a judge."


def _count_kinds(errors: Mapping[str, set[Place]]) -> dict[str, int]:
    """Count the answers of every kind, those of the commonest first."""
    return {_quote(text): len(errors[text]) for text in sorted(errors, key=lambda text: -len(errors[text]))}


def _quote(text: str) -> str:
    return repr(known_keys().line(text, longest=_SHOWN))


def _list_leaving(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """List the metrics that have no value of any of these items under `official`, though they apply to them."""
    names = dict.fromkeys(name for row in rows for name, entry in row.items() if isinstance(entry, Mapping))

    def leaves(name: str) -> bool:
        entries = [row[name] for row in rows if name in row]
        reasons = {reason_of(entry, PROFILES[0]) for entry in entries}
        return all(entry.get(PROFILES[0]) is None for entry in entries) and NOT_APPLICABLE not in reasons

    return [show_key(*name.split(".", 1)) for name in names if leaves(name)]


def _advise(run: RunRecord, what: str) -> str:
    """Say what to do where answers are errors or failures; nothing where a model replied so."""
    way = _INSTEAD.get(_find_way(run))
    return f"; if these are {what}, {way}" if way else ""


def _searches(run: RunRecord) -> bool:
    """Whether the system found passages of its own."""
    return bool((run.service or {}).get("passages"))


def _find_way(run: RunRecord) -> str:
    """Return the way in which the answers of a user's own system came; "" of a model's."""
    inputs = run.inputs
    by_file = "file" if not ("llm" in inputs.services or inputs.parameters) else ""
    return "" if run.log else str(inputs.parameters.get("contract", by_file))
