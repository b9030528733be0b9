"""ragquesteval: the vectors, the authors' quirks by name, three rounds, the question file, drawn replies."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ragquesteval_judges import PROFILES, SHORT, Judge, U, approx, asking, blocks, cells

from quadrag.metrics._shared.scoring import fold

CASES = json.loads(Path(__file__).with_name("ragquesteval_vectors.json").read_text(encoding="utf-8"))
pytestmark = pytest.mark.filterwarnings("ignore:.*verdicts:UserWarning")


@pytest.fixture(scope="module")
def score(metric: Any) -> Callable[..., Any]:
    def run(expected: list[str], reply: Any, profile: str = "official", n: int | None = None) -> Any:
        cache = {"a": {"question": [f"问{i}" for i in range(len(expected) if n is None else n)], "answers": expected}}
        judge = Judge({"ANSWERING P": reply, "ANSWERING R": blocks(expected), "ASKING R": asking(["问"])})
        kwargs: dict[str, Any] = {"judge": judge, "ids": ["a"], "question_cache": cache, "prompts": SHORT}
        return metric.compute(predictions=["P"], references=["R"], profile=profile, **kwargs)

    return run


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", CASES["values"], ids=lambda case: case["name"])
def test_values(part: Callable[[str], ModuleType], case: dict[str, Any], profile: str) -> None:
    got = part("scorer").compose(case["expected"], dict(enumerate(case["answers"])), profile)
    assert list(got) == approx(case[profile])


def test_fenced_questions_are_read_by_corrected_alone_as_the_card_says(metric: Any) -> None:
    replies = {"ASKING 甲。": f"```json\n{asking(['谁？'])}\n```", "ANSWERING 甲。": blocks(["甲"])}
    given = {"predictions": ["甲。"], "references": ["甲。"], "prompts": SHORT}
    got = [cells(metric.compute(**given, judge=Judge(replies), profile=profile)) for profile in PROFILES]
    assert got == [["unparsable", "unparsable"], [1.0, 1.0]]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", CASES["tags"], ids=lambda case: case["name"])
def test_answer_replies(part: Callable[[str], ModuleType], case: dict[str, Any], profile: str) -> None:
    got = part("scorer").READERS[profile][1](case["reply"], case.get("n", 1))
    assert got == (None if case[profile] is None else {int(i): text for i, text in case[profile].items()})


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", CASES["questions"], ids=lambda case: case["name"])
def test_question_replies(part: Callable[[str], ModuleType], case: dict[str, Any], profile: str) -> None:
    assert part("scorer").READERS[profile][0](case["reply"]) == case[profile]


def test_declining(part: Callable[[str], ModuleType]) -> None:
    declines = part("scorer").declines
    assert {text: declines(text) for text in CASES["declining"]["yes"]} == dict.fromkeys(
        CASES["declining"]["yes"], True
    )
    assert {text: declines(text) for text in CASES["declining"]["no"]} == dict.fromkeys(CASES["declining"]["no"], False)


def test_our_prompts_hold_the_fixed_strings(part: Callable[[str], ModuleType]) -> None:
    words, readers = part("prompts").PROMPTS, part("scorer").READERS
    example = next(line for line in words["questions"].splitlines() if line.startswith("{"))
    assert set(json.loads(example)) == {"key_info", "question"}
    assert [answers(words["answers"], 2) for _, answers in readers.values()] == [{0: "三月五日", 1: U}] * 2


NONE, LOST, UNREAD = (["not_applicable"] * 2, ["misaligned"] * 2, ["unparsable"] * 2)
TURNED = "问题 2\n<response>\n173家\n</response>\n问题 1\n<response>\n500万元\n</response>"
GAP = "问题 1\n<response>\na\n</response>\n问题 3\n<response>\nc\n</response>"


@pytest.mark.parametrize(
    ("expected", "reply", "official", "corrected"),
    [
        ([U, U], blocks(["a", "b"]), [0.0, 0.0], NONE),  # the reference answers nothing
        (["a", "b"], blocks([U, U]), [0.0, 0.0], ["not_applicable", 0.0]),  # the text answers nothing
        (["500万元"], blocks(["无法推断。"]), [0.0, 1.0], ["not_applicable", 0.0]),  # official: the exact string alone
        (["500万元", "173家"], TURNED, [0.0, 1.0], [1.0, 1.0]),  # by position, by number
        (["a", "b"], blocks(["a"]), LOST, LOST),
        (["a", "b"], blocks(["a", "b", "c"]), [1.0, 1.0], [1.0, 1.0]),  # a surplus is ignored
        (["a", U], blocks(["a"]), [1.0, 1.0], [1.0, 1.0]),
        (["a", "b", U], GAP, [0.5, 1.0], LOST),  # answers shift where a block is missing
        (["42人"], "<response>42人</response>", UNREAD, [1.0, 1.0]),  # official: the exact tags
        (["42人"], "42人", UNREAD, UNREAD),
        (["9个"], f"<response>\n{U} \n</response>", [0.0, 1.0], ["not_applicable", 0.0]),  # unstripped
        (["9个"], "<response>\n 9个  \n</response>", [4 / 7, 1.0], [1.0, 1.0]),
    ],
)
def test_quirks(
    score: Callable[..., Any], expected: list[str], reply: str, official: list[Any], corrected: list[Any]
) -> None:
    assert cells(score(expected, reply)) == approx(official)
    assert cells(score(expected, reply, "corrected")) == corrected


def test_official_counts_an_item_with_questions_but_no_reference_answers_as_0(score: Callable[..., Any]) -> None:
    assert cells(score([], blocks(["a"]), n=1)) == [0.0, 0.0]


@pytest.mark.parametrize("entry", [{}, {"question": [], "answers": []}, {"key_info": ["a"]}])
def test_official_excludes_an_empty_entry_and_corrected_asks_anew(metric: Any, entry: dict[str, Any]) -> None:
    replies = {"ASKING R": asking(["问"]), "ANSWERING R": blocks(["a"]), "ANSWERING P": blocks(["a"])}
    kwargs = {"predictions": ["P"], "references": ["R"], "ids": ["x"], "question_cache": {"x": entry}, "prompts": SHORT}
    judge = Judge(replies)
    official = metric.compute(**kwargs, judge=judge)
    assert cells(official) == ["no_questions"] * 2 and judge.batches == []
    corrected = metric.compute(**kwargs, judge=judge, profile="corrected")
    assert cells(corrected) == [1.0, 1.0]
    assert judge.batches == [["ASKING R"], ["ANSWERING R"], ["ANSWERING P"]]


def test_official_leaves_out_an_empty_text_and_corrected_counts_it(metric: Any) -> None:
    cache = {"x": {"question": ["问"], "answers": ["a"]}, "y": {"question": ["问"], "answers": [U]}}
    kwargs = {"predictions": ["", ""], "references": ["R", "R"], "ids": ["x", "y"], "question_cache": cache}
    judge = Judge({})
    official = metric.compute(**kwargs, judge=judge)
    assert (official["recall"], official["unscored"]) == (None, {"empty": 2})
    corrected = metric.compute(**kwargs, judge=judge, profile="corrected")
    assert [cells(corrected, i) for i in range(2)] == [["not_applicable", 0.0], ["not_applicable"] * 2]
    assert (corrected["recall"], corrected["precision"]) == (0.0, None) and judge.batches == []


def test_official_takes_an_unreadable_reference_reply_for_no_answers(metric: Any) -> None:
    # So the shipped files came to hold questions without answers.
    replies = {"ASKING R": asking(["问"]), "ANSWERING R": "a", "ANSWERING P": blocks(["a"])}
    got = [
        metric.compute(predictions=["P"], references=["R"], judge=Judge(replies), prompts=SHORT, profile=profile)
        for profile in PROFILES
    ]
    assert [cells(one) for one in got] == [[0.0, 0.0], ["unparsable"] * 2]


def test_ill_fitting_reference_answers_are_used_or_made_anew(metric: Any) -> None:
    cache = {"x": {"question": ["总额？", "场馆？", "地点？"], "answers": ["173家", "西安"]}}
    replies = {"ANSWERING R": blocks(["500万", "173家", "西安"]), "ANSWERING P": blocks(["500万", "173家", "西安"])}
    kwargs = {"predictions": ["P"], "references": ["R"], "ids": ["x"], "question_cache": cache, "prompts": SHORT}
    judge = Judge(replies)
    assert cells(metric.compute(**kwargs, judge=judge))[0] < 1
    assert cells(metric.compute(**kwargs, judge=judge, profile="corrected")) == [1.0, 1.0]
    assert judge.batches == [["ANSWERING P"], ["ANSWERING R"], ["ANSWERING P"]]
    replies["ANSWERING R"] = blocks(["500万", "173家"], numbered=False)
    short = metric.compute(**kwargs, judge=Judge(replies), profile="corrected")
    assert cells(short) == ["misaligned"] * 2 and short["recall"] == 0.0


def test_three_rounds_of_one_batch_each(metric: Any) -> None:
    names = "abcdef"
    replies = {f"ASKING R{x}": asking([f"{x}1", f"{x}2"]) for x in names}
    replies |= {f"ANSWERING {side}{x}": blocks([x, x]) for x in names for side in "RP"}
    replies["ASKING Rb"] = "no JSON"
    cache = {"c": {"question": ["c1"], "answers": ["c"]}, "f": {"question": ["f1"], "answers": [U]}}
    judge = Judge(replies)
    got = metric.compute(
        predictions=["Pa", "Pb", "Pc", None, "Pe", "Pf"],
        references=["Ra", "Rb", "Rc", "Rd", None, "Rf"],
        judge=judge,
        ids=list(names),
        question_cache=cache,
        prompts=SHORT,
    )
    assert judge.batches == [["ASKING Ra", "ASKING Rb"], ["ANSWERING Ra"], ["ANSWERING Pa", "ANSWERING Pc"]]
    assert [cells(got, i)[0] for i in range(6)] == [1.0, "unparsable", 1.0, "api_error", "not_applicable", 0.0]
    assert got["unscored"] == {"unparsable": 1, "api_error": 1} and got["n_scored"] == 4


@pytest.mark.parametrize("round_", ["ASKING R", "ANSWERING R", "ANSWERING P"])
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("why", ["truncated", "api_error"])
def test_a_failed_call_is_unscored_with_its_reason(
    metric: Any, failure: Any, round_: str, profile: str, why: str
) -> None:
    replies = {"ASKING R": asking(["问"]), "ANSWERING R": blocks(["a"]), "ANSWERING P": blocks(["a"])}
    judge = Judge(replies | {round_: failure(why)})
    got = metric.compute(predictions=["P"], references=["R"], judge=judge, prompts=SHORT, profile=profile)
    assert cells(got) == [why, why] and got["unscored"] == {why: 1}
    assert got["recall"] == (None if profile == "official" else 0.0)
    assert judge.batches[-1] == [round_]


def test_a_mapping_is_not_changed_and_signs_like_its_file(metric: Any, tmp_path: Path) -> None:
    entries: dict[str, Any] = {"x": {"key_info": ["k"], "question": ["问"], "answers": ["a"]}, "y": {}}
    plural = {"y": {"questions": [], "answers": []}, "x": {"questions": ["问"], "answers": ["a"]}}
    path = tmp_path / "q.json"
    path.write_text("\ufeff" + json.dumps(entries), "utf-8")
    kwargs = {"predictions": ["P"], "references": ["R"], "ids": ["x"], "prompts": SHORT}
    kept = json.dumps(entries)
    judge = Judge({"ANSWERING P": blocks(["a"])})
    fields = [
        metric.compute(**kwargs, judge=judge, question_cache=cache)["signature"].split("|")[3]
        for cache in (entries, plural, path)
    ]
    changed = {**plural, "x": {"questions": ["问"], "answers": ["b"]}}
    other = metric.compute(**kwargs, judge=judge, question_cache=changed)["signature"].split("|")[3]
    assert len(set(fields)) == 1 and re.fullmatch("questions:cache-[0-9a-f]{8}", fields[0]) and other != fields[0]
    assert json.dumps(entries) == kept


def test_tags_in_a_shipped_answer(score: Callable[..., Any]) -> None:
    # One answer of QuestAnswer2Docs is like this; the authors' pattern reads it back from a reply as it stands.
    odd = "</response>\n\n30岁以下的年轻人\n<response>"
    assert cells(score([odd], blocks([odd]))) == [1.0, 1.0]
    assert cells(score([odd], blocks(["30岁以下的年轻人"]), "corrected")) == [1.0, 1.0]


TASKS = [("QuestAnswer1Doc", 758, 0.9475), ("QuestAnswer2Docs", 784, 0.98)]


@pytest.mark.parametrize(("task", "answered", "ceiling"), TASKS)
def test_recall_ceiling_of_the_shipped_files(
    metric: Any, real_data: Callable[[str], Path], task: str, answered: int, ceiling: float
) -> None:
    path = real_data("CRUD_RAG") / "src" / "quest_eval" / f"{task}_quest_gt_save.json"
    if not path.is_file():
        pytest.skip(f"no {path.name}")
    content = path.read_bytes()
    entries = json.loads(content)

    def judge(requests: list[Any]) -> list[str]:
        replies = []
        for request in requests:
            entry = entries[request[-1]["content"].splitlines()[0].split()[1]]
            fits = len(entry["answers"]) == len(entry["question"])
            replies.append(blocks(entry["answers"] if fits else [*entry["answers"], *entry["question"]]))
        return replies

    texts = {"predictions": list(entries), "references": list(entries), "ids": list(entries)}
    got = metric.compute(**texts, judge=judge, question_cache=path, prompts=SHORT)
    assert got["n_total"] == got["n_scored"] == 800
    assert (got["precision"], got["recall"]) == (pytest.approx(ceiling), pytest.approx(ceiling))
    assert sum(row["recall"] for row in got["per_item"]) == answered
    corrected = metric.compute(**texts, judge=judge, question_cache=path, prompts=SHORT, profile="corrected")
    assert (corrected["precision"], corrected["recall"]) == (1.0, 1.0) and corrected["unscored"] == {}
    assert path.read_bytes() == content


ANSWERS = st.one_of(
    st.sampled_from([U, "500万元", "173家体育场馆", "西安市", "陕西西安市", "a b", "", f"{U}。"]), st.text(max_size=8)
)
TAGS = ("<response>", "</response>", "\n", "问题 1", "问题2", "第3题", U, "500万元")
PIECES = st.sampled_from([*TAGS, '{"question": ', '"问"', *"[]{} `"])
REPLIES = st.one_of(
    st.text(max_size=60),
    st.lists(PIECES, max_size=25).map("".join),
    st.lists(st.sampled_from(["问", "题", " "]), max_size=3).map(asking),
    st.lists(ANSWERS, max_size=4).map(blocks),
    st.lists(ANSWERS, max_size=4).map(lambda answers: blocks(answers, numbered=False)),
)


def oracle(expected: list[str], answers: list[str], cut: Callable[[str], list[str]]) -> Any:
    """The official values again: one pass over positions, token precision and recall by removal from a list."""
    scores: list[float] = []
    kept = 0
    for i, truth in enumerate(expected):
        if truth == U:
            continue
        kept += 1
        if i >= len(answers):
            return "misaligned", "misaligned"
        if answers[i] == U:
            continue
        left, hits, given = cut(truth), 0, cut(answers[i])
        total = len(left)
        for token in given:
            if token in left:
                left.remove(token)
                hits += 1
        if not total or not given:
            scores.append(1.0 if total == len(given) else 0.0)
        else:
            p, r = hits / len(given), hits / total
            scores.append(2 * p * r / (p + r) if hits else 0.0)
    return (sum(scores) / len(scores), len(scores) / kept) if scores else (0.0, 0.0)


@pytest.mark.slow
@pytest.mark.pure
@given(st.lists(ANSWERS, max_size=5), st.lists(ANSWERS, max_size=6))
def test_official_composition_against_an_oracle(
    part: Callable[[str], ModuleType], expected: list[str], answers: list[str]
) -> None:
    import jieba

    got = part("scorer").compose(expected, dict(enumerate(answers)), "official")
    assert list(got) == [
        x if isinstance(x, str) else pytest.approx(x, abs=1e-12) for x in oracle(expected, answers, jieba.lcut)
    ]


@pytest.mark.pure
@given(st.lists(st.tuples(ANSWERS, ANSWERS), max_size=5), st.randoms(use_true_random=False))
def test_corrected_composition_is_the_official_one_of_what_counts(
    part: Callable[[str], ModuleType], pairs: list[tuple[str, str]], draw: random.Random
) -> None:
    scorer = part("scorer")
    plain = [[U if scorer.declines(text) else fold(text) for text in pair] for pair in pairs]
    precision, recall = scorer.compose([a for a, _ in plain], {i: b for i, (_, b) in enumerate(plain)}, "official")
    order = list(range(len(pairs)))
    draw.shuffle(order)
    got = scorer.compose([a for a, _ in pairs], {i: pairs[i][1] for i in order}, "corrected")
    kept = [b for a, b in plain if a != U]
    assert got[0] == (pytest.approx(precision) if any(b != U for b in kept) else "not_applicable")
    assert got[1] == (pytest.approx(recall) if kept else "not_applicable")


@pytest.mark.pure
@given(REPLIES)
def test_the_official_readers_are_the_authors_pattern(part: Callable[[str], ModuleType], reply: str) -> None:
    found = re.findall(r"<response>\n(.*?)\n</response>", reply, re.DOTALL)
    assert list((part("prompts").answers_official(reply, 0) or {}).values()) == found


@pytest.mark.pure
@given(
    st.lists(ANSWERS.filter(lambda text: "<" not in text), min_size=1, max_size=6), st.randoms(use_true_random=False)
)
def test_numbered_replies_come_back_in_any_order(
    part: Callable[[str], ModuleType], answers: list[str], draw: random.Random
) -> None:
    pairs = [f"问题 {n}\n<response>\n{text}\n</response>" for n, text in enumerate(answers, 1)]
    draw.shuffle(pairs)
    got = part("prompts").answers_corrected("\n".join(pairs), len(answers))
    assert got == {i: text.strip() for i, text in enumerate(answers)}


@given(st.sampled_from(PROFILES), REPLIES, REPLIES, REPLIES, st.sampled_from(["P", "", " "]))
def test_no_reply_crashes_the_metric_or_becomes_a_value_unread(
    part: Callable[[str], ModuleType], profile: str, questions: str, expected: str, answers: str, prediction: str
) -> None:
    read_questions, read_answers = part("scorer").READERS[profile]
    said = {"ASKING R": questions, "ANSWERING R": expected, f"ANSWERING {prediction}": answers}
    core = part("scorer").SCORER(profiles=[profile], judges=1, prompts=SHORT)
    (row,) = part("scoring").drive(core, core.items([prediction], ["R"]), [Judge(said)])
    got = [row[profile]["reasons"].get(key, row[profile][key]) for key in ("precision", "recall")]
    for value in got:
        if isinstance(value, str):
            assert value in {"unparsable", "misaligned", "no_questions", "empty", "not_applicable"}
        else:
            assert 0 <= value <= 1
            assert read_questions(questions), "a value without questions"
            n = len(read_questions(questions) or [])
            assert profile == "official" or read_answers(expected, n), "a value without reference answers"
            if value > 0 or (profile == "corrected" and prediction.strip()):
                assert read_answers(answers, n), "a value without answers"
