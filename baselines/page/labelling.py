"""The page on which a person labels answers by keys; it saves the sheet that `quadrag label --people` takes back."""

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

from quadrag.records import dumps, write_text

from .page import HERE


def write_labelling(path: Path, rows: Sequence[Sequence[str]], grades: Sequence[str]) -> None:
    """Write the page to a file; what was labelled stays in the browser until it is saved.

    Args:
        path: the file.
        rows: the sheet, the first its columns.
        grades: what a label may be, for the keys 1, 2 and so on.
    """
    from jinja2 import Environment, FileSystemLoader

    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["sha256"] = lambda text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    style, script = ((HERE / name).read_text(encoding="utf-8") for name in ("page.css", "labelling.js"))
    sheet = {"rows": [list(row) for row in rows], "grades": list(grades), "file": f"{path.stem}.csv"}
    sheet["place"] = "quadrag-label-" + hashlib.sha256(dumps(sheet).encode()).hexdigest()[:16]
    template = environment.get_template("labelling.html")
    page = template.render(title=f"quadrag: {len(rows) - 1} answers to label", sheet=sheet, style=style, script=script)
    write_text(path, page)
