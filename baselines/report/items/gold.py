"""Whether the gold stood in what was found, which tells a fault of the search from one of the answer."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from quadrag.metric_record import metric_record
from quadrag.records import Passage, Question

from ...core.benchmark import load


def tell_gold(question: Question, passages: Sequence[Passage], documents: Sequence[str | None] | None) -> str:
    """Say in which passages the gold stood; that there were none, or "" where no gold is known or nothing tells.

    Args:
        question: with the ids of its gold documents or, where it has none, its accepted answers, which are looked for
            as whole words.
        passages: those that were shown or found.
        documents: which of the benchmark's documents each is of; None where that is not known.
    """
    relevant = dict.fromkeys(question.relevant)
    parts = _list_sought(question)
    if not passages:
        return "no passages given" if relevant or parts else ""
    if relevant and documents is None:
        return ""
    if relevant:
        return _tell([{name} & relevant.keys() for name in documents or ()], len(relevant), "documents", "")
    from ...audit.checks import held

    texts = [f"{passage.title} {passage.text}" for passage in passages]
    found = [{at for at, one in enumerate(held(text, parts, question.language)) if one} for text in texts]
    return _tell(found, len(parts), "parts", " (by words)") if parts else ""


class Wanted(NamedTuple):
    """The phrase that an answer is to hold, the metric that looks for it, and whether another one wants the gold."""

    metric: str
    phrase: str
    gold: bool


def find_phrase(metrics: Iterable[str], language: str) -> Wanted | None:
    """Find the phrase that an answer is to hold by a metric of which more is better; None where there is none.

    Args:
        metrics: those that an answer has values of, as items name them.
        language: the question's.
    """
    keys = {name: metric_record(name.partition(".")[0]).key(name.partition(".")[2]) for name in metrics}
    better = {name: key for name, key in keys.items() if key.direction == "higher"}
    gold = any(not key.phrase and not key.words for key in better.values())  # `words`: a judge in place of the phrase
    found = (Wanted(name, key.phrase[language], gold) for name, key in better.items() if language in key.phrase)
    return next(found, None)


def place_gold(question: Question, text: str) -> list[tuple[int, int]]:
    """Return where in a text the gold stands, where `tell_gold` looks for it by words: begins and ends, in order."""
    from ...audit.checks import find_held

    return find_held(text, _list_sought(question), question.language)


def _list_sought(question: Question) -> list[list[str]]:
    """Return what is looked for by words; [] where a question has gold documents."""
    return [] if question.relevant else _list_parts(load(question.benchmark).sought(question.references))


def _list_parts(references: object) -> list[list[str]]:
    """Return what is needed, each with the ways to say it: a list of lists has several, a flat one the ways of one."""
    ways = [references] if isinstance(references, str) else references
    if not isinstance(ways, list | tuple) or not ways:
        return []
    parts = ways if all(isinstance(one, list | tuple) for one in ways) else [ways]
    return [list(map(str, part)) for part in parts]


def _tell(found: Sequence[Collection[object]], wanted: int, what: str, how: str) -> str:
    """Say which of some passages have the gold and which a part of it, and how many of its parts none has.

    A passage is of one document, and where parts are missed no passage has all: there whatever has any is named.
    """
    places = [str(place) for place, has in enumerate(found, 1) if has]
    if not places:
        return f"gold in none of {len(found)} passages{how}" if len(found) > 1 else f"gold not in the one passage{how}"
    missed = wanted - len({one for has in found for one in has})
    lacking = f"; {missed} of {wanted} gold {what} missed" if missed else ""
    whole = [str(place) for place, has in enumerate(found, 1) if len(has) == wanted]
    if what == "parts" and not missed and whole != places:
        if not whole:
            return f"gold spread over passages {', '.join(places)}{how}"
        lacking = f"; a part of it in {', '.join(one for one in places if one not in whole)}"
        places = whole
    return f"gold in passage{'s' * (len(places) > 1)} {', '.join(places)}{how}{lacking}"
