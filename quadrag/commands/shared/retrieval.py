"""How passages are found: the arguments, with what each benchmark has as its own."""

from typing import Any

from quadrag.commands.shared import options


def add_arguments(group: Any) -> None:
    """Add the arguments."""
    group.add_argument(
        "--retriever",
        metavar="R",
        help=options.of_benchmarks(lambda one: ", ".join(_retrievers(one))),
    )
    group.add_argument("--tokenizer", metavar="T", help="terms of BM25: unigram (default), jieba, rjieba")
    group.add_argument(
        "--embedding",
        metavar="M",
        help="sentence-transformers model: preset, name or folder; also in place of a recipe's, and tables say so",
    )
    group.add_argument(
        "--instruction",
        choices=("queries", "both"),
        help="the embedding's instruction: before queries (default), or both, as OmniEval's authors ran theirs",
    )
    group.add_argument("--reranker", metavar="M", help="cross-encoder of hybrid-rerank: preset, name or folder")
    group.add_argument(
        "--index", metavar="I", help="faiss, or milvus:URI, a file or an address (default: exact search here)"
    )
    group.add_argument(
        "--chunk-size",
        metavar="N",
        type=options.whole(1),
        help=f"characters ({options.of_benchmarks(lambda one: _chunk_size(one) if one.corpus else '')})",
    )
    group.add_argument(
        "--chunk-overlap", metavar="P", type=options.whole(0), help="percent of a chunk, 0 to 90 (default: 0)"
    )
    group.add_argument(
        "--chunk-tokenizer", metavar="T", help="count sizes in tokens of this tokenizer: cl100k_base, file or name"
    )
    group.add_argument(
        "--chunk-source",
        choices=("documents", "files"),
        help="crud_rag: cut each article (default), or whole files of them, as its authors did",
    )
    group.add_argument(
        "--top-k",
        metavar="K",
        type=options.whole(1),
        help=f"passages shown ({options.of_benchmarks(lambda one: str(one.retrieval.top_k) if one.corpus else '')})",
    )


def _chunk_size(benchmark: Any) -> str:
    from quadrag.baselines.core.spec import WHOLE

    size = benchmark.retrieval.chunk_size
    return "whole" if size == WHOLE else str(size)


def _retrievers(benchmark: Any) -> list[str]:
    """Name a benchmark's retrievers with a word on each, the default first."""
    words = {name: [one.help] if one.help else [] for name, one in benchmark.retrievers.items()}
    words[benchmark.default_retriever].insert(0, "default")
    return [f"{name} ({', '.join(said)})" if said else name for name, said in words.items()]
