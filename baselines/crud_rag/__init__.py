"""CRUD-RAG (Lyu et al. 2024): its record, prompts, published figures, tables and recipes."""
