"""The dataset cards in `hub_cards/`: what comes from the builders is rendered, what is written by hand is kept.

What stands between ``<!-- NAME: rendered by make cards -->`` and ``<!-- /NAME -->`` is rendered, and the header but for
three keys. It has no key `configs`: on the Hub that maps configs to data files, and only an export has some.
"""

import argparse
import inspect
import itertools
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag import catalogue
from quadrag.data import builders
from quadrag.data.card_facts import COUNTED, Family, HubRecord, Rows, features, read_record
from quadrag.errors import QuadragError, one_line
from quadrag.paths import room
from quadrag.printing import write
from quadrag.reading import read_text
from quadrag.records import write_text

from .card import as_code, fill_template, join_card, list_features, size_category, split_card

_CHARACTERS = 72  # of a text in an example
_ITEMS = 2  # of a list in an example
_ONE_BY_ONE = 2  # as many files that are read alike have a line each
# A builder's names of licences, as CC BY-NC 4.0, Apache-2.0 and MIT; the Hub has the same in small letters.
_LICENCE = re.compile(r"CC [\w-]+ \d\.\d|[A-Za-z]+-\d\.\d|[A-Z]{3,}\b")
_WRITTEN = ("pretty_name", "task_categories", "tags")  # by hand
_REGION = re.compile(r"^<!-- ([\w-]+): rendered by make cards -->\n.*?^<!-- /\1 -->$", re.MULTILINE | re.DOTALL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite the cards of a folder, or with ``--check`` name those that would change, and exit with 1."""
    parser = argparse.ArgumentParser(prog="python -m quadrag.hub.cards", description="Render the dataset cards.")
    parser.add_argument("folder", nargs="?", type=Path, default=room("hub_cards"), help="of NAME.md and NAME.yaml")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where a card would change")
    given = parser.parse_args(arguments)
    status = 0
    try:
        for benchmark in catalogue.benchmarks():
            path = given.folder / f"{benchmark}.md"
            card = read_text(path, "a card")
            text = render(benchmark, card, given.folder)
            if text != card:
                write(f"{path}: {'not as its builder; run `make cards`' if given.check else 'rewritten'}")
                status = 1 if given.check else status
                if not given.check:
                    write_text(path, text)
    except (QuadragError, OSError) as error:
        write(error, file=sys.stderr)
        return 2
    return status


def render(benchmark: str, card: str, folder: Path) -> str:
    """Bring a card in step with its builder and its record, `NAME.yaml` of a folder."""
    record = read_record(benchmark, folder)
    try:
        header, body = split_card(card)
        written = {key: header[key] for key in _WRITTEN}
    except (ValueError, KeyError, TypeError) as error:
        raise QuadragError(
            f"header of {benchmark}'s card ({one_line(error)}); expected {', '.join(_WRITTEN)}"
        ) from None
    regions = render_regions(benchmark, record)
    if sorted(there := re.findall("^<!-- ([\\w-]+): rendered", body, re.MULTILINE)) != sorted(regions):
        raise QuadragError(f"{benchmark}'s card has the regions {there}; expected each of {[*regions]} once")
    body = _REGION.sub(
        lambda match: f"<!-- {match[1]}: rendered by make cards -->\n\n{regions[match[1]]}\n\n<!-- /{match[1]} -->",
        body,
    )
    return join_card(_make_header(benchmark, written, record), body)


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


def render_regions(benchmark: str, record: HubRecord) -> dict[str, str]:
    """Render every region of a benchmark's card, by name."""
    config, split = next(iter(record.families.values())).example
    closed = "NC" in script(benchmark)._LICENSE
    option = " --data-dir sample" if record.not_hosted else " --accept-licence" if closed else ""
    hosted = not record.not_hosted
    regions = {
        "load": fill_template("load", benchmark=benchmark, config=config, split=split, hosted=hosted, option=option),
        "configs": fill_template("configs", lines=_list_splits(benchmark, record)),
        "files": _render_files(benchmark),
        "citation": fill_template("citation", citation=script(benchmark)._CITATION.strip()),
    }
    if any(map(builders.options_of, catalogue.configs(benchmark).values())):
        regions["options"] = fill_template("options", lines=_list_options(benchmark))
    for name, family in record.families.items():
        lines = _list_columns(benchmark, family, record)
        regions[f"columns-{name}"] = fill_template("columns", lines=lines)
        regions[f"example-{name}"] = _render_example(benchmark, *family.example)
    return regions


def script(benchmark: str) -> Any:
    """Return the module of a benchmark's builder, with `_CITATION`, `_HOMEPAGE` and `_LICENSE`."""
    return sys.modules[catalogue.builder_class(benchmark).__module__]


def _list_splits(benchmark: str, record: HubRecord) -> list[tuple[Any, ...]]:
    lines: list[tuple[Any, ...]] = []
    for name, config in catalogue.configs(benchmark).items():
        for rows, splits in itertools.groupby(config.splits, key=record.rows[name].__getitem__):
            alike = list(splits)
            about = "" if lines and lines[-1][0] == name else config.description
            lines.append((name, about, alike, _count(rows, len(alike)), rows.source))
    return lines


def _count(rows: Rows, splits: int) -> str:
    if rows.number is None:
        return "–"
    return f"{'about ' if rows.about else ''}{rows.number:,}{' each' if splits > 1 else ''}"


def _render_files(benchmark: str) -> str:
    """Tabulate the upstream files, or the repositories where no file is known by name."""
    cls = catalogue.builder_class(benchmark)
    readers: dict[str, dict[str, list[str]]] = {name: {} for name in cls.FILES}
    for config in catalogue.configs(benchmark).values():
        for split in config.splits:
            for name in config.files_of(split):
                readers.setdefault(name, {}).setdefault(config.name, []).append(split)
    lines = []
    for readers_in_words, run in itertools.groupby(readers, key=lambda name: _name_readers(cls, name, readers[name])):
        group = list(run)
        for names in [group] if len(group) > _ONE_BY_ONE else [[name] for name in group]:
            pinned = [cls.FILES.get(name) or (None, None, None) for name in names]
            lines.append((names, _add_sizes([one[0] for one in pinned]), _name_sums(pinned), readers_in_words))
    commit = re.search(r"/([0-9a-f]{40})/", cls.URL)
    return fill_template(
        "files",
        homepage=script(benchmark)._HOMEPAGE,
        url=cls.URL,
        commit=commit[1] if commit else None,
        folder=cls.UPSTREAM_FOLDER,
        lines=lines,
    )


def _name_readers(cls: Any, name: str, configs: dict[str, list[str]]) -> str:
    if not configs:
        stand_ins: dict[str, str] = getattr(cls, "STAND_INS", {})
        return f"{stand_ins[name]}, in another's place" if name in stand_ins else "an option"
    whole = {config.name: config for config in cls.BUILDER_CONFIGS}
    by_splits: dict[str, list[str]] = {}
    for config, splits in configs.items():
        # A config's split that reads nothing by itself, as one that only an option gives, is no difference.
        reading = [split for split in whole[config].splits if whole[config].files_of(split)]
        by_splits.setdefault("" if splits == reading else f"{as_code(splits)} of ", []).append(config)
    return "; ".join(splits + as_code(found) for splits, found in by_splits.items())


def _add_sizes(sizes: Sequence[int | None]) -> str:
    from jinja2.filters import do_filesizeformat

    known = [size for size in sizes if size is not None]
    if not known:
        return "not known"
    return do_filesizeformat(sum(known)) + (f" in {len(known)} of them" if len(known) < len(sizes) else "")


def _name_sums(pinned: Sequence[tuple[Any, Any, Any]]) -> str:
    """Say by what files are verified; each is (size, sha256, git blob id)."""
    by = ["sha256" if one[1] else "git blob id" if one[2] else "nothing" for one in pinned]
    kinds = list(dict.fromkeys(by))
    return kinds[0] if len(kinds) == 1 else ", ".join(f"{by.count(kind)} by {kind}" for kind in kinds)


def _list_options(benchmark: str) -> list[tuple[Any, ...]]:
    """List the builder's options with their defaults, as its config class describes them."""
    config = next(iter(catalogue.configs(benchmark).values()))
    _, _, arguments = (inspect.getdoc(type(config)) or "").partition("Args:\n")
    about = {name: one_line(text) for name, text in re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", arguments, re.M)}
    return [(name, default, about[name].rstrip(".")) for name, default in builders.options_of(config).items()]


def _list_columns(benchmark: str, family: Family, record: HubRecord) -> list[tuple[str, ...]]:
    kinds: dict[str, dict[str, list[str]]] = {}
    for config in family.configs:
        for column, feature in features(benchmark, config).items():
            kinds.setdefault(column, {}).setdefault(_name_type(feature), []).append(config)
    before = record.families[family.like] if family.like else None
    lines: list[tuple[str, ...]] = []
    for column, holds in family.holds.items():
        usual, *others = sorted(kinds[column].items(), key=lambda each: -len(each[1]))
        kind = usual[0] + (" or null" if column in family.nullable else "")
        kind += "".join(f"; {other} in {as_code(configs)}" for other, configs in others)
        lines.append((column, kind, f"as in `{before.configs[0]}`" if before and column in before.holds else holds))
    return lines


def _name_type(feature: Any, many: bool = False) -> str:
    """Return a feature's type in words: ``list of lists of strings``."""
    if isinstance(feature, dict):
        return f"{{{', '.join(feature)}}}"
    if isinstance(feature, list) or type(feature).__name__ == "List":
        inner = feature[0] if isinstance(feature, list) else feature.feature
        return f"list{'s' if many else ''} of {_name_type(inner, many=True)}"
    return f"{feature.dtype}s" if many and feature.dtype == "string" else str(feature.dtype)


def _render_example(benchmark: str, config: str, split: str) -> str:
    builder, _ = builders.open_builder(benchmark, config, builders.SAMPLE, split=split)
    row = json.dumps(_cut(next(iter(builders.rows(builder, split)))), ensure_ascii=False, indent=1)
    return fill_template("example", config=config, split=split, row=row)


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
    sys.exit(main())
