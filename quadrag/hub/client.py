"""The only place that opens a client of the Hub, and what its failures are in one line each.

The client itself finds endpoint and token: ``HF_ENDPOINT``, ``HF_TOKEN``, ``hf auth login``. Importing this file loads
no network code. What is read or written there is decided in `push` and `results`.
"""

import errno
import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from quadrag.errors import QuadragError, causes, one_line

LOG_IN = "set HF_TOKEN, or run `hf auth login`"
AGAIN = "run the same command again"
_OWN_HOSTS = ("huggingface.co", "hf.co")
# To connect, and between two pieces read or written: the client has no limit of its own.
_SECONDS = {"connect": 10.0, "read": 120.0, "write": 120.0, "pool": 120.0}
_LENGTH = 300
# What this machine lacks, as room on its disk; no connection fails so.
_LOCAL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.ENOENT, errno.ENOTDIR, errno.EMFILE)


class Hub:
    """A client of the Hub.

    Attributes:
        api: the genuine ``huggingface_hub.HfApi``.
        endpoint: the address of the Hub.
        token: what it is asked with; None without one. It is shown nowhere.
    """

    def __init__(self, token: str | None = None, endpoint: str | None = None) -> None:
        """Open the client; nothing is asked yet.

        Args:
            token: in place of the one that the client finds.
            endpoint: in place of ``HF_ENDPOINT``, or of the Hub itself.

        Raises:
            QuadragError: the endpoint is no web address, or has a password in it, or the token cannot be sent.
        """
        # Before the import: the client reads the variable there, and fails.
        _check_endpoint(endpoint or os.environ.get("HF_ENDPOINT") or "https://huggingface.co")
        from huggingface_hub import HfApi, constants, get_token

        self.endpoint = (endpoint or constants.ENDPOINT).rstrip("/")
        host = _check_endpoint(self.endpoint)
        if not any(host == own or host.endswith(f".{own}") for own in _OWN_HOSTS):
            # Other servers speak LFS alone. The client reads the variable at its import, which may be over.
            os.environ["HF_HUB_DISABLE_XET"] = "1"
            constants.HF_HUB_DISABLE_XET = True
        self.token = token or get_token()
        if self.token and not (self.token.isascii() and self.token.isprintable()):
            raise QuadragError(f"{_name_token()} has a sign in it that no token has; {LOG_IN}")
        self.api = HfApi(endpoint=self.endpoint, token=self.token, library_name="quadrag")

    def __repr__(self) -> str:
        """Name the endpoint, and not the token."""
        return f"Hub({self.endpoint})"

    def read_file(self, repo: str, path: str, revision: str, kind: str | None = None) -> bytes:
        """Read a small file of a repository past all caches, within `hub_errors`."""
        with tempfile.TemporaryDirectory(prefix="quadrag-") as folder:
            found = self.api.hf_hub_download(repo, path, repo_type=kind, revision=revision, cache_dir=folder)
            return Path(found).read_bytes()


def _check_endpoint(endpoint: str) -> str:
    """Return the host of an endpoint.

    Raises:
        QuadragError: it is no web address, or one with a user name, which would be sent in place of the token.
    """
    try:
        parts = urlsplit(endpoint)
        host = parts.hostname
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        shown = re.sub(r"[^/]*@", "***@", endpoint)
        raise QuadragError(f"HF_ENDPOINT is {shown!r}; expected http://HOST or https://HOST, or leave it out")
    if "@" in parts.netloc:
        bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        raise QuadragError(
            f"HF_ENDPOINT has a user name or a password in it, and the Hub takes a token; expected {bare}, and {LOG_IN}"
        )
    return host


