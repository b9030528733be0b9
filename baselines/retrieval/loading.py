"""Whether the weights of a model fit it: what transformers only tells its log while it loads one, made an error."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from quadrag.errors import QuadragError


@contextmanager
def watch_loading() -> Iterator[dict[str, list[str]]]:
    """Yield a mapping that fills with the weights that do not fit a model of transformers while it is loaded.

    What counts as none, as a head that is tied to the embeddings, is the library's own word.
    """
    from transformers import PreTrainedModel

    kept = PreTrainedModel.__dict__["from_pretrained"]
    faults: dict[str, list[str]] = {}

    def load(cls: Any, *place: Any, **options: Any) -> Any:
        model, told = kept.__func__(cls, *place, **{**options, "output_loading_info": True})
        for kind, keys in told.items():
            names = [key if isinstance(key, str) else str(key[0]) for key in keys if kind.endswith("_keys")]
            faults[kind.removesuffix("_keys")] = sorted(names)
        return model

    PreTrainedModel.from_pretrained = classmethod(load)
    try:
        yield faults
    finally:
        PreTrainedModel.from_pretrained = kept


def refuse_faults(what: str, faults: Mapping[str, list[str]]) -> None:
    """Refuse a model whose weights did not fit.

    Raises:
        QuadragError: some were newly made, left over or of another shape.
    """
    told = [f"{len(names)} {kind} as {names[0]}" for kind, names in faults.items() if names]
    if told:
        raise QuadragError(
            f"{what} was not loaded as it was saved ({'; '.join(told)}), so what it gives is of no use; it may need "
            "code of its own (--trust-remote-code), or its files are of another model"
        )
