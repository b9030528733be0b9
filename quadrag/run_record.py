"""What `run.json` holds, as one typed record: read here, written here, and nowhere else.

`Inputs` is what decides the bytes of a run's files; a run with other inputs is another run. All else is told of a run
and decides nothing: times, cost, host, command, the sums of its files. The first entry, ``sum``, is the sha256 of the
others as canonical JSON, so that a record that was altered is not believed.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.provenance import Provenance
from quadrag.reading import parse_json
from quadrag.records import write_text

MOST_FAILED = 0.2  # the share of items whose failure makes a metric invalid
NAME = "run.json"
_NULL = ("limit", "judge")  # inputs that say something as null: all questions, no judge


@dataclass(slots=True, kw_only=True)
class Inputs:
    """What decides the bytes of a run's files."""

    quadrag: str  # the version
    benchmark: str  # its name
    config: str  # its config
    splits: list[str]  # those that were asked
    retriever: str  # what found the passages; ``unknown`` of a file of answers that does not say it
    # The settings of the retrieval that the retriever uses; None where it uses none.
    retrieval: dict[str, Any] | None = None
    search: dict[str, Any] | None = None  # versions and weights behind the search; None where nothing was searched
    graph: str | None = None  # what identifies CRAG's knowledge graph; None where none was asked
    options: dict[str, Any] = field(default_factory=dict)  # the benchmark's, files by their content
    limit: int | None = None  # the first questions of every split alone; None for all
    samples: int = 1  # answers a question
    llm: str  # the model that answered, or the name of the file of answers
    parameters: dict[str, Any] = field(default_factory=dict)  # of the model that answered
    # The model that found the entities of the questions, and its parameters; None where the one that answered did, or
    # none was asked.
    entity: dict[str, Any] | None = None
    judge: str | None = None  # the judges by name; None where there was none
    # Where models were asked, as the ledger calls it, by role: ``llm``, ``entity``, ``judge``, ``judge 2``.
    services: dict[str, str] = field(default_factory=dict)
    # The model that answered to another name, as the user says, by role.
    served_as: dict[str, str] = field(default_factory=dict)
    # Their parameters, a digest of what the judged metrics were given, one of the user's own prompt.
    judging: dict[str, Any] | None = None
    bertscore: Any = None  # what identifies the sentence embedding of a metric
    prompts: str | None = None  # a digest; None where it is not known
    questions: str | None = None  # a digest; None where it is not known
    seeds: dict[str, int] = field(default_factory=dict)  # of whatever was drawn, by name


