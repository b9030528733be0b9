"""Addresses, keys and passwords: where a model is, which secrets are sent there, and that none is shown.

A secret is taken out of all that comes from a server before it is kept, and out of messages and logs. One that is short
stays in a reply's own text, where it may stand by chance: its score would be another without it.
"""

import base64
import json
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, unquote_plus, urlsplit, urlunsplit

from quadrag.errors import QuadragError, one_line

PROVIDERS = "Inference Providers"
_VERSION = re.compile(r"/v\d\w*(/|$)")
_USER = re.compile(r"(\w+://)[^/\s]*@")
_PATH = re.compile(r"/|\.{1,2}/|~/|[A-Za-z]:/")
_QUERY = re.compile(r"\?[^#\s]*")
KEY_VARIABLES = ("QUADRAG_API_KEY", "OPENAI_API_KEY", "HF_TOKEN")
HEADER_VARIABLE = "QUADRAG_API_KEY_HEADER"  # names the header for a key that is not sent as a bearer, as `api-key`
# Servers without keys are often given "EMPTY" or "none"; what is shorter may stand in any reply.
_LONG = 12
# Of a URL: hiding anything shorter would make messages unreadable, and tell by its gaps what it was.
_SHORTEST_PART, _LONG_PART = 4, 20
_TELLING_NAME = re.compile(r"key|token|secret|sig|pass|pwd|auth|code|cred", re.IGNORECASE)
_known: set[str] = set()


@dataclass(frozen=True, slots=True)
class Spec:
    """Where a chat model is: a base URL, or None for Inference Providers; and its name, where it is given."""

    url: str | None = field(repr=False)
    model: str | None

    @property
    def shown(self) -> str:
        return shown_url(self.url) if self.url else PROVIDERS


def parse_spec(text: str) -> Spec:
    if text.startswith("provider:") and (name := text.removeprefix("provider:").strip()):
        return Spec(None, name)
    base, _, model = text.partition("#")
    url = base.strip().rstrip("/")
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        good = good and not parts.netloc.endswith(":") and "://" not in url.partition("://")[2]
    except ValueError:
        good = False
    if not good:
        # Of what is no URL nobody knows where its password ends.
        shown = text.rpartition("@")[2].partition("?")[0]
        forms = "expected http://host:port/v1#model or provider:MODEL"
        raise QuadragError(f"the model spec {shown!r} is not the address of one server; {forms}")
    return Spec(url, model.strip() or None)


def name_served(model: str) -> str:
    """Return a model's name as it is shown: the last part of a path on its server; `org/model` stays whole."""
    path = model.replace("\\", "/")
    is_path = path != model or _PATH.match(path) or path.endswith(".gguf")
    return path.rstrip("/").rpartition("/")[2] or model if is_path else model


def page_url(base: str, page: str) -> str:
    """Return the address of a server's page, as ``models``, below ``/v1`` where the base URL names no version."""
    parts = urlsplit(base)
    path = parts.path.rstrip("/").removesuffix("/completions").removesuffix("/chat")
    if not _VERSION.search(path) and "version=" not in parts.query:
        path += "/v1"
    return urlunsplit(parts._replace(path=f"{path}/{page}", fragment=""))


def without_user(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def hide_user(text: str) -> str:
    return _USER.sub(r"\1", text)


def shown_url(url: str) -> str:
    return _QUERY.sub("", hide_user(url))


@dataclass(frozen=True, slots=True)
class Keys:
    """What a server is sent, `headers` and `shown` as messages may name it; and every value that may not be shown."""

    secrets: Collection[str] = field(repr=False)
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    shown: str = "no key"

    def hide(self, text: str) -> str:
        # The longest first: a key that begins with another one must not leave its end behind.
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text

    def hide_in(self, row: dict[str, Any]) -> dict[str, Any]:
        # One that is short may stand there by chance.
        long = [json.dumps(secret, ensure_ascii=False)[1:-1] for secret in self.secrets if len(secret) >= _LONG]
        return dict(json.loads(Keys(long).hide(json.dumps(row, ensure_ascii=False)))) if long else row

    def line(self, text: object, longest: int = 300) -> str:
        """Return a text as one line for a message: secrets hidden, blanks joined, so many characters at most."""
        # Hidden before it is cut, which might leave half a secret, and where escapes stood within one.
        return one_line(self.hide(one_line(self.hide(str(text)))), longest)


def find_keys(spec: Spec, variables: Sequence[str] = KEY_VARIABLES) -> Keys:
    """Find what a server is sent: the login in its URL, else the key in the first of these variables.

    Inference Providers take Hugging Face tokens alone: the first variable that holds one, then the user's own login.
    """
    header = os.environ.get(HEADER_VARIABLE, "").strip()
    if header and not re.fullmatch(r"[\w-]+", header, re.ASCII):
        raise QuadragError(f"{HEADER_VARIABLE} is no name of a header; expected one as api-key, and the key elsewhere")
    environment = _read_environment()
    secrets = {key for key in environment.values() if len(key) >= _LONG} | {*_secrets_of(spec.url or "")}
    keys = {name: key for name, key in environment.items() if name in variables}
    if spec.url is None:
        from huggingface_hub import get_token

        header = ""
        keys = {name: key for name, key in keys.items() if key.startswith("hf_")}
        if not keys and (token := get_token()):
            keys = {"the saved login": token}
            secrets.add(token)
        if not keys:
            raise QuadragError(f"{PROVIDERS} want a token of Hugging Face; set HF_TOKEN to one")
    _known.update(secrets)
    name, key = next(iter(keys.items()), ("", ""))
    headers, shown = {}, f"the key in {name}" if key else "no key"
    if key:
        headers = {header: key} if header else {"authorization": f"Bearer {key}"}
    if basic := _basic_credentials(spec.url or ""):
        headers["authorization"], shown = f"Basic {basic}", "the login in the URL"
    return Keys(secrets, headers, shown)


def known_keys() -> Keys:
    """Return what this process may not show: the keys of its environment, and what came with any address so far."""
    return Keys({secret for secret in {*_read_environment().values(), *_known} if len(secret) >= _LONG})


def _basic_credentials(url: str) -> str | None:
    userinfo = urlsplit(url).netloc.rpartition("@")[0]
    user, _, password = userinfo.partition(":")
    return base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode() if userinfo else None


def _read_environment() -> dict[str, str]:
    return {name: value for name in KEY_VARIABLES if (value := os.environ.get(name, "").strip())}


def _secrets_of(url: str) -> Iterator[str]:
    """Yield what of a URL may not be shown, as it is written and as it is meant."""
    parts = urlsplit(url)
    if basic := _basic_credentials(url):
        userinfo = parts.netloc.rpartition("@")[0]
        user, _, password = userinfo.partition(":")
        yield from (basic, userinfo, unquote(userinfo))
        # A user name without a password is often a token.
        yield from (part for part in (password or user, unquote(password or user)) if len(part) >= _SHORTEST_PART)
    for pair in parts.query.split("&"):
        name, _, value = pair.partition("=")
        if len(value) >= (_SHORTEST_PART if _TELLING_NAME.search(name) else _LONG_PART):
            yield from (value, unquote_plus(value))
