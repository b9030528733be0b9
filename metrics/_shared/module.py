# SPDX-License-Identifier: Apache-2.0
"""What an evaluate module here is made of: its documentation, what drives its scorer, and the class's mixin."""

import inspect
import textwrap
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import datasets
import evaluate

from .scoring import Scorer, drive
from .tally import NOT_APPLICABLE, UNSCORED, is_list

TEXT = datasets.Value("string")
TEXTS = datasets.Sequence(TEXT)
_INPUTS = ("predictions", "references")
_MOST = 0.2  # the share of verdicts that may fail where a value is to say something
_FAILED = (*UNSCORED, "misaligned")  # reasons why a judge that was asked gave no verdict


class Option(NamedTuple):
    """A keyword of `compute`."""

    about: str  # its documentation, for users
    default: Any = None
    choices: tuple[str, ...] = ()  # all that it may be, or () where that is no list


def profile(about: str) -> Option:
    """The option that every metric has; what it means differs."""
    return Option(about, "official", ("official", "corrected"))


STATES = Option("""list of n reasons, read where a prediction is None: "api_error", "raised", "unparsable",
    "truncated", "null" or None for "api_error".""")
JUDGE = """callable from a list of chat-message lists to a list of replies, each a text or, for a failed call, an
    object with a `reason`; its `model` enters the signature, which has `judge:none` where it has none."""
_VALID = {
    "valid": """with a judge; False where more than a fifth of its verdicts failed or could not be read: the values that
        rest on them, which the profile gives all the same, say nothing of the answers.""",
}
_COUNTS = {
    "<key>_over_scored": 'with "corrected" only; over the items with a value.',
    "n_total, n_scored, unscored": "items, items without an unscored value, and the others counted by reason.",
    "per_item": """one row per item, in order: its values, and the reasons where there is none; and, with a judge,
        `ruled` where a rule decided and the judge was not asked.""",
    "signature": "what the values depend on.",
}


def document(inputs: Mapping[str, str], options: Mapping[str, Option], values: Mapping[str, str], code: str) -> str:
    """Put the documentation of `compute` together, as `evaluate` wants it; what every result has besides follows."""

    def entries(texts: Mapping[str, str]) -> str:
        lines = [f"{name}: " + inspect.cleandoc(text).replace("\n", "\n    ") for name, text in texts.items()]
        return textwrap.indent("\n".join(lines), "    ")

    told = entries({**inputs, **{name: option.about for name, option in options.items()}})
    own = {name: text for name, text in values.items() if name not in _COUNTS}
    judged = _VALID if "judge" in options else {}
    returned = entries({**own, **judged, **{name: values.get(name, text) for name, text in _COUNTS.items()}})
    examples = textwrap.indent(inspect.cleandoc(code), "    ")
    return f"\nArgs:\n{told}\nReturns:\n{returned}\nExamples:\n{examples}\n"


def info(
    description: str,
    citation: str,
    documentation: str,
    references: Any,
    code: Sequence[str],
    papers: Sequence[str],
    predictions: Any = TEXT,
) -> evaluate.MetricInfo:
    """Return what `_info` has to; `code` and `papers` are addresses."""
    return evaluate.MetricInfo(
        description=description,
        citation=citation,
        inputs_description=documentation,
        features=datasets.Features({"predictions": predictions, "references": references}),
        codebase_urls=list(code),
        reference_urls=list(papers),
    )


def panel(judge: Any, judges: Any, required: bool) -> list[Any]:
    """Return the judges given in either way, none where none is; ValueError for both, and for what cannot judge."""
    if judges is None:
        return [] if judge is None and not required else [_callable(judge, "judge")]
    if judge is not None:
        raise ValueError("both judge and judges were given; expected one of them")
    if not is_list(judges) or not list(judges):
        shown = "empty" if is_list(judges) else type(judges).__name__
        raise ValueError(f"judges is {shown}; expected a list of callables")
    return [_callable(member, f"judges[{i}]") for i, member in enumerate(judges)]


def _callable(judge: Any, name: str) -> Any:
    if not callable(judge):
        raise ValueError(f"{name} is {type(judge).__name__}; expected a callable from chats to replies")
    return judge


class Given(NamedTuple):
    """The keywords of `compute` as they were read."""

    scorer: Scorer
    profile: str
    judges: list[Any]
    columns: dict[str, Any]


