"""Runs to the results on a model's page: tasks of a dataset repository, entries, notes, the pull request."""
