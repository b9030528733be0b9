"""What is said under a table of the runs in it: over which part of which data, with what that is not ours, how set.

A table without these lines would be read as saying more than was measured.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress

from quadrag.catalogue import configs
from quadrag.provenance import Provenance

from ..core.prompts import are_own
from ..core.run_record import RunRecord
from ..core.spec import RAG, UNKNOWN, WHOLE
from ..results.adapter import say, shorten_list
from ..results.note import NoteCode, notes_of
from ..results.run import Result
from ..results.score import Score, Status
from .answers import note_answers
from .cells import ALIKE
from .failed import note_failed, note_invalid
from .grid import Alarm, Detail
from .names import group_notes, keep_name, keep_names, name_apart
from .notes import note_scores
from .paper import load_tables
from .paper_notes import note_beside
from .replicas import note_recipes

_ORIGINAL, _REVISED = "original data (the paper's)", "revised data (made after the paper)"
_BY_FUNCTION = "answers and passages by the user's own Python function"
_BY_SERVICE = "answers and passages by a RAG service, {} contract"
_BY_IDS = "Matched by ids alone, so the questions are not checked: put `question` in each line."

_MARKED = f"; {ALIKE} marks what rests on them."


def note_ours(
    results: Sequence[Result], head: Sequence[str], scores: Sequence[Score], profiles: Sequence[str]
) -> list[str]:
    """Say all of our values in a table of one benchmark: partial or not, a table's own head, the runs, the scores."""
    runs = [result.run for result in results]
    return [
        *note_partial(results),
        *head,
        *note_runs(runs),
        *note_beside(runs),
        *note_scores(scores, profiles),
    ]


def note_partial(results: Sequence[Result]) -> list[str]:
    """Say that a table is partial, where a run could not finish, which metrics are invalid, and what is odd."""
    named = list(zip(name_apart(results), results, strict=True))
    told = group_notes((name, Alarm(line)) for name, one in named for line in _list_partial(one))
    doubts = [
        (name, Alarm(f"{say(note)}{_MARKED if note.params['keys'] and _is_marked(one) else '.'}"))
        for name, one in named
        for note in notes_of(one.run, NoteCode.JUDGE_CONSTANT, NoteCode.JUDGE_DOUBTFUL)
    ]
    notes = [
        *_name_some(told),
        *note_invalid(results),
        *note_failed(results),
        *_name_some(group_notes(doubts)),
        *note_answers(results),
        *[_BY_IDS] * any(one.run.by_ids for one in results),
    ]
    return list(dict.fromkeys(notes))  # runs of one config, with documents and without, may be told alike


def _name_some(told: Sequence[tuple[Alarm, list[str]]]) -> list[Alarm]:
    return [Alarm(f"{shorten_list(of)}: {note}") if any(of) else note for note, of in told]


def _list_partial(result: Result) -> Iterator[str]:
    """Say in what a run is not whole."""
    run = result.run
    if result.stopped and not run.dead_judge:
        yield f"PARTIAL: {result.stopped}."
    if run.coverage:
        first = f"the first {run.limit} questions of each split, " if run.limit else ""
        yield f"PARTIAL: {first}{run.coverage} questions{' are answered' * (not first)}."
    for part in dict.fromkeys(part for one in result.parts or [run] for part in one.held):
        yield f"PARTIAL: the files that were read hold {part.replace(' of ', ' of all ')} questions."


def _is_marked(result: Result) -> bool:
    """Whether a value that is shown has the mark of doubtful verdicts: one that is invalid is not shown."""
    return any(row.status is Status.UNTRUSTED_JUDGE and row.value is not None for row in result.scores)


def is_part(run: RunRecord) -> bool:
    """Whether a run is over a part of the questions."""
    return bool(run.coverage or run.held)


def note_runs(runs: Sequence[RunRecord]) -> list[str]:
    """Say on what data runs are, what was not ours, and under which settings they were made."""
    notes = [_note_data(runs)]
    if given := sorted({name for run in runs for name in run.given}):
        notes.append(f"The user's own files in place of ours: {', '.join(given)}.")
    notes += [*note_recipes(runs), *_note_entities(runs), *_note_indexes(runs)]
    served = (load_tables(run.benchmark).service for run in runs if run.service is not None)
    notes += dict.fromkeys(filter(None, served))
    if any("prompt" in (run.judging or {}) for run in runs):
        notes.append("Judged with a prompt of the user's own: other prompts give other values, see the signatures.")
    settings = dict.fromkeys("; ".join(list_settings(run)) for run in runs)
    return notes + [Detail(f"Settings: {parts}.") for parts in settings if parts]


