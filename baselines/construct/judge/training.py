"""From labels to a judge with its figures: trained on one part, measured on another, beside the model before."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from quadrag.chat.ledger import Ledger
from quadrag.errors import QuadragError
from quadrag.records import write_text

from ...certify.asking import ask_judge
from ...certify.certificate import certify
from ...certify.figures import Figures, measure
from ...certify.labels import Item, LabelSet
from ...systems.local import LocalModel
from .material import make_lessons, split_by_case
from .train import Settings, Trained, train

CERTIFICATE = "certificate.json"
_VERDICT_TOKENS = 32


@dataclass(frozen=True, slots=True)
class Judge:
    """A trained judge: how training went, and what was measured of it and of the model before, on unseen labels.

    `before` is None where no verdict of the model could be read.
    """

    trained: Trained
    lessons: int
    before: Figures | None
    after: Figures


def make_judge(labels: LabelSet, model: str, out: Path, settings: Settings, ledger: Ledger) -> Judge:
    """Train a judge, and measure it.

    `out`: a new folder for the judge, which ``local:OUT`` loads, its certificate and the ids of each part.
    `ledger`: where its verdicts are kept.

    Raises:
        NotReady: an extra is lacking.
        QuadragError: the folder is not new, the labels are no lessons, or the model cannot be loaded.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise QuadragError(f"{out} is there; give a new folder with --out")
    learn, choose, unseen = split_by_case(labels.items, settings.seed)
    lessons = make_lessons(labels, learn)
    trained = train(model, lessons, make_lessons(labels, choose), out, settings)
    kept = replace(labels, name=f"{labels.name} (unseen 40%)", items=unseen, recorded={})
    after = _measure(kept, str(out), ledger)
    if after is None:
        raise QuadragError(f"{out} gives no readable verdict; train it longer, with more --passes or a higher --rate")
    certify(after).write(out / CERTIFICATE)
    parts = {"learn": _ids(learn), "choose": _ids(choose), "unseen": _ids(unseen)}
    write_text(out / "labels.json", json.dumps(parts, ensure_ascii=False, indent=1) + "\n")
    return Judge(trained, len(lessons), _measure(kept, model, ledger), after)


def _measure(labels: LabelSet, model: str, ledger: Ledger) -> Figures | None:
    judge = LocalModel(model, ledger=ledger, parameters={"temperature": 0, "max_tokens": _VERDICT_TOKENS})
    try:
        verdicts = ask_judge(labels, judge)
        return measure(labels, verdicts) if any(verdicts.given.values()) else None
    finally:
        judge.close()


def _ids(items: Sequence[Item]) -> list[str]:
    return [item.id for item in items]
