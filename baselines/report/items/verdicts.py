"""What judges said of single items, from the ``verdicts.jsonl`` of their run."""

from collections.abc import Sequence

from quadrag.metric_record import show_key
from quadrag.records import read_jsonl

from ...core.benchmark import MetricUse
from ...runs.folder import VERDICTS
from .reader import RunReader, ShownItem


def look_up_verdicts(reader: RunReader, items: Sequence[ShownItem]) -> None:
    """Enter what judges said of items of a run, by what they were asked for."""
    path = reader.folder / VERDICTS
    if VERDICTS not in reader.run.files or not path.exists():
        return
    names = {use.name: _name_use(use) for use in reader.benchmark.metrics(reader.task.config, reader.task.conditions)}
    wanted = {(item.question.key, item.sample): item for item in items}
    for _, row in read_jsonl(path):
        item = wanted.get(((row["config"], row["split"], row["id"]), row["sample"]))
        if item is not None:
            ways = item.question.references
            several = isinstance(ways, list | tuple) and len(ways) > 1
            told = [row[part] for part in ("judge", *["about"] * several) if part in row]
            name = names.get(row["metric"], row["metric"]) + f" ({', '.join(told)})" * bool(told)
            item.verdicts.setdefault(name, []).append(row["reply"] or row.get("detail") or row.get("reason", ""))


def _name_use(use: MetricUse) -> str:
    """Name what a judge is asked for: the key that is called as the metric is, else all, as tables name them."""
    keys = (use.module,) if use.module in use.judged else use.judged
    return ", ".join(show_key(use.module, key) for key in keys)
