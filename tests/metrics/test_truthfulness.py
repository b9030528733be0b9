"""truthfulness: worked examples, the authors' quirks by name, verdicts damaged and fuzzed, weights and means."""

import csv
import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from truthfulness_judges import KEYS, NO, PROFILES, YES, Says, Substring, Words, column, material, means

ROOT = Path(__file__).parents[2]
CASES = json.loads(Path(__file__).with_name("truthfulness_vectors.json").read_text(encoding="utf-8"))
pytestmark = pytest.mark.filterwarnings("ignore:.*verdicts:UserWarning")


@pytest.fixture(scope="module")
def read(load_file: Callable[[str], ModuleType]) -> dict[str, Callable[[str], int | None]]:
    return dict(load_file("truthfulness/scorer.py").READERS)


@pytest.fixture(scope="module")
def score(metric: Any) -> Callable[..., Any]:
    def run(answers: list[Any], golds: list[Any], judge: Any, profile: str = "official", **more: Any) -> Any:
        questions = [f"Q{i}" for i in range(len(answers))]
        return metric.compute(
            predictions=answers, references=golds, questions=questions, judge=judge, profile=profile, **more
        )

    return run


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", CASES["items"], ids=lambda case: case["name"])
def test_items(score: Callable[..., Any], case: dict[str, Any], profile: str) -> None:
    got = score([case["prediction"]], [case["references"]], Substring(), profile)
    assert column(got) == [case[profile]] == [got["truthfulness"]] and got["unscored"] == {}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", CASES["verdicts"], ids=lambda case: case["name"])
def test_verdicts(
    read: dict[str, Callable[[str], int | None]], score: Callable[..., Any], case: dict[str, Any], profile: str
) -> None:
    assert read[profile](case["reply"]) == case[profile]
    got = score(["a"], ["b"], Says(case["reply"]), profile)
    truth = {1: 1.0, 0: -1.0, None: -1.0 if profile == "official" else None}[case[profile]]
    assert column(got) == [truth] and got["unscored"] == ({"unparsable": 1} if case[profile] is None else {})


def test_official_has_an_empty_answer_judged(score: Callable[..., Any]) -> None:
    judge = Substring()
    assert column(score([""], ["yes"], judge)) == [-1.0] and judge.batches[0][0]["answer"] == ""
    assert column(score([""], ["yes"], judge, "corrected")) == [0.0] and len(judge.batches) == 1


@pytest.mark.parametrize("apostrophe", "\u2019\u2018\u02bc\u2032\uff07`\u00b4")
def test_official_knows_the_straight_apostrophe_alone(score: Callable[..., Any], apostrophe: str) -> None:
    answer = f"Sorry, I don{apostrophe}t know."
    assert [column(score([answer], ["x"], Says(NO), profile)) for profile in PROFILES] == [[-1.0], [0.0]]


@pytest.mark.parametrize("reply", ["no JSON", '{"score": 2}', "", None])
def test_official_counts_an_item_without_a_verdict_as_a_hallucination(score: Callable[..., Any], reply: Any) -> None:
    why = "api_error" if reply is None else "unparsable"
    answers, golds = ["a", "b", "I don't know", "c"], ["a", "x", "x", "y"]
    official = score(answers, golds, Says(reply))
    assert means(official) == [-0.25, 0.25, 0.5, 0.25] and column(official) == [1.0, -1.0, 0.0, -1.0]
    assert official["per_item"][1]["reasons"] == dict.fromkeys(KEYS, why)
    assert (official["unscored"], official["n_scored"]) == ({why: 2}, 2)
    corrected = score(answers, golds, Says(reply), "corrected")
    assert means(corrected) == [0.25, 0.25, 0.0, 0.25] and corrected["unscored_share"] == 0.5
    assert [corrected[f"{key}_over_scored"] for key in KEYS] == [0.5, 0.5, 0.0, 0.5]
    assert (corrected["unscored"], corrected["n_scored"]) == ({why: 2}, 2)


