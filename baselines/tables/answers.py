"""What is odd of the answers behind a table, so that its values say less than they seem to."""

from collections.abc import Iterator, Sequence

from quadrag.chat.keys import known_keys

from ..core.benchmark import load
from ..core.result import Result
from ..core.settings import NONE
from ..scoring.served import LEAST
from ..systems.extractive import EXTRACTIVE, NO_PASSAGES
from ..systems.rag.system import NOT_GIVEN
from .grid import Alarm

_SHOWN = 40  # characters of an answer


def note_answers(results: Sequence[Result]) -> list[str]:
    """Say that all answers of a run are empty or one text, that passages were not read, or that none is known.

    That the baseline has nothing to say without passages is as it should be, and is no alarm.
    """
    several = len(results) > 1
    bare = [one.run.inputs.config for one in results if _is_bare(one) and not any(_list_texts(one))]
    where = f" of {', '.join(dict.fromkeys(bare))} without documents" * several
    return [
        *(
            Alarm(f"{one.run.inputs.config}: {line}." if several else f"{line[0].upper()}{line[1:]}.")
            for one in results
            for line in (*_tell_texts(one), *_tell_passages(one))
        ),
        *[f"All answers{where} are empty: {NO_PASSAGES}."] * bool(bare),
    ]


def _is_bare(result: Result) -> bool:
    """Whether sentences of passages answered where no passages were shown."""
    return result.run.inputs.llm == EXTRACTIVE and result.run.inputs.retriever == NONE


def _list_texts(result: Result) -> list[str]:
    return [text.strip() for text in result.texts.values() if text is not None]


def _tell_texts(result: Result) -> Iterator[str]:
    texts = _list_texts(result)
    usual = result.run.inputs.llm == EXTRACTIVE and (any(texts) or _is_bare(result))
    if len(texts) > 1 and len(set(texts)) == 1 and not usual:
        said = f"the same text, {known_keys().line(texts[0], longest=_SHOWN)!r}" if texts[0] else "empty"
        yield f"all {len(texts)} answers are {said}"


def _tell_passages(result: Result) -> Iterator[str]:
    run, gave = result.run, result.run.service or {}
    if run.unread:
        names = " and ".join(f"`{name}`" for name in run.unread)
        are = "is" if len(run.unread) == 1 else "are"
        place = "search_results" if run.inputs.parameters.get("contract") == "openai" else "passages"
        then = "" if gave.get("passages") or gave.get("by") else "; retrieval is not measured"
        if load(run.inputs.benchmark).supplied is not None:
            then = ", and here those of the question stand"
        yield f"the answers have {names}, which {are} not read: passages belong under `{place}`{then}"
    elif gave.get("why") and (gave["passages"] or gave["why"] == NOT_GIVEN):
        yield f"retrieval is not measured: {gave['why']}"
    if (short := gave.get("short")) and not gave.get("gold"):
        yield f"{short} of {gave['passages']} passages are under {LEAST} characters: too short to be known"
    if gave.get("by") == "form":
        lacking = "if that cannot be, the ids are not those of `quadrag.corpus`"
        yield f"none of the {gave['passages']} passages is a gold document; {lacking}"
    elif gave.get("by") == "text" and gave.get("gold") == 0:
        strange = f"; {gave['strange']} of their texts are no document of `quadrag.corpus`" if gave["strange"] else ""
        yield f"none of the {gave['passages']} passages is a gold document{strange}"
    elif gave.get("by") == "none":
        yield "the search found no passage for any question"
    if gave.get("by") in ("id", "text", "form") and (bare := gave.get("bare")):
        yield f"{bare} of {gave['questions'] + bare} answers came without passages: their search counts as 0"
