"""What is said of each of several runs: what of it is odd, and what it is."""

from collections.abc import Iterable, Sequence, Set
from pathlib import Path

from ....core.result import Result
from ....tables.failed import note_failed
from ....tables.folded import fold_notes
from ....tables.grid import Alarm, Detail
from ....tables.names import keep_name, number_of
from ....tables.replicas import are_many
from ....tables.run_notes import list_settings, note_partial, note_runs, note_sample
from ...run import name_run
from ..names import FEW_RUNS, name_columns


def tell_alarms(runs: Iterable[tuple[str, Result]]) -> list[str]:
    """Say that data are made up, and of which runs what is odd; what is no alarm of one run is none here."""
    runs = list(runs)
    made_up = map(Alarm, note_sample([result for _, result in runs], [name for name, _ in runs]))
    two = len(runs) == 2
    said = ((name, note) for name, result in runs for note in note_partial([result], failed=two))
    told = fold_notes(said, len(runs) > FEW_RUNS)
    every = (note for note, where in told if len(where) == len(runs))
    whole = {note for note in every if len(runs) > FEW_RUNS or note.startswith("PARTIAL")}
    whole |= {note for note, where in told if not where}  # it names each run itself
    notes = [note if note in whole else type(note)(f"{', '.join(where)}: {note}") for note, where in told]
    names, results = zip(*runs, strict=True)
    return [*made_up, *notes, *([] if two else note_failed(results, names))]


def tell_runs(runs: Sequence[tuple[str, Result]], every: bool, known: Set[str]) -> list[str]:
    """Say of each run what it is, where that is not `known`, and where not every setting is told, which are its own."""
    columns = name_columns([name for name, _ in runs])
    settings = [list_settings(result.run) for _, result in runs]
    notes: list[str] = []
    alike: dict[str, list[str]] = {}
    plain: list[str] = []  # those of which nothing else is to be said
    models = [name_run(result.run, number_of(result)) for _, result in runs]
    apart = len({*models}) > 1  # what answered tells the runs apart, as a name does that stands nowhere else
    noted = [note_runs(result.parts or [result.run]) for _, result in runs]
    many = not every and are_many([run for _, result in runs for run in result.parts or [result.run]])
    said = [
        [note for note in one if every or not (isinstance(note, Detail) or (many and note.startswith("Recipe ")))]
        for one in noted
    ]
    of_all = [note for note in said[0] if all(note in theirs for theirs in said)]
    for column, (name, _), model, ours, mine in zip(columns, runs, models, settings, said, strict=True):
        told = [note for note in mine if note not in of_all]
        own = [part for part in ours if not every and not all(part in theirs for theirs in settings)]
        told += [f"{'Settings' if told else 'settings'} of its own: {'; '.join(own)}."] if own else []
        folder = name.rstrip("/").rpartition("/")[2]
        ends = len(runs) > 2 and not every and folder.endswith(f"-{column}")
        parts = [keep_name(name)] * (not ends and {keep_name(name), keep_name(folder)}.isdisjoint(known))
        spelled = name.replace(" ", "_"), model.replace(" ", "_")  # as a folder spells a name
        said_so = spelled[0].endswith(spelled[1]) or name.startswith(f"{model} ")  # with the time behind it
        parts += [model] * (model not in (column, keep_name(Path(name).stem)) and not said_so)
        who = ": ".join(filter(None, (column, ", ".join(parts))))
        if told:
            joint = "; " if told[0].startswith(("Ours ", "settings ")) else ". " if parts else ": "
            alike.setdefault(f"{joint}{' '.join(told).removeprefix('Ours ')}", []).append(who)
        elif parts:
            plain.append(f"{column} ({', '.join(parts)})")
            apart |= keep_name(name) in parts
    notes += [f"{', '.join(of)}{told}" for told, of in alike.items()]
    runs_are = f"Run{'s' * (len(plain) > 1)}: {', '.join(plain)}."
    notes += [runs_are if apart else Detail(runs_are)] * bool(plain)
    return [*notes, *map(Detail, of_all)]  # what is the same in all says nothing of a difference
