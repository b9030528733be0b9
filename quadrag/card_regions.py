"""The parts of a hub card that are made from the builder: tables, an example row, how to load it, the citation.

Each is Markdown. Where a card has them is `quadrag.cards`' affair; what the builder does not tell comes from
`quadrag.card_facts`. Example rows are of the bundled sample, cut short.
"""

from __future__ import annotations

import inspect
import itertools
import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from quadrag import catalogue, data
from quadrag.card_facts import Facts, Family, Rows, features
from quadrag.export_card import RECIPES

_CHARACTERS = 72  # of a text in an example
_ITEMS = 2  # of a list in an example
_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_ONE_BY_ONE = 2  # as many files that are read alike have a line each


def regions(benchmark: str, known: Facts) -> dict[str, str]:
    """Render every region of a benchmark's card, by name.

    Raises:
        QuadragError: an example's config, split or sample is not there.
    """
    first = next(iter(known.families.values()))
    made = {
        "load": _load(benchmark, *first.example),
        "configs": _configs(benchmark, known),
        "files": _files(benchmark),
        "citation": f"```bibtex\n{script(benchmark)._CITATION.strip()}\n```",
    }
    if any(map(data.options_of, catalogue.configs(benchmark).values())):
        made["options"] = _options(benchmark)
    for name, family in known.families.items():
        made[f"columns-{name}"] = _columns(benchmark, family, known)
        made[f"example-{name}"] = _example(benchmark, family)
    return made


def script(benchmark: str) -> Any:
    """Return the module of a benchmark's builder, with `_CITATION`, `_HOMEPAGE` and `_LICENSE`."""
    return sys.modules[catalogue.builder_class(benchmark).__module__]


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    shown = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in (head, *lines)]
    return "\n".join([shown[0], "|---" * len(head) + "|", *shown[1:]])


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _load(benchmark: str, config: str, split: str) -> str:
    rest = f'"{config}", split="{split}")'
    if benchmark in RECIPES:
        hosted = "from a repository on the Hub that holds the sample; the data themselves are not hosted anew"
        option = " --data-dir sample"
    else:
        hosted = "from a repository on the Hub, in the name of whoever pushed it"
        option = " --accept-licence" if "NC" in script(benchmark)._LICENSE else ""
    return f"""```python
from datasets import load_dataset

# by its bare name, once `quadrag prepare {benchmark}` has built it on this machine
load_dataset("{benchmark}", {rest}

# {hosted}
load_dataset("ORG/{benchmark}", {rest}

# from a folder that `quadrag export FOLDER --benchmark {benchmark}{option}` wrote
load_dataset("FOLDER/{benchmark}", {rest}
```

Each of the three works with `datasets` 3.6 and later. With 3.6 alone the script of quadrag's repository loads too, with
the builder's options: `load_dataset("datasets_scripts/{benchmark}", "{config}", trust_remote_code=True)`."""


def _configs(benchmark: str, known: Facts) -> str:
    lines: list[tuple[str, ...]] = []
    for name, config in catalogue.configs(benchmark).items():
        for rows, splits in itertools.groupby(config.splits, key=known.rows[name].__getitem__):
            alike = list(splits)
            about = "" if lines and lines[-1][0] == f"`{name}`" else config.description
            lines.append((f"`{name}`", about, _names(alike), _number(rows, len(alike)), rows.source))
    return _table(("config", "what it is", "splits", "rows", "source of the number"), lines)


def _number(rows: Rows, splits: int) -> str:
    if rows.number is None:
        return "–"
    return f"{'about ' if rows.about else ''}{rows.number:,}{' each' if splits > 1 else ''}"


def _files(benchmark: str) -> str:
    """Tabulate the upstream files, or the repositories where no file is known by name."""
    cls, module = catalogue.builder_class(benchmark), script(benchmark)
    readers: dict[str, dict[str, list[str]]] = {name: {} for name in cls.FILES}
    for config in catalogue.configs(benchmark).values():
        for split in config.splits:
            for name in config.files_of(split):
                readers.setdefault(name, {}).setdefault(config.name, []).append(split)
    lines = []
    for said, run in itertools.groupby(readers, key=lambda name: _readers(benchmark, name, readers[name])):
        group = list(run)
        for names in [group] if len(group) > _ONE_BY_ONE else [[name] for name in group]:
            file = f"`{names[0]}`" if len(names) == 1 else f"`{names[0]}` to `{names[-1]}`, {len(names)} files"
            pinned = [cls.FILES.get(name) or (None, None, None) for name in names]
            lines.append((file, _size([one[0] for one in pinned]), _verified(pinned), said))
    commit = re.search(r"/([0-9a-f]{40})/", cls.URL)
    place = (
        f"Upstream is {module._HOMEPAGE}, of which these files are read, at commit"
        f" [`{commit[1][:7]}`]({module._HOMEPAGE}/tree/{commit[1]})"
        if commit
        else f"Upstream is {module._HOMEPAGE}; its data are the repositories below {cls.URL}"
    )
    where = f", below `{cls.UPSTREAM_FOLDER}/`" if cls.UPSTREAM_FOLDER else ""
    return f"{place}{where}:\n\n" + _table(("upstream", "size", "verified by", "read by"), lines)


