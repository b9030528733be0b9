"""What two runs differ by: metric by metric on the questions that both have, over all splits, with p of a family."""
