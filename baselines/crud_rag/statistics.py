"""What is counted of CRUD-RAG's data: rows of its tasks and of the corpus beside Table 2, and lengths."""

from ..statistics.record import Printed, Source, Statistics, read_counts

NAME = "crud_rag"
_TASKS = ("continuation", "qa_1doc", "qa_2doc", "qa_3doc", "hallucination", "summary")
_TABLE = "2"
_CORPUS = ("corpus", "corpus")


def _printed() -> dict[tuple[str, str], Printed]:
    named = {"retrieval_database": _CORPUS}
    rows = read_counts(NAME, _TABLE)
    return {named.get(row["task"], (row["task"], row["split"])): Printed(_TABLE, int(row["value"])) for row in rows}


STATISTICS = Statistics(
    sources=(
        *(
            Source(
                configs=(task,),
                texts={
                    "query": lambda row: [row["query"]],
                    "reference": lambda row: [row["reference"]],
                    "gold document": lambda row: row["documents"],
                },
            )
            for task in _TASKS
        ),
        Source(configs=(_CORPUS[0],), texts={"document": lambda row: [row["body"]]}),
        Source(
            configs=("ragquesteval",),
            texts={"question": lambda row: row["questions"], "answer": lambda row: row["answers"]},
        ),
    ),
    printed=_printed(),
)
