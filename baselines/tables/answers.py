"""What is odd of the answers behind a table, so that its values say less than they seem to."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from quadrag.chat.keys import known_keys
from quadrag.metric_record import metric_record
from quadrag.records import Key
from quadrag.run_record import RunRecord
from quadrag.wrapping import is_wide

from ..core.benchmark import load
from ..core.result import Result
from ..core.settings import NONE
from ..scoring.rules import find_refused
from ..systems.extractive import EXTRACTIVE, NO_PASSAGES
from .folded import fold_lines, fold_notes
from .grid import Alarm, Detail
from .names import join_runs, name_apart
from .passages import tell_passages

_SHOWN = 40  # characters of an answer
_FEW, _SHARE = 5, 0.05  # questions, and their share, that may have one answer by chance
_MANY, _MOSTLY = 10, 0.9  # questions, and their share, that one text answers which a metric looks for: it is told
_LITTLE = 0.02  # share of questions that may have an empty answer
_MOST = 3  # texts that are told
_MOST_LINES = 8  # lines of several runs: of more, those alike but for their numbers are one
# Numbers, times and ids: what differs each time in the text of an error.
_VARYING = re.compile(r"(?<![\w-])[\w-]*\d[\w-]*", re.ASCII)
_LEAST = 12  # letters beside them, a Chinese one counting for two: answers with fewer are told apart by their numbers
# The words of an error, as programs say them: not of RGB's answers about factual errors, nor of one's news.
_ERROR = re.compile(
    r"(?<!factual )\berror\b(?! in (?:the|this) )|(?-i:\w(?:Error|Exception)\b)|\bexception\b(?! of)|\btime ?out\b|"
    r"\b(?:timed out|traceback|status code|rate limit|request id|request failed|failed to (?:connect|fetch|load))\b|"
    r"\bconnection (?:reset|refused|aborted|closed)\b|\bbad gateway\b|\bservice unavailable\b|\btoo many requests\b|"
    r"\bcontext length exceeded\b|\bmax(?:imum)? retries\b|\bmodel (?:is )?(?:currently )?overloaded\b|"
    r"\bHTTP [45]\d\d\b|(?-i:\w(?:Timeout)\b)|"
    r"(?:系统|服务|服务器|网络|请求|接口|调用|连接|程序|内部|未知|发生|出现)(?:错误|异常|超时|失败)|"
    r"(?:错误|异常|超时|失败)(?:码|代码|信息|[:：])|请稍后",
    re.IGNORECASE,
)
_BEGIN = 80  # characters of an answer in which they stand
_ENDS = ".。!！"  # of answers that are else the same text
# What to do where they are errors, by how the answers came.
_SERVICE = "let the service reply with an error status"
_CONSTANT = ": right each time or said of any question"
_INSTEAD = {
    "python": "let the function raise",
    "file": "put null in the file",
    "json": _SERVICE,
    "openai": _SERVICE,
}

_Place = tuple[Key, int]  # a question and its sample


def note_answers(results: Sequence[Result]) -> list[str]:
    """Say what of a run's answers is odd: empty or one text, right but refused, their passages not read, or none known.

    That the baseline has nothing to say without passages is as it should be, and is no alarm; nor is it that answers
    decline with the phrase that a prompt asks for.
    """
    bare = [one.run.inputs.config for one in results if _is_bare(one) and not any(_sort_texts(one))]
    where = f"Without documents all answers of {', '.join(dict.fromkeys(bare))}" if len(results) > 1 else "All answers"
    named = list(zip(name_apart(results), results, strict=True))
    told = [
        (name, note)
        for name, one in named
        for note in (*map(Alarm, (*_tell_texts(one), *tell_passages(one))), *_tell_refused(one))
    ]
    unsaid = fold_lines([(name, line) for name, one in named for line in _tell_unsaid(one)], numbers=False)
    return [
        *(
            type(note)(f"{join_runs(of, results)}: {note}." if any(of) else f"{_begin(note) if of else note}.")
            for note, of in fold_notes(told, len(told) > _MOST_LINES)
        ),
        *[f"{where} are empty: {NO_PASSAGES}."] * bool(bare),
        *(f"{join_runs(of, results)}: {line}" if any(of) else line for line, of in unsaid.items()),
    ]


def _begin(line: str) -> str:
    return line[0].upper() + line[1:]


def note_kinds(results: Sequence[Result]) -> list[Detail]:
    """List the kinds of a run's error texts, where there are several."""
    found = [_count_kinds(errors) for one in results if len(errors := find_errors(one)) > 1]
    listed = [", ".join(f"{kind} ({n})" for kind, n in kinds.items()) for kinds in found]
    return [Detail(f"Answers that read like error texts: {each}.") for each in listed]


