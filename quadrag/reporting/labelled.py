"""Items of a run as people are to label them: what they read of each, and what the run's judge says of it."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from quadrag.errors import QuadragError
from quadrag.judges.corrected import Judged
from quadrag.judges.labels import Graded, find_graded, graded_keys
from quadrag.metric_record import metric_record
from quadrag.printing import clean
from quadrag.results.items import FAILED, reason_of
from quadrag.results.run import Run

from .questions import ItemFilter, RunReader, spell_gold

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")  # what a terminal may obey


def list_wrong(reader: RunReader) -> list[Judged]:
    """List the answers of a run that are below the best value of its first headline."""
    return list(_show(reader.result, reader.select(ItemFilter(wrong=True)), by_passages=True))


def list_judged(reader: RunReader, metric: str | None) -> tuple[Graded, list[Judged]]:
    """Return what is graded, and the judged answers of a run with what its judge says of each.

    Raises:
        QuadragError: there is none of the metric, or no verdict that could be read.
    """
    result = reader.result
    there = [name for row in result.items[:1] for name in row if name in graded_keys()]
    if not there or result.record.judge is None:
        raise QuadragError(f"{reader.folder} has no judged score; expected a run with --judge")
    graded = find_graded(metric or there[0])
    entry = f"{graded.metric}.{graded.key}"
    if entry not in there:
        raise QuadragError(f"{reader.folder} has no judged {graded.name}; expected --metric {' or '.join(there)}")
    by_passages = "contexts" in metric_record(graded.metric).needs
    items = []
    for row, shown in zip(result.items, reader.select(), strict=True):
        value = row[entry]
        if (value.get("reason") or {}).get("official") == "not_applicable":
            continue
        # What `official` makes of a verdict that could not be read is nothing that the judge said.
        said = None if reason_of(value, "corrected") in FAILED else value["official"]
        ruled = "official" in value.get("ruled", ())
        items += [item._replace(value=said, ruled=ruled) for item in _show(result, [shown], by_passages)]
    if all(item.value is None for item in items):
        raise QuadragError(f"{reader.folder}: no verdict could be read; ask again with --retry unreadable")
    return graded, items


def _show(result: Run, shown: Iterable[Any], by_passages: bool) -> Iterator[Any]:
    """Make items of what a person reads of a run, without its keys; with passages where one has to judge by them."""
    several = len({row["id"] for row in result.items}) < len(result.items)
    for one in shown:
        if one.answer is None:
            continue
        place = one.question.split, one.question.id, str(one.sample)
        before = "".join(f"{asked}\n{said or ''}\n" for asked, said in one.question.history)
        texts = (before + one.question.query, write_gold(one.question.references), one.answer)
        passages = [passage.text for passage in one.passages] if by_passages else []
        question, gold, answer, *passages = (_CONTROL.sub("", clean(text)) for text in (*texts, *passages))
        name = "/".join(place) if several else one.question.id
        yield Judged(name, question, gold, answer, passages=passages, split=place[0], asked=place[1])


def write_gold(references: Any) -> str:
    """Write accepted answers in a cell: several ways to say one answer as a JSON list, which is read as such."""
    ways = references
    if isinstance(ways, list | tuple) and len(ways) == 1 and isinstance(ways[0], list | tuple):
        ways = ways[0]
    if isinstance(ways, list | tuple) and len(ways) > 1 and all(isinstance(way, str) for way in ways):
        return json.dumps(list(dict.fromkeys(ways)), ensure_ascii=False)
    return "; ".join(spell_gold(references))
