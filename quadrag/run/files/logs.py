"""Logs of evaluation harnesses that ran quadrag's tasks: what made them, and their samples as lines of answers.

They are the samples of lm-eval (``--log_samples``) and the logs of Inspect (``.eval``, ``.json``). Scores in a log are
left aside: they are computed again. Inspect is needed to read its own logs.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.chat.reply import ReadAnswer, read_answer
from quadrag.errors import QuadragError, one_line, parse_json, tell_extra

_PLACE = ("id", "config", "split")
_FAILED: ReadAnswer = (None, None, "api_error")
_CUT = "max_tokens"  # how Inspect calls why a reply was cut by length
LOG = re.compile(r"samples_quadrag_(.+)_(\d{4}-\d\d-\d\dT[\d:.+-]+).*\.jsonl")  # of lm-eval: the task, and the time


class Maker(NamedTuple):
    """What made a log: the model by the harness's name, when, and what the task was given, as ``data_dir``."""

    model: str
    time: str
    settings: Mapping[str, Any]


def list_logs(folder: Path) -> list[Path]:
    logs = sorted([*folder.rglob("samples_quadrag_*.jsonl"), *folder.rglob("*.eval")])
    if not logs:
        raise QuadragError(
            f"{folder} is a folder without a harness's log of a quadrag task (samples_quadrag_*.jsonl, which "
            "--log_samples writes, or *.eval); expected one, or a file of answers"
        )
    return logs


def find_maker(path: Path) -> Maker | None:
    """Return what made a log; None of any other file.

    lm-eval says the model in the results beside the samples; where these are gone, it is what the folder is called.
    """
    if is_inspect(path):
        made = open_inspect_log(path, header_only=True).eval
        return Maker(made.model, made.created, made.task_args)
    match = LOG.fullmatch(path.name)
    if match is None:
        return None
    results = path.with_name(f"results_{match[2]}.json")
    said = parse_json(results.read_bytes(), results) if results.is_file() else {}
    try:
        settings = dict(said["configs"][f"quadrag_{match[1]}"]["metadata"])
    except (KeyError, TypeError, ValueError):
        settings = {}
    named = said.get("model_name") if isinstance(said, dict) else None
    return Maker(str(named or path.absolute().parent.name), match[2], settings)


def read_sample(where: str, row: Mapping[str, Any]) -> dict[str, Any]:
    replies = row.get("filtered_resps")
    if not isinstance(replies, list) or len(replies) != 1 or not isinstance(replies[0], str):
        raise QuadragError(f"{where} has filtered_resps {replies!r:.60}; expected one reply")
    return {**_read_logged(where, row["doc"]), "answer": lm_eval_answer(replies[0])}


def lm_eval_answer(text: str) -> str | None:
    """Return a reply, None where it is what the user has lm-eval write for one that has no content."""
    return None if text and text == os.environ.get("LMEVAL_MODEL_NONE_ANSWER_PLACEHOLDER") else text


def is_inspect(path: Path) -> bool:
    """Whether a file is a log of Inspect, by its name or, of a .json, by its first keys, which have one order."""
    if path.suffix != ".json":
        return path.suffix == ".eval"
    try:
        with path.open(encoding="utf-8-sig") as file:
            head = file.read(4096)
    except (OSError, UnicodeDecodeError):
        return False
    return head.lstrip().startswith("{") and '"eval":' in head and '"task_registry_name":' in head


def read_inspect_log(path: Path) -> Iterator[dict[str, Any]]:
    """Yield a line of answers for every sample of a log of Inspect, in its order, whatever solver answered.

    Yields:
        Its place, `conditions`, `query`, `sample` (the epoch, from 0), `answer`, `reasoning`, `state` and
        `finish_reason`.
    """
    log = open_inspect_log(path, resolve_attachments="core")
    if not log.samples:
        raise QuadragError(f"{path} holds no samples (its status is {log.status}); expected a log of a whole run")
    for sample in log.samples:
        place = _read_logged(f"{path}: sample {sample.id}", {**sample.metadata, "id": str(sample.id)})
        # The output of a sample that failed may be that of a call before.
        text, reasoning, state = _FAILED if sample.error else inspect_answer(sample.output)
        stop = sample.output.stop_reason if sample.output.choices else None
        said = {"answer": text, "reasoning": reasoning, "state": state}
        yield {**place, "sample": sample.epoch - 1, **said, "finish_reason": "length" if stop == _CUT else stop}


def open_inspect_log(path: Path, **how: Any) -> Any:
    try:
        from inspect_ai.log import read_eval_log  # type: ignore[import-not-found]  # the types are checked without it
    except ImportError:
        raise QuadragError(f"{path} is a log of Inspect, which is needed to read it; {tell_extra('harness')}") from None
    try:
        return read_eval_log(str(path), **how)
    except Exception as error:
        raise QuadragError(f"cannot read {path} ({one_line(error, 200)}); expected a log of Inspect") from None


def inspect_answer(output: Any) -> ReadAnswer:
    """Read an output of Inspect's models; one without choices is a failed call, or one that was never made."""
    if output.error or not output.choices:
        return _FAILED
    content = getattr(getattr(output.choices[0], "message", None), "content", None)
    parts = content if isinstance(content, list) else []
    thoughts = "\n".join(part.reasoning for part in parts if part.type == "reasoning")
    return read_answer(output.completion, thoughts, finish_reason="length" if output.stop_reason == _CUT else None)


def _read_logged(where: str, said: Mapping[str, Any]) -> dict[str, str]:
    """Return what quadrag's tasks log beside a reply: its place, its conditions and what was asked."""
    if not all(isinstance(said.get(name), str) for name in _PLACE):
        raise QuadragError(f"{where} is of no quadrag task; `quadrag harness` has those")
    return {name: said[name] for name in ("benchmark", *_PLACE, "conditions", "query") if name in said}
