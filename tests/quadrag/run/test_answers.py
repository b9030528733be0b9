"""Files of answers that other systems made: every accepted form, and one line for every fault."""

import json
import resource
from dataclasses import asdict

import pytest

from quadrag.errors import QuadragError
from quadrag.records import Question
from quadrag.run.files import answers

SPLITS = ("noise_0", "noise_40")


def asked(splits=("test",), config="noise_robustness_en", n=3):
    return [Question("rgb", config, split, str(i), "q", [["a"]], "en") for split in splits for i in range(n)]


@pytest.fixture
def read(tmp_path):
    def one(rows, questions=None, **defaults):
        path = tmp_path / "mine.jsonl"
        lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
        path.write_text("\n".join(lines), encoding="utf-8")
        return answers.read(answers.lines(path), questions or asked(), defaults).answers

    return one


@pytest.fixture
def refused(read):
    def one(rows, questions=None, **defaults):
        with pytest.raises(QuadragError) as caught:
            read(rows, questions, **defaults)
        assert "\n" not in str(caught.value) and "mine.jsonl" in str(caught.value)
        return str(caught.value)

    return one


def plain(n=3, **more):
    return [{"id": i, "answer": f"answer {i}", **more} for i in range(n)]


def test_id_and_answer_are_enough_in_any_order(read):
    found = read(reversed(plain()))
    assert [(one.id, one.answer, one.state, one.sample) for one in found] == [
        ("0", "answer 0", "ok", 0),
        ("1", "answer 1", "ok", 0),
        ("2", "answer 2", "ok", 0),
    ]
    assert found[0].key == ("noise_robustness_en", "test", "0") and found[0].benchmark == "rgb"


def test_a_part_is_read_as_a_part_and_a_sample_that_is_lacking_has_failed(read):
    assert [one.id for one in read(plain(2))] == ["0", "1"]
    found = read([*plain(), {"id": 1, "answer": "x", "sample": 1}])
    assert [(one.id, one.sample, one.state) for one in found if one.sample] == [
        ("0", 1, "api_error"),
        ("1", 1, "ok"),
        ("2", 1, "api_error"),
    ]


def test_what_was_asked_may_hold_the_question_or_be_a_part_of_it(read):
    rows = [{"id": 0, "answer": "a", "query": "Tell me: q"}, {"id": 1, "answer": "b", "question": ""}]
    assert len(read([*rows, {"id": 2, "answer": "c", "query": None, "question": ["another"]}])) == 3


def test_our_own_file_comes_back_as_it_was(read):
    questions = asked(SPLITS)
    rows = [
        {
            "benchmark": "rgb",
            "config": config,
            "split": split,
            "id": ident,
            "sample": sample,
            "answer": None if ident == "1" else "x\u2028y",
            "reasoning": "why" if ident == "2" else None,
            "state": "truncated" if ident == "1" else "ok",
            "finish_reason": "stop",
            "usage": {"prompt_tokens": 3},
        }
        for config, split, ident in (question.key for question in questions)
        for sample in (0, 1)
    ]
    assert [asdict(one) for one in read(rows, questions)] == rows


def test_null_is_a_failed_call_and_may_say_why(read):
    rows = [
        {"id": 0, "answer": None},
        {"id": 1, "answer": None, "state": "truncated"},
        {"id": 2, "answer": "half", "state": "api_error"},
    ]
    assert [(one.answer, one.state) for one in read(rows)] == [
        (None, "null"),
        (None, "truncated"),
        (None, "api_error"),
    ]


def test_the_split_comes_from_the_line_else_from_the_user(read):
    rows = [row for split in SPLITS for row in plain(split=split)]
    assert [one.split for one in read(rows, asked(SPLITS))] == ["noise_0"] * 3 + ["noise_40"] * 3
    assert {one.split for one in read(plain(), asked(SPLITS), split="noise_40")} == {"noise_40"}


