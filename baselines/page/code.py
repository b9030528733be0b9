"""Commands in a sentence as HTML."""

import html
import re


def mark_code(text: str) -> str:
    """Write a text as HTML: what stands between backticks, as a command, is code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(text))
