"""A sentence as HTML: commands in it, and what no line may part."""

import html
import re


def mark_code(text: str) -> str:
    """Write a text as HTML: what stands between backticks, as a command, is code; a p stays with its number."""
    whole = re.sub(r"\bp ((?:< )?)(?=0\.\d)", lambda found: found[0].replace(" ", "\u00a0"), text)
    return re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(whole))
