"""A judge of one's own: a model trained on labels, and measured on labels that it has not seen."""
