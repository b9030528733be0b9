"""What the data of a benchmark hold, counted: questions by their groups, lengths of texts, the paper's numbers beside.

What is counted of a benchmark stands in its own room, `statistics.py` there. Nothing is fetched and nothing changed.
"""
