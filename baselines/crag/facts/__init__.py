"""Facts of the mock knowledge graph for a question, as lines of text, a file for each domain."""
