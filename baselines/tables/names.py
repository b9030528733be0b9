"""What a run's model is called in tables, and in whatever says a name among words of ours."""

from quadrag.run_record import Inputs

from .language import MARKS, is_ours


def name_model(inputs: Inputs) -> str:
    """Return the model's name without the folders or the organisation before it, with what served it where told.

    The name that a user gave to a system of one's own stays whole.
    """
    if "contract" in inputs.parameters and "://" not in inputs.llm:
        return keep_name(inputs.llm)
    names = [name.rstrip("/").rsplit("/", 1)[-1] for name in (inputs.llm, inputs.served_as.get("llm", ""))]
    return ", served by ".join(map(keep_name, filter(None, names)))


def keep_name(name: str) -> str:
    """Return what the user named as texts say it: between marks, and so never translated, if it reads as words of ours.

    Whoever speaks the text takes the marks away, in any language.
    """
    return name.join(MARKS) if is_ours(name) else name


def keep_names(names: str) -> str:
    """Return several names, as of a run's judges, as texts say them."""
    return "; ".join(map(keep_name, names.split("; ")))
