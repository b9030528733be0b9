"""How a table is made: cells, lines, grids, notes, the papers' printed numbers, and what a benchmark says of its own.

Which tables a paper has stands in the room of its benchmark.
"""
