"""Whether the gold stood in what was found: by ids, by the texts of one's own passages, by words, or unsaid."""

from dataclasses import replace

import pytest

import quadrag
from quadrag.baselines.core.task import load_rows
from quadrag.baselines.page.answers import collect_answers
from quadrag.baselines.page.page import read_words
from quadrag.baselines.report.items.gold import find_phrase, place_gold, tell_gold
from quadrag.baselines.runs.finished import read_runs
from quadrag.records import Passage, Question

TEXTS = ("The bridge opened on May 6.", "It has 170 lamps.", "Nobody knows.")


@pytest.mark.parametrize(
    ("references", "told"),
    [
        ([["May 6", "6 May"]], "gold in passage 1 (by words)"),
        ([["May 6"], ["170"]], "gold spread over passages 1, 2 (by words)"),
        ([["bridge", "lamps"], ["170", "knows"]], "gold in passage 2 (by words); a part of it in 1, 3"),
        ([["may 6"], ["Hellweg"]], "gold in passage 1 (by words); 1 of 2 gold parts missed"),
        (["70", "17"], "gold in none of 3 passages (by words)"),  # whole words and numbers alone
        ("170 lamps", "gold in passage 2 (by words)"),
        (None, ""),
        ([], ""),
    ],
)
def test_words_are_looked_for_where_no_document_is_known(references, told):
    passages = [Passage(str(at), "", text) for at, text in enumerate(TEXTS)]
    question = Question("rgb", "c", "s", "1", "?", references, "en")
    assert tell_gold(question, passages, None) == told
    assert tell_gold(question, (), None) == ("no passages given" if told else "")


@pytest.mark.parametrize(
    ("language", "gold", "text", "shown"),
    [
        ("en", [["May 6", "6 May"]], "Not on May 60; on ＭＡＹ\n6, or may 6.", ["ＭＡＹ\n6", "may 6"]),
        ("en", ["70"], "170, 70.5, 70,000 and 70", ["70"]),
        ("zh", ["1308.84 亿斤"], "11308.84亿斤，产量1308.84亿斤", ["1308.84亿斤"]),
        ("zh", [["甲乙"], ["乙丙"]], "甲乙丙丁", ["甲乙丙"]),
        ("zh", ["戊"], "甲乙丙丁", []),
    ],
)
def test_places_are_those_of_whole_words_and_numbers_in_the_text_as_it_is_written(language, gold, text, shown):
    question = Question("rgb", "c", "s", "1", "?", gold, language)
    assert [text[begin:end] for begin, end in place_gold(question, text)] == shown
    assert place_gold(replace(question, relevant=("a",)), text) == [], "known by its documents"


@pytest.mark.parametrize("accepted", [["invalid question"], ["Yes."]])
def test_what_no_page_can_hold_is_not_looked_for(accepted):
    question = Question("crag", "c", "s", "1", "?", accepted, "en")
    assert tell_gold(question, [Passage("1", "", "Yes, an invalid question.")], None) == ""


def test_documents_are_known_by_their_ids_and_those_missed_are_counted():
    question = Question("crud_rag", "c", "s", "1", "?", "甲", "zh", relevant=("a", "b"))
    passages = [Passage(name, "", "甲") for name in ("x#0", "a#1", "a#2")]
    assert tell_gold(question, passages, ["x", "a", "a"]) == "gold in passages 2, 3; 1 of 2 gold documents missed"
    assert tell_gold(question, passages[:1], ["x"]) == "gold not in the one passage"
    assert tell_gold(question, passages, None) == "", "the search was not measured"


def test_texts_of_ones_own_are_known_as_the_scores_know_them(cli):
    """Of passages without ids the one that is a gold document counts, in the shell and on the page."""
    rows, *_ = load_rows("crud_rag", "qa_1doc", "sample", {}, "test")
    texts = {row["query"]: row["documents"][0] for row in rows}

    def answer(question):
        return "甲", [{"text": "另一篇文章，与问题无关。" * 5}, {"text": texts[question.query]}]

    quadrag.evaluate("crud_rag", "qa_1doc", answer, data_dir="sample", limit=2, out="own")
    shown = cli("show", "own", "--limit", "1").out
    assert "  found     gold in passage 2\n" in shown and "  passage 2 (gold) [" in shown and "missed" not in shown
    [run] = collect_answers(read_runs(["own"]), read_words("en")).items[0]["runs"]
    assert run["found"] == "gold in passage 2"
    assert [head.endswith(" · gold") for _, head, _ in run["passages"]] == [False, True]
    assert "检索      片段 2 含标准答案\n" in cli("show", "own", "--labels", "zh").out


@pytest.mark.parametrize(
    ("metrics", "wanted"),
    [
        (["rejection_rate.rejection_rate", "rejection_rate.unsupported_correct"], ("信息不足", False)),
        (["rejection_rate.rejection_rate_judged", "rejection_rate.rejection_rate"], ("信息不足", False)),
        (["rgb_accuracy.accuracy", "error_detection.error_detection"], ("事实性错误", True)),
        (["rgb_accuracy.accuracy"], None),
    ],
)
def test_a_phrase_is_wanted_by_its_metric_and_the_gold_by_others(metrics, wanted):
    found = find_phrase(metrics, "zh")
    assert (found and found[1:]) == wanted
