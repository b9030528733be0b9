"""From answers to items, by the evaluate modules, and from items to the rows of ``scores.json``.

No value is computed here: that is the modules' work, and `quadrag.stats`'s for intervals.
"""