def _readers(benchmark: str, name: str, configs: dict[str, list[str]]) -> str:
    if not configs:
        stand_ins: dict[str, str] = getattr(catalogue.builder_class(benchmark), "STAND_INS", {})
        return f"{stand_ins[name]}, in another's place" if name in stand_ins else "an option"
    whole = catalogue.configs(benchmark)
    by_splits: dict[str, list[str]] = {}
    for config, splits in configs.items():
        # A config's split that reads nothing by itself, as one that only an option gives, is no difference.
        reading = [split for split in whole[config].splits if whole[config].files_of(split)]
        by_splits.setdefault("" if splits == reading else f"{_names(splits)} of ", []).append(config)
    return "; ".join(splits + _names(found) for splits, found in by_splits.items())


def _size(sizes: Sequence[int | None]) -> str:
    told = [size for size in sizes if size is not None]
    if not told:
        return "not known"
    total = sum(told)
    unit, name = next(((unit, name) for unit, name in _UNITS if total >= unit), _UNITS[-1])
    return f"{total / unit:,.1f} {name}" + (f" in {len(told)} of them" if len(told) < len(sizes) else "")


def _verified(pinned: Sequence[tuple[Any, Any, Any]]) -> str:
    """Say by what files are verified; each is (size, sha256, git blob id)."""
    by = ["sha256" if one[1] else "git blob id" if one[2] else "nothing" for one in pinned]
    kinds = list(dict.fromkeys(by))
    return kinds[0] if len(kinds) == 1 else ", ".join(f"{by.count(kind)} by {kind}" for kind in kinds)


def _options(benchmark: str) -> str:
    """Tabulate the builder's options as its config class describes them."""
    configs = list(catalogue.configs(benchmark).values())
    _, _, arguments = (inspect.getdoc(type(configs[0])) or "").partition("Args:\n")
    told = {
        name: " ".join(text.split()) for name, text in re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", arguments, re.M)
    }
    lines = [
        (f"`{name}`", "none" if default is None else f"`{default}`", told[name].rstrip("."))
        for name, default in data.options_of(configs[0]).items()
    ]
    return _table(("option", "default", "what it is"), lines)


def _columns(benchmark: str, family: Family, known: Facts) -> str:
    kinds: dict[str, dict[str, list[str]]] = {}
    for config in family.configs:
        for column, feature in features(benchmark, config).items():
            kinds.setdefault(column, {}).setdefault(_kind(feature), []).append(config)
    before = known.families[family.like] if family.like else None
    lines = []
    for column, holds in family.holds.items():
        usual, *others = sorted(kinds[column].items(), key=lambda each: -len(each[1]))
        kind = usual[0] + (" or null" if column in family.nullable else "")
        kind += "".join(f"; {other} in {_names(configs)}" for other, configs in others)
        said = f"as in `{before.configs[0]}`" if before and column in before.holds else holds
        lines.append((f"`{column}`", kind, said))
    return _table(("column", "type", "what it holds"), lines)


def _kind(feature: Any, many: bool = False) -> str:
    """Say a feature's type in words: ``list of lists of strings``."""
    if isinstance(feature, dict):
        return f"{{{', '.join(feature)}}}"
    if isinstance(feature, list) or type(feature).__name__ == "List":
        inner = feature[0] if isinstance(feature, list) else feature.feature
        return f"list{'s' if many else ''} of {_kind(inner, many=True)}"
    return f"{feature.dtype}s" if many and feature.dtype == "string" else str(feature.dtype)


def _example(benchmark: str, family: Family) -> str:
    config, split = family.example
    builder, _ = data.open_builder(benchmark, config, data.SAMPLE, split=split)
    row = _cut(next(iter(data.rows(builder, split))))
    shown = json.dumps(row, ensure_ascii=False, indent=1)
    return (
        f"A row of the config `{config}`, split `{split}`, made up for the sample that comes with quadrag, and cut"
        f" short here (`…`):\n\n```json\n{shown}\n```"
    )


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _CHARACTERS else f"{value[:_CHARACTERS]}…"
    if isinstance(value, dict):
        return {name: _cut(inner) for name, inner in value.items()}
    if isinstance(value, list):
        more = len(value) - _ITEMS
        return [_cut(inner) for inner in value[:_ITEMS]] + ([f"… and {more} more"] if more > 0 else [])
    return value
