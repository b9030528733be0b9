"""What answers a question: the extractive baseline, chat models, a RAG service, a model file of the CRAG challenge.

Nothing is scored here, and no file of a run is written.
"""
