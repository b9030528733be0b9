"""The mock knowledge graph that a run uses: the one of the bundled sample, and what identifies one in `run.json`."""

import hashlib
from pathlib import Path

from quadrag.data.files import digest, sample_dir
from quadrag.paths import cache_dir
from quadrag.records import dumps

GRAPH = "kg/"  # what the id of a passage from the graph begins with


def identify(path: str) -> str:
    """Identify a graph by the upstream files that went into it and by the version that built it.

    Raises:
        QuadragError: there is none, or it is another file.
    """
    from quadrag.kg.graph import Graph

    with Graph(path) as graph:
        content = hashlib.sha256(dumps([graph.meta("quadrag"), graph.sources]).encode()).hexdigest()
    return f"graph {content[:16]}"


def sample_graph() -> Path:
    """Return the graph of the bundled sample, built at its first use into the user's cache folder."""
    from quadrag import __version__
    from quadrag.kg.build import build

    source = sample_dir("crag") / "mock_api" / "cragkg"
    files = {str(path.relative_to(source)): path for path in sorted(source.rglob("*")) if path.is_file()}
    target = cache_dir() / "kg" / f"sample-{__version__}-{digest(files)[:16]}.sqlite"
    if not target.is_file():
        build(source, target)
    return target
