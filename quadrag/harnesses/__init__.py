"""The benchmarks inside other evaluation harnesses, each of which is optional.

`examination` is what both share: questions, messages, scores. `lm_eval` and `inspect` are loaded by the harness;
`task_files` writes what lm-eval reads from disk.
"""
