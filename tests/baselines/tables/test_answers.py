"""What is said above a table of answers that are empty or all one text, and of passages that were not read."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from rag_server import RagServer, Rule

import quadrag
from quadrag.baselines.core.result import Asked, Result
from quadrag.baselines.systems.rag.reply import find_unread, read_reply
from quadrag.baselines.tables.answers import note_answers, note_kinds
from quadrag.baselines.tables.language import speak
from quadrag.cli import main
from quadrag.records import write_jsonl
from quadrag.run_record import Inputs, RunRecord

PLACE = ("crud_rag", "qa_1doc")
OWN = "; if these are errors, put null in the file"
RAISE = ("put null in the file", "let the function raise")  # of a file, of a function
UNREAD = "The answers have `contexts`, which is not read: passages belong under `passages`; retrieval is not measured."
GOLD = "04d531668ae56803018ec27866104335fe24d45145f4c64d89df6ba2957dff01"
UNKNOWN = "Retrieval is not measured: the system gave no id and no text of a gold document"

MISSED = "None of the {} passages is a gold document; check that their ids are those of `quadrag.corpus`."


def count(table, said):
    """How often something is said in a table, whose lines may break within it."""
    return " ".join(table.split()).count(said)


def test_a_search_without_a_hit_is_zero_and_one_that_tells_nothing_is_not_measured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    others = list(quadrag.corpus("crud_rag", data_dir="sample", gold="test"))[48:56]
    given = {"hit": [GOLD], "others": others, "nothing": [], "silent": None}
    found = {
        name: quadrag.evaluate(*PLACE, lambda question, each=each: (question.query, each), data_dir="sample", out=name)
        for name, each in given.items()
    }
    assert [found[name]["recall@8"].value for name in given] == [0.125, 0.0, 0.0, None]
    assert MISSED.format(64) in " ".join(repr(found["others"]).split())
    assert "Retrieval is not measured: the system gave no passages." in repr(found["silent"])
    assert quadrag.compare(found["others"], found["hit"])["recall@8"].difference == 0.125


def test_texts_of_passages_under_another_name_are_told_where_no_id_is_known(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = "The passages have `body`, which is not read: their texts belong under `text`."
    known = {"mine-1": told, GOLD: ""}
    for ident, said in known.items():
        passage = {"id": ident, "body": "春风又绿江南岸", "lang": "zh"}
        found = quadrag.evaluate(*PLACE, lambda question, one=passage: (question.query, [one]), data_dir="sample")
        assert (told in " ".join(repr(found).split())) == bool(said)
        rows = [
            {"id": one.id, "answer": "x", "passages": [passage]} for one in quadrag.questions(*PLACE, data_dir="sample")
        ]
        (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        scored = ["score", "mine.jsonl", "--benchmark", PLACE[0], "--config", PLACE[1], "--data-dir", "sample"]
        assert main([*scored, "--out", ident[:4]]) == 0
        assert (told in quadrag.result(ident[:4]).notes) == bool(said)
    served = read_reply("json", {"answer": "x", "passages": [{"id": "d", "content": "t"}, {"id": "e", "text": "t"}]})
    assert served["unread"] == ("passages.content",), "over HTTP the contract's names alone are read"


def test_texts_alone_are_known_or_count_as_missed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpus = list(quadrag.corpus("crud_rag", data_dir="sample", gold="test"))
    gold = next(one for one in corpus if one.id == GOLD)
    given = {
        "hit": [{"text": gold.text}],
        "others": [{"text": one.text.replace("。", "。\n")} for one in corpus[48:52]],
        "strange": [{"text": corpus[48].text}, {"text": "春风又绿江南岸，" * 9}],
        "cut": [{"id": "a-1", "text": corpus[48].text}],
        "short": [{"text": corpus[48].text[:20]}],
        "named": [{"id": "a-1", "text": gold.text[:20]}],
        "unlike": [{"id": "a-1", "text": "春风又绿江南岸，" * 9}],
    }

    def measure(name, answer):
        return quadrag.evaluate(*PLACE, answer, data_dir="sample", out=name)

    found = {name: measure(name, lambda question, each=each: (question.query, each)) for name, each in given.items()}
    assert [found[name]["recall@8"].value for name in given] == [0.125, 0.0, 0.0, 0.0, 0.0, None, None]
    told = {name: " ".join(repr(one).split()) for name, one in found.items()}
    missed, strange = (
        "None of the {} passages is a gold document",
        "8 of their texts are no document of `quadrag.corpus`",
    )
    assert f"{missed.format(32)}." in told["others"] and f"{missed.format(16)}; {strange}." in told["strange"]
    assert (
        f"{missed.format(8)}." in told["cut"] and "is a gold document" not in told["hit"] and UNKNOWN in told["unlike"]
    )
    short = "8 of 8 passages are under 32 characters: too short to be known."
    assert [name for name in given if "too short" in told[name]] == ["short", "named"] and short in told["short"]
    assert f"{UNKNOWN}; one of its ids is 'a-1'" in told["named"] and short in told["named"]
    # A part of the answers without passages counts as 0, and is told of.
    asked = [question.id for question in quadrag.questions(*PLACE, data_dir="sample")]
    some = measure("some", lambda question: (question.id, [GOLD]) if question.id in asked[:5] else question.id)
    bare = "3 of 8 answers came without passages: their search counts as 0."
    assert some["recall@8"].n == 8 and bare in repr(some) and "without passages" not in told["hit"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"answer": "", "passages": [GOLD]}, f"All 8 answers are empty{OWN.replace('errors', 'failures')}."),
        ({"answer": "不知道", "passages": [GOLD]}, f"All 8 answers are the same text, '不知道'{OWN}."),
        ({"answer": "id", "contexts": ["a"]}, UNREAD),
        (
            {"answer": "id", "docs": ["a"], "Chunks": [1]},
            UNREAD.replace("`contexts`, which is", "`Chunks` and `docs`, which are"),
        ),
        ({"answer": "id", "passages": [GOLD], "contexts": []}, None),
        ({"answer": "id", "passages": []}, "The search found no passage for any question."),
        ({"answer": "id", "passages": ["ab" * 32]}, MISSED.format(8)),
        (
            {"answer": "id", "passages": [GOLD[:14]]},
            f"{UNKNOWN}; one of its ids is '{GOLD[:14]}', one of the corpus is '{GOLD[:15]}…'; "
            "the first is shorter, give ids whole.",
        ),
        (
            {"answer": "id", "passages": ["nowhere"], "contexts": ["a"]},
            f"{UNKNOWN}; one of its ids is 'nowhere', one of the corpus is '{GOLD[:15]}…'.",
        ),
    ],
)
def test_a_file_and_a_function_are_told_alike(cli, given, said):
    def answer(question):
        return {**given, "answer": question["id"] if given["answer"] == "id" else given["answer"]}

    asked = [json.loads(line) for line in cli("questions", *PLACE, "--data-dir", "sample").out.splitlines()]
    write_jsonl(Path("mine.jsonl"), [question | answer(question) for question in asked])
    scored = cli("score", "mine.jsonl", "--data-dir", "sample", "--out", "byfile")
    found = quadrag.evaluate(*PLACE, lambda question: answer({"id": question.id}), data_dir="sample", out="mine")
    tables = [scored.out, cli("report", "byfile").out, repr(found), repr(quadrag.result("mine"))]
    reprs = tables[2:]  # which say nothing of what did not run
    for table in tables:
        here = (said or "").replace(*RAISE) if table in reprs else said
        # The title is the first line, and what is said of the answers stands between it and the columns.
        _, *head = table.strip().partition("metric ")[0].splitlines()
        made_up = "The data are the bundled sample, which is made up. So no published value stands beside."
        told = " ".join(" ".join(head).split()).removeprefix(made_up)
        assert told.strip() == (here or "")
        assert table.count("one of its ids") <= 1
        assert ("(see above)" in table) == (table not in reprs and UNKNOWN in (said or ""))
    if given["answer"]:  # empty ones have no score
        shutil.copytree("mine", "again")
        own = (said or "").replace(*RAISE)
        assert count(repr(quadrag.compare(found, "again")), f"mine, again: {own}") == bool(said)
    both = cli("report", "mine", "byfile").out
    assert (count(both, f"mine, byfile: {said}") or count(both, f"byfile: {said}")) == bool(said)


LIMIT = "Error code: 429 - rate limit"
DECLINED = "I can not answer the question because of the insufficient information in documents."


def told_of(
    texts: list[str | None],
    samples: int = 1,
    metric: str = "rgb_accuracy.accuracy",
    value: float | None = 0,
    same: int = 0,
    right: str = DECLINED,
    empty: dict[str, int] | None = None,
    log: bool = False,
    **inputs: Any,
) -> str:
    """What is told of questions that were answered so, each as often as there are samples, the first ones the same."""
    made = Inputs(quadrag="0", benchmark="rgb", config="c", splits=["s"], retriever="own", llm="m", **inputs)
    places = [(str(i), sample) for i in range(len(texts)) for sample in range(samples)]
    rows = [
        {"config": "c", "split": "s", "id": i, "sample": sample}
        | {metric: {"official": value and value * (texts[int(i)] == right)}}
        for i, sample in places
    ]
    known = {(("c", "s", i), sample): texts[int(i)] for i, sample in places}
    asked: dict[Any, Asked] = {("c", "s", str(i)): Asked(str(max(i, same - 1))) for i in range(len(texts))}
    result = Result(RunRecord(made, empty=empty or {}, log=log), [], rows, asked=asked, texts=known)
    return "|".join([*note_answers([result]), *note_kinds([result])])


def test_a_text_that_answers_many_questions_is_told_of():
    own = [f"answer {i}" for i in range(200)]
    assert told_of([LIMIT] * 67 + own[67:]) == f"67 of 200 answers are the same text, '{LIMIT}'{OWN}."
    assert told_of(["yes"] * 11 + own[11:]) != told_of(["yes"] * 10 + own[10:]) == "", "more than 5%"
    assert told_of(["yes"] * 5 + own[:9]) != told_of(["yes"] * 4 + own[:9]) == "", "of 5 questions or more"
    assert told_of(own[:9], samples=5) == told_of([LIMIT, *own[:9]], samples=5) == "", "samples of one question"
    assert told_of([LIMIT] * 5 + own[:9], same=5) == "", "one question in five splits"
    assert told_of([None] * 9 + own[:9]) == ""
    assert told_of(["yes"] * 60 + [LIMIT] * 50 + own[:90]).count("200 answers are the same text") == 2
    ours = "若这些是报错信息，请在文件里写 null"
    assert speak(told_of([LIMIT] * 67 + own[67:]), "zh") == f"200 个回答中有 67 个是同一段文字：'{LIMIT}'；{ours}。"


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ([f"Error 429, request id {at:x}f{at * 7919:05}" for at in range(9)], "Error …, request id …"),
        ([f"[2026-11-23T06:51:{at:02}Z] rate limit reached" for at in range(9)], "[…:…:…] rate limit reached"),
        ([f"request {at:08x}-1f2e-4a3b-8c4d-5e6f70819203 timed out" for at in range(9)], "request … timed out"),
        ([f"请求失败，编号 {at}" for at in range(9)], "请求失败，编号 …"),
        ([str(1980 + at) for at in range(9)], None),
        ([f"In {1980 + at}." for at in range(9)], None),
        ([f"The answer is {at}." for at in range(9)], None),
        ([f"November {at}, 2021" for at in range(9)], None),
        ([f"{at}年7月" for at in range(9)], None),
    ],
)
def test_errors_that_differ_by_a_number_or_an_id_are_one_text_and_short_answers_are_not(texts, told):
    own = [f"city {'abcdefghi'[at]}" for at in range(9)]
    assert told_of(texts + own) == (f"9 of 18 answers are the same text, '{told}'{OWN}." if told else "")
    others = f"8 of 18 answers are the same text, '{told}'{OWN}." if told else ""
    assert told_of(texts + own, value=1, right=texts[3]) == others, "an id may hold what is sought"
    assert (told_of(texts + own, metric="retrieval_ranking.recall@8", value=1, right=texts[3]) == "") == (told is None)


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ([LIMIT] * 2, LIMIT),
        (["Error 1", "Error 2"], "Error …"),
        (
            ["Request failed while answering 'Who?': timeout", "Request failed while answering 'How?': 1"],
            "Request failed…",
        ),
        (["服务异常，请求编号3f，请稍后再试", "服务异常，请求编号4f，请稍后再试"], "服务异常，请求编号…，请稍后再试"),
        (["Traceback (most recent call last): KeyError", "Traceback (most recent call last): OSError"], "Traceback…"),
        (["ConnectionError at alpha", "ConnectionError at beta"], "ConnectionError…"),
        ([LIMIT, "The request timed out"], None),
        (["There are factual errors in the provided documents."] * 2, None),
        (["There is a factual error in the document: the year."] * 2, None),
        (["文档中存在事实性错误。"] * 2, None),
        (["错误"] * 2, None),
        (["It is a tale of terror."] * 2, None),
        ([f"{'All is well. ' * 9} The error was small."] * 2, None),
    ],
)
def test_two_answers_that_read_like_an_error_are_told_of(texts, told):
    own = [f"city {i}" for i in range(200)]
    assert told_of([*texts, *own]) == (f"2 of 202 answers are the same text, '{told}'{OWN}." if told else "")


def test_errors_of_several_kinds_are_one_line():
    kinds = [f"{name}Error at {'ab'[at % 2]}" for name in ("Key", "Type", "Value") for at in range(2)]
    texts = [*kinds, "KeyError at c", "The request timed out", *(f"city {i}" for i in range(52))]
    total = f"8 of 60 answers read like error texts, of 4 kinds, most often 'KeyError…' (3){OWN}."
    each = "'KeyError…' (3), 'TypeError…' (2), 'ValueError…' (2), 'The request timed out' (1)"
    assert told_of(texts) == f"{total}|Answers that read like error texts: {each}."
    assert told_of(texts, value=1, right="The request timed out").startswith("7 of 60"), "words find that one right"
    ours = f"60 个回答中有 8 个读起来像报错信息，共 4 种，最多的是 'KeyError…' (3)；{speak(OWN[2:], 'zh')}。"
    assert speak(total, "zh") == ours and speak(f"f1: {total}", "zh") == f"f1：{ours}"
    assert speak(f"Answers that read like error texts: {each}.", "zh") == f"读起来像报错信息的回答：{each}。"


def test_empty_answers_are_told_of_where_they_count():
    own = [f"answer {i}" for i in range(100)]
    empty = "2 of 100 answers are empty and count as they are"
    failures = OWN.replace("errors", "failures")
    assert told_of(["", " ", *own[2:]]) == f"{empty}{failures}."
    ours = "100 个回答中有 2 个是空的，照原样计分；若这些其实是失败，请在文件里写 null。"
    assert speak(f"{empty}{failures}.", "zh") == ours and speak(f"f1: {empty}{failures}.", "zh") == f"f1：{ours}"
    assert told_of([""] * 9) == f"All 9 answers are empty{failures}."
    assert told_of(["", *own[:5]]) == told_of([""] * 2 + own + own[:1]) == "", "from 2 and from 2% on"
    assert told_of(["", "", *own[2:]], parameters={"temperature": 0}) == f"{empty}."
    assert told_of([""] * 9 + own, value=None) == "", "a metric leaves them out"
    assert told_of([""] * 9 + own, empty={"c/s": 9}) == "", "they have failed"
    assert told_of([""] * 9, empty={"c/s": 9}) == "", "which a line of its own says"


def test_what_to_do_of_errors_is_said_by_how_the_answers_came():
    ways = [{}, *({"contract": name} for name in ("python", "file", "json", "openai")), {"temperature": 0}]
    told = [told_of([LIMIT] * 9, parameters=way) for way in ways]
    service = "; if these are errors, let the service reply with an error status"
    same = f"All 9 answers are the same text, '{LIMIT}'"
    assert told == [f"{same}{way}." for way in (OWN, OWN.replace(*RAISE), OWN, service, service, "")]
    assert told_of([LIMIT] * 9, services={"llm": "http://m/v1"}) == f"{same}.", "a model said so"
    assert told_of([LIMIT] * 9, log=True) == f"{same}.", "likewise"
    assert told_of([LIMIT] * 9, services={"judge": "http://m/v1"}) == f"{same}{OWN}.", "a file, which a model judged"


def test_a_text_that_a_metric_looks_for_is_not_told_of():
    own = [f"answer {i}" for i in range(9)]
    for texts in ([DECLINED] * 9 + own, [DECLINED] * 9):
        assert told_of(texts, metric="rejection_rate.rejection_rate", value=1) == ""
        assert DECLINED[:20] in told_of(texts), "accuracy does not look for it"
        assert DECLINED[:20] in told_of(texts, metric="retrieval_ranking.recall@8", value=1), "that is of its passages"
    assert LIMIT in told_of([LIMIT] * 9 + own, metric="rejection_rate.rejection_rate", value=1)


@pytest.mark.parametrize(
    ("place", "said", "key"),
    [
        (("rgb", "negative_rejection_en"), DECLINED, "rejection_rate.rejection_rate"),
        (("rgb", "counterfactual_robustness_en"), "There are factual errors.", "error_detection.error_detection"),
        (("crag", "task_1_2"), "I don't know", "truthfulness.missing"),
    ],
)
def test_the_phrases_that_prompts_ask_for_are_known(place, said, key, tmp_path):
    result = quadrag.evaluate(*place, lambda question: said, data_dir="sample", out=tmp_path / "a")
    assert result[key].value == 1 and "same text" not in repr(result)
    assert "same text" in repr(quadrag.evaluate(*place, lambda question: LIMIT, data_dir="sample", out=tmp_path / "b"))


@pytest.mark.parametrize("place", [("rgb", "noise_robustness_en"), ("crag", "task_1_2")])
def test_it_is_told_too_where_passages_come_with_the_question(cli, place):
    told = UNREAD.replace("; retrieval is not measured", ", and here those of the question stand")
    asked = quadrag.questions(*place, data_dir="sample")
    given = {"config": place[1], "answer": "x", "contexts": ["a"]}
    write_jsonl(Path("mine.jsonl"), [{"id": one.id, "split": one.split, **given} for one in asked])
    out = cli("score", "mine.jsonl", "--benchmark", place[0], "--data-dir", "sample").out
    assert " ".join(out.split()).count(told) == 1
    found = quadrag.evaluate(*place, lambda question: {"answer": question.query, "contexts": ["a"]}, data_dir="sample")
    for one in (found, quadrag.result(found.folder)):
        assert " ".join(repr(one).split()).count(told) == 1
    assert "随题给出的片段" in "".join(cli("report", found.folder, "--labels", "zh").out.split())


def test_a_service_whose_passages_have_another_name_is_told_also_of_kept_replies(cli):
    with RagServer(
        [("d1", "", "沛溪县第七届龙舟公开赛22日在石鹭湖落下帷幕。"), ("d2", "", "石鹭大桥开始封闭维修。")]
    ) as server:
        server.rules.append(Rule("merge", body={"passages": None, "contexts": ["a"]}))
        for folder in ("a", "b"):
            out = cli("run", *PLACE, "--data-dir", "sample", "--rag", server.url, "--out", folder).out
            assert UNREAD in " ".join(out.split())


@pytest.mark.parametrize(
    "name", ["contexts", "Documents", "retrieved_docs", "source_documents", "source_nodes", "hits"]
)
def test_names_of_passages_are_known(name):
    assert find_unread({"answer": "x", name: ["y"]}) == (name,)


@pytest.mark.parametrize("name", ["id", "context_length", "docstring", "query", "references", "results", "history"])
def test_other_names_are_none(name):
    assert find_unread({"answer": "x", name: ["y"]}) == ()