def test_no_answer(score: Callable[..., Any]) -> None:
    answers, golds, states = [None, None, "a"], ["x", "y", "a"], ["truncated", None, None]
    judge = Substring()
    got = [score(answers, golds, judge, profile, states=states) for profile in PROFILES]
    assert [one["unscored"] for one in got] == [{"truncated": 1, "api_error": 1}] * 2 and judge.batches == []
    assert means(got[0]) == pytest.approx([-1 / 3, 1 / 3, 2 / 3, 0]) and column(got[0]) == [-1.0, -1.0, 1.0]
    assert means(got[1]) == pytest.approx([1 / 3, 1 / 3, 0, 0]) and column(got[1]) == [None, None, 1.0]


@pytest.mark.pure
@given(
    st.lists(st.sampled_from(["{", "}", '"score"', '"score": 1', ":", " ", "0", "1", "2", ".", "\n", "a", '"', ","]))
)
def test_the_official_reader_is_the_authors_pattern(
    read: dict[str, Callable[[str], int | None]], pieces: list[str]
) -> None:
    reply = "".join(pieces)
    braced = re.findall(r"{[^}]*}", reply)
    found = re.search(r'"score"\s*:\s*(\d+)', braced[-1]) if braced else None
    expected = int(found.group(1)) if found and int(found.group(1)) in (0, 1) else None
    assert read["official"](reply) == expected


def test_every_accepted_answer_counts_and_costs_one_request(score: Callable[..., Any]) -> None:
    judge = Substring()
    golds = [["x", "y", "Rome"], ["invalid question", "Oslo"], ["a", "A", " a "], "Bonn", ["Bern", "invalid"]]
    got = score(["In Rome.", "Oslo", "b", "in Bonn", "invalid premise"], golds, judge)
    assert column(got) == [1.0, 1.0, -1.0, 1.0, 1.0]
    (batch,) = judge.batches
    asked = [(one["question"], one["reference"]) for one in batch]
    assert asked == [("Q0", "x"), ("Q0", "y"), ("Q0", "Rome"), ("Q2", "a"), ("Q3", "Bonn")]


def test_one_accepted_is_enough_even_where_another_verdict_is_lacking(score: Callable[..., Any]) -> None:
    def judge(requests: list[Any]) -> list[Any]:
        return [{"yes": YES, "no": NO, "?": "?"}[material(request)["reference"]] for request in requests]

    answers, golds = ["a"] * 3, [["?", "yes"], ["?", "no"], ["no", "NO "]]
    assert column(score(answers, golds, judge, "corrected")) == [1.0, None, -1.0]
    assert column(score(answers, golds, judge)) == [1.0, -1.0, -1.0]


def test_several_judges_are_averaged(score: Callable[..., Any], failure: Any) -> None:
    answers, golds = ["b", "I don't know", "a", "c"], ["x", "x", "a", "y"]
    for profile in PROFILES:
        got = score(answers, golds, None, profile, judges=[Says(YES, "one"), Says(NO, "two")])
        assert means(got) == [0.25, 0.5, 0.25, 0.25] and column(got) == [0.0, 0.0, 1.0, 0.0]
        assert column(got, "accuracy") == [0.5, 0.0, 1.0, 0.5] and got["signature"].endswith("judge:mean(one+two)")
        alone = [means(score(answers, golds, judge, profile)) for judge in (Says(YES), Says(NO))]
        assert means(got) == [pytest.approx(sum(pair) / 2) for pair in zip(*alone, strict=True)]
        lacking = score(answers, golds, None, profile, judges=[Says(YES), Says(failure("truncated"))])
        assert lacking["unscored"] == {"truncated": 2}
        assert column(lacking) == ([-1.0, 0.0, 1.0, -1.0] if profile == "official" else [None, 0.0, 1.0, None])


def test_without_a_judge_only_missing_has_a_mean(metric: Any) -> None:
    answers, golds = ["a", "I don't know", "b", "invalid"], ["A", "x", "x", "x"]
    for profile in PROFILES:
        got = metric.compute(predictions=answers, references=golds, profile=profile)
        assert means(got) == [None, None, None, 0.25] and column(got) == [1.0, 0.0, None, -1.0]
        assert got["per_item"][2]["reasons"] == dict.fromkeys(KEYS[:3], "no_judge")
        assert got["unscored"] == {"no_judge": 1} and got["signature"].endswith("prompt:none|judge:none")
        settled = metric.compute(predictions=["a", "invalid"], references=["A", "x"], profile=profile)
        assert means(settled) == [0.0, 0.5, 0.5, 0.0]


