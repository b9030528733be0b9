"""Lines of a width."""

import pytest

from quadrag.wrapping import hang


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("", [""]),
        ("noise_0 1", ["noise_0 1"]),
        ("  answer    one two three four", ["  answer    one two", "            three four"]),
        ("  passage 1 [a] one two three", ["  passage 1 [a] one", "    two three"]),
        ("  answer    一二三四五六七", ["  answer    一二三四五", "            六七"]),
        ("  answer    一二三四'五'。六", ["  answer    一二三四", "            '五'。六"]),
    ],
)
def test_what_follows_stands_under_the_text(line, lines):
    assert hang(line, 22).split("\n") == lines
