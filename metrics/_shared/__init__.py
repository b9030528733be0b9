"""What several metrics share, once; in a metric's folder as a relative link, `tally.py -> ../_shared/tally.py`."""
