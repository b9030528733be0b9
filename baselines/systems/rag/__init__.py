"""A RAG service of the user's own: how it is asked, how it is reached, how its replies are read.

What its retrieval is worth is `scoring`'s work.
"""
