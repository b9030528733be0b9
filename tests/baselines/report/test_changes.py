"""Two runs question by question: what became worse or better, what is the same, and what the two are called."""

import json
import re
import shutil
from pathlib import Path

import pytest
from chat_server import ChatServer
from rag_server import RagServer

import quadrag
from quadrag.baselines.page.answers import collect_answers
from quadrag.baselines.page.changes import list_changes
from quadrag.baselines.report.compared.comparison import compare_runs
from quadrag.baselines.report.compared.names import head_two, join_labels, lift_place, name_columns, tell_apart
from quadrag.baselines.report.items.reader import RunReader
from quadrag.baselines.report.items.spelled import shorten_ids
from quadrag.baselines.runs.finished import read_runs
from quadrag.baselines.tables.draw import print_grids

PLACE = ("rgb", "information_integration_en")
DOCUMENTS = [
    ("d1", "", "沛溪县第七届龙舟公开赛22日在石鹭湖落下帷幕。"),
    ("d2", "", "石鹭大桥开始封闭维修，工期120天。"),
]


def measure(folder, right=(), **more):
    """A run in which the questions of these ids are answered with all passages, the others not at all."""

    def answer(question):
        return " ".join(one.text for one in question.passages) if question.id in right else f"no idea of {question.id}"

    given = {"split": "noise_40", "data_dir": "sample", "out": folder, "name": "mine", **more}
    return quadrag.evaluate(*PLACE, answer, **given)


@pytest.fixture
def two(cli):
    """The folders `a` and `b`: 0 and 1 are right in `a` alone, 2 in both, 3 in `b` alone."""
    return measure("a", ("0", "1", "2")), measure("b", ("2", "3"))


def shown(ran):
    assert ran.code == 0, ran.err
    return [
        line.split()[-1] for line in ran.out.splitlines() if line.startswith("information_integration_en noise_40 ")
    ]


def test_what_became_worse_is_shown_with_both_answers(two, cli):
    worse = cli("show", "a", "b", "--worse")
    assert shown(worse) == ["0", "1"]
    first = worse.out.split("\n\n")[0]
    assert worse.out == cli("show", "a", "b").out, "of two runs it need not be said"
    heads = [line.split("  ")[1].split()[0] for line in first.splitlines() if line.startswith("  ")]
    assert heads == ["question", "a", "b", "gold", "found", "a", "b"] + ["passage"] * 5, "what one looks for first"
    assert first.count("  passage ") == 5, "passages that both have stand once"
    assert "  a answer  The Pellindale" in first and "  b answer  no idea of 0" in first
    assert "  a accuracy: 1" in first and "  b accuracy: 0" in first
    assert (
        "2 of 2 questions on which b is worse by accuracy, the greatest difference first; 12 scored in both."
        in worse.out
    )
    assert shown(cli("show", "a", "b", "--better")) == ["3"] == shown(cli("show", "b", "a", "--worse"))
    assert shown(cli("show", "a", "b", "--worse", "--limit", "1")) == ["0"]
    shutil.copytree("a", "c")
    assert cli("show", "a", "c", "--worse").out == "No question on which c is worse by accuracy; 12 scored in both.\n"


def test_a_run_is_not_compared_with_itself(cli):
    told = "quadrag: nothing to compare: {}; name another one\n"
    for command in ("show", "report", "view", "score"):
        ran = cli(command, "a", "a")
        assert (ran.code, ran.out, ran.err) == (2, "", told.format("a is named twice"))
        assert cli(command, "a", "b/../a/").err == told.format("a and b/../a/ are the same")


