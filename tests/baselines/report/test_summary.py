"""The summary that a run begins with: its headlines, the best printed numbers, and what nobody may overlook."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from exported import copy_as_authors

import quadrag
from quadrag.baselines.core.benchmark import known, load
from quadrag.baselines.core.settings import Conditions
from quadrag.baselines.core.task import Task, load_questions
from quadrag.baselines.report.summary import MOST, pick_headlines
from quadrag.baselines.report.tasks import summarise_tasks
from quadrag.baselines.runs.finished import read_runs
from quadrag.baselines.tables.answers import note_answers
from quadrag.baselines.tables.grid import Alarm
from quadrag.hub.record import hub_record
from quadrag.metric_record import metric_record

SAMPLE = ("--data-dir", "sample")


def rows(out: str) -> list[list[str]]:
    """The cells of every line between a table's rule and its notes."""
    body = re.search(r"^─+\n((?:\S+.* \d+ of \d+.*\n)+)", out, re.MULTILINE)
    assert body
    return [re.split(r" {2,}", line.strip()) for line in body[1].splitlines()]


@pytest.mark.parametrize("name", known())
def test_the_headlines_of_a_record_are_keys_that_its_metrics_have(name):
    benchmark = load(name)
    keys: set[str] = set()
    for config in benchmark.configs:
        conditions = Conditions(benchmark.default_retriever, {"gold": "test"}, top_k=8)
        uses = benchmark.metrics(config, conditions)
        names = {metric_record(use.module).key(key).name for use in uses for key in use.keys}
        assert names & set(benchmark.headlines), f"{config} has none"
        keys |= names
    assert set(benchmark.headlines) <= keys
    assert {one.key for one in hub_record(name).headlines} <= set(benchmark.headlines), "the Hub's are among them"


def test_a_summary_is_what_a_newcomer_reads(cli, monkeypatch):
    data = copy_as_authors("crud_rag", Path("CRUD_RAG"), monkeypatch)  # as the authors' own, which the sample is not
    code, out, err = cli("run", "crud_rag", "summary", "--limit", "4", "--data-dir", data, "--out", "a")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert len(lines) <= 26 and max(map(len, lines)) <= 80
    assert lines[-2:] == ["a/report.html", "next: quadrag show a --wrong"]
    assert rows(out) == [
        ["rouge_l", "25.6", "–", "4 of 4", "33.77 gpt-3.5-turbo, on all"],
        ["bleu", "13.6", "–", "4 of 4", "25.19 gpt-3.5-turbo, on all"],
        ["length", "54.2", "–", "4 of 4"],
    ]
    assert "Not run: bertscore (--bertscore), RAGQuestEval precision, recall (--judge).\n" in out
    assert "25.19 gpt-3.5-turbo, on all" in Path("a/report.html").read_text(encoding="utf-8")
    assert "on all: the published value is on all questions" in " ".join(out.split())
    assert "No interval for fewer than 5 questions." in " ".join(out.split())
    for word in ("bleu_1", "chunk_size", "whole files cut by tokens"):
        assert word not in out
        assert word in cli("report", "a", "-v").out and word in Path("a/report.html").read_text(encoding="utf-8")
    assert cli("report", "a").out.strip() == out.partition("\n")[2].rpartition("\n\n")[0].strip()


def test_what_is_better_than_the_best_published_by_a_quirk_alone_is_told(cli, monkeypatch):
    data = str(copy_as_authors("crud_rag", Path("CRUD_RAG"), monkeypatch))
    task = Task("crud_rag", "summary", data_dir=data)
    golds = {one.id: str(one.references) for one in load_questions(task, load("crud_rag"))[0]}
    told = "Better than the best published by the official profile alone, not corrected: bleu."

    def tell(longest):  # official bleu counts short answers as whole
        out = f"f{longest}"
        quadrag.evaluate("crud_rag", "summary", lambda one: golds[one.id][:longest], data_dir=data, out=out)
        return " ".join(cli("report", out).out.split())

    assert told in tell(20) and told not in tell(1000)


