"""From a corpus to the passages of a query: chunks, indexes, fusion, reranking, the registry of retrievers."""
