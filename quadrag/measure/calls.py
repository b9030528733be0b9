"""How the judge of an evaluation is called: what `evaluate` takes beside its arguments, as the command's options."""

from collections.abc import Sequence
from typing import Any

from quadrag.baselines.core.spec import CallPolicy
from quadrag.baselines.judges.certificate import Certificate
from quadrag.baselines.runs.plan import plan_judges
from quadrag.chat.reply import RETRIED
from quadrag.errors import QuadragError, unknown_name

_FORMATS = ("text", "json", "schema")
_JUDGES = ("judge_format", "judge_max_tokens", "judge_name")
_POLICY = ("ledger", "max_failed", "timeout", "max_reply_bytes", "fresh", "retry")
CALLS = (*_JUDGES, *_POLICY, "bertscore")
_ADDRESS = "http://127.0.0.1:8081/v1#MODEL"
_SEVERAL = ("retry", "judge_name")


def take_calls(
    benchmark: str,
    judge: str | Sequence[str] | None,
    concurrency: int,
    options: dict[str, Any],
    certificates: Sequence[Certificate] = (),
) -> tuple[dict[str, Any], CallPolicy]:
    """Take what is of the judges out of the options; return what a spec says of them, and how they are called.

    Raises:
        QuadragError: it may not have that value.
    """
    given = {name: value for name in CALLS if (value := options.pop(name, None)) is not None}
    given |= {name: _list(given[name]) for name in _SEVERAL if name in given}
    _check(given)
    if judge is None and "timeout" in given:
        raise QuadragError("timeout is of calls to a judge, and judge= names none; the function bounds its own time")
    judges = [] if judge is None else [judge] if not isinstance(judge, Sequence) else _list(judge)
    if strange := [each for each in judges if not isinstance(each, str)]:
        raise QuadragError(f"judge is {strange[0]!r}; expected the address of a model, as {_ADDRESS}, or several")
    form, longest, names = (given.get(name) for name in _JUDGES)
    said: dict[str, Any] = {"judges": plan_judges(benchmark, judges, form, longest, names or ())}
    if "bertscore" in given:
        said["embed"] = given["bertscore"]
    policy = CallPolicy(
        concurrency=concurrency,
        certificates=[each.row for each in certificates],
        command=["quadrag.evaluate"],
        **{name: given[name] for name in _POLICY if name in given},
    )
    return said, policy


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
