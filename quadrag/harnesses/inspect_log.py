"""Logs of Inspect, ``.eval`` or ``.json``, read as answers for `quadrag score`.

It reads what the tasks of `inspect/` logged, whatever solver answered, and nothing of other tasks. Scores in the log
are left aside: they are computed again. Inspect reads its own logs, so it is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.reply import split_reasoning

_PLACE = ("config", "split")
_HEAD = 4096  # characters of a .json log that tell it: Inspect writes its keys in one order


def answered(output: Any) -> tuple[str | None, str]:
    """Return the text of a model's output, and the state that an answer of ours has.

    No text at all is an answer, as in `quadrag run`, but where a limit cut it before it began. What has no choices is
    a failed call, or one that was never made.
    """
    if output.error or not output.choices:
        return None, "api_error"
    text, _ = split_reasoning(output.completion)
    if not text and output.stop_reason == "max_tokens":
        return None, "truncated"
    return text, "ok"


def is_log(path: Path) -> bool:
    """Whether a file is a log of Inspect."""
    if path.suffix == ".eval":
        return True
    if path.suffix != ".json":
        return False
    try:
        with path.open(encoding="utf-8-sig") as file:
            head = file.read(_HEAD)
    except (OSError, UnicodeDecodeError):
        return False
    return head.lstrip().startswith("{") and '"eval":' in head and '"task_registry_name":' in head


def answers(path: Path) -> Iterator[dict[str, Any]]:
    """Yield a line of answers for every sample of a log, in its order.

    Yields:
        `id`, `config`, `split`, `sample` (the epoch, from 0), `answer`, `state` and `finish_reason`.

    Raises:
        QuadragError: Inspect is not installed, the file cannot be read, or it is a log of something else.
    """
    try:
        from inspect_ai.log import read_eval_log  # type: ignore[import-not-found]  # the types are checked without it
    except ImportError:
        raise QuadragError(
            f"{path} is a log of Inspect, which is needed to read it; pip install 'quadrag[harness]'"
        ) from None
    try:
        log = read_eval_log(str(path), resolve_attachments="core")
    except Exception as error:
        reason = " ".join(str(error).split())
        raise QuadragError(f"cannot read {path} ({reason:.200}); expected a log of Inspect") from None
    if not log.samples:
        raise QuadragError(f"{path} holds no samples (its status is {log.status}); expected a log of a whole run")
    for sample in log.samples:
        yield _answer(f"{path}: sample {sample.id}", sample)


def _answer(where: str, sample: Any) -> dict[str, Any]:
    place = {name: sample.metadata.get(name) for name in _PLACE}
    if not all(isinstance(value, str) for value in place.values()):
        raise QuadragError(f"{where} is of no quadrag task; expected metadata with {' and '.join(_PLACE)}")
    text, state = answered(sample.output)
    reason = sample.output.stop_reason if sample.output.choices else None
    rest = {"answer": text, "state": state, "finish_reason": reason}
    said = {name: sample.metadata[name] for name in ("conditions",) if name in sample.metadata}
    return {"id": str(sample.id), **place, "sample": sample.epoch - 1, **rest, **said}
