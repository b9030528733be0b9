"""Every command and script of the READMEs and of docs/, run as it stands there, section by section, each in a folder.

The folders of upstream files are copies of the samples, the servers are this test's, and the embedding models small
ones made here. A command whose program is not installed is left to the environment that has it.
"""

import bz2
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from maker_model import Knowing
from pages import PAGES, ROOT, Section, Step, meaning, read, sections
from rag_server import RagServer
from small_servers import Quiet, serving
from warm import AS_IF_FRESH, ENVIRONMENTS, Warm

FOLDERS = {"RGB": "rgb", "CRUD_RAG": "crud_rag", "CRAG": "crag", "OMNIEVAL": "omnieval"}
PRESETS = (
    "meta-llama/Meta-Llama-3-70B-Instruct",
    "RUC-NLPIR/OmniEval-ModelEvaluator",
    "RUC-NLPIR/OmniEval-HallucinationEvaluator",
)
MODEL_FILE = """
class UserModel:
    def get_batch_size(self):
        return 4

    def batch_generate_answer(self, batch):
        return ["i don't know" for _ in batch["query"]]
"""
PRICES = """
MODEL: {input: 0.5, output: 1.5}
JUDGE: {input: 2, output: 8}
"""
PROMPTS = """
llm_only: {user: "{query} at {query_time}"}
web: {user: "{references} {query} at {query_time}"}
web_kg: {user: "{web_results} {kg_response} {query} at {query_time}"}
entities: {user: Say in JSON what it is about.}
judge: {user: 'Is it right? Reply {"Accuracy": "True"} or "False".'}
"""
# What stands on a page, and what stands for it here; the servers are filled in.
STANDS_FOR = (
    (r"(llama-3-70b-instruct|omnieval-\w+)=http://127\.0\.0\.1:80\d\d/v1", r"\1={presets}"),
    (r"http://127\.0\.0\.1:8080/v1#MAKER", "{maker}#MAKER"),
    (r"http://127\.0\.0\.1:8080/v1|https://HOST/v1", "{llm}"),
    (r"http://127\.0\.0\.1:9000/rag", "{rag}"),
    (r"^QUADRAG_MIRROR=https://MIRROR ", ""),
    (r"http://127\.0\.0\.1:8081/v1", "{judge}"),
    # A recipe asks for the paper's model by name, which the one server here does not list.
    (r"(run --recipe \S+)(?!.*#)", r"\1 --llm-name M"),
    (r"(--entity-llm \S+)", r"\1 --spec entity.yaml"),
    (r"(#MODEL --judge \S+#JUDGE)", r"\1 --llm-name M --spec judges.yaml"),
)
# What a command needs that an environment may lack, with the module that brings it; None is had nowhere here.
NEEDS = (
    (r"^vllm ", None, "a GPU and the authors' weights; the flags are vLLM's own"),
    (r"^pip install ", None, "a network; `make demo` installs the same"),
    (
        r"--retriever (dense|hybrid|pages)|--recipe (omnieval|crud_rag)-table4",
        "sentence_transformers",
        "make test-serve",
    ),
    (r"\blm_eval (--include|ls)|score out$", "lm_eval", "make test-harness"),
    (r" inspect eval |logs/\*\.eval", "inspect_ai", "make test-harness"),
)
DOWNLOADS = re.compile(r"^(QUADRAG_MIRROR=\S+ )?quadrag prepare rgb$")
SILENT = re.compile(r"^(export|mkdir|split) | > ")
LOGS = {"logs/*": "--log-dir logs", "score out": "--output_path out"}  # what reads a harness's logs, what writes them
RUN = ["run", "rgb", "noise_robustness_zh", "--split", "noise_40", "--data-dir", "RGB"]
RUNS = {
    "a": (),
    "b": ("--retriever", "none"),
    "base": ("--retriever", "none"),
    "new": (),
    "rgb-all": ("--llm", "{llm}#M", "--llm-name", "OWNER/MODEL"),
}
COMMIT = "0123456789abcdef0123456789abcdef01234567"
# What is refused since the genuine files are not here, or not whole, and in which words.
REFUSED = (
    (r"--results ", r"own data"),
    (DOWNLOADS, r"(bytes, expected \d+; removed it|status 404)"),
    (r"--metric errors --people ", r"wrong.csv holds no label"),
)
COMMAND = "import sys; from quadrag.cli import main; sys.exit(main())"
FOR_A_SHELL = re.compile(r"^(?!quadrag )|[|&;<>$*?`\\~]")
SERVES = re.compile(r"^quadrag (kg serve|construct review .*--no-browser)")
# A page whose steps are run on genuine files, which skips it where there are none; and under which names they lie.
GENUINE = {
    "docs/real-answers.md": {"RGB": "RGB", "rgb_answers": "real_labels/rgb_answers"},
    "docs/judges.md": {"labels": "real_labels"},
}


