"""TREC files: what other programs make of them is what the run itself measured, ties and odd ids included."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quadrag.records import Passage, Question
from quadrag.reporting.trec import qrels_lines, run_lines

pytestmark = [pytest.mark.pure, pytest.mark.plugins]
MEASURES = {"mrr": ir_measures.RR, "map": ir_measures.AP, "recall@8": ir_measures.R @ 8, "ndcg@8": ir_measures.nDCG @ 8}
GOLD = ("run", "crud_rag", "qa_2doc", "--data-dir", "sample", "--option", "gold=test")


def question(ident: str, *relevant: str) -> Question:
    return Question("crud_rag", "qa_2doc", "test", ident, "?", None, "zh", relevant=relevant)


@pytest.fixture(scope="module")
def retrieved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from quadrag.cli import main

    out = tmp_path_factory.mktemp("runs") / "gold"
    assert main([*GOLD, "--out", str(out)]) == 0
    return out


@pytest.fixture
def trec(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, list[str], str]]:
    """A function that runs the command; it returns the exit code, the lines printed, and what stands on stderr."""
    from quadrag.cli import main

    def run(*arguments: Any) -> tuple[int, list[str], str]:
        capsys.readouterr()
        code = main(["trec", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out.splitlines(), err

    return run


def test_measures_of_the_files_are_those_of_the_run(retrieved: Path, trec: Any) -> None:
    code, said, _ = trec(retrieved)
    stem = retrieved / "trec" / "qa_2doc-test"
    assert (code, said[1]) == (0, f"{stem}.qrels: 16 lines")
    found = measured(stem)
    for name, value in ours(retrieved).items():
        assert found[name] == pytest.approx(value, abs=1e-12), name


def measured(stem: Path) -> dict[str, float]:
    """What ir_measures makes of a run and its qrels."""
    qrels = ir_measures.read_trec_qrels(f"{stem}.qrels")
    found = ir_measures.calc_aggregate(list(MEASURES.values()), qrels, ir_measures.read_trec_run(f"{stem}.run"))
    return {name: found[measure] for name, measure in MEASURES.items()}


def ours(folder: Path) -> dict[str, float]:
    """The same of a run's own scores."""
    rows = json.loads((folder / "scores.json").read_text())
    place = ("retrieval_ranking", "all", "corrected")
    found = {row["key"]: row["value"] for row in rows if (row["metric"], row["slice"], row["profile"]) == place}
    return {name: found[name] for name in MEASURES}


scores = st.one_of(st.none(), st.floats(-1e6, 1e6), st.sampled_from([1.0, 1.0 + 1e-12, 2.0]))


@given(st.lists(st.tuples(st.integers(0, 30), scores), max_size=12))
def test_programs_that_order_by_score_keep_the_order(shown: list[tuple[int, float | None]]) -> None:
    passages = [Passage(f"d{document}#{place}", "", "", score) for place, (document, score) in enumerate(shown)]
    lines = [line.split() for line in run_lines("q", passages, "t")]
    order = [line[2] for line in lines]
    first = {document: place for place, (document, _) in reversed(list(enumerate(shown)))}
    assert order == [f"d{d}" if first[d] == place else f"d{d}#{place}" for place, (d, _) in enumerate(shown)]
    assert [int(line[3]) for line in lines] == list(range(1, len(order) + 1))
    # Each document relevant in turn: its reciprocal rank says where pytrec_eval puts it.
    for rank, document in enumerate(order, 1):
        run = [ir_measures.ScoredDoc("q", line[2], float(line[4])) for line in lines]
        (value,) = ir_measures.pytrec_eval.iter_calc([ir_measures.RR], [ir_measures.Qrel("q", document, 1)], run)
        assert value.value == pytest.approx(1 / rank)


@given(st.lists(st.sampled_from(["", "#1", "#", "a", "a#2", "a#3", "a#3#3", "b#4"]), max_size=8))
@example(["a#3", "a", "a"])
@example(["b#4", "a#3#3", "a#4", "a", "a", "a", "a#5"])
def test_every_passage_has_an_id_of_its_own(ids: list[str]) -> None:
    """A service's ids may come twice, look like those that are made here, or have nothing before the mark."""
    lines = [line.split(" ") for line in run_lines("q", [Passage(i, "", "") for i in ids], "t")]
    assert all(len(columns) == 6 and columns[2] for columns in lines)
    assert len({columns[2] for columns in lines}) == len(ids)


@given(st.text(min_size=1).filter(lambda text: "#" not in text), st.text(min_size=1))
@example("\x00\x1b[31m\x7f\x85\x9b\u202e\u200b\ufeff\u3000", "a b\tc\nd")
def test_an_id_is_one_column_and_can_be_read_back(document: str, ident: str) -> None:
    from urllib.parse import unquote

    lines = [*run_lines(ident, [Passage(document, "", "", 1.0)], "t"), *qrels_lines(question(ident, document))]
    for line, width in zip(lines, (6, 4), strict=True):
        columns = line.removesuffix("\n").split(" ")
        assert line.removesuffix("\n").isprintable()
        assert len(columns) == width == len(line.split())
        if "\ufffd" not in document + ident and all(ord(c) < 0xD800 or ord(c) > 0xDFFF for c in document + ident):
            assert (unquote(columns[0]), unquote(columns[2])) == (ident, document)


def test_an_id_of_a_service_brings_no_key_and_no_control_character_into_the_files(
    trec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rag_server import RagServer, Rule

    from quadrag.cli import main

    key = "sk-a-long-key-of-mine"
    monkeypatch.setenv("QUADRAG_API_KEY", key)
    ids = [f"{key} a", f"b\x1b[31m{key}", "c d\r\ne 1 2 f", "\ud800\u202e", key, f" {key}"]
    out = tmp_path / "run"
    with RagServer([("d", "", "text")]) as server:
        server.rules.append(Rule("merge", body={"passages": [{"id": one, "text": ""} for one in ids]}))
        run = ["run", "crud_rag", "qa_1doc", "--data-dir", "sample", "--limit", "1", "--rag", server.url]
        assert main([*run, "--ledger", str(tmp_path / "ledger"), "--out", str(out)]) == 0
    assert trec(out)[0] == 0
    written = (out / "trec" / "qa_1doc-test.run").read_text(encoding="utf-8")
    found = [line.split(" ") for line in written.splitlines()]
    wanted = ["***%20a", "b%1B[31m***", "c%20d%0D%0Ae%201%202%20f", "\ufffd%E2%80%AE", "***", "%20***"]
    assert [(len(columns), columns[2]) for columns in found] == [(6, name) for name in wanted]
    assert key not in written
