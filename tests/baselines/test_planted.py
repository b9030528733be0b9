"""Faults planted one by one in a copy of the sample: each is found, by its own check alone."""

import bz2
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from quadrag.audit import audit
from quadrag.baselines.crud_rag.audit import near_duplicates
from quadrag.data.files import sample_dir

FAULTS = [
    pytest.param(place, fault, id=f"{place['config']}-{'-'.join(fault['put'])}-{number}")
    for place in yaml.safe_load(Path(__file__).with_name("faults.yaml").read_text(encoding="utf-8"))
    for number, fault in enumerate(place["faults"])
]
SPLIT = "data/crud_split/split_merged.json"
CORPUS = "data/80000_docs/documents_dup_part_1_part_1"
QUESTIONS = "src/quest_eval/Summary_quest_gt_save.json"
TEXTS = st.lists(st.text("ab \n\ufeff", max_size=30), max_size=6)
# Articles of one form, of which all but a character are the same.
FORM = [f"{place}今日天气多云转晴，最高气温二十摄氏度，请市民注意防晒。" for place in "京沪津渝冀晋辽吉黑苏浙皖"]


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[str], Path]:
    """A function that copies a benchmark's sample."""
    return lambda benchmark: Path(shutil.copytree(sample_dir(benchmark), tmp_path / benchmark))


def put(path: Path, values: dict[str, Any]) -> None:
    """Put values into a JSON Lines file, packed or not."""
    packed = path.suffix == ".bz2"
    text = bz2.decompress(path.read_bytes()) if packed else path.read_bytes()
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    for place, value in values.items():
        *above, last = (int(name) if name.isdigit() else name for name in place.split("."))
        part: Any = rows
        for name in above:
            part = part[name]
        part[last] = value
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    path.write_bytes(bz2.compress(text) if packed else text)


def found(benchmark: str, folder: Path, config: str) -> set[tuple[str, str, str, str]]:
    findings, _ = audit(benchmark, config, str(folder))
    return {(one.split, one.id, one.check, one.evidence) for one in findings}


@pytest.mark.parametrize(("place", "fault"), FAULTS)
def test_a_planted_fault_is_found(folder: Any, place: dict[str, Any], fault: dict[str, Any]) -> None:
    benchmark, config = place["benchmark"], place["config"]
    root = folder(benchmark)
    before = found(benchmark, root, config)
    put(root / place["file"], fault["put"])
    added = found(benchmark, root, config) - before
    assert {one[2:] for one in added} == set(fault.get("found", {}).items())


def test_one_fault_in_several_splits_and_configs_is_one_finding(folder: Any) -> None:
    root = folder("rgb")
    put(root / "en_refine.json", {"0.positive.3": "Nobody knows."})
    findings, _ = audit("rgb", None, str(root))
    (one,) = [one for one in findings if one.config == "noise_robustness_en" and one.id == "0"]
    others = [f"noise_robustness_en/noise_{share}" for share in (20, 40, 60, 80)]
    assert one.also == [*others, "negative_rejection_en/test"]
    assert len(list(one.keys())) == 6 and one.confirmed is None


def test_question_files_that_do_not_fit_their_split(folder: Any) -> None:
    root = folder("crud_rag")
    asked = [row["ID"] for row in json.loads((root / SPLIT).read_text(encoding="utf-8"))["event_summary"]]
    entries: dict[str, Any] = {key: {"key_info": [], "question": ["q"], "answers": ["a"]} for key in asked}
    (root / QUESTIONS).write_text(json.dumps(entries))
    assert not found("crud_rag", root, "summary")
    entries |= {"strange": entries.pop(asked[0]), asked[1]: {**entries[asked[1]], "answers": ["a", "b"]}, asked[2]: {}}
    (root / QUESTIONS).write_text(json.dumps(entries))
    named = {asked[0]: "does not have it", "strange": "no such question"}
    named |= {asked[1]: "questions: 1, answers: 2", asked[2]: "questions: 0, answers: 0"}
    findings = found("crud_rag", root, "summary")
    assert {one[:3] for one in findings} == {("test", name, "broken_reference") for name in named}
    assert all(one[3].endswith(named[one[1]]) for one in findings)


@pytest.mark.parametrize(
    ("start", "stop", "expected"), [(0, 0.4, True), (0, 0.2, False), (0.5, 1, True), (0, 1, False)]
)
def test_reports_of_the_same_event_in_the_corpus(folder: Any, start: float, stop: float, expected: bool) -> None:
    root = folder("crud_rag")
    row = json.loads((root / SPLIT).read_text(encoding="utf-8"))["event_summary"][0]
    text = "".join(row["text"].split())
    part = text[int(len(text) * start) : int(len(text) * stop)]
    before = found("crud_rag", root, "summary")
    with (root / CORPUS).open("a", encoding="utf-8") as file:
        # The whole article is the gold document itself, and no other report.
        file.write(f"{text}\n" if part == text else f"2023-08-01，正文：{part}另有消息称情况不明。\n")
    new = {one for one in found("crud_rag", root, "summary") - before if one[2] == "near_duplicate"}
    number = (root / CORPUS).read_bytes().count(b"\n")
    assert {one[1] for one in new} == ({row["ID"]} if expected else set())
    assert all(f"{Path(CORPUS).name}:{number} (" in one[3] for one in new)


def shingles(text: str, size: int) -> set[str]:
    bare = "".join(text.split()).replace("\ufeff", "")
    return {bare[at : at + size] for at in range(len(bare) - size + 1)}


@given(TEXTS, TEXTS, st.integers(1, 4), st.sampled_from([0.3, 0.5, 1.0]))
def test_near_duplicates_share_so_much_of_an_articles_shingles(
    articles: list[str], corpus: list[str], size: int, overlap: float
) -> None:
    check(articles, corpus, size, overlap)


def test_articles_of_one_form_are_told_apart() -> None:
    check(FORM, [*FORM, "".join(FORM), FORM[3][:20], "无关的一篇报道，与天气没有关系。"], 12, 0.3)


def check(articles: list[str], corpus: list[str], size: int, overlap: float) -> None:
    named, news = ({str(at): text for at, text in enumerate(texts)} for texts in (articles, corpus))
    expected = [
        (name, document, len(own & shingles(body, size)) / len(own))
        for document, body in news.items()
        for name, text in named.items()
        if (own := shingles(text, size)) and len(own & shingles(body, size)) / len(own) >= overlap
    ]
    assert sorted(near_duplicates(named, news.items(), size, overlap)) == sorted(expected)
