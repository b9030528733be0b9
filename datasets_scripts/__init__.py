"""The dataset loading scripts, one folder per benchmark; they are loaded by path and published as they are."""
