"""Files under attack: whatever is altered in one that is kept, or stands in one that is given, no number is silent.

Every file that quadrag keeps is flipped, cut, blanked and replaced; then what reads it is done again. Either that comes
to what it came to before, or a line says what was found; never is there a traceback. Files that users give, those of
the datasets among them, are a table of hostile texts.
"""

import bz2
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from chat_server import ChatServer

from quadrag.cli import main
from quadrag.data.files import sample_dir

pytestmark = pytest.mark.plugins

RGB = ("rgb", "negative_rejection_en", "--data-dir", "sample")
DEEP, BORNE, DIGITS = "[" * 100_000, "[" * 950 + "]" * 950, "9" * 5000


class Home(NamedTuple):
    """A folder with everything that quadrag keeps, and the server that answered."""

    path: Path
    server: ChatServer


def commands(server: ChatServer, out: str) -> dict[str, list[str]]:
    """Return what reads kept files back, by name; what is made anew goes into the folder `out`."""
    llm = ["--llm", f"{server.url}#m", "--ledger", "L"]
    return {
        "report": ["report", "r"],
        "run": ["run", *RGB, *llm, "--out", "r"],
        "trec": ["trec", "s"],
        "ask": ["run", *RGB, *llm, "--out", out],
        "replay": ["run", *RGB, *llm, "--replay", "--out", out],
        "search": ["run", "crud_rag", "summary", "--data-dir", "sample", "--out", out],
    }


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    path = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch, ChatServer() as server:
        patch.chdir(path)
        patch.setenv("QUADRAG_CACHE", "cache")
        for out, name in (("r", "ask"), ("s", "search")):
            assert main(commands(server, out)[name]) == 0
        yield Home(path, server)


class Ran(NamedTuple):
    """What a command came to: its code, its output, and the lines of its stderr that are no news of a good run."""

    code: int
    out: str
    said: list[str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: Any, home: Home, tmp_path: Path) -> Callable[..., Ran]:
    """A function that runs a command in a copy of the home, after a change of one file there; its time stays."""
    monkeypatch.setenv("QUADRAG_CACHE", "cache")

    def run(name: str, path: Path | None = None, change: Callable[[bytes], bytes] = bytes) -> Ran:
        copy = tmp_path / "copy"
        shutil.copytree(home.path, copy)
        monkeypatch.chdir(copy)
        if path is not None:
            target = copy / path.relative_to(home.path)
            state = target.stat()
            target.write_bytes(change(target.read_bytes()))
            os.utime(target, ns=(state.st_atime_ns, state.st_mtime_ns))
        capsys.readouterr()
        code = main(commands(home.server, "new")[name])
        out, err = capsys.readouterr()
        monkeypatch.chdir(tmp_path)
        shutil.rmtree(copy)
        varying = ("calls", "tokens")
        kept = ("shown again", "--fresh asks anew")
        lines = [line for line in out.splitlines() if not any(part in line for part in kept)]
        out = "\n".join(line for line in lines if line and not line.startswith(varying))
        return Ran(code, out, err.splitlines())

    return run


def flip(content: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << draw.randrange(8)]) + content[at + 1 :]


def blank(content: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(content))
    return content[:at] + bytes(len(content) - at)


# From a file's content to what stands there instead.
DAMAGES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "flip": flip,
    "cut": lambda content, draw: content[: draw.randrange(len(content))],
    "blank": blank,
    "more": lambda content, draw: content + content[:100],
    "empty": lambda content, draw: b"",
    "deep": lambda content, draw: DEEP.encode(),
    "borne": lambda content, draw: content.replace(b": 0", b": " + BORNE.encode(), 1) + b" ",
    "digits": lambda content, draw: content.replace(b": 0", b": " + DIGITS.encode(), 1) + b" ",
    "infinite": lambda content, draw: content.replace(b": 0", b": 1e999", 1) + b" ",
    "nul": lambda content, draw: content.replace(b"e", b"\0", 1) + b" ",
    "half": lambda content, draw: content.replace(b"e", rb"\ud800", 1) + b" ",
}
# Kept files, and the commands that read them back.
KEPT = {
    "r/run.json": ("report", "run"),
    "r/scores.json": ("report", "run"),
    "r/items.jsonl": ("report", "run"),
    "r/answers.jsonl": ("run",),
    "r/retrieved.jsonl": ("run",),
    "s/retrieved.jsonl": ("trec",),
    "L": ("replay", "ask"),
}


