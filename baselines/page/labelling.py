"""The page on which a person labels answers by keys; it saves the sheet that `quadrag label --people` takes back."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from quadrag.records import dumps, write_text
from quadrag.sheet import COMPUTED

from ..certify.grades import Graded
from ..tables.language import speak
from .render import HERE, make_environment


def write_labelling(path: Path, rows: Sequence[Sequence[str]], graded: Graded, labels: str = "en") -> None:
    """Write the page to a file; what was labelled stays in the browser until it is saved.

    Args:
        path: the file.
        rows: the sheet, the first its columns.
        graded: what is asked of an answer, and what a label may be, for the keys 1, 2 and so on.
        labels: the language, ``en`` or ``zh``.
    """
    style, script = ((HERE / name).read_text(encoding="utf-8") for name in ("page.css", "labelling.js"))
    sheet: dict[str, Any] = {"rows": [list(row) for row in rows], "grades": list(graded.grades)}
    sheet["file"] = f"{path.stem}.csv"
    sheet["place"] = "quadrag-label-" + hashlib.sha256(dumps(sheet).encode()).hexdigest()[:16]
    sheet["computed"] = COMPUTED
    words = yaml.safe_load((HERE / "labelling.yaml").read_text(encoding="utf-8"))
    sheet["words"] = {name: entry[labels] for name, entry in words.items()}
    sheet["shown"] = [speak(grade, labels) for grade in graded.grades]
    title = f"quadrag: {sheet['words']['title'].replace('{0}', str(len(rows) - 1))}"
    template = make_environment().get_template("labelling.html")
    asks = speak(graded.asks, labels)
    write_text(path, template.render(title=title, sheet=sheet, asks=asks, language=labels, style=style, script=script))
