"""Benchmarks and metrics to the Hub: what is to be there, what is there, the difference, and sending it."""
