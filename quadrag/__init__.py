"""quadrag: four published RAG benchmarks, their metrics and reference baselines, in one place.

Importing this package loads nothing heavy; every submodule imports what it needs when it is used.
"""

__version__ = "0.1.0"
