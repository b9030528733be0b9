"""Runs side by side at a glance: two with a few differences, three or more with the one that leads, a line each."""
