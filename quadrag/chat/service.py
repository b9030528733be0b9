"""Where a model is served: the service's name in the ledger, the models it lists, the other services with replies."""

from collections.abc import Callable, Collection, Sequence

from quadrag.chat.keys import Keys
from quadrag.chat.ledger import Ledger
from quadrag.chat.spec import Spec, without_user
from quadrag.errors import NotServed, QuadragError

_LISTED = 20  # names of models in a message


def name_service(spec: Spec, find_keys: Callable[[Spec], Keys]) -> str:
    """Name servers by their addresses, whatever their order, less what is secret."""
    if not spec.urls:
        return spec.shown
    hide = find_keys(spec).hide
    return ", ".join(sorted(hide(without_user(url)) for url in spec.urls))


def list_names(names: Sequence[str]) -> str:
    """Write names of models for a message, the first of many."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more or "none"


def check_listed(listed: Sequence[str], model: str, served_as: str | None, place: str, option: str) -> None:
    """Hold a model's name against the list of what serves it; an empty one says nothing.

    Args:
        listed: the names.
        model: the one to be asked.
        served_as: the model that answers to it, as the user says.
        place: the server, as messages name it.
        option: the one by which users say `served_as`.

    Raises:
        NotServed: the list has neither.
        QuadragError: it has the model under its own name too.
    """
    serves = f"{place} serves {list_names(listed)}"
    if served_as is not None and model in listed:
        raise QuadragError(f"{serves}, so {model} is served by itself; leave out {option}")
    if listed and (served_as or model) not in listed:
        way = f"or, where it answers to any name, say with {option} which of them does"
        raise NotServed(f"{serves}, not {served_as or model}; name one of these behind the address's #, {way}")


def name_others(ledger: Ledger | None, keys: Collection[bytes], service: str, role: str) -> str:
    """Name the other services that a ledger has replies of to some calls, and the option that takes each.

    Args:
        ledger: where replies are kept.
        keys: of the calls.
        service: the one that is asked.
        role: what its options begin with, as ``judge-``.

    Returns:
        The names, or "".
    """
    found = {} if ledger is None else ledger.services(keys)
    found.pop(service, None)
    ways = {name: f"--{role}service '{name}'" if name else "--reuse-unnamed" for name in found}
    return ", ".join(f"{name or 'no known service'} ({count}; {ways[name]})" for name, count in found.items())
