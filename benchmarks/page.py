"""The page of many answers in a browser: how large it is, and how long a person waits for it.

Run: python benchmarks/page.py [--language zh] [--items 10000] [--passages 25000] [--texts FOLDER] [--rounds 5]
     python benchmarks/page.py --run FOLDER --items 100000

Passages have 600 characters, five stand at an item. They are drawn by Zipf's law, single characters of Chinese or words
of English, so they repeat nothing and are harder to pack than a language; with `--texts` they are cut from the files of
a folder. Each time is the median of rounds in a page that was just opened; `to open` is from the request to the list.

With `--run` so many items are a real run of RGB in that folder, made where it is not there yet, and its page says what
of them it leaves out.
"""

import argparse
import itertools
import json
import re
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

import quadrag.cli
from quadrag.baselines.page.answers import BEGINNING, MOST, Answers
from quadrag.baselines.page.packed import pack_answers
from quadrag.baselines.page.page import write_page
from quadrag.baselines.page.render import render_page
from quadrag.baselines.report.all import tabulate_all
from quadrag.baselines.runs.finished import read_runs
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
        values = [[float(n % 3 > 0), n / items]]
        shown = {"answers": [answer[:BEGINNING]], "failed": [""], "values": values, "groups": groups}
        listed.append({**place, "question": question, **shown})
        ours = {"rest": answer[BEGINNING:], "reasons": {}, "verdicts": {}}
        ours["passages"] = [[number, round(1 / (at + 1), 4), at == 0] for at, number in enumerate(numbers)]
        whole.append({"rest": "", "history": [], "gold": [answer[:30]], "runs": [ours]})
    ends = {"sign": 1, "best": 1.0, "worst": 0.0}
    metrics = [{"name": f"m.{name}", "label": name, **ends} for name in ("accuracy", "rouge_l")]
    return Answers({"runs": ["r"], "metrics": metrics, "items": listed}, whole, passages)


def make_run(folder: Path, items: int, texts: Iterator[str]) -> None:
    """Answer so many questions of RGB, a fifth of them under each noise, whose passages are the texts."""
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    with (data / "en_refine.json").open("w", encoding="utf-8") as file:
        for n in range(items // SHOWN):
            positive, negative = ([next(texts) for _ in range(SHOWN)] for _ in range(2))
            row = {"id": n, "query": f"{n}: {positive[0][:60]}?", "answer": [positive[0][5:10]]}
            file.write(json.dumps(row | {"positive": positive, "negative": negative}) + "\n")
    command = ["run", "rgb", "noise_robustness_en", "--data-dir", str(folder / "data"), "--out", str(folder / "run")]
    quadrag.cli.main(command)


def write_run(folder: Path, file: Path) -> list[str]:
    """Write the page of a run, and return what it tells of what is left out."""
    runs = read_runs([folder / "run"])
    write_page(file, runs, tabulate_all(runs))
    return re.findall("<p[^>]*>(The first .*?)</p>", file.read_text(encoding="utf-8"))


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
    parser.add_argument("--run", type=Path)
    given = parser.parse_args()
    drawn = cut_texts(given.texts, given.passages) if given.texts else draw_texts(given.language, given.passages)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder, "page.html")
        if given.run:
            if not (given.run / "run" / "scores.json").exists():
                make_run(given.run, given.items, itertools.cycle(drawn))
                started = time.perf_counter()
            said, items, sought = write_run(given.run, file), MOST, "the"
        else:
            answers = make_answers(list(drawn), given.items)
            said, items, sought = [], given.items, list(answers.passages)[1].text[100:103]
            started = time.perf_counter()
            file.write_text(render_page("benchmark", [], [], blocks=pack_answers(answers)), encoding="utf-8")
        built = time.perf_counter() - started
        browser = playwright.chromium.launch(executable_path=given.chromium, args=["--no-sandbox"])
        rounds = [time_page(browser, file, items, sought) for _ in range(given.rounds)]
        size = file.stat().st_size / 1e6
    print(f"{given.items:,} items, {given.passages:,} passages: {size:.1f} MB, built in {built:.1f} s\n", *said)
    print("| what | ms | at most |\n|---|---|---|")
    for name in rounds[0]:
        print(f"| {name} | {statistics.median(one[name] for one in rounds):.0f} | {LIMITS.get(name, '')} |")


if __name__ == "__main__":
    main()
