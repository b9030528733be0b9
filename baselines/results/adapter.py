"""The sentences and rows that today's tables, page, ``--json``, notebook and Inspect show of statuses and notes.

This file goes when tables are made of scores and notes themselves. Nothing else asks what it says; what is asked of a
row here, its status says.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from quadrag.metric_record import find_verdict, metric_record, show_key

from ..core.benchmark import load
from ..core.run_record import RunRecord
from .check import check_run
from .items import CUT, EMPTY, FAILED
from .judges import FAR, FIRST, REFUSED
from .note import Note, NoteCode, notes_of
from .score import ALL, UNJUDGED, Cause, Place, Score, Status, place_of, record_of, status_of
from .status import find_failures, set_status

Row: TypeAlias = Mapping[str, Any]  # of ``scores.json``, with its status
_SHOWN, _FEW = 4, 3  # keys in a line; those that are named, be they shown elsewhere or not
_ALLOW = "or allow a share of them with --max-failed"
_CURE = "name another judge, or ask this one again with --retry unreadable"
_CAUSES = {
    Cause.API_ERROR: "calls failed",
    Cause.RAISED: f'correct the function and run again with retry="failed", {_ALLOW}',
    Cause.UNPARSABLE: "replies are not of the form that was asked for: try another judge",
    Cause.TRUNCATED: "replies were cut: raise {options}",
    Cause.MISALIGNED: "a judge answered more or fewer questions than it was asked: try another judge",
    Cause.NULL: f"the file of answers has null in their place: answer these and score again, {_ALLOW}",
    Cause.EMPTY: "",
    Cause.CUT: "name a larger {options} and another --out, or take them as they are with --max-failed 1",
    Cause.JUDGE_UNREAD: f"none of the first {FIRST} verdicts of {{judge}} could be read, and it is asked no further: "
    "{keys}; it said {said!r}, where a verdict is like {form!r}; {cure}",
    Cause.JUDGE_DEAD: "not judged: {keys}; {said}",
}
_VERDICT = "a judge said {said!r}, where a verdict is like {form!r}: {cure}"
_COUNTED = {"left_out": "leaves {} out", "valued": "makes values of {}", "not_applicable": "does not apply to {}"}
_AS_IS = "scored as they are"
_REASONS = {  # of an item's verdict, of a score
    Cause.API_ERROR: "the judge's call failed",
    Cause.TRUNCATED: "the judge's reply was cut",
    Cause.UNPARSABLE: "the judge's verdict could not be read",
    Cause.MISALIGNED: "the judge answered more or fewer questions than it was asked",
    Cause.JUDGE_UNREAD: "the judge's first verdicts could not be read",
    Cause.JUDGE_DEAD: "the judge does not answer",
    Cause.JUDGE_CONSTANT: "the judge says the same of every answer",
    Cause.JUDGE_DOUBTFUL: "a judge's verdicts are far from what words say",
    Cause.JUDGE_DOUBTFUL_BESIDE: "a judge's verdicts are far from what words say",
    Cause.JUDGE_BY_CHANCE: "the judge agrees with people no better than chance",
}
_DOUBTS = {
    REFUSED: "gives {score} {verdict} to {n} of {of} answers that hold {held}",
    FAR: "calls {n} of {of} answers {grade}; {right} of {known} are right by words alone ({words})",
}
_FEW_ALIKE = "too few to tell whether it says so of any answer"
_ALL_ALIKE = "all answers may be so, or it says so of any"
_SEE = "see who is right with `quadrag label`, then `quadrag certify-judge`"


def mark_rows(rows: Sequence[Row], run: RunRecord, lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of a finished run as tables show them, and enter into the run what is to be known of its items.

    A row has its ``status`` and ``reason``, and ``told``: its unscored items of which a note tells.
    """
    scores = [Score.from_row(row) for row in rows]
    failures = find_failures(scores, run, lines)
    derived = NoteCode.INVALID, NoteCode.UNRELIABLE, NoteCode.FAILED_COUNTED
    kept = [row for row in run.notes if row["code"] not in derived]
    run.notes = [*(note.as_row() for note in check_run(scores, run, failures)), *kept]
    told = {
        (note.params["config"], note.params["split"], key, note.code is NoteCode.INVALID)
        for note in notes_of(run, *derived)
        for key in note.params["keys"]
    }
    marked = []
    for score in set_status(scores, run, failures):
        invalid = score.status is Status.INVALID
        is_told = (score.key.config, score.key.split, score.key.name, invalid) in told
        reasons = ((*score.counts.unscored,) if invalid else FAILED) if is_told else ()
        marked.append({**score.as_row(), "status": score.status, "reason": score.reason, "told": reasons})
    return marked


