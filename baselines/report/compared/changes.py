"""Single questions of two runs that the second one answered worse than the first one, or better."""

from collections.abc import Iterable, Iterator, Sequence

from quadrag.metric_record import show_key
from quadrag.records import Key

from ...reporting.messages import say_invalid
from ...results.run import PROFILES, own_profile
from ..items.chosen import find_metric, list_others, tell_others
from ..items.lines import Manner, write_ids, write_item
from ..items.reader import RunReader, Which
from ..items.scored import ScoredItems
from ..items.verdicts import look_up_verdicts
from ..pooled import name_question
from .names import name_columns
from .pairs import count_failed, list_differences, note_judges_apart
from .said import tell_failed, tell_missing


def _list_gains(
    before: ScoredItems, after: ScoredItems, name: str, splits: Iterable[tuple[str, str]], profile: str
) -> dict[Key, float]:
    """Return what each question of some splits gained by a metric."""
    module, _, key = name.partition(".")
    places = [(config, split, module, key) for config, split in splits]
    each = (list_differences(before.result, after.result, place, profile) for place in places)
    return {question: gain for found in each for question, gain in found.items()}


def write_changes(runs: Sequence[tuple[str, RunReader]], which: Which, manner: Manner) -> Iterator[str]:
    """Write the questions that changed most between two runs as lines of text, and how many there are.

    Args:
        runs: name and reader of each of the two.
        which: those that are worse or better, by which metric, of which split, under which profile: without one the
            runs' own, of runs with two ``official``.
        manner: how many, and how.

    Raises:
        QuadragError: no metric has the name, or no split.
    """
    (_, before), (_, after) = runs
    columns = name_columns([name for name, _ in runs])
    profile = which.profile or own_profile([before.result, after.result]) or PROFILES[0]
    each = [[before], [after]]
    metric = find_metric(each, which.metric)[0]
    mine, theirs = (
        {(one.question.key, one.sample): one for one in reader.select(Which(metric=which.metric, split=which.split))}
        for reader in (after, before)
    )
    splits = dict.fromkeys(place[:2] for place, _ in mine)

    def gains(name: str) -> dict[Key, float]:
        return _list_gains(before, after, name, splits, profile)

    module, key = metric.split(".", 1)
    gained = gains(metric)
    failed = [0, 0]
    for split in splits:
        both = count_failed(before.result, after.result, (*split, module, key))[1]
        failed = [sum(pair) for pair in zip(failed, both, strict=True)]
    changed = [place for place, gain in gained.items() if (gain > 0 if which.better else gain < 0)]
    shown = sorted(changed, key=lambda place: -abs(gained[place]))[: manner.limit]
    if manner.ids:
        yield from write_ids(ident for *_, ident in shown)
        return
    pairs = [(theirs[at], mine[at]) for place in shown for at in mine if at[0] == place and at in theirs]
    look_up_verdicts(before, [one for one, _ in pairs])
    look_up_verdicts(after, [one for _, one in pairs])
    for name, reader in zip(columns, (before, after), strict=True):
        invalid = say_invalid(reader.run) if metric in reader.invalid else []
        yield from (f"{manner.spell(name)}{manner.spell(': ')}{manner.spell(note)}" for note in invalid)
    yield from map(manner.spell, note_judges_apart(before.result, after.result))
    for pair in pairs:
        yield from write_item(list(zip(map(manner.spell, columns), pair, strict=True)), manner)
        yield ""
    places = [(*split, module, key) for split in splits]
    missing = [] if gained else tell_missing(before.result, after.result, places, (), profile, columns)
    yield from map(manner.spell, missing)
    how = "better" if which.better else "worse"
    order = ", the greatest difference first" if len(shown) > 1 else ""
    scored = "scored" if profile == PROFILES[0] else "count"
    told = "; ".join([f"{len(gained)} {scored} in both", *tell_failed(failed, profile, columns)])
    asked = len({name_question(after.result.asked, place) for place in changed})
    what = "questions" if asked == len(changed) else f"answers ({asked} questions)"  # which recur in other splits
    count = f"{len(shown)} of {len(changed)} {what}" if shown else "No question"
    if not missing:
        yield manner.spell(f"{count} on which {columns[1]} is {how} by {show_key(module, key)}{order}; {told}.")
    others = {name: gains(name).values() for name in list_others(each, metric)}
    counts = {name: (sum(one > 0 for one in found), sum(one < 0 for one in found)) for name, found in others.items()}
    if others_told := tell_others(counts):
        yield manner.spell(others_told)
    yield from manner.tell_cut()
