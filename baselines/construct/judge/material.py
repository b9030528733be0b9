"""Labels as what a judge learns from: what it is asked, and the verdict that people gave."""

import itertools
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from quadrag.errors import QuadragError
from quadrag.metric_record import metric_record
from quadrag.progress import Progress

from ...certify.asking import check_askable, list_requests
from ...certify.labels import Item, LabelSet

SHARES = (5, 1, 4)  # to learn from, to choose by, to be measured on (Wang et al. 2024, section 3.4)


class Lesson(NamedTuple):
    """What a judge is asked of an item, and what it is to say."""

    id: str
    chat: list[dict[str, str]]
    verdict: str


def split_by_case(items: Sequence[Item], seed: int) -> tuple[list[Item], list[Item], list[Item]]:
    """Part items 5:1:4, all of one case on one side: a case is a group, else a question, else the item alone.

    Returns:
        Those to learn from, to choose by and to be measured on, each in the order of `items`.
    """
    cases = {item.id: item.group or item.question or item.id for item in items}
    order = sorted(set(cases.values()))
    random.Random(seed).shuffle(order)
    ends = [round(len(order) * sum(SHARES[:at]) / sum(SHARES)) for at in range(4)]
    sides = [set(order[start:end]) for start, end in itertools.pairwise(ends)]
    learn, choose, measure = ([item for item in items if cases[item.id] in side] for side in sides)
    return learn, choose, measure


def make_lessons(labels: LabelSet, items: Sequence[Item]) -> list[Lesson]:
    """Return what is asked of items, by the prompt of a run, with the verdicts that people gave.

    Left out are items that a rule decides, about which nothing is asked, and those whose label is no value.

    Raises:
        QuadragError: the items do not show what a judge must see, or the metric's verdict is no JSON.
    """
    check_askable(labels)
    if labels.pairs:
        raise QuadragError(f"{labels.name} labels pairs of answers; a judge is trained on labels of single ones")
    form = _form(labels)
    lessons = []
    with Progress(f"{labels.name}: prompts", len(items)) as progress:
        for done, item in enumerate(items, 1):
            value = labels.grades[item.label]
            requests = list_requests(replace(labels, items=[item])) if value is not None else []
            if len(requests) == 1 and value is not None:
                number = int(value) if value == int(value) else value
                lessons.append(Lesson(item.id, requests[0], json.dumps({form: number})))
            progress.update(done)
    return lessons


def _form(labels: LabelSet) -> str:
    example = metric_record(labels.graded.metric).verdict or ""
    try:
        found = json.loads(example)
        ((name, value),) = found.items()
        if not isinstance(value, (int, float)):
            raise TypeError
    except (ValueError, AttributeError, TypeError):
        raise QuadragError(
            f"a verdict of {labels.graded.name} is no number; train on labels of another metric"
        ) from None
    return str(name)
