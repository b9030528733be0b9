"""The forms that files of answers have, each read into lines of ``id`` and ``answer``.

Taken are any JSON Lines, or one JSON list, of objects; the prediction files of RGB's own code (``prediction``,
``noise_rate``); the result files of CRUD-RAG's (``results`` with ``log.generated_text``); the samples that lm-eval
logs and the logs of Inspect. What a line says is `answers.py`'s affair.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.reading import guess_encoding, parse_json
from quadrag.records import read_jsonl

from . import logs

# What is read no better than by pandas, and what reads it there.
_TABLES = {".csv": "read_csv", ".tsv": "read_table", ".xlsx": "read_excel", ".parquet": "read_parquet"}


def lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and object of every line of a file of answers; of a JSON list, and of CRUD-RAG's, every entry.

    Raises:
        QuadragError: the file cannot be read, or is not of one of the forms.
    """
    if (read_log := logs.reader_of(path)) is not None:
        yield from enumerate(read_log(path), 1)
        return
    if (reader := _TABLES.get(path.suffix.lower())) and path.is_file():
        raise QuadragError(f"{path}: {path.suffix[1:].upper()} is not read, JSON Lines are: {_convert(path, reader)}")
    whole = _whole(path)
    if isinstance(whole, list):
        for number, row in enumerate(whole, 1):
            if not isinstance(row, dict):
                raise QuadragError(f"{path}:{number} holds a {type(row).__name__}; expected an object")
            yield number, row
        return
    if told := logs.tell_summary(whole):
        raise QuadragError(f"{path} is {told}")
    results = whole.get("results") if isinstance(whole, dict) else None
    if not isinstance(results, list):
        for number, row in [(1, whole)] if isinstance(whole, dict) else read_jsonl(path):
            yield number, logs.read_sample(f"{path}:{number}", row) if logs.is_sample(row) else row
        return
    for number, result in enumerate(results, 1):
        log = result.get("log") if isinstance(result, dict) else None
        if not isinstance(log, dict) or "generated_text" not in log or "id" not in result:
            raise QuadragError(f"{path}: result {number} has no id or no log.generated_text; expected CRUD-RAG's form")
        valid = result.get("valid", True)
        yield number, {"id": result["id"], "prediction": log["generated_text"] if valid else None}


def read_conditions(path: Path) -> tuple[str, dict[str, Any]] | None:
    """Return the retriever and the options that the answers of a harness's log were made with; None of other files.

    Raises:
        QuadragError: the log says something else there.
    """
    said = next((row.get("conditions") for _, row in lines(path)), None)
    if not isinstance(said, str):
        return None
    try:
        logged = parse_json(said, path)
        return str(logged["retriever"]), dict(logged["options"])
    except (QuadragError, ValueError, TypeError, KeyError):
        raise QuadragError(f"{path}: conditions are {said!r:.60}; expected those that a quadrag task logged") from None


def _convert(path: Path, reader: str) -> str:
    """Return what makes JSON Lines of a table."""
    encoding = "UTF-8" if reader == "read_excel" else guess_encoding(path.read_bytes()) or "UTF-8"
    other = "" if encoding == "UTF-8" else f", encoding={encoding!r}"
    read = f"pandas.{reader}({path.name!r}, dtype=str, keep_default_na=False{other})"
    to = path.with_suffix(".jsonl").name
    return f"`{read}.to_json({to!r}, orient='records', lines=True)` makes them, with the columns id and answer"


def _whole(path: Path) -> Any:
    """Return what a file that is one JSON value holds, as CRUD-RAG's result files are; None where it is not one."""
    try:
        # Its first line is no object, where each line of JSON Lines is one.
        with path.open(encoding="utf-8-sig") as file:
            first = file.readline().strip()
        if not (first == "{" or first.startswith("[") or path.suffix == ".json"):
            return None
        return parse_json(path.read_bytes(), path)
    except (OSError, UnicodeDecodeError, QuadragError):
        return None
