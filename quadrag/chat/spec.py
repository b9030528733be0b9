"""Model specs, ``http://host:port/v1#model`` or ``provider:MODEL``: where a model is, and how that may be named."""

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from quadrag.errors import QuadragError

_MODEL_ALONE = re.compile(r"(?:openai[:/])?([\w-][\w.-]*)", re.ASCII)  # as other tools name one: gpt-4o, openai:gpt-4o
_VERSION = re.compile(r"/v\d\w*(/|$)")
_SECOND = re.compile(r",\s*https?://", re.IGNORECASE)
PROVIDERS = "Inference Providers"


@dataclass(frozen=True, slots=True)
class Spec:
    """Where a chat model is: a base URL, or None for Inference Providers; and its name, where it is given."""

    url: str | None = field(repr=False)
    model: str | None

    @property
    def shown(self) -> str:
        """The place as messages may name it, without credentials and query."""
        return shown_url(self.url) if self.url else PROVIDERS


def parse_spec(text: str) -> Spec:
    """Read a chat model's spec; its ``model`` is None where the text names none."""
    forms = "expected http://host:port/v1#model or provider:MODEL"
    if text.startswith("provider:"):
        name = text.removeprefix("provider:").strip()
        if not name:
            raise QuadragError(f"model spec {text!r} names no model; {forms}")
        return Spec(None, name)
    if named := _MODEL_ALONE.fullmatch(text.strip()):
        raise QuadragError(
            f"model spec {text!r} names a model and not where it is served; expected "
            f"https://api.openai.com/v1#{named[1]}, or http://host:port/v1#{named[1]} of another server"
        )
    base, _, model = text.partition("#")
    url = base.strip().rstrip("/")
    if not url:
        raise QuadragError(f"model spec {text!r} names no server; {forms}")
    if second := _SECOND.search(url):
        first = shown_url(url[: second.start()])
        raise QuadragError(f"{first} and another address; type one: vLLM and TGI have routers for several servers")
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        # Of what is no URL nobody knows where its password ends.
        shown = text.rpartition("@")[2].partition("?")[0]
        raise QuadragError(f"{shown!r} in the model spec is not a base URL; {forms}")
    if parts.netloc.endswith(":"):
        raise QuadragError(
            f"{shown_url(url)!r} has a colon and no port; type the port behind it, as "
            f"{parts.scheme}://{parts.hostname}:8080{parts.path}, or leave the colon out"
        )
    return Spec(url, model.strip() or None)


def page_url(base: str, page: str) -> str:
    """Return the address of a server's page, as ``models``, below ``/v1`` where the base URL names no version."""
    parts = urlsplit(base)
    path = parts.path.rstrip("/").removesuffix("/completions").removesuffix("/chat")
    if not _VERSION.search(path) and "version=" not in parts.query:
        path += "/v1"
    return urlunsplit(parts._replace(path=f"{path}/{page}", fragment=""))


def without_user(url: str) -> str:
    """Return a URL without user name and password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def shown_url(url: str) -> str:
    """Return a URL without user name, password, query and fragment."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.rpartition("@")[2].partition("?")[0]
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
