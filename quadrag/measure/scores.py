"""The scores of one run by name, by their places, and as tables of pandas."""

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from quadrag.baselines.core.result import Result
from quadrag.baselines.report.compared.names import Place
from quadrag.baselines.report.compared.pairs import place_of
from quadrag.baselines.report.items.reader import RunReader
from quadrag.baselines.report.pooled import pool_rows
from quadrag.baselines.report.summary import headline_grid, pick_headlines, pool_lines
from quadrag.baselines.scoring.validity import is_alike, is_alike_beside, is_invalid
from quadrag.baselines.tables.cells import FEW, count_all, count_both, count_items
from quadrag.baselines.tables.names import number_of
from quadrag.baselines.tables.slices import select_whole
from quadrag.labels import LANGUAGES
from quadrag.measure.arguments import entrance
from quadrag.measure.frame import check_rows, item_frame, score_frame, spell_place
from quadrag.measure.named import Named
from quadrag.measure.score import Score, find_name, refuse_attribute
from quadrag.measure.words import in_python
from quadrag.metric_record import find_verdict
from quadrag.run_record import RunRecord


class Scores(Named[Score]):
    """The scores of a system, by metric: ``result["rouge_l"].value``.

    Where a config has several splits a name has the split before it: ``result["noise_40/accuracy"]``. There is a score
    over all of them, too, ``result["all 5 splits/accuracy"]``, which ``result["accuracy"]`` finds. A score is also
    found by its metric and key, as ``rgb_accuracy.accuracy``.
    """

    def __init__(self, result: Result, folder: Path, profile: str, labels: str = LANGUAGES[0]) -> None:
        """Take a run's result.

        Args:
            result: of the run.
            folder: where its files lie.
            profile: ``official`` or ``corrected``.
            labels: ``en`` or ``zh``, the language in which it is shown.
        """
        self.result = result
        self.folder = folder
        self.profile = profile
        self.labels = labels

    @cached_property
    @entrance
    def scores(self) -> dict[str, Score]:
        """The scores by name: first those over all splits, last those included that could not be computed."""
        rows = self._rows
        many = len({row["split"] for row in rows}) > 1

        def name(split: str, metric: str, key: str) -> str:
            own = self._called[f"{metric}.{key}"]
            return f"{split}/{own}" if many else own

        found = {}
        for row in (*pool_rows(self.result, rows, self.profile), *rows):
            found[name(row["split"], row["metric"], row["key"])] = Score(
                value=row["value"],
                interval=tuple(row["interval"]) if row.get("interval") and (count_items(row) or 0) >= FEW else None,
                n=count_both(row)[0],
                n_total=count_all(row),
                unscored=dict(row.get("unscored", {})),
                metric=row["metric"],
                key=row["key"],
                split=row["split"],
                signature=row["signature"],
                valid=not is_invalid(row),
                reason=in_python(row.get("why") or row.get("not_run") or _tell_doubt(row, self.result.run)),
                labels=self.labels,
            )
        return found

    @cached_property
    def places(self) -> dict[str, Place]:
        """The config, split, metric and key of each score, by its name."""
        config = self.result.run.inputs.config
        return {name: (config, one.split, one.metric, one.key) for name, one in self.scores.items()}

    @cached_property
    def _called(self) -> dict[str, str]:
        """What each metric, as ``rgb_accuracy.accuracy``, is called; the headlines first.

        By its key, where no other metric has a key of that name.
        """
        rows = (*pick_headlines(self.result.scores, self.profile), *self._rows)
        found = dict.fromkeys((row["metric"], row["key"]) for row in rows)
        keys = Counter(key for _, key in found)
        return {f"{metric}.{key}": key if keys[key] == 1 else f"{metric}.{key}" for metric, key in found}

    @property
    def _rows(self) -> list[dict[str, Any]]:
        return [row for row in select_whole(self.result.scores) if row["profile"] == self.profile]

    @entrance
    def __getitem__(self, name: str) -> Score:
        """Return a score.

        Raises:
            KeyError: none has this name, or several have; the message lists those there are.
        """
        return self.scores[find_name(name, self.places)]

    @property
    def _named(self) -> dict[str, Score]:
        return self.scores

    if not TYPE_CHECKING:  # a misspelt one is an error there

        def __getattr__(self, name: str) -> NoReturn:
            """Refuse an attribute that there is none of; of a score it says how it is found."""
            own = name.startswith("_") or hasattr(type(self), name) or "result" not in vars(self)
            refuse_attribute(self, name, {} if own else self.places)

    @property
    def name(self) -> str:
        """What was measured; measured again into a folder of its own it has the folder's number, as ``rag-2``."""
        return f"{self.result.run.inputs.llm}{number_of(self.result)}"

    @property
    @entrance
    def invalid(self) -> list[str]:
        """Why metrics are not valid, a line each: too many of their items failed, or the judge does not answer."""
        run = self.result.run
        stopped = [self.result.stopped] if self.result.stopped and not run.dead_judge else []
        return [in_python(line) for line in (*stopped, *run.invalid)]

    @property
    def valid(self) -> bool:
        """Whether the run came to its end, and no metric lost more than a fifth of its items to failures."""
        return not self.invalid

    @entrance
    def to_pandas(self, *, texts: bool = True, by: str = "question") -> Any:
        """Return a `pandas.DataFrame` with a row for each question or, `by` ``"metric"``, for each score.

        Columns that are mostly alike in all rows stand last. Of questions they are ``id`` and ``split``; ``query``,
        ``answer`` and ``gold``; the values that they count as in the scores, those of the headlines first, each named
        as ``accuracy`` or, where two metrics have a key of one name, as ``rgb_accuracy.accuracy``; ``unscored``, why
        one has none of its own, as ``raised`` with the exception: ``corrected`` counts what failed as wrong;
        ``sample`` and ``config``. Of scores they are ``score``, its name; ``value``, the interval's ``low`` and
        ``high``, ``n``, ``n_total`` and ``valid``; ``reason``, why there is no value, or why it says nothing of the
        answers; ``split``; ``pooled``, whether it is over all splits; ``metric`` and ``config``; and the run's
        ``system`` and ``folder``.

        Args:
            texts: with query, answer and gold, read from the folder and from the benchmark's data.
            by: ``question`` or ``metric``.

        Raises:
            QuadragError: `texts`, and the data are not those any more; or `by` is neither.
        """
        check_rows(by)
        if by == "metric":
            names = ("value", "low", "high", "n", "n_total", "valid", "reason")
            rows = []
            for name, one in self.scores.items():
                bounds = one.interval or (None, None)
                told = (one.value, *bounds, one.n, one.n_total, one.valid, one.reason)
                run = {"system": self.name, "folder": str(self.folder)}
                place = spell_place(name, self.places[name])
                rows.append({"score": name, **dict(zip(names, told, strict=True)), **place, **run})
            return score_frame(rows)
        return item_frame(self.result, self.profile, self._reader if texts else None, self._called)

    @cached_property
    def headlines(self) -> dict[str, str]:
        """The names of the scores that a summary shows, the most telling first, by what they are called there."""
        rows = pick_headlines(self.result.scores, self.profile)
        names = {place: name for name, place in self.places.items()}
        pooled = pool_rows(self.result, rows, self.profile)
        lines = [*pool_lines(self.result, rows, self.profile), *headline_grid(self.result, self.profile).lines]
        found = [names[place] for place in map(place_of, (*pooled, *rows))]
        return dict(zip((line.label for line in lines), found, strict=True))

    @cached_property
    def _reader(self) -> RunReader:
        return RunReader(self.folder, self.result)


def _tell_doubt(row: Mapping[str, Any], run: RunRecord) -> str:
    """Say why a row's value is marked: it rests on verdicts that say nothing of the answers; "" where it is not."""
    if not is_alike(row) or row["value"] is None:
        return ""
    verdict = find_verdict(row["metric"], row["key"])
    if verdict in chain(*run.constant_verdicts.values()):
        return "the judge says the same of every answer"
    if verdict in chain(*run.doubtful_verdicts.values()) or is_alike_beside(row):
        return "a judge's verdicts are far from what words say"
    return "the judge agrees with people no better than chance"
