"""`make cards`: the dataset cards in `hub_cards/`, in step with their scripts; what is written by hand is kept.

What stands between ``<!-- NAME: rendered by make cards -->`` and ``<!-- /NAME -->`` is rendered, and the end of the
header. That has no key `configs`: on the Hub it maps configs to data files, and only an export has some.
"""

import inspect
import json
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from quadrag import catalogue
from quadrag.data import builders
from quadrag.data.card_facts import RENDERED, CardFacts, Columns, parse_facts
from quadrag.errors import QuadragError, one_line, read_text
from quadrag.printing import write
from quadrag.records import write_text

from .export import fill_template, size_category

_CHARACTERS = 72  # of a text in an example
_ITEMS = 2  # of a list in an example
_MARK = "rendered by make cards -->"
_REGION = re.compile(rf"^<!-- ([\w-]+): {_MARK}\n.*?^<!-- /\1 -->$", re.MULTILINE | re.DOTALL)


def main() -> None:
    for benchmark in catalogue.benchmarks():
        path = catalogue.card(benchmark)
        card = read_text(path, "a card")
        if RENDERED in card and (text := render(benchmark, card)) != card:
            write_text(path, text)
            write(f"{path}: rewritten")


def render(benchmark: str, card: str) -> str:
    """Bring the text of a card in step with its script and its own facts."""
    import yaml

    facts = parse_facts(card, catalogue.card(benchmark))
    configs = catalogue.configs(benchmark)
    features = {config: builders.make_builder(benchmark, config).info.features._to_yaml_list() for config in configs}
    regions = render_regions(benchmark, facts, features)
    header, _, body = card.partition("\n---\n")
    if strange := {*re.findall(f"<!-- ([\\w-]+): {_MARK}", body)} - regions.keys():
        raise QuadragError(f"{benchmark}'s card has the region {min(strange)}; expected {', '.join(regions)}")
    body = _REGION.sub(lambda found: f"<!-- {found[1]}: {_MARK}\n\n{regions[found[1]]}\n\n<!-- /{found[1]} -->", body)
    known = [
        rows for name, config in configs.items() for split in config.splits if (rows := facts.find_rows(name, split))
    ]
    rendered = {
        "size_categories": [size_category(sum(rows.number or 0 for rows in known))],
        "dataset_info": [{"config_name": config, "features": columns} for config, columns in features.items()],
    }
    hand = f"{header}\n".partition(RENDERED)[0]
    return f"{hand}{RENDERED}{yaml.safe_dump(rendered, sort_keys=False)}---\n{body}"


def render_regions(benchmark: str, facts: CardFacts, features: Mapping[str, Any]) -> dict[str, str]:
    cls = catalogue.builder_class(benchmark)
    script = sys.modules[cls.__module__]
    configs = catalogue.configs(benchmark)
    option = " --data-dir sample" if facts.not_hosted else " --accept-licence" if "NC" in script._LICENSE else ""
    first = next(iter(configs.values()))
    example = next((columns.example for columns in facts.columns.values()), (first.name, first.splits[0]))
    regions = {
        "load": fill_template("load", benchmark, *example, not facts.not_hosted, option),
        "configs": fill_template("configs", configs.values(), facts),
        "files": fill_template("files", script._HOMEPAGE, cls, re.search(r"[0-9a-f]{40}", cls.URL), configs.values()),
        "citation": fill_template("citation", script._CITATION.strip()),
    }
    if options := builders.options_of(first):
        _, _, arguments = (inspect.getdoc(type(first)) or "").partition("Args:\n")
        listed = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", arguments, re.MULTILINE)
        about = {name: one_line(text).rstrip(".") for name, text in listed}
        regions["options"] = fill_template(
            "options", [(name, default, about[name]) for name, default in options.items()]
        )
    described: list[str] = []
    for name, columns in facts.columns.items():
        own = {config: features[config] for config in configs if columns.holds_for(config)}
        described += own
        regions[f"columns-{name}"] = fill_template("columns", _list_columns(columns, own))
        config, split = columns.example
        builder, _ = builders.open_builder(benchmark, config, builders.SAMPLE, split=split)
        row = json.dumps(_cut(next(iter(builders.rows(builder, split)))), ensure_ascii=False, indent=1)
        regions[f"example-{name}"] = fill_template("example", config, split, row)
    if facts.columns and sorted(described) != sorted(configs):
        raise QuadragError(f"{benchmark}'s card has columns of {described}; expected each of {[*configs]} once")
    return regions


def _list_columns(columns: Columns, features: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[tuple[str, str, str]]:
    kinds: dict[str, list[str]] = {column: [] for column in columns.holds}
    for config, spelled in features.items():
        names = [feature["name"] for feature in spelled]
        if [*columns.holds] != names or not {*columns.nullable} <= {*names}:
            raise QuadragError(f"columns of {config} are said to be {[*columns.holds]}; expected {names}")
        for feature in spelled:
            kinds[feature["name"]].append(_name_type(feature))
    for column in columns.nullable:
        kinds[column].append("null")
    return [(column, " or ".join(dict.fromkeys(kinds[column])), holds) for column, holds in columns.holds.items()]


def _name_type(spelled: Any) -> str:
    """Return the type of a feature as the Hub spells it in words: ``list of list of string``."""
    if isinstance(spelled, list):
        return f"{{{', '.join(feature['name'] for feature in spelled)}}}"
    if isinstance(spelled, str):
        return spelled
    kind, inner = next((kind, inner) for kind, inner in spelled.items() if kind != "name")
    return _name_type(inner) if kind in ("dtype", "struct") else f"list of {_name_type(inner)}"


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _CHARACTERS else f"{value[:_CHARACTERS]}…"
    if isinstance(value, dict):
        return {name: _cut(inner) for name, inner in value.items()}
    if isinstance(value, list):
        more = len(value) - _ITEMS
        return [_cut(inner) for inner in value[:_ITEMS]] + ([f"… and {more} more"] if more > 0 else [])
    return value


if __name__ == "__main__":
    main()
