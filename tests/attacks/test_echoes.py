"""A judge that repeats its instructions, whole or in part, gives no verdict: every row for every judged metric."""

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from quadrag import catalogue
from quadrag.catalogue import load_scorer
from quadrag.metric_record import metric_record
from quadrag.metrics._shared.scoring import drive

ROWS = yaml.safe_load((Path(__file__).parent / "replies.yaml").read_text(encoding="utf-8"))
ECHOES = [row for row in ROWS if row.get("for") == "verdict"]
JUDGED = [(name, "en", None) for name in sorted(catalogue.metrics()) if metric_record(name).verdict]
JUDGED += [("error_detection", "zh", None), ("rejection_rate", "zh", None)]
JUDGED += [(name, language, "plain") for name, language, _ in JUDGED if metric_record(name).plain]
QUESTION = (
    "Which of the two towns on the river was founded first, and by whom, as far as the chronicle of the abbey tells?"
)
ANSWER = "There are factual errors in what was given: it was the northern town, founded by a merchant in the year 1214."


def reply_to(row: dict[str, Any], name: str, chat: list[dict[str, str]]) -> str:
    asked = chat[-1]["content"]
    verdict = next(reply for found, reply in metric_record(name).replies.items() if found in asked)
    half, lines = len(asked) // 2, asked.splitlines()
    texts = {
        "asked": asked,
        "line": " ".join(lines),
        "json": json.dumps(chat, ensure_ascii=False),
        "head": asked[:half],
        "rule": asked[:45],
        "tail": asked[-half:],
        "verdict": verdict,
        "question": QUESTION,
        "answer": ANSWER,
    }
    said = str(row["reply"])
    for slot, text in texts.items():
        said = said.replace(f"<<{slot}>>", text)
    return said


@pytest.mark.parametrize("row", ECHOES, ids=lambda row: row["name"])
@pytest.mark.parametrize(("name", "language", "prompt"), JUDGED)
def test_what_repeats_the_instructions_is_no_verdict(
    row: dict[str, Any], name: str, language: str, prompt: str | None
) -> None:
    kind = load_scorer(name)
    options = {"language": language} if "language" in inspect.signature(kind).parameters else {}
    options |= {"prompt": prompt} if prompt else {}
    scorer = kind(judges=1, config="acc" if name == "omnieval" else None, **options)
    columns = {"questions": [QUESTION]} if "questions" in kind.COLUMNS else {}
    items = scorer.items(**kind.columns([ANSWER], ["1214"]), **columns)
    (found,) = drive(scorer, items, [lambda chats: [reply_to(row, name, chat) for chat in chats]])
    item = found["corrected"]
    judged = {key: why for key, why in item["reasons"].items() if why != "not_applicable"}
    assert set(judged.values()) == (set() if row.get(prompt, row["read"]) else {"unparsable"}), (judged, item)
