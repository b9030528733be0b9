"""The words of CRAG's questions: which belong to a name, which to the asking, and how near a line of facts is to them.

Questions are English and mostly in lower case, so that a name is what is left when the words of asking are taken away.
No model and no statistics: lists, a rough stemmer and a few synonyms. The lists are closed; a name made of such words
alone is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Words that join the parts of a name.
JOINING = _set("of to and in on the for at a an with from by & de la le el von van der du des y al")
# Words of asking, counting, comparing and time.
ASKING = _set(
    """
        who whom whose what which when where why how is are was were be been being am do does did done has have
        had can could will would should may might must shall or vs versus than this that these those it its he
        she they them their his her there here name names list tell me us i my you your give find say if as per
        about into between among before after during since until while not more most less least many much long
        longer old older tall taller large larger largest big bigger biggest great greater greatest high higher
        highest low lower lowest best better worst first last latest recent recently next previous current
        currently right now today yesterday tomorrow tonight all any each every both either same other another
        one two three four five six seven eight nine ten number total average percentage percent amount value
        year years month months week weeks weekend day days date dates time times minute minutes hour ever never
        also only still again even compared available come comes came go goes went get gets got make makes made
        took take takes become became happen happened win wins won winning lose lost receive received get hold
        held called named known born die died age birthday birth place country city town founded based located
        so far past top just ago between over under above below out up down off whole final originally original
        open opened opens wrote write written writes released release releases award awards awarded ratio ratios yield
        level title titled earned earn earns pay paid pays rise rose fall fell perform performed performer dated
        happens language spoken forward job done use used
        """
)
CUES: dict[str, frozenset[str]] = {
    "finance": _set(
        """
    stock stocks share shares price prices ticker symbol pe p/e eps earnings dividend dividends capitalization
    market cap nasdaq nyse dow jones closing trading traded trade volume company companies ceo revenue invest
    investor investors shareholder shareholders ipo split fiscal quarterly
    """
    ),
    "music": _set(
        """
        song songs album albums band bands singer singers musician musicians artist artists grammy grammys
        billboard single singles chart charts rapper music lyrics lyric composer discography members member
        """
    ),
    "movie": _set(
        """
        movie movies film films actor actors actress actresses director directors directed directs direct oscar
        oscars starring starred stars star cast sequel prequel screenplay cinematographer
        character characters role roles act acted acts plays played
        """
    ),
    "sports": _set(
        """
        nba soccer premier football basketball game games match matches goal goals league laliga bundesliga team teams
        score scored scores points rebounds assists championship coach player players season playoffs tournament
        hosted host play playing beat beats defeated captain captained winning kickoff referee stadium attendance
        """
    ),
}
# Cues that also stand in questions of other domains, so that alone they tell nothing.
_WEAK = _set(
    """
    market value company companies single singles members member artist artists composer music stars star
    role beat beats roles act acted acts play playing plays played characters character cast direct volume
    trade split score team teams player players season coach host hosted tournament championship revenue captain
    captained winning points price prices share shares lyric lyrics symbol attendance stadium ceo invest
    investor investors earnings
    """
)
_SIGNS = (
    ("finance", r"\bstock|share price|market cap|p/e\b|\bpe ratio|dividend|dow jones|closing price|earnings per share"),
    ("music", r"\bhot 100\b|billboard|grammy|\bsongs?\b|\balbums?\b|members of the (?:band|group)"),
    ("movie", r"box office|academy award"),
    ("sports", r"premier league|la liga|serie a\b|ligue 1|\bnba\b|final score"),
)
# Several words that are one of asking; what they hold may else be part of a name.
CUE_PHRASES = re.compile(
    r"\bbox office\b|\bhot 100\b|\bacademy awards?\b|\bstock market\b|\bplay[- ]by[- ]play\b", re.I
)
_ALL_CUES = frozenset().union(*CUES.values())

_WORD = re.compile(r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?|[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|[0-9]+(?:\.[0-9]+)?")
_ENDINGS = ("ations", "ation", "ings", "ing", "ors", "ers", "ies", "ed", "or", "er", "es", "s", "e", "y")
# What a question says, and what the graph's fields are called; both as stems.
_ALIKE = {
    "gross": ("revenue",),
    "office": ("revenue",),
    "earn": ("revenue", "eps"),
    "long": ("length",),
    "runtime": ("length",),
    "minute": ("length",),
    "duration": ("length",),
    "cost": ("budget",),
    "play": ("cast", "as"),
    "star": ("cast", "acted"),
    "act": ("cast", "acted"),
    "wrote": ("screenplay", "writer", "author"),
    "write": ("screenplay", "writer", "author"),
    "sing": ("author", "artist"),
    "sang": ("author", "artist"),
    "perform": ("author", "artist"),
    "compose": ("music", "author"),
    "shot": ("photography",),
    "birthday": ("birth", "birthday", "born"),
    "birth": ("birthday", "born"),
    "born": ("birthday", "birth"),
    "old": ("birthday", "birth"),
    "age": ("birthday", "birth"),
    "died": ("death", "end", "lifespan"),
    "die": ("death", "end", "lifespan"),
    "alive": ("lifespan",),
    "come": ("release",),
    "came": ("release",),
    "academy": ("oscar",),
    "win": ("winner", "oscar", "grammy"),
    "won": ("winner", "oscar", "grammy"),
    "nominate": ("oscar",),
    "cap": ("capitalization",),
    "worth": ("capitalization",),
    "pe": ("ratio",),
    "earnings": ("eps",),
    "paid": ("dividend",),
    "pay": ("dividend",),
    "payout": ("dividend",),
    "number": ("rank",),
    "chart": ("billboard",),
    "hot": ("billboard",),
    "weeks": ("weeks",),
    "peak": ("top",),
    "highest": ("high", "top"),
    "lowest": ("low",),
    "final": ("score",),
    "result": ("score",),
    "beat": ("score",),
    "points": ("score", "points"),
    "goals": ("score",),
    "band": ("members",),
    "album": ("works", "album"),
    "songs": ("works",),
    "open": ("opened", "open", "opening"),
    "tall": ("height",),
    "high": ("height", "high"),
    "big": ("area", "population"),
    "large": ("area", "population", "capitalization"),
    "employ": ("employees",),
    "staff": ("employees",),
    "headquarters": ("city",),
    "where": ("place", "city", "location", "country"),
    "when": ("date",),
}


def is_name_word(word: str) -> bool:
    """Whether a word, in lower case, says more than that something is asked."""
    return word not in JOINING and word not in ASKING and word not in _ALL_CUES


def domain_of(query: str) -> str | None:
    """Return the one domain whose words stand in a question; None where none or several do, or only weak ones."""
    lower = query.lower()
    words = set(re.findall(r"[a-z/]+", lower))
    found = {domain for domain, sign in _SIGNS if re.search(sign, lower)}
    found |= {domain for domain, cues in CUES.items() if words & (cues - _WEAK)}
    return found.pop() if len(found) == 1 else None


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Cut the commonest endings off a word in lower case; four letters stay."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def stems(text: str) -> frozenset[str]:
    """Return the stems of a text's words; ``camelCase`` is two words, and a date counts with its year and month."""
    found = set()
    for word in _WORD.findall(text.replace("P/E", "PE")):
        found.add(stem(word.lower()))
        if word[:4].isdecimal() and "-" in word:
            found |= {word[:4], word[:7]}
    return frozenset(found)


def sought(query: str, aspects: Iterable[str] = (), dates: Iterable[str] = ()) -> frozenset[str]:
    """Return the stems that a line of facts on a question is likely to hold.

    Args:
        query: the question.
        aspects: further texts that say what is asked.
        dates: those asked about; each counts once, in a line with that date or, of a month or year, one within it.
    """
    words = set(re.findall(r"[^\W_]+", query.lower().replace("p/e", "pe")))
    found = {stem(word) for word in words if word not in JOINING | _EMPTY and (len(word) > 1 or word.isdecimal())}
    for said, meant in _ALIKE_STEMS:
        if said in words or stem(said) in found:
            found |= meant
    return frozenset(found.union(dates, *map(stems, aspects)))


# Words of asking that a field of the graph may bear all the same.
_TELLING = _set(
    """
    first last high low highest lowest open opened opens original originally birthday birth born country city
    place founded percent week weeks final top date dates total age old forward ratio ratios yield release released
    award awards title level language write wrote written pay paid
    """
)
_EMPTY = ASKING - _TELLING
_ALIKE_STEMS = tuple((said, frozenset(map(stem, meant))) for said, meant in _ALIKE.items())
