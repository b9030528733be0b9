"""What several metrics share, once; in a metric's folder as a relative link, `tally.py -> ../_shared/tally.py`.

`module` is what every metric's class is made of: options, documentation, the mixin. `tally` checks columns, asks judges
and averages; `slots` fills a judge's instructions; `page` is the page of every Space. The others serve two metrics or
more. What one metric alone needs lies in its own folder, and nothing here knows which metrics there are.
`evaluate.load` of a folder follows links; the sdist, the wheel and whatever is published hold plain files.
"""