def test_beside_made_up_data_no_published_value_stands_and_a_line_says_why(cli):
    ran = cli("run", "rgb", "noise_robustness_en", *SAMPLE, "--split", "noise_0", "--out", "a")
    why = "\n! The data are the bundled sample, which is made up.\n! No published value stands beside made-up data.\n"
    assert ran.code == 0 and why in ran.out and "Published" not in ran.out
    assert rows(ran.out) == [["accuracy", "91.7", "64.6–98.5", "12 of 12"]]
    page = Path("a/report.html").read_text(encoding="utf-8").partition("</style>")[2].partition("<script")[0]
    for shown in (cli("report", "a", "-v").out, page):
        assert "Published" not in shown and "best published" not in shown
    quadrag.result("a").show()
    assert why in cli("report", "a").out


def test_the_best_printed_number_is_the_lowest_where_lower_is_better(cli, answers_of_crag, monkeypatch):
    data = ("--data-dir", copy_as_authors("crag", Path("CRAG"), monkeypatch))
    code, out, _ = cli("score", answers_of_crag, "--benchmark", "crag", "--config", "task_1_2", *data)
    assert code == 0 and "Published" not in out and "name yours with --retriever" in " ".join(out.split())
    asked = ("--benchmark", "crag", "--config", "task_1_2", "--retriever", "none", *data)
    found = {row[0]: row[-1] for row in rows(cli("score", answers_of_crag, *asked).out)}
    assert found["missing"] == "6.7 llama-2-7b-chat, on all"
    prompts = "With which prompts these answers were made is not known; the published ones are by the paper's."
    score = cli("score", answers_of_crag, *asked).out
    assert prompts in " ".join(score.split()) and prompts not in " ".join(out.split())
    assert "Of missing lower is better." in cli("score", answers_of_crag, *asked).out
    assert "best published" not in cli("score", answers_of_crag, *asked, "--profile", "corrected").out


def test_it_is_said_whose_prompts_the_printed_rows_are_by(cli, monkeypatch):
    from chat_server import ChatServer

    said = "The prompts are quadrag's, those of the published rows the authors'."
    data = ("--data-dir", copy_as_authors("rgb", Path("RGB"), monkeypatch))
    one = ("run", "rgb", "noise_robustness_en", "--split", "noise_0")
    with ChatServer(text="Oslo", models=["m"]) as server:
        asked = ("--llm", server.url, "--limit", "2")
        assert f"\n- {said}\n" in cli(*one, *data, *asked).out
        assert f" - All tables: {said} " in " ".join(cli("run", "rgb", "--all", *data, *asked).out.split())
        assert said not in cli(*one, *SAMPLE, *asked, "--out", "s").out, "no row stands beside"
        assert said not in cli("run", "--recipe", "rgb-table1-chatgpt-en", *data, *asked).out, "it says so itself"
    assert said not in cli(*one, *data).out, "no prompt is used"


@pytest.fixture
def answers_of_crag(cli):
    found = quadrag.questions("crag", "task_1_2", data_dir="sample")
    Path("mine.jsonl").write_text("".join(f'{{"id": "{one.id}", "answer": "Paris"}}\n' for one in found))
    return "mine.jsonl"


def test_invalid_and_partial_stand_on_top_of_every_table(cli, answers_of_crag):
    from chat_server import ChatServer

    first = Path(answers_of_crag).read_text().splitlines(keepends=True)[:9]
    Path("part.jsonl").write_text("".join(first))
    with ChatServer(text="No verdict.", models=["j"]) as server:
        asked = ("--benchmark", "crag", "--config", "task_1_2", *SAMPLE, "--judge", server.url, "--ledger", "L")
        for more in ((), ("-v",)):
            code, out, _ = cli("score", "part.jsonl", *asked, *more)
            assert code == 3
            assert out.index("PARTIAL: 9 of 15") < out.index("INVALID, task_1_2 public") < out.index("\nmetric ")
    code, out, _ = cli("score", "part.jsonl", *asked[:-4])
    assert "PARTIAL" in out and "INVALID" not in out


