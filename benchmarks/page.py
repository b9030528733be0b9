"""The page of many answers in a browser: how large it is, and how long a person waits for it.

Run: python benchmarks/page.py [--language zh] [--items 10000] [--passages 25000] [--texts FOLDER] [--rounds 5].

Passages have 600 characters, five stand at an item. They are drawn by Zipf's law, single characters of Chinese or words
of English, so they repeat nothing and are harder to pack than a language; with `--texts` they are cut from the files of
a folder. Each time is the median of rounds in a page that was just opened; `to open` is from the request to the list.
"""

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

from quadrag.baselines.page.answers import BEGINNING, Answers
from quadrag.baselines.page.packed import pack_answers
from quadrag.baselines.page.page import render_page
from quadrag.records import Passage

LONG, SHOWN = 600, 5  # characters of a passage, passages of an item
ANSWER = 200
# What is done, and what is to be done by then, in milliseconds.
LIMITS = {"to open": 2000, "filter": 100, "search": 150, "open an item": 200}
TIMED = """async (act) => {
  const started = performance.now();
  await eval(act)();
  return performance.now() - started;
}"""
FILTER = "() => { document.getElementById('which').value = '%s'; return viewer.filter(); }"
SEARCH = "() => { document.getElementById('search').value = '%s'; return viewer.filter(); }"
OPEN = "async () => { history.replaceState(null, '', '#item=' + viewer.index.items[%d].place); await viewer.follow(); }"


def draw_texts(language: str, count: int, seed: int = 1) -> Iterator[str]:
    """Yield texts of `LONG` characters, drawn by Zipf's law."""
    rng = np.random.RandomState(seed)
    if language == "zh":
        known = [chr(0x4E00 + at) for at in rng.permutation(0x5000)[:3500]]
        known[0:0] = ["，", "。"]
    else:
        letters = np.array(list("etaoinshrdlucmfw"))
        known = ["".join(rng.choice(letters, 2 + size % 9)) + " " for size in range(20_000)]
    chances = 1 / np.arange(3, len(known) + 3)
    for start in range(0, count, 1000):
        words = rng.choice(len(known), (min(1000, count - start), LONG), p=chances / chances.sum())
        yield from ("".join(known[at] for at in row)[:LONG] for row in words)


def cut_texts(folder: Path, count: int) -> Iterator[str]:
    """Yield texts of `LONG` characters from the files of a folder."""
    files = (file.read_text(encoding="utf-8") for file in sorted(folder.rglob("*")) if file.is_file())
    parts = (text[at : at + LONG] for text in files for at in range(0, len(text) - LONG, LONG))
    yield from itertools.islice(parts, count)


def make_answers(texts: list[str], items: int) -> Answers:
    """Make items, each with the next `SHOWN` of the texts: in a ring, so one text stands at several."""
    passages = {Passage(f"d{at}", "", text): at for at, text in enumerate(texts)}
    step = max(len(texts) // items, 1)
    listed, whole = [], []
    for n in range(items):
        numbers = [(n * step + at) % len(texts) for at in range(SHOWN)]
        answer, question = texts[numbers[0]][:ANSWER], f"{n}: {texts[numbers[1]][:60]}"
        place = {"place": f"rgb/c/s/{n}/0/0", "id": str(n), "sample": 0}
        groups = {"benchmark": "rgb", "config": "c", "split": f"noise_{n % 5}"}
        shown = {"answers": [answer[:BEGINNING]], "values": [[float(n % 3 > 0), n / items]], "groups": groups}
        listed.append({**place, "question": question, **shown})
        ours = {"rest": answer[BEGINNING:], "failure": "", "reasons": {}, "verdicts": {}}
        ours["passages"] = [[number, round(1 / (at + 1), 4), at == 0] for at, number in enumerate(numbers)]
        whole.append({"rest": "", "history": [], "gold": [answer[:30]], "runs": [ours]})
    ends = {"sign": 1, "best": 1.0, "worst": 0.0}
    metrics = [{"name": f"m.{name}", "label": name, **ends} for name in ("accuracy", "rouge_l")]
    return Answers({"runs": ["r"], "metrics": metrics, "items": listed}, whole, passages)


def time_page(browser: Any, file: Path, items: int, sought: str) -> dict[str, float]:
    """Open a page once and return how many milliseconds each of `LIMITS` took, and the first search of passages."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    started = time.perf_counter()
    page.goto(file.as_uri(), wait_until="commit")
    page.wait_for_selector("html[data-ready]")
    found = {"to open": (time.perf_counter() - started) * 1000}

    def timed(act: str) -> float:
        return float(page.evaluate(TIMED, act))

    found["filter"] = max(timed(FILTER % which) for which in ("wrong", "right", "all"))
    found["open an item"] = max(timed(OPEN % at) for at in (items // 7, items // 3, items - 1))
    page.check("#deep")
    page.evaluate("viewer.filter()")
    found["first search"] = timed(SEARCH % sought)
    found["search"] = max(timed(SEARCH % word) for word in (sought[:1], sought[1:], "nowhere"))
    page.close()
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--language", choices=("en", "zh"), default="zh")
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--passages", type=int, default=25_000)
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    given = parser.parse_args()
    drawn = cut_texts(given.texts, given.passages) if given.texts else draw_texts(given.language, given.passages)
    answers = make_answers(list(drawn), given.items)
    sought = list(answers.passages)[1].text[100:103]
    started = time.perf_counter()
    text = render_page("benchmark", [], [], blocks=pack_answers(answers))
    packed = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder, "page.html")
        file.write_text(text, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=given.chromium, args=["--no-sandbox"])
        rounds = [time_page(browser, file, given.items, sought) for _ in range(given.rounds)]
        size = file.stat().st_size / 1e6
    print(f"{given.items:,} items, {len(answers.passages):,} passages: {size:.1f} MB, packed in {packed:.1f} s\n")
    print("| what | ms | at most |\n|---|---|---|")
    for name in rounds[0]:
        print(f"| {name} | {statistics.median(one[name] for one in rounds):.0f} | {LIMITS.get(name, '')} |")


if __name__ == "__main__":
    main()
