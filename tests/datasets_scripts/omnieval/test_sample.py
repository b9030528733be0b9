"""OmniEval's sample by its files alone: every cell, the nodes behind each question, spans, computations, variety.

A computation stands in a record's thoughts as `EXPRESSION=VALUE` in ASCII. It is recomputed in exact fractions, and
what it starts from must stand in the passages or questions that its answer follows from.
"""

from __future__ import annotations

import ast
import json
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

SAMPLE = Path(__file__).parents[3] / "datasets_scripts" / "omnieval" / "sample"
AUTO, TRAIN = SAMPLE / "gen_datas_sample_final", SAMPLE / "gen_datas_train_final"
HUMAN, CORPUS = SAMPLE / "human_annotated/v1022/v1022.jsonl", SAMPLE / "sample-2048-256_nodes/corpus.jsonl"
TREE = {
    "银行业务": ["零售银行", "商业银行", "投资银行"],
    "投资": ["股票市场", "债券市场", "基金", "衍生品市场"],
    "保险": ["人寿保险", "财产保险", "健康保险"],
    "金融科技": ["区块链", "人工智能", "大数据"],
    "监管与合规": ["反洗钱（AML）", "合规审计", "监管报告"],
}
TOPICS = [(upper, lower) for upper, below in TREE.items() for lower in below]
EXTRACTIVE, MULTI_HOP, CONTRAST, LONG_FORM, CONVERSATION = TASKS = [
    "抽取类问答",
    "多跳推理类问答",
    "对比类问答",
    "长答案形式问答",
    "多轮对话能力",
]
KEYS = {"question", "answer", "relevant_passage", "topic_name", "task_name", "relevant_node"}
THOUGHTS = ("thought_process", "though_process")
# A round after the first leans on the ones before it by one of these.
REFERRING = re.compile("它|那|这|同|照|呢")

Record = dict[str, Any]