def test_of_a_metric_with_cuts_the_deepest_and_at_most_five_are_shown(cli):
    assert cli("run", "crud_rag", "qa_1doc", *SAMPLE, "--option", "gold=test", "--out", "a").code == 0
    found = rows(cli("report", "a").out)
    assert [row[0] for row in found] == ["rouge_l", "bleu", "recall@8", "mrr", "length"]
    row = {"benchmark": "none", "config": "c", "split": "s", "metric": "crud_overlap", "profile": "official"}
    keys = metric_record("crud_overlap").keys
    assert len(keys) > MOST
    named = [row | {"benchmark": "rgb", "key": key, "value": 0.5} for key in keys]
    assert [one["key"] for one in pick_headlines(named, "official")] == list(keys)[:MOST], "without headlines the first"


def test_a_comparison_shows_the_headlines_and_the_settings_that_differ(cli):
    run = ("run", "crud_rag", "qa_1doc", *SAMPLE)
    assert cli(*run, "--out", "a").code == cli(*run, "--tokenizer", "jieba", "--out", "b").code == 0
    out = " ".join(cli("report", "a", "b", "--html", "c.html").out.split())
    assert (
        "Comparison: b minus a, qa_1doc test " in out
        and " metric a b difference verdict " in out
        and "qa_1doc test: " not in out
    )
    assert "bleu_1" not in out and "chunk_size" not in out
    assert "; settings of its own: tokenizer unigram." in out and "; settings of its own: tokenizer jieba." in out
    for all_of_it in (cli("report", "a", "b", "-v").out, Path("c.html").read_text(encoding="utf-8")):
        assert "bleu_1" in all_of_it and "chunk_size" in all_of_it


SAME = "All 15 answers are the same text, 'Paris'."


def test_python_and_the_terminal_show_the_same_headlines(cli, answers_of_crag):
    result = quadrag.evaluate("crag", "task_1_2", lambda question: "Paris", data_dir="sample", out="python")
    shown = cli("score", answers_of_crag, "--benchmark", "crag", "--config", "task_1_2", *SAMPLE).out
    title, alike, _, head, *lines, unit, about, more, lacking, lower, page = repr(result).splitlines()
    assert unit == "- Percent."
    assert lower == "- Of missing lower is better." and f"\n{lower}\n" in shown
    assert lacking == "- Not run: truthfulness, accuracy, hallucination (judge=)."
    assert page == "- The page: python/report.html"
    told = "- accuracy_bounded: an accepted answer stands word for word in the reply;"
    assert (about, more) == (f"{told} ours,", "  not the paper's.")
    assert shown.count(f"\n{about}\n{more}\n") == 1 and max(map(len, repr(result).splitlines())) <= 80
    assert alike == f"! {SAME}" and f"\n{alike}\n" in shown, "where not to know is asked for, nothing is advised"
    assert title == "crag task_1_2 public, lambda, official profile"
    assert [re.split(r" {2,}", line) for line in lines] == [row[:4] for row in rows(shown)]
    assert len({line.index(" of ") for line in lines}) == 1 and head.split("  ")[0] == "metric"
    page = result._repr_html_()
    assert [name for name in ("accuracy_bounded", "missing") if f">{name}</td>" in page] == list(result.headlines)
    shutil.copytree("python", "again")
    headline, also, title, made_up, alike, same, _, *lines = repr(quadrag.compare(result, "again")).splitlines()
    assert headline.startswith("No difference on any question by accuracy_bounded (95% ")
    assert f"{headline} {also}".endswith(", nor by missing.") and title.startswith("Comparison: again ")
    assert made_up == "! The data are the bundled sample, which is made up."
    assert alike == f"! python, again: {SAME}"
    assert same == "! 15 of 15 answers are the same texts in both."
    assert [line.split()[0] for line in lines[:2]] == list(result.headlines)


def test_why_questions_are_missing_is_told_in_python_as_on_the_terminal(cli):
    texts = {one.id: one.query for one in quadrag.questions("crud_rag", "summary", data_dir="sample")}
    some = texts | dict.fromkeys(list(texts)[:2], "")
    quadrag.evaluate("crud_rag", "summary", lambda question: some[question.id], data_dir="sample", out="a")
    told = "Unscored, rouge_l, bleu, length (official): summary test: empty 2."
    assert f"- {told}" in repr(quadrag.result("a")).splitlines() and cli("report", "a").out.count(told) == 1