def test_the_judge_is_asked_once_and_both_profiles_ask_the_same(score: Callable[..., Any]) -> None:
    judge = Substring()
    answers, golds = ["in Rome", "I don’t know", "", "Oslo", "a"], ["Rome", "x", "x", ["Bonn", "Bern"], "A"]
    for profile in PROFILES:
        score(answers, golds, judge, profile)
    official, corrected = judge.batches
    assert [one["answer"] for one in official] == ["in Rome", "I don’t know", "", "Oslo", "Oslo"]
    assert corrected == [one for one in official if one["answer"] in ("in Rome", "Oslo")]


@pytest.mark.parametrize("kind", [{}, {"eos": True}, {"bos": False}, {"bos": False, "eos": True}])
def test_answers_are_cut_to_75_tokens(part: Callable[[str], ModuleType], kind: dict[str, bool]) -> None:
    cut, _ = part("rules").trimmer(Words(**kind))
    assert cut("word " * 100).split() == ["word"] * 75 and cut("word " * 75) == " ".join(["word"] * 75)
    assert cut("hello") == "hello" and cut("") == ""


@pytest.mark.parametrize("profile", PROFILES)
def test_the_cut_comes_before_the_rules_and_the_judge(score: Callable[..., Any], profile: str) -> None:
    judge = Substring()
    late = "word " * 75 + "I don't know"
    got = score([late, "word " * 74 + "Rome Oslo"], ["word", "Oslo"], judge, profile, tokenizer=Words())
    assert column(got) == [1.0, -1.0] and judge.batches[0][1]["answer"].endswith("word Rome")
    assert column(score([late], ["word"], judge, profile)) == [0.0]


# Answers that only decline; `fold_cases.yaml` has what does and what does not


@pytest.mark.slow
def test_real_answers_that_only_decline_were_judged_wrong_by_people(score: Callable[..., Any], real_data: Any) -> None:
    """EVOUNA's Natural Questions: five systems; labels of people, improper questions left out."""
    rows = json.loads((real_data("real_labels") / "evouna" / "NQ.json").read_text(encoding="utf-8"))
    systems = ("fid", "gpt35", "chatgpt", "gpt4", "newbing")
    answered = [
        (row[f"answer_{name}"], row["golden_answer"].split("/"), row[f"judge_{name}"], name)
        for row in rows
        for name in systems
        if not row["improper"] and row[f"judge_{name}"] is not None and row[f"answer_{name}"] is not None
    ]
    answers, golds, right, names = zip(*answered, strict=True)
    missing = {}
    for profile in PROFILES:
        got = score(list(answers), list(golds), None, profile)
        missing[profile] = [at for at, row in enumerate(got["per_item"]) if row["missing"] == 1]
    assert len(answers) == 15_098 and missing["official"] == []
    declined = [at for at in missing["corrected"] if answers[at].strip()]
    assert len(missing["corrected"]) - len(declined) == 4, "the empty ones"
    by_system = {name: sum(names[at] == name for at in declined) for name in systems}
    assert by_system == {"fid": 1, "gpt35": 1, "chatgpt": 17, "gpt4": 4, "newbing": 45}
    # Of 11,058 that people judged right; this one gives no episode, and the label says it does.
    (kept,) = [answers[at] for at in declined if right[at]]
    assert kept.startswith("I cannot provide the specific episode number")


@pytest.mark.pure
@given(st.one_of(st.text(), st.text(alphabet="{}[]\"'score:=01 \n\\,.truefals“”："), st.binary().map(str)))
@example("{" * 50_000)
@example('{"a":' * 50_000)
@example("[" * 100_000 + '{"score": 1}')
@example('{"score": ' + "9" * 10_000 + "}")
@example('{"score": ' + "0" * 4_400 + "1}")
@example('{"score":' + " " * 50_000 + "1}")
@example('"score' * 20_000)
def test_no_reply_crashes_a_reader(read: dict[str, Callable[[str], int | None]], reply: str) -> None:
    for profile in PROFILES:
        got = read[profile](reply)
        assert got in (0, 1, None) and type(got) in (int, type(None))
        assert got is None or "score" in reply.lower(), "a verdict from nowhere"


