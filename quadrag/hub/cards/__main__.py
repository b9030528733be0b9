"""``python -m quadrag.hub.cards``: rewrite the cards of a folder, or with ``--check`` name those that would change."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from quadrag import catalogue
from quadrag.errors import QuadragError
from quadrag.hub.cards.render import render
from quadrag.paths import room
from quadrag.printing import write
from quadrag.records import write_text


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite the cards of a folder, or say which would change.

    Returns:
        0; with ``--check`` 1 where a card is not as it would be rendered; 2 where one cannot be rendered.
    """
    parser = argparse.ArgumentParser(prog="python -m quadrag.hub.cards", description="Render the dataset cards.")
    parser.add_argument("folder", nargs="?", type=Path, help="of NAME.md and NAME.yaml (default: hub_cards)")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where a card would change")
    given = parser.parse_args(arguments)
    status = 0
    try:
        folder = given.folder or room("hub_cards")
        for benchmark in catalogue.benchmarks():
            path = folder / f"{benchmark}.md"
            try:
                card = path.read_text(encoding="utf-8")
            except (OSError, ValueError) as error:
                raise QuadragError(f"{path} cannot be read ({error}); expected the card of {benchmark}") from None
            text = render(benchmark, card, folder)
            if text == card:
                continue
            if given.check:
                write(f"{path} is not in step with the builder of {benchmark}; run `make cards`", file=sys.stderr)
                status = 1
            else:
                write_text(path, text)
                write(f"{path}: rewritten")
    except QuadragError as error:
        write(error, file=sys.stderr)
        return 2
    return status


if __name__ == "__main__":
    sys.exit(main())
