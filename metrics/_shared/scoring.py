# SPDX-License-Identifier: Apache-2.0
"""What a metric's pure core does: items in, requests out, replies in, rows with both profiles out.

Texts are compared by words as folded: what differs in writing alone, and a reader takes for the same, is the same.
That is composed and decomposed letters, forms of width, blanks and line breaks, hyphens and minus signs, apostrophes,
quotation marks, and numbers whose digits are grouped or not. What tells numbers apart stays, so this is not NFKC, which
makes 102 of 10² and 51/2 of 5½. Case stays, and so do traditional and simplified characters.

`Scorer.score` is a generator. It yields lists of requests, receives a list with the reply to each, and returns a row an
item, so whoever drives it decides who is asked, how often, and what is kept. Nothing here opens a connection.

A request is `{"messages": [{"role": ..., "content": ...}, ...], "item": place}`, with `judge`, the place of one on a
panel, and `about`, the one of several references that it shows. A reply is a text or, for a failed call, an object with
a `reason`. A row is `{"official": {...}, "corrected": {...}}`, each with a value or None by key, `reasons` by key and,
where the judge was not asked, by a rule, `ruled`.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any, ClassVar

_HARD = "\u00a0"  # stands for the blanks that no line breaks at, until digits are grouped
_LIKE = {
    _HARD: "\u00a0\u2007\u2009\u202f",
    " ": "\u115f\u1160\u2800\u3164",  # no white space to Unicode, but nothing to see either
    "-": "\u02d7\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\ufe58\ufe63",
    "'": "`\u00b4\u02b9\u02bb\u02bc\u02bd\u2018\u2019\u201a\u201b\u2032\ua78c",
    '"': "\u201c\u201d\u201e\u201f\u2033",
    "/": "\u2044\u2215",
}
_PLAIN = {char: plain for plain, chars in _LIKE.items() for char in chars}
_GROUPED = re.compile(
    rf"(?<![0-9])(?<![0-9][.,])[1-9][0-9]{{0,2}}(?P<mark>[,'{_HARD}])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*"
    r"(?!(?P=mark)?[0-9])"
)
# Han, kana and bopomofo, with their punctuation: a blank beside one of them separates nothing.
_UNSPACED = "[\u2e80-\u312f\u3190-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_BLANKS = re.compile(f"(?<={_UNSPACED}) +| +(?={_UNSPACED})| +(?= )")


class _Alike(dict[int, str]):
    def __missing__(self, code: int) -> str:
        char = chr(code)
        form, _, narrow = unicodedata.decomposition(char).partition(" ")
        if form in ("<wide>", "<narrow>"):
            plain = self[int(narrow, 16)]
        elif char.isspace():
            plain = _PLAIN.get(char, " ")
        else:
            unseen = unicodedata.category(char) in ("Cc", "Cf") or 0xFE00 <= code <= 0xFE0F
            plain = "" if unseen else _PLAIN.get(char, char)
        self[code] = plain
        return plain


_ALIKE = _Alike()


@lru_cache(maxsize=1 << 12)
def fold(text: str) -> str:
    """Return a text as it is compared; "" where there is nothing to see in it."""
    plain = text if text.isascii() and text.isprintable() else unicodedata.normalize("NFC", text.translate(_ALIKE))
    plain = _GROUPED.sub(lambda number: number[0].replace(number["mark"], ""), plain.replace("`", "'"))
    return _BLANKS.sub("", plain.replace(_HARD, " ")).strip()


# In the order in which an item with several is counted. A function of the user's has "raised" an exception,
# a file of answers "null" in their place.
UNSCORED = ("api_error", "raised", "unparsable", "truncated", "null")
NOT_APPLICABLE = "not_applicable"
# The tags that models write around their reasoning.
_NAMES = r"(?:seed:)?(?:think(?:ing)?|thought|reasoning)"
_TAG = re.compile(rf"(?i:<\s*{_NAMES}\s*>)|\[THINK\]|◁think▷|<\|START_THINKING\|>|<\|begin_of_thought\|>")
_OPEN = re.compile(rf"[\s\ufeff]*(?:{_TAG.pattern})")
_CLOSE = re.compile(rf"(?i:<\s*/\s*{_NAMES}\s*>)|\[/THINK\]|◁/think▷|<\|END_THINKING\|>|<\|end_of_thought\|>")
# The channels of gpt-oss, as it writes them, and as they read where their marks were dropped.
_CHANNELS = re.compile(r"\s*(?:<\|start\|>assistant)?<\|channel\|>")
_MARK = r"<\|(?:end|return|call|start|channel)\|>"
_CHANNEL = re.compile(rf"<\|channel\|>\s*(\w+).*?<\|message\|>(.*?)(?={_MARK}|\Z)", re.DOTALL)
_SPOKEN = re.compile(r"\s*analysis(?=\S)(.*?)assistant(?:commentary.*?assistant)?final", re.DOTALL)


def is_list(value: Any) -> bool:
    """Whether it is a list or stands in for one: a tuple, an array, a column of a data set; no table, no mapping."""
    table = hasattr(value, "columns") or hasattr(value, "column_names")  # these iterate over names, or over rows
    return hasattr(value, "__iter__") and not table and not isinstance(value, str | bytes | Mapping)


def string(value: Any, name: str, null: bool = False) -> Any:
    """Return a text as UTF-8 can hold it (an API's JSON may carry half a surrogate pair); else ValueError.

    With `null` what stands for nothing (None, NaN, pandas' NA) is None.
    """
    if null and (value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType"):
        return None
    if not isinstance(value, str):
        raise ValueError(f"{name} is {type(value).__name__}; expected a string{' or None' if null else ''}")
    return str(value).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def column(values: Any, name: str, n: int | None = None, entries: str = "") -> list[Any]:
    """Return a column of `n` entries as a list; ValueError for a table, a mapping, a set."""
    if not is_list(values) or isinstance(values, Set):
        kind = type(values).__name__
        raise ValueError(
            f"{name} is {kind}; expected a list{entries or ', one per prediction'}; of a table pass a column"
        )
    listed = list(values.to_pylist() if hasattr(values, "to_pylist") else values)
    if n is not None and len(listed) != n:
        raise ValueError(f"{name} has {len(listed)} entries for {n} predictions; give one per prediction")
    return listed


def strings(values: Any, name: str, n: int | None = None, null: bool = False) -> list[Any]:
    listed = column(values, name, n, " of strings")
    return [string(value, f"{name}[{i}]", null) for i, value in enumerate(listed)]


def read_accepted(reference: Any, name: str = "reference") -> list[str]:
    """Bring a reference to a list of accepted answers: of a string, a list of strings, or None for none."""
    return strings([reference] if isinstance(reference, str) else [] if reference is None else reference, name)


def missing(predictions: Sequence[Any], states: Any) -> list[str]:
    """Return the reason why each item has no answer, "" where it has one; without `states` it is "api_error"."""
    n = len(predictions)
    given = [None] * n if states is None else strings(states, "states", n, null=True)
    reasons = ["" if p is not None else why or "api_error" for p, why in zip(predictions, given, strict=True)]
    for i, reason in enumerate(reasons):
        if reason and reason not in UNSCORED:
            raise ValueError(f"states[{i}] is {reason[:60]!r}; expected None or one of {', '.join(UNSCORED)}")
    return reasons


def split_reasoning(content: str) -> tuple[str, str | None]:
    """Split a model's output into answer and reasoning, or None; reasoning without an end leaves an empty answer.

    Reasoning stands at the start, between tags as ``<think>`` and ``</think>``, or in channels that are not ``final``.
    Chat templates that open it themselves leave only ``</think>`` in the output.
    """
    answer, thoughts = content, []
    while True:
        opened, closed = _OPEN.match(answer), _CLOSE.search(answer)
        if _CHANNELS.match(answer):
            parts = _CHANNEL.findall(answer)
            thoughts += [text for name, text in parts if name != "final"]
            answer = "".join(text for name, text in parts if name == "final")
        elif spoken := _SPOKEN.match(answer):
            thoughts.append(spoken[1])
            answer = answer[spoken.end() :].lstrip()
        elif opened or (closed and not _TAG.search(answer, 0, closed.start())):
            thoughts.append(answer[opened.end() if opened else 0 : closed.start() if closed else None])
            answer = answer[closed.end() :].lstrip() if closed else ""
        else:
            return answer, "\n".join(filter(None, map(str.strip, thoughts))) or None


PROFILES = ("official", "corrected")
_STRETCH, _STEP = 140, 20  # bytes: a stretch is longer than a verdict, and than a rule of them that a judge quotes

Item = Mapping[str, Any]
Request = dict[str, Any]
Row = dict[str, Any]
Cells = Mapping[str, "float | str"]  # a value by key, or the reason why there is none
Rounds = Generator[list[Request], list[Any], Any]
Column = tuple[str, Callable[[Any, str, int], list[Any]]]


class Scorer:
    """A metric: its constructor takes the options, `items` reads columns, `score` marks, `summarise` averages.

    An item has `prediction` (None where there is none), `reference`, `state` (why there is no prediction, else ""), and
    an entry of each column that was given.
    """

    NAME: ClassVar[str]
    VERSION: ClassVar[str]  # goes up when a value may change
    KEYS: ClassVar[Sequence[str]] = ()
    COLUMNS: ClassVar[Mapping[str, Column]] = {}  # the metric's own, with the item's field and what reads them
    JUDGES: ClassVar[tuple[int, float]] = (0, 0)  # the least and the most of them that it takes
    WORST: ClassVar[Mapping[str, float]] = {}  # what an unscored item counts as in "corrected", where not as 0

    prompt = ""  # all that a judge is instructed with

    def __init__(self, profiles: Sequence[str] = PROFILES, judges: int = 0, config: str | None = None) -> None:
        self.profiles, self.judges, self.config = profiles, judges, config
        self.keys: Sequence[str] = self.KEYS

    @staticmethod
    def prediction(value: Any, name: str) -> Any:
        """Bring one answer to the declared shape, None where there is none; `name` is what an error calls it."""
        return string(value, name, null=True)

    @staticmethod
    def reference(value: Any, name: str) -> Any:
        """Bring one reference to the declared shape."""
        raise NotImplementedError

    @classmethod
    def columns(cls, predictions: Any, references: Any) -> dict[str, list[Any]]:
        """Bring predictions and references to the declared shapes."""
        answers = column(predictions, "predictions", entries=" of answers")
        golds = column(references, "references")
        if len(golds) != len(answers):
            raise ValueError(f"{len(answers)} predictions but {len(golds)} references; give one per prediction")
        return {
            "predictions": [cls.prediction(value, f"predictions[{i}]") for i, value in enumerate(answers)],
            "references": [cls.reference(value, f"references[{i}]") for i, value in enumerate(golds)],
        }

    def items(self, predictions: Sequence[Any], references: Sequence[Any], **columns: Any) -> list[Item]:
        """Return the items of n predictions and references as `columns` reads them, and of the other columns.

        Those are `states` and what `COLUMNS` names, each with n entries or None; ValueError where one does not fit.
        """
        if self.judges and "questions" in self.COLUMNS and columns.get("questions") is None:
            raise ValueError(
                "questions is None, and the judge is to see them; pass questions=[...], one per prediction"
            )
        read = {"prediction": predictions, "reference": references}
        read["state"] = missing(predictions, columns.pop("states", None))
        for name, values in columns.items():
            if values is not None:
                field, reader = self.COLUMNS[name]
                read[field] = reader(values, name, len(predictions))
        return [dict(zip(read, entries, strict=True)) for entries in zip(*read.values(), strict=True)]

    def mark(self, item: Item, profile: str) -> Rounds:
        """Mark one item under one profile: yield what is to be asked of it, round by round, and return its row."""
        yield from ()
        return row(self.cells(item, profile))

    def cells(self, item: Item, profile: str) -> Cells:
        """Return the values of an item that no judge is asked about."""
        raise NotImplementedError

    def score(self, items: Sequence[Item]) -> Generator[list[Request], list[Any], list[Row]]:
        """Mark all items, each round of all of them and of both profiles in one list, where each request is once."""
        rows: list[Row] = [{} for _ in items]
        marks = [(at, profile, self.mark(item, profile)) for at, item in enumerate(items) for profile in self.profiles]
        replies: list[Any] = [None] * len(marks)  # None begins a generator
        while marks:
            batch: dict[tuple[int, str], Request] = {}
            waiting, asked = [], []
            for (at, profile, mark), answers in zip(marks, replies, strict=True):
                try:
                    requests = mark.send(answers)
                except StopIteration as done:
                    rows[at][profile] = done.value
                    continue
                keys = [(at, repr(request)) for request in requests]
                batch |= {key: {**request, "item": at} for key, request in zip(keys, requests, strict=True)}
                waiting.append((at, profile, mark))
                asked.append(keys)
            replies_by_key = dict(zip(batch, (yield [*batch.values()]) if batch else [], strict=True))
            marks, replies = waiting, [[replies_by_key[key] for key in keys] for keys in asked]
        return rows

    def hear(self, reply: Any, profile: str) -> tuple[str | None, str]:
        """Return a reply's text without reasoning, or None, and why; "" where there is a text.

        For "corrected" one that repeats the instructions, in which verdicts stand, is none.
        """
        if not isinstance(reply, str):
            why = getattr(reply, "reason", None)
            return None, why if isinstance(why, str) and why in UNSCORED else "api_error"
        text, reasoning = split_reasoning(str(reply))
        if reasoning and not text:
            return None, "truncated"
        if profile == "corrected" and repeats(text, self.prompt):
            return None, "unparsable"
        return text, ""

    def conditions(self, profile: str) -> dict[str, str]:
        """Return what else the values depend on, for the signature; `judge` where that is not the judge's name."""
        return {}

    def sign(self, profile: str, models: Sequence[Any] = ()) -> str:
        """Return the signature: all that a value depends on beside the answers, in the manner of sacrebleu."""
        fields = {"version": self.VERSION, "profile": profile, **self.conditions(profile)}
        fields.setdefault("tokenizer", "none")
        prompt = self.prompt if self.judges else ""
        names = [str(model or "none") for model in models] or [fields.pop("judge", "none")]
        fields["prompt"] = hashlib.sha256(prompt.encode()).hexdigest()[:8] if prompt else "none"
        fields["judge"] = f"mean({'+'.join(names)})" if len(names) > 1 else names[0]
        return "|".join([self.NAME, *(f"{key}:{value}" for key, value in fields.items())])

    def summarise(self, rows: Sequence[Row], profile: str, models: Sequence[Any] = ()) -> dict[str, Any]:
        """Return the result of a profile, whose judges have the names `models`: means, counts, rows, signature."""
        per_item = [row[profile] for row in rows]
        means = average(self.keys, per_item, profile, self.WORST)
        return {**means, **count(per_item), "per_item": per_item, "signature": self.sign(profile, models)}


def row(cells: Cells, ruled: bool = False) -> Row:
    """Return an item's row under a profile; `ruled`: the judge that there is was not asked about it, by a rule."""
    marked: Row = {key: None if isinstance(cell, str) else cell for key, cell in cells.items()}
    marked["reasons"] = {key: cell for key, cell in cells.items() if isinstance(cell, str)}
    return marked | ({"ruled": True} if ruled else {})


def average(
    keys: Sequence[str], rows: Sequence[Row], profile: str, worst: Mapping[str, float]
) -> dict[str, float | None]:
    """Average rows by key; averages of nothing are None.

    "official" averages over the values there are; "corrected" over all items the key applies to, an unscored one
    counting as the `worst` value or 0, and gives the former beside it as `<key>_over_scored`.
    """
    means: dict[str, float | None] = {}
    for key in keys:
        values = [row[key] for row in rows if row[key] is not None]
        means[key] = over_scored = sum(values) / len(values) if values else None
        if profile == "corrected":
            n = sum(row["reasons"].get(key) != NOT_APPLICABLE for row in rows)
            means[key] = (sum(values) + worst.get(key, 0.0) * (n - len(values))) / n if n else None
            means[f"{key}_over_scored"] = over_scored
    return means


def count(rows: Sequence[Row]) -> dict[str, Any]:
    unscored: Counter[str] = Counter()
    for row in rows:
        reasons = [reason for reason in row["reasons"].values() if reason != NOT_APPLICABLE]
        unscored.update([choose_reason(reasons)] if reasons else [])
    return {"n_total": len(rows), "n_scored": len(rows) - unscored.total(), "unscored": dict(unscored)}


def choose_reason(reasons: Sequence[str]) -> str:
    return min(reasons, key=lambda reason: UNSCORED.index(reason) if reason in UNSCORED else len(UNSCORED))


def drive(scorer: Scorer, items: Sequence[Item], judges: Sequence[Any]) -> list[Row]:
    """Have items scored: ask each judge on the panel all that a round has for it in one call."""

    def ask(batch: list[Request]) -> list[Any]:
        replies: list[Any] = [None] * len(batch)
        for number, judge in enumerate(judges):
            places = [at for at, request in enumerate(batch) if request.get("judge", 0) == number]
            texts = _ask(judge, [batch[at]["messages"] for at in places]) if places else []
            for at, reply in zip(places, texts, strict=True):
                replies[at] = reply
        return replies

    return drive_rounds(scorer.score(items), ask)


def drive_rounds(rounds: Rounds, ask: Callable[[list[Request]], list[Any]]) -> list[Row]:
    """Return the rows of `Scorer.score`, of which `ask` answers all requests of a round at once."""
    replies: Any = None
    while True:
        try:
            batch = rounds.send(replies)
        except StopIteration as done:
            rows: list[Row] = done.value
            return rows
        replies = ask(batch)


def _ask(judge: Any, chats: list[Any]) -> list[Any]:
    replies = judge(chats)
    if not is_list(replies):
        raise ValueError(f"the judge returned {type(replies).__name__}; expected a list of replies, at once")
    replies = list(replies)
    if len(replies) != len(chats):
        raise ValueError(f"judge returned {len(replies)} replies to {len(chats)} requests; expected one each")
    return replies


@lru_cache
def _stretches(instructions: str) -> list[bytes]:
    around = [" ".join(text.split()).encode("utf-8", "replace") for text in re.split(r"\{\w+\}", instructions)]
    return [text[at : at + _STRETCH] for text in around for at in range(0, len(text) - _STRETCH + 1, _STEP)]


def repeats(reply: str, instructions: str) -> bool:
    """Whether a reply repeats instructions, whole or 160 bytes of them; what stands in their slots is not theirs."""
    plain = " ".join(reply.replace("\\n", " ").split()).encode("utf-8", "replace")  # JSON too
    return any(stretch in plain for stretch in _stretches(instructions))
