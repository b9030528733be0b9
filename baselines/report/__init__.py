"""The tables of one run, of all runs of a paper, of runs compared; the page that shows them.

It reads finished runs and computes nothing but differences. What is decided by a benchmark's name stands in its room.
"""
