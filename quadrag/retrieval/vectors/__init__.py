"""Vectors of passages: exact search, and indexes that look at a part of them, faiss and Milvus."""
