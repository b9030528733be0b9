"""Model specs, ``http://host:port/v1#model`` or ``provider:MODEL``: where a model is, and how that may be named."""

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from quadrag.errors import QuadragError

PROVIDERS = "Inference Providers"
_VERSION = re.compile(r"/v\d\w*(/|$)")
_USER = re.compile(r"(\w+://)[^/\s]*@")
_QUERY = re.compile(r"\?[^#\s]*")


@dataclass(frozen=True, slots=True)
class Spec:
    """Where a chat model is: a base URL, or None for Inference Providers; and its name, where it is given."""

    url: str | None = field(repr=False)
    model: str | None

    @property
    def shown(self) -> str:
        """The place as messages may name it."""
        return shown_url(self.url) if self.url else PROVIDERS


def parse_spec(text: str) -> Spec:
    """Read a chat model's spec; its ``model`` is None where the text names none."""
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


def page_url(base: str, page: str) -> str:
    """Return the address of a server's page, as ``models``, below ``/v1`` where the base URL names no version."""
    parts = urlsplit(base)
    path = parts.path.rstrip("/").removesuffix("/completions").removesuffix("/chat")
    if not _VERSION.search(path) and "version=" not in parts.query:
        path += "/v1"
    return urlunsplit(parts._replace(path=f"{path}/{page}", fragment=""))


def without_user(url: str) -> str:
    """Return a URL as it is asked, without user name and password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def hide_user(text: str) -> str:
    """Return a text without the user names and passwords of addresses in it."""
    return _USER.sub(r"\1", text)


def shown_url(url: str) -> str:
    """Return an address as it may be shown, without user name, password and query."""
    return _QUERY.sub("", hide_user(url))
