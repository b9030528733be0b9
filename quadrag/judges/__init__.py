"""Judges held against people: label sets, verdicts, certificates, and scores corrected with either.

No judge is opened here, and no score of a run is changed.
"""