def test_our_prompt_asks_for_what_both_readers_read(
    part: Callable[[str], ModuleType], read: dict[str, Callable[[str], int | None]]
) -> None:
    text = part("judging").PROMPT
    form = text.rstrip().splitlines()[-1]
    for value in (0, 1):
        reply = form.replace("0 or 1", str(value))
        assert [read[profile](reply) for profile in PROFILES] == [value, value]
    assert all(text.count(slot) == 1 for slot in ("{question}", "{reference}", "{answer}"))


def test_a_prompt_as_the_paper_prints_one_is_followed_by_the_texts_with_all_accepted_answers(
    score: Callable[..., Any],
) -> None:
    asked: list[str] = []
    golds = [["1989", 'nineteen "eighty" nine'], "Oslo", "invalid question"]

    def judge(requests: list[Any]) -> list[str]:
        asked.extend(request[0]["content"] for request in requests)
        return ['{"Accuracy": "True"}', '{"accuracy": false, "explanation": "another town"}'][: len(requests)]

    for profile in PROFILES:
        asked.clear()
        got = score(["in 1989", "Bergen {x}", "invalid"], golds, judge, profile, prompt="Say if it is right.\n")
        assert column(got) == [1.0, -1.0, 1.0] and got["unscored"] == {}
        assert asked[0] == (
            'Say if it is right.\n\nQuestion: "Q0"\nAccepted answers: ["1989", "nineteen \\"eighty\\" nine"]\n'
            'Prediction: "in 1989"'
        )
        assert asked[1].endswith('Prediction: "Bergen \\u007bx\\u007d"') and len(asked) == 2
        assert "|prompt:" in got["signature"] and got["signature"] != score(["a"], ["b"], Says(NO))["signature"]


def test_ratings(metric: Any) -> None:
    ratings = ["perfect", "Acceptable", " missing", "INCORRECT", None]
    expected = [1.0, 0.5, 0.0, -1.0, None]
    official = metric.compute(ratings=ratings)
    assert column(official) == expected and official["unscored"] == {"unrated": 1}
    assert [official[key] for key in (*KEYS, "perfect", "acceptable")] == [0.125, 0.5, 0.25, 0.25, 0.25, 0.25]
    corrected = metric.compute(ratings=ratings, profile="corrected")
    assert column(corrected) == expected
    assert [corrected[key] for key in (*KEYS, "perfect", "acceptable")] == pytest.approx([0.1, 0.4] + [0.2] * 4)
    assert corrected["truthfulness_over_scored"] == 0.125
    for extra in ({"predictions": ["a"] * 5}, {"predictions": ["a", None] * 2 + [""], "references": ["x"] * 5}):
        assert metric.compute(ratings=ratings, **extra) == official
    metric.add_batch(predictions=["a"] * 5, references=["x"] * 5)
    assert metric.compute(ratings=ratings) == official
    assert metric.compute(ratings=[])["perfect"] is None


