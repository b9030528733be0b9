"""Models without a chat interface: a chat becomes a prompt by a template, and completions of it are asked for.

``POST .../v1/completions`` with ``prompt``; the answer is ``choices[0].text`` less the blanks around it. The template
is one of ours (`templates.yaml`) or a Jinja file; its digest stands among the client's parameters, so in ledger keys
and in `run.json`, and is not sent.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.chat.http import Server, Transport, post_json
from quadrag.chat.reply import Row, read_message
from quadrag.errors import QuadragError, one_line
from quadrag.reading import parse_yaml
from quadrag.records import dumps

Messages = Sequence[Mapping[str, Any]]
_OURS = Path(__file__).with_name("templates.yaml")


class CompletionsTransport(Transport):
    """Calls of ``/v1/completions``; a call's messages are one, the prompt."""

    page = "/completions"
    form = "a completion"
    unsent = ("api", "template")

    def __init__(self, template: str) -> None:
        """Take a template: one of `read_templates`, or a Jinja file."""
        source = _read_source(template)
        self.render = _open_template(source, template)
        digest = hashlib.sha256(dumps([source]).encode()).hexdigest()[:16]
        self.parameters = {"api": "completions", "template": digest}

    def compose(self, messages: Messages) -> list[dict[str, Any]]:
        """Make the prompt; see `Transport.compose`."""
        return [{"role": "prompt", "content": self.render(messages)}]

    async def attempt(self, session: Any, server: Server, messages: Messages, model: str, body: dict[str, Any]) -> Row:
        """Make one attempt; see `Transport.attempt`."""
        sent = {"model": model, "prompt": messages[0]["content"], **body}
        reply = json.loads(await post_json(session, server, self._address(server), sent))
        choices = reply.get("choices")
        if not choices:
            raise ValueError(f"no choices; {reply.get('error') or reply}")
        row = read_message({"content": choices[0].get("text")}, choices[0].get("finish_reason"), reply.get("usage"))
        return {**row, "text": row["text"].strip()}


def read_templates() -> dict[str, str]:
    """Return the templates that come with quadrag, by name."""
    templates: dict[str, str] = parse_yaml(_OURS.read_bytes(), _OURS, "templates by name")
    return templates


def _read_source(name: str) -> str:
    ours = read_templates()
    try:
        return ours[name] if name in ours else Path(name).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        way = f"expected a Jinja file, or one of {', '.join(ours)}"
        raise QuadragError(f"cannot read the template {name} ({one_line(error)}); {way}") from None


def _open_template(source: str, name: str) -> Callable[[Messages], str]:
    """Return what makes a prompt of a chat; the template is trusted with no more than Jinja's sandbox gives."""
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    if token := next((token for token in ("bos_token", "eos_token") if token in source), None):
        raise QuadragError(f"the template {name} asks for {token}, which a file does not know; write the token out")
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)

    def render(messages: Messages) -> str:
        try:
            return environment.from_string(source).render(
                messages=messages, turns=_fold(messages), add_generation_prompt=True
            )
        except Exception as error:  # of whatever kind the template makes it
            way = "name another, or prompts that it takes with --prompts"
            raise QuadragError(f"the template {name} makes no prompt ({one_line(error)}); {way}") from None

    return render


def _fold(messages: Messages) -> list[dict[str, Any]]:
    """Put the system's text before the first question."""
    first, *rest = [dict(message) for message in messages]
    if first["role"] == "system" and rest:
        rest[0]["content"] = f"{first['content']}\n\n{rest[0]['content']}"
        return rest
    return [first, *rest]
