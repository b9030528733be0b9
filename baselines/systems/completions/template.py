"""How a chat becomes the prompt of a model without a chat interface: by a template of ours, a Jinja file, a tokenizer.

A tokenizer's own template is rendered by transformers. Where the tokenizer itself puts a token before every text, a
server does too, so that token is taken off the prompt's beginning. What a template writes is not trusted with more than
Jinja's sandbox gives.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError, tell_extra
from quadrag.reading import parse_yaml
from quadrag.records import dumps

Messages = Sequence[Mapping[str, Any]]
_OURS = Path(__file__).with_name("templates.yaml")
_FILES = (".jinja", ".jinja2", ".j2")
_SPECIAL = ("bos_token", "eos_token")  # which a tokenizer knows, and a file does not


@dataclass(frozen=True, slots=True)
class Template:
    """What makes a prompt of a chat, and a digest of all that decides it."""

    render: Callable[[Messages], str]
    digest: str


def load_template(name: str) -> Template:
    """Load a template.

    Args:
        name: one of `template_names`, a Jinja file, or a tokenizer: a folder or a Hub name.
    """
    ours = _read_ours()
    if name in ours:
        return _from_source(ours[name], name)
    path = Path(name).expanduser()
    if path.is_file() or path.suffix in _FILES:
        try:
            return _from_source(path.read_text(encoding="utf-8"), name)
        except (OSError, UnicodeDecodeError) as error:
            raise QuadragError(f"cannot read the template {name} ({error})") from None
    return _from_tokenizer(name, ours)


def template_names() -> list[str]:
    """Name the templates that come with quadrag."""
    return list(_read_ours())


def _read_ours() -> dict[str, str]:
    found: dict[str, str] = parse_yaml(_OURS.read_bytes(), _OURS, "templates by name")
    return found


def _from_source(source: str, name: str) -> Template:
    from jinja2 import TemplateError, meta
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = _refuse
    try:
        asked = meta.find_undeclared_variables(environment.parse(source))
        template = environment.from_string(source)
    except TemplateError as error:
        raise QuadragError(f"the template {name} is no Jinja ({error})") from None
    for token in _SPECIAL:
        if token in asked:
            raise QuadragError(f"the template {name} asks for {token}, which a file does not know; write the token out")

    def render(messages: Messages) -> str:
        words = {"messages": messages, "turns": _fold(messages), "add_generation_prompt": True}
        return _attempt(name, lambda: template.render(words))

    return Template(render, _digest([source]))


def _from_tokenizer(name: str, ours: Mapping[str, str]) -> Template:
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise QuadragError(
            f"--template {name} is a tokenizer's, and transformers is not there ({error}); "
            f"{tell_extra('local')}, or name a Jinja file or one of {', '.join(ours)}"
        ) from None
    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError, ImportError) as error:
        first = " ".join(str(error).split())[:300]
        raise QuadragError(
            f"cannot load the tokenizer {name} ({first}); --template takes a Jinja file, too, or {', '.join(ours)}"
        ) from None
    if not tokenizer.chat_template:
        raise QuadragError(f"the tokenizer {name} has no chat template; name a file or one of {', '.join(ours)}")
    begins = tokenizer("")["input_ids"][:1] == [tokenizer.bos_token_id]
    first = tokenizer.bos_token if begins else ""

    def render(messages: Messages) -> str:
        chat = [dict(message) for message in messages]
        prompt = _attempt(name, lambda: tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True))
        return prompt.removeprefix(first)

    return Template(render, _digest([tokenizer.chat_template, tokenizer.special_tokens_map, first]))


def _attempt(name: str, write: Callable[[], str]) -> str:
    """Write a prompt, or say that the template refuses the messages."""
    from jinja2 import TemplateError

    try:
        return write()
    except (TemplateError, TypeError, ArithmeticError, LookupError) as error:
        why = " ".join(str(error).split())
        raise QuadragError(
            f"the template {name} refuses the messages ({why}); name another, or prompts that it takes with --prompts"
        ) from None


def _refuse(message: str) -> None:
    from jinja2 import TemplateError

    raise TemplateError(message)


def _fold(messages: Messages) -> list[dict[str, Any]]:
    """Put the system's text before the first question."""
    first, rest = dict(messages[0]), [dict(message) for message in messages[1:]]
    if first["role"] == "system" and rest:
        rest[0]["content"] = f"{first['content']}\n\n{rest[0]['content']}"
        return rest
    return [first, *rest]


def _digest(value: Any) -> str:
    return hashlib.sha256(dumps(value).encode()).hexdigest()[:16]
