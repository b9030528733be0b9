"""Faults planted one by one in a copy of the sample: each is found, by its own check alone."""

import bz2
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quadrag.audit.audited import audit
from quadrag.data.files import sample_dir

Row = dict[str, Any]
Found = set[tuple[str, str, str, str]]

SPLIT = "data/crud_split/split_merged.json"
PAGES = "data/crag_task_1_and_2_dev_v5.jsonl.bz2"
CORPUS = "data/80000_docs/documents_dup_part_1_part_1"
QUESTIONS = "src/quest_eval/Summary_quest_gt_save.json"
HUMAN = "human_annotated/v1022/v1022.jsonl"


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[str], Path]:
    """A function that copies a benchmark's sample."""
    return lambda benchmark: Path(shutil.copytree(sample_dir(benchmark), tmp_path / benchmark))


def rewrite(path: Path, change: Callable[[list[Row]], None]) -> None:
    """Change the rows of a JSON Lines file, packed or not."""
    packed = path.suffix == ".bz2"
    content = bz2.decompress(path.read_bytes()) if packed else path.read_bytes()
    rows = [json.loads(line) for line in content.splitlines() if line.strip()]
    change(rows)
    content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    path.write_bytes(bz2.compress(content) if packed else content)


def rewrite_json(path: Path, change: Callable[[Any], None]) -> None:
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def found(benchmark: str, folder: Path, config: str) -> Found:
    findings, _ = audit(benchmark, config, str(folder))
    return {(one.split, one.id, one.check, one.evidence) for one in findings}


def added(benchmark: str, folder: Path, config: str, plant: Callable[[], None]) -> Found:
    """What is found after a fault was planted and was not before."""
    before = found(benchmark, folder, config)
    plant()
    return found(benchmark, folder, config) - before


def replace(key: str, *places: int, text: str) -> Callable[[list[Row]], None]:
    """Replace a text of the first row."""

    def change(rows: list[Row]) -> None:
        held: Any = rows[0]
        for place in (key, *places[:-1]) if places else ():
            held = held[place]
        held[places[-1] if places else key] = text

    return change


def shorten_answer(rows: list[Row]) -> None:
    rows[0]["answer"] = [[rows[0]["answer"][0], "QX"]]
    for row in rows[:4]:
        row["negative"][0] += " It had tail number 1qxz."


def repeat_question(rows: list[Row]) -> None:
    rows[1]["query"] = rows[0]["query"].upper().replace(" ", "  ")


def nothing_in_question(rows: list[Row]) -> None:
    rows[0]["query"] += " Not Ilse Varnholtson?"


REFINED, FALSE = ("en_refine", "negative_rejection_en"), ("en_fact", "counterfactual_robustness_en")


@pytest.mark.parametrize(
    ("place", "change", "expected"),
    [
        (
            REFINED,
            replace("negative", 2, text="So ilse\u00a0varnholt won."),
            ("test", "0", "negative_with_answer", "negative[2] of 6 holds Ilse Varnholt: So ilse varnholt won."),
        ),
        (REFINED, replace("negative", 2, text="Ilse Varnholtson won."), None),
        (
            FALSE,
            replace("positive_wrong", 1, text="It is Meridel."),
            ("test", "0", "negative_with_answer", "positive_wrong[1] of 5 holds Meridel: It is Meridel."),
        ),
        (
            REFINED,
            replace("positive", 3, text="Nobody knows."),
            ("test", "0", "positive_without_answer", "positive[3] of 7 holds no part of Ilse Varnholt"),
        ),
        (
            ("zh_int", "information_integration_zh"),
            replace("positive", 1, 0, text="无人知晓。"),
            ("noise_0", "0", "positive_without_answer", "positive[1][0] of 5 holds no part of 柯敬之 and 宁晚棠"),
        ),
        (
            REFINED,
            shorten_answer,
            ("test", "0", "short_answer", "by chance in the negatives of 11 other questions: QX in those of 3"),
        ),
        (REFINED, repeat_question, ("test", "1", "duplicate_question", "0 asks the same, with other gold")),
        (
            REFINED,
            replace("query", text="Did Ilse Varnholt win?"),
            ("test", "0", "answer_in_question", "in the question: Did Ilse Varnholt win?"),
        ),
        (REFINED, nothing_in_question, None),
    ],
)
def test_rgb(folder: Any, place: tuple[str, str], change: Any, expected: Any) -> None:
    root, (file, config) = folder("rgb"), place
    new = added("rgb", root, config, lambda: rewrite(root / f"{file}.json", change))
    assert new == ({expected} if expected else set())


def test_rgb_one_fault_in_several_splits_and_configs_is_one_finding(folder: Any) -> None:
    root = folder("rgb")
    rewrite(root / "en_refine.json", replace("positive", 3, text="Nobody knows."))
    findings, _ = audit("rgb", None, str(root))
    (one,) = [one for one in findings if one.config == "noise_robustness_en" and one.id == "0"]
    others = [f"noise_robustness_en/noise_{share}" for share in (20, 40, 60, 80)]
    assert one.also == [*others, "negative_rejection_en/test"]
    assert len(list(one.keys())) == 6 and one.confirmed is None


