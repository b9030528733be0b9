"""Where quadrag keeps what it may reuse, and where its published leaves lie.

It creates nothing; whoever writes into a folder makes it.
"""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def cache_dir() -> Path:
    """Return the user's cache folder: ``QUADRAG_CACHE``, else ``XDG_CACHE_HOME/quadrag``, else ``~/.cache/quadrag``."""
    named = os.environ.get("QUADRAG_CACHE")
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quadrag"


def room(name: str) -> Path:
    """Return the folder of a room of leaves: ``metrics``, ``datasets_scripts``, ``baselines`` or ``hub_cards``."""
    spec: Any = find_spec(f"quadrag.{name}")
    return Path(next(iter(spec.submodule_search_locations)))


def name_place(text: str) -> str:
    """Return what a file or a folder is called, wherever it lies; what names none that is here, as it is."""
    place = Path(text).expanduser()
    return place.resolve().name if place.exists() else text
