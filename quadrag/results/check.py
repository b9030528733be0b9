"""Which scores anybody may use, and what is to be known of a run beside its numbers: the one place that makes notes.

A note is here only where a reader without it would take a number for more than it is, or would not know what to do.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from quadrag.benchmark import NO_JUDGE, NOT_GIVEN, load
from quadrag.catalogue import configs
from quadrag.errors import one_line
from quadrag.metric_record import WEIGHTED, metric_record, show_key
from quadrag.prompts import are_own
from quadrag.provenance import Provenance
from quadrag.spec import EXTRACTIVE, MOST_FAILED, NONE, RAG, UNKNOWN, WHOLE
from quadrag.stats import NOT_APPLICABLE

from .certificates import REFUSED, kept_certificates, mark_by_chance
from .items import FAILED, SHORT, VERDICTS, Lines, is_by_rule, is_ruled, reason_of, short_of
from .record import Note, NoteCode, RunRecord
from .run import ALL, PROFILES, UNJUDGED, Cause, Counts, Run, Score, ScoreKey, Status, record_of

# Of which a run keeps what was said, with the kind of their sentence then.
_WITH_WORDS = {Cause.API_ERROR: "said", Cause.RAISED: "raised_said", Cause.UNPARSABLE: "said"}
_IN_WORDS = {Cause.UNPARSABLE: "verdict", Cause.TRUNCATED: "verdict_cut"}  # of what a judge said


@dataclass(frozen=True, slots=True)
class Failures:
    tried: int  # items that its metric applies to
    total: int  # those of them that could fail, since no rule decided them; of replies alone, all
    failed: int
    reasons: Mapping[str, int]
    status: Status  # INVALID where more failed than may, UNRELIABLE where they are many
    profile: str = ""  # under which they failed; "" under both alike

    @property
    def cause(self) -> Cause:
        return Cause(max(self.reasons, key=self.reasons.__getitem__))


AllFailures: TypeAlias = Mapping[tuple[ScoreKey, str], Failures]  # by score and profile


def settle_scores(scores: Sequence[Score], run: RunRecord, lines: Lines) -> list[Score]:
    """Return the scores of a finished run with status and reason, and note in the run what failed of its items."""
    failures = _find_failures(scores, run, lines)
    derived = NoteCode.INVALID, NoteCode.UNRELIABLE, NoteCode.FAILED_COUNTED
    run.notes = [*_check_run(scores, run, failures), *(note for note in run.notes if note.code not in derived)]
    return mark_by_chance(_set_status(scores, run, failures), kept_certificates(run))


def _find_failures(scores: Sequence[Score], run: RunRecord, lines: Lines) -> AllFailures:
    by_split: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for line in lines:
        by_split.setdefault((line["config"], line["split"]), []).append(line)
    failures: dict[tuple[ScoreKey, str], Failures] = {}
    for key in dict.fromkeys(score.key for score in scores if run.short or {*FAILED} & {*score.counts.unscored}):
        of_split = by_split.get((key.config, key.split), ())
        official, corrected = (_count(key, of_split, profile, run) for profile in PROFILES)
        if corrected.failed > official.failed:
            official = corrected
        for profile, found in zip(PROFILES, (official, corrected), strict=True):
            if found.failed:
                failures[key, profile] = replace(found, profile="" if official == corrected else profile)
    return failures


def _count(key: ScoreKey, lines: Lines, profile: str, run: RunRecord) -> Failures:
    name, by_answer = key.name.removesuffix(WEIGHTED), bool(record_of(key.name).among)
    reasons, by_rule = Counter[str](), is_by_rule(key.metric, key.key)
    tried, ruled = 0, 0
    for line in lines:
        entry = line.get(name)
        if entry is None:
            continue
        why = reason_of(entry, profile) or ("api_error" if entry.get(profile) is None else "")
        if why == NOT_APPLICABLE and not by_answer:
            continue
        tried += 1
        has_failed = why in FAILED and not (by_rule and why in VERDICTS)
        short = short_of(line, run)  # which makes its verdict what it is
        if short or has_failed:
            reasons[short or why] += 1
        else:
            ruled += is_ruled(entry, profile)
    total = tried if {*reasons} <= {*SHORT} else tried - ruled
    failed = min(reasons.total(), total)
    share = failed / total if total else 0.0
    status = Status.UNRELIABLE if share > MOST_FAILED else Status.OK
    status = Status.INVALID if share > run.max_failed else status
    return Failures(tried, total, failed, dict(reasons), status)


def _set_status(scores: Sequence[Score], run: RunRecord, failures: AllFailures) -> list[Score]:
    scores = [_settle_ruled(score) for score in scores]
    codes = (NoteCode.JUDGE_DOUBTFUL, NoteCode.JUDGE_CONSTANT)
    doubts = {key: Cause(note.code.value) for note in run.find_notes(*codes) for key in note.params["keys"]}

    def settle(score: Score) -> Score:
        lost = failures.get((score.key, score.profile))
        if lost and lost.status is Status.INVALID:
            n = min(score.counts.n_scored or 0, lost.tried - lost.failed)
            others = {why: count for why, count in score.counts.unscored.items() if why not in FAILED}
            unscored = {**others, **lost.reasons} if score.slice == ALL else score.counts.unscored
            n_ruled = min(score.counts.n_ruled, n)
            counts = replace(score.counts, n_scored=n, n_filled=0, n_ruled=n_ruled, unscored=unscored)
            return replace(score, value=None, interval=None, counts=counts, status=lost.status, reason=lost.cause)
        if _is_unjudged(score, run):
            cause, n = Cause.JUDGE_DEAD if run.dead_judge else Cause.JUDGE_UNREAD, score.counts.n_total
            counts = Counts(n, n_scored=0, unscored={UNJUDGED: n})
            return replace(score, value=None, interval=None, counts=counts, status=Status.INVALID, reason=cause)
        if score.key.verdict in doubts and not score.counts.by_rule and score.status is Status.OK:
            return replace(score, status=Status.UNTRUSTED_JUDGE, reason=doubts[score.key.verdict])
        return replace(score, status=lost.status, reason=lost.cause) if lost and lost.status is not Status.OK else score

    return [settle(score) for score in scores]


def _is_unjudged(score: Score, run: RunRecord) -> bool:
    """Whether a score has no value since the judge was asked no further, or does not answer.

    Without a judge `error_correction` would be another measure, of what a phrase finds.
    """
    lost = run.dead_judge or run.unread_judge is not None
    return lost and (score.reason == NO_JUDGE or score.key.verdict != "")


def _settle_ruled(score: Score) -> Score:
    """Return a score that a rule decides as if its judge's verdicts could be read: it rests on none."""
    counts = score.counts
    lost = sum(counts.unscored.get(why, 0) for why in VERDICTS)
    if not lost or not is_by_rule(score.key.metric, score.key.key):
        return score
    kept = {why: count for why, count in counts.unscored.items() if why not in VERDICTS}
    return replace(score, counts=replace(counts, unscored=kept, n_scored=(counts.n_scored or 0) + lost, n_filled=0))


