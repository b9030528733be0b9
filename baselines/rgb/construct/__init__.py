"""RGB's recipe: questions on news with passages that answer them, and passages that do not."""