def crag_row(rows: list[Row]) -> Row:
    """The first row of the split `public`, whole as it is: asked in March 2024."""
    row = next(row for row in rows if row["split"] == 1)
    row["query_time"] = "03/05/2024, 23:18:31 PT"
    for page in row["search_results"]:
        page["page_last_modified"], page["page_result"] = "", page["page_result"] or "<p>text</p>"
    return row


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"page_last_modified": " Wed, 06 Mar 2024 07:18:32 GMT"}, "page[1] of 5 last changed 2024-03-05 23:18"),
        ({"page_last_modified": " Wed, 06 Mar 2024 07:18:30 GMT"}, None),
        ({"page_last_modified": "in spring"}, None),
        (
            {"page_result": " \n", "page_url": "https://a.example/gone"},
            "page[1] of 5 holds no text: https://a.example/gone",
        ),
    ],
)
def test_crag_pages(folder: Any, change: Row, expected: str | None) -> None:
    root = folder("crag")
    rewrite(root / PAGES, lambda rows: crag_row(rows) and None)
    new = added(
        "crag",
        root,
        "task_1_2",
        lambda: rewrite(root / PAGES, lambda rows: crag_row(rows)["search_results"][1].update(change)),
    )
    assert len(new) == bool(expected)
    for split, _, check, evidence in new:
        assert split == "public" and evidence.endswith(str(expected))
        assert check == ("broken_reference" if "page_result" in change else "later_date")


@pytest.mark.parametrize(
    ("answer", "later"), [("on april 7, 2024", "2024-04-07"), ("on march 5, 2024", None), ("in 2025", "2025")]
)
def test_crag_answers(folder: Any, answer: str, later: str | None) -> None:
    root = folder("crag")
    rewrite(root / PAGES, lambda rows: crag_row(rows) and None)
    new = added("crag", root, "qa", lambda: rewrite(root / PAGES, lambda rows: crag_row(rows).update(answer=answer)))
    evidence = f"asked 2024-03-05, the answer names {later}: {answer}"
    assert [one[2:] for one in new] == ([("later_date", evidence)] if later else [])


def test_crud_rag_question_files(folder: Any) -> None:
    root = folder("crud_rag")
    asked = [row["ID"] for row in json.loads((root / SPLIT).read_text(encoding="utf-8"))["event_summary"]]
    whole = {"key_info": [], "question": ["q"], "answers": ["a"]}

    def fill(entries: Row) -> None:
        entries.clear()
        entries.update({name: whole for name in asked})

    def plant(entries: Row) -> None:
        del entries[asked[0]]
        entries.update({"strange": whole, asked[1]: {**whole, "answers": ["a", "b"]}, asked[2]: {}})

    rewrite_json(root / QUESTIONS, fill)
    assert not found("crud_rag", root, "summary")
    rewrite_json(root / QUESTIONS, plant)
    file = "ragquesteval summary"
    assert found("crud_rag", root, "summary") == {
        ("test", asked[0], "broken_reference", f"{file} does not have it"),
        ("test", "strange", "broken_reference", f"{file} has it, the split has no such question"),
        ("test", asked[1], "broken_reference", f"{file} has of it questions: 1, answers: 2"),
        ("test", asked[2], "broken_reference", f"{file} has of it questions: 0, answers: 0"),
    }


@pytest.mark.parametrize(
    ("start", "stop", "expected"), [(0, 0.4, True), (0, 0.2, False), (0.5, 1, True), (0, 1, False)]
)
def test_crud_rag_near_duplicates(folder: Any, start: float, stop: float, expected: bool) -> None:
    root = folder("crud_rag")
    row = json.loads((root / SPLIT).read_text(encoding="utf-8"))["event_summary"][0]
    text = "".join(row["text"].split())
    part = text[int(len(text) * start) : int(len(text) * stop)]
    # The whole article is the gold document itself, and no other report.
    line = f"{text}\n" if part == text else f"2023-08-01，正文：{part}另有消息称情况不明。\n"

    def plant() -> None:
        with (root / CORPUS).open("a", encoding="utf-8") as file:
            file.write(line)

    new = {one for one in added("crud_rag", root, "summary", plant) if one[2] == "near_duplicate"}
    number = (root / CORPUS).read_bytes().count(b"\n")
    assert {one[1] for one in new} == ({row["ID"]} if expected else set())
    assert all(f"{Path(CORPUS).name}:{number} (" in one[3] for one in new)


def extractive(rows: list[Row]) -> Row:
    return next(row for row in rows if not isinstance(row, list) and row["task_name"] == "抽取类问答")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"relevant_node": ["nowhere"]}, {("broken_reference", "the corpus has no node nowhere of 1")}),
        (
            {"relevant_passage": "无关的文字。"},
            {
                ("broken_reference", "no node of the question holds its passage 无关的文字。"),
                ("positive_without_answer", "none of 1 relevant passages holds 不在文中"),
            },
        ),
    ],
)
def test_omnieval(folder: Any, change: Row, expected: set[tuple[str, str]]) -> None:
    root = folder("omnieval")

    def plant(rows: list[Row]) -> None:
        answer = {"answer": "不在文中"} if "relevant_passage" in change else {}
        extractive(rows).update(change, **answer)

    new = added("omnieval", root, "extractive_qa", lambda: rewrite(root / HUMAN, plant))
    assert {one[2:] for one in new} == expected
    assert {one[0] for one in new} == {"human"}
