"""The Python entrance: questions of a benchmark, one's own system measured on them, two measurements compared.

Its names are those of `quadrag` itself, which imports this room when one of them is used. It imports the baselines.
"""
