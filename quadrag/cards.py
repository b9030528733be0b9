"""The cards in `hub_cards/`: what in them comes from the builders is rendered, what is written by hand is kept.

``python -m quadrag.cards`` rewrites them, ``--check`` names those that would change. Rendered are the regions between
``<!-- NAME: rendered by make cards -->`` and ``<!-- /NAME -->``, and the header but for three keys. It has no key
`configs`: on the Hub that maps configs to data files, and only an export has some. `quadrag.export_card` makes its
cards from these.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quadrag import catalogue
from quadrag.card_facts import COUNTED, Facts, facts, features
from quadrag.card_regions import regions, script
from quadrag.errors import QuadragError, unknown_name
from quadrag.export_card import feature_list, size_category
from quadrag.paths import room

# What a builder calls a licence, and what the Hub does.
_LICENCES = {
    "Apache-2.0": "apache-2.0",
    "CC BY-NC 4.0": "cc-by-nc-4.0",
    "CC BY-NC-SA 4.0": "cc-by-nc-sa-4.0",
    "CC BY-SA 4.0": "cc-by-sa-4.0",
    "GFDL": "gfdl",
}
_WRITTEN = ("pretty_name", "task_categories", "tags")  # by hand
_OPENING = re.compile(r"^<!-- ([\w-]+): rendered by make cards -->$", re.MULTILINE)
_REGION = re.compile(rf"{_OPENING.pattern}\n.*?^<!-- /\1 -->$", re.MULTILINE | re.DOTALL)


def render(benchmark: str, card: str, folder: Path | None = None) -> str:
    """Bring a card in step with its builder.

    Args:
        benchmark: its name.
        card: the card's text; of its header only the keys that are written by hand count.
        folder: where `NAME.yaml` lies; None for this installation's `hub_cards`.

    Returns:
        The card with its regions and the other keys of its header rendered; the same text where nothing has changed.

    Raises:
        QuadragError: the card lacks its header, a key or a region, has a region that nobody renders or that has no
            end, or the benchmark's facts and its builder disagree.
    """
    import yaml

    known = facts(benchmark, folder)
    start, mark, rest = card.partition("---\n")
    front, end, body = rest.partition("\n---\n")
    if start or not mark or not end:
        raise QuadragError(f"the card of {benchmark} has no header; expected YAML between two lines of ---")
    try:
        header = yaml.safe_load(front)
        written = {key: header[key] for key in _WRITTEN}
    except (yaml.YAMLError, KeyError, TypeError) as error:
        said = " ".join(str(error).split())
        raise QuadragError(f"header of {benchmark}'s card ({said}); expected YAML with {', '.join(_WRITTEN)}") from None
    text = yaml.safe_dump(_header(benchmark, written, known), sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{text}---\n{_body(benchmark, body, regions(benchmark, known))}"


def _header(benchmark: str, written: dict[str, Any], known: Facts) -> dict[str, Any]:
    licences = _licences(benchmark)
    total = sum(rows.number or 0 for splits in known.rows.values() for rows in splits.values())
    return {
        "pretty_name": written["pretty_name"],
        "license": licences[0] if len(licences) == 1 else licences,
        "language": known.languages,
        **{key: written[key] for key in _WRITTEN[1:]},
        "size_categories": [size_category(total)],
        "dataset_info": [_info(benchmark, config, known) for config in catalogue.configs(benchmark)],
    }


def _licences(benchmark: str) -> list[str]:
    """Map the builder's words, up to a semicolon, to the Hub's names."""
    said, found = script(benchmark)._LICENSE, []
    for part in said.partition(";")[0].split(" and "):
        name = next((name for name in sorted(_LICENCES, key=len, reverse=True) if part.startswith(name)), None)
        if name is None:
            raise QuadragError(f"licence of {benchmark} is {said!r}; expected some of {', '.join(_LICENCES)}")
        found.append(_LICENCES[name])
    return found


def _info(benchmark: str, config: str, known: Facts) -> dict[str, Any]:
    """Describe a config as `datasets` does, its splits only where all their rows were counted.

    It takes a split without a number for one of no rows, and refuses data that have more splits than their card.
    """
    described: dict[str, Any] = {"config_name": config, "features": feature_list(features(benchmark, config))}
    splits = known.rows[config]
    if all(rows.source == COUNTED for rows in splits.values()):
        described["splits"] = [{"name": split, "num_examples": rows.number} for split, rows in splits.items()]
    return described


def _body(benchmark: str, body: str, made: dict[str, str]) -> str:
    there = [match[1] for match in _REGION.finditer(body)]
    for name in _OPENING.findall(body):
        if name not in made:
            raise unknown_name(f"region of {benchmark}'s card", name, made)
        if name not in there:
            raise QuadragError(f"region {name} of {benchmark}'s card does not end; expected a line <!-- /{name} -->")
    for name in made:
        if there.count(name) != 1:
            raise QuadragError(
                f"{benchmark}'s card has the region {name} {there.count(name)} times; expected once, between the lines"
                f" <!-- {name}: rendered by make cards --> and <!-- /{name} -->"
            )
    return _REGION.sub(
        lambda match: f"<!-- {match[1]}: rendered by make cards -->\n\n{made[match[1]]}\n\n<!-- /{match[1]} -->", body
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite the cards of a folder, or say which would change.

    Returns:
        0; with ``--check`` 1 where a card is not as it would be rendered; 2 where one cannot be rendered.
    """
    from quadrag.records import write_text

    parser = argparse.ArgumentParser(prog="python -m quadrag.cards", description="Render the dataset cards.")
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
                print(f"{path} is not in step with the builder of {benchmark}; run `make cards`", file=sys.stderr)
                status = 1
            else:
                write_text(path, text)
                print(f"{path}: rewritten")
    except QuadragError as error:
        print(error, file=sys.stderr)
        return 2
    return status


if __name__ == "__main__":
    sys.exit(main())
