"""An option of a baseline's own: what it may be, which retrievers use it, how `run.json` names it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from quadrag.errors import QuadragError, unknown_name


class OptionSpec(NamedTuple):
    """An option: its default, and what else it may be.

    `values` are the only ones; else a whole number from `least`; else what `check` takes, which raises QuadragError and
    returns what identifies the value in `run.json`, where a path says nothing. `retrievers` and `configs` are those
    that use the option; () is all of them. With `judged` it is of use with a judge alone.
    """

    default: Any = None
    values: tuple[str, ...] = ()
    least: int | None = None
    check: Callable[[Any], str] | None = None
    retrievers: tuple[str, ...] = ()
    configs: tuple[str, ...] = ()
    judged: bool = False

    def find_idle(self, config: str, retriever: str) -> str | None:
        """Say what does not use the option, as ``--retriever none``; None where it is of use."""
        if self.retrievers and retriever not in self.retrievers:
            return f"--retriever {retriever}"
        return config if self.configs and config not in self.configs else None

    def read(self, name: str, options: Mapping[str, Any]) -> Any:
        """Return the option's value among those given, else its default."""
        value = options.get(name)
        if value is None:
            return self.default
        if self.values and value not in self.values:
            raise unknown_name(f"value of {name}", str(value), self.values)
        if self.least is not None and (type(value) is not int or value < self.least):
            raise QuadragError(f"option {name} is {value!r}; expected a whole number from {self.least}")
        if self.check is not None:
            self.check(value)
        return value


def identify_options(known: Mapping[str, OptionSpec], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as `run.json` names them: files by their content."""
    found = {}
    for name, value in options.items():
        check = known[name].check if name in known else None
        found[name] = check(value) if check is not None and value is not None else value
    return found
