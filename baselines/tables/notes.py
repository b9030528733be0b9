"""What stands under a table: where numbers come from, over what they are, and what could not be scored.

A table without these lines would be read as saying more than was measured.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from quadrag.catalogue import configs
from quadrag.metric_record import metric_record, show_key
from quadrag.records import dumps
from quadrag.run_record import Inputs, RunRecord

from ..core.benchmark import load
from ..core.prompts import load_prompts
from ..core.result import Result
from ..core.settings import UNKNOWN, WHOLE
from ..scoring.validity import is_invalid
from ..systems.rag.system import RAG
from .answers import note_answers
from .cells import CHARACTERS, FEW, Row, unit_of
from .grid import Alarm, Detail
from .paper import PaperTables, load_tables
from .published import Published, find_beside

INTERVALS = f"95% intervals over {FEW} or more questions: Wilson's of shares (logit in clusters), else bootstrap (BCa)"
TESTS = (
    "p: McNemar's mid-p for shares, with Bonett and Price's interval; else 10,000 random swaps, with the bootstrap's."
)
_FEW_RECIPES = 3  # each of which is told of in a line under a table
_REMEDIES = {"no judge": "--judge", "no embedding": "--bertscore"}


def note_ours(
    results: Sequence[Result], head: Sequence[str], scores: Sequence[Row], profiles: Sequence[str]
) -> list[str]:
    """Say all of our values in a table of one benchmark: partial or not, a table's own head, the runs, the scores."""
    benchmark = results[0].run.inputs.benchmark
    runs = [result.run for result in results]
    return [
        *note_partial(results),
        *head,
        *note_runs(runs),
        *note_beside(runs),
        *note_scores(benchmark, scores, profiles),
    ]


def note_partial(results: Sequence[Result]) -> list[str]:
    """Say that a table is partial, where a run could not finish, which metrics are invalid, what is odd of answers."""
    partial = [f"PARTIAL: {result.stopped}." for result in results if result.stopped]
    limited = [one.run for one in results if one.run.coverage and one.run.inputs.limit]
    given = [one.run for one in results if one.run.coverage and not one.run.inputs.limit]
    partial += [*_tell_limits(limited), *(f"PARTIAL: {run.coverage} questions are answered." for run in given)]
    return [*map(Alarm, partial), *note_invalid(results), *note_answers(results)]


def note_invalid(results: Sequence[Result]) -> list[str]:
    """Say which metrics of runs are invalid, and why."""
    return [Alarm(f"INVALID, {line}.") for one in results for line in one.run.invalid]


def _tell_limits(runs: Sequence[RunRecord]) -> Iterator[str]:
    """Say of runs over the first questions alone how many of how many these are, of all with one limit at once."""
    for limit in dict.fromkeys(run.inputs.limit for run in runs):
        parts = {(one.inputs.config, *one.inputs.splits): one.coverage for one in runs if one.inputs.limit == limit}
        counts = [list(map(int, str(part).split(" of "))) for part in parts.values()]
        asked, whole = map(sum, zip(*counts, strict=True))
        one_split = [len(places) for places in parts] == [2]
        said = f"{asked} of {whole} questions" if one_split else f"{limit} questions of each split, {asked} of {whole}"
        yield f"PARTIAL: the first {said}."


def note_runs(runs: Sequence[RunRecord]) -> list[str]:
    """Say on what data runs are, what was not ours, and under which settings they were made."""
    notes = [_note_data(runs)]
    if given := sorted({name for run in runs for name in run.given}):
        notes.append(f"The user's own files in place of ours: {', '.join(given)}.")
    notes += _note_recipes(runs)
    notes += list(dict.fromkeys(line for run in runs for line in _note_replaced(run)))
    notes += [*_note_entities(runs), *_note_services(runs)]
    if any("prompt" in (run.inputs.judging or {}) for run in runs):
        notes.append("Judged with a prompt of the user's own: other prompts give other values, see the signatures.")
    settings = dict.fromkeys("; ".join(list_settings(run.inputs)) for run in runs)
    return notes + [Detail(f"Settings: {parts}.") for parts in settings if parts]


