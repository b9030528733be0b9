"""Which texts of answers are told of: one text of many questions, errors, nothing at all; and which are not."""

import pytest
from told_answers import DECLINED, LIMIT, OWN, RAISE, told_of

import quadrag
from quadrag.baselines.tables.language import speak


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
    assert speak(told_of([LIMIT] * 67 + own[67:]), "zh") == f"200 个回答中有 67 个是同一段文字：“{LIMIT}”；{ours}。"


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
    ours = f"60 个回答中有 8 个读起来像报错信息，共 4 种，最多的是“KeyError…”（3）；{speak(OWN[2:], 'zh')}。"
    assert speak(total, "zh") == ours and speak(f"f1: {total}", "zh") == f"f1：{ours}"
    kinds = "“KeyError…”（3）、“TypeError…”（2）、“ValueError…”（2）、“The request timed out”（1）"
    assert speak(f"Answers that read like error texts: {each}.", "zh") == f"读起来像报错信息的回答：{kinds}。"


def test_empty_answers_are_told_of_where_they_count():
    own = [f"answer {i}" for i in range(100)]
    empty = "2 of 100 answers are empty, they count as they are"
    failures = OWN.replace("errors", "failures")
    assert told_of(["", " ", *own[2:]]) == f"{empty}{failures}."
    ours = "100 个回答中有 2 个是空的，照原样计分；若这些其实是失败，请在文件里写 null。"
    assert speak(f"{empty}{failures}.", "zh") == ours and speak(f"f1: {empty}{failures}.", "zh") == f"f1：{ours}"
    assert told_of([""] * 9) == f"All 9 answers are empty{failures}."
    assert told_of(["", *own[:5]]) == told_of([""] * 2 + own + own[:1]) == "", "from 2 and from 2% on"
    assert told_of(["", "", *own[2:]], parameters={"temperature": 0}) == f"{empty}."
    left = "9 of 109 answers are empty, official leaves them out of accuracy"
    assert told_of([""] * 9 + own, value=None) == f"{left}{failures}."
    assert told_of([""] * 9 + own, empty=9) == "", "they have failed"
    assert told_of([""] * 9, empty=9) == "", "which a line of its own says"


def test_what_to_do_of_errors_is_said_by_how_the_answers_came():
    ways = [{}, *({"contract": name} for name in ("python", "file", "json", "openai")), {"temperature": 0}]
    told = [told_of([LIMIT] * 9, parameters=way) for way in ways]
    service = "; if these are errors, let the service reply with an error status"
    same = f"All 9 answers are the same text, '{LIMIT}'"
    assert told == [f"{same}{way}." for way in (OWN, OWN.replace(*RAISE), OWN, service, service, "")]
    assert told_of([LIMIT] * 9, services={"llm": "http://m/v1"}) == f"{same}.", "a model said so"
    assert told_of([LIMIT] * 9, log=True) == f"{same}.", "likewise"
    assert told_of([LIMIT] * 9, services={"judge": "http://m/v1"}) == f"{same}{OWN}.", "a file, which a model judged"


def test_a_text_that_a_metric_looks_for_is_told_of_where_nearly_all_answers_are_so():
    own, of_any = [f"answer {i}" for i in range(6)], ": a system that says so of any question has the same value."
    looks = {"metric": "rejection_rate.rejection_rate", "value": 1}
    assert told_of([DECLINED] * 10, **looks).startswith("All 10 answers are the same text, 'I can not")
    assert told_of([DECLINED] * 54 + own, **looks).endswith(of_any)
    assert told_of([DECLINED] * 53 + own, **looks) == "", "fewer than 90%"
    ours = speak(told_of([DECLINED] * 54 + own, **looks), "zh")
    assert ours.startswith("60 个回答中有 54 个是同一段文字：“I can not") and ours.endswith(
        "对任何问题都这么说的系统得分也一样。"
    )


def test_a_text_that_a_metric_looks_for_is_else_not_told_of():
    own = [f"answer {i}" for i in range(9)]
    for texts in ([DECLINED] * 9 + own, [DECLINED] * 9):
        assert told_of(texts, metric="rejection_rate.rejection_rate", value=1) == ""
        all_so = len(texts) == 9
        assert (DECLINED[:20] in told_of(texts)) == all_so, "accuracy's prompt asks for it where documents do not help"
        assert DECLINED[:20] in told_of(texts, metric="retrieval_ranking.recall@8", value=1), "that is of its passages"
    assert LIMIT in told_of([LIMIT] * 9 + own, metric="rejection_rate.rejection_rate", value=1)


def test_refusals_where_the_prompt_asks_for_them_are_not_taken_for_errors():
    refused, own = "抱歉，没有提到。", [f"answer {i}" for i in range(45)]
    same = "15 of 60 answers are the same text, '抱歉，没有提到'"
    assert told_of([refused] * 15 + own, metric="rejection_rate.rejection_rate") == f"{same}."
    assert told_of([refused] * 15 + own) == f"{same}{OWN}."
    judged = {"metric": "rejection_rate.rejection_rate_judged", "value": 1, "right": refused}
    assert told_of([refused] * 15 + own, **judged) == "", "the judge found that they refuse"
    assert told_of([LIMIT] * 15 + own, metric="rejection_rate.rejection_rate").endswith(f"{OWN}.")


@pytest.mark.parametrize(
    ("place", "said", "key"),
    [
        (("rgb", "negative_rejection_en"), DECLINED, "rejection_rate.rejection_rate"),
        (("rgb", "counterfactual_robustness_en"), "There are factual errors.", "error_detection.error_detection"),
        (("crag", "task_1_2"), "I don't know", "truthfulness.missing"),  # the less of them the better
    ],
)
def test_the_phrases_that_prompts_ask_for_are_known(place, said, key, tmp_path):
    result = quadrag.evaluate(*place, lambda question: said, data_dir="sample", out=tmp_path / "a")
    of_any = "a system that says so of any" in " ".join(repr(result).split())
    assert result[key].value == 1 and of_any == ("same text" in repr(result)) == (place[0] == "rgb")
    assert "same text" in repr(quadrag.evaluate(*place, lambda question: LIMIT, data_dir="sample", out=tmp_path / "b"))
