"""Model specs, keys and the texts that may leave the chat client.

A spec says where a chat model is: ``http://host:port/v1#model`` (several base URLs, comma-separated, before
the ``#``) or ``provider:MODEL``. This file parses specs, finds the key in the environment and takes keys and
credentials out of every text that is shown or stored. It opens no connection.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from quadrag.errors import QuadragError

KEY_VARIABLES = ("QUADRAG_API_KEY", "OPENAI_API_KEY", "HF_TOKEN")
_DETAIL_LENGTH = 300
# Servers without keys are often given "EMPTY" or "none"; such words may stand in a reply and are no secret.
_SHORTEST_SECRET = 12


@dataclass(frozen=True, slots=True)
class Spec:
    """Where a chat model is: base URLs, or none for Inference Providers; and its name, where it is given."""

    urls: tuple[str, ...]
    model: str | None

    @property
    def shown(self) -> str:
        """The place as messages may name it, without credentials and query."""
        return ", ".join(shown_url(url) for url in self.urls) or "Inference Providers"


def parse_spec(text: str) -> Spec:
    """Read a chat model's spec.

    Args:
        text: ``http://host:port/v1#model``, ``http://a/v1,http://b/v1#model``, ``http://host:port/v1`` or
            ``provider:MODEL``.

    Returns:
        The spec; ``model`` is None where the text names none.

    Raises:
        QuadragError: for any other text.
    """
    forms = "expected http://host:port/v1#model or provider:MODEL"
    if text.startswith("provider:"):
        name = text.removeprefix("provider:").strip()
        if not name:
            raise QuadragError(f"model spec {text!r} names no model; {forms}")
        return Spec((), name)
    bases, _, model = text.partition("#")
    urls = tuple(url.strip().rstrip("/") for url in bases.split(",") if url.strip())
    if not urls:
        raise QuadragError(f"model spec {text!r} names no server; {forms}")
    for url in urls:
        try:
            parts = urlsplit(url)
            good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            good = False
        if not good:
            raise QuadragError(f"{shown_url(url)!r} in the model spec is not a base URL; {forms}")
    return Spec(urls, model.strip() or None)


def models_url(base: str) -> str:
    """Return the address of a server's model list; base URLs are completed as the inference client does."""
    parts = urlsplit(base)
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    if not path.endswith("/v1"):
        path += "/v1"
    return urlunsplit(parts._replace(path=path + "/models", fragment=""))


def shown_url(url: str) -> str:
    """Return a URL without user name, password, query and fragment."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.rpartition("@")[2]
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


@dataclass(frozen=True, slots=True)
class Keys:
    """The key in use with the variable it came from, and every value that may not be shown."""

    value: str | None = field(repr=False)
    variable: str | None
    secrets: tuple[str, ...] = field(repr=False)

    def hide(self, text: str) -> str:
        """Return the text with every key in it replaced by ``***``."""
        for secret in self.secrets:
            if secret in text:
                text = text.replace(secret, "***")
        return text

    def line(self, text: str) -> str:
        """Return the text as one line for a message: keys hidden, blanks joined, 300 characters at most."""
        joined = re.sub(r"\s+", " ", self.hide(text)).strip()
        return joined if len(joined) <= _DETAIL_LENGTH else joined[: _DETAIL_LENGTH - 1] + "…"


def find_keys(spec: Spec) -> Keys:
    """Find the key for a spec in the environment.

    Args:
        spec: where the model is. Inference Providers take Hugging Face tokens alone, so there the first
            variable that holds one counts, then the token of the user's own login.

    Returns:
        The key, or None where there is none; it is then not looked for elsewhere, and no other token is sent.
    """
    found = [(name, value) for name in KEY_VARIABLES if (value := os.environ.get(name, "").strip())]
    secrets = {value for _, value in found if len(value) >= _SHORTEST_SECRET}
    secrets.update(password for url in spec.urls if (password := urlsplit(url).password))
    if not spec.urls:
        found = [(name, value) for name, value in found if value.startswith("hf_")]
        if not found:
            from huggingface_hub import get_token

            token = get_token()
            if token:
                found = [("the saved login", token)]
                secrets.add(token)
    first: tuple[str | None, str | None] = found[0] if found else (None, None)
    # Longest first: a key that begins with another one must not leave its end behind.
    return Keys(first[1], first[0], tuple(sorted(secrets, key=len, reverse=True)))
