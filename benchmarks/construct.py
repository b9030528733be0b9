"""What `quadrag construct` lets through, and how long it takes, on real documents of CRUD-RAG.

`made`: a hundred items of each recipe, made by rule, held against their passages by code that shares nothing with the
recipes' own checks. `faults`: a scripted model that is right but for one fault, put into every reply; shown is the
share of the items, kept without the fault, that are not kept with it. `scale`: documents read, cleared of personal data
and of copies, indexed and classified, with a scripted server.

    python benchmarks/construct.py made|faults|scale --data-dir REAL/CRUD_RAG
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice, pairwise, takewhile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "servers")]
RECIPES = ("rgb", "crud_rag", "omnieval")
SIZES = (1250, 2500, 5000, 10_000)
OTHER = "某地当天举行了一场有四百余人参加的活动，现场秩序良好。"
Made = dict[str, Any]


def write_documents(data: Path, folder: Path, n: int) -> Path:
    """Write documents of all parts of the corpus, equally many of each, as JSON Lines."""
    parts = sorted((data / "data/80000_docs").glob("documents_dup_part_*"))
    texts = [line for part in parts for line in islice(part.open(encoding="utf-8"), math.ceil(n / len(parts)))][:n]
    if len(texts) < n:
        raise SystemExit(f"only {len(texts)} documents; expected {n}")
    folder.mkdir()
    lines = (json.dumps({"id": at, "text": text}, ensure_ascii=False) for at, text in enumerate(texts))
    (folder / "news.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


def construct(*arguments: Any) -> None:
    from quadrag import cli

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        if cli.main(["construct", *map(str, arguments)]):
            raise SystemExit(said.getvalue())


def items(recipe: str, out: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield question, answers, passages of each item that has an answer of its own."""
    if recipe == "rgb":
        for line in map(json.loads, (out / "zh_refine.json").read_text(encoding="utf-8").splitlines()):
            yield line["query"], line["answer"][0], line["positive"]
    elif recipe == "crud_rag":
        found = json.loads((out / "data/crud_split/split_merged.json").read_text(encoding="utf-8"))
        for name in ("questanswer_1doc", "questanswer_2docs", "questanswer_3docs"):
            for row in found.get(name, ()):
                yield row["questions"], row["answers"].split("；"), [row[key] for key in row if key.startswith("news")]
    else:
        for path in sorted(out.glob("gen_datas*/*.jsonl")):
            for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
                for one in line if isinstance(line, list) else [line]:
                    answers = one["answer"] if isinstance(one["answer"], list) else [one["answer"]]
                    yield (
                        one["question"],
                        [part for text in answers for part in text.split("；")],
                        one["relevant_passage"],
                    )


def made(data: Path, scratch: Path) -> None:
    documents = write_documents(data, scratch / "in", 600)
    print("recipe      items  answer in passage  question unique  question in Chinese")
    for recipe in RECIPES:
        construct(recipe, "--documents", documents, "--out", scratch / recipe)
        all_items = list(items(recipe, scratch / recipe))
        drawn = random.Random(18).sample(all_items, 100)
        asked = [question for question, _, _ in all_items]
        inside = sum(
            all(any(answer in text for text in passages) for answer in answers) for _, answers, passages in drawn
        )
        unique = sum(asked.count(question) == 1 for question, _, _ in drawn)
        chinese = sum(len(re.findall("[\u4e00-\u9fff]", one)) > len(re.findall("[A-Za-z]", one)) for one, _, _ in drawn)
        print(f"{recipe:11}{len(all_items):>6}{inside:>19}{unique:>17}{chinese:>21}")


