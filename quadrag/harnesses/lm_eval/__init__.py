"""The tasks for lm-eval, which reads the YAML files of this folder; `make tasks` writes them."""