def discredit(row: dict[str, Any], reason: Cause = Cause.JUDGE_BY_CHANCE) -> None:
    """Mark a row whose value rests on verdicts that say nothing of the answers; none that rules alone decided."""
    by_rule = 0 < row.get("n_scored", 0) <= row.get("n_ruled", 0)
    if not by_rule and status_of(row) in (Status.OK, Status.UNRELIABLE):
        row |= {"status": Status.UNTRUSTED_JUDGE, "reason": reason}


def list_untold(row: Row) -> dict[str, int]:
    """Count the unscored items of a row by reason, less those that a note tells of."""
    return {why: n for why, n in (row.get("unscored") or {}).items() if why not in row.get("told", ())}


def has_unscored(scores: Iterable[Row]) -> bool:
    """Whether a metric that was run has no value of any item, as the authors' code leaves empty answers out."""
    whole = [row for row in scores if row.get("slice", ALL) == ALL]
    return any(row["value"] is None and row.get("unscored") and not row["n_scored"] for row in whole)


def find_by_phrase(scores: Sequence[Row]) -> set[Place]:
    """Return the places of values that rest on a phrase for want of the judge on whom the printed ones rest."""
    absent = {place_of(row) for row in scores if status_of(row) is Status.NOT_RUN}
    rests = {place: find_verdict(*place[2:]) for row in scores if (place := place_of(row)) not in absent}
    return {at for at, verdict in rests.items() if verdict and (*at[:2], *verdict.split(".")) in absent}


def say_invalid(run: RunRecord) -> list[str]:
    """Say which metrics are invalid and why, a line each."""
    notes = notes_of(run, NoteCode.INVALID)
    return [f"{note.params['config']} {note.params['split']}: {say(note, run)}" for note in notes]


def say(note: Note, run: RunRecord) -> str:
    """Say a note in English, without a place before it and a stop behind it."""
    if note.code is NoteCode.JUDGE_CONSTANT:
        return say_constant(note)
    if note.code is NoteCode.JUDGE_DOUBTFUL:
        return _say_doubtful(note.params)
    params, keys = note.params, list_keys(note.params["keys"], run)
    if note.code is NoteCode.INVALID:
        cause = _say_cause(params, keys)
        if "failed" not in params:
            return cause
        return f"{_say_failed(params)}, more than --max-failed {params['limit']:g}: {keys}" + f"; {cause}" * bool(cause)
    return f"{_say_failed(params)}, {_say_counted(params['counted'], params['profile'])}: {keys}"


def _say_cause(params: Mapping[str, Any], keys: str) -> str:
    """Say why most items failed, as far as it is known, and what to do."""
    cause, said, form = Cause(params["cause"]), params["said"], _find_form(params)
    json = "try --judge-format json, or " * form.startswith("{")
    options = " or ".join(f"--{name.replace('_', '-')}" for name in params.get("options", ()))
    if cause is Cause.CUT and not options:
        return "give the model more tokens"  # in a harness
    if said and cause in (Cause.API_ERROR, Cause.UNPARSABLE) and not form:
        return str(said)
    template = _VERDICT if said and cause is Cause.UNPARSABLE else _CAUSES[cause]
    slots = {"form": form, "cure": f"{json}{_CURE}", "keys": keys, "options": options}
    return template.format_map({**params, **slots}) + f"; {said}" * (cause is Cause.RAISED and bool(said))


def _say_failed(params: Mapping[str, Any]) -> str:
    """Say how many failed, by reason; replies of a model by what is wrong with these."""
    reasons, profile = params["reasons"], f"{params['profile']}: " * bool(params["profile"])
    kinds = [word for name, word in ((EMPTY, "empty"), (CUT, "cut by length")) if name in reasons]
    what = f"items failed ({profile}{', '.join(f'{count} {why}' for why, count in reasons.items())})"
    what = f"replies are {' or '.join(kinds)}" if len(kinds) == len(reasons) else what
    return f"{'up to ' * params['at_most']}{params['failed']} of {params['total']} {what}"


