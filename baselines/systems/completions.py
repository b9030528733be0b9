"""Models without a chat interface: a chat becomes a prompt by a template, and completions of it are asked for.

``POST .../v1/completions`` with ``prompt``; the answer is ``choices[0].text`` less the blanks around it. The template
is one of ours (`templates.yaml`), a Jinja file, or a tokenizer's own, rendered by transformers; its digest stands among
the client's parameters, so in ledger keys and in `run.json`, and is not sent. Where a tokenizer itself puts a token
before every text, a server does too, so that token is taken off. What a template writes is not trusted with more than
Jinja's sandbox gives.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.chat.http import Server, Transport, post_json
from quadrag.chat.reply import Row, read_message
from quadrag.errors import QuadragError, one_line, tell_extra
from quadrag.reading import parse_yaml
from quadrag.records import dumps

Messages = Sequence[Mapping[str, Any]]
_OURS = Path(__file__).with_name("templates.yaml")
_FILES = (".jinja", ".jinja2", ".j2")
_SPECIAL = ("bos_token", "eos_token")  # which a tokenizer knows, and a file does not


class CompletionsTransport(Transport):
    """Calls of ``/v1/completions``; a call's messages are one, the prompt."""

    page = "/completions"
    form = "a completion"
    unsent = ("api", "template")

    def __init__(self, template: str) -> None:
        """Take a template: one of `template_names`, a Jinja file, or a tokenizer, a folder or a Hub name."""
        source = read_templates().get(template) or _read_file(template)
        self.render, identity = _open_tokenizer(template) if source is None else _open_source(source, template)
        digest = hashlib.sha256(dumps(identity).encode()).hexdigest()[:16]
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


def _read_file(name: str) -> str | None:
    """Return the text of a template's file; None of what names no file."""
    path = Path(name).expanduser()
    if not path.is_file() and path.suffix not in _FILES:
        return None
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise QuadragError(f"cannot read the template {name} ({error})") from None


def _open_source(source: str, name: str) -> tuple[Callable[[Messages], str], Any]:
    from jinja2 import TemplateError, meta
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def refuse(message: str) -> None:
        raise TemplateError(message)

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = refuse
    try:
        wanted = meta.find_undeclared_variables(environment.parse(source))
        template = environment.from_string(source)
    except TemplateError as error:
        raise QuadragError(f"the template {name} is no Jinja ({error})") from None
    if token := next((token for token in _SPECIAL if token in wanted), None):
        raise QuadragError(f"the template {name} asks for {token}, which a file does not know; write the token out")

    def render(messages: Messages) -> str:
        words = {"messages": messages, "turns": _fold(messages), "add_generation_prompt": True}
        return _attempt(name, lambda: template.render(words))

    return render, [source]


def _open_tokenizer(name: str) -> tuple[Callable[[Messages], str], Any]:
    others = f"name a Jinja file or one of {', '.join(read_templates())}"
    try:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError, ImportError) as error:
        why = f"cannot load the tokenizer {name} ({one_line(error, 300)})"
        raise QuadragError(f"{why}; it needs transformers, {tell_extra('local')}; or {others}") from None
    if not tokenizer.chat_template:
        raise QuadragError(f"the tokenizer {name} has no chat template; {others}")
    first = tokenizer.bos_token if tokenizer("")["input_ids"][:1] == [tokenizer.bos_token_id] else ""

    def render(messages: Messages) -> str:
        chat = [dict(message) for message in messages]
        prompt = _attempt(name, lambda: tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True))
        return prompt.removeprefix(first)

    return render, [tokenizer.chat_template, tokenizer.special_tokens_map, first]


def _attempt(name: str, write: Callable[[], str]) -> str:
    """Write a prompt, or say that the template refuses the messages."""
    from jinja2 import TemplateError

    try:
        return write()
    except (TemplateError, TypeError, ArithmeticError, LookupError) as error:
        way = "name another, or prompts that it takes with --prompts"
        raise QuadragError(f"the template {name} refuses the messages ({one_line(error)}); {way}") from None


def _fold(messages: Messages) -> list[dict[str, Any]]:
    """Put the system's text before the first question."""
    first, *rest = [dict(message) for message in messages]
    if first["role"] == "system" and rest:
        rest[0]["content"] = f"{first['content']}\n\n{rest[0]['content']}"
        return rest
    return [first, *rest]