def table_6() -> list[tuple[str, dict[str, float]]]:
    rows: dict[str, dict[str, float]] = {}
    with (ROOT / "baselines" / "crag" / "published.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["table"] == "6" and row["unit"] == "percent":
                rows.setdefault(row["setting"], {})[row["metric"]] = float(row["value"])
    return list(rows.items())


@pytest.mark.parametrize(("setting", "printed"), table_6())
def test_table_6_is_perfect_plus_half_acceptable_minus_hallucination(
    metric: Any, setting: str, printed: dict[str, float]
) -> None:
    names = {"perfect": "perfect", "acceptable": "acceptable", "missing": "missing", "hallucination": "incorrect"}
    ratings = [rating for key, rating in names.items() for _ in range(round(10 * printed[key]))]
    got = metric.compute(ratings=ratings)
    assert got["truthfulness"] == pytest.approx(got["perfect"] + got["acceptable"] / 2 - got["hallucination"])
    # Four printed numbers, each rounded to a tenth of a percent, and shares of what they add up to.
    total = sum(printed[key] for key in names)
    assert abs(got["truthfulness"] * total - printed["truthfulness"]) <= 0.05 * (1 + 1 + 0.5 + 1)


def test_weights_within_domains_then_the_mean_over_domains(metric: Any) -> None:
    ratings = ["perfect", "incorrect", "perfect", "missing", "perfect", "acceptable"]
    domains = ["finance"] * 4 + ["movie"] * 2
    types = ["simple", "simple", "set", "multi-hop", "simple", "simple"]
    kwargs = {"ratings": ratings, "domains": domains, "question_types": types}
    got = metric.compute(**kwargs, weights={"simple": 0.6, "set": 0.3, "multi-hop": 0.1, "unused": 5})
    # finance: .6 x 0 + .3 x 1 + .1 x 0 = .3; movie: .75
    assert got["truthfulness_weighted"] == pytest.approx(0.525)
    assert got["hallucination_weighted"] == pytest.approx((0.6 * 0.5 + 0.0) / 2)
    assert got["perfect_weighted"] == pytest.approx((0.6 * 0.5 + 0.3 + 0.5) / 2)
    assert got["truthfulness"] == metric.compute(ratings=ratings)["truthfulness"]
    by_domain = {"finance": {"simple": 3, "set": 0, "multi-hop": 1}, "movie": {"simple": 2}}
    got = metric.compute(**kwargs, weights=by_domain)
    assert got["truthfulness_weighted"] == pytest.approx((0.0 + 0.75) / 2)
    assert got["missing_weighted"] == pytest.approx((0.25 + 0.0) / 2)


def test_weights_and_items_without_a_value(score: Callable[..., Any]) -> None:
    more = {"weights": {"s": 1, "t": 3}, "domains": ["a", "a", "b", "b"], "question_types": ["s", "t", "s", "s"]}
    answers, golds = ["a", "b", "a", None], ["A", "x", "A", "y"]
    got = score(answers, golds, Says("?"), "corrected", **more)
    # a: (1 x 1 + 3 x 0) / 4 with the unscored as 0, else 1; b: 1 / 2, else 1
    assert got["accuracy_weighted"] == pytest.approx((0.25 + 0.5) / 2) and got["accuracy_weighted_over_scored"] == 1.0
    official = score(answers, golds, Says("?"), **more)
    assert official["truthfulness_weighted"] == pytest.approx(((1 - 3) / 4 + 0) / 2)
    nothing = score(answers, golds, None, **more)
    assert nothing["truthfulness_weighted"] is None and nothing["missing_weighted"] == 0.0


def test_weights_judges_prompt_and_tokenizer_are_signed(score: Callable[..., Any], metric: Any) -> None:
    more: dict[str, Any] = {"prompt": "{reference} {answer}", "tokenizer": Words()}
    fields = [score(["a"], ["b"], Says(NO, "j"), **one)["signature"].split("|") for one in ({}, more)]
    assert [one[4] for one in fields] == ["tokenizer:none", "tokenizer:Words-75"] and fields[0][5] != fields[1][5]
    weights = ({"b": 1}, {"b": 1, "c": 2}, {"a": {"b": 1.0}}, {"b": 2})
    columns = {"ratings": ["perfect"], "domains": ["a"], "question_types": ["b"]}
    weighed = {metric.compute(**columns, weights=one)["signature"] for one in weights}
    assert len(weighed) == 2 and all("|judge:human" in text for text in weighed)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("reply", ["blub", None])
def test_a_fifth_of_the_verdicts_may_fail(metric: Any, profile: str, reply: str | None) -> None:
    asked = {"predictions": ["In May."] * 10, "references": ["June"] * 10, "questions": ["When?"] * 10}
    for unread in (0, 2, 3):
        replies = [reply] * unread + [YES] * (10 - unread)
        more = {"judge": lambda requests, replies=replies: replies, "profile": profile}
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            got = metric.compute(**asked, **more)
            assert [f"{unread} of 10" in str(one.message) for one in told] == [True] * (unread > 0)
        assert got["valid"] == (unread <= 2) and len(told) == (unread > 0)
    asked["predictions"] = [None] * 3 + ["In May."] * 7  # answers that are lacking are no fault of the judge's
    assert metric.compute(**asked, judge=lambda requests: [YES] * 7)["valid"]
