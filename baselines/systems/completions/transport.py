"""Completions of a prompt, for models without a chat interface: the chat becomes a text here, by the model's template.

``POST .../v1/completions`` with ``prompt``; the answer is ``choices[0].text`` less the blanks around it. What
identifies the template stands among the client's parameters, so in ledger keys and in `run.json`, and is not sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quadrag.chat.http import Server, Transport, post_json
from quadrag.chat.reply import Row, read_message

Messages = Sequence[Mapping[str, Any]]


class CompletionsTransport(Transport):
    """Calls of ``/v1/completions``; a call's messages are one, the prompt."""

    page = "/completions"
    form = "a completion"
    unsent = ("api", "template")

    def __init__(self, render: Callable[[Messages], str], template: str) -> None:
        """Take what makes a prompt of a chat, and what identifies it."""
        self._render = render
        self.parameters = {"api": "completions", "template": template}

    def compose(self, messages: Messages) -> list[dict[str, Any]]:
        """Make the prompt; see `Transport.compose`."""
        return [{"role": "prompt", "content": self._render(messages)}]

    async def attempt(self, session: Any, server: Server, messages: Messages, model: str, body: dict[str, Any]) -> Row:
        """Make one attempt; see `Transport.attempt`."""
        sent = {"model": model, "prompt": messages[0]["content"], **body}
        reply = json.loads(await post_json(session, server, self._address(server), sent))
        choices = reply.get("choices")
        if not choices:
            raise ValueError(f"no choices; {reply.get('error') or reply}")
        row = read_message({"content": choices[0].get("text")}, choices[0].get("finish_reason"), reply.get("usage"))
        return {**row, "text": row["text"].strip()}
