"""What a recipe is, and what it is written with: steps, questions put to a model, and checks of what was made.

A recipe says which documents it takes, its steps, how what came of them is written, and how people review it. What a
model says is held against its type, and against the source by rule: nothing enters a dataset on a model's word alone.
"""

import json
import random
import re
import unicodedata
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

from pydantic import BeforeValidator, Field, StrictBool, StrictInt, StringConstraints, TypeAdapter

from quadrag import catalogue
from quadrag.errors import QuadragError, parse_json, read_yaml
from quadrag.metrics._shared.phrases import stands_whole
from quadrag.metrics._shared.slots import fill
from quadrag.records import digest

Value = str | list[str]
Row = dict[str, Any]


# Steps.


class Rejected(Exception):
    """A row is let go; the text says why, in words that can be counted."""


class Request(NamedTuple):
    chat: list[dict[str, str]]
    sample: int = 0  # another one asks the same anew


# What asks a model is a generator: it yields a `Request` and is handed the text of the reply. Those of many rows go
# side by side, so that their requests are one batch.
Work = Generator[Request, str, list[Row]]


class Step(NamedTuple):
    """A step: what becomes of a row, or with `together` of all of them.

    `work` returns rows, by itself or as a `Work`; one with ``dropped`` is let go for the reason that stands there, as
    is a row whose work raises `Rejected`.
    """

    name: str
    work: Callable[[Any], Any]
    together: bool = False


def reject(row: Row, reason: object) -> Row:
    """Return what stands in a step's file for a row that is let go."""
    return {"id": row["id"], "dropped": str(reason)}


# Recipes.


@dataclass(frozen=True)
class Order:
    recipe: str  # a benchmark's name
    documents: Path  # folder of one's own documents
    out: Path  # folder of the dataset
    model: str  # what makes it, as the card names it
    limit: int | None = None  # how many documents questions are made from, drawn by the seed; all of them when None
    seed: int = 2333  # of every draw
    topics: Path | None = None  # the user's own, of a recipe that has topics
    table: Path | None = None  # of a recipe that reads a table
    templates: Path | None = None  # likewise
    licence: str | None = None  # of the documents, for the card
    # The documents, copies and unfit ones let go: ``id``, ``title``, ``text``, ``language``; none yet for `begin`.
    corpus: Sequence[Row] = ()

    def draw(self, what: str) -> random.Random:
        """Return the generator of a named draw, which no other draw disturbs."""
        return random.Random(f"{self.seed}:{what}")


class Item(NamedTuple):
    cell: str  # the config, or the cell of a matrix, that it belongs to
    fields: Mapping[str, Value]  # what is shown and may be corrected, by name
    marks: Sequence[str]  # the answers, which are marked in the passages
    passages: Sequence[str]  # what the fields are held against
    source: str  # the document, as far as the dataset names it
    line: Any  # as upstream's file has it
    kept: Any = None  # what else the recipe needs to hold a correction against its source

    @property
    def id(self) -> str:
        """A name made of its content: a grade counts for what its annotator saw, and for nothing else."""
        return digest([self.cell, self.line])


@dataclass(frozen=True)
class Recipe:
    # What is done, in order; it begins with the documents that questions are made from, or what `begin` gives.
    steps: Callable[[Order], Sequence[Step]]
    # Writes the last step's rows as upstream's files into a folder; returns how many questions each split of each
    # config has, by ``CONFIG/SPLIT``. Nothing is written of a split without questions.
    write: Callable[[Sequence[Row], Order, Path], dict[str, int]]
    items: Callable[[Path], Iterable[Item]]  # the questions of a dataset; of none without its files
    # The line of an item with some fields corrected, held against its source; `Rejected` says what is wrong.
    correct: Callable[[Item, Mapping[str, Value]], Any]
    # Writes the items that people passed, each with its line, from a dataset into a new folder, as `write` does.
    write_passed: Callable[[Sequence[tuple[Item, Any]], Path, Path], dict[str, int]]
    asks: Mapping[str, Sequence[str]]  # what an annotator asks before giving a grade, by language
    languages: Sequence[str] = ("zh", "en")  # of the documents that it takes
    least: int = 100  # characters of a document, and at most:
    most: int = 20_000
    begin: Callable[[Order], Sequence[Row]] | None = None  # the first rows, where they are no documents
    takes: Sequence[str] = ()  # of the further files of an `Order`
    by_rule: str = ""  # how questions are made where no model is asked, for the summary and the card
    human: str = "human"  # the folder in the dataset where what people passed goes


def load(name: str) -> Recipe:
    catalogue.benchmark_name(name)
    module = catalogue.module_beside(name, "construct")
    if module is None:
        raise QuadragError(f"{name} has no recipe; expected a benchmark with a module construct")
    return cast(Recipe, module.RECIPE)


# Questions put to a model.

# What a reply may hold; each raises `ValueError` for anything else. A single text is a list of one.
_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_AsList = BeforeValidator(lambda value: value if isinstance(value, list) else [value])
text_of = TypeAdapter(_Text).validate_python
texts_of = TypeAdapter(Annotated[list[_Text], Field(min_length=1), _AsList]).validate_python
_READERS = {
    "text": text_of,
    "texts": texts_of,
    "flag": TypeAdapter(StrictBool).validate_python,
    "number": TypeAdapter(StrictInt).validate_python,
}
TRIES = 2
_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)
_LONGEST = 200_000  # characters of a reply that is read


