"""The `evaluate` modules, one folder per metric; they are loaded by path and published as they are."""