def _say_counted(counted: Mapping[str, int], profile: str) -> str:
    """Say how what failed counts: under one profile, or under both."""
    ways = [(way, counted[name]) for name, way in _COUNTED.items() if name in counted]
    whose = "them" if len(ways) == 1 else "all"
    how = " and ".join(way.format("them" if len(ways) == 1 else n) for way, n in ways)
    said = f"official {how}, corrected counts {whose} as wrong"
    if profile == "corrected" or "wrong" in counted:
        said = "they count as wrong"
    elif profile:
        said = "they are left out"
    as_is = counted.get("as_is", 0)
    if as_is and len(counted) == 1:
        return f"they are {_AS_IS}"
    return f"{said}, {as_is} are {_AS_IS}" if as_is else said


def _find_form(params: Mapping[str, Any]) -> str:
    """Return a verdict of the judge as it is read; "" where nobody was asked."""
    return metric_record(params["keys"][0].partition(".")[0]).verdict if params["judge"] is not None else ""


def say_constant(note: Note) -> str:
    """Say of a judge how many verdicts are one and the same by each key, and what that may mean."""
    values = ", ".join(f"{_show(name)} {_write(verdict)}" for name, verdict in note.params["verdicts"].items())
    all_, why = ("The", _FEW_ALIKE) if note.params["few"] else ("All", _ALL_ALIKE)
    return f"{all_} {note.params['count']} verdicts of the judge {note.params['judge']} are the same, {values}: {why}"


def _say_doubtful(params: Mapping[str, Any]) -> str:
    record, verdict = record_of(params["score"]), params["verdict"]
    words = params.get("words", record.words[0])
    slots = {**params, "score": _show(params["score"]), "words": _show(words), "verdict": _write(verdict)}
    slots["held"] = "the phrase asked for" if record_of(words).phrase else "an accepted answer word for word"
    slots["grade"] = next((grade for grade, value in record.grades.items() if value == verdict), _write(verdict))
    return f"The judge {params['judge']} {_DOUBTS[params['doubt']].format_map(slots)}: {_SEE}"


def say_reason(row: Row, run: RunRecord) -> str:
    """Say why a row has no value, or why that says nothing of the answers; "" where neither is so."""
    status, reason = status_of(row), row.get("reason", "")
    if status is Status.INVALID and not reason.startswith("judge"):
        name, place = f"{row['metric']}.{row['key']}", (row["config"], row["split"])
        notes = [note.params for note in notes_of(run, NoteCode.INVALID) if name in note.params["keys"]]
        params = next(params for params in notes if (params["config"], params["split"]) == place)
        judged = _find_form(params) and reason in _REASONS and not run.failures
        return _say_failed(params) + (f": {_REASONS[reason]}" if judged else "")
    if status is Status.UNRELIABLE or (status is Status.UNTRUSTED_JUDGE and row["value"] is None):
        return ""
    return _REASONS.get(reason, str(reason))


def spell_reason(metric: str, reason: str, run: RunRecord, answered: bool) -> str:
    """Return the reason why an item has no value with what it means where it is the judge's and not the answer's."""
    if reason == UNJUDGED:
        return f"{reason}: {_REASONS[Cause.JUDGE_DEAD if run.dead_judge else Cause.JUDGE_UNREAD]}"
    judged = answered and run.judge is not None and metric_record(metric.partition(".")[0]).verdict
    return f"{reason}: {_REASONS[Cause(reason)]}" if judged and reason in _REASONS else reason


def list_keys(names: Sequence[str], run: RunRecord) -> str:
    """List the keys of metrics that a summary shows, or a few where it shows fewer, and count the others."""
    heads = {name: at for at, name in enumerate(load(run.benchmark).headlines)}
    places = [(name.partition(".")[0], name.partition(".")[2]) for name in names]
    ranks = {place: heads.get(metric_record(place[0]).key(place[1]).name, len(heads)) for place in places}
    shown = sum(rank < len(heads) for rank in ranks.values()) or _SHOWN
    return shorten_list([show_key(*place) for place in sorted(places, key=ranks.__getitem__)], max(shown, _FEW))


def shorten_list(names: Sequence[str], few: int = _SHOWN) -> str:
    """List names, the first few alone where there are many, and how many are left: never one, which is named."""
    shown = names[: min(few, _SHOWN)]
    left = len(names) - len(shown)
    return ", ".join(names if left == 1 else shown) + f" and {left} more" * (left > 1)


def _show(name: str) -> str:
    return show_key(*name.split(".", 1))


def _write(verdict: float | str) -> str:
    return verdict.replace("_", " ") if isinstance(verdict, str) else f"{verdict:g}"
