"""Bad input of every kind: one line on stderr, exit code 2, nothing made."""

from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from chat_server import ChatServer

pytestmark = pytest.mark.plugins

FIELDS = {"--top-p": "sampling: {top_p", "--chunk-overlap": "chunk_overlap", "--api": "api: completions"}
DEAD = "http://127.0.0.1:9/v1#m"
RGB = ("rgb", "negative_rejection_en", "--data-dir", "sample")
RUN = ("run", *RGB, "--out", "out")
SCORE = ("--benchmark", "rgb", "--config", "negative_rejection_en", "--data-dir", "sample")
WORDS = {"RUN": RUN, "RGB": RGB, "SCORE": SCORE, "DEAD": (DEAD,)}
CASES = yaml.safe_load(Path(__file__).with_name("refused.yaml").read_text(encoding="utf-8"))
CASES += [{"typed": f"run rgb x {name}", "named": field} for name, field in FIELDS.items()]


def plain(n=12):
    return [{"id": i, "answer": "insufficient information"} for i in range(n)]


@pytest.mark.parametrize("case", CASES, ids=[f"{case['typed']} {case['named']}" for case in CASES])
def test_what_is_mistyped_or_cannot_be(refused, answers, case):
    answers(plain())
    for name, text in {"full/thesis.tex": "years of work", "file": "", **case.get("files", {})}.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    Path("empty").mkdir()
    Path("astray").symlink_to("/proc/nowhere")
    words = [part for word in case["typed"].split(" ") for part in WORDS.get(word, (word,))]
    line = refused(*words, makes=tuple(case.get("makes", "\0")))
    assert case["named"] in line, line


@pytest.mark.parametrize(("place", "named"), [("noise_robustness_en --split noise_40", "noise_20"), ("x", "noise")])
def test_the_authors_file_of_another_noise_is_refused(refused, answers, place, named):
    path = answers([{"id": n, "prediction": "x", "noise_rate": 0.2, "label": [0]} for n in range(12)])
    assert named in refused("score", path, "--benchmark", "rgb", "--data-dir", "sample", "--config", *place.split())


def test_a_judge_that_no_metric_asks_is_not_asked(refused, answers):
    with ChatServer(models=["j"]) as judge:
        asked = ("--judge", f"{judge.url}#j", "--ledger", "L")
        place = ("--benchmark", "rgb", "--config", "noise_robustness_en", "--data-dir", "sample", "--split", "noise_0")
        assert "--judge" in refused("score", answers(plain()), *place, *asked, makes="L")
        assert judge.requests == 0


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="the extra is installed")
@pytest.mark.parametrize("retriever", ["dense", "hybrid", "hybrid-rerank"])
def test_a_retriever_without_its_extra_names_the_extra(refused, retriever):
    line = refused("run", "crud_rag", "qa_1doc", "--data-dir", "sample", "--retriever", retriever, "--out", "out")
    assert "sentence-transformers" in line and "'.[dense]'" in line


# Servers and ledgers.


def test_a_server_without_the_model(refused):
    with ChatServer(models=["a", "b"]) as server:
        line = refused(*RUN, "--llm", server.url, "--ledger", "L", makes="L")
        assert "a, b" in line and "#MODEL" in line
        assert "model c" in refused(*RUN, "--llm", f"{server.url}#c", "--ledger", "L", makes=("L", "out"))
