"""Where quadrag keeps what it may reuse, and where its published leaves lie.

It creates nothing; whoever writes into a folder makes it.
"""

import os
from importlib.util import find_spec
from pathlib import Path

from quadrag.errors import QuadragError


def cache_dir() -> Path:
    """Return the user's cache folder: ``QUADRAG_CACHE``, else ``XDG_CACHE_HOME/quadrag``, else ``~/.cache/quadrag``."""
    named = os.environ.get("QUADRAG_CACHE")
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quadrag"


def cache_setting(place: Path) -> str:
    """Return the setting by which the cache that a place is in can be another one, and what it is now; "" elsewhere."""
    above = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    hub = Path(os.environ.get("HF_HOME") or above / "huggingface")
    named = [(name, os.environ.get(name)) for name in ("HF_DATASETS_CACHE", "HF_MODULES_CACHE", "HF_EVALUATE_CACHE")]
    caches = {"QUADRAG_CACHE": cache_dir(), **{name: Path(path) for name, path in named if path}, "HF_HOME": hub}
    place = place.absolute()
    for name, cache in caches.items():
        cache = cache.expanduser().absolute()
        if place == cache or cache in place.parents or place in cache.parents:
            return f"{name} (now {cache})"
    return ""


def room(name: str) -> Path:
    """Return the folder of a room of leaves: ``metrics``, ``datasets_scripts``, ``baselines`` or ``hub_cards``.

    Raises:
        QuadragError: the installation lacks the room, as when ``quadrag/`` was copied out of its distribution.
    """
    spec = find_spec(f"quadrag.{name}")
    if spec is None or not spec.submodule_search_locations:
        raise QuadragError(f"this installation lacks quadrag.{name}; install quadrag again with pip")
    return Path(next(iter(spec.submodule_search_locations)))