def spoil(one: Made, fault: str) -> Made:
    """Put a fault into a made item, whichever recipe's."""
    passage = next(key for key in ("passage", "passages", "relevant_passage") if key in one)
    answer = one["answer"] if isinstance(one["answer"], str) else one["answer"][0]
    texts = one[passage] if isinstance(one[passage], list) else [one[passage]]

    def as_before(text: str, key: str) -> Any:
        return text if isinstance(one[key], str) else [text]

    changes: dict[str, Callable[[], Made]] = {
        "answer from nowhere": lambda: {"answer": as_before("月球背面一九〇七号", "answer")},
        "number not in the source": lambda: {"answer": as_before("98765432 万吨", "answer")},
        "answer: yes": lambda: {"answer": as_before("是", "answer")},
        "answer: none": lambda: {"answer": as_before("未提及", "answer")},
        "answer in the question": lambda: {"question": f"{one['question']}是不是{answer}？"},
        "question in English": lambda: {"question": "Which figure did the officials give for it in the next year?"},
        "points at the document": lambda: {"question": f"根据本文，{one['question']}"},
        "same question again": lambda: {"question": "当天参加活动的一共有多少人，现场的情况如何？"},
        "no passage": lambda: {passage: [] if isinstance(one[passage], list) else ""},
        "passage altered": lambda: {passage: as_before(texts[0][:8] + "并且" + texts[0][8:], passage)},
        "passage of another": lambda: {passage: as_before(OTHER, passage)},
    }
    return {**one, **changes.get(fault, dict)()}


FAULTS = (
    "answer from nowhere",
    "number not in the source",
    "answer: yes",
    "answer: none",
    "answer in the question",
    "question in English",
    "points at the document",
    "same question again",
    "no passage",
    "passage altered",
    "passage of another",
    "half of the JSON",
    "false answer is true",
)


