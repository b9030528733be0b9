"""What is odd of a judge's verdicts, so that the values that rest on them say less than they seem to.

Verdicts that are one and the same, however they are worded, may be right each time, or may be said of any answer.
Others are held against what words say of the same answers. Nobody is asked here.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, TypeAlias

from quadrag.stats import NOT_APPLICABLE

from .items import Lines
from .note import Note, NoteCode
from .run import PROFILES
from .score import record_of

FIRST = 12  # verdicts of a judge: where none of these can be read, it is asked no further
_LEAST = 2  # verdicts that can be the same
_TO_CHECK, _OFTEN = 3, 0.5  # answers that words find right and a judge wrong, and their share: too many to be chance
_SOME, _FAR = 10, 0.5  # verdicts, and how far their mean is from what words say: nobody can believe both
# In what verdicts are not what words say: many are against answers that words find right, as an inverted judge's are,
# or their mean is far from what words say on average.
REFUSED, FAR = "refused", "far"

Verdicts: TypeAlias = Sequence[float | str | None]  # of answers; None where nothing was said
Said: TypeAlias = Mapping[str, Verdicts]  # by one metric, by score


def read_verdicts(lines: Lines, name: str) -> list[float | str | None]:
    """Read a metric's verdicts from its items: by `corrected`, but where a rule decides by that profile alone."""
    found: list[float | str | None] = []
    for line in lines:
        entry = line.get(name, {})
        asked = [profile for profile in PROFILES if profile in entry and profile not in entry.get("ruled", ())]
        reading = entry.get("reason", {}).get(asked[-1], entry[asked[-1]]) if asked else None
        found.append(read_verdict(name, reading))
    return found


def read_verdict(name: str, reading: float | str | None) -> float | str | None:
    """Return what a judge said: a value or, where it may say that a key does not apply, that; else None."""
    may = None in record_of(name).grades.values()
    return None if isinstance(reading, str) and not (may and reading == NOT_APPLICABLE) else reading


def check_judge(judge: str, said: Sequence[Said], lines: Lines) -> list[Note]:
    """Note what is odd of a judge's verdicts, metric by metric, on answers whose items are given."""
    notes, alike = [], []
    for each in said:
        heard = {name: [verdict for verdict in verdicts if verdict is not None] for name, verdicts in each.items()}
        alike.append({name: own for name, own in heard.items() if len({*own}) == 1 and len(own) >= _LEAST})
    if any(alike):
        verdicts = {name: own[0] for each in alike for name, own in each.items()}
        count = sum(max(map(len, each.values()), default=0) for each in alike)  # one verdict may have several keys
        # Where others on its panel tell answers apart, so does the mean.
        marked = [name for name in verdicts if len({*read_verdicts(lines, name)} - {None}) == 1]
        params = {"judge": judge, "count": count, "verdicts": verdicts, "keys": marked}
        notes.append(Note(NoteCode.JUDGE_CONSTANT, params))
    for each in said:
        for name, own in each.items():
            if doubt := _find_doubt(name, own, lines):
                notes.append(Note(NoteCode.JUDGE_DOUBTFUL, {"judge": judge, "score": name, **doubt, "keys": [*each]}))
    return notes


def _find_doubt(name: str, verdicts: Verdicts, lines: Lines) -> dict[str, Any] | None:
    """Find verdicts against answers that words find right, or whose mean is far from what words say on average."""
    record = record_of(name)
    heard = [(verdict, line) for verdict, line in zip(verdicts, lines, strict=True) if verdict is not None]
    by_words = {words: [line.get(words, {}).get(PROFILES[0]) for _, line in heard] for words in record.words}
    wrong = record.range[0] or 0.0
    right = [verdict for (verdict, _), *own in zip(heard, *by_words.values(), strict=True) if 1 in own]
    refused = right.count(wrong)
    if refused >= max(_LEAST if refused == len(right) else _TO_CHECK, _OFTEN * len(right)):
        return {"doubt": REFUSED, "verdict": wrong, "n": refused, "of": len(right)}

    numbers = [verdict for verdict, _ in heard if not isinstance(verdict, str)]
    known = {words: values for words, own in by_words.items() if (values := [v for v in own if v is not None])}
    if len(numbers) < _SOME or len({*numbers}) == 1 or not known:
        return None
    gaps = {words: abs(fmean(numbers) - fmean(values)) for words, values in known.items()}
    words = min(gaps, key=gaps.__getitem__)
    # Other words than those asked for may mean the same, and a grade says more: a judge sees it.
    if gaps[words] < _FAR or record_of(words).phrase or not {*known[words]} <= {0, 1}:
        return None
    ((verdict, n),) = Counter(numbers).most_common(1)
    counts = {"n": n, "of": len(numbers), "right": known[words].count(1), "known": len(known[words])}
    return {"doubt": FAR, "verdict": verdict, "words": words, **counts}
