"""A model file of the CRAG challenge, read but not run: which class it means, which checkout it lives in, its digest.

The checkout's root is the folder from which most of the file's own imports (``models.utils``, say) lead to files, since
upstream starts everything there. The digest covers the file and, transitively, the files of the
checkout that it imports in so many words; weights, prompts and other files that the code opens are not in it.
"""

from __future__ import annotations

import ast
import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from quadrag.errors import QuadragError, unknown_name

METHOD = "batch_generate_answer"
_USER_MODEL = "UserModel"
_ANCESTORS = 4  # folders above the file that its imports may be meant from; none above the folder of a .git
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


class ModelFile(NamedTuple):
    """Where a model is and what it is called.

    Attributes:
        path: the file, absolute.
        name: what to call, as the file names it.
        root: the checkout's root: the working folder, and first on ``sys.path``.
        folders: the file's folder and those above it, nearest first, where imports are looked for that fail elsewhere.
        digest: sha256 of the file and the files of its checkout that it imports, as 64 hex digits.
    """

    path: Path
    name: str
    root: Path
    folders: tuple[Path, ...]
    digest: str

    @property
    def shown(self) -> str:
        """The model's name without folders, as ``dummy_model.py#DummyModel``."""
        return f"{self.path.name}#{self.name}"


def read_model_file(spec: str) -> ModelFile:
    """Find the model that a spec means.

    Args:
        spec: ``PATH.py#Class``. Without ``#Class``: the file's `UserModel`, else the class of this file that a
            ``user_config.py`` beside it calls so, else the file's only class that defines `batch_generate_answer`.

    Returns:
        The model.

    Raises:
        QuadragError: there is no such file or class, it is no Python, or several classes could be meant.
    """
    text, mark, name = spec.rpartition("#")
    if not mark or os.sep in name or name.endswith(".py"):
        text, name = spec, ""
    form = "expected PATH.py#Class"
    path = Path(os.path.abspath(Path(text).expanduser()))  # noqa: PTH100  # a link is not followed out of the checkout
    if not text or path.suffix != ".py" or not path.is_file():
        raise QuadragError(f"no model file {text!r}; {form}")
    if mark and not name.isidentifier():
        raise QuadragError(f"{name!r} in the model spec {spec!r} is no class name; {form}")
    tree = _parsed(path)
    if tree is None:
        raise QuadragError(f"{text} is no Python that this interpreter reads; {form}")
    folders = _folders(path)
    root = _root(path, tree, folders)
    bound = _bound(tree)
    if not name:
        name = _chosen(text, path, tree, root, folders)
    elif name not in bound and "*" not in bound:
        raise unknown_name(f"class in {path.name}", name, _classes(tree) or bound) if bound else _no_model(text)
    return ModelFile(path, name, root, folders, _digest(path, root, folders))


