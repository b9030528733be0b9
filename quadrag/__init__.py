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
    from quadrag.api.compare import Comparison as Comparison
    from quadrag.api.compare import Difference as Difference
    from quadrag.api.compare import compare as compare
    from quadrag.api.evaluate import corpus as corpus
    from quadrag.api.evaluate import evaluate as evaluate
    from quadrag.api.evaluate import questions as questions
    from quadrag.api.result import Evaluation as Evaluation
    from quadrag.api.result import Score as Score
    from quadrag.api.result import result as result
    from quadrag.errors import QuadragError as QuadragError
    from quadrag.records import Passage as Passage
    from quadrag.systems.own import OpenQuestion as OpenQuestion

__version__ = "0.1.0"
_PLACES = {
    "Comparison": "api.compare",
    "Difference": "api.compare",
    "Evaluation": "api.result",
    "OpenQuestion": "systems.own",
    "Passage": "records",
    "QuadragError": "errors",
    "Score": "api.result",
    "compare": "api.compare",
    "corpus": "api.evaluate",
    "evaluate": "api.evaluate",
    "questions": "api.evaluate",
    "result": "api.result",
}
__all__ = [*_PLACES]

if not Path(__file__).with_name("baselines").is_dir():
    # A checkout on the path: the rooms that an installation maps into the package lie beside it.
    __path__.append(str(Path(__file__).parents[1]))


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is asked for."""
    if name not in _PLACES:
        raise AttributeError(f"module 'quadrag' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    return getattr(import_module(f"quadrag.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    """List what there is, loaded or not."""
    return sorted({*globals(), *__all__})
