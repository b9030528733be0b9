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
from quadrag.chat.reply import Row, read_message
from quadrag.chat.spec import page_url
from quadrag.errors import pick
from quadrag.reading import parse_yaml
from quadrag.records import dumps

Messages = Sequence[Mapping[str, Any]]
_FILE = Path(__file__).with_name("templates.yaml")


class CompletionsTransport(Transport):
    """Calls of ``/v1/completions``; a call's messages are one, the prompt."""

    page = "completions"
    form = "a completion"
    unsent = ("api", "template")

    def __init__(self, template: str) -> None:
        """Take a template by its name."""
        from jinja2 import Environment

        source = pick("template", template, read_templates())
        self._template = Environment(trim_blocks=True, lstrip_blocks=True).from_string(source)
        digest = hashlib.sha256(dumps([source]).encode()).hexdigest()[:16]
        self.parameters = {"api": "completions", "template": digest}

    def compose(self, messages: Messages) -> list[dict[str, Any]]:
        """Make the prompt; see `Transport.compose`."""
        return [{"role": "prompt", "content": self.render(messages)}]

    def render(self, messages: Messages) -> str:
        """Return the prompt of a chat, with the system's text before the first question."""
        first, *turns = [dict(message) for message in messages]
        if first["role"] == "system" and turns:
            turns[0]["content"] = f"{first['content']}\n\n{turns[0]['content']}"
        else:
            turns = [first, *turns]
        return self._template.render(turns=turns)

    async def attempt(self, server: Server, messages: Messages, model: str, body: dict[str, Any]) -> Row:
        """Make one attempt; see `Transport.attempt`."""
        sent = {"model": model, "prompt": messages[0]["content"], **body}
        reply = json.loads(await server.send(page_url(server.address, self.page), sent))
        choices = reply.get("choices")
        if not choices:
            raise ValueError(f"no choices; {reply.get('error') or reply}")
        row = read_message({"content": choices[0].get("text")}, choices[0].get("finish_reason"), reply.get("usage"))
        return {**row, "text": row["text"].strip()}


def read_templates() -> dict[str, str]:
    """Return the templates by name."""
    templates: dict[str, str] = parse_yaml(_FILE.read_bytes(), _FILE, "templates by name")
    return templates
