"""Answers for the page's script, harmless or hostile, and what it lists of them."""

from typing import Any

from quadrag.reporting.page.page import ITEMS, Answers

EVIL = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>javascript:window.hit=1 \' ${window.hit=1}'

MANY = 3 * ITEMS + 7


def make_answers(runs: int = 2, count: int = MANY, evil: str = "") -> Answers:
    """Make answers of which run A is wrong on every third and run B on every fourth; 3 failed, 6 is in run A alone."""
    answers = Answers()
    answers.passages = {(f"title {n}{evil}", f"passage number {n} 中文{evil}"): n for n in range(count)}
    listed = []
    for n in range(count):
        there = [n != 6 or run == 0 for run in range(runs)]
        values = [
            [float(n % (3 + run) != 0), None if n == 5 else n / count] if has else [None, None]
            for run, has in enumerate(there)
        ]
        texts = [["–" if value is None else f"{100 * value:.1f}".removesuffix(".0") for value in run] for run in values]
        asked = f"What is number {n}?{evil}"
        listed.append(
            {
                "place": f"rgb/c/all/{n}/0/",
                "question": asked[:20],
                "answers": [f"It is {n}." if has else "(not in this run)" for has in there],
                "there": there,
                "failed": n == 3,
                "values": values,
                "texts": texts,
                "groups": {"benchmark": "rgb", "split": "all", "topic": f"topic {n % 2}{evil}"},
            }
        )
        sides = [
            {
                "answer": f"It is {n}. The end of {n}.{evil}",
                "marks": [[6, 6 + len(str(n))]],
                "failed": "error: no index" if n == 3 else "",
                "scored": f"Scored of {n}{evil}",
                "values": [["exact", texts[run][0], ""], ["rank", texts[run][1], "unparsable" if n == 5 else ""]],
                "verdicts": [[f"judge{evil}", f"Verdict {n}{evil}"]],
                "found": f"gold in passage 1{evil}",
                "passages": [],
            }
            if has
            else None
            for run, has in enumerate(there)
        ]
        answers.items.append(
            {
                "place": f"rgb · c · all · {n}{evil}",
                "question": asked,
                "history": [f"before{evil} / "],
                "wanted": f"Expected: {n}",
                "gold": [f"{n}{evil}"],
                "runs": sides,
                "passages": [[n, "1 · gold", [[0, 5]]], [(n + 1) % count, "2", []]],
            }
        )
    ends = {"sign": 1, "best": 1.0, "worst": 0.0, "benchmark": "rgb", "unfit": False}
    metrics = [{"label": f"exact{evil}", **ends}, {"label": "rank", **ends}]
    answers.index = {"runs": [f"run {'AB'[at]}{evil}" for at in range(runs)], "metrics": metrics, "items": listed}
    return answers


def count_of(page: Any) -> str:
    return str(page.inner_text("#count"))


def counted(page: Any, beginning: str) -> None:
    page.locator("#count", has_text=beginning).wait_for()


def listed(page: Any) -> list[int]:
    found = page.locator("#list b").evaluate_all("all => all.map(one => one.firstChild.textContent)")
    return [int(text.removeprefix("What is number ").rstrip("?")) for text in found]
