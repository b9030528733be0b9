"""Judges held against people: label sets, certificates, and runs whose answers people label."""