def _check_run(scores: Sequence[Score], run: RunRecord, failures: AllFailures) -> list[Note]:
    """Make the notes on the items of a run that failed; what of the other profile has no value needs none."""
    groups: dict[tuple[Any, ...], list[tuple[ScoreKey, Failures]]] = {}
    for (key, profile), lost in failures.items():
        code = NoteCode.FAILED_COUNTED if lost.status is Status.OK else NoteCode(lost.status.value)
        if code is not NoteCode.INVALID or profile == run.profile:
            form = code is NoteCode.INVALID and lost.cause is Cause.UNPARSABLE and metric_record(key.metric).verdict
            alike = (code, key.config, key.split, form, str(lost))
            groups.setdefault(alike, []).append((key, lost))
    notes = []
    for (code, *_), group in groups.items():
        lost = group[0][1]
        said = next(iter(run.failures.values()), None) if lost.cause in _WITH_WORDS else None
        params = {name: getattr(lost, name) for name in ("profile", "failed", "total", "reasons")}
        params |= {"judge": run.judge, "limit": run.max_failed, "cause": lost.cause.value}
        is_verdict = run.judge and metric_record(group[0][0].metric).verdict and lost.cause in _IN_WORDS
        params["said"] = run.verdict if is_verdict and code is NoteCode.INVALID else said
        notes.append(_note(code, [key for key, _ in group], **params))

    unjudged: dict[tuple[str, str], list[ScoreKey]] = {}
    for score in scores:
        if _is_unjudged(score, run):
            unjudged.setdefault((score.key.config, score.key.split), []).append(score.key)
    params = {"cause": Cause.JUDGE_UNREAD.value, "judge": run.unread_judge, "said": run.verdict}
    if run.dead_judge:
        dead_said = run.stopped and run.stopped["params"]["said"]
        params = {"cause": Cause.JUDGE_DEAD.value, "judge": run.judge, "said": dead_said}
    return notes + [_note(NoteCode.INVALID, keys, **params) for keys in unjudged.values()]


