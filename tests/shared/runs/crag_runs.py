"""What the tests of CRAG's runs read and write: the sample's questions, stage files, private rows, verdicts."""

import json
from pathlib import Path

import yaml

from quadrag.baselines.crag import benchmark as crag
from quadrag.data.builders import open_builder
from quadrag.records import read_jsonl

YES, NO = '{"score": 1, "explanation": "same"}', '{"score": 0, "explanation": "other"}'
SAMPLE = ("--data-dir", "sample", "--split", "public")
EXAMPLES = yaml.safe_load((Path(__file__).parents[2] / "baselines/crag/examples.yaml").read_text(encoding="utf-8"))


def questions(config="task_1_2"):
    builder, _ = open_builder("crag", config, "sample", None, "public")
    return {question.id: question for question in crag.questions(builder, "public", {})}


def scores(folder="a"):
    return {
        (row["slice"], row["key"], row["profile"]): row
        for row in json.loads(Path(folder, "scores.json").read_text(encoding="utf-8"))
    }


def lines(name, folder="a"):
    return [row for _, row in read_jsonl(Path(folder, name))]


MODEL = """
class UserModel:
    def get_batch_size(self):
        return 4

    def batch_generate_answer(self, batch):
        assert set(batch) == {"interaction_id", "query", "query_time", "search_results"}, sorted(batch)
        print("a batch of", len(batch["query"]))
        pages = [pages[0]["page_result"][:6] for pages in batch["search_results"]]
        return [f"{query} {page}" for query, page in zip(batch["query"], pages)]
"""


def private(path, *rows, snippet="s"):
    page = {"page_name": "p", "page_url": "u", "page_snippet": snippet, "page_last_modified": ""}
    for number, (answer, html) in enumerate(rows):
        row = {
            "interaction_id": f"q{number}",
            "query_time": "03/01/2024, 10:00:00 PT",
            "domain": "open",
            "question_type": "simple",
            "static_or_dynamic": "static",
            "query": f"question {number}?",
            "answer": answer,
            "split": 2,
            "popularity": "",
            "search_results": [{**page, "page_result": html}],
        }
        with Path(path).open("a") as file:
            file.write(json.dumps(row) + "\n")
    return ("run", "crag", "task_1_2", "--split", "private", "--option", f"private_file={path}")
