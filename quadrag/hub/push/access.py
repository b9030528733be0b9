"""Who asks the Hub, and whether that token may write to an organisation: as far as the Hub tells before one tries."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from quadrag.errors import QuadragError
from quadrag.hub.client import LOG_IN, Hub, hub_errors

_WRITERS = ("admin", "write")


class Access(NamedTuple):
    """Whose token it is, whether it may write (None: that cannot be told), and why."""

    user: str | None
    may: bool | None
    why: str


def ask_access(hub: Hub, org: str) -> Access:
    """Ask the Hub whether the token may write to an organisation or a user's own namespace.

    Raises:
        QuadragError: there is no such organisation or user, the token is refused, or the Hub cannot be asked.
    """
    if hub.token is None:
        _check_exists(hub, org)
        return Access(None, False, f"there is no token: {LOG_IN}")
    from huggingface_hub.errors import HfHubHTTPError

    with hub_errors("asking who the token belongs to at", hub.endpoint):
        try:
            user = whoami(hub)
        except HfHubHTTPError as error:
            # The Hub answers this one seldom; what it would say shows when one writes.
            if (status := error.response.status_code) != 429 and status < 500:
                raise
            return Access(None, None, f"the Hub answered {status} when asked who the token belongs to")
    name = user["name"]
    token = (user.get("auth") or {}).get("accessToken") or {}
    role = _find_role(user, org)
    if role is None and name != org:
        _check_exists(hub, org)
        return Access(name, False, f"{name} is no member of {org}: take a token of a member with write access")
    if token.get("role") == "read":
        return Access(name, False, f"the token of {name} can only read: take one with write access to {org}")
    if token.get("role") == "fineGrained" and not _is_granted(token, org):
        return Access(name, None, f"the fine-grained token of {name} names no right to write to {org}")
    if name == org:
        return Access(name, True, "its own namespace")
    if role == "read":
        return Access(name, False, f"{name} can only read in {org}: ask there for the role write")
    if role in _WRITERS:
        return Access(name, True, f"role {role}")
    return Access(name, None, f"role {role} in {org}, which may do so in some repositories alone")


def whoami(hub: Hub) -> dict[str, Any]:
    """Ask whose token it is, within `hub_errors`.

    Returns:
        The Hub's own form: a ``name`` at least; ``orgs`` is a list of objects, and ``auth`` an object, where given.

    Raises:
        ValueError: the answer is of another form.
    """
    user: Any = hub.api.whoami()
    if isinstance(user, dict) and isinstance(user.get("name"), str):
        orgs, auth = user.get("orgs") or [], user.get("auth") or {}
        token = (auth.get("accessToken") or {}) if isinstance(auth, dict) else None
        if isinstance(token, dict) and isinstance(orgs, list) and all(isinstance(one, dict) for one in orgs):
            return user
    raise ValueError("it does not say whose the token is")


def _find_role(user: Mapping[str, Any], org: str) -> str | None:
    """Return a user's role in an organisation; None where it is no member."""
    for one in user.get("orgs") or ():
        if one.get("name") == org:
            return str(one.get("roleInOrg") or "unknown")
    return None


def _is_granted(token: Mapping[str, Any], org: str) -> bool:
    """Whether a fine-grained token lists the right to write to all of an organisation's repositories."""
    return any(
        (one.get("entity") or {}).get("name") == org and "repo.write" in (one.get("permissions") or ())
        for one in (token.get("fineGrained") or {}).get("scoped") or ()
    )


def _check_exists(hub: Hub, org: str) -> None:
    """Raise where the Hub has neither an organisation nor a user of this name."""
    from huggingface_hub.errors import HfHubHTTPError

    for ask in (hub.api.get_organization_overview, hub.api.get_user_overview):
        with hub_errors("looking up", org):
            try:
                ask(org)
                return
            except HfHubHTTPError as error:
                if error.response.status_code != 404:
                    raise
    raise QuadragError(
        f"there is no organisation or user {org!r} at {hub.endpoint}; create it there, or correct the name"
    )