@contextmanager
def hub_errors(doing: str, repo: str) -> Iterator[None]:
    """Turn whatever fails in the client, within this block, into one line; keep the client quiet meanwhile.

    Args:
        doing: what is being done, as ``reading``.
        repo: what it is done to, as ``ORG/NAME``.

    Raises:
        QuadragError: what was being done, what the Hub said, and what to do. Errors of our own and interrupts go
            through as they are.
    """
    from huggingface_hub import errors, get_session

    session = get_session()
    asked = [hook for hook in session.event_hooks["request"] if hook is not _limit]
    session.event_hooks = {**session.event_hooks, "request": [*asked, _limit]}
    failures = (getattr(errors, "HTTPError"), OSError, ValueError, RuntimeError, EOFError)  # noqa: B009
    try:
        with _quiet(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of cards that could have more in their header
            yield
    except QuadragError:
        raise
    except failures as error:
        raise QuadragError(f"{doing} {repo}: {_explain(error)}") from None
    except (TypeError, KeyError, AttributeError) as error:
        # An answer of another form, as of a proxy that wants a login, trips the client; other slips are no answers.
        if not _find_module(error).startswith(("huggingface_hub", "httpx")):
            raise
        raise QuadragError(f"{doing} {repo}: {_explain(error)}") from None


def _limit(request: Any) -> None:
    """Give a request that may wait for ever a limit; some methods of the client set None over the session's."""
    given = request.extensions.get("timeout") or {}
    request.extensions["timeout"] = {name: given.get(name) or seconds for name, seconds in _SECONDS.items()}


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave progress to the caller, and what the client logs of new attempts unsaid."""
    client: Any = import_module("huggingface_hub.utils")
    before, shown = client.logging.get_verbosity(), not client.are_progress_bars_disabled()
    client.logging.set_verbosity_error()
    if shown:
        client.disable_progress_bars()
    try:
        yield
    finally:
        client.logging.set_verbosity(before)
        if shown:
            client.enable_progress_bars()


def _explain(error: BaseException) -> str:
    """Say what failed and what to do."""
    chain = list(causes(error))
    for one in chain:
        response = getattr(one, "response", None)
        if response is not None and response.status_code >= 400:
            return _explain_answer(one, response)
    names = {type(one).__name__ for one in chain}
    if "OfflineModeIsEnabled" in names:
        return "HF_HUB_OFFLINE is set, so the Hub is not asked; unset it"
    if "LocalTokenNotFoundError" in names:
        return f"there is no token; {LOG_IN}"
    cause = _cause(chain)
    if any("ConnectTimeout" in name or "ConnectError" in name for name in names):
        return f"no connection ({cause}); check the network and HF_ENDPOINT, then {AGAIN}"
    if any("Timeout" in name for name in names):
        return f"no answer in {_SECONDS['read']:g} s ({cause}); what arrived is kept: {AGAIN}"
    wire = any(type(one).__module__.startswith(("httpx", "hf_xet")) for one in chain)
    for one in chain:
        if isinstance(one, OSError) and (one.filename is not None or (one.errno in _LOCAL and not wire)):
            return f"{_hide_tokens(str(one.strerror))} ({one.filename or 'on this machine'}); {AGAIN}"
    if wire or any(isinstance(one, (OSError, RuntimeError, EOFError)) for one in chain):
        return f"the connection was lost ({cause}); what arrived is kept: {AGAIN}"
    if any(type(one).__name__ == "HFValidationError" for one in chain):
        return f"{cause}; expected ORG/NAME of letters, digits, - _ and ."
    return f"the answer cannot be used ({cause}); check HF_ENDPOINT, then {AGAIN}"


def _explain_answer(error: BaseException, response: Any) -> str:
    """Say what the Hub answered and what to do."""
    sent = response.request.headers.get("authorization", "")
    status = response.status_code
    text = getattr(error, "server_message", None) or response.headers.get("X-Error-Message") or response.reason_phrase
    answer = f"the Hub answered {status} ({_hide_tokens(str(text), sent.partition(' ')[2])})"
    whose = _name_token()
    code = response.headers.get("X-Error-Code")
    if status == 401 and not sent:
        return f"{answer}; there is no token: {LOG_IN}"
    if status == 401 and code != "RepoNotFound":
        return f"{answer}; {whose} is refused: take a valid one ({LOG_IN})"
    if status == 403:
        return f"{answer}; {whose} may not do that: take one with write access there ({LOG_IN})"
    if status in (401, 404):
        return f"{answer}; it is not there, or private and not visible to {whose if sent else 'a call without a token'}"
    if status == 409:
        taken = f"the name is taken, by another push a moment ago or by a repository that {whose} cannot see"
        return f"{answer}; {taken}: {AGAIN}, or take another organisation"
    if status == 412:
        return f"{answer}; somebody changed it meanwhile: {AGAIN}"
    if status == 429:
        wait = response.headers.get("retry-after") or _read_reset(response.headers.get("ratelimit", ""))
        return f"{answer}; {f'wait {wait} s' if wait else 'wait some minutes'}, then {AGAIN}"
    if status >= 500:
        return f"{answer}; what arrived is kept: {AGAIN} later"
    return f"{answer}; correct what it names"


def _name_token() -> str:
    return "HF_TOKEN" if os.environ.get("HF_TOKEN") else "the token"


def _read_reset(header: str) -> str | None:
    """Read the seconds until a rate limit ends: ``"api";r=0;t=55``."""
    found = re.search(r"\bt=(\d+)", header)
    return found[1] if found else None


def _find_module(error: BaseException) -> str:
    """Return the name of the module that an error comes from."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return str(trace.tb_frame.f_globals.get("__name__")) if trace is not None else ""


def _cause(chain: list[BaseException]) -> str:
    """Return what lies at the bottom, in words."""
    numbers = [one.errno for one in chain if isinstance(one, OSError) and one.errno in errno.errorcode]
    if numbers:
        return os.strerror(numbers[-1] or 0)
    texts = [text for one in chain if (text := _hide_tokens(str(one)))]
    return texts[-1] if texts else type(chain[-1]).__name__


def _hide_tokens(text: str, secret: str = "") -> str:
    """Return a text as one line without tokens."""
    for each in {secret, os.environ.get("HF_TOKEN", "")} - {""}:
        text = text.replace(each, "***")
    return one_line(re.sub(r"\bhf_\w{8,}", "***", text), _LENGTH)
