"""How the judge of an evaluation is called: what `evaluate` takes beside its arguments, as the command's options."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from quadrag.baselines.judges.certificate import Certificate
from quadrag.baselines.runs.request import CallRequest, Kept
from quadrag.chat.calling import Alias, Calling
from quadrag.chat.reply import RETRIED
from quadrag.errors import QuadragError, unknown_name

_FORMATS = ("text", "json", "schema")
# What is called so, and the field of the record that holds it.
_REQUEST = {name: name for name in ("judge_format", "judge_max_tokens", "bertscore", "ledger", "max_failed")}
_CALLING = {name: name for name in ("timeout", "max_reply_bytes", "allow_redirect")}
_KEPT = {"fresh": "fresh", "retry": "retry"}
_ALIAS = ("judge_service", "judge_served_as")
CALLS = (*_REQUEST, *_CALLING, *_KEPT, *_ALIAS)
_ADDRESS = "http://127.0.0.1:8081/v1#MODEL"
_SEVERAL = ("allow_redirect", "retry", *_ALIAS)


def take_calls(
    judge: str | Sequence[str] | None,
    concurrency: int,
    options: dict[str, Any],
    certificates: Sequence[Certificate] = (),
) -> CallRequest:
    """Take what is of the judges out of the options, and make the request of it.

    Raises:
        QuadragError: it may not have that value.
    """
    given = {name: value for name in CALLS if (value := options.pop(name, None)) is not None}
    given |= {name: _list(given[name]) for name in _SEVERAL if name in given}
    _check(given)
    if judge is None and "timeout" in given:
        raise QuadragError("timeout is of calls to a judge, and judge= names none; the function bounds its own time")

    def fields(names: dict[str, str]) -> dict[str, Any]:
        return {field: given[name] for name, field in names.items() if name in given}

    judges = [] if judge is None else [judge] if not isinstance(judge, Sequence) else _list(judge)
    if strange := [one for one in judges if not isinstance(one, str)]:
        raise QuadragError(f"judge is {strange[0]!r}; expected the address of a model, as {_ADDRESS}, or several")
    aliases = zip_longest(*(given.get(name, ()) for name in _ALIAS))
    return CallRequest(
        judges=judges,
        certificates=[one.row for one in certificates],
        calling=Calling(concurrency=concurrency, **fields(_CALLING)),
        kept=Kept(**fields(_KEPT)),
        judge_aliases=[Alias(service, served_as, "judge-") for service, served_as in aliases],
        command=["quadrag.evaluate"],
        **fields(_REQUEST),
    )


def _check(given: dict[str, Any]) -> None:
    """Refuse what the command's parser would."""
    shape = given.get("judge_format", _FORMATS[0])
    if shape not in _FORMATS:
        raise unknown_name("judge_format", shape, _FORMATS)
    for kind in given.get("retry", ()):
        if kind not in RETRIED:
            raise unknown_name("kind of reply in retry", kind, RETRIED)
    longest = given.get("judge_max_tokens", 1)
    if type(longest) is not int or longest < 1:
        raise QuadragError(f"judge_max_tokens is {longest!r}; expected a whole number from 1")
    share = given.get("max_failed", 0)
    if not isinstance(share, (int, float)) or not 0 <= share <= 1:
        raise QuadragError(f"max_failed is {share!r}; expected a share from 0 to 1")


def _list(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)
