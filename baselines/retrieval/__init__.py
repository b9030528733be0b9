"""From a corpus to the passages of a query: chunks, indexes, fusion, reranking, the registry of retrievers.

Which benchmark is searched, and how a passage is shown to a model, is decided elsewhere.
"""