def note_beside(runs: Sequence[RunRecord]) -> list[str]:
    """Say why no printed row stands beside answers of which nobody said how their passages were found."""
    if any(run.inputs.retriever == UNKNOWN and not find_beside(run) for run in runs):
        return ["The paper's rows vary how passages are found, so none stands beside: name yours with --retriever."]
    return []


def note_scores(benchmark: str, rows: Sequence[Row], profiles: Sequence[str]) -> list[str]:
    """Say which metrics did not run, and what could not be scored under the profiles shown."""
    tables = load_tables(benchmark)
    shown = [row for row in rows if row["profile"] in profiles]
    return [*note_keys(shown), *note_not_run(tables, rows), *_note_judged(shown), *note_unscored(tables, shown)]


def _note_judged(rows: Sequence[Row]) -> list[str]:
    """Say of every judged metric that ran how many of its items were scored, by profile where these differ."""
    counts: dict[tuple[str, str], dict[str, list[str]]] = {}  # of a split and a key, of each count the profiles
    for row in rows:
        if "n_scored" in row and "not_run" not in row and metric_record(row["metric"]).key(row["key"]).needs == "judge":
            place = f"{row['config']} {row['split']}", show_key(row["metric"], row["key"])
            found = counts.setdefault(place, {})
            found.setdefault(f"{row['n_scored']} of {row['n_total']}", []).append(row["profile"])
    alike: dict[str, tuple[dict[str, None], dict[str, None]]] = {}  # of a count the splits and the keys
    for (where, key), found in counts.items():
        for count, profiles in found.items():
            places, keys = alike.setdefault(f"{count}{f' ({profiles[0]})' if len(found) > 1 else ''}", ({}, {}))
            places[where] = keys[key] = None
    several = len(alike) > 1 and len({where for where, _ in counts}) > 1
    return [
        f"Judged{''.join(f', {where}' for where in places if several)}, scored {said}: {', '.join(keys)}."
        for said, (places, keys) in alike.items()
    ]


def note_unscored(tables: PaperTables, rows: Sequence[Row]) -> list[str]:
    """List what could not be scored, by metric, profile, split and reason, and say what becomes of it."""
    found: dict[str, dict[str, list[str]]] = {}
    lacking = [row for row in rows if row.get("unscored") and not is_invalid(row)]  # of those a line on top says it
    for row in lacking:
        counts = ", ".join(f"{reason} {count}" for reason, count in row["unscored"].items())
        place = f"{row['config']} {row['split']}: {counts}"
        found.setdefault(show_key(row["metric"], row["key"]), {}).setdefault(row["profile"], []).append(place)
    alike: dict[str, list[str]] = {}  # what is said once for all the keys that it is true of
    for key, profiles in found.items():
        same = len(profiles) > 1 and len({tuple(places) for places in profiles.values()}) == 1
        for profile, places in list(profiles.items())[: 1 if same else None]:
            alike.setdefault(f"{'' if same else f' ({profile})'}: {'; '.join(places)}.", []).append(key)
    notes = [f"Unscored, {', '.join(keys)}{said}" for said, keys in alike.items()]
    if any(row["metric"] not in tables.unscored for row in lacking):
        notes.append(Detail("Official leaves unscored items out, corrected counts them as wrong."))
    for metric, say in tables.unscored.items():
        if own := [row for row in lacking if row["metric"] == metric]:
            notes.append(Detail(say(own)))
    return notes


def note_corpus(runs: Sequence[RunRecord]) -> list[str]:
    """Say where ours searched another corpus than the printed rows beside them, as with the gold documents in it."""
    added = dict.fromkeys(
        f"{name}={run.inputs.options[name]}"
        for run in runs
        for name in load_tables(run.inputs.benchmark).corpus_options
        if run.inputs.retrieval is not None and run.inputs.options.get(name)
    )
    return [f"Ours searched a corpus with {', '.join(added)}, the published rows one without."] if added else []