@dataclass(slots=True)
class RunRecord:
    """What is known of a run."""

    inputs: Inputs  # what decided its files
    state: str = "new"  # ``new``, ``running``, ``stopped`` or ``finished``
    files: dict[str, str] = field(default_factory=dict)  # the sha256 of each stage's file as the run wrote it, by name
    partial: dict[str, str] = field(default_factory=dict)  # the same of the files that a stopped run left
    asked: str | None = None  # the same of what is kept of the questions
    stopped: str | None = None  # why it could not finish
    log: bool = False  # whether its answers are a harness's log, of quadrag's own prompts and of what a model replied
    # Which part of the questions was asked, as ``50 of 900``, or a file answers; None where all.
    coverage: str | None = None
    source: str = "unknown"  # where the questions come from, and the corpus where it is from elsewhere, in words
    provenance: str = Provenance.UNVERIFIED.value  # whose they are together, as `quadrag.provenance` names it
    # Where the questions are a part of the authors', how many of how many of a split: ``60 of 100``.
    held: list[str] = field(default_factory=list)
    data_dir: str | None = None  # the folder of the data, as it was named; None where nothing was
    command: list[str] = field(default_factory=list)  # as typed, less passwords
    versions: dict[str, str] = field(default_factory=dict)  # of quadrag, Python and the libraries that have a say
    host: str = ""  # where it ran
    started: str | None = None  # in UTC
    seconds: float = 0.0  # of the last command
    given: list[str] = field(default_factory=list)  # the user's own files that answers of a log were made with
    # The settings of a recipe that the user replaced, by name, with what the recipe says.
    replaced: dict[str, str] = field(default_factory=dict)
    # The printed row that its recipe is of: ``recipe``, ``row`` (what the table names it by), ``model``,
    # ``entity_model``, ``sent`` (the fields that a request has), ``runs`` (how many the recipe has); and ``changed``,
    # the settings that the user gave otherwise than the recipe.
    row: dict[str, str] = field(default_factory=dict)
    # What is to be told of how passages were found, as CRAG's entities.
    found: dict[str, Any] = field(default_factory=dict)
    service: dict[str, Any] | None = None  # what a RAG service gave
    searched: bool = False  # whether a system of the user's own said of any question what it found, were it nothing
    # The keys of its replies, or of a file of answers, that look like passages and are not read; of passages, with
    # ``passages.`` before them, those that look like texts.
    unread: list[str] = field(default_factory=list)
    # Whether a file of answers was matched to the questions by ids alone, which other data have too.
    by_ids: bool = False
    failures: dict[str, str] = field(default_factory=dict)  # calls that failed, by ``config/split/id/sample``
    failed_verdicts: int = 0  # answers that a judge was asked about in vain
    # A model's replies that are ``empty``, or were ``cut`` by length, by the same place as `failures`.
    short: dict[str, str] = field(default_factory=dict)
    # How many answers a phrase of refusal makes wrong by RGB's accuracy, and how many of them hold the gold.
    refused: list[int] = field(default_factory=lambda: [0, 0])
    verdict: str | None = None  # what a judge said that could not be read, else what it said most often, as one line
    # What is to be known of its items and its judges: ``code`` and ``params``, as `baselines/results/note.py` says.
    notes: list[dict[str, Any]] = field(default_factory=list)
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
    # Calls, tokens and cost of the last command, by role; ``equal`` requests are answered by the call of the one that
    # they equal, ``cached`` replies are from the ledger, ``earlier`` of them from before the command; ``saved_`` are
    # those that kept replies would have taken, ``oldest`` is when the oldest of these was made, in UTC.
    usage: dict[str, dict[str, Any]] = field(default_factory=dict)
    fresh: float | None = None  # Unix time; replies from before it do not count, as the user asked; None: all do

    @property
    def whose(self) -> Provenance:
        """Whose its data are."""
        return Provenance(self.provenance)

    @property
    def sent(self) -> dict[str, Any]:
        """The parameters of its answers as the server took them, less those that it refused."""
        names = self.usage.get("llm", {}).get("refused", {})
        return {names.get(name) or name: one for name, one in self.inputs.parameters.items() if names.get(name, name)}

    @property
    def failed_entities(self) -> int:
        """How many questions a model was asked about in vain for their entities."""
        return int(self.found.get("entities", {}).get("failed", 0))

    @property
    def judged_in_vain(self) -> bool:
        """Whether too little of what its judge said came, or could be read, for its metrics to be relied on."""
        much = self.has_note("invalid", "unreliable")
        return self.unread_judge is not None or bool(much and (self.unreadable or self.failed_verdicts))

    def has_note(self, *codes: str) -> bool:
        """Whether it has a note of one of these codes; ``invalid``: some of its scores have no value."""
        return any(note["code"] in codes for note in self.notes)

    def count_short(self, kind: str) -> int:
        """Count a model's replies that are ``empty``, or were ``cut``."""
        return sum(one == kind for one in self.short.values())

    def write(self, folder: Path) -> None:
        """Write `run.json`; of the inputs those that a run does not have are left out."""
        row = asdict(self)
        row["inputs"] = {name: value for name, value in row["inputs"].items() if value is not None or name in _NULL}
        # By way of JSON, where a name that is a number is a text.
        whole = {"sum": _sum(json.loads(json.dumps(row))), **row}
        text = json.dumps(whole, ensure_ascii=False, indent=1)
        write_text(folder / NAME, text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n")


def read_run(folder: Path) -> RunRecord:
    """Read a folder's `run.json`; raise QuadragError where it is missing, damaged or not of its form."""
    path = folder / NAME
    try:
        row = parse_json(path.read_bytes(), path)
    except OSError:
        raise QuadragError(f"{folder} holds no run.json; expected the folder of a run") from None
    except QuadragError:
        row = None
    again = "remove the folder and run the same command again, replies are in the ledger"
    if not isinstance(row, dict) or row.pop("sum", None) != _sum(row):
        raise QuadragError(f"{path} is damaged; {again}")
    try:
        return RunRecord(**{**row, "inputs": Inputs(**row["inputs"])})
    except (KeyError, TypeError):
        raise QuadragError(f"{path} is of another version of quadrag; {again}") from None


def _sum(row: Mapping[str, Any]) -> str:
    """Return the sha256 of a record's canonical JSON."""
    return hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()
