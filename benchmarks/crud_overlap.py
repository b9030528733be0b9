"""Time of `crud_overlap` for a pair of texts, beside the ways in which BLEU and ROUGE-L are usually had of `evaluate`.

The pairs are CRUD-RAG's 900 real summaries, each with the beginning of its article, as long as the summary, for an
answer. Peers, all over jieba's tokens, one pair after the other: a BLEU and a ROUGE module loaded and called for each
pair, as code around `evaluate` often does and the authors' does; the same modules loaded once; `crud_overlap` itself
loaded and called for each pair; sacrebleu and rouge_score called directly, each text cut once. `evaluate`'s own two
modules are not in its package: where `--modules` names no folder with `bleu` and `rouge`, stand-ins are used that do
the same work (n-grams counted in Python; rouge_score with the bootstrap over 1,000 samples that is that module's
default). Peers take the first `--pairs` pairs; their values must agree with ours; rounds are interleaved and medians
shown. It does not measure an embedding.

    python benchmarks/crud_overlap.py --data-dir REAL/CRUD_RAG
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Pairs = list[tuple[str, str]]
OURS = Path(__file__).parents[1] / "metrics" / "crud_overlap"
HEAD = """
from collections import Counter
from math import exp, log

import datasets
import evaluate
from rouge_score import rouge_scorer, scoring

TEXTS = datasets.Features({"predictions": datasets.Value("string"), "references": datasets.Value("string")})
INFO = evaluate.MetricInfo(description="", citation="", inputs_description="", features=TEXTS)


class Tokens:
    def __init__(self, cut):
        self.tokenize = cut

"""
BLEU = """
def grams(tokens):
    return Counter(tuple(tokens[i : i + n]) for n in range(1, 5) for i in range(len(tokens) - n + 1))


class Bleu(evaluate.Metric):
    def _info(self):
        return INFO

    def _compute(self, predictions, references, tokenizer):
        hits, all_ = [0] * 4, [0] * 4
        for prediction, reference in zip(predictions, references):
            found, wanted = tokenizer(prediction), tokenizer(reference)
            for gram, count in (grams(found) & grams(wanted)).items():
                hits[len(gram) - 1] += count
            all_ = [a + max(len(found) - n, 0) for n, a in enumerate(all_)]
        shares = [hit / a if a else 0.0 for hit, a in zip(hits, all_)]
        penalty = min(1.0, exp(1 - len(wanted) / len(found)))
        mean = exp(sum(map(log, shares)) / 4) if min(shares) > 0 else 0.0
        return {"bleu": mean * penalty, "precisions": shares, "brevity_penalty": penalty}
"""
ROUGE = """
class Rouge(evaluate.Metric):
    def _info(self):
        return INFO

    def _compute(self, predictions, references, rouge_types, tokenizer):
        scorer = rouge_scorer.RougeScorer(rouge_types, tokenizer=Tokens(tokenizer))
        bootstrap = scoring.BootstrapAggregator()
        for prediction, reference in zip(predictions, references):
            bootstrap.add_scores(scorer.score(reference, prediction))
        return {name: score.mid.fmeasure for name, score in bootstrap.aggregate().items()}
"""


def stand_ins(folder: Path) -> Path:
    """Write the two modules."""
    for name, body in (("bleu", BLEU), ("rouge", ROUGE)):
        (folder / name).mkdir(parents=True)
        (folder / name / f"{name}.py").write_text(HEAD + body, encoding="utf-8")
    return folder


def modules(pairs: Pairs, folder: Path, cut: Callable[[str], list[str]], once: bool) -> list[tuple[float, float]]:
    """Return BLEU without its penalty and ROUGE-L of each pair, by two modules loaded once or for each pair."""
    import evaluate

    loaded: dict[str, Any] = {}

    def load(name: str) -> Any:
        if not once:
            return evaluate.load(str(folder / name))
        return loaded.setdefault(name, loaded.get(name) or evaluate.load(str(folder / name)))

    values = []
    for prediction, reference in pairs:
        given = {"predictions": [prediction], "references": [reference], "tokenizer": cut}
        bleu = load("bleu").compute(**given)
        rouge = load("rouge").compute(**given, rouge_types=["rougeL"])
        values.append((bleu["bleu"] / bleu["brevity_penalty"], float(rouge["rougeL"])))
    return values


def libraries(pairs: Pairs, cut: Callable[[str], list[str]]) -> None:
    """Ask sacrebleu and rouge_score for each pair, its texts cut once."""
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.metrics import BLEU as Sacrebleu

    class Given:
        def tokenize(self, tokens: list[str]) -> list[str]:
            return tokens

    bleu = Sacrebleu(tokenize="none", smooth_method="none", force=True)
    rouge = RougeScorer(["rougeL"], tokenizer=Given())
    for pair in pairs:
        prediction, reference = map(cut, pair)
        bleu.corpus_score([" ".join(prediction)], [[" ".join(reference)]])
        rouge.score(reference, prediction)


def ours(pairs: Pairs) -> list[tuple[float, float]]:
    """Return BLEU without its penalty and ROUGE-L of each pair, in one call."""
    import evaluate

    predictions, references = map(list, zip(*pairs, strict=True))
    result = evaluate.load(str(OURS)).compute(predictions=predictions, references=references)
    return [(row["bleu"], row["rouge_l"]) for row in result["per_item"]]


def own_words() -> Any:
    """Return this module's file that cuts texts, as evaluate has loaded it."""
    import evaluate

    return sys.modules[type(evaluate.load(str(OURS))).__module__.rpartition(".")[0] + ".words"]


