"""What is said at a table of the items that failed: which values are invalid, and how the others count them."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from quadrag.run_record import MOST_FAILED, RunRecord

from ..core.result import Result
from ..scoring.short import CUT, EMPTY
from .folded import fold_lines
from .grid import Alarm, Detail
from .names import join_runs, name_apart, name_model, name_models, name_whole

_MANY = 4  # places that are not named one by one
_COUNTS = re.compile(r": (?:up to )?(\d+) of (\d+) (?:items failed \((.*?)\)|replies are ([^,]*)), ")
_TOTAL = re.compile(r" of (\d+) ")


def note_invalid(results: Sequence[Result]) -> list[str]:
    """Say which metrics of runs are invalid, and why; and which are shown though too many items failed.

    Where that would be many lines one has them all, and each stands where all is told.
    """
    invalid = _fold_places(results, lambda run: run.invalid, "INVALID, ")
    if sum(isinstance(note, Alarm) for note in invalid) > 2 and (whole := _sum_up(results)):
        invalid = [Alarm(whole), *map(Detail, invalid)]
    return [*invalid, *_fold_places(results, lambda run: _list_partly(run, True), "NOT RELIABLE, ")]


def _sum_up(results: Sequence[Result]) -> str:
    """Say of all that is invalid who has it in how many splits, and of what kinds it is; "" where it is not counted."""
    lines = [
        (model, line) for model, one in zip(name_models(results), results, strict=True) for line in one.run.invalid
    ]
    found = [one for _, line in lines if (one := _COUNTS.search(line))]
    if len(found) < len(lines):
        return ""
    who = list(dict.fromkeys(model for model, _ in lines))
    runs = [run for one in results for run in one.parts or [one.run] if name_model(run.inputs) in who]
    total = sum(len(run.inputs.splits) for run in runs)
    some = len({(model, line.partition(": ")[0]) for model, line in lines})
    kinds = sorted({kind for one in found for kind in _list_kinds(one)})
    failed, asked = (sorted({int(one[at]) for one in found}) for at in (1, 2))
    counts = " of ".join(f"{each[0]}–{each[-1]}" if len(each) > 1 else str(each[0]) for each in (failed, asked))
    limit = f"more than --max-failed {results[0].run.max_failed:g}"
    where = _name_splits(some, total, who if len(results) > 1 else ())
    return f"INVALID, {where}: {counts} items failed ({', '.join(kinds)}), {limit}; each: --verbose."


def _list_kinds(found: re.Match[str]) -> list[str]:
    """List the reasons that a line on what failed counts."""
    if found[4]:
        return [kind for kind, word in ((EMPTY, "empty"), (CUT, "cut")) if word in found[4]]
    return re.findall("[a-z][a-z_ ]*[a-z]", found[3].rpartition(": ")[2])


def note_failed(results: Sequence[Result], names: Sequence[str] = ()) -> list[str]:
    """Say of values of which a few items failed how these count: another value than with all of them.

    Of runs that have `names`, as those of a comparison, the names alone stand before it, and in how many splits it is.
    """
    return _fold_places(results, lambda run: _list_partly(run, False), names=names)


def _name_splits(some: int, total: int, who: Sequence[str]) -> str:
    """Name runs of whose splits something is said, and of how many of these, where not of all."""
    count = f"{some} of {total} splits"
    return f"{count}{' of ' * bool(who)}{', '.join(who)}" if some < total or not who else ", ".join(who)


def _list_partly(run: RunRecord, many: bool) -> list[str]:
    """List what is said of values that are shown though items failed, be these many or few."""
    return [line for line, share in run.partly.items() if (share > MOST_FAILED) == many]


def _fold_places(
    results: Sequence[Result],
    lines_of: Callable[[RunRecord], Iterable[str]],
    lead: str = "",
    names: Sequence[str] = (),
) -> list[str]:
    """Make one alarm of the lines of runs that are alike but for their place, with which they begin, and their counts.

    Totals that differ are no range, nor are numbers behind the counts, as in an error of a server. Many places are
    counted, and named where all is told.
    """
    told: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    runs_of: dict[str, str] = {}  # who has a place
    parts = [one.parts or [one.run] for one in results]
    models = names or name_models(results)
    sizes = Counter[str]()  # how many splits each system has
    for model, runs in zip(models, parts, strict=True):
        sizes[model] += sum(len(run.inputs.splits) for run in runs)
    total = sizes.total()
    for name, model, one, runs in zip(names or name_apart(results), models, results, parts, strict=True):
        config, several = one.run.inputs.config, len(one.run.inputs.splits) > 1
        alone = all(run.inputs.config == config for run in runs)
        for line in lines_of(one.run):
            place, _, rest = line.partition(": ")
            if alone and (name or several) and place.startswith(f"{config} "):
                place = place.removeprefix(f"{config} ") if several else ""
                place = " ".join(filter(None, (name, place)))
            elif names:
                place = f"{name} {place}"
            counts, mark, cause = rest.partition("; ")
            told.setdefault((mark + cause, *_TOTAL.findall(counts)), []).append((place, counts))
            runs_of[place] = model
    folded = [(rest + cause, of) for (cause, *_), here in told.items() for rest, of in fold_lines(here, True).items()]
    one_config = len(results) == 1 and len({run.inputs.config for run in parts[0]}) == 1
    notes: list[str] = []
    for rest, of in folded:
        listed = name_whole(total) if one_config and 1 < len(of) == total else join_runs(of, results)
        many = not one_config and len(listed.split(", ")) >= _MANY
        if names or many:
            here = {runs_of[place] for place in of}
            who = [name for name in dict.fromkeys(runs_of.values()) if name in here] if len(results) > 1 else []
            notes.append(Alarm(f"{lead}{_name_splits(len(of), sum(sizes[name] for name in here), who)}: {rest}."))
        if not names:
            said = f"{listed}: {rest}" if rest else of[0]
            notes.append((Detail if many else Alarm)(f"{lead}{said}."))
    return notes