def test_the_greatest_difference_comes_first(cli):
    def whole(question):
        return question.query

    def part(question):
        return question.query[: 3 * (1 + len(question.query) % 4)]

    before, after = (quadrag.evaluate("crud_rag", "summary", one, data_dir="sample") for one in (whole, part))
    first, second = (
        {row["id"]: row["crud_overlap.rouge_l"]["official"] for row in one.result.items} for one in (before, after)
    )
    lost = {name: first[name] - second[name] for name in first if first[name] > second[name]}
    worse = cli("show", before.folder, after.folder, "--worse", "--metric", "rouge_l")
    found = [line.split()[-1] for line in worse.out.splitlines() if line.startswith("summary test ")]
    called = shorten_ids(first)
    assert (
        found == [called[name] for name in sorted(lost, key=lambda name: -lost[name])] and len(set(lost.values())) > 2
    )


def test_terminal_python_and_page_go_by_one_metric_and_tell_of_the_others(cli, capsys):
    def search(found, name):
        given = {"data_dir": "sample", "limit": 3, "name": name, "out": name}
        return quadrag.evaluate("crud_rag", "qa_1doc", lambda question: (question.query, found), **given)

    gold = RunReader(Path("a"), search([], "a").result).questions.values()
    every = [{"id": ident, "text": "t"} for question in gold for ident in question.relevant]
    both = [search([every[0]], name="b"), search(every, name="c")]
    others = "By other metrics: recall@8 0 worse, 2 better"
    worse = cli("show", "b", "c", "--worse", "--metric", "rouge_l").out
    assert worse.startswith(f"No question on which c is worse by rouge_l; 3 scored in both.\n{others}")
    better = cli("show", "b", "c", "--better").out
    said = "2 of 2 questions on which c is better by recall@8, the greatest difference first; 3 scored in both."
    assert said in better, "by the headlines before it all answers are alike"
    capsys.readouterr()
    quadrag.compare(*both).show(better=True)
    assert said in capsys.readouterr().out
    changes = list_changes(collect_answers(read_runs(["b", "c"])))
    assert (changes.metric, changes.counts) == ("recall@8", (2, 0))
    cli("report", "b", "c", "--html", "p.html")
    assert "recall@8" in Path("p.html").read_text("utf-8")
    asked = cli("show", "b", "c", "--better", "--metric", "mrr").out
    assert "2 of 2 questions on which c is better by mrr" in asked and "rouge_l" not in asked.splitlines()[-1]


def test_each_search_is_shown_where_the_two_found_other_passages(cli):
    def ask(number):
        return quadrag.evaluate(
            "crud_rag",
            "qa_1doc",
            lambda question: ("甲" if number else question.query, [{"id": f"{number}" * 64, "text": f"text {number}"}]),
            data_dir="sample",
            limit=1,
            name=f"v{number}",
        )

    quadrag.compare(ask(0), ask(1)).show(worse=True)
    out = cli("show", "--worse", *(one.folder for one in map(ask, (0, 1)))).out
    assert "  v0 passage 1 [00000000…] text 0" in out and "  v1 passage 1 [11111111…] text 1" in out
    assert "  v0 found  gold not in the one passage\n" in out
    assert all(re.search(rf"(?m)^  {name} missed \(gold\) \[\w+…\] \d+-\d\d-.*，正文：", out) for name in ("v0", "v1"))


def test_python_shows_the_same_questions(two, capsys):
    both = quadrag.compare(*two)
    capsys.readouterr()
    both.show(worse=True, limit=1)
    out = capsys.readouterr().out
    assert "  b answer  no idea of 0" in out and "1 of 2 questions on which b is worse by accuracy" in out
    both.show(better=True)
    assert "  a answer  no idea of 3" in capsys.readouterr().out
    assert "b against a, question by question: accuracy 1 better, 2 worse, 9 equal." in repr(quadrag.compare("a", "b"))
    quadrag.compare("a", "b").show()
    out = capsys.readouterr().out
    assert "metric a b difference verdict" in " ".join(out.split()), "of one name, they are called by their folders"


