"""Files of answers that other systems made: every accepted form, and one line for every fault."""

import json
import resource
from dataclasses import asdict

import pytest

import quadrag
from quadrag.benchmark import load
from quadrag.errors import QuadragError
from quadrag.records import Question
from quadrag.run import answers

pytestmark = pytest.mark.plugins

SPLITS = ("noise_0", "noise_40")
REJECTION = ("negative_rejection_en", "--data-dir", "sample")


def asked(splits=("test",), config="noise_robustness_en", n=3):
    return [Question("rgb", config, split, str(i), "q", [["a"]], "en") for split in splits for i in range(n)]


@pytest.fixture
def read(tmp_path):
    def one(rows, questions=None, **defaults):
        path, questions = tmp_path / "mine.jsonl", questions or asked()
        lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
        path.write_text("\n".join(lines), encoding="utf-8")
        return answers.read(answers.lines(path, load("rgb"), questions[0].config), questions, defaults).answers

    return one


def plain(n=3, **more):
    return [{"id": i, "answer": f"answer {i}", **more} for i in range(n)]


def authors(noise, n=3):
    """Lines as the prediction file of RGB's own code has them."""
    more = {"query": "q", "ans": ["a"], "label": [1], "docs": ["d"], "noise_rate": noise, "factlabel": 0}
    return [{"id": i, "prediction": f"prediction {i}", **more} for i in range(n)]


CASES = {
    "id and answer, in any order": (
        reversed(plain()),
        {},
        [("test", str(i), 0, f"answer {i}", "ok") for i in range(3)],
    ),
    "a part": (plain(2), {}, [("test", str(i), 0, f"answer {i}", "ok") for i in range(2)]),
    "a sample that one has": (
        [*plain(2), {"id": 1, "answer": "x", "sample": 1}],
        {},
        [
            ("test", "0", 0, "answer 0", "ok"),
            ("test", "0", 1, None, "api_error"),
            ("test", "1", 0, "answer 1", "ok"),
            ("test", "1", 1, "x", "ok"),
        ],
    ),
    "what was asked, whole or in part": (
        [{"id": 0, "answer": "a", "query": "Tell me: q"}, {"id": 1, "answer": "b", "query": None, "question": ["x"]}],
        {},
        [("test", "0", 0, "a", "ok"), ("test", "1", 0, "b", "ok")],
    ),
    "failed calls": (
        [{"id": 0, "answer": None}, {"id": 1, "answer": None, "state": "truncated"}, *plain(3, state="api_error")[2:]],
        {},
        [("test", "0", 0, None, "null"), ("test", "1", 0, None, "truncated"), ("test", "2", 0, None, "api_error")],
    ),
    "the split of the line": (
        plain(1, split="noise_40"),
        {"questions": asked(SPLITS)},
        [("noise_40", "0", 0, "answer 0", "ok")],
    ),
    "the split that the user says": (
        plain(1),
        {"questions": asked(SPLITS), "split": "noise_40"},
        [("noise_40", "0", 0, "answer 0", "ok")],
    ),
    "the authors' file, which leaves failed calls out": (
        [*authors(0, 1), *authors(0.4, 1)],
        {"questions": asked(SPLITS, n=2)},
        [
            (split, ident, 0, None if ident == "1" else "prediction 0", "api_error" if ident == "1" else "ok")
            for split in SPLITS
            for ident in "01"
        ],
    ),
    "a ratio off the paper's": (
        authors(0.125, 1),
        {"questions": asked(("noise_0", "noise_12_5"), n=1)},
        [("noise_12_5", "0", 0, "prediction 0", "ok")],
    ),
    "the noise of 1 of a testbed with one split": (
        authors(1.0, 1),
        {"questions": asked(config="negative_rejection_en", n=1)},
        [("test", "0", 0, "prediction 0", "ok")],
    ),
}


@pytest.mark.parametrize(("rows", "given", "found"), CASES.values(), ids=CASES)
def test_lines_are_read_as_answers(read, rows, given, found):
    assert [(one.split, one.id, one.sample, one.answer, one.state) for one in read(rows, **given)] == found


