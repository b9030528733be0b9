"""Indexes over the vectors of passages: exact search, faiss, Milvus, behind one interface."""
