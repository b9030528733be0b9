"""What two runs have in common: questions, answers, judges; and what their verdicts can thus say of the answers."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Any

from quadrag.metric_record import find_verdict, metric_record
from quadrag.run_record import Inputs

from ....certify.beside import is_by_chance
from ....core.result import Result
from ....tables.grid import Alarm
from ....tables.names import keep_name, keep_names


def is_same(first: Result, second: Result, question: Any) -> bool:
    """Whether a question of two runs is the same by its text and gold; where a folder does not say so, by its id."""
    here, there = first.asked, second.asked
    if not (here and there):
        return True
    return question in there and question in here and here[question].sha256 == there[question].sha256


def match_answers(first: Result, second: Result) -> Iterator[bool]:
    """Yield of each answer to a question that both have whether it is the same text in both."""
    for place, text in first.texts.items():
        if place in second.texts and is_same(first, second, place[0]):
            yield text is not None and text == second.texts[place]


@lru_cache(maxsize=1)  # of the two that are compared: every metric and slice asks
def _answer_alike(first: Result, second: Result) -> bool:
    """Whether two runs share a question, and all answers to those that they share are the same texts."""
    matches = match_answers(first, second)
    return next(matches, False) and all(matches)


def doubt_verdicts(first: Result, second: Result, name: str) -> str:
    """Say why a metric's values of two runs, by a judge, do not tell which answers are better; "" where they may.

    Args:
        first: a run.
        second: another one.
        name: of the metric, as items name it.
    """
    verdict = find_verdict(*name.split(".", 1))
    if not verdict:
        return ""
    constant = [verdict in chain(*one.run.constant_verdicts.values()) for one in (first, second)]
    if any(constant) and not any(_has_both(one, verdict) for one in (first, second)):
        return f"the judge{' of each' * all(constant)} says the same of every answer"
    if _answer_alike(first, second):
        mine, theirs = ({_key(row): row for row in one.items} for one in (first, second))
        if any(mine[key].get(name) != theirs[key].get(name) for key in mine.keys() & theirs.keys()):
            return "the answers are the same; only the verdicts differ"
    elif _name_judges(first, second):
        return "the judges are not the same"
    if any(verdict in chain(*one.run.doubtful_verdicts.values()) for one in (first, second)):
        return "a judge's verdicts are far from what words say"
    if any(is_by_chance(one, verdict) for one in (first, second)):
        return "the judge agrees with people no better than chance"
    return ""


def _has_both(result: Result, verdict: str) -> bool:
    """Whether a run's judge, and no rule, said one thing of an answer and another of another one."""
    entries = (item[verdict] for item in result.items if verdict in item)
    said = {entry["official"] for entry in entries if "official" not in entry.get("ruled", ())}
    return len(said - {None}) > 1


def is_judged(metric: str, key: str) -> bool:
    """Whether a metric's value is a judge's verdict."""
    return metric_record(metric).key(key).needs == "judge"


def tell_judges(first: Result, second: Result) -> list[Alarm]:
    """Say that different judges judged two runs; [] where it was one, or either run was not judged."""
    names = _name_judges(first, second)
    what = "differences of judged metrics are the judges' as well as the answers'"
    return [Alarm(f"Judged by different judges ({names}): {what}.")] if names else []


def _name_judges(first: Result, second: Result) -> str:
    """Name the different judges of two runs by the first thing in which they differ; "" where none is known."""
    pairs = zip(_describe_judges(first.run.inputs), _describe_judges(second.run.inputs), strict=True)
    return next((f"{one}; {other}" for one, other in pairs if one and other and one != other), "")


def _describe_judges(inputs: Inputs) -> list[str]:
    """Name the judges of a run by their models, where they are asked, and their prompt; "" for what is not known."""
    if inputs.judge is None:
        return [""] * 4
    services, served = (
        ", ".join(keep_name(name) for role, name in by_role.items() if role.startswith("judge"))
        for by_role in (inputs.services, inputs.served_as)
    )
    prompt = (inputs.judging or {}).get("prompt")
    judge = keep_names(inputs.judge)
    return [
        judge,
        f"{judge}, served by {served or judge}",
        f"{judge} at {services}" if services else "",
        f"{judge}, own prompt {prompt}" if prompt else f"{judge}, no own prompt",
    ]


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["config"], row["split"], row["id"], row["sample"]
