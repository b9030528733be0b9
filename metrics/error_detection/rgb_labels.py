# SPDX-License-Identifier: Apache-2.0
"""What RGB's three metrics share: how an answer is labelled, and how labelled items become one result.

The labels follow the evaluation code of RGB (Chen et al., AAAI 2024, arXiv:2309.01431); the whole-number rule
of `bounded` and the `corrected` profile are ours. Nothing here opens a connection or a file.

A metric's folder is published alone, so all that the three share is in this one file, identical in each.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Any

VERSION = "1.0.0"
UNSCORED = ("api_error", "unparsable", "truncated")  # in the order in which an item with several is counted
NOT_APPLICABLE = "not_applicable"
REJECTION = ("信息不足", "insufficient information")
FACTUAL_ERROR = ("事实性错误", "factual errors")
# Han, kana, bopomofo and hangul: scripts in which a letter beside a match does not make another word.
_CJK = re.compile("[\u2e80-\u31ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]")


def check_options(profile: str, language: str) -> None:
    """Raise ValueError unless both are known."""
    if profile not in ("official", "corrected"):
        raise ValueError(f"profile is {profile!r}; expected 'official' or 'corrected'")
    if language not in ("en", "zh"):
        raise ValueError(f"language is {language!r}; expected 'en' or 'zh'")


def _is_list(value: Any) -> bool:
    """Whether it is a list or stands in for one: a tuple, an array, a column of a data set."""
    return hasattr(value, "__iter__") and not isinstance(value, str | bytes | dict)


def _strings(values: Any, name: str, n: int | None = None, null: bool = False) -> list[str | None]:
    """The column as a list of strings UTF-8 can hold (an API's JSON may carry half a surrogate pair)."""
    if not _is_list(values):
        raise ValueError(f"{name} is {type(values).__name__}; expected a list of strings")
    column: list[str | None] = []
    for i, value in enumerate(values):
        if not isinstance(value, str) and not (null and value is None):
            kind = type(value).__name__
            raise ValueError(f"{name}[{i}] is {kind}; expected a string{' or None' if null else ''}")
        pairs = value and value.encode("utf-16-le", "surrogatepass")
        column.append(pairs.decode("utf-16-le", "replace") if pairs else value)
    if n is not None and len(column) != n:
        raise ValueError(f"{name} has {len(column)} entries for {n} predictions; give one per prediction")
    return column


def parts(reference: Any, name: str = "reference") -> list[list[str]]:
    """Bring a gold answer to one shape: outer all needed, inner any one.

    Args:
        reference: a string; or a list of which every element is needed: a string or a list of accepted ones.
        name: what an error calls it.

    Returns:
        One list of accepted strings per needed part.

    Raises:
        ValueError: for any other shape.
    """
    if isinstance(reference, str):
        return [[reference]]
    if not _is_list(reference):
        raise ValueError(f"{name} is {type(reference).__name__}; expected a string or a list")
    return [
        [part] if isinstance(part, str) else [str(s) for s in _strings(part, f"{name}[{i}]")]
        for i, part in enumerate(reference)
    ]


def columns(predictions: Any, references: Any = None, optional: bool = False) -> dict[str, list[Any]]:
    """Bring a batch to the declared feature shapes; None stays None.

    Raises:
        ValueError: for a wrong type, different lengths, or missing references that are not `optional`.
    """
    answers = _strings(predictions, "predictions", null=True)
    if references is None and optional:
        return {"predictions": answers, "references": [None] * len(answers)}
    if not _is_list(references):
        raise ValueError(f"references is {type(references).__name__}; expected a list, one per prediction")
    golds = [
        None if optional and reference is None else parts(reference, f"references[{i}]")
        for i, reference in enumerate(references)
    ]
    if len(golds) != len(answers):
        raise ValueError(f"{len(answers)} predictions but {len(golds)} references; give one per prediction")
    return {"predictions": answers, "references": golds}


def _squeeze(text: str, language: str) -> str:
    return text.replace(" ", "") if language == "zh" else text


def _gold(text: str, language: str, profile: str) -> str:
    return _squeeze(text, language) if profile == "corrected" else text


def says(prediction: str, phrases: Sequence[str], language: str = "en", profile: str = "official") -> bool:
    """Whether the answer holds one of the protocol's fixed phrases, case-sensitively."""
    answer = _squeeze(prediction, language)
    return any(_gold(phrase, language, profile) in answer for phrase in phrases)


def label(prediction: str, gold: Any, language: str = "en", profile: str = "official") -> list[int]:
    """Label an answer as RGB's code does.

    Args:
        prediction: the model's answer.
        gold: the gold answer in any shape that `parts` reads.
        language: "zh" removes ASCII spaces from the prediction first.
        profile: "official" leaves the spaces of golds and phrases: in Chinese, those with one never match;
            "corrected" removes them there too, and lets an empty gold match nothing.

    Returns:
        [-1] for an answer with a rejection phrase, else 1 or 0 per needed part: whether an accepted string is
        in the answer, case ignored.
    """
    if says(prediction, REJECTION, language, profile):
        return [-1]
    answer = _squeeze(prediction, language).lower()
    golds = [[_gold(s, language, profile).lower() for s in accepted] for accepted in parts(gold)]
    return [int(any(s in answer and (s or profile == "official") for s in accepted)) for accepted in golds]


def correct(labels: Sequence[int]) -> bool:
    """Whether every needed part is there: no 0, and a 1 (a rejection is neither)."""
    return 0 not in labels and 1 in labels


def _runs_on(edge: str, near: str, beyond: str) -> bool:
    """Whether a match's edge character lies inside a number or word, given its two neighbours outwards."""
    if edge.isdecimal():
        return near.isdecimal() or (near in ".," and beyond.isdecimal())
    return all(c.isalpha() and not _CJK.match(c) for c in (edge, near))


def bounded(prediction: str, gold: Any, language: str = "en", profile: str = "official") -> bool:
    """Whether the answer is correct by whole numbers and words: 70 is not found in 170, 70.5 or 70,000.

    Digits may stand beside letters (70km); Chinese, Japanese and Korean characters have no word edges. For
    "zh" a match may skip the prediction's spaces, but its edges are judged with the spaces in place.
    """
    if not correct(label(prediction, gold, language, profile)):
        return False
    raw = f"\0\0{prediction.lower()}\0\0"  # so that an edge always has two neighbours
    kept = [i for i, c in enumerate(raw) if c != " " or language != "zh"]
    answer = "".join(raw[i] for i in kept)

    def whole(accepted: str) -> bool:
        start = answer.find(accepted) if accepted else -1
        while start >= 0:
            a, z = kept[start], kept[start + len(accepted) - 1]
            if not _runs_on(raw[a], raw[a - 1], raw[a - 2]) and not _runs_on(raw[z], raw[z + 1], raw[z + 2]):
                return True
            start = answer.find(accepted, start + 1)
        return False

    return all(any(whole(_gold(s, language, profile).lower()) for s in accepted) for accepted in parts(gold))


def missing(predictions: Sequence[str | None], states: Any) -> list[str]:
    """The reason why each item has no answer, "" where it has one."""
    n = len(predictions)
    given = [None] * n if states is None else _strings(states, "states", n, null=True)
    reasons = ["" if p is not None else why or "api_error" for p, why in zip(predictions, given, strict=True)]
    for i, reason in enumerate(reasons):
        if reason and reason not in UNSCORED:
            raise ValueError(f"states[{i}] is {reason!r}; expected None or one of {', '.join(UNSCORED)}")
    return reasons


def verdicts(
    judge: Callable[[list[Any]], Sequence[Any]],
    build: Callable[[str, str], list[dict[str, str]]],
    read: Callable[[str], float | None],
    predictions: Sequence[str | None],
    questions: Any,
    reasons: Sequence[str],
) -> list[float | str]:
    """Ask the judge about every item that has an answer, in one batch.

    Args:
        judge: takes a list of chat-message lists, returns for each a text or an object with a `reason`.
        build: (question, answer) to chat messages.
        read: a reply to its value, or None where it cannot be read.
        predictions: n answers or None.
        questions: n questions.
        reasons: n reasons, "" where there is an answer.

    Returns:
        n values, or the reasons why there is none.

    Raises:
        ValueError: questions are missing or not n, or the judge did not return one reply per request.
    """
    if questions is None:
        raise ValueError("judge was given without questions; pass questions=[...], one per prediction")
    asked = _strings(questions, "questions", len(predictions))
    batch = [build(str(q), p) for q, p in zip(asked, predictions, strict=True) if p is not None]
    replies = judge(batch) if batch else []
    if not _is_list(replies):
        raise ValueError(f"the judge returned {type(replies).__name__}; expected a list of replies")
    replies = list(replies)
    if len(replies) != len(batch):
        raise ValueError(f"judge returned {len(replies)} replies to {len(batch)} requests; expected one each")

    def value(reply: Any) -> float | str:
        if not isinstance(reply, str):
            reason = getattr(reply, "reason", None)
            return reason if isinstance(reason, str) and reason in UNSCORED else "api_error"
        read_as = read(reply)
        return "unparsable" if read_as is None else read_as

    values = iter([value(reply) for reply in replies])
    return [why or next(values) for why in reasons]


def fingerprint(
    name: str, profile: str, language: str, prompt: str | None = None, judge: Any = None, **more: str
) -> str:
    """The signature: all that a value depends on beside the answers, in the manner of sacrebleu."""
    fields = {"version": VERSION, "profile": profile, "language": language, **more, "tokenizer": "none"}
    fields["prompt"] = hashlib.sha256(prompt.encode()).hexdigest()[:8] if prompt else "none"
    fields["judge"] = str(getattr(judge, "model", None) or "none")
    return "|".join([name, *(f"{key}:{value}" for key, value in fields.items())])


def result(
    keys: Sequence[str], items: Sequence[dict[str, float | str]], profile: str, signature: str
) -> dict[str, Any]:
    """Average labelled items.

    Args:
        keys: the names of the values.
        items: per item and key its value, or as a string the reason why there is none.
        profile: "official" averages over the values there are; "corrected" over all items the key applies to,
            an unscored one counting 0, and gives the former beside it as `<key>_over_scored`.
        signature: as made by `fingerprint`.

    Returns:
        The averages (None where there is nothing to average), counts, `per_item` rows and the signature.
    """
    means: dict[str, float | None] = {}
    for key in keys:
        cells = [item[key] for item in items if item[key] != NOT_APPLICABLE]
        values = [cell for cell in cells if not isinstance(cell, str)]
        means[key] = over_scored = sum(values) / len(values) if values else None
        if profile == "corrected":
            means[key] = sum(values) / len(cells) if cells else None
            means[f"{key}_over_scored"] = over_scored
    unscored: dict[str, int] = {}
    per_item: list[dict[str, Any]] = []
    for item in items:
        row: dict[str, Any] = {key: None if isinstance(item[key], str) else item[key] for key in keys}
        row["reasons"] = {key: item[key] for key in keys if isinstance(item[key], str)}
        per_item.append(row)
        reason = next((reason for reason in UNSCORED if reason in row["reasons"].values()), None)
        if reason:
            unscored[reason] = unscored.get(reason, 0) + 1
    counts = {"n_total": len(items), "n_scored": len(items) - sum(unscored.values()), "unscored": unscored}
    return {**means, **counts, "per_item": per_item, "signature": signature}


def release(metric: Any) -> None:
    """Unlock what `evaluate` keeps locked after a failed computation, so that the next call starts clean."""
    for lock in metric.filelocks or []:
        lock.release()
    metric.filelocks = metric.data = None
