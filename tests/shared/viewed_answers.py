"""Answers for the viewer, harmless or hostile, and what it lists of them."""

from typing import Any

from quadrag.baselines.page.answers import Answers
from quadrag.baselines.page.packed import ITEMS
from quadrag.records import Passage

EVIL = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>javascript:window.hit=1 \' ${window.hit=1}'

MANY = 3 * ITEMS + 7


def make_answers(runs: int = 2, count: int = MANY, evil: str = "") -> Answers:
    names = [f"run {'AB'[at]}{evil}" for at in range(runs)]
    passages = {Passage(f"p{n}{evil}", f"title {n}{evil}", f"passage number {n} 中文{evil}"): n for n in range(count)}
    listed, items = [], []
    for n in range(count):
        there = [n != 6 or run == 0 for run in range(runs)]
        values = [
            [float(n % (3 + run) != 0), None if n == 5 else n / count] if has else [None, None]
            for run, has in enumerate(there)
        ]
        asked = f"What is number {n}?{evil}"
        listed.append(
            {
                "place": f"rgb/c/all/{n}/0/0",
                "id": f"{n}{evil}",
                "sample": 0,
                "question": asked[:20],
                "answers": [f"It is {n}." if has else None for has in there],
                "failed": ["error: no index" if n == 3 else ""] + [""] * (runs - 1),
                "values": values,
                "groups": {"benchmark": "rgb", "split": "all", "topic": f"topic {n % 2}{evil}"},
            }
        )
        side = {
            "rest": f" The end of {n}.{evil}",
            "passages": [[n, 0.5, True], [(n + 1) % count, None, False]],
            "reasons": {"m.rank": "corrected unparsable"} if n == 5 else {},
            "found": f"gold in passage 1{evil}",
            "scored": f"Scored of {n}{evil}",
            "verdicts": {f"judge{evil}": [f"Verdict {n}{evil}"]},
        }
        item = {"rest": asked[20:], "history": [["before" + evil, None]], "gold": [f"{n}{evil}"]}
        items.append({**item, "runs": [side if answer else None for answer in listed[-1]["answers"]]})
    kind = {"sign": 1, "best": 1.0, "worst": 0.0, "other": False, "unfit": False, "scale": 100}
    metrics = [{"name": "m.exact", "label": f"exact{evil}", **kind}, {"name": "m.rank", "label": "rank", **kind}]
    index = {"runs": names, "called": [*"AB"[:runs]], "metrics": metrics, "benchmarks": {"rgb": [0, 1]}}
    index["items"] = listed
    return Answers(index, items, passages)


def count_of(page: Any) -> str:
    return str(page.inner_text("#count"))


def counted(page: Any, beginning: str) -> None:
    page.locator("#count", has_text=beginning).wait_for()


def listed(page: Any) -> list[int]:
    return [int(text.removeprefix("What is number ").rstrip("?")) for text in page.locator("#list b").all_inner_texts()]
