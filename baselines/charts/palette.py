"""Colours of a matrix, which are the same on light and dark pages, and how much room a text takes."""

from collections.abc import Sequence
from unicodedata import east_asian_width

# Cividis, which every kind of colour vision tells apart.
HEAT = ("#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838")
_WIDE, _NARROW = 12.0, 6.7  # pixels of a character, of 12 pixels' type


def blend(colours: Sequence[str], share: float) -> str:
    """Return the colour at a share, 0 to 1, of the way through a scale."""
    place = min(max(share, 0.0), 1.0) * (len(colours) - 1)
    first = min(int(place), len(colours) - 2)
    sides = zip(_parts(colours[first]), _parts(colours[first + 1]), strict=True)
    return "#" + "".join(f"{round(one + (other - one) * (place - first)):02x}" for one, other in sides)


def ink_on(colour: str) -> str:
    """Return black or white, whichever is read better on a colour."""
    return max(("#000000", "#ffffff"), key=lambda ink: contrast(ink, colour))


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours as WCAG defines it, 1 to 21."""
    low, high = sorted(map(_luminance, (first, second)))
    return (high + 0.05) / (low + 0.05)


def cut_text(text: str, room: int) -> tuple[str, int]:
    """Cut a text to a room in pixels; return it with the room that it takes."""
    widths = [_WIDE if east_asian_width(one) in "WF" else _NARROW for one in text]
    if sum(widths) <= room:
        return text, round(sum(widths))
    while widths and sum(widths) + _WIDE > room:
        widths.pop()
    return text[: len(widths)].rstrip() + "…", room


def _parts(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def _luminance(colour: str) -> float:
    parts = [part / 255 for part in _parts(colour)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
