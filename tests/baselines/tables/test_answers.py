"""What is said above a table of the answers that were given, and of passages that were not read."""

import json
import shutil
from pathlib import Path

import pytest
from rag_server import RagServer, Rule
from told_answers import OWN, RAISE

import quadrag
from quadrag.baselines.report.compared.merged import merge_runs
from quadrag.baselines.systems.rag.reply import read_reply
from quadrag.baselines.tables.answers import note_answers
from quadrag.baselines.tables.grid import Alarm
from quadrag.cli import main
from quadrag.passages import find_unread
from quadrag.records import write_jsonl

PLACE = ("crud_rag", "qa_1doc")
ONE = "; else the search may return the same document for all"
UNREAD = "The answers have `contexts`, which is not read: passages belong under `passages`; retrieval is not measured."
GOLD = "04d531668ae56803018ec27866104335fe24d45145f4c64d89df6ba2957dff01"
UNKNOWN = "Retrieval is not measured: the system gave no id and no text of a gold document"

MISSED = "None of the {} passages is a gold document"


def count(table, said):
    """How often something is said in a table, whose lines may break within it."""
    return " ".join(table.split()).count(said)


def test_a_search_without_a_hit_is_zero_and_one_that_tells_nothing_is_not_measured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    others = list(quadrag.corpus("crud_rag", data_dir="sample", gold="test"))[48:56]
    given = {"hit": [GOLD], "others": others, "strange": [*others[:3], "ab" * 32], "nothing": [], "silent": None}
    found = {
        name: quadrag.evaluate(*PLACE, lambda question, each=each: (question.query, each), data_dir="sample", out=name)
        for name, each in given.items()
    }
    assert [found[name]["recall@8"].value for name in given] == [0.125, 0.0, 0.0, 0.0, None]
    told = {name: " ".join(repr(one).split()) for name, one in found.items()}
    left_out = "; the authors leave the gold documents out of this corpus, "
    assert f"{MISSED.format(64)}; all their ids are of the corpus{left_out}" in told["others"]
    assert f"{MISSED.format(32)}; 8 of their ids are none of `quadrag.corpus`." in told["strange"]
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
    assert [one.text for one in served["passages"]] == ["t", "t"] and not served["unread"]


def test_texts_alone_are_known_or_count_as_missed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpus = list(quadrag.corpus("crud_rag", data_dir="sample", gold="test"))
    gold = next(one for one in corpus if one.id == GOLD)
    given = {
        "hit": [{"text": gold.text}],
        "others": [{"text": one.text.replace("。", "。\n")} for one in corpus[48:52]],
        "pieces": [{"text": one.text[at : at + 40]} for at, one in enumerate(corpus[48:52])],
        "strange": [{"text": corpus[48].text}, {"text": "春风又绿江南岸，" * 9}],
        "cut": [{"id": "a-1", "text": corpus[48].text}],
        "short": [{"text": corpus[48].text[:20]}],
        "named": [{"id": "a-1", "text": gold.text[:20]}],
        "unlike": [{"id": "a-1", "text": "春风又绿江南岸，" * 9}],
    }

    def measure(name, answer):
        return quadrag.evaluate(*PLACE, answer, data_dir="sample", out=name)

    found = {name: measure(name, lambda question, each=each: (question.query, each)) for name, each in given.items()}
    assert [found[name]["recall@8"].value for name in given] == [0.125, 0.0, 0.0, 0.0, 0.0, None, None, None]
    told = {name: " ".join(repr(one).split()) for name, one in found.items()}
    missed, strange = (
        "None of the {} passages is a gold document",
        "8 of their texts are part of no document of `quadrag.corpus`",
    )
    added = "; the authors leave the gold documents out of this corpus, "
    assert all(f"{missed.format(32)}{added}" in told[name] for name in ("others", "pieces"))
    assert f"{missed.format(16)}; {strange}." in told["strange"]
    assert (
        f"{missed.format(8)}{added}" in told["cut"]
        and "is a gold document" not in told["hit"]
        and UNKNOWN in told["unlike"]
    )
    short = "8 of 8 passages are under 32 characters: too short to be known."
    assert [name for name in given if "too short" in told[name]] == ["short", "named"]
    short_alone = "Retrieval is not measured: most passages are too short to be known; 8 of 8 are under 32 characters."
    assert short_alone in told["short"] and "gold document" not in told["short"]
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
        ({"answer": "不知道", "passages": [GOLD]}, f"All 8 answers are the same text, '不知道'{OWN}{ONE}."),
        ({"answer": "id", "contexts": ["a"]}, UNREAD),
        (
            {"answer": "id", "docs": ["a"], "Chunks": [1]},
            UNREAD.replace("`contexts`, which is", "`Chunks` and `docs`, which are"),
        ),
        ({"answer": "id", "passages": [GOLD], "contexts": []}, None),
        ({"answer": "id", "passages": []}, "The search found no passage for any question that was answered."),
        (
            {"answer": "id", "passages": ["ab" * 32]},
            f"{MISSED.format(8)}; 8 of their ids are none of `quadrag.corpus`.",
        ),
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
        made_up = "The data are the bundled sample, which is made up."
        told = " ".join(" ".join(line.removeprefix("! ") for line in head).split()).replace(made_up, "")
        told = told.replace("No published value stands beside made-up data.", "")
        assert told.strip() == (here or "")
        assert table.count("one of its ids") <= 1
        assert ("(see above)" in table) == (UNKNOWN in (said or ""))
    if given["answer"]:  # empty ones have no score
        shutil.copytree("mine", "again")
        own = (said or "").replace(*RAISE)
        assert count(repr(quadrag.compare(found, "again")), f"mine, again: {own}") == bool(said)
    both = cli("report", "mine", "byfile").out
    assert (count(both, f"mine, byfile: {said}") or count(both, f"byfile: {said}")) == bool(said)


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
        out = cli("run", "rgb", "negative_rejection_en", "--data-dir", "sample", "--rag", server.url).out
        assert "passages belong under `passages`. metric" in " ".join(out.split()), "none of RGB's were shown"


