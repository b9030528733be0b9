"""The cards in `hub_cards/`: what in them comes from the builders is rendered, what is written by hand is kept.

What stands between ``<!-- NAME: rendered by make cards -->`` and ``<!-- /NAME -->`` is rendered, and the header but for
three keys. It has no key `configs`: on the Hub that maps configs to data files, and only an export has some.
`quadrag.hub.export.card` makes its cards from these.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quadrag import catalogue
from quadrag.errors import QuadragError, one_line, unknown_name
from quadrag.hub.cards.regions import render_regions, script
from quadrag.hub.export.card import join_card, list_features, size_category
from quadrag.hub.record import COUNTED, HubRecord, features, read_record
from quadrag.paths import room

# A builder's names of licences, as CC BY-NC 4.0, Apache-2.0 and MIT; the Hub has the same in small letters.
_LICENCE = re.compile(r"CC [\w-]+ \d\.\d|[A-Za-z]+-\d\.\d|[A-Z]{3,}\b")
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
            end, or the benchmark's record and its builder disagree.
    """
    import yaml

    record = read_record(benchmark, folder or room("hub_cards"))
    start, mark, rest = card.partition("---\n")
    front, end, body = rest.partition("\n---\n")
    if start or not mark or not end:
        raise QuadragError(f"the card of {benchmark} has no header; expected YAML between two lines of ---")
    try:
        header = yaml.safe_load(front)
        written = {key: header[key] for key in _WRITTEN}
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise QuadragError(
            f"header of {benchmark}'s card ({one_line(error)}); expected YAML with {', '.join(_WRITTEN)}"
        ) from None
    regions = render_regions(benchmark, record)
    return join_card(_make_header(benchmark, written, record), _replace_regions(benchmark, body, regions))


def _make_header(benchmark: str, written: Mapping[str, Any], record: HubRecord) -> dict[str, Any]:
    licences = _read_licences(benchmark)
    total = sum(rows.number or 0 for splits in record.rows.values() for rows in splits.values())
    return {
        "pretty_name": written["pretty_name"],
        "license": licences[0] if len(licences) == 1 else licences,
        "language": record.languages,
        **{key: written[key] for key in _WRITTEN[1:]},
        "size_categories": [size_category(total)],
        "dataset_info": [_describe_config(benchmark, config, record) for config in catalogue.configs(benchmark)],
    }


def _read_licences(benchmark: str) -> list[str]:
    """Return the Hub's names of the licences that the builder names before a semicolon."""
    written = script(benchmark)._LICENSE
    found = [_LICENCE.match(part) for part in written.partition(";")[0].split(" and ")]
    if not all(found):
        raise QuadragError(f"licence of {benchmark} is {written!r}; expected names as CC BY-NC 4.0, Apache-2.0 or MIT")
    return [name[0].lower().replace(" ", "-") for name in found if name]


def _describe_config(benchmark: str, config: str, record: HubRecord) -> dict[str, Any]:
    """Describe a config as `datasets` does, its splits only where all their rows were counted.

    It takes a split without a number for one of no rows, and refuses data that have more splits than their card.
    """
    described: dict[str, Any] = {"config_name": config, "features": list_features(features(benchmark, config))}
    splits = record.rows[config]
    if all(rows.source == COUNTED for rows in splits.values()):
        described["splits"] = [{"name": split, "num_examples": rows.number} for split, rows in splits.items()]
    return described


def _replace_regions(benchmark: str, body: str, regions: Mapping[str, str]) -> str:
    there = [match[1] for match in _REGION.finditer(body)]
    for name in _OPENING.findall(body):
        if name not in regions:
            raise unknown_name(f"region of {benchmark}'s card", name, regions)
        if name not in there:
            raise QuadragError(f"region {name} of {benchmark}'s card does not end; expected a line <!-- /{name} -->")
    for name in regions:
        if there.count(name) != 1:
            raise QuadragError(
                f"{benchmark}'s card has the region {name} {there.count(name)} times; expected once, between the lines"
                f" <!-- {name}: rendered by make cards --> and <!-- /{name} -->"
            )
    return _REGION.sub(
        lambda match: f"<!-- {match[1]}: rendered by make cards -->\n\n{regions[match[1]]}\n\n<!-- /{match[1]} -->",
        body,
    )