def ours_each(pairs: Pairs) -> None:
    """Load this module and call it for each pair."""
    for pair in pairs:
        ours([pair])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True, help="root of a CRUD-RAG checkout")
    parser.add_argument("--pairs", type=int, default=150, help="pairs that the peers are given")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--modules", type=Path, help="the folder metrics/ of a checkout of evaluate")
    options = parser.parse_args()
    rows = json.loads((options.data_dir / "data/crud_split/split_merged.json").read_text(encoding="utf-8"))
    pairs = [(row["text"][: len(row["summary"])], row["summary"]) for row in rows["event_summary"]]
    with tempfile.TemporaryDirectory() as scratch:
        # Before evaluate is imported, which reads them then.
        os.environ.update(HF_HOME=scratch, HF_MODULES_CACHE=f"{scratch}/m", HF_EVALUATE_CACHE=f"{scratch}/e")
        os.environ.update(HF_HUB_OFFLINE="1", HF_EVALUATE_OFFLINE="1")
        import jieba

        jieba.setLogLevel(60)
        jieba.initialize()

        def cut(text: str) -> list[str]:
            return list(jieba.cut(text))

        started = time.perf_counter()
        ours(pairs[:1])
        cold = time.perf_counter() - started
        own_cut = own_words().cut
        folder = options.modules or stand_ins(Path(scratch) / "stand_ins")
        few = pairs[: options.pairs]
        assert len(few) > 1
        for a, b in zip(ours(few), modules(few, folder, cut, once=False), strict=True):
            assert max(abs(x - y) for x, y in zip(a, b, strict=True)) < 1e-9, (a, b)
        runs: dict[str, tuple[int, Callable[[], Any]]] = {
            "crud_overlap, one call": (len(pairs), lambda: ours(pairs)),
            "two modules, loaded per pair": (len(few), lambda: modules(few, folder, cut, once=False)),
            "two modules, loaded once": (len(few), lambda: modules(few, folder, cut, once=True)),
            "crud_overlap, loaded per pair": (len(few), lambda: ours_each(few)),
            "sacrebleu and rouge_score": (len(few), lambda: libraries(few, cut)),
            "jieba alone": (len(pairs), lambda: [cut(text) for pair in pairs for text in pair]),
            "crud_overlap's cutter alone": (len(pairs), lambda: [own_cut(text) for pair in pairs for text in pair]),
        }
        times: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(options.rounds):
            for name, (n, run) in runs.items():
                started = time.perf_counter()
                run()
                times[name].append((time.perf_counter() - started) / n * 1000)
    characters = statistics.mean(len(text) for pair in pairs for text in pair)
    print(f"{len(pairs)} pairs of {characters:.0f} characters a text; peers {len(few)}; median of {options.rounds}")
    print(f"first call, module and dictionary loaded: {cold:.1f} s")
    base = statistics.median(times["crud_overlap, one call"])
    print(f"{'ms per pair':<34}{'median':>9}{'to ours':>9}   rounds")
    for name, found in times.items():
        median = statistics.median(found)
        print(f"{name:<34}{median:>9.2f}{median / base:>9.2f}   {' '.join(f'{ms:.2f}' for ms in found)}")


if __name__ == "__main__":
    main()