def _note(code: NoteCode, keys: Sequence[ScoreKey], **params: Any) -> Note:
    names = [key.name for key in dict.fromkeys(keys)]
    return Note(code, {"config": keys[0].config, "split": keys[0].split, "keys": names, **params})


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
    return [
        *[Note(NoteCode.MADE_UP_DATA)] * (run.provenance is Provenance.SAMPLE),
        *_check_parts(result),
        *check_failures(run),
        *(_of_judge(note, result) for note in run.find_notes(NoteCode.JUDGE_CONSTANT, NoteCode.JUDGE_DOUBTFUL)),
        *_check_texts(result),
        *_check_passages(run),
        *[Note(NoteCode.MATCHED_BY_IDS)] * run.by_ids,
    ]


def check_context(result: Run, scores: Sequence[Score], profile: str = PROFILES[0]) -> list[Note]:
    """Make those notes of a run that say what its numbers are, by the scores that are shown under the profile."""
    shown = [score for score in scores if score.profile == profile]
    return [*_check_data(result.record), *_check_metrics(shown), *check_lacking(shown)]


def check_failures(run: RunRecord) -> list[Note]:
    codes = NoteCode.INVALID, NoteCode.UNRELIABLE, NoteCode.FAILED_COUNTED
    return [_of_failure(note, run) for note in run.find_notes(*codes)]


def _check_parts(result: Run) -> Iterator[Note]:
    run = result.record
    if result.stopped and not run.dead_judge:
        yield Note(NoteCode.PARTIAL, {"kind": "stopped", "why": result.stopped})
    if run.coverage:
        kind = "limit" if run.spec.limit else "answers"
        yield Note(NoteCode.PARTIAL, {"kind": kind, "limit": run.spec.limit, **run.coverage._asdict()})
    if cut := run.found.get("cut"):
        yield Note(NoteCode.PARTIAL, {"kind": "cut", "count": cut, "context": run.spec.context})
    for part in dict.fromkeys(part for record in result.parts or [run] for part in record.held):
        yield Note(NoteCode.PARTIAL, {"kind": "files", **part._asdict()})


def _of_failure(note: Note, run: RunRecord) -> Note:
    params = note.params
    kept = {
        name: params[name] for name in ("judge", "failed", "total", "limit", "reasons", "profile") if name in params
    }
    labels = [show_key(*name.split(".", 1)) for name in params["keys"]]
    kept |= {"places": [f"{params['config']} {params['split']}"], "keys": labels}
    if note.code is NoteCode.FAILED_COUNTED:
        how = "short" if {*params["reasons"]} <= {*SHORT} else params["profile"] or "both"
        return Note(note.code, kept | {"counted": Note(note.code, {"kind": f"counted.{how}"})})
    cause, said = Cause(params["cause"]), params["said"]
    record = metric_record(params["keys"][0].partition(".")[0])
    form = record.show_verdict(run.spec.judges) if params["judge"] is not None else ""
    name = cause.value.replace(" ", "_")
    if said:
        name = (_IN_WORDS if form and cause in _IN_WORDS else _WITH_WORDS).get(cause, name)
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
            yield Note(NoteCode.SAME_ANSWER, {"count": len(questions), "total": total, "text": one_line(text, _SHOWN)})


