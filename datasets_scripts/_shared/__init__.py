"""What the dataset scripts share, once; in a script's folder as a relative link, as ``../_shared/reading.py``."""
