"""What `quadrag prepare` built, found again: the record beside each config, and the sums of its files."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.data import files
from quadrag.errors import QuadragError
from quadrag.provenance import Provenance, Source
from quadrag.reading import parse_json
from quadrag.records import write_text
from quadrag.sums import Sums, find_altered

RECORD = "quadrag.json"  # beside a prepared config: what it was built from
INFO = "dataset_info.json"  # what `datasets` says of it


def find_source(benchmark: str, config: str) -> Source | None:
    """Say what the config's bare name loads: where the files of the newest build came from; None without one."""
    found = _builds(benchmark, config)
    return max(found, key=itemgetter(0, 1))[2] if found else None


def find_prepared(benchmark: str, config: str, split: str | None = None) -> tuple[Path, Source] | None:
    """Find what `quadrag prepare` built last for a config from real files, by this very script.

    Args:
        benchmark: its name.
        config: its config's name.
        split: a split it must hold, or None.

    Returns:
        The folder in the Hugging Face cache and where its files came from, or None. The bundled sample does not count:
        a run that names no data means the benchmark.
    """
    script = files.digest({"script": catalogue.benchmarks()[benchmark]})
    found = [
        (moment, folder, source)
        for moment, folder, source, made_by in _builds(benchmark, config)
        if made_by == script and source.provenance is not Provenance.SAMPLE and (split is None or _holds(folder, split))
    ]
    if not found:
        return None
    _, folder, source = max(found, key=itemgetter(0, 1))
    check_built(folder, INFO)
    return folder, source


def _holds(folder: Path, split: str) -> bool:
    try:
        return split in parse_json((folder / INFO).read_bytes(), folder)["splits"]
    except (OSError, QuadragError, KeyError, TypeError):
        raise _damaged(folder / INFO) from None


def _builds(benchmark: str, config: str) -> list[tuple[float, Path, Source, str]]:
    """List what `quadrag prepare` built for a config: when, where, from which files, by which script."""
    import datasets

    version = str(catalogue.config(benchmark, config).version)
    home = Path(datasets.config.HF_DATASETS_CACHE) / benchmark / config / version
    found = []
    for record in home.glob(f"*/{RECORD}"):
        made = read_record(record.parent)
        found.append((record.stat().st_mtime, record.parent, made.source, made.script))
    return found


class Record(NamedTuple):
    """What a prepared config was built from: the digest of the script, the files' source; and the built files' sums."""

    script: str
    source: Source
    sums: Sums

    def write(self, folder: Path) -> None:
        """Write it, with a sum of its own."""
        row = {**self._asdict(), "source": asdict(self.source)}
        write_text(folder / RECORD, json.dumps({**row, "sum": _digest(row)}))


def read_record(folder: Path) -> Record:
    """Read the record beside a prepared config.

    Raises:
        QuadragError: it is damaged.
    """
    path = folder / RECORD
    try:
        made = parse_json(path.read_bytes(), path)
        if made.pop("sum") != _digest(made):
            raise KeyError
        source = Source(**{**made["source"], "provenance": Provenance(made["source"]["provenance"])})
        return Record(made["script"], source, made["sums"])
    except (OSError, QuadragError, AttributeError, KeyError, TypeError, ValueError):
        raise _damaged(path) from None


def _digest(row: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()


def check_built(folder: Path, name: str) -> None:
    """Hold a file of a prepared config against its sum.

    Raises:
        QuadragError: it is not as it was built.
    """
    if find_altered(folder, [name], read_record(folder).sums):
        raise _damaged(folder / name)


def list_files(folder: Path, benchmark: str, split: str) -> list[Path]:
    """List the files that hold the rows of a split of a prepared config, in their order, each as it was built.

    Raises:
        QuadragError: one is not.
    """
    known = read_record(folder).sums
    named = re.compile(rf"{re.escape(benchmark)}-{re.escape(split)}(-\d+-of-\d+)?\.arrow")
    names = sorted(filter(named.fullmatch, known))
    for name in names:
        check_built(folder, name)
    return [folder / name for name in names]


def _damaged(path: Path) -> QuadragError:
    return QuadragError(f"{path} is damaged; remove {path.parent} and run `quadrag prepare` again")
