"""CRUD-RAG's recipe: six tasks over Chinese news, and the corpus that they search."""