class Shared:
    """Goes before `evaluate.Metric` in a metric's bases: inputs, options and the result are every metric's alike.

    It is no `evaluate.Metric` itself: `evaluate` takes the first one that it finds. `evaluate` refuses None among
    strings and takes any keyword; here None is an item without an answer, and options are checked.
    """

    SCORER: type[Scorer]
    OPTIONS: Mapping[str, Option]
    config_name: Any
    filelocks: Any
    data: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # On the copy that evaluate makes for each instance, so that help() and inspect show the options.
        defaults = {**dict.fromkeys(_INPUTS), **{name: option.default for name, option in self.OPTIONS.items()}}
        kind = inspect.Parameter.KEYWORD_ONLY
        keywords = [inspect.Parameter(name, kind, default=default) for name, default in defaults.items()]
        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.compute.__func__.__signature__ = inspect.Signature([own, *keywords])

    def _enforce_nested_string_type(self, schema: Any, obj: Any) -> None:
        """Accept None; the scorer has checked every entry before."""

    def add(self, *, prediction: Any = None, reference: Any = None) -> None:
        """Add one answer and its reference; None is a value of either where the metric says so."""
        nothing = reference is None and self.SCORER.OPTIONAL
        self.add_batch(predictions=[prediction], references=None if nothing else [reference])

    def add_batch(self, *, predictions: Any = None, references: Any = None) -> None:
        """Add n answers and their references, in any documented shape."""
        super().add_batch(**self.SCORER.columns(predictions, references))  # type: ignore[misc]  # evaluate's

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any] | None:
        """Score what was added and what is given here; with a judge, say whether it is `valid`, and warn if not."""
        scores = self.compute_quietly(predictions=predictions, references=references, **options)
        if scores and (options.get("judge") or options.get("judges")):
            told, valid = self._failures(scores)
            if told:
                warnings.warn(told, stacklevel=2)
            scores["valid"] = valid
        return scores

    def compute_quietly(
        self, *, predictions: Any = None, references: Any = None, **options: Any
    ) -> dict[str, Any] | None:
        """Score as `compute` does, whatever the verdicts, without a warning; None where another process reports."""
        given = self._read(options)
        if predictions is not None or references is not None:
            self.add_batch(predictions=predictions, references=references)
        try:
            scores: dict[str, Any] | None = super().compute(given=given)  # type: ignore[misc]  # evaluate's
        except Exception:
            # evaluate keeps its files locked when a computation raises. Unlocked, so that the next call starts clean.
            for lock in self.filelocks or []:
                lock.release()
            self.filelocks = self.data = None
            raise
        return scores

    def _read(self, options: Mapping[str, Any]) -> Given:
        for name in options:
            if name not in self.OPTIONS:
                raise TypeError(f"{type(self).__name__}.compute() got an unexpected keyword argument {name!r}")
        values = {name: options.get(name, option.default) for name, option in self.OPTIONS.items()}
        for name, option in self.OPTIONS.items():
            if option.choices and values[name] not in option.choices:
                raise ValueError(f"{name} is {values[name]!r}; expected {' or '.join(map(repr, option.choices))}")
        profile = values.pop("profile")
        judges = panel(values.pop("judge", None), values.pop("judges", None), self.SCORER.REQUIRED)
        columns = {name: values.pop(name) for name in ("states", *self.SCORER.COLUMNS)}
        scorer = self.SCORER(profiles=(profile,), judges=len(judges), config=self.config_name, **values)
        return Given(scorer, profile, judges, columns)

    def _compute(self, predictions: list[Any], references: list[Any], given: Given) -> dict[str, Any]:
        self.answered = [answer is not None for answer in predictions]
        items = given.scorer.items(predictions, references, **given.columns)
        rows = drive(given.scorer, items, given.judges)
        models = [getattr(judge, "model", None) for judge in given.judges]
        return given.scorer.summarise(items, rows, given.profile, models)

    def _failures(self, scores: Mapping[str, Any]) -> tuple[str, bool]:
        """Say how many verdicts failed, "" where none did; and whether no value rests on more than a fifth of such."""
        rows = [row for row, answered in zip(scores["per_item"], self.answered, strict=True) if answered]
        rows = [row for row in rows if not row.get("ruled") and {*row["reasons"].values()} != {NOT_APPLICABLE}]
        failed = [{key: why for key, why in row["reasons"].items() if why in _FAILED} for row in rows]
        lost = Counter(key for reasons in failed for key in reasons if key not in self.SCORER.SETTLED)
        valid = max(lost.values(), default=0) <= _MOST * len(rows)
        if not lost:
            return "", valid
        unread = {why for reasons in failed for why in reasons.values()} == {"unparsable"}
        told = f"scored {scores['n_scored']} of {scores['n_total']}: {sum(map(bool, failed))} of {len(rows)} verdicts "
        told += "could not be read" if unread else "failed or could not be read"
        return (told if valid else f"INVALID, {told}, more than a fifth"), valid