@pytest.mark.slow(1, 3, 400)
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("pattern", "name"), [(path, name) for path, names in KEPT.items() for name in names])
def test_no_kept_file_is_believed(pattern: str, name: str, home: Home, rounds: int, run: Any) -> None:
    draw = random.Random(f"{pattern} {name}")
    paths = sorted(home.path.glob(pattern))
    before = run(name)
    assert (before.code, before.said) == (0, [])
    for turn in range(rounds):
        # Every second one or so flips a bit, the others go through all kinds.
        kind = "flip" if draw.random() < 0.5 else [*DAMAGES][(turn + len(pattern) + len(name)) % len(DAMAGES)]
        path, damage = draw.choice(paths), DAMAGES[kind]
        ran = run(name, path, lambda content, damage=damage: damage(content, draw))
        case = f"{kind} in {path.name}, round {turn}: {ran}"
        if ran.code == 2:
            assert len(ran.said) == 1 and ran.said[0].startswith("quadrag: ") and len(ran.said[0]) < 1000, case
        else:
            # It is made or asked again, or taken as the user's own, which is told, or a reply is gone, and counted.
            assert ran.code == 0 and (ran.out == before.out or ran.said or "failed" in ran.out), case


# What stands in the place of a whole file, or of one value in it.
TEXTS = {
    "deep": DEEP,
    "borne": BORNE,
    "digits": DIGITS,
    "many digits": "9" * 4000,
    "infinite": "1e999",
    "half": '"\\ud800"',
    "nul": "\0",
    "nul in a text": '"\\u0000"',
    "cut": '{"id": 0, "ans',
    "list": "[]",
    "null": "null",
    "empty": "",
    "no UTF-8": "\udcff",
}
ANSWERS = "".join(f'{{"id": {n}, "answer": "x"}}\n' for n in range(11))
LINE = '{"id": 11, "answer": "x", "%s": %s}\n'
# Files that a user gives: the command, and texts around the hostile one.
GIVEN: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "answers": (
        ("score", "FILE", "--benchmark", "rgb", "--config", "negative_rejection_en", "--data-dir", "sample"),
        ("%s", *(ANSWERS + LINE.replace("%s", name, 1) for name in ("answer", "id", "sample", "usage", "state"))),
    ),
    "results": (
        ("score", "FILE.json", "--benchmark", "crud_rag", "--config", "summary", "--data-dir", "sample"),
        ("%s", '{"results": %s}', '{"results": [{"id": %s, "log": {"generated_text": "x"}}]}'),
    ),
    "prices": (
        ("run", *RGB, "--llm", "http://127.0.0.1:9/v1#m", "--prices", "FILE"),
        ("%s", "m: {input: %s, output: 1}"),
    ),
    "recipe": (
        ("run", "--recipe", "FILE.yaml"),
        ("%s", "benchmark: rgb\nruns: %s", "benchmark: %s\nruns: [{config: x}]"),
    ),
    "prompts": (("run", *RGB, "--prompts", "FILE"), ("%s", "en: %s", "en: {answer: %s}")),
    "weights": (
        ("run", "crag", "qa", "--data-dir", "sample", "--option", "weights=FILE"),
        ("%s", "simple: %s", "finance: {simple: %s}"),
    ),
    "passages": (("run", *RGB, "--out", "r"), ("%s",)),
    "items": (("run", *RGB, "--out", "r"), ("%s",)),
}


