"""A model file of the CRAG challenge, read but not run: which class it means, which checkout it lives in, its digest.

The checkout's root is the folder from which most of the file's own imports (``models.utils``, say) lead to files, since
upstream starts everything there. The digest covers the file and, transitively, the files of the
checkout that it imports in so many words; weights, prompts and other files that the code opens are not in it.
"""

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
_Scope = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


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
    tree = _parse(path)
    if tree is None:
        raise QuadragError(f"{text} is no Python that this interpreter reads; {form}")
    folders = _folders(path)
    root = _root(path, tree, folders)
    bound = _bindings(tree)
    if not name:
        name = _choose_class(text, path, tree, root, folders)
    elif name not in bound and "*" not in bound:
        raise unknown_name(f"class in {path.name}", name, _model_classes(tree) or bound) if bound else _no_model(text)
    return ModelFile(path, name, root, folders, _digest(path, root, folders))


def _parse(path: Path) -> ast.Module | None:
    try:
        return ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError, OSError):
        return None


def _statements(block: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a module or class in order, those under its conditions too, but none of another scope."""
    for node in ast.iter_child_nodes(block):
        if isinstance(node, ast.stmt):
            yield node
        if isinstance(node, (ast.stmt, ast.excepthandler)) and not isinstance(node, _Scope):
            yield from _statements(node)


def _bindings(block: ast.AST) -> dict[str, ast.stmt]:
    """The names that a module or class binds, each with the last statement that does; ``*`` for unnamed imports."""
    found: dict[str, ast.stmt] = {}
    for node in _statements(block):
        if isinstance(node, _Scope):
            found[node.name] = node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update({alias.asname or alias.name.partition(".")[0]: node for alias in node.names})
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found.update({inner.id: node for one in targets for inner in ast.walk(one) if isinstance(inner, ast.Name)})
    return found


def _model_classes(tree: ast.Module) -> list[str]:
    """The classes of a module that have `batch_generate_answer`, from themselves or a class before them."""
    found: dict[str, None] = {}
    for node in _statements(tree):
        if isinstance(node, ast.ClassDef):
            inherited = any(isinstance(base, ast.Name) and base.id in found for base in node.bases)
            if inherited or METHOD in _bindings(node):
                found[node.name] = None
    return list(found)


def _user_model(bound: Mapping[str, ast.stmt]) -> str:
    """What a module calls `UserModel`: the plain name that it is set to, else itself; "" where it has none."""
    node = bound.get(_USER_MODEL)
    value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
    if isinstance(value, ast.Name) and value.id in bound:
        return value.id
    return _USER_MODEL if node else ""


def _choose_class(text: str, path: Path, tree: ast.Module, root: Path, folders: tuple[Path, ...]) -> str:
    if name := _user_model(_bindings(tree)):
        return name
    classes = _model_classes(tree)
    config = path.with_name("user_config.py")
    bound = _bindings(_parse(config) or ast.Module([], []))
    name = _user_model(bound)
    node = bound.get(name)
    if isinstance(node, ast.ImportFrom):
        original = next(alias.name for alias in node.names if name == (alias.asname or alias.name))
        if original in classes and path in _imported_files(config, node, root, folders):
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
    wanted = [names for node in nodes for names in _absolute_imports(node)]
    # A relative import needs a package, whose folder is not the root.
    levels = [node.level for node in nodes if isinstance(node, ast.ImportFrom) and node.level]
    met = {
        folder: sum(any(_module_file(folder, name) for name in names) for names in wanted)
        + sum(folder in path.parents[level:] for level in levels)
        for folder in order
    }
    return max(order, key=lambda folder: met[folder])  # the first of equals


def _absolute_imports(node: ast.AST) -> Iterator[tuple[str, ...]]:
    """The absolute imports of a statement, each as the module names that could be meant, longest first."""
    if isinstance(node, ast.Import):
        yield from ((alias.name,) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
        for alias in node.names:
            yield f"{node.module}.{alias.name}", node.module


def _module_file(folder: Path, module: str) -> Path | None:
    """The file of a module below a folder; None where it has none there."""
    place = folder.joinpath(*module.split("."))
    files = (place / "__init__.py", place.with_name(f"{place.name}.py"))
    return next((file for file in files if file.is_file()), None)


def _imported_files(path: Path, node: ast.AST, root: Path, folders: tuple[Path, ...]) -> set[Path]:
    """The files of the checkout that an import statement of the file at `path` reads, packages' own included."""
    places: tuple[Path, ...] = (root, *folders)
    modules = [name for names in _absolute_imports(node) for name in names]
    if isinstance(node, ast.ImportFrom) and node.level and node.level <= len(path.parents):
        places = (path.parents[node.level - 1],)
        start = f"{node.module}." if node.module else ""
        modules = [name for alias in node.names for name in (start + alias.name, node.module) if name]
    found: set[Path] = set()
    for module in modules:
        folder = next((folder for folder in places if _module_file(folder, module)), None)
        if folder is not None:
            parts = module.split(".")
            names = (".".join(parts[:length]) for length in range(1, len(parts) + 1))
            found.update(file for name in names if (file := _module_file(folder, name)))
    return found


def _digest(path: Path, root: Path, folders: tuple[Path, ...]) -> str:
    seen: set[Path] = set()
    ahead = {path}
    while ahead:
        file = ahead.pop()
        seen.add(file)
        for node in ast.walk(_parse(file) or ast.Module([], [])):
            ahead |= _imported_files(file, node, root, folders) - seen
    whole = hashlib.sha256()
    for name, file in sorted((Path(os.path.relpath(file, root)).as_posix(), file) for file in seen):
        try:
            content = file.read_bytes()
        except OSError as error:
            raise QuadragError(f"{file} cannot be read ({error.strerror})") from None
        for part in (name.encode("utf-8", "surrogateescape"), content):
            whole.update(hashlib.sha256(part).digest())
    return whole.hexdigest()
