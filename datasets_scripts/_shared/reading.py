# Licensed under the Apache License, Version 2.0.
"""What the dataset scripts do alike: options, files found or fetched and verified, JSON Lines, ids, refusals.

A link to it stands beside each script, and a plain copy where the script is published. A broken file or a bad option is
a ValueError of one line; what is merely not there, a split `lacks`. What a benchmark's rows are is its script's affair.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import datasets

Facts = tuple[int | None, str | None, str | None]  # bytes, sha256 and git blob sha1 of a file; None where unknown
Found = tuple[dict[str, Path], list[str]]  # the files of a split by name, and what keeps it from being built

_BOM = b"\xef\xbb\xbf"
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")  # how JSON spells half of a surrogate pair


def read_facts(table: str) -> dict[str, Facts]:
    """Read a table with a line for each file: its name, bytes, sha256 and git blob sha1; - is unknown."""
    lines = (line.split() for line in table.splitlines() if line)
    return {
        name: (None if size == "-" else int(size), None if sha256 == "-" else sha256, None if blob == "-" else blob)
        for name, size, sha256, blob in lines
    }


def mismatch(path: Path, size: int | None, sha256: str | None, blob: str | None) -> str | None:
    """Say what a file has that is not as expected, and what was expected; None where all that is known is right."""
    length = path.stat().st_size
    if size is not None and length != size:
        return f"{length} bytes, expected {size}"
    sums = (
        ("sha256", sha256, hashlib.sha256),
        ("git blob id", blob, lambda: hashlib.sha1(b"blob %d\0" % length)),
    )
    for name, expected, start in sums:
        if expected is not None:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, start).hexdigest()
            if digest != expected:
                return f"{name} {digest}, expected {expected}"
    return None


class Config(datasets.BuilderConfig):  # type: ignore[misc]
    """A config: its options, which are attributes of it, its splits, and the files that each is built from.

    A subclass has `splits` and `files_of`, and where it has options `check_options`.
    """

    OPTIONS: Mapping[str, Any] = {}  # names to defaults
    partial = False  # whether a split is built of whichever of its files are there

    def __init__(self, **kwargs: Any) -> None:
        options = {name: kwargs.pop(name, default) for name, default in self.OPTIONS.items()}
        super().__init__(version=datasets.Version("1.0.0"), **kwargs)
        self.__dict__.update(options)

    splits: list[str]

    def files_of(self, split: str) -> list[str]:
        """Names of the files of one split, in reading order."""
        raise NotImplementedError

    @property
    def files(self) -> list[str]:
        return list(dict.fromkeys(name for split in self.splits for name in self.files_of(split)))

    @property
    def named(self) -> dict[str, Path]:
        """The files or folders that the user names by an option: its name to the path."""
        return {}

    def lacking(self, split: str, files: Mapping[str, Path]) -> list[str]:
        """Say what keeps a split from being built, with the files that are there; ValueError names a broken one."""
        return [name for name in self.files_of(split) if name not in files]

    def check_options(self) -> None:
        """Raise ValueError where the options are none; `load_dataset` sets them on a copy, past the constructor."""

    def expect(self, right: bool, option: str, expected: str) -> None:
        if not right:
            raise ValueError(f"{option} is {getattr(self, option)!r}; expected {expected}")


class Builder(datasets.GeneratorBasedBuilder):  # type: ignore[misc]
    """A benchmark, built from upstream's files: those below `config.data_dir`, else those of URL."""

    FILES: Mapping[str, Facts] = {}
    URL = ""  # with a name of FILES behind it, the address of that file
    UPSTREAM_FOLDER = ""  # where a checkout of upstream keeps FILES
    STAND_INS: Mapping[str, str] = {}  # files that `locate` takes in another's place, and what they are

    @classmethod
    def locate(cls, root: str | Path, name: str) -> Path | None:
        """Find a file below a checkout's root, its data folder, or the folder of the files themselves."""
        parts = Path(cls.UPSTREAM_FOLDER, name).parts
        places = (Path(root, *parts[start:]) for start in range(len(parts)))
        return next((place for place in places if place.is_file()), None)

    @classmethod
    def find(cls, root: str | Path, config: Config, split: str) -> Found:
        """Find the files of a split below a folder; ValueError names a broken one."""
        named = config.named
        places = {name: named.get(name) or cls.locate(root, name) for name in config.files_of(split)}
        files = {name: place for name, place in places.items() if place}
        return files, config.lacking(split, files)

    def download(self, dl_manager: Any) -> dict[str, Found]:
        config = self.config
        names = [name for name in config.files if name not in config.named]
        paths = {**config.named, **dl_manager.download({name: self.URL + name for name in names})}
        for name in names if not dl_manager.is_streaming else ():
            wrong = mismatch(Path(paths[name]), *self.FILES[name])
            if wrong:
                Path(paths[name]).unlink()
                raise ValueError(f"{self.URL + name}: {wrong}; removed, load it again")
        downloaded = {split: {name: paths[name] for name in config.files_of(split)} for split in config.splits}
        return {split: (files, [] if files else config.lacking(split, files)) for split, files in downloaded.items()}

    def make_info(
        self, features: Mapping[str, Any], description: str, citation: str, homepage: str, licence: str
    ) -> datasets.DatasetInfo:
        self.config.check_options()
        about = {"description": description, "citation": citation, "homepage": homepage, "license": licence}
        return datasets.DatasetInfo(features=datasets.Features(features), **about)

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        config, root = self.config, self.config.data_dir
        if root:
            by_split = {split: self.find(root, config, split) for split in config.splits}
        else:
            by_split = self.download(dl_manager)
        if all(lacking for _, lacking in by_split.values()):
            reasons = dict.fromkeys(reason for _, lacking in by_split.values() for reason in lacking)
            raise FileNotFoundError(f"{root or config.name} lacks {', '.join(reasons)}")
        return [
            datasets.SplitGenerator(
                name=split,
                # Not a list: `datasets` would cut it into shards, and a split's files are read as one.
                gen_kwargs={"split": split, "files": {name: str(path) for name, path in files.items()}},
            )
            for split, (files, lacking) in by_split.items()
            if not lacking
        ]


