"""quadrag: four published RAG benchmarks, their metrics and reference baselines, in one place.

``quadrag.evaluate`` measures one's own system, ``quadrag.questions`` and ``quadrag.corpus`` are what it is measured
with, ``quadrag.result`` reads a measurement back, ``quadrag.compare`` holds two or more against each other. Importing
this package loads nothing heavy; every submodule imports what it needs when it is used.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quadrag.api.evaluate import corpus, evaluate, questions
    from quadrag.api.result import Comparison, Difference, Evaluation, Score, compare, result
    from quadrag.errors import QuadragError
    from quadrag.records import Passage
    from quadrag.systems.own import OpenQuestion

__version__ = "0.1.0"
__all__ = [
    "Comparison",
    "Difference",
    "Evaluation",
    "OpenQuestion",
    "Passage",
    "QuadragError",
    "Score",
    "compare",
    "corpus",
    "evaluate",
    "questions",
    "result",
]
_PLACES = {
    **dict.fromkeys(("Comparison", "Difference", "Evaluation", "Score", "compare", "result"), "api.result"),
    **dict.fromkeys(("corpus", "evaluate", "questions"), "api.evaluate"),
    **{"QuadragError": "errors", "Passage": "records", "OpenQuestion": "systems.own"},
}

if not Path(__file__).with_name("baselines").is_dir():
    # A checkout on the path: the rooms that an installation maps into the package lie beside it.
    __path__.append(str(Path(__file__).parents[1]))


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'quadrag' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    return getattr(import_module(f"quadrag.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
