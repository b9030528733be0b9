"""A server that is asked: where it is, what goes with a request, what it is allowed. Nothing is asked here."""

from dataclasses import dataclass, field
from typing import Any

from quadrag.chat.keys import Keys, basic_credentials
from quadrag.chat.spec import shown_url, without_user

CONNECT_SECONDS = 10.0
MOST_REPLY_BYTES = 16_000_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a server is allowed.

    Attributes:
        timeout: seconds that an attempt may take altogether.
        reply_bytes: the longest body that is read, as it is when it is unpacked.
        redirects: hosts that a server may send the client on to, besides its own.
    """

    timeout: float
    reply_bytes: int = MOST_REPLY_BYTES
    redirects: frozenset[str] = frozenset()


@dataclass(eq=False, slots=True)
class Server:
    """One base URL (or Inference Providers) with its key and what it is allowed."""

    url: str | None = field(repr=False)
    keys: Keys
    bounds: Bounds

    @property
    def shown(self) -> str:
        """The URL as messages may name it."""
        return shown_url(self.url) if self.url else "Inference Providers"

    @property
    def address(self) -> str:
        """The URL to ask, without user and password: the HTTP library would show them in its log and its errors."""
        return without_user(self.url or "")

    @property
    def headers(self) -> dict[str, str]:
        """The headers that go with it: user and password of the URL, else the key, which may have its own."""
        basic, key, own = basic_credentials(self.url or ""), self.keys.value, self.keys.header
        sent = {"authorization": f"Basic {basic}" if basic else f"Bearer {key}"} if basic or (key and not own) else {}
        return {**sent, own: key} if own and key else sent

    @property
    def connect_limits(self) -> Any:
        """Limits of the HTTP library: on connecting alone, since its others are per read and cost much."""
        return (min(self.bounds.timeout, CONNECT_SECONDS), None, None, None)
