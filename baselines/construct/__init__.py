"""Benchmarks made of one's own documents, by the recipes that the four papers describe.

`documents` reads what is there and lets copies go, `steps` runs a recipe step by step, each with a file of its own,
`asking` puts questions to a model and reads what comes back, `held` holds what was made against its source. A recipe is
a folder beside them, named as its benchmark; `recipe` says what it consists of. In `review` people grade it.
"""
