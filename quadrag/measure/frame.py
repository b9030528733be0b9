"""Tables of pandas: the single questions of a run, or of two side by side, and the scores over all of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from quadrag.baselines.report.compared.names import Place
from quadrag.baselines.report.compared.pairs import pick_places
from quadrag.baselines.report.questions import RunReader
from quadrag.baselines.reporting.messages import say_item
from quadrag.baselines.results.items import FAILED, read_items
from quadrag.baselines.results.run import Result
from quadrag.baselines.tables.names import is_whole
from quadrag.errors import unknown_name
from quadrag.printing import clean
from quadrag.records import Key

Metric: TypeAlias = tuple[str, str, str]  # config, module and key

_QUESTION = ["config", "split", "id"]
_FIRST = ["id", "split"]
_LAST = ["sample", "config"]  # mostly alike in all rows
_TEXTS = ("query", "answer", "gold")
_REASONS = "unscored"
_BOTH = ("query", "gold")  # what two runs have alike of a question
_ROWS = ("question", "metric")
_NUMBERS = {"value", "low", "high", "before", "after", "difference", "difference_low", "difference_high", "p", "p_holm"}
_COUNTS = {"n", "n_total", "difference_n", "better", "worse", "equal"}


def check_rows(by: str) -> None:
    """Refuse to make rows of anything but questions or metrics.

    Raises:
        QuadragError: it is neither.
    """
    if by not in _ROWS:
        raise unknown_name("value of by", by, _ROWS)


def spell_place(name: str, place: Place) -> dict[str, str | bool]:
    """Return the columns that say what a score of this name is of; its metric is its name without the split."""
    config, split, *_ = place
    pooled = is_whole(split)
    return {"split": split, "pooled": pooled, "metric": name.removeprefix(f"{split}/"), "config": config}


def find_heads(results: Sequence[Result], profile: str) -> set[Metric]:
    """Find the headlines of results, by config, module and key."""
    return {(place[0], *place[2:]) for place in pick_places(results, profile)}


def score_frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Make a `pandas.DataFrame` with a row a score, of scores compared the headlines first.

    A None of `_NUMBERS` or `_COUNTS` is one that is not there.
    """
    import pandas  # type: ignore[import-untyped]

    frame = pandas.DataFrame(sorted(map(clean, rows), key=lambda row: not row.get("headline", True)))
    kinds = dict.fromkeys(_NUMBERS, "float64") | dict.fromkeys(_COUNTS, "Int64")
    return frame.astype({name: kinds[name] for name in frame if name in kinds})


def item_frame(result: Result, profile: str, reader: RunReader | None, names: Mapping[str, str]) -> Any:
    """Make a `pandas.DataFrame` with a row for each question, or for each sample of it.

    Args:
        result: of the run.
        profile: ``official`` or ``corrected``.
        reader: of the run's folder and its data; None: without the texts.
        names: what the column of each metric, as ``rgb_accuracy.accuracy``, is called, in their order.
    """
    import pandas

    rows = []
    for item in read_items(result):
        row = {name: item[name] for name in ("config", "split", "id", "sample")}
        place = ((item["config"], item["split"], item["id"]), item["sample"])
        if reader is not None:
            question = reader.questions[place[0]]
            row |= {"query": question.query, "answer": result.texts.get(place), "gold": question.references}
        failed = result.run.failures.get("/".join((*place[0], str(place[1]))), "")
        answered, reasons = result.texts.get(place) is not None, dict[str, None]()
        for name, entry in item.items():
            if isinstance(entry, Mapping):
                row[name] = entry.get(profile)
                if reason := (entry.get("reason") or {}).get(profile):
                    told = failed if reason in FAILED else ""
                    reasons[f"{reason}: {told}" if told else say_item(name, reason, result.run, answered)] = None
        rows.append({**row, _REASONS: ", ".join(reasons) or None})
    frame = pandas.DataFrame(clean(rows)).rename(columns=names)
    order = list(names.values())  # that of items varies
    values = sorted(filter(_is_value, frame), key=lambda name: order.index(name) if name in order else len(order))
    texts = [name for name in _TEXTS if name in frame]
    frame = frame[[*_FIRST, *texts, *values, _REASONS, *_LAST]].astype(dict.fromkeys(values, "float64"))
    return _type_reasons(frame, _REASONS)


def _is_value(name: str) -> bool:
    """Whether a column is a metric's: all others have a name that is known."""
    return name not in (*_FIRST, *_TEXTS, _REASONS, *_LAST)


def _type_reasons(frame: Any, *columns: str) -> Any:
    """Return a table whose columns of reasons are of one type, whether there are any or not: a text or None."""
    import pandas

    texts = ([one if isinstance(one, str) else None for one in frame[name]] for name in columns)
    made = {name: pandas.Series(one, frame.index, dtype=object) for name, one in zip(columns, texts, strict=True)}
    return frame.assign(**made)


def pair_frame(before: Any, after: Any, is_same: Callable[[Key], bool]) -> Any:
    """Put two tables of `item_frame` side by side: a row for each question that both have, with the differences.

    Where a run has several samples of a question, its values are their means, and its answer is the first one.

    Args:
        before: of one run.
        after: of another one.
        is_same: whether a question that both have by its name is the same in both.
    """
    first, second = (_merge_samples(one) for one in (before, after))
    second = second.drop(columns=[name for name in _BOTH if name in second])
    both = first.merge(second, on=_QUESTION, suffixes=("_before", "_after"))
    both = both[[is_same(key) for key in both[_QUESTION].itertuples(index=False, name=None)]].reset_index(drop=True)
    columns = [*_FIRST, *(name for name in ("query", "gold", "answer_before", "answer_after") if name in both)]
    for name in (name for name in first if _is_value(name) and name in second):
        both[f"{name}_difference"] = both[f"{name}_after"] - both[f"{name}_before"]
        columns += [f"{name}_{what}" for what in ("before", "after", "difference")]
    reasons = (f"{_REASONS}_before", f"{_REASONS}_after")
    return _type_reasons(both[[*columns, *reasons, "config"]], *reasons)


def _merge_samples(frame: Any) -> Any:
    """Merge the rows of a question's samples."""
    how = {name: "mean" if _is_value(name) else "first" for name in frame if name not in (*_QUESTION, "sample")}
    return frame.groupby(_QUESTION, sort=False, as_index=False).agg(how)
