"""What is counted of CRAG's data: questions by domain, how fast their facts change, type and popularity; lengths."""

from ..statistics.record import Counts, Row, Source, Statistics, cross_counts

NAME = "crag"
_DOMAINS = ("finance", "sports", "music", "movie", "open")
_DYNAMISM = ("real-time", "fast-changing", "slow-changing", "static")
_TYPES = (
    *("simple", "simple_w_condition", "set", "comparison", "aggregation", "multi-hop", "post-processing"),
    "false_premise",
)
_POPULARITY = ("head", "torso", "tail", "web")
_UNTOLD = "not told"  # by release v4, the example file, and the paper of its parts


def _table(title: str, column: str, labels: tuple[str, ...], number: str, key: str) -> Counts:
    return Counts(
        title=title,
        line=lambda row: row[column] or _UNTOLD,
        column=lambda row: row["domain"],
        lines={label: label for label in labels},
        columns={domain: domain for domain in _DOMAINS},
        printed=cross_counts(NAME, number, key, "domain"),
        shares=True,
    )


def _answers(row: Row) -> list[str | None]:
    return [row["answer"], *row["alternatives"]]


def _snippets(row: Row) -> list[str]:
    return [page["page_snippet"] for page in row.get("search_results", ())]


def _pages(row: Row) -> list[str]:
    return list(row.get("page_result", ()))


STATISTICS = Statistics(
    sources=(
        Source(
            configs=("task_1_2", "task_3", "qa"),
            texts={
                "question": lambda row: [row["query"]],
                "answer": _answers,
                "snippet": _snippets,
                "page (HTML)": _pages,
            },
            counts=(
                _table("Table 3. How fast facts change, by domain", "static_or_dynamic", _DYNAMISM, "3", "dynamism"),
                _table("Table 4. Question types by domain", "question_type", _TYPES, "4", "question_type"),
                _table("Popularity by domain", "popularity", _POPULARITY, "text", "popularity"),
            ),
        ),
    )
)
