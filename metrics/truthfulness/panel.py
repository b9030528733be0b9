# SPDX-License-Identifier: Apache-2.0
"""One or several judges, asked about what the rules leave open: one batch each, mostly a request per accepted answer.

All of an item's open answers go into the one batch. Asking for a second only where the first is refused would spare
few requests (most items have one) and make what is asked depend on the replies, and differ between the profiles.
"""

from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

from .rules import CORRECT, INCORRECT, Ruling
from .tally import UNSCORED, ask, is_list

Judge = Callable[[list[Any]], Any]
Reader = Callable[[str], "int | None"]
NO_JUDGE = "no_judge"


def panel(judge: Any, judges: Any) -> list[Judge]:
    """Return the judges given in either way, none where none is.

    Raises:
        ValueError: both were given, or what was given cannot judge.
    """
    if judge is not None and judges is not None:
        raise ValueError("both judge and judges were given; expected one of them")
    if judges is not None and (not is_list(judges) or not list(judges)):
        shown = "empty" if is_list(judges) else type(judges).__name__
        raise ValueError(f"judges is {shown}; expected a list of callables")
    given = [] if judge is None else [judge]
    given += [] if judges is None else judges
    for one in given:
        if not callable(one):
            name = "judge" if judges is None else "judges"
            raise ValueError(f"{name} holds {type(one).__name__}; expected a callable from chats to replies")
    return given


def name_judges(judges: Sequence[Judge], ratings: Any) -> Any:
    """Return what stands for the judges in the signature: `a`, `mean(a+b)`, or `human` for ratings."""
    if ratings is not None:
        return SimpleNamespace(model="human")
    names = [str(getattr(judge, "model", None) or "none") for judge in judges]
    return SimpleNamespace(model=f"mean({'+'.join(names)})" if len(names) > 1 else "".join(names))


def outcomes(
    rulings: Sequence[Ruling],
    judges: Sequence[Judge],
    requests: Sequence[Sequence[Any]],
    read: Reader,
    profile: str,
    instructions: str,
) -> Iterable[Sequence[str]]:
    """Have every item decided.

    Args:
        rulings: what the rules say of n items.
        judges: each is asked all requests in one batch.
        requests: of each item the chat messages; an item is correct where a reply to any of them accepts.
        read: a reply to its verdict, 1 or 0, or None.
        profile: as `ask` takes it.
        instructions: of the requests, as `ask` takes them.

    Returns:
        n times, per judge: "correct" where any accepted answer is, else the reason where a verdict is lacking, else
        "incorrect". Without judges, "no_judge" where an item is open.
    """
    if not judges:
        return [[ruling.outcome or NO_JUDGE] for ruling in rulings]
    counts = list(map(len, requests))
    batch = [request for own in requests for request in own]
    replies = (ask(judge, batch, profile, instructions) for judge in judges)
    return list(zip(*(_decide(rulings, counts, *told, read) for told in replies), strict=True))


def _decide(
    rulings: Sequence[Ruling], counts: Sequence[int], texts: list[str | None], failed: list[str], read: Reader
) -> list[str]:
    verdicts = ((why, None if text is None else read(text)) for text, why in zip(texts, failed, strict=True))
    found: list[str] = []
    for ruling, count in zip(rulings, counts, strict=True):
        own = [next(verdicts) for _ in range(count)]
        reasons = [why or "unparsable" for why, verdict in own if verdict is None]
        if any(verdict == 1 for _, verdict in own):
            found.append(CORRECT)
        else:
            lacking = next((reason for reason in UNSCORED if reason in reasons), INCORRECT)
            found.append(ruling.outcome or lacking)
    return found