def _is_bare(result: Result) -> bool:
    """Whether sentences of passages answered where no passages were shown."""
    return result.run.inputs.llm == EXTRACTIVE and result.run.inputs.retriever == NONE


def _tell_texts(result: Result) -> Iterator[str]:
    """Say how many answers are empty, and which texts answer many questions, as an error's does.

    A text that a metric looks for, as a rejection, is told of where nearly all answers are so: a system that says it
    of any question has the best value.
    """
    parts = _sort_texts(result)
    by_text = _join_varying(result, parts)
    if result.run.inputs.llm == EXTRACTIVE and (any(by_text) or _is_bare(result)):
        return
    total = sum(map(len, by_text.values()))
    asked = _count_questions(result, [place for places in by_text.values() for place in places])
    answered = {text: _count_questions(result, places) for text, places in by_text.items() if text}
    many = [text for text, n in answered.items() if (n >= _FEW and n > _SHARE * asked) or (n > 1 and _find_error(text))]
    if len(by_text) == 1 and total > 1 and not result.run.count_short("empty"):
        many = [*by_text]
    elif "" in by_text and _counts(result, by_text[""]):
        n = _count_questions(result, by_text[""])
        if n > 1 and n >= _LITTLE * asked:
            how = _advise(result.run, "failures")
            yield f"{len(by_text[''])} of {total} answers are empty and count as they are{how}"
    errors = find_errors(result)
    if len(errors) > 1:
        often, n = next(iter(_count_kinds(errors).items()))
        yield (
            f"{sum(map(len, errors.values()))} of {total} answers read like error texts, of {len(errors)} kinds, most "
            f"often {often} ({n}){_advise(result.run, 'errors')}"
        )
        many = [text for text in many if text not in errors]
    declined = {text for text in many if text and _is_declined(result, text, by_text[text])}
    sought = {text for text in many if _is_looked_for(result, by_text[text])}
    mostly = {text for text in sought if answered[text] >= max(_MANY, _MOSTLY * asked)}
    best = {text for text in mostly if any(map(_is_right, _find_rows(result, by_text[text])))}
    few = {text for text in declined if answered[text] < _MOSTLY * asked}
    told = [text for text in many if text not in sought | few or text in best]
    for text in sorted(told, key=lambda text: -len(by_text[text]))[:_MOST]:
        n = len(by_text[text])
        whole = {_plain(result.texts[place] or "") for place in by_text[text]}
        part = " in the part that is scored" * whole.isdisjoint(parts)
        said = f"the same text{part}, {_quote(text)}" if text else "empty"
        refusal = text and not _find_error(text) and any(map(_list_looking, _find_rows(result, by_text[text])))
        advice = "" if refusal or text in declined else _advise(result.run, "errors" if text else "failures")
        if advice and text and not _find_error(text) and answered[text] >= _MOSTLY * asked and _searches(result.run):
            advice += "; else the search may return the same document for all"
        how = _CONSTANT if text in best else advice
        yield f"{f'all {n}' if n == total else f'{n} of {total}'} answers are {said}{how}"


def _tell_refused(result: Result) -> Iterator[str]:
    """Say how many answers with the gold a phrase of refusal makes wrong, or how many answers decline with it."""
    refused, right = result.run.refused
    total = sum(result.texts.get(place) is not None for place in _list_asked(result))
    if right:
        told = f"{refused}{f' of {total}' * bool(total)} answers hold the refusal phrase"
        yield Alarm(f"{told}: the authors' code counts them wrong; {right} of them hold the gold")
    elif refused >= _FEW and _SHARE * total < refused < _MOSTLY * total:
        yield f"{refused} of {total} answers decline with the phrase that the prompt asks for"


