"""What is odd of the passages that a system returned with its answers."""

from collections.abc import Iterator, Sequence

from quadrag.passages import OF_PASSAGES
from quadrag.run_record import RunRecord

from ..core.benchmark import load
from ..core.result import Result
from ..scoring.pieces import LEAST
from ..systems.rag.system import NOT_GIVEN
from .paper import load_tables


def tell_passages(result: Result) -> Iterator[str]:
    """Say what of a run's passages was not read, is too short, or is no gold document."""
    run, gave = result.run, result.run.service or {}
    textless = [name.removeprefix(OF_PASSAGES) for name in run.unread if name.startswith(OF_PASSAGES)]
    unread = [name for name in run.unread if not name.startswith(OF_PASSAGES)]
    if textless and gave.get("passages") and gave.get("by") != "id":
        yield f"the passages have {_list_keys(textless)} not read: their texts belong under `text`"
    if unread:
        place = "search_results" if run.inputs.parameters.get("contract") == "openai" else "passages"
        then = "" if gave.get("passages") or gave.get("by") else "; retrieval is not measured"
        if load(run.inputs.benchmark).supplied is not None:
            then = "" if run.service else ", and here those of the question stand"  # a service is shown none
        yield f"the answers have {_list_keys(unread)} not read: passages belong under `{place}`{then}"
    elif gave.get("why") and (gave["passages"] or gave["why"] == NOT_GIVEN):
        yield f"retrieval is not measured: {gave['why']}"
    if (short := gave.get("short")) and not gave.get("gold"):
        yield f"{short} of {gave['passages']} passages are under {LEAST} characters: too short to be known"
    if gave.get("by") == "form":
        strange = gave.get("strange")
        why = f"{strange} of their ids are none of `quadrag.corpus`" if strange else "all their ids are of the corpus"
        why += _tell_left_out(run) if strange == 0 else ""
        why = "check that their ids are those of `quadrag.corpus`" if strange is None else why
        yield f"none of the {gave['passages']} passages is a gold document; {why}"
    elif gave.get("by") == "text" and gave.get("gold") == 0:
        strange = (
            f"; {gave['strange']} of their texts are part of no document of `quadrag.corpus`" if gave["strange"] else ""
        )
        strange += _tell_left_out(run) if gave["strange"] == 0 else ""
        yield f"none of the {gave['passages']} passages is a gold document{strange}"
    elif gave.get("by") == "none":
        yield "the search found no passage for any question that was answered"
    if gave.get("by") in ("id", "text", "form") and (bare := gave.get("bare")):
        yield f"{bare} of {gave['questions'] + bare} answers came without passages: their search counts as 0"


def _tell_left_out(run: RunRecord) -> str:
    """Say which option puts the gold documents into the corpus, where the authors leave them out; "" elsewhere."""
    split = run.inputs.splits[0]
    return "".join(
        f"; the authors leave the gold documents out of this corpus, --option {name}={split} adds them"
        for name in load_tables(run.inputs.benchmark).corpus_options
    )


def _list_keys(names: Sequence[str]) -> str:
    """List keys that are not read."""
    return f"{' and '.join(f'`{name}`' for name in names)}, which {'is' if len(names) == 1 else 'are'}"
