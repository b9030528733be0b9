"""Means with their intervals, and tests of two runs over the same questions."""

from .means import *  # noqa: F403  # all that these two define without an underscore is public
from .paired import *  # noqa: F403