def _check_passages(run: RunRecord) -> Iterator[Note]:
    gave = run.service or {}
    if gave.get("why") and (gave["passages"] or gave["why"] == NOT_GIVEN):
        yield Note(NoteCode.RETRIEVAL_UNMEASURED, {"kind": "why", "why": gave["why"]})
    if gave.get("by") == "form" or (gave.get("by") == "text" and gave.get("gold") == 0):
        options = [f"--option {name}={run.splits[0]}" for name in load(run.benchmark).corpus_options]
        kind = "no_gold_option" if options else "no_gold"
        yield Note(NoteCode.RETRIEVAL_UNMEASURED, {"kind": kind, "count": gave["passages"], "options": options})
    if gave.get("by") in ("id", "text", "form") and (bare := gave.get("bare")):
        params = {"kind": "bare", "count": bare, "total": gave["questions"] + bare}
        yield Note(NoteCode.RETRIEVAL_UNMEASURED, params)


def _check_data(run: RunRecord) -> Iterator[Note]:
    known = configs(run.benchmark)
    kind = "plain"
    if run.provenance is not Provenance.OWN and (run.config.endswith("_original") or f"{run.config}_original" in known):
        kind = "original" if run.config.endswith("_original") else "revised"
    sample = {"level": "detail"} if run.provenance is Provenance.SAMPLE else {}  # of which a warning is given
    searched = run.options if run.retrieval else {}
    corpus = [f"corpus with {name}={searched[name]}" for name in load(run.benchmark).corpus_options if name in searched]
    yield Note(NoteCode.DATA, {"kind": kind, "source": "; ".join([run.source, *corpus]), **sample})
    if run.given:
        yield Note(NoteCode.OWN_FILES, {"files": sorted(run.given)})
    if "prompt" in (run.judging or {}):
        yield Note(NoteCode.OWN_FILES, {"kind": "judge"})
    if any("prompt" in judge for judge in (run.judging or {}).get("judges", ())):
        yield Note(NoteCode.OWN_FILES, {"kind": "plain"})
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
    parts += [f"context {run.spec.context}"] * bool(run.spec.context)
    parts += [f"samples {run.spec.samples}"] * (run.spec.samples > 1)
    parts += ["own prompts"] * bool(are_own(run.benchmark, run.prompts) and not served)
    parts += [f"judge {run.judge}"] if run.judge else []
    return parts + [f"{role} served by {name}" for role, name in run.served_as.items() if role != "llm"]


def _check_metrics(scores: Sequence[Score]) -> Iterator[Note]:
    for score in {score.label: score for score in scores if score.ran and score.record.about}.values():
        yield Note(NoteCode.ABOUT, {"key": score.label, "about": score.prose(score.record.about)})
    if lower := dict.fromkeys(score.label for score in scores if score.ran and score.record.direction == "lower"):
        yield Note(NoteCode.LOWER_BETTER, {"keys": [*lower]})


def check_lacking(scores: Sequence[Score]) -> Iterator[Note]:
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
        params = {"kind": "failed", "reasons": lost, "failed": sum(lost.values()), "total": score.counts.n_total}
        return Note(NoteCode.REASON, params)
    if score.status is Status.UNRELIABLE or (score.status is Status.UNTRUSTED_JUDGE and score.value is None):
        return ""
    return Note(NoteCode.REASON, {"kind": score.reason}) if score.reason in _REASONS else score.reason


def explain_item(metric: str, reason: str, run: RunRecord, answered: bool) -> Note | None:
    """Say what it means that an item has no value, where that is the judge's and not the answer's."""
    if reason == UNJUDGED:
        return Note(NoteCode.REASON, {"kind": (Cause.JUDGE_DEAD if run.dead_judge else Cause.JUDGE_UNREAD).value})
    judged = answered and run.judge is not None and metric_record(metric.partition(".")[0]).verdict
    return Note(NoteCode.REASON, {"kind": reason}) if judged and reason in _REASONS else None
