"""A benchmark as a dataset repository on disk: Parquet, card and record of what was written. Nothing is sent."""
