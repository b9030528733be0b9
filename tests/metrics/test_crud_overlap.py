"""crud_overlap: the spec's vectors, the quirks of the authors' code one by one, and other people's BLEU and ROUGE."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jieba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

DATA = json.loads(Path(__file__).with_name("crud_overlap_vectors.json").read_text(encoding="utf-8"))
GOLD = "上海市体育局发放了500万元体育消费券。"
START = "上海市体育局发放了"
PROFILES = ("official", "corrected")
KEYS = ("bleu", "bleu_bp", "bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "length")
# Words, half words, names for the model of unknown ones, digits, Latin, rare characters, all kinds of whitespace.
PIECES = [
    *"上海市体育局发放消费券的一不𠮷龘、，。“”",
    "杭研大厦",
    "大众点评",
    "小明硕士",
    "500万元",
    "3.5%",
    "GDP",
    "a-b",
    "C++",
]
PIECES += [" ", "  ", "\t", "\n", "\r\n", "\u3000", "\u00a0", "\u2028"]
text = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
full = text.filter(bool)


@pytest.fixture(scope="module")
def metric(load_metric: Callable[[str], Any]) -> Any:
    return load_metric("crud_overlap")


@pytest.fixture(scope="module")
def words(load_file: Callable[[str], ModuleType]) -> ModuleType:
    return load_file("crud_overlap/words.py")


def cut(sentence: str) -> list[str]:
    """Tokens by jieba itself."""
    return list(jieba.cut(sentence))


class Tokens:
    """What rouge_score asks for its tokens."""

    def tokenize(self, sentence: str) -> list[str]:
        return cut(sentence)


def one(metric: Any, prediction: str, reference: str, profile: str = "official", **options: Any) -> dict[str, Any]:
    """The values of one pair."""
    got = metric.compute(predictions=[prediction], references=[reference], profile=profile, **options)
    row: dict[str, Any] = got["per_item"][0]
    return row


def papineni(candidate: list[str], reference: list[str]) -> tuple[list[float], float, float]:
    """Precisions, brevity penalty and their product by the formulas of the paper, without a thought for speed."""
    precisions = []
    for n in range(1, 5):
        grams = [tuple(candidate[i : i + n]) for i in range(len(candidate) - n + 1)]
        wanted = [tuple(reference[i : i + n]) for i in range(len(reference) - n + 1)]
        clipped = sum(min(grams.count(gram), wanted.count(gram)) for gram in set(grams))
        precisions.append(clipped / len(grams) if grams else 0.0)
    c, r = len(candidate), len(reference)
    penalty = 1.0 if c > r else math.exp(1 - r / c)
    return precisions, penalty, penalty * math.prod(precisions) ** 0.25


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", DATA["pairs"], ids=lambda case: case["name"])
def test_vectors(metric: Any, case: dict[str, Any], profile: str) -> None:
    got = one(metric, case["prediction"], case["reference"], profile)
    assert got["bleu"] == pytest.approx(case["bleu" if profile == "official" else "bleu_bp"], abs=1e-6)
    assert got["bleu_bp"] == pytest.approx(case["bleu_bp"], abs=1e-6)
    assert [got[f"bleu_{n}"] for n in range(1, 5)] == pytest.approx(case["precisions"], abs=1e-6)
    assert got["rouge_l"] == pytest.approx(case["rouge_l"], abs=1e-6)
    assert got["length"] == len(case["prediction"])


def test_official_has_no_brevity_penalty(metric: Any) -> None:
    official, corrected = (one(metric, START, GOLD, profile) for profile in PROFILES)
    assert official["bleu"] == 1.0 and official["bleu_bp"] == pytest.approx(math.exp(1 - 10 / 4))
    assert corrected["bleu"] == corrected["bleu_bp"] == official["bleu_bp"]


def test_official_bleu_of_fewer_than_four_tokens_is_0(metric: Any) -> None:
    assert [one(metric, "，。；！"[:n], "，。；！"[:n])["bleu"] for n in (1, 2, 3, 4)] == [0.0, 0.0, 0.0, 1.0]


def test_official_bleu_is_0_where_one_precision_is(metric: Any) -> None:
    got = one(metric, "，。；！，。；", "，。；？，。；")
    assert got["bleu_4"] == 0.0 < got["bleu_3"] and (got["bleu"], got["bleu_bp"]) == (0.0, 0.0)


def test_official_bleu_is_0_where_the_brevity_penalty_underflows(metric: Any) -> None:
    within, beyond = (one(metric, "，。；！", "，。；！" * times) for times in (700, 760))
    assert within["bleu"] == 1.0 and 0 < within["bleu_bp"] < 1e-300
    assert (beyond["bleu"], beyond["bleu_bp"], beyond["bleu_4"]) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize(("prediction", "reference"), [("", GOLD), (GOLD, ""), ("", ""), (GOLD, None), ("", None)])
def test_official_loses_an_item_with_an_empty_text_from_every_metric(
    metric: Any, prediction: str, reference: str | None
) -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return [[1.0]] * len(texts)

    alone = metric.compute(predictions=[GOLD], references=[GOLD], embed=embed)
    got = metric.compute(predictions=[GOLD, prediction], references=[GOLD, reference], embed=embed)
    assert got["per_item"][1] == dict.fromkeys([*KEYS, "bertscore"]) | {
        "reasons": dict.fromkeys([*KEYS, "bertscore"], "empty")
    }
    assert (got["n_total"], got["n_scored"], got["unscored"]) == (2, 1, {"empty": 1})
    assert all(got[key] == alone[key] for key in (*KEYS, "bertscore"))


def test_official_failures_leave_the_denominator(metric: Any) -> None:
    answers, golds = [GOLD, None, START, None], [GOLD] * 4
    got = metric.compute(predictions=answers, references=golds, states=[None, "truncated", None, None])
    assert got["bleu"] == 1.0 and got["length"] == (len(GOLD) + len(START)) / 2
    assert (got["n_scored"], got["unscored"]) == (2, {"truncated": 1, "api_error": 1})


def test_corrected_counts_failed_and_empty_answers_as_0(metric: Any) -> None:
    got = metric.compute(predictions=[GOLD, None, ""], references=[GOLD] * 3, profile="corrected")
    for key in KEYS:
        whole = len(GOLD) if key == "length" else 1.0
        assert (got[key], got[f"{key}_over_scored"]) == (whole / 3, whole / 2)
    assert (got["n_scored"], got["unscored"]) == (2, {"api_error": 1})
    assert got["per_item"][2] == {**dict.fromkeys(KEYS, 0.0), "reasons": {}}


@pytest.mark.parametrize("gold", ["", None, [], [""], [None]])
@pytest.mark.parametrize("answer", [GOLD, "", None])
def test_corrected_has_no_use_for_an_item_without_a_gold_answer(metric: Any, answer: str | None, gold: Any) -> None:
    got = metric.compute(predictions=[GOLD, answer], references=[GOLD, gold], profile="corrected")
    assert got["bleu"] == got["bleu_over_scored"] == 1.0
    assert got["per_item"][1]["reasons"] == dict.fromkeys(KEYS, "not_applicable")
    assert (got["n_scored"], got["unscored"]) == (2, {})


@given(full, full, st.sampled_from(PROFILES))
def test_bleu_is_papineni_s(metric: Any, prediction: str, reference: str, profile: str) -> None:
    got = one(metric, prediction, reference, profile)
    precisions, penalty, value = papineni(cut(prediction), cut(reference))
    assert [got[f"bleu_{n}"] for n in range(1, 5)] == pytest.approx(precisions, abs=1e-12)
    assert got["bleu_bp"] == pytest.approx(value, abs=1e-12)
    assert got["bleu"] == pytest.approx(value if profile == "corrected" else value / penalty, abs=1e-9)
    assert all(0 <= got[key] <= 1 for key in KEYS if key != "length")


@given(full, full)
def test_bleu_is_sacrebleu_s_of_tokens_that_it_can_tell_apart(metric: Any, prediction: str, reference: str) -> None:
    names: dict[str, str] = {}
    lines = [" ".join(names.setdefault(t, f"t{len(names)}") for t in cut(s)) for s in (prediction, reference)]
    score = BLEU(tokenize="none", smooth_method="none").corpus_score([lines[0]], [[lines[1]]])
    assert one(metric, prediction, reference)["bleu_bp"] == pytest.approx(score.score / 100, abs=1e-12)


@given(full, full)
def test_rouge_l_is_rouge_score_s(metric: Any, prediction: str, reference: str) -> None:
    from rouge_score import rouge_scorer  # with nltk: two seconds

    oracle = rouge_scorer.RougeScorer(["rougeL"], tokenizer=Tokens())
    expected = oracle.score(reference, prediction)["rougeL"].fmeasure
    assert one(metric, prediction, reference)["rouge_l"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.pure
@given(text)
def test_tokens_are_jieba_s(words: ModuleType, sentence: str) -> None:
    assert words.cut(sentence) == cut(sentence)


@pytest.mark.pure
@given(st.text(max_size=20))
def test_tokens_of_any_text_are_jieba_s(words: ModuleType, sentence: str) -> None:
    assert words.cut(sentence) == cut(sentence)


@pytest.mark.pure
@pytest.mark.slow(2000, 6_000, 250_000)
def test_tokens_of_drawn_words_and_pieces_are_jieba_s(words: ModuleType, rounds: int) -> None:
    jieba.initialize()
    known, draw = list(jieba.dt.FREQ), random.Random(19)
    others = "0123456789abcXYZ+#&._%-，。 \r\n\t\u3000\ud800𠮷㐀\u9fd6\uf900é가か😀"
    for _ in range(rounds):
        pieces = [draw.choice(known) for _ in range(draw.randint(1, 12))]
        # Half words, and single characters, which overlap with the words beside them; what no dictionary holds.
        pieces = [draw.choice((piece, piece, piece[1:], piece[0], draw.choice(others))) for piece in pieces]
        sentence = "".join(pieces)
        assert words.cut(sentence) == cut(sentence)


@pytest.mark.pure
@pytest.mark.parametrize(
    "sentence", ["AT&T", "CAT&T", "C++x", "1c#", "AT&TC++", "c", "a1b2", "好c#好", "的一是", "的一x"]
)
def test_latin_words_of_the_dictionary_are_no_runs(words: ModuleType, sentence: str) -> None:
    assert words.cut(sentence) == cut(sentence)


@pytest.mark.pure
@pytest.mark.slow(0, 1, 48)
def test_tokens_of_the_real_corpus_are_jieba_s(
    words: ModuleType, real_data: Callable[[str], Path], rounds: int
) -> None:
    files = sorted((real_data("CRUD_RAG") / "data" / "80000_docs").iterdir(), key=lambda file: file.stat().st_size)
    for file in files[:rounds]:
        with file.open(encoding="utf-8") as lines:
            assert all(words.cut(line) == cut(line) for line in lines), file.name


@pytest.mark.pure
def test_tokens_of_real_news_are_jieba_s(words: ModuleType, real_data: Callable[[str], Path]) -> None:
    path = real_data("CRUD_RAG") / "data" / "crud_split" / "split_merged.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["event_summary"]
    texts = [text for row in rows[:300] for text in (row["summary"], row["text"])]
    assert sum(map(len, texts)) > 200_000
    assert all(words.cut(text) == cut(text) for text in texts)


def test_words_added_to_jieba_s_shared_dictionary_change_nothing(metric: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = one(metric, "体育消费券", GOLD)
    assert len(cut("体育消费券")) > 1
    monkeypatch.setattr(jieba.dt, "FREQ", dict(jieba.dt.FREQ))  # put back afterwards, as the next line
    monkeypatch.setattr(jieba.dt, "total", jieba.dt.total)
    jieba.add_word("体育消费券")
    assert len(cut("体育消费券")) == 1
    assert one(metric, "体育消费券", GOLD) == before


@pytest.mark.slow
def test_the_dictionary_is_read_at_the_first_use_in_silence_and_is_no_other_s(
    metrics_root: Path, python: Callable[..., Any], environment: Callable[..., dict[str, str]]
) -> None:
    code = """
        import sys, evaluate, rjieba
        rjieba.add_word("体育消费券", 10**6, None)
        metric = evaluate.load(sys.argv[1])
        words = sys.modules[type(metric).__module__.rpartition(".")[0] + ".words"]
        metric.compute(predictions=["", None], references=["一", "一"])
        assert words.dictionary.cache_info().misses == 0
        metric.compute(predictions=["一"], references=["一"])
        metric.compute(predictions=["二"], references=["一"])
        assert words.dictionary.cache_info().misses == 1
        assert rjieba.cut("体育消费券") == ["体育消费券"] != words.cut("体育消费券")
    """
    lines = "\n".join(line.strip() for line in code.splitlines())
    done = python(lines, metrics_root / "crud_overlap", env=environment())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("case", DATA["cosines"], ids=lambda case: case["name"])
def test_cosine(metric: Any, case: dict[str, Any]) -> None:
    vectors = {"左": case["left"], "右": case["right"]}
    got = one(metric, "左", "右", embed=lambda texts: [vectors[text] for text in texts])
    assert got["bertscore"] == pytest.approx(case["cosine"], abs=1e-6) and -1 <= got["bertscore"] <= 1


def test_embed_is_called_once_with_each_text_once(metric: Any) -> None:
    asked: list[list[str]] = []

    def embed(texts: list[str]) -> Any:
        asked.append(texts)
        return np.array([[len(text), 1] for text in texts], dtype=np.float16)

    answers = ["甲", "乙乙", " 甲\n", "", None, "\u3000", "乙乙"]
    golds = ["甲甲甲", "甲", "甲", "丙", "丙", "丁", "\t"]
    got = metric.compute(predictions=answers, references=golds, embed=embed, profile="corrected")
    assert asked == [["甲", "甲甲甲", "乙乙"]]
    values = [row["bertscore"] for row in got["per_item"]]
    assert values[:3] == pytest.approx([4 / math.sqrt(2 * 10), 3 / math.sqrt(5 * 2), 1.0])
    assert values[3:] == [0.0, None, 0.0, 0.0]


@pytest.mark.parametrize(("prediction", "reference"), [("", "甲"), (" ", "甲"), ("甲", "\u3000\n")])
def test_embed_is_not_called_for_nothing(metric: Any, prediction: str, reference: str) -> None:
    def embed(texts: list[str]) -> Any:
        raise AssertionError(texts)

    got = metric.compute(predictions=[prediction], references=[reference], embed=embed, profile="corrected")
    assert got["bertscore"] == 0.0


def test_bertscore_is_there_only_with_embed(metric: Any) -> None:
    assert "bertscore" not in metric.compute(predictions=[GOLD], references=[GOLD])
    got = metric.compute(predictions=[], references=[], embed=lambda texts: texts)
    assert got["bertscore"] is None


def test_signature(metric: Any) -> None:
    class Embedder:
        model = "text2vec-base-chinese"

        def __call__(self, texts: list[str]) -> Any:
            return np.ones((len(texts), 2))

    import sacrebleu

    def signature(**options: Any) -> str:
        return str(metric.compute(predictions=["甲"], references=["甲"], **options)["signature"])

    head = "crud_overlap|version:1.0.0|profile:{}|tokenizer:jieba-0.42.1|bleu:sacrebleu-" + sacrebleu.__version__
    tail = "|embed:{}|prompt:none|judge:none"
    assert signature() == (head + tail).format("official", "none")
    assert signature(profile="corrected", embed=Embedder()) == (head + tail).format("corrected", Embedder.model)
    assert signature(embed=lambda texts: np.ones((1, 1))) == (head + tail).format("official", "unnamed")


@pytest.mark.parametrize("profile", PROFILES)
def test_no_item_with_a_value(metric: Any, profile: str) -> None:
    got = metric.compute(predictions=[None, None], references=[None, GOLD], profile=profile)
    assert [got["bleu"], got.get("bleu_over_scored")] == ([None, None] if profile == "official" else [0.0, None])
