"""What is said of differences in words: verdicts, what a table cannot say, slices, error texts, rankings."""