def authors(split_ratio, n=3):
    """A line as the prediction file of RGB's own code has it."""
    return [
        {
            "id": i,
            "query": "q",
            "ans": ["a"],
            "label": [1],
            "prediction": f"prediction {i}",
            "docs": ["d"],
            "noise_rate": split_ratio,
            "factlabel": 0,
        }
        for i in range(n)
    ]


def test_the_prediction_file_of_the_authors(read):
    rows = authors(0) + authors(0.4)
    found = read(rows, asked(SPLITS))
    assert [(one.split, one.answer) for one in found[2:4]] == [
        ("noise_0", "prediction 2"),
        ("noise_40", "prediction 0"),
    ]


def test_the_authors_noise_of_1_is_the_only_split_of_rejection(read):
    assert {one.split for one in read(authors(1.0))} == {"test"}


def test_a_ratio_off_the_papers_names_its_split_as_the_dataset_does_and_what_failed_is_put_in(read):
    found = read(authors(0.125)[:2], asked(("noise_0", "noise_12_5")))
    assert [(one.split, one.state) for one in found] == [("noise_12_5", "ok")] * 2 + [("noise_12_5", "api_error")]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([*plain(), {"id": 7, "answer": "x"}], (":4", "unknown id '7'")),
        ([{"answer": "x"}], (":1", "id is None")),
        ([{"编号": 0, "回答": "x"}], (":1", "no answer", "'编号', '回答'")),
        ([{"id": 0, **{str(n): "x" for n in range(200)}}], ("no answer", "'3'")),
        ([*plain(), {"id": 1, "answer": "x"}], (":4", "again")),
        (plain(query="another"), (":1", "another question than test 0", "ids of `quadrag questions`")),
        (["not json"], (":1", "not JSON")),
        (["[1]"], (":1", "int")),
        ([{"id": 0, "answer": 5}], (":1", "int", "string")),
        ([{"id": 0, "answer": "x", "state": "fine"}], (":1", "'fine'", "api_error")),
        ([{"id": 0, "answer": "x", "state": []}], (":1", "state")),
        ([{"id": 0, "answer": "x", "sample": -1}], (":1", "sample")),
        ([{"id": 0, "answer": "x", "sample": True}], (":1", "sample")),
        ([{"id": 0, "answer": "x", "split": ["test"]}], (":1", "split")),
        ([{"id": 0, "answer": "x", "config": {}}], (":1", "config")),
        ([{"id": 0, "answer": "x", "split": "noise_40"}], (":1", "'noise_40'")),
        ([{"id": 0, "answer": "x", "config": "noise_robustness_zh"}], (":1", "noise_robustness_zh", "--config")),
        ([*plain(2), {"id": 2, "answer": "x", "benchmark": "crag"}], (":3", "'crag'")),
        ([{"id": 0, "answer": "x", "benchmark": "nobody's"}], (":1", "nobody's")),
        ([{"id": None, "answer": "x"}], (":1", "id is None")),
        ([{"id": [0], "answer": "x"}], (":1", "id")),
    ],
)
def test_every_fault_is_one_line_that_says_where(refused, rows, words):
    message = refused(rows)
    for word in words:
        assert word in message, message


def test_ids_that_repeat_over_splits_must_say_their_split(refused):
    message = refused(plain(), asked(SPLITS))
    assert "noise_0, noise_40" in message and "--split" in message


