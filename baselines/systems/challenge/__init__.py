"""A model file of the CRAG challenge, run as it is in a process of its own.

Nothing here knows how its answers are judged.
"""
