"""The texts of a run's answers: which are one but for numbers, read like an error's, or are what a metric looks for."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from quadrag.metric_record import metric_record
from quadrag.records import Key
from quadrag.wrapping import is_wide

from ..core.benchmark import load
from ..core.result import Result
from ..systems.extractive import EXTRACTIVE

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

Place = tuple[Key, int]  # a question and its sample


def find_errors(result: Result) -> dict[str, set[Place]]:
    """Return the answers of a run that read like error texts, by kind; none where no kind is of several questions."""
    by_text = {} if result.run.inputs.llm == EXTRACTIVE else join_varying(result, sort_texts(result))
    kinds = {text: places for text, places in by_text.items() if text and find_error(text)}
    kinds = {text: places for text, places in kinds.items() if not _is_sought(result, places)}
    return kinds if any(count_questions(result, places) > 1 for places in kinds.values()) else {}


def sort_texts(result: Result) -> dict[str, set[Place]]:
    """Return the texts of a run's answers, what is scored of them alone, each with where it stands."""
    parse = load(result.run.inputs.benchmark).parse
    found: dict[str, set[Place]] = {}
    for place, text in result.texts.items():
        if text is not None:
            found.setdefault(plain_text(parse(place[0][0], text)), set()).add(place)
    return found


def plain_text(text: str) -> str:
    """Return a text without what does not tell it from another: blanks around it, and what ends its last sentence."""
    return text.strip().rstrip(_ENDS) or text.strip()


def join_varying(result: Result, by_text: Mapping[str, set[Place]]) -> dict[str, set[Place]]:
    """Join texts that differ in numbers and ids alone, unless words alone find one of them right, as no error is.

    Errors are joined that begin alike, since some go on with the question. Of these a few may be right by accident, as
    their ids may hold what is sought: these alone are left out.
    """
    alike: dict[str, dict[str, str]] = {}
    for text in by_text:
        plain = _VARYING.sub("…", text)
        letters = sum(1 + is_wide(sign) for sign in plain if sign.isalpha())
        alike.setdefault(find_error(plain) or (plain if letters >= _LEAST else text), {})[text] = plain
    rows = {((row["config"], row["split"], row["id"]), row["sample"]): row for row in result.items}
    found: dict[str, set[Place]] = {}
    for begin, texts in alike.items():
        right = {text for text in texts if any(is_right(rows[place]) for place in by_text[text] if place in rows)}
        accident = find_error(begin) is not None and 2 * len(right) < len(texts)
        joined = [text for text in texts if text not in right] if accident or not right else []
        if len(joined) > 1:
            forms = {texts[text] for text in joined}
            shown = f"{begin}…" if len(forms) > 1 else forms.pop()
            found[shown] = set[Place]().union(*(by_text[text] for text in joined))
            texts = {text: texts[text] for text in right}
        found |= {text: by_text[text] for text in texts}
    return found


def find_rows(result: Result, places: Collection[Place]) -> list[Mapping[str, Any]]:
    """Return the items of answers."""
    return [row for row in result.items if ((row["config"], row["split"], row["id"]), row["sample"]) in places]


def find_error(text: str) -> str | None:
    """Return how a text begins that reads like an error, to the end of the word that says so; None of another."""
    found = _ERROR.search(text[:_BEGIN])
    return text[: found.end()] if found else None


def count_questions(result: Result, places: Collection[Place]) -> int:
    """Count the questions of answers: one with several samples, or in several splits, may well have one answer."""
    asked = result.asked
    return len({asked[question].sha256 if question in asked else question for question, _ in places})


def is_looked_for(result: Result, places: Collection[Place]) -> bool:
    """Whether a metric looks for what stands in an answer, by words or by a judge, and found it in all of these."""
    rows = find_rows(result, places)
    looking = dict.fromkeys(name for row in rows for name in list_looking(row))
    return any(all((row.get(name) or {}).get("official") == 1 for row in rows) for name in looking)


def list_looking(row: Mapping[str, Any]) -> list[str]:
    """List the metrics of an item that look for what its prompt asks to say, as a refusal, or whose judge does."""

    def looks(name: str) -> bool:
        metric, _, key = name.partition(".")
        record = metric_record(metric).key(key)
        return bool(record.phrase) or any(map(looks, record.words))

    return [name for name, entry in row.items() if isinstance(entry, Mapping) and looks(name)]


def _is_sought(result: Result, places: Collection[Place]) -> bool:
    """Whether a metric looks for what stands in all answers of these places, or finds one of them right by words."""
    return is_looked_for(result, places) or any(map(is_right, find_rows(result, places)))


def is_right(row: Mapping[str, Any]) -> bool:
    """Whether an answer's item has the best value of a metric that neither judges nor ranks."""
    for name, entry in row.items():
        if isinstance(entry, Mapping):
            metric, _, key = name.partition(".")
            record, ranks = metric_record(metric).key(key), "ranks" in metric_record(metric).needs
            best = record.range[1] if record.direction == "higher" and not (record.needs or ranks) else None
            if best is not None and entry.get("official") == best:
                return True
    return False
