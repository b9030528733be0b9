"""Models without a chat interface: a chat becomes a prompt by a template, and completions of it are asked for.

``POST .../v1/completions`` with ``prompt``; the answer is ``choices[0].text`` less the blanks around it. The templates
are those of `templates.yaml`; the digest of one stands among the client's parameters, so in ledger keys and in
`run.json`, and is not sent.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.chat.http import Server, Transport
from quadrag.chat.reply import Row, read_completion
from quadrag.chat.spec import page_url
from quadrag.errors import pick
from quadrag.reading import parse_yaml
from quadrag.records import dumps

Messages = Sequence[Mapping[str, Any]]


class CompletionsTransport(Transport):
    """Calls of ``/v1/completions``; a call's messages are one, the prompt."""

    form = "a completion"
    unsent = ("api", "template")

    def __init__(self, template: str) -> None:
        """Take a template by its name."""
        from jinja2 import Environment

        file = Path(__file__).with_name("templates.yaml")
        source = pick("template", template, parse_yaml(file.read_bytes(), file, "templates by name"))
        self._template = Environment(trim_blocks=True, lstrip_blocks=True).from_string(source)
        digest = hashlib.sha256(dumps([source]).encode()).hexdigest()[:16]
        self.parameters = {"api": "completions", "template": digest}

    def compose(self, messages: Messages) -> list[dict[str, Any]]:
        """Make the prompt, with the system's text before the first question; see `Transport.compose`."""
        first, *turns = [dict(message) for message in messages]
        if first["role"] == "system" and turns:
            turns[0]["content"] = f"{first['content']}\n\n{turns[0]['content']}"
        else:
            turns = [first, *turns]
        return [{"role": "prompt", "content": self._template.render(turns=turns)}]

    async def attempt(self, server: Server, messages: Messages, model: str, body: dict[str, Any]) -> Row:
        """Make one attempt; see `Transport.attempt`."""
        sent = {"model": model, "prompt": messages[0]["content"], **body}
        row = read_completion(json.loads(await server.send(page_url(server.address, "completions"), sent)))
        return {**row, "text": row["text"].strip()}