@pytest.mark.parametrize(
    "name", ["contexts", "Documents", "retrieved_docs", "source_documents", "source_nodes", "hits"]
)
def test_names_of_passages_are_known(name):
    assert find_unread({"answer": "x", name: ["y"]}) == (name,)


@pytest.mark.parametrize("name", ["id", "context_length", "docstring", "query", "references", "results", "history"])
def test_other_names_are_none(name):
    assert find_unread({"answer": "x", name: ["y"]}) == ()


def test_right_answers_that_hold_the_phrase_of_refusal_are_told_of(cli):
    place = ("rgb", "noise_robustness_zh")

    def answer(question):
        found = "".join(passage.text for passage in question.passages)
        return {"0": f"部分文档信息不足，但综合可知：{found}", "1": "文档信息不足。"}.get(question.id, found)

    found = quadrag.evaluate(*place, answer, data_dir="sample", split="noise_0", out="run")
    assert found["accuracy"].value == 9 / 12, "official finds no Chinese gold with a space"
    told = "2 of 12 answers hold the refusal phrase: the authors' code counts them wrong; 1 of them hold the gold."
    assert count(repr(found), told) == 1 and count(cli("report", "run").out, told) == 1
    said = "the answer holds the refusal phrase and counts as wrong, though it holds the gold"
    assert cli("show", "run", "--limit", "12").out.count(said) == 1
    chinese = cli("report", "run", "--labels", "zh").out.replace("\n  ", "")
    assert "12 个回答中有 2 个含有拒答用语（信息不足），作者的代码一律算错；其中 1 个含有标准答案。" in chinese
    plain = quadrag.evaluate(*place, lambda question: "信息不足", data_dir="sample", split="noise_0")
    assert "refusal phrase" not in repr(plain), "who refuses has no right answer"


@pytest.mark.parametrize(
    ("place", "phrase"), [("negative_rejection_zh", "信息不足"), ("counterfactual_robustness_en", "factual errors")]
)
def test_a_phrase_that_hardly_an_answer_holds_is_named(place, phrase, cli):
    def measure(answer, **more):
        return " ".join(repr(quadrag.evaluate("rgb", place, answer, data_dir="sample", **more)).split())

    told = f"0 of 12 answers hold the phrase that is looked for, `{phrase}`: let your system say it, or name a judge."
    assert told in measure(lambda question: f"没有 {question.id}", out="run")
    assert f"0/12 个回答含有所查找的用语 `{phrase}`：让系统" in "".join(
        cli("report", "run", "--labels", "zh").out.split("\n")
    )
    assert "is looked for" not in measure(lambda question: phrase if question.id == "1" else "")
    assert "is looked for" not in cli("run", "rgb", place, "--data-dir", "sample").out, "no sentence of a passage can"


def test_answers_that_differ_where_nothing_is_scored_are_told_of(cli):
    def answer(question):
        return f"想法：{question.query}<response>不知道</response>以上。"

    found = quadrag.evaluate("crud_rag", "qa_1doc", answer, data_dir="sample", out="run")
    (told,) = [note for note in note_answers([found.result]) if "same text" in note]
    assert "ll 8 answers are the same text in the part that is scored, '不知道'" in told and isinstance(told, Alarm)
    chinese = cli("report", "run", "--labels", "zh").out.replace("\n  ", "")
    assert "全部 8 个回答的计分部分是同一段文字：“不知道”" in chinese


def test_of_several_tasks_answers_are_counted_in_those_that_ask_for_the_phrase():
    def answer(question):
        return "信息不足" if question.language == "zh" and int(question.id) % 2 else question.query

    def measure(task, split=None):
        return quadrag.evaluate("rgb", task, answer, data_dir="sample", name="mine", split=split).result

    judged = [measure(f"counterfactual_robustness_{language}") for language in ("en", "zh")]
    asked = [measure("noise_robustness_zh", "noise_0"), measure("negative_rejection_zh")]
    told = note_answers([merge_runs([*asked, *judged])])
    lacking = "0 of 12 answers hold the phrase that is looked for, `{}`: let your system say it, or name a judge."
    assert [note for note in told if "phrase" in note] == [
        "12 of 36 answers decline with the phrase that the prompt asks for.",
        lacking.format("factual errors"),
        lacking.format("事实性错误"),
    ]


def test_who_declines_as_the_prompt_asks_is_no_alarm():
    def answer(question):
        return "文档信息不足，因此我无法基于提供的文档回答该问题。" if int(question.id) % 2 else question.query

    found = quadrag.evaluate("rgb", "noise_robustness_zh", answer, data_dir="sample", split="noise_0")
    (told,) = note_answers([found.result])
    assert told == "6 of 12 answers decline with the phrase that the prompt asks for."
    assert not isinstance(told, Alarm)
