"""The client of the Hub, which finds ``HF_ENDPOINT``, ``HF_TOKEN`` and logins itself; its failures in one line each."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from quadrag.errors import QuadragError, one_line

_LOG_IN = "set HF_TOKEN, or run `hf auth login`"
_SECONDS = 120.0  # between two pieces of an answer: the client has no limit of its own


def open_client() -> Any:
    """Return a ``huggingface_hub.HfApi``; nothing is asked yet."""
    endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    if not re.match(r"https?://[^/@]+(/|$)", endpoint):
        shown = re.sub(r"[^/]*@", "***@", endpoint)
        raise QuadragError(f"HF_ENDPOINT is {shown!r}; expected http://HOST or https://HOST, or leave it out")
    from huggingface_hub import HfApi, get_session

    get_session().timeout = _SECONDS
    return HfApi(library_name="quadrag")


@contextmanager
def hub_errors(doing: str) -> Iterator[None]:
    """Turn whatever fails in the client within this block into one line on what is done, as ``reading ORG/NAME``."""
    from huggingface_hub import errors

    try:
        yield
    except errors.LocalTokenNotFoundError:
        raise QuadragError(f"{doing}: there is no token; {_LOG_IN}") from None
    except errors.HfHubHTTPError as error:
        answer = f"{doing}: the Hub answered {error.response.status_code} ({_hide_tokens(error)})"
        if error.response.status_code in (401, 403, 404):
            raise QuadragError(f"{answer}; the token may not do that, or there is no such thing: {_LOG_IN}") from None
        raise QuadragError(f"{answer}; correct what it names, or run the same command again later") from None
    except ValueError as error:
        raise QuadragError(f"{doing}: {_hide_tokens(error)}") from None
    except (getattr(errors, "HTTPError"), OSError) as error:  # noqa: B009
        if getattr(error, "filename", None) is not None:  # of this machine's disk
            raise
        cause = _hide_tokens(error) or type(error).__name__
        raise QuadragError(f"{doing}: no connection ({cause}); check the network and HF_ENDPOINT, then again") from None


def _hide_tokens(error: Exception) -> str:
    return one_line(re.sub(r"\bhf_\w{8,}", "***", str(getattr(error, "server_message", None) or error)), 300)
