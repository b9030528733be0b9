"""What may be wrong with the data themselves: what a finding is, and the checks that several benchmarks share.

Which checks a benchmark has stands in its own room, `audit.py` there. Nothing is changed and nothing is judged: a
finding is mechanical, and a person confirms it or not.
"""
