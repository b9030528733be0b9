"""What several metrics share, once; in a metric's folder as a relative link, `tally.py -> ../_shared/tally.py`.

Nothing here knows which metrics there are; what one metric alone needs lies in its own folder. `evaluate.load` of a
folder follows links; the sdist, the wheel and whatever is published hold plain files.
"""
