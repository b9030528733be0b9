"""Chinese for what is English in the code: the phrases, how one is found for a text, and the signs between words."""