def test_answers_that_are_the_same_texts_are_counted(two, cli):
    assert "9 of 12 answers are the same texts in both." in cli("report", "a", "b", "--verbose").out
    assert "same texts" not in cli("report", "a", "b").out
    shutil.copytree("a", "c")
    lines = cli("report", "a", "c").out.splitlines()
    assert lines.index("! 12 of 12 answers are the same texts in both.") == 5, "above the table, below the title"
    assert "12 of 12 answers are the same texts" in repr(quadrag.compare("a", "c"))
    files = [f"{name}/answers.jsonl" for name in "ab"]
    scored = cli("score", *files, "--benchmark", PLACE[0], "--config", PLACE[1], "--data-dir", "sample", "--verbose")
    assert "9 of 12 answers are the same texts in both." in scored.out


@pytest.mark.slow
def test_kept_replies_are_told_above_the_table(cli):
    with RagServer(DOCUMENTS) as server:
        asked = ("run", "crud_rag", "qa_1doc", "--data-dir", "sample", "--rag", server.url, "--rag-name", "ok")
        assert "kept ones" not in cli(*asked, "--out", "a").out
        lines = cli(*asked, "--out", "b").out.splitlines()
        (told,) = [line for line in lines if "kept ones, from 20" in line]
        assert told.startswith("All 8 answers are kept ones") and told.endswith("; --fresh asks anew.")
        assert lines.index(told) < next(at for at, line in enumerate(lines) if line.startswith("metric"))
        assert "8 of 8 answers are the same texts in both." in cli("report", "a", "b").out
        assert "kept ones" not in cli(*asked, "--out", "c", "--fresh").out


def test_a_folder_of_one_run_is_that_run(two, cli):
    Path("one").mkdir()
    shutil.copytree("a", "one/a")
    assert cli("show", "one", "--id", "0").out == cli("show", "a", "--id", "0").out
    assert shown(cli("show", "one", "b", "--worse")) == ["0", "1"]
    assert quadrag.result("one").to_pandas().equals(quadrag.result("a").to_pandas())


def test_what_cannot_be_compared_is_one_line(two, cli):
    for typed, message in (
        (("a", "--worse"), "--worse and --better compare two runs, the others show one"),
        (("a", "b", "--wrong"), "expected quadrag show A B --worse"),
        (("a", "b", "--worse", "--metric", "beauty"), "unknown metric 'beauty'; "),
        (("a", "b", "--worse", "--split", "noise"), "unknown split of this run 'noise'"),
    ):
        ran = cli("show", *typed)
        assert ran.code == 2 and message in ran.err and ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (("runs/a", "runs/b/"), ["a", "b"]),
        (("answers/no_instruction/gemma.jsonl", "answers/run_1/gemma.jsonl"), ["no_instruction", "run_1"]),
        (("runs/rgb-noise_robustness_en-v1", "runs/rgb-noise_robustness_en-v2"), ["v1", "v2"]),
        (("crag-task_1_2-f", "crag-task_1_2-g"), ["f", "g"]),
        (("run-1", "run-2"), ["run-1", "run-2"]),
        (("rgb-noise_robustness_en-1", "rgb-noise_robustness_en-2"), ["1", "2"]),
        (("mine", "mine-2"), ["mine", "mine-2"]),
        (("x/a/m", "x/b/m", "x/b/n"), ["a/m", "b/m", "b/n"]),
        (("runs/a", "runs/a"), ["a", "a"]),
        (("a", "runs/a"), ["a", "runs/a"]),
        (("a-short-one", "of_two_words_that_are_long-one"), ["a-short", "…words_that_are_long"]),
        (
            (
                "x/bert_scores_run_1/openai_oss-20b.jsonl",
                "x/bert_scores_run_2/openai_oss-20b.jsonl",
                "x/none/qwen.jsonl",
            ),
            ["…run_1/openai_oss-20b", "…run_2/openai_oss-20b", "none/qwen"],
        ),
    ],
)
def test_runs_are_called_by_what_they_do_not_share(names, wanted):
    assert tell_apart(names) == wanted
    if len(names) == 2:
        letters = ["X", "Y"] if "…" in wanted[1] else ["A", "B"] if wanted[0] == wanted[1] else None
        assert name_columns(names) == (letters or wanted)