def list_settings(run: RunRecord) -> list[str]:
    """List how passages were found, and in what else a run differs from the benchmark's own settings."""
    inputs = run
    searched = {name: value for name, value in (inputs.retrieval or {}).items() if name != "corpus"}
    if searched.get("chunk_size", 0) >= WHOLE:
        searched = {name: value for name, value in searched.items() if name not in ("chunk_size", "chunk_overlap")}
        searched["passages"] = "whole"
    unknown, served = inputs.retriever == UNKNOWN, inputs.retriever == RAG
    parts = [f"retriever {inputs.retriever}"] if searched or unknown else []
    if served:
        parts.append(_BY_FUNCTION if (form := inputs.parameters["contract"]) == "python" else _BY_SERVICE.format(form))
    # What a search made of an option stands for it: windows that are named in tokens may be in characters.
    parts += [f"{name} {value}" for name, value in {**searched, **inputs.options, **searched}.items()]
    # How a function or a file is asked says its name.
    parts += [] if served else [f"{name} {value}" for name, value in run.sent.items() if name != "contract"]
    if inputs.limit:
        parts.append(f"the first {inputs.limit} questions of a split")
    if inputs.samples > 1:
        parts.append(f"{inputs.samples} answers a question")
    if are_own(inputs.benchmark, inputs.prompts) and not served:
        parts.append("prompts of the user's own")
    if inputs.judge:
        parts.append(f"judge {keep_names(inputs.judge).replace('; ', ', ')}")
    parts += [f"{role} served by {keep_name(name)}" for role, name in inputs.served_as.items() if role != "llm"]
    return parts


def note_sample(results: Sequence[Result], names: Sequence[str] = ()) -> list[str]:
    """Say that data are made up, where they are; of some of several named runs, of which."""
    made_up = [one.run.whose is Provenance.SAMPLE for one in results]
    where = f"{', '.join(compress(names, made_up))}: " if names and not all(made_up) else ""
    return [f"{where}The data are the bundled sample, which is made up."] * any(made_up)


def note_none_beside(results: Sequence[Result], names: Sequence[str] = ()) -> list[str]:
    """Say that data are made up, of some of several named runs, and that therefore no printed row stands beside."""
    said = note_sample(results, names)
    return [*map(Alarm, said), *[Alarm("No published value stands beside made-up data.")] * bool(said)]


def _note_data(runs: Sequence[RunRecord]) -> str:
    """Say which version of the data ours are on, where there are two, and where it came from."""
    parts = []
    for run in runs:
        config, known = run.config, configs(run.benchmark)
        if run.whose is not Provenance.OWN and (config.endswith("_original") or f"{config}_original" in known):
            parts.append(_ORIGINAL if config.endswith("_original") else _REVISED)
    said = f"Ours on: {'; '.join(dict.fromkeys([*parts, *(run.source for run in runs)]))}."
    return Detail(said) if all(run.whose is Provenance.SAMPLE for run in runs) else said  # an alarm says that


def _note_entities(runs: Sequence[RunRecord]) -> list[str]:
    """Say how the entities of questions were found, where a graph was asked about them."""
    found: dict[str, Counter[str]] = {}
    for run in runs:
        who = run.entity["model"] if run.entity else "the model that answers"
        found.setdefault(who, Counter()).update(run.found.get("entities", {}))
    told = {who: f"{counts['model']} of {counts.total()} questions" for who, counts in found.items() if counts}
    return [f"Entities by {who}: {said}." for who, said in told.items()]


def _note_indexes(runs: Sequence[RunRecord]) -> list[str]:
    """Say of an index that does not compare every vector how much of what exact search finds it found."""
    found = [run.found["index"] for run in runs if "index" in run.found]
    notes = [
        f"Vectors by {one['name']}: recall@{one['depth']} {one['recall']:.4f} against exact search, with "
        f"{one['sample']} of the passages as queries."
        for one in found
    ]
    return list(dict.fromkeys(notes))
