"""Judges held against people: label sets, verdicts, certificates, and scores corrected with either.

A certificate says how well a judge, with a metric's own prompt, agrees with people on a label set. `labels` and `sets`
say what is held against it, `verdicts` and `asking` what the judge said, `figures` what that comes to. No judge is
opened here, and no score of a run is changed.
"""
