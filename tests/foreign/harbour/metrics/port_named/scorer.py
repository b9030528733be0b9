"""Whether an accepted port is named, and how many words the answer has."""

from typing import Any

from quadrag.metrics._shared.scoring import Cells, Item, Scorer, strings


class PortNamed(Scorer):
    """One value an answer, by the answer alone."""

    NAME, VERSION = "port_named", "1.0.0"
    KEYS = ("port_named", "ports")

    @staticmethod
    def reference(value: Any, name: str) -> list[str]:
        """Return the accepted ports."""
        return strings(value, name)

    def cells(self, item: Item, profile: str) -> Cells:
        """Return 1 where an accepted port stands in the answer, and how many of them do."""
        if item["prediction"] is None:
            return dict.fromkeys(self.KEYS, item["state"])
        named = sum(port.lower() in item["prediction"].lower() for port in item["reference"])
        return {"port_named": float(named > 0), "ports": float(named)}


SCORER = PortNamed
