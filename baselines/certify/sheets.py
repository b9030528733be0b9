"""Sheets of labels and verdicts as rows: CSV, TSV, and what Label Studio and Argilla export.

A row is a mapping of texts with the place that an error names. What it means is `labels.py`'s affair.
"""

import csv
import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.errors import QuadragError
from quadrag.reading import parse_json
from quadrag.records import not_utf8

ANNOTATOR = "annotator"  # who labelled a row; with a number, what each of several people said

# What columns are called in Chinese.
_CALLED = {
    "编号": "id",
    "标签": "label",
    "标注": "label",
    "判断": "verdict",
    "置信度": "confidence",
    "问题": "question",
    "回答": "answer",
    "标准答案": "gold",
    "片段": "passages",
    "分组": "group",
    "系统": "system",
    "标注人": ANNOTATOR,
}


class Line(NamedTuple):
    """A row, and where it stands."""

    place: str
    row: Mapping[str, str]


class Sheet(NamedTuple):
    """All rows of a file, the names of its columns, and the file's sha256."""

    lines: list[Line]
    columns: list[str]
    sha256: str


def read_sheet(path: Path, *wanted: str) -> Sheet:
    """Read a file that has to have some columns.

    Args:
        path: a CSV (or, by its name, TSV) file with a head, or a JSON export.
        wanted: the columns.

    Raises:
        QuadragError: it cannot be read, lacks a column, or holds no row.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise QuadragError(f"cannot read {path} ({error.strerror}); expected a CSV file with {_list(wanted)}") from None
    read = _read_export if path.suffix.lower() == ".json" else _read_csv
    lines = [Line(line.place, _name_columns(line.row)) for line in read(path, content)]
    columns = list(dict.fromkeys(name for line in lines for name in line.row))
    if not lines:
        raise QuadragError(f"{path} holds no row; expected a line of names ({_list(wanted)}) and a row for each item")
    lacking = [name for name in wanted if name not in columns]
    if lacking:
        shown = ", ".join(columns[:8])
        raise QuadragError(f"{path} has no column {_list(lacking)}; expected {_list(wanted)}, found {shown}")
    return Sheet(lines, columns, hashlib.sha256(content).hexdigest())


def join_annotators(sheet: Sheet) -> Sheet:
    """Put rows that several people wrote about one item, as Label Studio's CSV has them, into one row."""
    if ANNOTATOR not in sheet.columns:
        return sheet
    found: dict[str, Line] = {}
    said: dict[str, dict[str, str]] = {}
    for line in sheet.lines:
        name, who = line.row.get("id", ""), line.row.get(ANNOTATOR, "")
        if who in said.setdefault(name, {}):
            raise QuadragError(f"{line.place}: annotator {who!r} labelled item {name!r} twice; expected one label")
        said[name][who] = line.row.get("label", "")
        found.setdefault(name, line)
    people = {
        who: f"{ANNOTATOR}{at}" for at, who in enumerate(dict.fromkeys(w for votes in said.values() for w in votes), 1)
    }
    if len(people) == 1:
        return sheet
    lines = []
    for name, line in found.items():
        votes = {people[who]: label for who, label in said[name].items()}
        same = len(set(votes.values())) == 1
        lines.append(Line(line.place, {**line.row, **votes, "label": line.row["label"] if same else ""}))
    return Sheet(lines, [*sheet.columns, *people.values()], sheet.sha256)


def _name_columns(row: Mapping[str, str]) -> dict[str, str]:
    """Call the cells of a row by their English names, but where another has that name."""
    return {name if _CALLED.get(name, name) in row else _CALLED[name]: cell for name, cell in row.items()}


def _list(names: Any) -> str:
    return " and ".join(names)


def _read_csv(path: Path, content: bytes) -> Iterator[Line]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise not_utf8(path, "CSV") from None
    csv.field_size_limit(1 << 27)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
    try:
        head = [name.strip() for name in next(rows, [])]
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) > len(head):
                raise QuadragError(
                    f"{path}:{rows.line_num} has {len(row)} cells under {len(head)} names; "
                    "put a text with commas into quotation marks"
                )
            cells = row + [""] * (len(head) - len(row))
            yield Line(f"{path}:{rows.line_num}", dict(zip(head, cells, strict=True)))
    except csv.Error as error:
        raise QuadragError(f"{path}:{rows.line_num} is not CSV ({error}); expected a CSV file") from None


def _read_export(path: Path, content: bytes) -> Iterator[Line]:
    """Read a list of objects: tasks of Label Studio, records of Argilla, or plain rows."""
    found = parse_json(content, path, "a list of objects, as Label Studio and Argilla export")
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise QuadragError(f"{path} is no list of objects; expected an export of Label Studio or Argilla, or CSV")
    for number, one in enumerate(found, 1):
        try:
            yield Line(f"{path}, item {number}", _read_object(one))
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            raise QuadragError(
                f"{path}, item {number} is not as Label Studio or Argilla export it; expected their JSON, or CSV"
            ) from None


def _read_object(one: Mapping[str, Any]) -> dict[str, str]:
    if "annotations" in one:
        shown, said = one.get("data"), list(_label_studio(one["annotations"]))
    elif "responses" in one:
        shown, said = {**(one.get("metadata") or {}), **(one.get("fields") or {})}, list(_argilla(one["responses"]))
    else:
        return {str(name): _text(value) for name, value in one.items()}
    row = {str(name): _text(value) for name, value in dict(shown or {}).items()}
    row.setdefault("id", _text(one.get("id")))
    row["label"] = said[0] if len(set(said)) == 1 else ""
    return row | {f"{ANNOTATOR}{place}": text for place, text in enumerate(said, 1) if len(said) > 1}


def _label_studio(annotations: Any) -> Iterator[str]:
    for one in annotations or ():
        for result in () if one.get("was_cancelled") else one.get("result") or ():
            value = result.get("value") or {}
            if choices := value.get("choices"):
                yield _text(choices[0])
            elif "rating" in value:
                yield _text(value["rating"])


def _argilla(responses: Any) -> Iterator[str]:
    """Yield what people said: `responses` maps a question to answers, or is a list of answers with `values`."""
    if isinstance(responses, dict):
        answers = responses.get("label") or next(iter(responses.values()), None) or ()
        yield from (_text(answer.get("value")) for answer in answers)
        return
    for one in responses or ():
        values = one.get("values") or {}
        answer = values.get("label") or next(iter(values.values()), None) or {}
        if one.get("status", "submitted") == "submitted" and "value" in answer:
            yield _text(answer["value"])


def _text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
