"""What several metrics share, once; in a metric's folder as a relative link, `scoring.py -> ../_shared/scoring.py`."""