def _parsed(path: Path) -> ast.Module | None:
    try:
        return ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError, OSError):
        return None


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module in order, those under its conditions too, but none of a function or class."""
    for node in body:
        yield node
        for part in ("body", "handlers", "orelse", "finalbody"):
            if not isinstance(node, (*_Function, ast.ClassDef)):
                for inner in getattr(node, part, []):
                    yield from _statements(inner.body if isinstance(inner, ast.ExceptHandler) else [inner])


def _bound(tree: ast.Module) -> dict[str, ast.stmt]:
    """The names that a module binds, each with the last statement that does; ``*`` for what it imports unnamed."""
    found: dict[str, ast.stmt] = {}
    for node in _statements(tree.body):
        if isinstance(node, (ast.ClassDef, *_Function)):
            found[node.name] = node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update({alias.asname or alias.name.partition(".")[0]: node for alias in node.names})
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found.update({inner.id: node for one in targets for inner in ast.walk(one) if isinstance(inner, ast.Name)})
    return found


def _classes(tree: ast.Module) -> list[str]:
    """The classes of a module that have `batch_generate_answer`, from themselves or a class before them."""
    found: list[str] = []
    for node in _statements(tree.body):
        if isinstance(node, ast.ClassDef):
            own = _bound(ast.Module(node.body, []))
            if METHOD in own or any(isinstance(base, ast.Name) and base.id in found for base in node.bases):
                found.append(node.name)
    return list(dict.fromkeys(found))


def _user_model(bound: Mapping[str, ast.stmt]) -> str | None:
    """What a module calls `UserModel`: the plain name that it is set to where there is one, else itself."""
    node = bound.get(_USER_MODEL)
    if node is None:
        return None
    value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
    return value.id if isinstance(value, ast.Name) and value.id in bound else _USER_MODEL


def _chosen(text: str, path: Path, tree: ast.Module, root: Path, folders: tuple[Path, ...]) -> str:
    named = _user_model(_bound(tree))
    if named:
        return named
    classes = _classes(tree)
    config = path.with_name("user_config.py")
    beside = _parsed(config) if config.is_file() else None
    if beside is not None:
        bound = _bound(beside)
        name = _user_model(bound)
        node = bound.get(name or "")
        if isinstance(node, ast.ImportFrom):
            original = next(alias.name for alias in node.names if name == (alias.asname or alias.name))
            if original in classes and path in _files(config, node, root, folders):
                return original
    if len(classes) == 1:
        return classes[0]
    if classes:
        raise QuadragError(f"{text} has several models, {', '.join(classes)}; name one as {path.name}#{classes[0]}")
    raise _no_model(text)


def _no_model(text: str) -> QuadragError:
    return QuadragError(
        f"{text} has neither a {_USER_MODEL} nor a class with {METHOD}; expected a model file of the CRAG challenge"
    )


def _folders(path: Path) -> tuple[Path, ...]:
    found = []
    for folder in path.parents[: _ANCESTORS + 1]:
        found.append(folder)
        if (folder / ".git").exists():
            break
    return tuple(found)


def _root(path: Path, tree: ast.Module, folders: tuple[Path, ...]) -> Path:
    """The folder that most of the file's imports are meant from; the challenge's own layout where that is even."""
    at_home = path.parent.name == "models" and path.parent.parent in folders
    order = [path.parent.parent, *folders] if at_home else folders
    nodes = list(ast.walk(tree))
    wanted = [names for node in nodes for names in _imported(node)]
    # A relative import needs a package, whose folder is not the root.
    levels = [node.level for node in nodes if isinstance(node, ast.ImportFrom) and node.level]
    met = {
        folder: sum(any(_file(folder, name) for name in names) for names in wanted)
        + sum(folder in path.parents[level:] for level in levels)
        for folder in order
    }
    return max(order, key=lambda folder: met[folder])  # the first of equals


def _imported(node: ast.AST) -> Iterator[tuple[str, ...]]:
    """The absolute imports of a statement, each as the module names that could be meant, longest first."""
    if isinstance(node, ast.Import):
        yield from ((alias.name,) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
        for alias in node.names:
            yield f"{node.module}.{alias.name}", node.module


def _file(folder: Path, module: str) -> Path | None:
    """The file of a module below a folder; None where it has none there."""
    place = folder.joinpath(*module.split("."))
    for path in (place / "__init__.py", place.with_name(f"{place.name}.py")):
        if path.is_file():
            return path
    return None


def _files(path: Path, node: ast.AST, root: Path, folders: tuple[Path, ...]) -> set[Path]:
    """The files of the checkout that an import statement of the file at `path` reads, packages' own included."""
    found: set[Path] = set()
    places = tuple(dict.fromkeys((root, *folders)))
    wanted = [(places, name) for names in _imported(node) for name in names]
    if isinstance(node, ast.ImportFrom) and node.level and node.level <= len(path.parents):
        base = (path.parents[node.level - 1],)
        start = f"{node.module}." if node.module else ""
        wanted = [(base, name) for alias in node.names for name in (start + alias.name, node.module) if name]
    for places, module in wanted:
        parts = module.split(".")
        for folder in places:
            if _file(folder, module):
                names = (".".join(parts[:length]) for length in range(1, len(parts) + 1))
                found.update(file for name in names if (file := _file(folder, name)))
                break
    return found


def _digest(path: Path, root: Path, folders: tuple[Path, ...]) -> str:
    seen: set[Path] = set()
    ahead = {path}
    while ahead:
        file = ahead.pop()
        seen.add(file)
        tree = _parsed(file)
        if tree is not None:
            for node in ast.walk(tree):
                ahead |= _files(file, node, root, folders) - seen
    whole = hashlib.sha256()
    for name, file in sorted((Path(os.path.relpath(file, root)).as_posix(), file) for file in seen):
        try:
            content = file.read_bytes()
        except OSError as error:
            raise QuadragError(f"{file} cannot be read ({error.strerror})") from None
        whole.update(
            hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest() + hashlib.sha256(content).digest()
        )
    return whole.hexdigest()
