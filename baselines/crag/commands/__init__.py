"""Commands that CRAG brings: its mock graph and what its pages hold."""
