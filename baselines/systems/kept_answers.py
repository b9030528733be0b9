"""The answers of a user's function, kept in a file as they come: a run that was killed goes on from there.

Failures are not kept, so that they are asked again. Whether the function has changed since cannot be seen.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from quadrag.chat.reply import Failure, Reply
from quadrag.records import Key, Passage, dumps

from .rag.reply import Served
from .returned import take_reply


@dataclass(frozen=True, slots=True)
class KeptAnswers:
    """A file of answers by their questions; without a path nothing is kept."""

    path: Path | None = None

    def read(self) -> tuple[dict[Key, Reply | Failure], float | None]:
        """Read what is kept, and the Unix time of the oldest; a line that a kill cut off is as if it were not there."""
        found: dict[Key, Reply | Failure] = {}
        times = []
        if self.path is None or not self.path.exists():
            return found, None
        for line in self.path.read_text(encoding="utf-8", errors="replace").split("\n"):
            try:
                row = json.loads(line)
                told = row["passages"]
                passages = None if told is None else tuple(Passage(*one) for one in told)
                config, split, ident = row["key"]
                thought, took = row["reasoning"], float(row["seconds"])
                found[config, split, ident] = take_reply(str(row["answer"]), thought, took, passages)
                times.append(float(row["made"]))
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
        return found, min(times, default=None)

    def add(self, found: Mapping[Key, Reply | Failure], made: float | None = None) -> None:
        """Write answers behind what is there.

        Args:
            found: what came of each question.
            made: Unix time; the present one when None.
        """
        if self.path is None:
            return
        made = round(made or time.time(), 3)
        rows = [
            {"key": key, "answer": one.text, "reasoning": one.reasoning, "passages": one.passages}
            | {"seconds": one.latency, "made": made}
            for key, one in found.items()
            if isinstance(one, Served)
        ]
        with self.path.open("a", encoding="utf-8") as file:
            # A line break first: a kill may have cut the last line off.
            file.write("".join(f"\n{dumps(row)}\n" for row in rows))
