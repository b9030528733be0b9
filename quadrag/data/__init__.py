"""Datasets: their files, found or downloaded and verified; their builders; the Hugging Face caches filled from them.

What is sent to the Hub is `quadrag.hub`'s work.
"""
