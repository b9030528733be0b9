"""What is to be known of a run beside its numbers: the one place that makes notes of a run.

A note is here only where a reader without it would take a number for more than it is, or would not know what to do.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from quadrag.benchmark import NOT_GIVEN, load
from quadrag.catalogue import configs
from quadrag.errors import one_line
from quadrag.metric_record import metric_record, show_key
from quadrag.prompts import are_own
from quadrag.provenance import Provenance
from quadrag.spec import EXTRACTIVE, NONE, RAG, UNKNOWN, WHOLE

from .items import FAILED, SHORT
from .judges import REFUSED
from .note import Note, NoteCode, notes_of
from .record import RunRecord
from .run import PROFILES, Run
from .score import UNJUDGED, Cause, Score, Status, record_of

_SHOWN = 40  # characters of an answer
_MOSTLY = 0.9  # share of questions that one text answers: it is told
_LITTLE = 0.02  # share of questions that may have an empty answer
_ENDS = ".。!！"  # of answers that are else the same text
_REASONS = (
    "api_error",
    "truncated",
    "unparsable",
    "misaligned",
    *(cause for cause in Cause if cause.startswith("judge")),
)
_OPTIONS = {"no judge": "--judge", "no embedding": "--bertscore"}  # by what a metric lacks, what gives it


def check_validity(result: Run) -> list[Note]:
    """Make those notes of a run without which its numbers mislead."""
    run = result.record
    notes = [Note(NoteCode.MADE_UP_DATA)] if run.whose is Provenance.SAMPLE else []
    notes += _check_parts(result)
    notes += check_failures(run)
    notes += [_of_judge(note, result) for note in notes_of(run, NoteCode.JUDGE_CONSTANT, NoteCode.JUDGE_DOUBTFUL)]
    notes += [*_check_texts(result), *_check_passages(run)]
    return [*notes, *[Note(NoteCode.MATCHED_BY_IDS)] * run.by_ids]


def check_context(result: Run, scores: Sequence[Score], profile: str = PROFILES[0]) -> list[Note]:
    """Make those notes of a run that say what its numbers are, by the scores that are shown under the profile."""
    shown = [score for score in scores if score.profile == profile]
    return [*_check_data(result.record), *_check_metrics(shown), *check_lacking(shown)]


def check_failures(run: RunRecord) -> list[Note]:
    """Return what failed of a run's items, as it is said."""
    return [_of_failure(note) for note in notes_of(run, NoteCode.INVALID, NoteCode.UNRELIABLE, NoteCode.FAILED_COUNTED)]


def _check_parts(result: Run) -> Iterator[Note]:
    run = result.record
    if result.stopped and not run.dead_judge:
        yield Note(NoteCode.PARTIAL, {"kind": "stopped", "why": result.stopped})
    if run.coverage:
        kind = "limit" if run.spec.limit else "answers"
        yield Note(NoteCode.PARTIAL, {"kind": kind, "limit": run.spec.limit, **run.coverage._asdict()})
    for part in dict.fromkeys(part for record in result.parts or [run] for part in record.held):
        yield Note(NoteCode.PARTIAL, {"kind": "files", **part._asdict()})


def is_part(run: RunRecord) -> bool:
    """Whether a run is over a part of the questions."""
    return bool(run.coverage or run.held)


def _of_failure(note: Note) -> Note:
    """Return a kept note on items that failed with what says why most did and what to do."""
    params = note.params
    kept = {
        name: params[name] for name in ("judge", "failed", "total", "limit", "reasons", "profile") if name in params
    }
    kept |= {"places": [f"{params['config']} {params['split']}"], "keys": _show(params["keys"])}
    if note.code is NoteCode.FAILED_COUNTED:
        how = "short" if {*params["reasons"]} <= {*SHORT} else params["profile"] or "both"
        return Note(note.code, kept | {"counted": Note(note.code, {"kind": f"counted.{how}"})})
    cause, said = Cause(params["cause"]), params["said"]
    form = metric_record(params["keys"][0].partition(".")[0]).verdict if params["judge"] is not None else ""
    name = cause.value.replace(" ", "_")
    if said and cause is Cause.UNPARSABLE and form:
        name = "verdict"
    elif said and cause in (Cause.API_ERROR, Cause.UNPARSABLE):
        name = "said"
    elif said and cause is Cause.RAISED:
        name = "raised_said"
    kind = name if cause in (Cause.JUDGE_UNREAD, Cause.JUDGE_DEAD) else "share"
    why = Note(NoteCode.INVALID, {"kind": f"why.{name}", **kept, "said": said, "form": form})
    return Note(note.code, {"kind": kind, **kept, "why": why})


