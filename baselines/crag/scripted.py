"""A scripted model that names the entities of the bundled sample's questions without a network, for the demo."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from quadrag.chat.reply import Failure, Reply

_QUESTION = re.compile(r"^Question: (.+)$", re.MULTILINE)


class SampleEntities:
    """A `Completer` that replies with what `sample_entities.yaml` says of a question, and nothing of any other."""

    model = "scripted"

    def __init__(self) -> None:
        path = Path(__file__).with_name("sample_entities.yaml")
        self._entities: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
        self.parameters: dict[str, Any] = {}
        self.spent: dict[str, Any] = {"calls": 0, "cached": 0}
        self.on_progress: Callable[[int, int], None] | None = None

    def complete(
        self, batch: Sequence[list[dict[str, str]]], *, samples: Sequence[int] | None = None
    ) -> list[Reply | Failure]:
        """Answer a batch of chats in order."""
        return [Reply(text, "stop", None, None, 0.0) for text in map(self._reply, batch)]

    def close(self) -> None:
        """Close nothing."""

    def _reply(self, chat: list[dict[str, str]]) -> str:
        asked = _QUESTION.findall(chat[-1]["content"])
        return json.dumps(self._entities.get(asked[-1], {}) if asked else {})
