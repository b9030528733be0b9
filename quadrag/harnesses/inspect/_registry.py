"""What Inspect loads to know our tasks, scorers and metrics by name; the entry point ``inspect_ai`` names this file."""

from quadrag.harnesses.inspect import metrics, scorers, tasks

__all__ = ["metrics", "scorers", "tasks"]
