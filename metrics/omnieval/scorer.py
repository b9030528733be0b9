# SPDX-License-Identifier: Apache-2.0
"""OmniEval's judged metrics: one request for each item and metric, in one round."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from .prompts import (
    FIELD,
    KEYS,
    NAMES,
    NEEDED,
    PLAIN_PROMPTS,
    PLAIN_READERS,
    PROMPTS,
    READABLE,
    RETRIEVAL,
    SCALES,
    fields,
    keys_of,
    messages,
    official,
    passages,
    turns,
    value,
)
from .scoring import NOT_APPLICABLE, Column, Item, Rounds, Scorer, read_accepted, row, strings
from .slots import PLAIN, instructions
from .verdict_reader import CHINESE, VerdictReader

_VERDICTS = {key: VerdictReader(FIELD, READABLE[key], NAMES[key], CHINESE) for key in KEYS}
READERS = {"official": official, "corrected": lambda reply, key: _VERDICTS[key].read(reply)}


class Omnieval(Scorer):
    NAME, VERSION = "omnieval", "1.3.0"
    JUDGES = (1, 1)
    WORST: ClassVar[Mapping[str, float]] = {"hal": 1.0}
    COLUMNS: ClassVar[Mapping[str, Column]] = {
        "questions": ("question", strings),
        "contexts": ("passages", passages),
        "history": ("history", turns),
    }

    def __init__(self, *, prompts: Any = None, prompt: str | None = None, **common: Any) -> None:
        super().__init__(**common)
        self.keys = keys_of(self.config)
        if prompt not in (None, PLAIN) or (prompt and prompts):
            raise ValueError(f"prompt is {prompt!r:.60}; expected {PLAIN!r}, or prompts alone")
        self.plain = prompt == PLAIN
        ours = PLAIN_PROMPTS if self.plain else PROMPTS
        chosen = instructions(prompts, ours, NEEDED)  # each a user's message, or a system's and a user's
        self.words = {key: (chosen[key],) if isinstance(chosen[key], str) else tuple(chosen[key]) for key in self.keys}
        self.prompt = "\0".join("\1".join(self.words[key]) for key in self.keys)

    @property
    def schema(self) -> dict[str, Any]:
        verdicts = sorted({value for key in self.keys for value in SCALES[key]})
        schema = {
            "type": "object",
            "properties": {FIELD: {"type": "integer", "enum": verdicts}},
            "required": [FIELD],
            "additionalProperties": False,
        }
        return {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": schema}}

    @staticmethod
    def reference(value: Any, name: str) -> list[str]:
        return list(dict.fromkeys(text for text in read_accepted(value, name) if text.strip()))

    def items(self, predictions: Sequence[Any], references: Sequence[Any], **columns: Any) -> list[Item]:
        if columns.get("contexts") is None and set(self.keys) & set(RETRIEVAL):
            raise ValueError(
                "contexts is None, but hal and utl are judged by them; pass the passages of each prediction, or load"
                " acc, com or nac alone"
            )
        items = super().items(predictions, references, **columns)
        for i, item in enumerate(items):
            if item.get("passages", "") is None and item["prediction"] is not None:
                raise ValueError(f"contexts[{i}] is NoneType; expected a list of passages or a string")
        return items

    def mark(self, item: Item, profile: str) -> Rounds:
        why = item["state"] if item["reference"] else NOT_APPLICABLE
        if why:
            return row(dict.fromkeys(self.keys, why), why == NOT_APPLICABLE)
        shown = [""] if item.get("passages") is None else item["passages"]
        golds, answer = item["reference"], str(item["prediction"])
        material = fields(item["question"], item.get("history", ()), golds, answer, shown)
        replies = yield [{"messages": messages(self.words[key], material)} for key in self.keys]
        cells: dict[str, float | str] = {}
        for key, reply in zip(self.keys, replies, strict=True):
            text, reason = self.hear(reply, profile)
            cells[key] = reason if text is None else value(self._read(text, answer, key, profile), key)
        return row(cells)

    def _read(self, reply: str, answer: str, key: str, profile: str) -> int | None:
        return PLAIN_READERS[key].read(reply, answer) if self.plain else READERS[profile](reply, key)

    def conditions(self, profile: str) -> dict[str, str]:
        return {"metrics": "+".join(self.keys)}


SCORER = Omnieval