def test_our_own_file_comes_back_as_it_was(read):
    questions = asked(SPLITS)
    rows = [
        {
            **dict(zip(("config", "split", "id"), question.key, strict=True)),
            **{"benchmark": "rgb", "sample": sample, "answer": "x\u2028y", "reasoning": "why", "state": "ok"},
            **{"finish_reason": "stop", "usage": {"prompt_tokens": 3}},
        }
        for question in questions
        for sample in (0, 1)
    ]
    assert [asdict(one) for one in read(rows, questions)] == rows


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ([*plain(), {"id": 7, "answer": "x"}], ":4"),
        ([{"answer": "x"}], ":1"),
        ([{"编号": 0, "回答": "x"}], "'编号', '回答'"),
        ([*plain(), {"id": 1, "answer": "x"}], ":4"),
        (plain(query="another"), ":1"),
        (["not json"], ":1"),
        (["[1]"], ":1"),
        ([{"id": 0, "answer": 5}], ":1"),
        ([{"id": 0, "answer": "x", "state": "fine"}], "'fine'"),
        ([{"id": 0, "answer": "x", "state": []}], ":1"),
        ([{"id": 0, "answer": "x", "sample": -1}], ":1"),
        ([{"id": 0, "answer": "x", "sample": True}], ":1"),
        ([{"id": 0, "answer": "x", "split": ["test"]}], ":1"),
        ([{"id": 0, "answer": "x", "config": {}}], ":1"),
        ([{"id": 0, "answer": "x", "split": "noise_40"}], "'noise_40'"),
        ([*plain(2), {"id": 2, "answer": "x", "benchmark": "crag"}], ":3"),
        ([{"id": 0, "answer": "x", "benchmark": "nobody's"}], "nobody's"),
        ([{"id": [0], "answer": "x"}], ":1"),
    ],
)
def test_every_fault_is_one_line_that_says_where(read, rows, word):
    with pytest.raises(QuadragError) as caught:
        read(rows)
    assert "\n" not in str(caught.value) and "mine.jsonl" in str(caught.value) and word in str(caught.value)


@pytest.mark.parametrize(
    ("options", "retriever", "given", "code"),
    [
        ({}, "own", (), 0),
        ({"noise_ratio": 0.6}, "own", (), 2),
        ({"passage_num": 4}, "own", ("--option", "passage_num=3"), 2),
        ({"passage_num": 4}, "own", ("--option", "passage_num=4"), 0),
        ({}, "none", ("--retriever", "own"), 2),
        ({}, "none", ("--retriever", "none"), 0),
    ],
)
def test_a_harness_log_is_scored_under_its_own_conditions(options, retriever, given, code, cli, tmp_path):
    doc = {"config": REJECTION[0], "split": "test"}
    doc["conditions"] = json.dumps({"retriever": retriever, "options": options})
    rows = [{"doc": {"id": str(n), **doc}, "resps": [["no"]], "filtered_resps": ["no"]} for n in range(12)]
    (tmp_path / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = cli("score", tmp_path / "samples.jsonl", "--benchmark", "rgb", "--config", *REJECTION, *given)
    assert ran.code == code, ran.err
    assert ("no documents" in ran.out) == (retriever == "none" and not code)


@pytest.mark.parametrize("most", [0, 1000, 4000])
def test_scores_that_could_not_be_written_leave_no_folder_that_is_refused(cli, tmp_path, most):
    assert cli("run", "rgb", *REJECTION, "--limit", "3", "--out", "first").code == 0
    command = ("score", "first/answers.jsonl", "--data-dir", "sample", "--out", "out")
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, usual[1]))  # a file that grows past it cannot be written
    try:
        ran = cli(*command)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert ran.code == 2 and ran.err.startswith("quadrag: out") and ran.err.count("\n") == 1
    assert not (tmp_path / "out" / "scores.json").exists() or (tmp_path / "out" / "scores.json").stat().st_size
    assert cli(*command).code == 0 and (tmp_path / "out" / "scores.json").is_file()


@pytest.mark.parametrize(("named", "lacking"), [((), "--benchmark and --config"), (("--benchmark", "rgb"), "--config")])
def test_what_neither_the_file_nor_the_user_names_is_asked_for_alone(cli, tmp_path, named, lacking):
    (tmp_path / "mine.jsonl").write_text('{"id": 0, "answer": "x"}')
    ran = cli("score", tmp_path / "mine.jsonl", *named, "--data-dir", "sample")
    assert ran.code == 2 and ran.err.endswith(f"{lacking}\n")


def test_a_runs_answers_are_held_against_its_own_questions(cli, tmp_path):
    assert cli("run", "rgb", *REJECTION, "--out", "run").code == 0
    rows = [
        {"id": n, "query": f"another {n}", "answer": ["x"], "positive": ["p"] * 5, "negative": ["n"] * 5}
        for n in range(12)
    ]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "en_refine.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = cli("score", "run/answers.jsonl", "--data-dir", tmp_path / "other")
    assert ran.code == 2 and "--data-dir sample" in ran.err and len(ran.err.splitlines()) == 1, ran.err


def test_answers_matched_by_ids_alone_and_columns_that_are_not_read_are_told(cli, tmp_path):
    for benchmark, config, warned in (("rgb", REJECTION[0], True), ("crud_rag", "qa_1doc", False)):
        asked = quadrag.questions(benchmark, config, data_dir="sample")
        for given in ({}, {"question": True}):
            rows = [{"id": one.id, "answer": "x", "contexts": ["p"]} for one in asked]
            rows = [row | ({"question": one.query} if given else {}) for row, one in zip(rows, asked, strict=True)]
            (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
            named = ("--benchmark", benchmark, "--config", config, "--data-dir", "sample")
            ran = cli("score", tmp_path / "mine.jsonl", *named)
            assert ("Matched by ids alone" in ran.out) == (warned and not given), (ran.out, ran.err)
            assert ("'contexts'; what was found belongs under 'passages'" in ran.err) == (benchmark == "crud_rag")
