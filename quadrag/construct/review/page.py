"""The page on which one person grades made questions from 1 to 5, and corrects them at 3."""

from collections.abc import Mapping
from pathlib import Path

from quadrag.reporting.page.labelling import Labelling, Shown
from quadrag.reporting.page.page import read_words

from .items import GRADES, MEND, Item, Review, as_text, check_annotator, give_grade, read_grades


def review_items(
    dataset: Path, review: Review, items: Mapping[str, Item], annotator: str, labels: str = "en"
) -> Labelling:
    """Return the page of some items of a dataset; a correction that does not hold against its source is told."""
    who, words = check_annotator(annotator), read_words(labels)

    def read() -> dict[str, Shown]:
        grades, shown = read_grades(dataset, who), {}
        for name, item in items.items():
            said = grades.get(name)
            fields = {**item.fields, **(said.correction if said else {})}
            shown[name] = Shown(
                {key: as_text(value) for key, value in fields.items()},
                item.passages,
                item.marks,
                note=" · ".join(filter(None, (item.cell, item.source))),
                choice=str(said.grade) if said else "",
                lists=[key for key, value in item.fields.items() if not isinstance(value, str)],
            )
        return shown

    def save(name: str, choice: str, texts: Mapping[str, str]) -> str:
        return give_grade(dataset, review, items[name], who, int(choice), texts) or ""

    kinds = ["discard", "discard", "correct", "keep", "keep"]
    choices = {str(grade): words[kind] for grade, kind in zip(GRADES, kinds, strict=True)}
    return Labelling(f"{dataset.name}, {who}", review.asks[labels], choices, read, save, str(MEND), labels)
