"""The Hub: exported datasets, their cards, pushed repositories, results on models' pages.

`quadrag.hub.client` alone opens a client of it.
"""