def _list_asked(result: Result) -> Iterator[_Place]:
    """List the answers of which a metric knows the phrase of refusal, as of several tasks not all are."""
    known: dict[str, bool] = {}
    for row in result.items:
        for metric, dot, key in (name.partition(".") for name in row if name not in known):
            known[metric + dot + key] = bool(dot) and metric_record(metric).key(key).refused
        if any(known[name] for name in row):
            yield (row["config"], row["split"], row["id"]), row["sample"]


def _is_declined(result: Result, text: str, places: Collection[_Place]) -> bool:
    """Whether a text holds the phrase of refusal that the prompt of its questions asks for, which a metric knows."""
    known = (name.partition(".") for row in _find_rows(result, places) for name in row if "." in name)
    asked = any(metric_record(metric).key(key).refused for metric, _, key in {*known})
    chinese = {row["config"] for row in result.scores if "language:zh" in row.get("signature", "")}
    languages = {"zh" if key[0] in chinese else "en" for key, _ in places}
    return asked and all(find_refused(text, [], language) is not None for language in languages)


def _tell_unsaid(result: Result) -> Iterator[str]:
    """Say which phrase a metric looks for where hardly an answer holds it, and no judge looks for its meaning.

    Of tasks in several languages each is told of apart.
    """
    if result.run.inputs.llm == EXTRACTIVE:
        return
    places: dict[tuple[str, str], set[tuple[str, str]]] = {}  # of tasks, by metric and language
    for row in result.scores:
        if "not_run" not in row:
            language = "zh" if "language:zh" in row["signature"] else "en"
            name = f"{row['metric']}.{row['key']}"
            places.setdefault((name, language), set()).add((row["config"], row["split"]))
    records = {name: metric_record(name.partition(".")[0]).key(name.partition(".")[2]) for name, _ in places}
    judged = {word for record in records.values() for word in record.words}
    way = "let your system say it, or " * bool(_find_way(result.run))
    for (name, language), here in places.items():
        phrase = records[name].phrase.get(language)
        if not phrase or records[name].direction != "higher" or name in judged:
            continue
        items = [row for row in result.items if name in row and (row["config"], row["split"]) in here]
        values = [row[name] for row in items if row[name]["official"] is not None]
        held = sum(entry["corrected"] == 1 for entry in values)  # official may count right answers too
        if held <= _LITTLE * len(values) and result.run.count_short("empty") < len(values):
            yield f"{held} of {len(values)} answers hold the phrase that is looked for, `{phrase}`: {way}name a judge."


def find_errors(result: Result) -> dict[str, set[_Place]]:
    """Return the answers of a run that read like error texts, by kind; none where no kind is of several questions."""
    by_text = {} if result.run.inputs.llm == EXTRACTIVE else _join_varying(result, _sort_texts(result))
    kinds = {text: places for text, places in by_text.items() if text and _find_error(text)}
    kinds = {text: places for text, places in kinds.items() if not _is_sought(result, places)}
    return kinds if any(_count_questions(result, places) > 1 for places in kinds.values()) else {}


def _count_kinds(errors: Mapping[str, set[_Place]]) -> dict[str, int]:
    """Count the answers of every kind, those of the commonest first."""
    return {_quote(text): len(errors[text]) for text in sorted(errors, key=lambda text: -len(errors[text]))}


def _quote(text: str) -> str:
    return repr(known_keys().line(text, longest=_SHOWN))


def _sort_texts(result: Result) -> dict[str, set[_Place]]:
    """Return the texts of a run's answers, what is scored of them alone, each with where it stands."""
    parse = load(result.run.inputs.benchmark).parse
    found: dict[str, set[_Place]] = {}
    for place, text in result.texts.items():
        if text is not None:
            found.setdefault(_plain(parse(place[0][0], text)), set()).add(place)
    return found


def _plain(text: str) -> str:
    """Return a text without what does not tell it from another: blanks around it, and what ends its last sentence."""
    return text.strip().rstrip(_ENDS) or text.strip()