def note_paper(benchmark: str, rows: Sequence[Published]) -> list[str]:
    """Say where printed numbers come from, under which conditions, and which are doubtful."""
    tables = ", ".join(dict.fromkeys(row.table for row in rows))
    conditions = "; ".join(dict.fromkeys(part for row in rows for part in row.conditions.split("; ")))
    return [
        f"Published: {load(benchmark).paper}, table {tables}.",
        Detail(f"Published under: {conditions}."),
        *(
            f"? {row.model} {row.language or row.key} {row.printed}: {row.note.removeprefix('suspect: ')}."
            for row in rows
            if row.doubtful
        ),
    ]


def note_directions(keys: Iterable[tuple[str, str]]) -> list[str]:
    """Say of which keys, each named after its metric, a lower value is the better one."""
    lower = dict.fromkeys(key for metric, key in keys if metric_record(metric).key(key).direction == "lower")
    return [f"Of {', '.join(lower)} lower is better."] if lower else []


def note_keys(rows: Iterable[Row]) -> list[str]:
    """Explain the values that no paper defines."""
    keys = dict.fromkeys((row["metric"], row["key"]) for row in rows)
    return [
        f"{show_key(metric, key)}: {about}." for metric, key in keys if (about := metric_record(metric).key(key).about)
    ]


def name_units(rows: Iterable[Row]) -> str:
    """Name the units of values: percent, and lengths by their keys."""
    lengths = dict.fromkeys(row["key"] for row in rows if unit_of(row) == CHARACTERS)
    return f"Percent, {', '.join(lengths)} in characters" if lengths else "Percent"


def note_not_run(tables: PaperTables, rows: Sequence[Row]) -> list[str]:
    """Say which metrics did not run and which option runs them, and what that means for those that build on them."""
    missing: dict[str, dict[str, str]] = {}
    for row in rows:
        if "not_run" in row:
            missing.setdefault(row["not_run"], {})[row["key"]] = show_key(row["metric"], row["key"])
    parts = [f"{_join(keys.values())} ({_REMEDIES.get(why, why)})" for why, keys in missing.items()]
    notes = [f"Not run: {', '.join(parts)}."] if parts else []
    return notes + [note for key, note in tables.not_run.items() if key in missing.get("no judge", ())]


def _join(labels: Iterable[str]) -> str:
    """Join labels; the first word that one shares with the label before it is said once."""
    parts: list[str] = []
    said = ""
    for label in labels:
        first, _, rest = label.partition(" ")
        parts.append(rest if rest and first == said else label)
        said = first
    return ", ".join(parts)


def list_settings(inputs: Inputs) -> list[str]:
    """List how passages were found, and in what else a run differs from the benchmark's own settings."""
    searched = {name: value for name, value in (inputs.retrieval or {}).items() if name != "corpus"}
    if searched.get("chunk_size", 0) >= WHOLE:
        searched = {name: value for name, value in searched.items() if name not in ("chunk_size", "chunk_overlap")}
        searched["passages"] = "whole"
    unknown, served = inputs.retriever == UNKNOWN, inputs.retriever == RAG
    parts = [f"retriever {inputs.retriever}"] if searched or unknown else []
    parts += [f"answers and passages by a RAG service, {inputs.parameters['contract']} contract"] if served else []
    # What a search made of an option stands for it: windows that are named in tokens may be in characters.
    parts += [f"{name} {value}" for name, value in {**searched, **inputs.options, **searched}.items()]
    if inputs.limit:
        parts.append(f"the first {inputs.limit} questions of a split")
    if inputs.samples > 1:
        parts.append(f"{inputs.samples} answers a question")
    if _has_own_prompts(inputs) and not served:
        parts.append("prompts of the user's own")
    if inputs.judge:
        parts.append(f"judge {inputs.judge.replace('; ', ', ')}")
    names = {"llm": f"asked as {inputs.llm}"}
    parts += [f"{names.get(role, role)}, served by {name}" for role, name in inputs.served_as.items()]
    return parts


