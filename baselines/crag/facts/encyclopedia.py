"""Facts of the open domain: encyclopedia entries by title, and those that a telling field links to.

An entry tells no date, so that with a graph as of the question's time it may still tell what came later.
"""

import re

from ..language.wording import stems
from .calls import Calls, flatten, format_fact, truncate
from .question import MOST, UNKNOWN, FactQuestion, Words, match_names, occurs_in, split_name

_SENTENCES = 15  # of a summary
_HOPS = 2  # entries that are looked up because a field links to them
_VALUE = 250  # characters of a field
_LINK = re.compile(r"\[\[([^\[\]|#]+)")
_PICTURE = re.compile(r"\.(?:svg|jpe?g|png|gif|tiff?|ogg)$", re.I)
_KINDS = ("names", "movies", "people", "artists", "songs", "teams", "companies")


def add_facts(calls: Calls, question: FactQuestion, every: bool = False) -> None:
    """Add the entries of the names asked about whose kind is unknown, or of every name."""
    entities = question.entities
    kinds = _KINDS if every or entities.domain == "open" else _KINDS[:1]
    titles: list[str] = []
    for name in dict.fromkeys(one for kind in kinds for one in getattr(entities, kind)[:UNKNOWN]):
        words = split_name(name)
        if len(titles) >= MOST or any(occurs_in(words, _split_title(title)) for title in titles):
            continue
        found = [title for title in calls.ask("open_search_entity_by_name", name) or () if "(disambig" not in title]
        found.sort(key=lambda title: split_name(title) != words)  # what qualifies a title is not asked for
        new = match_names(name, found, entities.domain == "open", _split_title)
        titles += new[:1] if new and split_name(new[0]) == words else new
    links = [link for title in titles[:MOST] for link in _add_entry(calls, title)]
    for title in [link for link in dict.fromkeys(links) if link not in titles][:_HOPS]:
        _add_entry(calls, title)


def _split_title(title: str) -> Words:
    return split_name(re.sub(r"\s*\([^()]*\)$|,.*$", "", title) or title)


def _add_entry(calls: Calls, title: str) -> list[str]:
    entry = calls.ask_record("open_get_entity", title)
    summary = entry.get("summary_text")
    sentences = [f"{title} | {one}" for one in _sentences(summary)] if isinstance(summary, str) else []
    fields, links = [], []
    for label, value in flatten(entry.get("summary_structured")):
        line = format_fact(title, label, truncate(strip_markup(value), _VALUE) if isinstance(value, str) else value)
        if line is None or _PICTURE.search(line):
            continue
        fields.append(line)
        if isinstance(value, str) and calls.overlap(line, stems(title)):
            links += [link.strip() for link in _LINK.findall(value)]
    calls.add([*sentences[:1], *fields, *sentences[1:]], "open_get_entity", title)
    return links


def _sentences(text: str) -> list[str]:
    parts = re.split(r"(?<=[.!?])\s+(?=[A-Z0-9\"])|\n+", text[: 200 * _SENTENCES])
    return [part.strip() for part in parts[:_SENTENCES] if part.strip()]


def strip_markup(text: str) -> str:
    """Return the text of wiki markup: links by their labels, dates of templates as numbers, no references or tags."""
    text = re.sub(r"<ref[^<>]*/>|<ref.*?(?:</ref>|$)|<!--.*?(?:-->|$)", "", text[:4000], flags=re.S | re.I)
    text = re.sub(r"<br\s*/?>", ", ", text, flags=re.I)
    text = re.sub(r"<[^<>]*>|'{2,}|&nbsp;", " ", text)
    for _ in range(4):  # the innermost first
        text = re.sub(r"\[\[(?:[^\[\]|]*\|)*([^\[\]|]*)\]\]", r"\1", text)
        text = re.sub(r"\{\{([^{}]*)\}\}", _template_text, text)
    return " ".join(re.sub(r"\[https?://\S+\s*([^\]]*)\]", r"\1", text).split()).strip(" ,")


def _template_text(match: re.Match[str]) -> str:
    name, *values = (part.strip() for part in match[1].split("|"))
    values = [value for value in values if value and "=" not in value]
    if "date" in name.lower() and len(values) >= 3 and all(value.isdecimal() for value in values[:3]):
        year, month, day = values[:3]
        return f"{year}-{month:0>2}-{day:0>2}"
    return ", ".join(value.lstrip("* ").replace("\n*", ", ") for value in values)