@pytest.mark.slow(1, 3, 13)
@pytest.mark.parametrize("kind", GIVEN)
def test_a_hostile_file_that_is_given_is_one_line(kind: str, rounds: int, cli: Any) -> None:
    command, shapes = GIVEN[kind]
    file = {"passages": "r/retrieved.jsonl", "items": "r/items.jsonl"}.get(kind, f"it{Path(command[-1]).suffix}")
    given = [
        word.replace("FILE.json", "it.json").replace("FILE.yaml", "it.yaml").replace("FILE", "it") for word in command
    ]
    file = next((word.rpartition("=")[2] for word in given if word.rpartition("=")[2].startswith("it")), file)
    draw = random.Random(kind)
    for shape in shapes:
        for name, text in draw.sample([*TEXTS.items()], rounds):
            if "/" in file:
                shutil.rmtree("r", ignore_errors=True)
                assert cli(*given).code == 0
            Path(file).write_text(shape.replace("%s", text), encoding="utf-8", errors="surrogateescape")
            ran = cli(*given)
            case = f"{name} in {shape[:80]!r}: {ran.code}\n{ran.err[:2000]}"
            if ran.code == 2:
                lines = [line for line in ran.err.splitlines() if line]
                assert len(lines) == 1 and lines[0].startswith("quadrag: ") and "Traceback" not in ran.err, case
            else:
                assert ran.code == 0 and "nan" not in ran.out and "inf " not in ran.out, case


# Of each benchmark a config, a file of its sample, and how its rows are packed.
DATASETS = {
    "rgb": ("counterfactual_robustness_en", "en_fact.json"),
    "crud_rag": ("summary", "data/crud_split/split_merged.json"),
    "crag": ("task_1_2", "crag_task_1_and_2_dev_v5.jsonl.bz2"),
    "omnieval": ("all", "*.jsonl"),
}


def spots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place in a value of JSON, of lists the first alone."""
    places = (
        list(value.items())
        if isinstance(value, dict)
        else list(enumerate(value[:1]))
        if isinstance(value, list)
        else []
    )
    for name, inner in places:
        yield value, name
        yield from spots(inner)


@pytest.mark.slow(12, 60, 5000)
@pytest.mark.parametrize("benchmark", DATASETS)
def test_a_hostile_file_of_a_dataset_is_read_as_it_is_prepared(
    benchmark: str, tmp_path: Path, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    from quadrag.data import builders
    from quadrag.data.builders import prepare
    from quadrag.errors import QuadragError

    config, pattern = DATASETS[benchmark]
    source = sample_dir(benchmark)
    path = min(source.rglob(pattern))
    packed = path.suffix == ".bz2"
    text = (bz2.decompress(path.read_bytes()) if packed else path.read_bytes()).decode()
    first, rest = (text, "") if text.startswith("{\n") else text.split("\n", 1)
    value = json.loads(first)
    draw = random.Random(benchmark)
    copy = tmp_path / "data"
    shutil.copytree(source, copy)
    target = copy / path.relative_to(source)

    def read(data_dir: str | None) -> Any:
        opened, _ = builders.open_builder(benchmark, config, data_dir)
        return {split: list(builders.rows(opened, split)) for split in builders.splits(opened)}

    for turn in range(rounds):
        holder, place = draw.choice(list(spots(value)))
        kept, holder[place] = holder[place], "HOSTILE"
        name = draw.choice([*TEXTS])
        hostile = json.dumps(value, ensure_ascii=False).replace('"HOSTILE"', TEXTS[name], 1)
        holder[place] = kept
        content = f"{hostile}\n{rest}".encode(errors="surrogateescape")
        target.write_bytes(bz2.compress(content, 1) if packed else content)
        found: list[Any] = []
        # To prepare takes ten times as long.
        for way in (str(copy), None) if turn % 10 == 0 else (str(copy),):
            monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
            try:
                if way is None:
                    prepare(benchmark, config, str(copy))
                found.append(read(way))
            except QuadragError as error:
                assert "\n" not in str(error) and len(str(error)) < 1000, f"{name} in {place}: {str(error)[:200]}"
                found.append(None)
        assert json.dumps(found[0]) == json.dumps(found[-1]), f"{name} in {place} is read otherwise than it is prepared"
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
