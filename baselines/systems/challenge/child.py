"""The process in which a model of the CRAG challenge runs: `process` starts it and speaks to it.

A script on the standard library alone, so that the model meets nothing of quadrag. It takes requests as JSON Lines on
its standard input and answers on its standard output, both of which the model does not see: what the model prints goes
to standard error, what it reads is empty. Requests are `begin` (how large may the batch be), `item` (a query), `page`
(of the last item) and `go`. It ends with its input, and with the process that started it even if that was killed.
"""

import importlib.machinery
import importlib.util
import json
import operator
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

_LOOK_SECONDS = 0.5
_FIELDS = ("interaction_id", "query", "search_results", "query_time")


class _LastResort:
    """Finds modules in the file's own folders after everything else failed.

    On ``sys.path`` these folders would hide others: upstream's ``models/utils.py`` its ``utils/``, which is no package.
    """

    def __init__(self, folders: list[str]) -> None:
        self._folders = folders

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if path is not None:
            return None
        return importlib.machinery.PathFinder.find_spec(name, self._folders, target)


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Take the pipes away from the model and from every process that it forks."""
    requests, replies = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)

    def close() -> None:
        os.close(requests)
        os.close(replies)

    os.register_at_fork(after_in_child=close)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]
    # A fork that ends must not close what has got these numbers since.
    return os.fdopen(requests, "rb", 2**20, closefd=False), os.fdopen(replies, "wb", closefd=False)


def _follow(parent: int) -> None:
    """End this process and those it started as soon as `parent` is no more."""

    def wait() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_SECONDS)
        os.killpg(os.getpgrp(), signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()


def _load(path: str, root: str) -> ModuleType:
    """Import the file under the name by which its checkout knows it, so that what it pickles can be read there."""
    relative = os.path.relpath(path, root).removesuffix(".py")
    name = relative.replace(os.sep, ".")
    if all(part.isidentifier() for part in name.split(".")):
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            spec = None
        if spec is not None and spec.origin and Path(spec.origin).resolve() == Path(path).resolve():
            return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(f"challenge_{Path(path).stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _make_model(settings: Mapping[str, Any]) -> Any:
    made = getattr(_load(settings["path"], settings["root"]), settings["name"])()
    for method in ("get_batch_size", "batch_generate_answer"):
        if not callable(getattr(made, method, None)):
            raise TypeError(f"{settings['name']} has no {method}()")
    return made


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _name_given(given: Any) -> str:
    return "None" if given is None else f"a {type(given).__name__}"


def _ask(model: Any, batch: dict[str, list[Any]]) -> dict[str, Any]:
    """Ask the model; returns its answers with the seconds it took, or what is wrong with them."""
    count = len(batch["query"])
    start = time.perf_counter()
    found = model.batch_generate_answer(batch)
    if isinstance(found, (str, bytes, Mapping)) or not hasattr(found, "__iter__"):
        return {"failed": f"it returned {_name_given(found)}; expected a list of {count} texts"}
    answers = list(found)
    seconds = time.perf_counter() - start
    if len(answers) != count:
        return {"failed": f"it returned {len(answers)} answers for {count} queries"}
    for place, answer in enumerate(answers, 1):
        if not isinstance(answer, str):
            return {"failed": f"answer {place} of {count} is {_name_given(answer)}; expected a text"}
    return {"answers": answers, "seconds": seconds}


def main() -> None:
    """Load the model that the first argument describes, then do as asked until the input ends."""
    settings = json.loads(sys.argv[1])
    requests, replies = _take_pipes()
    _follow(settings["parent"])

    def reply(**content: Any) -> None:
        replies.write(json.dumps(content).encode("ascii") + b"\n")
        replies.flush()

    if sys.path and Path(sys.path[0]).resolve() == Path(__file__).resolve().parent:
        del sys.path[0]
    sys.argv[:] = [settings["path"]]
    sys.path.insert(0, settings["root"])
    sys.meta_path.append(_LastResort(settings["folders"]))
    try:
        model = _make_model(settings)
    except Exception as error:
        traceback.print_exc()
        reply(failed=_describe(error))
        sys.exit(1)
    reply(ready=True)
    batch: dict[str, list[Any]] = {}
    shown = False
    for line in requests:
        asked = json.loads(line)
        del line
        if "page" in asked:
            batch["search_results"][-1].append(asked["page"])
        elif "item" in asked:
            for field in _FIELDS:
                batch[field].append([] if field == "search_results" else asked["item"][field])
        elif "begin" in asked:
            batch = {field: [] for field in _FIELDS}
            try:
                size = model.get_batch_size()
                reply(size=None if isinstance(size, bool) else operator.index(size), shown=repr(size)[:60])
            except Exception as error:
                reply(size=None, shown=_describe(error))
        else:
            reply(started=True)
            try:
                answered = _ask(model, batch)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # a model that calls exit() fails that batch alone
                if not shown:
                    traceback.print_exc()
                    shown = True
                answered = {"failed": _describe(error)}
            batch = {}
            reply(**answered)


if __name__ == "__main__":
    main()