def unlike() -> list[Section]:
    found: dict[frozenset[str], Section] = {}
    for section in (section for page in PAGES for section in sections(page) if section.steps):
        steps = frozenset(meaning(step) for step in section.steps)
        if not any(steps <= earlier for earlier in found):
            found[steps] = section
    return list(found.values())


SECTIONS = unlike()


def test_every_block_of_a_page_is_in_a_section() -> None:
    for page in PAGES:
        blocks = re.findall(r"^```(?:sh|python)$", read(page), flags=re.MULTILINE)
        steps = [step for section in sections(page) for step in section.steps]
        assert len(steps) >= len(blocks)
        assert sum(step.kind == "python" for step in steps) == blocks.count("```python")


def lacking(command: str) -> str | None:
    """Why a command is not run here; None where it is."""
    for pattern, module, where in NEEDS:
        if re.search(pattern, command) and (module is None or find_spec(module) is None):
            return f"needs {module}: {where}" if module else f"needs {where}"
    return None


def elsewhere(command: str) -> bool:
    """Whether a command is run in an environment of its own, not in that of `make test`."""
    return bool(DOWNLOADS.match(command)) or any(re.search(pattern, command) for pattern, _, _ in NEEDS)


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, str]]:
    with (
        ChatServer(models=["M"], any_model=True) as llm,
        ChatServer(models=["j"]) as judge,
        ChatServer(models=["MAKER"], text=Knowing()) as maker,
        ChatServer(models=list(PRESETS)) as presets,
        RagServer([("d", "", "沛溪县第七届龙舟公开赛22日在石鹭湖落下帷幕。")]) as rag,
    ):
        found = {"llm": llm, "judge": judge, "maker": maker, "presets": presets, "rag": rag}
        yield {name: server.url for name, server in found.items()}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    folder = tmp_path_factory.mktemp("home")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "COV_"))}
    env = {
        **kept,
        "HF_HOME": str(folder / "huggingface"),
        "QUADRAG_CACHE": str(folder / "quadrag"),
        "HF_HUB_OFFLINE": "1",
        "HF_EVALUATE_OFFLINE": "1",
        "COLUMNS": "80",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    if find_spec("sentence_transformers"):
        weights(folder / "huggingface" / "hub")
    upstream(folder)
    return env


def weights(cache: Path) -> None:
    """Put small models made here under the names of all presets into a cache of the Hub's."""
    from tiny_models import make_encoder, make_reranker

    from quadrag.retrieval.encoder import PRESETS
    from quadrag.retrieval.hybrid import Reranker

    letters = "体育局发放了什么？abcdefghijklmnopqrstuvwxyz "
    encoder = make_encoder(cache.parent / "encoder", letters)
    reranker = make_reranker(cache.parent / "reranker", letters)
    placed = {preset.model: encoder for preset in PRESETS.values()}
    placed |= {preset.model: reranker for preset in Reranker.presets.values()}
    for model, folder in placed.items():
        place = cache / f"models--{model.replace('/', '--')}"
        (place / "snapshots").mkdir(parents=True)
        (place / "snapshots" / COMMIT).symlink_to(folder)
        (place / "refs").mkdir()
        (place / "refs" / "main").write_text(COMMIT)


def upstream(folder: Path) -> None:
    """Put the samples where the pages have upstream's folders, and what else their commands read."""
    for name, benchmark in FOLDERS.items():
        shutil.copytree(ROOT / "datasets_scripts" / benchmark / "sample", folder / name)
    lines = [f'{{"id": {number}, "answer": "哈罗米尔马拉松"}}\n' for number in range(12)]
    (folder / "answers.jsonl").write_text("".join(lines), encoding="utf-8")
    (folder / "docs").symlink_to(ROOT / "docs")
    (folder / "models").mkdir()
    (folder / "models" / "user_config.py").write_text(MODEL_FILE, encoding="utf-8")
    (folder / "prompts.yaml").write_text(PROMPTS, encoding="utf-8")
    (folder / "prices.yaml").write_text(PRICES, encoding="utf-8")
    (folder / "entity.yaml").write_text("entity_model: {name: M}", encoding="utf-8")
    (folder / "judges.yaml").write_text("judges: [{name: j}]", encoding="utf-8")
    with bz2.open(next((folder / "CRAG" / "data").glob("*_v5.jsonl.bz2")), "rt", encoding="utf-8") as rows:
        rated = [f"{json.loads(row)['interaction_id']},acceptable\n" for row in rows]
    (folder / "ratings.csv").write_text("id,rating\n" + "".join(rated), encoding="utf-8")


@pytest.fixture(scope="module")
def _parent(home: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    with Warm(ENVIRONMENTS, AS_IF_FRESH, tmp_path_factory.mktemp("parent"), home) as parent:
        yield parent


@pytest.fixture(scope="module")
def prepared() -> set[str]:
    return set()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "elsewhere"
    place.mkdir()
    upstream(place)
    return place


@pytest.fixture
def shell(
    home: Mapping[str, str], servers: Mapping[str, str], prepared: set[str], folder: Path, forked_python: Any
) -> Callable[..., subprocess.CompletedProcess[str]]:
    def before(step: Step) -> Iterator[list[str]]:
        """What its user has done before: prepared the data that it does not name, made the runs that it does."""
        for name, benchmark in FOLDERS.items() if not re.search("--data-dir|data_dir", step.text) else ():
            if benchmark in step.text and benchmark not in prepared:
                prepared.add(benchmark)
                # From the samples, whatever files a page has in its folder.
                yield ["prepare", benchmark, "--data-dir", str(Path(home["HF_HOME"]).with_name(name))]
        if made := re.search(r"^quadrag prepare (\w+) --data-dir sample", step.text):
            prepared.discard(made[1])  # of the same files as those copies: their record then says "sample"
        for name, more in RUNS.items():
            if f"runs/{name}" in step.text and not (folder / "runs" / name).exists():
                yield [*RUN, *(word.format_map(servers) for word in more), "--out", f"runs/{name}"]

    def run(step: Step, **changes: str) -> subprocess.CompletedProcess[str]:
        for earlier in () if DOWNLOADS.match(step.text) else before(step):
            forked_python(COMMAND, *earlier, env=home).check_returncode()
        env, text = {**home, **changes}, step.text
        for pattern, place in STANDS_FOR:
            text = re.sub(pattern, place.format_map(servers), text)
        if step.kind == "python":
            return forked_python(text, env=env)
        if SERVES.match(text):
            return served(text, env, folder)
        if not FOR_A_SHELL.search(text):
            return forked_python(COMMAND, *shlex.split(text)[1:], env=env, timeout=280)
        return subprocess.run(["bash", "-c", text], cwd=folder, env=env, capture_output=True, text=True, timeout=280)

    return run


def served(command: str, env: Mapping[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command that serves until it is stopped: ask it one thing, then stop it as a user does."""
    command = re.sub(r"--port \d+", "--port 0", command)
    with subprocess.Popen(
        ["bash", "-c", f"exec {command}"],
        cwd=folder,
        env=dict(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            address = re.search(r"http://[^\s,]+", line)
            assert address, line
            with urllib.request.urlopen(f"{address[0]}/", timeout=30) as reply:
                assert reply.status == 200
        finally:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
    return subprocess.CompletedProcess(
        command, 0 if process.returncode in (0, 130) else process.returncode, line + out, err
    )


def check(step: Step, done: subprocess.CompletedProcess[str]) -> None:
    if refusal := next((said for pattern, said in REFUSED if re.search(pattern, step.text)), None):
        assert done.returncode == 2
        assert re.fullmatch(f"quadrag: [^\n]*{refusal}[^\n]*\n", done.stderr), done.stderr
        return
    # The judge of this test gives no verdicts; the code says so.
    invalid = "--judge" in step.text and "INVALID" in done.stdout + done.stderr
    assert done.returncode == (3 if invalid else 0), f"{step.text}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    assert done.stdout.strip() or invalid or step.kind == "python" or SILENT.search(step.text), step.text
    assert "Traceback" not in done.stderr, done.stderr
    if step.prints is not None:
        assert re.sub(" +$", "", done.stdout, flags=re.MULTILINE).strip() == step.prints.strip()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_steps_of_a_section(section: Section, shell: Any, folder: Path, real_data: Callable[[str], Path]) -> None:
    steps = [each for each in section.steps if not elsewhere(each.text)]
    if not steps:
        pytest.skip("its commands are run in an environment of their own")
    for name, place in GENUINE.get(section.page, {}).items():
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).symlink_to(real_data(place))
    # A page in Chinese is read with the setting that the first of them names.
    changes = {"QUADRAG_LABELS": "zh"} if section.page.endswith(".zh.md") else {}
    for step in steps:
        check(step, shell(step, **changes))


MORE = dict.fromkeys(each for section in SECTIONS for each in section.commands if elsewhere(each))


@pytest.mark.slow
@pytest.mark.parametrize("command", MORE, ids=lambda command: re.sub(r"\W+", "-", command)[:120])
def test_a_command_that_needs_more(command: str, shell: Any, request: pytest.FixtureRequest) -> None:
    if why := lacking(command):
        pytest.skip(why)
    step = Step("sh", command)
    if DOWNLOADS.match(command):
        with mirror(request.getfixturevalue("real_data")("RGB")) as address:
            check(step, shell(step, QUADRAG_MIRROR=address))
        return
    written = [each for part, way in LOGS.items() if part in command for each in whole(command) if way in each]
    for before in written[:1]:
        check(Step("sh", before), shell(Step("sh", before)))
    check(step, shell(step))


def whole(command: str) -> list[str]:
    return next(section.commands for section in SECTIONS if command in section.commands)


def mirror(folder: Path) -> AbstractContextManager[str]:
    class Handler(Quiet, SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            return str(next(folder.rglob(path.rpartition("/")[2]), folder / "none"))

    return serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
