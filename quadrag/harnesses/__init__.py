"""The benchmarks inside other evaluation harnesses, each of which is optional.

`examination` is what both share: questions, messages, scores, the list of tasks. `lm_eval` and `inspect` are loaded by
the harness.
"""
