"""Reference RAG baselines: how a question is answered, judged and reported, a room for each step and each benchmark."""