def read(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def dialogues() -> Iterator[tuple[Path, list[Record]]]:
    """Every line of every file of questions as its rounds: one, or those of a conversation."""
    for path in sorted([*AUTO.rglob("*.jsonl"), *TRAIN.rglob("*.jsonl"), HUMAN]):
        for line in read(path):
            yield path, line if isinstance(line, list) else [line]


DIALOGUES = list(dialogues())
RECORDS = [(path, record) for path, rounds in DIALOGUES for record in rounds]
NODES = read(CORPUS)
TEXTS = {node["id"]: node["contents"] for node in NODES}


def of_task(task: str) -> list[Record]:
    return [record for _, record in RECORDS if record["task_name"] == task]


def sentences(node: Record) -> list[str]:
    return re.findall(r"[^。\n]+。?", node["contents"].partition("\n")[2])


# --- layout and schema -----------------------------------------------------------------------------------------------


def test_every_cell_of_the_matrix_has_a_file_and_no_other_file_is_there() -> None:
    cells = {AUTO / upper / lower / f"{task}.jsonl" for upper, lower in TOPICS for task in TASKS}
    assert len(cells) == 80
    train = set(TRAIN.rglob("*.jsonl"))
    assert {path for path in SAMPLE.rglob("*") if path.is_file()} == cells | train | {HUMAN, CORPUS}
    assert sum(path.stat().st_size for path in cells | train | {HUMAN, CORPUS}) < 400_000


@pytest.mark.parametrize(("upper", "lower"), TOPICS)
def test_each_cell_has_two_questions_and_each_topic_a_conversation_of_three(upper: str, lower: str) -> None:
    for task in TASKS:
        lines = read(AUTO / upper / lower / f"{task}.jsonl")
        if task == CONVERSATION:
            assert [len(rounds) for rounds in lines] == [3, 2]
        else:
            assert len(lines) == 2
            assert all(isinstance(line, dict) for line in lines)


def test_train_and_human_have_a_question_of_every_topic_and_several_tasks() -> None:
    human = [record for path, record in RECORDS if path == HUMAN]
    train = [record for path, record in RECORDS if TRAIN in path.parents]
    for records in (human, train):
        assert len(records) >= 16
        assert {record["topic_name"] for record in records} == {f"金融 - {a} - {b}" for a, b in TOPICS}
    assert {record["task_name"] for record in human} == set(TASKS)
    assert sum(isinstance(line, list) for line in read(HUMAN)) == 1


def test_records_have_upstream_s_keys_and_say_their_place() -> None:
    for path, record in RECORDS:
        thoughts = [key for key in THOUGHTS if key in record]
        assert len(thoughts) == 1
        assert record.keys() - {"evaluation", "golden_answers"} == KEYS | set(thoughts)
        assert record["task_name"] in TASKS
        if path != HUMAN:
            *_, upper, lower, _ = path.parts
            assert (record["topic_name"], record["task_name"]) == (f"金融 - {upper} - {lower}", path.stem)
            assert record["evaluation"] in (-1, 1, 2)


def test_the_schema_s_variety_is_there() -> None:
    forms = Counter[str]()
    for _, record in RECORDS:
        for key in ("answer", "relevant_passage", "relevant_node"):
            value = record[key]
            forms[f"{key}: {'text' if isinstance(value, str) else f'list of {len(value)}'}"] += 1
        forms[next(key for key in THOUGHTS if key in record)] += 1
        forms[f"evaluation: {record.get('evaluation')}"] += 1
        forms["golden_answers"] += "golden_answers" in record
    expected = {
        f"{key}: {form}"
        for key in ("answer", "relevant_passage", "relevant_node")
        for form in ("text", "list of 1", "list of 2")
    }
    expected |= {*THOUGHTS, "golden_answers", *(f"evaluation: {verdict}" for verdict in (-1, 1, 2, None))}
    assert forms.keys() == expected
    assert all(count >= 5 for count in forms.values()), forms


def test_no_question_of_its_own_is_asked_twice() -> None:
    alone = Counter(rounds[0]["question"] for _, rounds in DIALOGUES)
    assert {question for question, count in alone.items() if count > 1} == set()


# --- corpus ----------------------------------------------------------------------------------------------------------


def test_nodes_are_unique_titled_and_of_upstream_s_identities() -> None:
    assert len(NODES) >= 120
    assert len(TEXTS) == len(NODES)
    assert len(set(TEXTS.values())) == len(NODES)
    for node in NODES:
        assert list(node) == ["id", "title", "contents"]
        title, _, body = node["contents"].partition("\n")
        assert node["title"] in (title, "")
        assert 5 <= len(title) <= 40
        assert body
        assert 150 <= len(node["contents"]) <= 500
    shapes = Counter(re.sub("[0-9a-f]+", lambda run: str(len(run[0])), identity) for identity in TEXTS)
    assert shapes.keys() == {"8-4-4-4-12", "64", "32"}
    assert {bool(node["title"]) for node in NODES} == {True, False}


def test_some_nodes_are_nobody_s_answer() -> None:
    wanted = {identity for _, record in RECORDS for identity in listed(record["relevant_node"])}
    assert len(TEXTS.keys() - wanted) >= 16


def test_institutions_of_the_invented_country_are_marked_as_fictional() -> None:
    marked = 0
    for text in TEXTS.values():
        for name in set(re.findall("澜洲(?:金融监管局|央行|证券交易所|商品交易所|会计师公会)", text)):
            assert f"{name}（虚构机构）" in text
            marked += 1
        assert text.count("澜洲") == len(re.findall("澜洲(?:金融监管局|央行|证券交易所|商品交易所|会计师公会)", text))
    assert marked >= 10


def test_at_most_a_third_of_the_sentences_share_a_frame() -> None:
    """Two share one when, numbers aside, a quarter of their runs of three characters are the same."""
    frames = [re.sub(r"[\d.]+", "#", sentence) for node in NODES for sentence in sentences(node)]
    runs = [frozenset(text[at : at + 3] for at in range(len(text) - 2)) for text in frames]
    alike: set[int] = set()
    for one, other in combinations(range(len(runs)), 2):
        common = len(runs[one] & runs[other])
        if common and 4 * common > len(runs[one]) + len(runs[other]) - common:
            alike |= {one, other}
    assert 3 * len(alike) <= len(runs)


# --- answers and what they follow from -------------------------------------------------------------------------------


def test_every_relevant_node_exists_and_holds_its_passage() -> None:
    for _, record in RECORDS:
        identities, passages = listed(record["relevant_node"]), listed(record["relevant_passage"])
        assert len(identities) == len(passages) == len(set(identities)) <= 2
        assert type(record["relevant_node"]) is type(record["relevant_passage"])
        for identity, passage in zip(identities, passages, strict=True):
            assert passage
            assert passage in TEXTS[identity].partition("\n")[2], record["question"]


def test_extractive_answers_are_spans_of_their_passage() -> None:
    records = of_task(EXTRACTIVE)
    assert len(records) >= 32
    for record in records:
        (passage,) = listed(record["relevant_passage"])
        assert all(answer in passage for answer in listed(record["answer"])), record["question"]


def test_contrast_questions_compare_two_nodes() -> None:
    auto = [r for path, r in RECORDS if AUTO in path.parents and r["task_name"] == CONTRAST]
    assert len(auto) == 32
    assert [record["question"] for record in auto if len(listed(record["relevant_node"])) != 2] == []


def test_long_answers_have_80_to_200_characters() -> None:
    records = of_task(LONG_FORM)
    assert len(records) >= 32
    assert [r["question"] for r in records if not 80 <= len("".join(listed(r["answer"]))) <= 200] == []


def test_later_rounds_refer_back() -> None:
    later = [record["question"] for _, rounds in DIALOGUES for record in rounds[1:]]
    assert len(later) >= 48
    assert [question for question in later if not REFERRING.search(question)] == []


OPERATORS: dict[type, Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
# Percentages and units of ten thousand; the whole of which a rate is a part.
UNITS = {Fraction(number) for number in (1, 10, 100, 10_000)}
SPOKEN = {character: Fraction(number) for number, character in enumerate("零一二三四五六七八九十")} | {
    "两": Fraction(2)
}


def numbers(texts: Iterable[str]) -> set[Fraction]:
    """The numbers in texts: in digits, and those up to ten in characters."""
    text = "\n".join(texts)
    said = {SPOKEN[character] for character in text if character in SPOKEN}
    if "零点五" in text:
        said.add(Fraction(1, 2))
    return said | {Fraction(found) for found in re.findall(r"\d+(?:\.\d+)?", text)}


def value(expression: str) -> Fraction:
    """The exact value of an expression of decimal numbers, the four operations and parentheses."""

    def of(node: ast.expr) -> Fraction:
        if isinstance(node, ast.BinOp):
            return OPERATORS[type(node.op)](of(node.left), of(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -of(node.operand)
        return Fraction(ast.get_source_segment(expression, node) or "")

    return of(ast.parse(expression, mode="eval").body)


def computations(record: Record) -> list[tuple[str, Fraction]]:
    thoughts = next(record[key] for key in THOUGHTS if key in record)
    found = re.findall(r"([\d.()+*/-]+)=(-?[\d.]*\d)", thoughts)
    assert len(found) == thoughts.count("=")
    return [(expression, Fraction(result)) for expression, result in found]


def test_the_reader_of_computations_is_exact() -> None:
    assert value("1280*0.035") == Fraction("44.8")
    assert value("(40*6.0+50*3.0+10*0.1)/100") == Fraction("3.91")
    assert value("-2-(0.1+0.2)") == Fraction("-2.3")
    assert numbers(["第三季度1.5亿元，九折，万分之零点五"]) == {*map(Fraction, ("3", "1.5", "9", "0", "5", "0.5"))}


def test_computations_hold_and_start_from_the_passages() -> None:
    seen = 0
    for _, rounds in DIALOGUES:
        told: set[Fraction] = set(UNITS)
        for record in rounds:
            told |= numbers([record["question"], *listed(record["relevant_passage"])])
            for expression, result in computations(record):
                assert value(expression) == result, expression
                assert numbers([expression]) <= told, (record["question"], expression)
                told.add(abs(result))
                seen += 1
    assert seen >= 100


def test_numbers_of_answers_follow_from_the_passages_or_a_computation() -> None:
    for _, rounds in DIALOGUES:
        told: set[Fraction] = set()
        for record in rounds:
            results = {abs(result) for _, result in computations(record)}
            told |= results | numbers([record["question"], *listed(record["relevant_passage"])])
            answers = [*listed(record["answer"]), *record.get("golden_answers", [])]
            digits = {Fraction(found) for found in re.findall(r"\d+(?:\.\d+)?", "\n".join(answers))}
            assert digits <= told, (record["question"], answers)


def test_every_multi_hop_question_has_a_computation_that_its_answer_uses() -> None:
    records = of_task(MULTI_HOP)
    assert len(records) >= 32
    for record in records:
        done = computations(record)
        assert done, record["question"]
        assert abs(done[-1][1]) in numbers(listed(record["answer"])), record["question"]