def read_json(content: bytes, where: object) -> Any:
    """Read JSON in UTF-8; halves of surrogate pairs, which are no text, are U+FFFD."""
    if content.startswith(b"version https://git-lfs"):
        raise ValueError(f"{where} is a Git LFS pointer, not the file; run `git lfs pull` there")
    try:
        value = json.loads(content.decode("utf-8-sig"))
        return mend(value) if _HALF.search(content) else value
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is not whole JSON in UTF-8 ({error}); fetch the file again") from None


def mend(value: Any) -> Any:
    """Return a value of JSON with U+FFFD in place of each half of a surrogate pair."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [mend(item) for item in value]
    return {mend(key): mend(item) for key, item in value.items()} if isinstance(value, dict) else value


def json_lines(lines: Iterable[bytes], label: object) -> Iterator[tuple[int, str, Any]]:
    """Yield number from 1, place and value of every line that is not blank."""
    for number, line in enumerate(lines, 1):
        if line.removeprefix(_BOM).strip():
            where = f"{label}:{number}"
            yield number, where, read_json(line, where)


def as_text(value: Any) -> str | None:
    """An optional value as text: a text as it is, None as None, anything else as its JSON."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def check_object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{where} is a {type(value).__name__}; expected an object")
    return value


def need(record: Mapping[str, Any], key: str, where: str, kind: type = str) -> Any:
    """Return the value of a key, a text that is not blank or another type; ValueError where it is none."""
    if key not in record:
        raise ValueError(f"{where} has no {key}; found the keys {', '.join(record)}")
    value = record[key]
    if type(value) is not kind or (kind is str and not str(value).strip()):
        raise ValueError(f"{where}: {key} is {value!r}; expected {'a text' if kind is str else kind.__name__}")
    return value


def unique(rows: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield id and row of places and rows; ValueError where an id stands twice."""
    places: dict[Any, str] = {}
    for where, row in rows:
        first = places.setdefault(row["id"], where)
        if first is not where:
            raise ValueError(f"{where}: id {row['id']} stands in {first} too; expected unique ids")
        yield row["id"], row
