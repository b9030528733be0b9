"""The knowledge graph's 38 functions, as methods of one object on one file.

Each returns what upstream's server puts under ``result``. Upstream's errors are exceptions here (its server answers
500), except in sports, where they are None. What a question could not yet know is hidden by
`clock.py`.
"""

from . import encyclopedia, finance, movie, music, sports

PARTS = (*encyclopedia.PARTS, *movie.PARTS, *finance.PARTS, *music.PARTS, *sports.PARTS)


class Graph(encyclopedia.Encyclopedia, movie.Movies, finance.Finances, music.Music, sports.Sports):
    """A built graph, opened for reading: ``Graph("kg.sqlite").open_get_entity("Florida")``; for several threads."""

    parts = PARTS
