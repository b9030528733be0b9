"""The Python entrance: one's own system measured on a benchmark, a run read back, runs compared.

Its names are those of `quadrag` itself, which imports this room when one of them is used.
"""