def _has_own_prompts(inputs: Inputs) -> bool:
    """Whether the model was asked with prompts of the user's own."""
    bundled = hashlib.sha256(dumps(load_prompts(inputs.benchmark)).encode()).hexdigest()[:16]
    return inputs.prompts not in (None, bundled)


def _note_recipes(runs: Sequence[RunRecord]) -> list[str]:
    """Say which printed rows runs replicate, with which model and whose prompts; of a sweep of many, as a detail."""
    notes = []
    for run in runs:
        if run.row:
            model = f" ({run.row['model']})" if "model" in run.row else ""
            row = f"published row {run.row['row']}{model}; " if "row" in run.row else ""
            row += f"changed: {run.row['changed']}; " if "changed" in run.row else ""
            served = f", served by {run.inputs.served_as['llm']}" if "llm" in run.inputs.served_as else ""
            prompts = "the user's own" if _has_own_prompts(run.inputs) else "ours"
            notes.append(f"Recipe {run.row['recipe']}: {row}asked: {run.inputs.llm}{served}; prompts: {prompts}.")
    notes = list(dict.fromkeys(notes))
    return notes if len(notes) <= _FEW_RECIPES else [Detail(note) for note in notes]


def head_replaced(run: RunRecord) -> str:
    """Return what heads the tables of runs with replaced settings; "" of others."""
    return "".join(f"{name} replaced: " for name in run.replaced).capitalize()


def _note_replaced(run: RunRecord) -> list[str]:
    """Say what replaced a setting of a recipe, so that nothing here reproduces its printed row."""
    found = run.inputs.retrieval or {}
    return [
        f"{name.capitalize()} replaced: {found.get(name)} in place of {said}; ours reproduce no printed row."
        for name, said in run.replaced.items()
    ]


def _note_data(runs: Sequence[RunRecord]) -> str:
    """Say which version of the data ours are on, where there are two, and where it came from."""
    parts = []
    for run in runs:
        config, known = run.inputs.config, configs(run.inputs.benchmark)
        if config.endswith("_original") or f"{config}_original" in known:
            parts.append("original data" if config.endswith("_original") else "refined data")
    return f"Ours on: {'; '.join(dict.fromkeys([*parts, *(run.source for run in runs)]))}."


def _note_entities(runs: Sequence[RunRecord]) -> list[str]:
    """Say how the entities of questions were found, where a graph was asked about them."""
    found: dict[str, Counter[str]] = {}
    for run in runs:
        who = run.inputs.entity["model"] if run.inputs.entity else "the model that answers"
        found.setdefault(who, Counter()).update(run.found.get("entities", {}))
    without = {"unreadable": "the reply could not be read", "failed": "the call failed; run again to ask again"}
    notes: list[str] = []
    for who, counts in found.items():
        if counts["rules"]:
            notes.append(Detail("Entities of the questions were found by rules, without a model."))
        elif counts:
            parts = [f"Entities by {who}: {counts['model']} of {counts.total()} questions"]
            parts += [f"{counts[how]} by rules, since {why}" for how, why in without.items() if counts[how]]
            notes.append(f"{'; '.join(parts)}.")
    return notes


def _note_services(runs: Sequence[RunRecord]) -> list[str]:
    """Say what a RAG service gave, how its passages were known, and what of a benchmark cannot be asked of one."""
    notes = []
    for run in runs:
        gave = run.service
        if gave is None:
            continue
        passages, questions = gave["passages"], gave["questions"]
        note = f"The system gave {passages} passages, to {questions} questions" if passages else "Passages: not given"
        known = {"id": "by their ids", "text": "by their text, as parts of gold documents"}
        notes.append(f"{note}; known {known[gave['by']]}." if gave["by"] else f"{note}.")
        if lacking := load_tables(run.inputs.benchmark).service:
            notes.append(lacking)
    return list(dict.fromkeys(notes))
