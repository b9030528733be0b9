"""Models without a chat interface: a chat becomes a prompt by a template, and completions of it are asked for."""
