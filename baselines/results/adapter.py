"""The sentences and rows that today's tables, page, ``--json``, notebook and Inspect show of statuses and notes.

This file goes when tables are made of scores and notes themselves. Nothing else asks what it says; what is asked of a
row here, its status says.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from quadrag.metric_record import find_verdict, metric_record, show_key

from ..core.run_record import RunRecord
from .items import FAILED, SHORT
from .judges import FAR, FIRST, REFUSED
from .note import Note, NoteCode, notes_of
from .score import UNJUDGED, Cause, Place, Score, Status, record_of

_SHOWN = 4  # names in a line
_ALLOW = "or allow a share of them with --max-failed"
_CURE = "name another judge, or ask this one again with --retry unreadable"
_CAUSES = {
    Cause.API_ERROR: "calls failed",
    Cause.RAISED: f'correct the function and run again with retry="failed", {_ALLOW}',
    Cause.UNPARSABLE: "replies are not of the form that was asked for: try another judge",
    Cause.TRUNCATED: "replies were cut: raise --max-tokens or --judge-max-tokens",
    Cause.MISALIGNED: "a judge answered more or fewer questions than it was asked: try another judge",
    Cause.NULL: f"the file of answers has null in their place: answer these and score again, {_ALLOW}",
    Cause.EMPTY: "",
    Cause.CUT: "name a larger --max-tokens and another --out, or take them as they are with --max-failed 1",
    Cause.JUDGE_UNREAD: f"none of the first {FIRST} verdicts of {{judge}} could be read, and it is asked no further: "
    "{keys}; it said {said!r}, where a verdict is like {form!r}; {cure}",
    Cause.JUDGE_DEAD: "not judged: {keys}; {said}",
}
_VERDICT = "a judge said {said!r}, where a verdict is like {form!r}: {cure}"
_REASONS = {  # of an item's verdict, of a score
    Cause.API_ERROR: "the judge's call failed",
    Cause.TRUNCATED: "the judge's reply was cut",
    Cause.UNPARSABLE: "the judge's verdict could not be read",
    Cause.MISALIGNED: "the judge answered more or fewer questions than it was asked",
    Cause.JUDGE_UNREAD: "the judge's first verdicts could not be read",
    Cause.JUDGE_DEAD: "the judge does not answer",
    Cause.JUDGE_CONSTANT: "the judge says the same of every answer",
    Cause.JUDGE_DOUBTFUL: "a judge's verdicts are far from what words say",
    Cause.JUDGE_BY_CHANCE: "the judge agrees with people no better than chance",
}
_DOUBTS = {
    REFUSED: "gives {score} {verdict} to {n} of {of} answers that hold {held}",
    FAR: "calls {n} of {of} answers {grade}; {right} of {known} are right by words alone ({words})",
}
_ALIKE = "all answers may be so, or it says so of any"
_SEE = "see who is right with `quadrag label`, then `quadrag certify-judge`"


def find_by_phrase(scores: Sequence[Score]) -> set[Place]:
    """Return the places of values that rest on a phrase for want of the judge on whom the printed ones rest."""
    absent = {row.place for row in scores if row.status is Status.NOT_RUN}
    rests = {place: find_verdict(*place[2:]) for row in scores if (place := row.place) not in absent}
    return {at for at, verdict in rests.items() if verdict and (*at[:2], *verdict.split(".")) in absent}


def say_invalid(run: RunRecord) -> list[str]:
    """Say which metrics are invalid and why, a line each."""
    notes = notes_of(run, NoteCode.INVALID)
    return [f"{note.params['config']} {note.params['split']}: {say(note)}" for note in notes]


def say(note: Note) -> str:
    """Say a note in English, without a place before it and a stop behind it."""
    if note.code is NoteCode.JUDGE_CONSTANT:
        return say_constant(note)
    if note.code is NoteCode.JUDGE_DOUBTFUL:
        return _say_doubtful(note.params)
    params, keys = note.params, shorten_list([_show(name) for name in note.params["keys"]])
    if note.code is NoteCode.INVALID:
        cause = _say_cause(params, keys)
        if "failed" not in params:
            return cause
        return f"{_say_failed(params)}, more than --max-failed {params['limit']:g}: {keys}" + f"; {cause}" * bool(cause)
    return f"{_say_failed(params)}, {_say_counted(params['reasons'], params['profile'])}: {keys}"


def _say_cause(params: Mapping[str, Any], keys: str) -> str:
    """Say why most items failed, as far as it is known, and what to do."""
    cause, said = Cause(params["cause"]), params["said"]
    form = metric_record(params["keys"][0].partition(".")[0]).verdict if params["judge"] is not None else ""
    json = "try --judge-format json, or " * form.startswith("{")
    if said and cause in (Cause.API_ERROR, Cause.UNPARSABLE) and not form:
        return str(said)
    template = _VERDICT if said and cause is Cause.UNPARSABLE else _CAUSES[cause]
    slots = {"form": form, "cure": f"{json}{_CURE}", "keys": keys}
    return template.format_map({**params, **slots}) + f"; {said}" * (cause is Cause.RAISED and bool(said))


def _say_failed(params: Mapping[str, Any]) -> str:
    """Say how many failed, by reason."""
    reasons = ", ".join(f"{count} {why}" for why, count in params["reasons"].items())
    profile = f"{params['profile']}: " * bool(params["profile"])
    return f"{params['failed']} of {params['total']} items failed ({profile}{reasons})"


def _say_counted(reasons: Mapping[str, int], profile: str) -> str:
    """Say how what failed counts: under one profile, or under both."""
    if {*reasons} <= {*SHORT}:
        return "they are scored as they are"
    if profile:
        return "they count as wrong" if profile == "corrected" else "they are left out"
    return "official leaves them out or makes values of them, corrected counts them as wrong"


def say_constant(note: Note) -> str:
    """Say of a judge how many verdicts are one and the same by each key, and what that may mean."""
    values = ", ".join(f"{_show(name)} {_write(verdict)}" for name, verdict in note.params["verdicts"].items())
    return f"All {note.params['count']} verdicts of the judge {note.params['judge']} are the same, {values}: {_ALIKE}"


def _say_doubtful(params: Mapping[str, Any]) -> str:
    record, verdict = record_of(params["score"]), params["verdict"]
    words = params.get("words", record.words[0])
    slots = {**params, "score": _show(params["score"]), "words": _show(words), "verdict": _write(verdict)}
    slots["held"] = "the phrase asked for" if record_of(words).phrase else "an accepted answer word for word"
    slots["grade"] = next((grade for grade, value in record.grades.items() if value == verdict), _write(verdict))
    return f"The judge {params['judge']} {_DOUBTS[params['doubt']].format_map(slots)}: {_SEE}"


def say_reason(row: Score) -> str:
    """Say why a row has no value, or why that says nothing of the answers; "" where neither is so."""
    status, reason = row.status, row.reason
    if status is Status.INVALID and not reason.startswith("judge"):
        lost = {why: n for why, n in row.counts.unscored.items() if why in FAILED}
        return _say_failed({"reasons": lost, "profile": "", "failed": sum(lost.values()), "total": row.counts.n_total})
    if status is Status.UNRELIABLE or (status is Status.UNTRUSTED_JUDGE and row.value is None):
        return ""
    return _REASONS[Cause(reason)] if reason in _REASONS else reason


def spell_reason(metric: str, reason: str, run: RunRecord, answered: bool) -> str:
    """Return the reason why an item has no value with what it means where it is the judge's and not the answer's."""
    if reason == UNJUDGED:
        return f"{reason}: {_REASONS[Cause.JUDGE_DEAD if run.dead_judge else Cause.JUDGE_UNREAD]}"
    judged = answered and run.judge is not None and metric_record(metric.partition(".")[0]).verdict
    return f"{reason}: {_REASONS[Cause(reason)]}" if judged and reason in _REASONS else reason


def shorten_list(names: Sequence[str]) -> str:
    """List names, the first few alone where there are many, and how many are left: never one, which is named."""
    shown = names[:_SHOWN]
    left = len(names) - len(shown)
    return ", ".join(names if left == 1 else shown) + f" and {left} more" * (left > 1)


def _show(name: str) -> str:
    return show_key(*name.split(".", 1))


def _write(verdict: float | str) -> str:
    return verdict.replace("_", " ") if isinstance(verdict, str) else f"{verdict:g}"