def _join_varying(result: Result, by_text: Mapping[str, set[_Place]]) -> dict[str, set[_Place]]:
    """Join texts that differ in numbers and ids alone, unless words alone find one of them right, as no error is.

    Errors are joined that begin alike, since some go on with the question. Of these a few may be right by accident, as
    their ids may hold what is sought: these alone are left out.
    """
    alike: dict[str, dict[str, str]] = {}
    for text in by_text:
        plain = _VARYING.sub("…", text)
        letters = sum(1 + is_wide(sign) for sign in plain if sign.isalpha())
        alike.setdefault(_find_error(plain) or (plain if letters >= _LEAST else text), {})[text] = plain
    rows = {((row["config"], row["split"], row["id"]), row["sample"]): row for row in result.items}
    found: dict[str, set[_Place]] = {}
    for begin, texts in alike.items():
        right = {text for text in texts if any(_is_right(rows[place]) for place in by_text[text] if place in rows)}
        accident = _find_error(begin) is not None and 2 * len(right) < len(texts)
        joined = [text for text in texts if text not in right] if accident or not right else []
        if len(joined) > 1:
            forms = {texts[text] for text in joined}
            shown = f"{begin}…" if len(forms) > 1 else forms.pop()
            found[shown] = set[_Place]().union(*(by_text[text] for text in joined))
            texts = {text: texts[text] for text in right}
        found |= {text: by_text[text] for text in texts}
    return found


def _counts(result: Result, places: Collection[_Place]) -> bool:
    """Whether answers have a value, unlike a model's empty replies, which have failed, or those that are left out."""
    values = (entry for row in _find_rows(result, places) for entry in row.values() if isinstance(entry, Mapping))
    return not result.run.count_short("empty") and any(entry.get("official") is not None for entry in values)


def _find_rows(result: Result, places: Collection[_Place]) -> list[Mapping[str, Any]]:
    """Return the items of answers."""
    return [row for row in result.items if ((row["config"], row["split"], row["id"]), row["sample"]) in places]


def _find_error(text: str) -> str | None:
    """Return how a text begins that reads like an error, to the end of the word that says so; None of another."""
    found = _ERROR.search(text[:_BEGIN])
    return text[: found.end()] if found else None


def _advise(run: RunRecord, what: str) -> str:
    """Say what to do where answers are errors or failures; nothing where a model replied so."""
    way = _INSTEAD.get(_find_way(run))
    return f"; if these are {what}, {way}" if way else ""


def _searches(run: RunRecord) -> bool:
    """Whether the system found passages of its own."""
    return bool((run.service or {}).get("passages"))


def _find_way(run: RunRecord) -> str:
    """Return the way in which the answers of a user's own system came; "" of a model's."""
    inputs = run.inputs
    by_file = "file" if not ("llm" in inputs.services or inputs.parameters) else ""
    return "" if run.log else str(inputs.parameters.get("contract", by_file))


def _count_questions(result: Result, places: Collection[_Place]) -> int:
    """Count the questions of answers: one with several samples, or in several splits, may well have one answer."""
    asked = result.asked
    return len({asked[question].sha256 if question in asked else question for question, _ in places})


def _is_looked_for(result: Result, places: Collection[_Place]) -> bool:
    """Whether a metric looks for what stands in an answer, by words or by a judge, and found it in all of these."""
    rows = _find_rows(result, places)
    looking = dict.fromkeys(name for row in rows for name in _list_looking(row))
    return any(all((row.get(name) or {}).get("official") == 1 for row in rows) for name in looking)


def _list_looking(row: Mapping[str, Any]) -> list[str]:
    """List the metrics of an item that look for what its prompt asks to say, as a refusal, or whose judge does."""

    def looks(name: str) -> bool:
        metric, _, key = name.partition(".")
        record = metric_record(metric).key(key)
        return bool(record.phrase) or any(map(looks, record.words))

    return [name for name, entry in row.items() if isinstance(entry, Mapping) and looks(name)]


def _is_sought(result: Result, places: Collection[_Place]) -> bool:
    """Whether a metric looks for what stands in all answers of these places, or finds one of them right by words."""
    return _is_looked_for(result, places) or any(map(_is_right, _find_rows(result, places)))


def _is_right(row: Mapping[str, Any]) -> bool:
    """Whether an answer's item has the best value of a metric that neither judges nor ranks."""
    for name, entry in row.items():
        if isinstance(entry, Mapping):
            metric, _, key = name.partition(".")
            record, ranks = metric_record(metric).key(key), "ranks" in metric_record(metric).needs
            best = record.range[1] if record.direction == "higher" and not (record.needs or ranks) else None
            if best is not None and entry.get("official") == best:
                return True
    return False
