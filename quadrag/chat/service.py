"""Where a model is served: the service's name in the ledger, the models it lists, the other services with replies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from quadrag.chat.keys import Keys
from quadrag.chat.ledger import Ledger
from quadrag.chat.spec import Spec, without_user
from quadrag.errors import NotServed, QuadragError
from quadrag.progress import say

if TYPE_CHECKING:
    from quadrag.chat.batch import Batch
    from quadrag.chat.calling import Alias

_LISTED = 20  # names of models in a message
_OFFERED = 3  # those among them that it says to type


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


def only_model(names: Sequence[str], place: str) -> str:
    """Return the one model that there is.

    Raises:
        QuadragError: there is none, or more than one.
    """
    if len(names) != 1:
        raise QuadragError(f"{place} holds {len(names)} models ({list_names(names)}); append #MODEL to the address")
    return names[0]


class Known:
    """What is known of a service before it is asked: its list of models, and whose replies the ledger has."""

    def __init__(self, name: str, alias: Alias, ledger: Ledger | None) -> None:
        """Take the service's name in the ledger, what the user says of it, and where replies are kept."""
        self._name, self._alias, self._ledger = name, alias, ledger
        self._warned = False  # whether it was looked for replies of other services
        self._unreached: str | None = None  # why the servers could not be reached, until that is told

    def note_unreached(self, why: str) -> None:
        """Note that the servers could not be reached; it is said once every reply is known to be kept."""
        self._unreached = why

    def tell_unreached(self) -> None:
        """Say that the servers could not be reached, and that nothing is asked of them."""
        why, self._unreached = self._unreached, None
        if why:
            say(f"{why}; all replies are kept ones")

    def check_listed(self, listed: Sequence[str], model: str, place: str) -> None:
        """Hold a model's name against the list of what serves it; an empty one says nothing.

        Raises:
            NotServed: the list has neither it nor the one that answers to it as the user says.
            QuadragError: the list has the model under its own name too.
        """
        served_as, option = self._alias.served_as, f"--{self._alias.role}served-as"
        serves = f"{place} serves {list_names(listed)}"
        if served_as is not None and model in listed:
            raise QuadragError(f"{serves}, so {model} is served by itself; leave out {option}")
        if listed and (served_as or model) not in listed:
            first, *others = listed[:_OFFERED]
            more = f" (or {', '.join(f'#{name}' for name in others)})" if others else ""
            way = f"type {place.replace(', ', ',')}#{first}{more}"
            only = f"{option} NAME is for a server that answers to any name"
            raise NotServed(f"{serves}, not {served_as or model}; {way}; {only}")

    def warn_of_others(self, missing: Collection[bytes]) -> None:
        """Say once that the ledger has replies to these calls from elsewhere."""
        told, self._warned = self._warned, True
        if told or self._ledger is None or not (others := self._find_others(missing)):
            return
        whose = "another server" if len(others) == 1 else f"{len(others)} other servers"
        what = f"{sum(others.values())} kept replies in {self._ledger.path} are of {whose} and not used"
        say(f"{what}, since this one may reply otherwise")

    def nothing_to_replay(self, model: str, batch: Batch) -> QuadragError:
        """Return the error of a replay for which the ledger has no reply."""
        path = self._ledger.path if self._ledger is not None else "of no file"
        others = self._name_others(batch.missing)
        way = f"it has those of {others}" if others else "run without replay, or as the first run was"
        lacking = f"{len(batch.missing)} of {len(batch.times)} replies of {model!r} at {self._name}"
        return QuadragError(f"the ledger {path} lacks {lacking}; {way}")

    def _name_others(self, keys: Collection[bytes]) -> str:
        """Name the other services that have replies to some calls, and the option that takes each; "" for none."""
        found = self._find_others(keys)
        option = f"--{self._alias.role}service"
        return ", ".join(f"{name} ({count}; {option} '{name}')" for name, count in found.items())

    def _find_others(self, keys: Collection[bytes]) -> dict[str, int]:
        """Count the replies to some calls that the ledger has of other services."""
        found = {} if self._ledger is None else self._ledger.services(keys)
        return {name: count for name, count in found.items() if name not in ("", self._name)}
