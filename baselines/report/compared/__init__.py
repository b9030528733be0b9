"""Runs side by side: what they share, by how much they differ, whether that is more than chance, and that in words."""