@cache
def load_prompts(path: Path) -> dict[str, Any]:
    """Read a file of a recipe: the prompts by step, as `ask` takes them, and under `asks` what a review asks."""
    return dict(read_yaml(path, "prompts by step and language"))


def ask(
    prompt: Mapping[str, Any], language: str, slots: Mapping[str, str], read: Callable[[Any], Any] | None = None
) -> Generator[Request, str, Any]:
    """Ask a model for JSON, once more where the reply cannot be read; then the row is let go by `Rejected`.

    A prompt has its text by language, with slots. Its `fields` say what is wanted by name: ``text``, ``texts``,
    ``flag`` or ``number``; where `unless` names one that is null or false, the row is let go for the reason
    `otherwise`. What is no fields `read` makes of the JSON; it raises `KeyError`, `TypeError` or `ValueError` for
    another form.
    """
    chat = [{"role": "user", "content": fill(prompt[language], slots)}]
    for sample in range(TRIES):
        reply = yield Request(chat, sample)
        try:
            value = _find_json(reply)
            if "unless" in prompt and value[prompt["unless"]] in (None, False):
                raise Rejected(prompt["otherwise"])
            if read:
                return read(value)
            return {name: _READERS[kind](value[name]) for name, kind in prompt["fields"].items()}
        except (KeyError, TypeError, ValueError, RecursionError, QuadragError):
            continue
    raise Rejected("unreadable reply")


def _find_json(reply: str) -> Any:
    """Return the JSON value of a reply: of its last fence that holds one, else from its first bracket on."""
    reply = reply[:_LONGEST].strip()
    for text in reversed(_FENCE.findall(reply)):
        if text.strip()[:1] in ("{", "["):
            return parse_json(text, "the reply")
    start = re.search(r"[{\[]", reply)
    if start is None:
        raise ValueError("no JSON")
    _, end = json.JSONDecoder().raw_decode(reply, start.start())
    return parse_json(reply[start.start() : end], "the reply")


# Checks.

# "The document" and its like: who is asked such a question has none before them.
_POINTS = re.compile(
    r"本文|该文|文中|文章|上文|下文|上述|文档|材料中|原文|这篇|这段"
    r"|\b(?:the|this|above|given|provided) (?:document|passage|text|article|context|report says)\b"
    r"|\baccording to (?:the|this) (?:document|passage|text|article|context)\b",
    re.IGNORECASE,
)
# Yes-or-no questions, and those that their source does not answer.
_EMPTY = re.compile("是的?|对|否|不是|无|没有|不知道|无法回答|未提及|yes|no|none|unknown")
_CHINESE = re.compile("[\u3400-\u9fff]")
_LETTER = re.compile(r"[^\W\d_]")
_SURE = 40  # letters from which the identifier of languages is asked


def language_of(text: str) -> str:
    """Return the language of a text as its two letters: ``zh``, ``en``, ...; "" of one without letters.

    Text that is a fifth Chinese characters is Chinese, names in Latin letters among them or not; other text is English
    where it is too short to tell.
    """
    letters = _LETTER.findall(text[:4000])
    if not letters:
        return ""
    if len(_CHINESE.findall(text[:4000])) * 5 >= len(letters):
        return "zh"
    if len(letters) < _SURE:
        return "en"
    import py3langid

    return str(py3langid.classify(text[:4000])[0])


@lru_cache(maxsize=256)
def bare(text: str) -> tuple[str, list[int]]:
    """Return a text in one width without white space, and the place of each of its characters in the text itself."""
    plain = ["".join(unicodedata.normalize("NFKC", letter).split()) for letter in text]
    return "".join(plain), [at for at, letters in enumerate(plain) for _ in letters]


def find_verbatim(excerpt: str, text: str) -> str | None:
    """Return the place of a text that an excerpt repeats, as it stands there; None where it does not.

    White space and the width of characters may differ, nothing else may.
    """
    wanted, _ = bare(excerpt)
    found, places = bare(text)
    at = found.find(wanted) if wanted else -1
    return None if at < 0 else text[places[at] : places[at + len(wanted) - 1] + 1]


def stands_in(answer: str, text: str) -> bool:
    """Whether an answer stands in a text, letters in either case; a number or a word as a whole, not as part of one."""
    return bool(stands_whole(text, answer))


def is_grounded(answer: str, text: str) -> bool:
    """Whether at least half of an answer's pairs of characters stand in a text: of one in words of its own."""
    said, source = bare(answer)[0], bare(text)[0]
    pairs = [said[at : at + 2] for at in range(max(1, len(said) - 1))]
    return sum(pair in source for pair in pairs) * 2 >= len(pairs)


def check_question(question: str, answers: Sequence[str], passages: Sequence[str], text: str, language: str) -> None:
    if language_of(question) not in (language, ""):
        raise Rejected("question in another language")
    if answers and all(_EMPTY.fullmatch(answer.strip(" 。.!！").lower()) for answer in answers):
        raise Rejected("answer says nothing")
    if _POINTS.search(question):
        raise Rejected("question speaks of the document")
    if any(len(answer) > 1 and stands_in(answer, question) for answer in answers):
        raise Rejected("answer stands in the question")
    if not passages or any(find_verbatim(passage, text) is None for passage in passages):
        raise Rejected("passage is not in the source")
