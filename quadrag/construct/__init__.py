"""Benchmarks made of one's own documents, by the recipes that the four papers describe."""