def test_where_empty_answers_are_left_out_the_next_command_shows_them(cli):
    ran = cli("run", "crud_rag", "summary", *SAMPLE, "--limit", 3, "--retriever", "none", "--out", "a")
    assert ran.code == 0 and "INVALID" not in ran.out and "All answers are empty: no passages are shown" in ran.out
    page = Path("a/report.html").read_text(encoding="utf-8")
    assert page.count('class="alarm"') == 1 and page.count("All answers are empty") == 1, "partial"
    assert page.index("These numbers measure nothing") < page.index("All answers are empty")
    [(_, results)] = read_runs(["a"])
    several = note_answers(results * 2)
    assert len(several) == 1 and several[0].startswith("Without documents all answers of summary are empty: no pass")
    assert not isinstance(several[0], Alarm), "the baseline does so by its nature"
    results[0].run.inputs.llm = "m"
    (alone,) = note_answers(results)
    assert alone.startswith("All 3 answers are empty") and isinstance(alone, Alarm)
    assert ran.out.endswith("next: quadrag show a --unscored\n")
    assert cli("show", "a", "--unscored").out.count("  rouge_l, bleu, length, bleu_bp and 4 more: – (empty)\n") == 3
    assert (
        cli("show", "a", "--unscored", "-v").out.count(
            "  rouge_l, bleu, length, bleu_bp and 4 more: corrected 0 (official empty)\n"
        )
        == 3
    )


@pytest.fixture
def never_declines(cli):
    """A run of a system that knows every answer, and takes no notice of the passages."""
    asked, _ = load_questions(Task("rgb", "negative_rejection_zh", data_dir="sample"), load("rgb"))
    gold = {question.id: question.references[0][0] for question in asked}

    def system(question):
        return gold[question.id]

    return quadrag.evaluate("rgb", "negative_rejection_zh", system, data_dir="sample", out="never")


def test_what_the_other_profile_says_is_told_where_it_is_far_away(never_declines, cli, capsys):
    far = "By the corrected profile: rejection_rate 0.0."
    assert f"{far} show(verbose=True) shows both." in repr(never_declines)
    assert cli("report", "never", "--html", "one.html").out.count(f"{far} --verbose shows both.") == 1
    assert Path("one.html").read_text(encoding="utf-8").count(far) == 1
    assert "按修正口径：rejection_rate 0.0。--verbose 显示两种口径。" in cli("report", "never", "--labels", "zh").out
    swapped = repr(quadrag.result("never", profile="corrected"))
    assert "By the official profile: rejection_rate 66.7." in swapped
    why = "\n- Official rejection_rate counts correct answers as rejections too.\n"
    assert why in swapped and why in repr(never_declines)
    capsys.readouterr()
    quadrag.result("never", profile="corrected").show(wrong=True, limit=1)
    assert "rejection_rate: 0 (official: 1)\n  unsupported_correct: 1\n" in capsys.readouterr().out


def test_profiles_that_agree_have_no_such_line(cli):
    assert "By the" not in cli("run", "rgb", "noise_robustness_en", "--limit", "4", *SAMPLE, "--out", "a").out


def test_where_calls_failed_all_headlines_are_told_by_the_other_profile(cli, capsys):
    calls = []

    def raising(question):
        calls.append(question)
        if len(calls) == 3:
            raise RuntimeError("out of luck")
        return question.query

    told = repr(quadrag.evaluate("crud_rag", "summary", raising, data_dir="sample", out="raising", concurrency=1))
    told = " ".join(told.split())
    assert "1 raised), official leaves them out, corrected counts them as wrong: all metrics." in told
    keys = re.search(r"By the corrected profile: (.*?)\. show", told)
    assert keys and [one.split()[0] for one in keys[1].split(", ")] == ["rouge_l", "bleu"]


def test_a_task_of_another_split_than_its_first_says_which(cli):
    for config, split in (("noise_robustness_en", "noise_40"), ("information_integration_en", "noise_0")):
        assert cli("run", "rgb", config, *SAMPLE, "--split", split, "--limit", 4, "--out", f"x/{config}").code == 0
    [(_, results)] = read_runs(["x"])
    labels = [line.label for line in summarise_tasks(results, "official").lines]
    assert labels == ["noise_robustness_en noise_40: accuracy", "information_integration_en: accuracy"]