def scripted(fault: str) -> Callable[[dict[str, Any]], str]:
    """Return a model that is right but for a fault, and that knows by heart what it once asked."""
    from chat_server import asked_of
    from maker_model import make_sound

    known: dict[str, str] = {}

    def is_item(found: Any) -> bool:
        return isinstance(found, dict) and bool({"passage", "passages", "relevant_passage"} & found.keys())

    def reply(body: dict[str, Any]) -> str:
        asked = asked_of(body)
        if '"corrected_result"' in asked:
            return '{"evaluation": 2, "corrected_result": null}'
        if '{"answer": null}' in asked:
            question = asked.rpartition("问题：")[2].strip()
            return json.dumps({"answer": known.get(question)}, ensure_ascii=False)
        if '"fake"' in asked:
            true = asked.rpartition("正确答案：")[2].strip()
            return json.dumps({"fake": true if fault == "false answer is true" else "第九十七号"}, ensure_ascii=False)
        found = make_sound(asked, 1)
        sound = found if isinstance(found, list) else [found]
        if any(map(is_item, sound)):
            changed = [spoil(one, fault) for one in sound if is_item(one)]
            known.update((one["question"], one["answer"][0]) for one in changed)
            text = json.dumps(changed if isinstance(found, list) else changed[0], ensure_ascii=False)
            return text[: len(text) // 2] if fault == "half of the JSON" else text
        return json.dumps(found, ensure_ascii=False)

    return reply


def faults(data: Path, scratch: Path) -> None:
    from chat_server import ChatServer

    documents = write_documents(data, scratch / "in", 60)
    topics = scratch / "topics.yaml"
    topics.write_text("新闻: [城市, 交通, 经济]", encoding="utf-8")

    def kept(recipe: str, fault: str) -> int:
        """Count the items of the task that the fault is put into; of a false answer, the counterfactual ones."""
        out = Path(tempfile.mkdtemp(dir=scratch)) / "out"
        with ChatServer(text=scripted(fault)) as server:
            line = [recipe, "--documents", documents, "--out", out, "--llm", f"{server.url}#m"]
            line += ["--topics", topics] if recipe == "omnieval" else []
            # Where nothing is left, that is the result; what else goes wrong is told.
            try:
                construct(*line, "--ledger", out.parent / "ledger.sqlite")
            except SystemExit as stop:
                if "no question came of" not in str(stop):
                    raise
        splits = json.loads((out / "construct.json").read_text(encoding="utf-8"))["splits"]
        name = {"rgb": "negative_rejection_zh/test", "crud_rag": "qa_1doc/test"}.get(recipe)
        if fault == "false answer is true" or fault == "counterfactual":
            name = "counterfactual_robustness_zh/test"
        if name:
            return int(splits.get(name, 0))
        return sum(n for split, n in splits.items() if split.startswith("extractive_qa/"))

    whole = {recipe: kept(recipe, "") for recipe in RECIPES}
    false = kept("rgb", "counterfactual")
    print(f"items without a fault: {whole}; counterfactual {false}")
    for fault in FAULTS:
        if fault == "false answer is true":
            shares = [f"{1 - kept('rgb', fault) / false:.0%}", "-", "-"]
        else:
            shares = [f"{1 - kept(recipe, fault) / whole[recipe]:.0%}" for recipe in RECIPES]
        print(f"{fault:28}" + "".join(f"{share:>10}" for share in shares), flush=True)


def once(documents: Path, url: str) -> None:
    """Bring documents to nodes with topics; print what each part took, and the memory."""
    from quadrag.baselines.construct.construct import clean
    from quadrag.baselines.construct.documents import read_documents
    from quadrag.baselines.construct.recipe import Given, load
    from quadrag.baselines.construct.steps import Maker, run_steps
    from quadrag.chat.client import ChatClient

    recipe, clock = load("omnieval"), [time.perf_counter()]
    rows = read_documents(documents)
    clock.append(time.perf_counter())
    with ChatClient(f"{url}#m", parameters={"max_tokens": 64}, concurrency=64) as client:
        maker, stages = Maker(client), documents.parent / f"stages{len(rows)}"
        corpus, _ = run_steps(clean(recipe), rows, maker, stages)
        clock.append(time.perf_counter())
        given = Given(corpus, maker, topics=documents.parent / "topics.yaml")
        steps = list(takewhile(lambda step: step.name != "prune", recipe.steps(given)))
        clock.append(time.perf_counter())
        left, _ = run_steps(steps, corpus, maker, stages, first=4)
        clock.append(time.perf_counter())
    took = [after - before for before, after in pairwise(clock)]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"n": len(rows), "corpus": len(corpus), "of a topic": len(left), "took": took, "MiB": memory}))


def scale(data: Path, scratch: Path) -> None:
    from chat_server import ChatServer

    (scratch / "topics.yaml").write_text("新闻: [城市, 交通, 经济]", encoding="utf-8")
    print(" documents   kept   read  clean  index  classify  seconds     MiB")
    totals = []
    with ChatServer(text='{"topic_id": 1}') as server:
        for n in SIZES:
            documents = write_documents(data, scratch / f"in{n}", n)
            line = [sys.executable, __file__, "once", "--documents", str(documents), "--url", server.url]
            found = json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
            totals.append(sum(found["took"]))
            took = "".join(f"{one:>7.1f}" for one in found["took"])
            print(f"{n:>10}{found['corpus']:>7}{took}{totals[-1]:>12.1f}{found['MiB']:>8.0f}", flush=True)
    slope = math.log(totals[-1] / totals[0]) / math.log(SIZES[-1] / SIZES[0])
    print(f"exponent {slope:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["made", "faults", "scale", "once"])
    parser.add_argument("--data-dir", type=Path, help="root of a CRUD-RAG checkout")
    parser.add_argument("--documents", type=Path, help="of `once`, which `scale` calls")
    parser.add_argument("--url", help="likewise")
    options = parser.parse_args()
    if options.what == "once":
        once(options.documents, options.url)
        return
    with tempfile.TemporaryDirectory() as scratch:
        {"made": made, "faults": faults, "scale": scale}[options.what](options.data_dir, Path(scratch))


if __name__ == "__main__":
    main()