def _of_judge(note: Note, result: Run) -> Note:
    params = note.params
    marks = any(score.status is Status.UNTRUSTED_JUDGE and score.value is not None for score in result.scores)
    marked = {"marked": Note(note.code, {"kind": "marked"})} if params["keys"] and marks else {"marked": ""}
    if note.code is NoteCode.JUDGE_CONSTANT:
        verdicts = [f"{show_key(*name.split('.', 1))} {_write(value)}" for name, value in params["verdicts"].items()]
        return Note(note.code, {"judge": params["judge"], "count": params["count"], "verdicts": verdicts, **marked})
    record, words = record_of(params["score"]), params.get("words", record_of(params["score"]).words[0])
    grade = next((grade for grade, value in record.grades.items() if value == params["verdict"]), "")
    kind = params["doubt"]
    if kind == REFUSED:
        kind = "refused_phrase" if record_of(words).phrase else "refused"
    own = {"kind": kind, "score": show_key(*params["score"].split(".", 1)), "verdict": _write(params["verdict"])}
    own |= {"grade": grade or _write(params["verdict"]), "words": show_key(*words.split(".", 1))}
    counts = {name: params[name] for name in ("judge", "n", "of", "right", "known") if name in params}
    return Note(note.code, {**own, **counts, **marked})


def _write(verdict: float | str) -> str:
    return verdict.replace("_", " ") if isinstance(verdict, str) else f"{verdict:g}"


def _show(names: Sequence[str]) -> list[str]:
    return [show_key(*name.split(".", 1)) for name in names]


def _check_texts(result: Run) -> Iterator[Note]:
    run, parse = result.record, load(result.record.benchmark).parse
    places: dict[str, list[object]] = {}  # the questions of each text
    for (question, _), text in result.texts.items():
        if text is not None:
            plain = parse(question[0], text).strip()
            places.setdefault(plain.rstrip(_ENDS) or plain, []).append(question)
    total = sum(map(len, places.values()))
    if run.llm == EXTRACTIVE:
        if [*places] == [""] and run.retriever == NONE:
            yield Note(NoteCode.EMPTY_ANSWERS, {"kind": "extractive"})
        return
    empty = len(places.pop("", ()))
    if empty > 1 and empty >= _LITTLE * total and "empty" not in run.short.values():  # a model's have failed
        own = "contract" in run.parameters or "llm" not in run.services
        yield Note(NoteCode.EMPTY_ANSWERS, {"kind": "own" if own else "model", "count": empty, "total": total})
    for text, questions in places.items():
        if len({*questions}) > 1 and len(questions) >= _MOSTLY * total:
            said = one_line(text, _SHOWN)
            yield Note(NoteCode.SAME_ANSWER, {"count": len(questions), "total": total, "text": said})


def _check_passages(run: RunRecord) -> Iterator[Note]:
    gave = run.service or {}
    if gave.get("why") and (gave["passages"] or gave["why"] == NOT_GIVEN):
        yield Note(NoteCode.RETRIEVAL_UNMEASURED, {"kind": "why", "why": gave["why"]})
    if gave.get("by") == "form" or (gave.get("by") == "text" and gave.get("gold") == 0):
        options = [f"--option {name}={run.splits[0]}" for name in load(run.benchmark).corpus_options]
        kind = "no_gold_option" if options else "no_gold"
        yield Note(NoteCode.RETRIEVAL_UNMEASURED, {"kind": kind, "count": gave["passages"], "options": options})
    if gave.get("by") in ("id", "text", "form") and (bare := gave.get("bare")):
        counts = {"count": bare, "total": gave["questions"] + bare}
        yield Note(NoteCode.RETRIEVAL_UNMEASURED, {"kind": "bare", **counts})


def _check_data(run: RunRecord) -> Iterator[Note]:
    """Say on what data a run is, what was not ours, and under which settings it was made."""
    known = configs(run.benchmark)
    kind = "plain"
    if run.whose is not Provenance.OWN and (run.config.endswith("_original") or f"{run.config}_original" in known):
        kind = "original" if run.config.endswith("_original") else "revised"
    sample = {"level": "detail"} if run.whose is Provenance.SAMPLE else {}  # of which a warning is given
    yield Note(NoteCode.DATA, {"kind": kind, "source": run.source, **sample})
    if run.given:
        yield Note(NoteCode.OWN_FILES, {"files": sorted(run.given)})
    if "prompt" in (run.judging or {}):
        yield Note(NoteCode.OWN_FILES, {"kind": "judge"})
    if entities := run.found.get("entities", {}):
        counts = {"count": entities.get("model", 0), "total": Counter(entities).total()}
        yield Note(NoteCode.ENTITIES, {"model": run.entity["model"] if run.entity else run.llm, **counts})
    if index := run.found.get("index"):
        yield Note(NoteCode.INDEX_RECALL, dict(index))
    if settings := list_settings(run):
        yield Note(NoteCode.SETTINGS, {"settings": "; ".join(settings)})


