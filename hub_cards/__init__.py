"""The dataset cards of the Hub repositories."""
