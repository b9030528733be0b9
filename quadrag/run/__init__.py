"""One run and many: the folder of a run, its stages, recipes, campaigns, and files of answers made elsewhere.

What a table looks like is not decided here.
"""
