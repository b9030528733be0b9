"""What is known of a run: the record that `run.json` holds, and notes, codes of which `reporting/messages` speaks.

A run is identified by its spec and by digests of what the spec names. All else is told of it and decides nothing:
times, cost, host, command, the sums of its files. The first entry of the file, ``sum``, is the sha256 of the others as
canonical JSON, so that a record that was altered is not believed. What names a score in a note is ``metric.key``, in
lists ``keys`` of one ``config`` and ``split``.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError, parse_json
from quadrag.parts import validate
from quadrag.provenance import Provenance, Share
from quadrag.records import write_text
from quadrag.spec import MOST_FAILED, RunSpec

_SHOWN = 3  # notes of one code that stand above a table


class Level(StrEnum):
    HEADLINE = "headline"  # what a table comes to, above it
    WARNING = "warning"  # without it a table misleads
    INFO = "info"
    DETAIL = "detail"  # for a specialist: on the page, and where all is asked for


class NoteCode(StrEnum):
    level: Level

    def __new__(cls, code: str, level: Level = Level.INFO) -> "NoteCode":
        member = str.__new__(cls, code)
        member._value_ = code
        member.level = level
        return member

    # Of a run.
    NOT_REPLICATED = "not_replicated", Level.WARNING
    MADE_UP_DATA = "made_up_data", Level.WARNING
    PARTIAL = "partial", Level.WARNING
    # Why a run could not finish: kind ``budget`` (done of total answers, limit, currency, spent and what the next call
    # may cost) or ``judge_dead`` (judge, what the fault said)
    STOPPED = "stopped", Level.WARNING
    # Scores have no value, are not reliable, or count failures: config, split, keys, judge (None: nobody was asked),
    # cause (`Cause`), said (a reply, or why a call failed); of items that failed: profile ("": both), failed, total,
    # limit (a share), reasons
    INVALID = "invalid", Level.WARNING
    UNRELIABLE = "unreliable", Level.WARNING
    FAILED_COUNTED = "failed_counted", Level.WARNING
    MORE = "more", Level.WARNING
    # All verdicts of a judge are the same: judge, count, verdicts (by score), keys (which rest on them)
    JUDGE_CONSTANT = "judge_constant", Level.WARNING
    # Verdicts are not what words say: judge, score, doubt (``refused``, ``far``), keys (which rest on them); n of the
    # answers have the verdict, with ``refused`` of those that words find right; with ``far`` right of known are so by
    # words (the score that says it)
    JUDGE_DOUBTFUL = "judge_doubtful", Level.WARNING
    JUDGE_BY_CHANCE = "judge_by_chance", Level.WARNING
    EMPTY_ANSWERS = "empty_answers", Level.WARNING
    SAME_ANSWER = "same_answer", Level.WARNING
    RETRIEVAL_UNMEASURED = "retrieval_unmeasured", Level.WARNING
    MATCHED_BY_IDS = "matched_by_ids", Level.WARNING
    OTHER_PROFILE = "other_profile"
    UNITS = "units"
    COLUMNS = "columns"
    FLAGGED = "flagged"
    MORE_TABLES = "more_tables"
    RECIPE = "recipe"
    DATA = "data"
    OWN_FILES = "own_files"
    ENTITIES = "entities"
    INDEX_RECALL = "index_recall"
    ANSWERS_HIDDEN = "answers_hidden"
    ABOUT = "about"
    NOT_RUN = "not_run"
    NO_VALUE = "no_value"
    LOWER_BETTER = "lower_better"
    PROFILE_DIFFERS = "profile_differs"
    # What nobody said of answers from elsewhere: how their passages were found, with which prompts
    UNSAID = "unsaid"
    OTHER_PROMPTS = "other_prompts"
    PUBLISHED_SOURCE = "published_source"
    DOUBTFUL_PRINT = "doubtful_print"
    ROW_MARK = "row_mark"
    # Why a score or an item has no value, or its value says nothing of the answers
    REASON = "reason"
    SPREAD = "spread"
    # In which passages of a question the gold stood
    GOLD = "gold"
    # Which and how many questions are shown
    SHOWN = "shown"
    JUDGE_AGREEMENT = "judge_agreement"
    JUDGE_UNCERTIFIED = "judge_uncertified"
    CERTIFICATE_UNUSED = "certificate_unused"
    CONDITIONS = "conditions", Level.DETAIL
    INTERVALS = "intervals", Level.DETAIL
    SETTINGS = "settings", Level.DETAIL
    # What is kept of an earlier run and was not asked again
    KEPT = "kept", Level.WARNING
    # Of a comparison.
    PROFILES_MIXED = "profiles_mixed", Level.WARNING
    # What a run is by the score that leads: kind (a verdict, ``few``), name, metric, difference, interval, p, n
    VERDICT = "verdict", Level.HEADLINE
    SAME_ANSWERS = "same_answers", Level.WARNING
    LONGER_ANSWERS = "longer_answers", Level.WARNING
    NOT_COMPARED = "not_compared"
    VALUES_APART = "values_apart"
    P_RULE = "p_rule"
    TESTS = "tests", Level.DETAIL


@dataclass(frozen=True, slots=True)
class Note:
    """A thing to be known of runs; ``kind`` in params chooses among the sentences of a code."""

    code: NoteCode
    params: Mapping[str, Any] = field(default_factory=dict)
    runs: tuple[str, ...] = ()  # of which it is said; () of all

    @property
    def level(self) -> Level:
        return Level(self.params.get("level", self.code.level))


def group_notes(told: Iterable[tuple[str, Note]], names: Sequence[str]) -> list[Note]:
    """Return each note once, in the order of the codes, with the runs that it is of; () of all of several.

    What is the same in several ``places`` is said of all of them. Of one code the first three stand; what is left is
    for those who ask for all, and counted.

    Args:
        told: notes, each with the name of its run.
        names: of all runs.
    """
    found: list[tuple[Note, dict[str, None], dict[str, None]]] = []  # a note without places, its runs, its places
    for name, note in told:
        bare = replace(note, params={key: value for key, value in note.params.items() if key != "places"})
        known = next((entry for entry in found if entry[0] == bare), None)
        if known is None:
            found.append(known := (bare, {}, {}))
        known[1][name] = None
        known[2].update(dict.fromkeys(note.params.get("places", ())))
    order = list(NoteCode)
    grouped = [
        Note(note.code, {**note.params, "places": [*places]} if places else note.params, runs)
        for note, own, places in found
        for runs in [() if {*own} >= {*names} else tuple(own)]
    ]
    grouped.sort(key=lambda note: order.index(note.code))
    notes: list[Note] = []
    for code in dict.fromkeys(note.code for note in grouped):
        alike = [note for note in grouped if note.code is code]
        notes += alike[:_SHOWN]
        if (more := alike[_SHOWN:]) and code.level is not Level.DETAIL:
            notes.append(Note(NoteCode.MORE, {"count": len(more), "of": code}))
        notes += [replace(note, params={**note.params, "level": Level.DETAIL}) for note in more]
    return notes


NAME = "run.json"
# Parts of a spec that name places; what lies there is known by its digest.
_PLACES = {"data_dir", "prompts", "options", "system", "entity_model", "judges", "embed", "replica", "retrieval"}


@dataclass(slots=True)
class RunRecord:
    spec: RunSpec  # what is measured, with what
    # What decides its files beside the spec: ``quadrag`` (its version), ``splits``, ``options`` (files by content),
    # ``retrieval`` (the settings used), ``search`` (versions and weights behind it), ``graph``, ``system``, ``entity``
    # (each with ``model``, ``service`` and ``parameters``), ``prompts``, ``questions``, ``seeds``.
    digests: dict[str, Any] = field(default_factory=dict)
    # The same of what is judged: ``judges``, what they are ``given``, a ``prompt`` of the user's own, ``embed``.
    judging: dict[str, Any] = field(default_factory=dict)
    judge: str | None = None  # its judges by name; None where there is none
    state: str = "new"  # ``new``, ``running``, ``stopped`` or ``finished``
    files: dict[str, str] = field(default_factory=dict)  # the sha256 of each stage's file as the run wrote it, by name
    # Why it could not finish: ``code`` (``budget``, ``judge_dead``) and ``params``, as `NoteCode.STOPPED` has them.
    stopped: dict[str, Any] | None = None
    log: bool = False  # whether its answers are a harness's log, of quadrag's own prompts and of what a model replied
    by_ids: bool = False  # whether a file's answers were matched by ids alone, which other data may have as well
    coverage: Share | None = None  # how many questions were asked, or a file answers; None where all
    source: str = "unknown"  # where the questions come from, and the corpus where it is from elsewhere, in words
    provenance: Provenance = Provenance.UNVERIFIED  # whose they are together
    held: list[Share] = field(default_factory=list)  # of each split of which a part of the authors' questions is there
    command: list[str] = field(default_factory=list)  # as typed, less passwords
    versions: dict[str, str] = field(default_factory=dict)  # of quadrag, Python and the libraries that have a say
    host: str = ""  # where it ran
    started: str | None = None  # in UTC
    seconds: float = 0.0  # of the last command
    given: list[str] = field(default_factory=list)  # the user's own files that answers of a log were made with
    # What is to be told of how passages were found, as CRAG's entities.
    found: dict[str, Any] = field(default_factory=dict)
    service: dict[str, Any] | None = None  # what a RAG service gave
    failures: dict[str, str] = field(default_factory=dict)  # calls that failed, by ``config/split/id/sample``
    failed_verdicts: int = 0  # answers that a judge was asked about in vain
    # A model's replies that are ``empty``, or were ``cut`` by length, by the same place as `failures`.
    short: dict[str, str] = field(default_factory=dict)
    verdict: str | None = None  # what a judge said that could not be read, as one line
    notes: list[Note] = field(default_factory=list)  # on its items and its judges
    # The judge that was asked no further, since none of its first verdicts could be read.
    unread_judge: str | None = None
    dead_judge: bool = False  # whether the judge does not answer, as `stopped` says
    unreadable: int = 0  # answers whose verdict could not be read
    max_failed: float = MOST_FAILED  # the share of a metric's items above which its value is not shown
    profile: str = "official"  # the one that its values are shown by where none is named: ``official`` or ``corrected``
    # Those that the user gave for its judges, as `quadrag certify-judge` wrote them.
    certificates: list[dict[str, Any]] = field(default_factory=list)
    # Of each answer when it was first made, by the same place.
    latency_seconds: dict[str, float] = field(default_factory=dict)
    latency: dict[str, float] | None = None  # its median and 95th percentile
    # Calls, tokens and cost of the last command, by role; ``cached`` replies are from before the command, ``oldest`` is
    # when the oldest of them was made, in UTC.
    usage: dict[str, dict[str, Any]] = field(default_factory=dict)
    fresh: float | None = None  # Unix time; replies from before it do not count, as the user asked; None: all do

    @property
    def benchmark(self) -> str:
        return self.spec.benchmark

    @property
    def config(self) -> str:
        return self.spec.config

    @property
    def retriever(self) -> str:
        return self.spec.retriever

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.digests.get("options", {}))

    @property
    def retrieval(self) -> dict[str, Any] | None:
        return self.digests.get("retrieval")

    @property
    def entity(self) -> dict[str, Any] | None:
        """The model that was asked for entities; None where it was the one that answers, or none."""
        return self.digests.get("entity")

    @property
    def prompts(self) -> str | None:
        """Their digest; None where they are not known."""
        return self.digests.get("prompts")

    @property
    def splits(self) -> list[str]:
        return list(self.digests.get("splits", ()))

    @property
    def llm(self) -> str:
        return str(self.digests.get("system", {}).get("model", ""))

    @property
    def served_as(self) -> dict[str, str]:
        """What servers call the models that the user calls otherwise, by role."""
        asked = {"llm": self.spec.system, "entity": self.spec.entity_model if self.entity else None}
        asked |= {name_judge(place): judge for place, judge in enumerate(self.spec.judges)}
        named = {role: (getattr(chat, "name", None), getattr(chat, "model", None)) for role, chat in asked.items()}
        return {role: model for role, (name, model) in named.items() if name and model and name != model}

    @property
    def parameters(self) -> dict[str, Any]:
        return dict(self.digests.get("system", {}).get("parameters", {}))

    @property
    def services(self) -> dict[str, str]:
        """Where models were asked, as the ledger calls it, by role: ``llm``, ``entity``, ``judge``, ``judge 2``."""
        judges = self.judging.get("judges", ())
        asked = {"llm": self.digests.get("system"), "entity": self.digests.get("entity")}
        asked |= {name_judge(place): judge for place, judge in enumerate(judges)}
        return {role: part["service"] for role, part in asked.items() if part and part.get("service")}

    @property
    def answering(self) -> dict[str, Any]:
        return {**self.spec.model_dump(mode="json", exclude=_PLACES), **self.digests}

    @property
    def identity(self) -> str:
        return sum_of({**self.answering, "judging": self.judging})

    @property
    def sent(self) -> dict[str, Any]:
        """The parameters of its answers as the server took them, less those that it refused."""
        names = self.usage.get("llm", {}).get("refused", {})
        return {names.get(name) or name: one for name, one in self.parameters.items() if names.get(name, name)}

    @property
    def judged_in_vain(self) -> bool:
        """Whether too little of what its judge said came, or could be read, for its metrics to be relied on."""
        many = self.find_notes(NoteCode.INVALID, NoteCode.UNRELIABLE)
        return self.unread_judge is not None or bool(many and (self.unreadable or self.failed_verdicts))

    def find_notes(self, *codes: NoteCode) -> list[Note]:
        return [note for code in codes for note in self.notes if note.code is code]

    def write(self, folder: Path) -> None:
        facts = {name: getattr(self, name) for name in self.__slots__ if name != "spec"}
        row = {"spec": self.spec.dump(), "identity": self.identity, **facts}
        row |= {"coverage": self.coverage and self.coverage._asdict(), "held": [part._asdict() for part in self.held]}
        row["notes"] = [{"code": note.code, "params": dict(note.params)} for note in self.notes]
        # By way of JSON, where a name that is a number is a text.
        whole = {"sum": sum_of(json.loads(json.dumps(row))), **row}
        text = json.dumps(whole, ensure_ascii=False, indent=1)
        write_text(folder / NAME, text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n")


def name_judge(place: int) -> str:
    return f"judge {place + 1}" if place else "judge"


def read_run(folder: Path) -> RunRecord:
    path = folder / NAME
    try:
        row = parse_json(path.read_bytes(), path)
    except OSError:
        raise QuadragError(f"{folder} holds no run.json; expected the folder of a run") from None
    except QuadragError:
        row = None
    again = "remove the folder and run the same command again, replies are in the ledger"
    if not isinstance(row, dict) or row.pop("sum", None) != sum_of(row):
        raise QuadragError(f"{path} is damaged; {again}")
    try:
        del row["identity"]
        row["coverage"] = row["coverage"] and Share(**row["coverage"])
        row["held"] = [Share(**part) for part in row["held"]]
        row["provenance"] = Provenance(row["provenance"])
        row["notes"] = [Note(NoteCode(note["code"]), note["params"]) for note in row["notes"]]
        return RunRecord(**{**row, "spec": validate(RunSpec, row["spec"], str(path))})
    except (KeyError, TypeError, ValueError):
        raise QuadragError(f"{path} is of another version of quadrag; {again}") from None


def sum_of(row: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def is_as_written(folder: Path, run: RunRecord, stage: str) -> bool:
    return stage in run.files and (folder / stage).is_file() and run.files[stage] == sha256(folder / stage)


def check_stage(folder: Path, run: RunRecord, stage: str) -> None:
    path = folder / stage
    if not path.is_file():
        raise QuadragError(f"{folder} has no {stage}; run it to its end first")
    if not is_as_written(folder, run, stage):
        # What `quadrag score` wrote, which retrieves nothing, is made as a whole.
        made = "retrieved.jsonl" in run.files or run.state == "stopped"
        again = "remove it and run again, which makes it anew" if made else "remove the folder and score again"
        raise QuadragError(f"{path} is not as the run wrote it; {again}")
