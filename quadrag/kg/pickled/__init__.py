"""Upstream's pickles read as data, in a limited process of their own: nothing in them is ever run."""