def list_settings(run: RunRecord) -> list[str]:
    """List how passages were found, and in what else a run differs from the benchmark's own settings."""
    searched = {name: value for name, value in (run.retrieval or {}).items() if name != "corpus"}
    if searched.get("chunk_size", 0) >= WHOLE:
        searched = {name: value for name, value in searched.items() if name not in ("chunk_size", "chunk_overlap")}
        searched["passages"] = "whole"
    served = run.retriever == RAG
    parts = [f"retriever {run.retriever}"] if searched or run.retriever == UNKNOWN else []
    parts += [f"contract {run.parameters['contract']}"] if served else []
    # What a search made of an option stands for it: windows that are named in tokens may be in characters.
    parts += [f"{name} {value}" for name, value in {**searched, **run.options, **searched}.items()]
    parts += [] if served else [f"{name} {value}" for name, value in run.sent.items() if name != "contract"]
    parts += [f"limit {run.spec.limit}"] * bool(run.spec.limit)
    parts += [f"samples {run.spec.samples}"] * (run.spec.samples > 1)
    parts += ["own prompts"] * bool(are_own(run.benchmark, run.prompts) and not served)
    parts += [f"judge {run.judge}"] if run.judge else []
    return parts + [f"{role} served by {name}" for role, name in run.served_as.items() if role != "llm"]


def _check_metrics(scores: Sequence[Score]) -> Iterator[Note]:
    """Explain the values that no paper defines, and say of which a lower one is better."""
    for score in {score.label: score for score in scores if score.ran and score.record.about}.values():
        yield Note(NoteCode.ABOUT, {"key": score.label, "about": score.prose(score.record.about)})
    if lower := dict.fromkeys(score.label for score in scores if score.ran and score.record.direction == "lower"):
        yield Note(NoteCode.LOWER_BETTER, {"keys": [*lower]})


def check_lacking(scores: Sequence[Score]) -> Iterator[Note]:
    """Say which metrics did not run and what runs them, and what has no value though it did not fail."""
    missing: dict[str, dict[str, None]] = {}
    for score in scores:
        if not score.ran:
            missing.setdefault(score.reason, {})[score.label] = None
    for why, names in missing.items():
        yield Note(NoteCode.NOT_RUN, {"keys": [*names], "why": _OPTIONS.get(why, why)})
    found: dict[tuple[Any, ...], tuple[Note, dict[str, None]]] = {}
    for score in scores:
        counts, place = score.counts, f"{score.key.config} {score.key.split}"
        lacking = {why: n for why, n in counts.unscored.items() if why not in (*FAILED, UNJUDGED)}
        if lacking and score.slice == "all":
            params = {"kind": "some", "places": [place], "reasons": lacking}
            found.setdefault((place, *lacking.items()), (Note(NoteCode.NO_VALUE, params), {}))[1][score.label] = None
        if score.status is not Status.INVALID and 0 < counts.n_total == counts.n_not_applicable:
            params = {"kind": "why" if score.record.none else "none", "why": score.prose(score.record.none)}
            found.setdefault((str(params),), (Note(NoteCode.NO_VALUE, params), {}))[1][score.label] = None
    for note, names in found.values():
        yield Note(note.code, {**note.params, "keys": [*names]})


def explain_score(score: Score) -> Note | str:
    """Say why a score has no value, or why that says nothing of the answers; "" where neither is so."""
    if score.status is Status.INVALID and not score.reason.startswith("judge"):
        lost = {why: n for why, n in score.counts.unscored.items() if why in FAILED}
        counts = {"failed": sum(lost.values()), "total": score.counts.n_total}
        return Note(NoteCode.REASON, {"kind": "failed", "reasons": lost, **counts})
    if score.status is Status.UNRELIABLE or (score.status is Status.UNTRUSTED_JUDGE and score.value is None):
        return ""
    return Note(NoteCode.REASON, {"kind": score.reason}) if score.reason in _REASONS else score.reason


def explain_item(metric: str, reason: str, run: RunRecord, answered: bool) -> Note | None:
    """Say what it means that an item has no value, where that is the judge's and not the answer's."""
    if reason == UNJUDGED:
        return Note(NoteCode.REASON, {"kind": (Cause.JUDGE_DEAD if run.dead_judge else Cause.JUDGE_UNREAD).value})
    judged = answered and run.judge is not None and metric_record(metric.partition(".")[0]).verdict
    return Note(NoteCode.REASON, {"kind": reason}) if judged and reason in _REASONS else None