def test_of_names_too_long_for_heads_letters_stand_there_and_labels_are_not_broken(two, capsys):
    names = ["first_of_the_two_now", "another_of_the_same"]
    capsys.readouterr()
    runs = [(name, one.result) for name, one in zip(names, two, strict=True)]
    print_grids([lift_place(compare_runs(runs, every=False))])
    shown = capsys.readouterr().out.splitlines()
    at = next(at for at, line in enumerate(shown) if line.startswith("───"))
    assert shown[at - 1].split() == ["metric", "X", "Y", "difference", "verdict"]
    assert "(X = first_of_the_two_now, Y = another_of_the_same)" in " ".join(shown)
    assert shown[at + 1].startswith("accuracy  ") and max(map(len, shown)) <= 80


def test_a_system_keeps_the_name_that_it_was_given(cli):
    found = measure(None, name="team/v1", limit=2)
    assert repr(found).startswith("rgb information_integration_en noise_40, team/v1, official profile")
    assert found.folder.name == "rgb-information_integration_en-noise_40-team_v1"
    assert "information_integration_en, team/v1, 20" in (found.folder / "report.html").read_text(encoding="utf-8")
    assert "noise_40, team/v1\n" in cli("report", found.folder).out


def test_a_reply_of_this_very_command_is_no_kept_one(cli):
    with ChatServer(models=["meta-llama/Meta-Llama-3-70B-Instruct"]) as server:
        asked = ("run", "--recipe", "crag-table5-llama-3-70b-instruct", "--llm", server.url, "--data-dir", "sample")
        first = cli(*asked, "--ledger", "L", "--out", "a")
        assert first.code == 0, first.err
        both = [json.loads(path.read_text(encoding="utf-8"))["usage"]["llm"] for path in Path("a").glob("*/run.json")]
        assert sum(one["cached"] for one in both) == 2, "two questions are in both configs"
        assert "kept ones" not in first.out and "0 kept replies used" in first.out and "oldest" not in first.out
        again = cli(*asked, "--ledger", "L", "--out", "b").out
        assert "All 64 replies are kept ones, from 20" in again and "0 made, 64 kept replies used" in again
        dated = again + Path("b/report.html").read_text(encoding="utf-8")
        assert len(re.findall(r"20\d\d-\d\d-\d\d \d\d:\d\d UTC", dated)) > 3 and not re.search(r"\d-\d\dT\d\d:", dated)


def test_what_is_left_of_long_names_is_explained_in_the_title():
    names = ["experiment-with-a-retriever-01", "experiment-with-a-retriever-02"]
    assert head_two(names, ["accuracy"]) == (["01", "02"], f" (01 = {names[0]}, 02 = {names[1]})")
    assert head_two(["runs/a", "runs/b"], ["accuracy"]) == (["a", "b"], "")
    assert head_two(["local/bad", "bad"], ["accuracy"]) == (["local/bad", "bad"], "")


def test_a_list_of_metrics_names_each_config_once():
    assert join_labels(["x: a/f1", "x: b/f1", "y: a/f1"]) == "x: a/f1, b/f1, y: a/f1"
    assert join_labels(["a/f1", "b/f1"]) == "a/f1, b/f1"


def test_of_one_split_against_several_the_headline_names_it(two, cli):
    several = quadrag.evaluate("rgb", "information_integration_en", lambda one: one.query, data_dir="sample", out="all")
    assert len(several.result.run.inputs.splits) > 1
    out = cli("report", "a", "all", "--verbose").out
    assert out.startswith("\nNot decided on noise_40/accuracy: ") and "Runs: a (mine), " in out
