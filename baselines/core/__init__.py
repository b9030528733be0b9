"""What every other room here builds on: the record of a benchmark, a task, the record of a run, slots of prompts.

Nothing is read from a corpus, sent to a model or scored here.
"""