@pytest.mark.parametrize(
    ("options", "retriever", "given", "said"),
    [
        ({}, "own", (), ""),
        ({"noise_ratio": 0.6}, "own", (), "leave it out, or ask noise_robustness_en"),
        ({"passage_num": 4}, "own", (), ""),
        (
            {"passage_num": 4},
            "own",
            ("--option", "passage_num=3"),
            "was made with passage_num=4, not 3",
        ),
        ({"passage_num": 4}, "own", ("--option", "passage_num=4"), ""),
        ({}, "none", (), ""),
        ({}, "none", ("--retriever", "own"), "was made with retriever=none, not own"),
        ({}, "none", ("--retriever", "none"), ""),
    ],
)
def test_a_harness_log_is_scored_under_its_own_conditions(options, retriever, given, said, cli, tmp_path):
    conditions = json.dumps({"retriever": retriever, "options": options})
    rows = [
        {
            "doc": {"id": str(n), "config": "negative_rejection_en", "split": "test", "conditions": conditions},
            "resps": [["no"]],
            "filtered_resps": ["no"],
        }
        for n in range(12)
    ]
    (tmp_path / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    place = ("--benchmark", "rgb", "--config", "negative_rejection_en", "--data-dir", "sample")
    ran = cli("score", tmp_path / "samples.jsonl", *place, *given)
    assert (ran.code, said in ran.err) == (2 if said else 0, True), ran.err
    assert ("no documents" in ran.out) == (retriever == "none" and not said)


@pytest.mark.parametrize("most", [0, 1000, 4000])
def test_scores_that_could_not_be_written_leave_no_folder_that_is_refused(cli, tmp_path, most):
    asked = ("rgb", "negative_rejection_en", "--data-dir", "sample", "--limit", "3")
    assert cli("run", *asked, "--out", "first").code == 0
    command = ("score", "first/answers.jsonl", "--data-dir", "sample", "--out", "out")
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, usual[1]))  # a file that grows past it cannot be written
    try:
        ran = cli(*command)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert ran.code == 2 and ran.err.startswith("quadrag: out") and ran.err.count("\n") == 1
    assert not (tmp_path / "out" / "scores.json").exists() or (tmp_path / "out" / "scores.json").stat().st_size
    assert cli(*command).code == 0
    assert (tmp_path / "out" / "scores.json").is_file()


@pytest.mark.parametrize(
    ("named", "lacking"),
    [
        ((), "--benchmark and --config"),
        (("--benchmark", "rgb"), "--config"),
        (("--config", "negative_rejection_en"), "--benchmark"),
    ],
)
def test_what_neither_the_file_nor_the_user_names_is_asked_for_alone(cli, tmp_path, named, lacking):
    path = tmp_path / "mine.jsonl"
    path.write_text('{"id": 0, "answer": "x"}')
    ran = cli("score", path, *named, "--data-dir", "sample")
    assert ran.code == 2 and ran.err.endswith(f"does not say what it answers; name it with {lacking}\n")


def test_a_runs_answers_are_held_against_its_own_questions(cli, tmp_path):
    run = cli("run", "rgb", "negative_rejection_en", "--data-dir", "sample", "--out", "run")
    assert run.code == 0, run.err
    assert "by ids alone" not in cli("score", "run/answers.jsonl", "--data-dir", "sample").out
    other = tmp_path / "other"
    other.mkdir()
    rows = [
        {"id": n, "query": f"another {n}", "answer": ["x"], "positive": ["p"] * 5, "negative": ["n"] * 5}
        for n in range(12)
    ]
    (other / "en_refine.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = cli("score", "run/answers.jsonl", "--data-dir", other)
    assert ran.code == 2 and "--data-dir sample" in ran.err and len(ran.err.splitlines()) == 1, ran.err


@pytest.mark.parametrize(("name", "read"), [("contexts", False), ("passages", True)])
def test_passages_under_a_name_that_is_not_read_are_named(cli, tmp_path, name, read):
    asked = cli("questions", "crud_rag", "qa_1doc", "--data-dir", "sample", "--limit", "2").out.splitlines()
    rows = [{"id": json.loads(line)["id"], "answer": "x", name: [{"text": "found"}]} for line in asked]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    place = ("--benchmark", "crud_rag", "--config", "qa_1doc", "--data-dir", "sample")
    ran = cli("score", tmp_path / "mine.jsonl", *place)
    assert ran.code == 0, ran.err
    assert ("'contexts'" in ran.err) == (not read), ran.err
