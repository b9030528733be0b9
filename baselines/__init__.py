"""Reference RAG baselines: how a question is answered, judged and reported, one file per stage."""
