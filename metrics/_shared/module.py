# SPDX-License-Identifier: Apache-2.0
"""What an evaluate module here is made of: options that are written once, the documentation, and the class's mixin."""

import inspect
import textwrap
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from types import SimpleNamespace as Options
from typing import Any, NamedTuple

import datasets
import evaluate

from .tally import NOT_APPLICABLE, UNSCORED, column, fingerprint, result, strings

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
    read: Callable[[Any], Any] = lambda value: value  # what the metric uses in its place; or ValueError


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


def required_judge(judge: Any, name: str = "judge") -> Any:
    """Return the judge; ValueError where it cannot be asked."""
    if not callable(judge):
        raise ValueError(f"{name} is {type(judge).__name__}; expected a callable from chats to replies")
    return judge


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


class Shared:
    """Goes before `evaluate.Metric` in a metric's bases: inputs, options and the result are every metric's alike.

    It is no `evaluate.Metric` itself: `evaluate` takes the first one that it finds. `evaluate` refuses None among
    strings and takes any keyword; here None is an item without an answer, and options are checked.
    """

    VERSION: str  # goes up when a value may change
    OPTIONS: Mapping[str, Option]
    OPTIONAL = False  # whether references may be left out
    WORST: Mapping[str, float] = MappingProxyType({})  # what an unscored item counts as in "corrected", where not as 0
    SETTLED: Sequence[str] = ()  # keys of values that rest on no verdict, though items without one have none of them
    filelocks: Any
    data: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # On the copy that evaluate makes for each instance, so that help() and inspect show the options.
        given = {**dict.fromkeys(_INPUTS), **{name: option.default for name, option in self.OPTIONS.items()}}
        kind = inspect.Parameter.KEYWORD_ONLY
        keywords = [inspect.Parameter(name, kind, default=default) for name, default in given.items()]
        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.compute.__func__.__signature__ = inspect.Signature([own, *keywords])

    @staticmethod
    def reference(value: Any, name: str) -> Any:
        """Bring one reference to the declared shape; `name` is what an error calls it. Each metric has its own."""
        raise NotImplementedError

    def complete(self, options: Options) -> None:
        """Check what options say of each other, and put in what follows from several; raises ValueError."""

    def columns(self, predictions: Any, references: Any) -> dict[str, list[Any]]:
        """Bring a batch to the declared shapes; None stays None."""
        answers = strings(predictions, "predictions", null=True)
        if references is None and self.OPTIONAL:
            references = [None] * len(answers)
        golds = [
            None if value is None and self.OPTIONAL else self.reference(value, f"references[{i}]")
            for i, value in enumerate(column(references, "references"))
        ]
        if len(golds) != len(answers):
            raise ValueError(f"{len(answers)} predictions but {len(golds)} references; give one per prediction")
        return {"predictions": answers, "references": golds}

    def _enforce_nested_string_type(self, schema: Any, obj: Any) -> None:
        """Accept None; `columns` has checked every entry before."""

    def add(self, *, prediction: Any = None, reference: Any = None) -> None:
        """Add one answer and its reference; None is a value of either where the metric says so."""
        self.add_batch(predictions=[prediction], references=[reference])

    def add_batch(self, *, predictions: Any = None, references: Any = None) -> None:
        """Add n answers and their references, in any documented shape."""
        super().add_batch(**self.columns(predictions, references))

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any] | None:
        """Score what was added and what is given here; with a judge, say whether it is `valid`, and warn if not."""
        scores = self.compute_quietly(predictions=predictions, references=references, **options)
        if scores and (options.get("judge") or options.get("judges")):
            told, valid = self._failures(scores)
            if told:
                warnings.warn(told, stacklevel=2)
            scores["valid"] = valid
        return scores

    def compute_quietly(self, *, predictions: Any = None, references: Any = None, **options: Any) -> Any:
        """Score as `compute` does, whatever the verdicts, without a warning: for who tells of these itself."""
        return self.tally(predictions, references, self._read(options))

    def compute_here(self, *, predictions: Any, references: Any, **options: Any) -> dict[str, Any]:
        """Score what is given as `compute` does, without the files of `evaluate`: a tenth of its time for an item."""
        computed: dict[str, Any] = self._compute(**self.columns(predictions, references), options=self._read(options))  # type: ignore[attr-defined]  # each metric's
        return computed

    def _read(self, given: Mapping[str, Any]) -> Options:
        for name in given:
            if name not in self.OPTIONS:
                raise TypeError(f"{type(self).__name__}.compute() got an unexpected keyword argument {name!r}")
        options = Options()
        for name, option in self.OPTIONS.items():
            value = given.get(name, option.default)
            if option.choices and value not in option.choices:
                raise ValueError(f"{name} is {value!r}; expected {' or '.join(map(repr, option.choices))}")
            setattr(options, name, option.read(value))
        self.complete(options)
        return options

    def tally(self, predictions: Any, references: Any, options: Options) -> dict[str, Any] | None:
        """Add what is given and compute, with the options as they were read; None where another process reports."""
        if predictions is not None or references is not None:
            self.add_batch(predictions=predictions, references=references)
        try:
            scores: dict[str, Any] | None = super().compute(options=options)
        except Exception:
            # evaluate keeps its files locked when a computation raises. Unlocked, so that the next call starts clean.
            for lock in self.filelocks or []:
                lock.release()
            self.filelocks = self.data = None
            raise
        return scores

    def sign(self, options: Options, prompt: str | None = None, judge: Any = None, **more: str) -> str:
        return fingerprint(self.name, self.VERSION, options.profile, prompt, judge, **more)

    def result(
        self,
        keys: Sequence[str],
        items: Sequence[dict[str, float | str]],
        options: Options,
        prompt: str | None = None,
        judge: Any = None,
        ruled: Sequence[bool] = (),
        **more: str,
    ) -> dict[str, Any]:
        """Average labelled items and sign the means; see `tally.result` and `tally.fingerprint`."""
        return result(keys, items, options.profile, self.sign(options, prompt, judge, **more), ruled, self.WORST)

    def _finalize(self) -> None:
        super()._finalize()  # type: ignore[misc]  # each metric's
        if self.data is not None:
            self.answered = [answer is not None for answer in self.data["predictions"]]

    def _failures(self, scores: Mapping[str, Any]) -> tuple[str, bool]:
        """Say how many verdicts failed, "" where none did; and whether no value rests on more than a fifth of such."""
        rows = [row for row, answered in zip(scores["per_item"], self.answered, strict=True) if answered]
        rows = [row for row in rows if not row.get("ruled") and {*row["reasons"].values()} != {NOT_APPLICABLE}]
        failed = [{key: why for key, why in row["reasons"].items() if why in _FAILED} for row in rows]
        lost = Counter(key for reasons in failed for key in reasons if key not in self.SETTLED)
        valid = max(lost.values(), default=0) <= _MOST * len(rows)
        if not lost:
            return "", valid
        unread = {why for reasons in failed for why in reasons.values()} == {"unparsable"}
        told = f"scored {scores['n_scored']} of {scores['n_total']}: {sum(map(bool, failed))} of {len(rows)} verdicts "
        told += "could not be read" if unread else "failed or could not be read"
        return (told if valid else f"INVALID, {told}, more than a fifth"), valid
