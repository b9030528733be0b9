"""What a metric's values mean: the typed record that lies in its folder as ``metric.yaml``.

Whatever is decided by the name of a metric, or of one of its keys, is decided by this record. It computes nothing and
loads no evaluate module.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal

from quadrag.catalogue import metric_folder
from quadrag.errors import unknown_name
from quadrag.metrics._shared.slots import PLAIN
from quadrag.parts import Record

FILE = "metric.yaml"
WEIGHTED = "_weighted"  # at the end of a key whose questions do not count alike


class KeyRecord(Record):
    name: str  # as in the result; ``@k`` at its end stands for ``@`` and any whole number
    range: tuple[int | float | None, int | float | None]  # None: no bound
    direction: Literal["higher", "lower", "none"]  # which end is the better one
    unit: Literal["rate", "characters"] = "rate"  # a rate is shown in percent
    needs: Literal["judge", "embed", ""] = ""  # what it is not computed without
    worst: float = 0.0  # what an unscored item counts as under ``corrected``
    label: str = ""  # what its paper calls it; "" where its own name says enough
    about: str = ""  # what stands under a table that has it
    differs: str = ""  # what sets the two profiles' values apart, where they may be far from each other
    folded: bool = False  # whether its corrected value, of an item 0 or 1, rests on texts compared as folded
    grades: Mapping[str, int | float | None] = {}  # of one answer; None: it does not apply
    usual: bool = False  # whether a user's own labels are of it where nobody says of what
    by_passages: bool = False  # whether an answer is graded by the passages, and an accepted answer may be missing
    asks: str = ""  # what a person who grades an answer is asked, with what the grades say where they are numbers
    among: str = ""  # the key whose value decides, by the answer, whether an item has this one; "": the question does
    none: str = ""  # why, then, no item has it
    phrase: Mapping[str, str] = {}  # by language, what an answer holds of which it is 1
    grows: bool = False  # whether more text in an answer can only raise it
    words: tuple[str, ...] = ()  # of a verdict, the metrics that say by words alone whether the same answer is right


class MetricRecord(Record):
    name: str
    keys: Mapping[str, KeyRecord]  # in the order of the result
    parts: bool = False  # whether a reference is several needed parts, each a list of accepted answers
    needs: tuple[str, ...] = ()  # inputs besides answers and references; with ``ranks`` these are lists of ids
    configs: tuple[str, ...] = ()  # the names that it can be loaded with; () where there is one config
    verdict: str = ""  # one of a judge's, as it is read; "" where no judge is asked
    plain: str = ""  # the same by the plain prompt; "" where there is none
    ruled: str = ""  # what rules decide in place of its judge, and how that is asked, in sentences
    verdict_schema: bool = False  # whether it publishes the `response_format` that holds replies to its verdicts
    replies: Mapping[str, str] = {}  # by what stands in a prompt, a usual reply
    zh: Mapping[str, str] = {}  # the Chinese of its sentences: `about`, `differs`, `none` and `asks`
    form: Mapping[str, tuple[str, ...]] = {}  # what the page of its Space asks for, with an example, a line an item

    def show_verdict(self, judges: Sequence[Any]) -> str:
        """Return a verdict as judges are asked for it."""
        return self.plain if any(judge.prompt == PLAIN for judge in judges) else self.verdict

    def prose(self, text: str) -> dict[str, str]:
        return {"en": text, "zh": self.zh.get(text, text)}

    def key(self, name: str) -> KeyRecord:
        record = self.keys.get(name) or self.keys.get(re.sub(r"@\d+\Z", "@k", name))
        if record is None:
            raise unknown_name(f"key of {self.name}", name, self.keys)
        return record


@cache
def metric_record(name: str) -> MetricRecord:
    import yaml

    fields = yaml.safe_load((metric_folder(name) / FILE).read_text(encoding="utf-8"))
    keys = {key: {"name": key, **record} for key, record in fields["keys"].items()}
    return MetricRecord.model_validate({**fields, "keys": keys})


def show_key(metric: str, key: str) -> str:
    return metric_record(metric).key(key).label or key


def find_verdict(metric: str, key: str) -> str:
    """Name the verdict that a value rests on, ``METRIC.KEY``; "" where it rests on none.

    It is the value's own, that of each answer where it is a weighted mean, or that which says, where a judge does,
    whether an answer has the value.
    """
    record = metric_record(metric)
    own = key.removesuffix(WEIGHTED) if record.key(key).needs == "judge" else f"{record.key(key).among}_judged"
    return f"{metric}.{own}" if own in record.keys else ""


def is_called(wanted: str, metric: str, key: str) -> bool:
    return wanted in (key, f"{metric}.{key}", show_key(metric, key))


def name_together(names: Iterable[str]) -> dict[str, str]:
    """Return what metrics, each as items name it, are called where all are shown; of one label, with their modules."""
    called = {name: show_key(*name.split(".", 1)) for name in names}
    times = Counter(called.values())
    return {name: f"{label} ({name.split('.')[0]})" if times[label] > 1 else label for name, label in called.items()}
