"""Files of answers that others made, a user or a harness: how they are read, and scored as a run."""
