"""How tables are drawn: `draw.py` makes SVG of a grid, `forms.py` says which of its figures stand where.

How each kind of panel looks is in `rows.py`, `curves.py`, `matrix.py` and `dots.py`, of the parts in `layers.py`.
"""
