"""The tasks for lighteval, which loads `tasks.py` and `model.py` by their paths."""
