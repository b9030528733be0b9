"""CRAG's recipe (Yang et al. 2024, sections 2 and 3, appendix A.1): questions from templates over a table.

What a template asks about is drawn equally from head, torso and tail of popularity, the answer is computed, and what is
not crisp is let go. Pages are one's own documents, found with the question. No model has a part in it.

The paper's people write further questions from the web, which is not done here. Popularity is cut into thirds by rank;
the paper says top, middle and bottom. The pages of task 1 and 2 are five of the best ten, drawn, as in the challenge.
"""

import bz2
import html
import tarfile
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from quadrag.construct.recipe import Given, Recipe
from quadrag.construct.search import Corpus
from quadrag.construct.steps import Drop, Each, Row, Step, Whole
from quadrag.errors import QuadragError
from quadrag.records import Passage, dumps
from quadrag.scratch import scratch
from quadrag.systems.extractive import best_sentence

from .answers import BUCKETS, Group, Sheet, ask
from .table import read_table
from .templates import Template, read_templates

PAGES, BEST, SHOWN = 50, 10, 5  # of task 3; of these the first ones, of which those of tasks 1 and 2 are drawn
SNIPPET = 300  # characters
LEAST, MOST = 50, 200_000  # of a document
_SPLITS = ("validation", "public")  # upstream numbers them 0 and 1
TASK_1_2 = "data/crag_task_1_and_2_dev_v5.jsonl.bz2"
TASK_3 = "data/crag_task_3_dev_v5.tar.bz2"  # its parts joined


def begin(given: Given) -> list[Row]:
    """Read table and templates; a row is a template, with the table that it is over."""
    if given.table is None or given.templates is None:
        raise QuadragError("crag is made of a table; give --table FILE and --templates FILE")
    templates = read_templates(given.templates)
    sheet = Sheet(templates, read_table(given.table, templates.kinds))
    return [
        {"id": template.id, "number": number, "template": template, "sheet": sheet}
        for number, template in enumerate(templates.templates)
    ]


def steps(given: Given) -> Sequence[Step]:
    """Return the steps; see the module."""
    if not given.corpus:
        raise QuadragError(f"no document can be a page; expected English of {LEAST} to {MOST:,} characters")
    corpus = Corpus(given.corpus)
    return [
        Each("questions", lambda row: _questions(row, given)),
        Whole("duplicates", _without_duplicates),
        Each("pages", lambda row: _pages(row, corpus, given)),
    ]


def _questions(row: Row, given: Given) -> list[Row]:
    template, sheet = row["template"], row["sheet"]
    found: dict[str, list[Row]] = {bucket: [] for bucket in BUCKETS}
    dropped: list[Row] = []
    for bucket, groups in sheet.buckets(template).items():
        given.draw(f"{template.id}:{bucket}").shuffle(groups)
        for drawn in _drawn(template, groups):
            if len(found[bucket]) == sheet.templates.each:
                break
            try:
                found[bucket].append(_row(template, sheet, bucket, drawn))
            except Drop as why:
                dropped.append({"id": template.id, "dropped": str(why)})
    least = min(map(len, found.values()))
    dropped += [
        {"id": one["id"], "dropped": "too few in another third of popularity"}
        for rows in found.values()
        for one in rows[least:]
    ]
    if not least and not dropped:
        raise Drop("nothing to ask about")
    # One of each third together, now to this split and now to that.
    kept = [{**found[bucket][at], "split": (at + row["number"]) % 2} for at in range(least) for bucket in BUCKETS]
    return [*kept, *dropped]


def _drawn(template: Template, groups: Sequence[Group]) -> Iterator[tuple[Group, ...]]:
    """Return what a question is about: a group, or two that nothing else is asked about with this template."""
    return zip(groups[::2], groups[1::2]) if template.takes_two else ((group,) for group in groups)  # noqa: B905


def _row(template: Template, sheet: Sheet, bucket: str, drawn: Sequence[Group]) -> Row:
    answer, *others = sheet.answer(template, drawn)
    query = ask(template, drawn)
    return {
        "id": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{sheet.templates.query_time}: {query}")),
        "template": template.id,
        "type": template.type,
        "domain": sheet.templates.domain,
        "query_time": sheet.templates.query_time,
        "dynamism": sheet.dynamism(template),
        "popularity": bucket,
        "query": query,
        "answer": answer,
        "alternatives": others,
    }


def _without_duplicates(rows: list[Row]) -> tuple[list[Row], list[tuple[Row, str]]]:
    first: dict[str, Row] = {}
    for row in rows:
        first.setdefault(row["id"], row)
    kept = list(first.values())
    return kept, [(row, "asked before") for row in rows if first[row["id"]] is not row]


def _pages(row: Row, corpus: Corpus, given: Given) -> list[Row]:
    pages = []
    for document, passage in corpus.find(row["query"], PAGES):
        shown = best_sentence(row["query"], [Passage("", "", passage.text)], "en")
        pages.append({"document": document["id"], "snippet": shown[:SNIPPET]})
    places = range(min(BEST, len(pages)))
    drawn = sorted(given.draw(f"pages:{row['id']}").sample(places, min(SHOWN, len(places))))
    return [{**row, "pages": pages, "shown": drawn}]


def write(rows: Sequence[Row], given: Given, out: Path) -> dict[str, int]:
    """Write the questions with five pages and with fifty; see `Recipe.write`."""
    if not rows:
        return {}
    documents = {document["id"]: document for document in given.corpus}

    def lines(all_pages: bool) -> Iterator[Row]:
        for row in rows:
            pages = row["pages"] if all_pages else [row["pages"][place] for place in row["shown"]]
            yield _line(row, [_page(documents[page["document"]], page) for page in pages])

    write_files(out, lines(all_pages=False), lines(all_pages=True))
    return count_splits([row["split"] for row in rows])


def write_files(out: Path, shown: Iterable[Row], every: Iterable[Row]) -> None:
    """Write upstream's two files: the lines of tasks 1 and 2, and those of task 3, which have all pages."""
    with scratch(out / TASK_1_2) as part:
        with bz2.open(part, "wb") as packed:
            packed.writelines(f"{dumps(line)}\n".encode() for line in shown)
        part.replace(out / TASK_1_2)
    with scratch(out / TASK_3) as part, scratch(out / f"{TASK_3}.unpacked") as whole:
        with whole.open("wb") as file:
            file.writelines(f"{dumps(line)}\n".encode() for line in every)
        with whole.open("rb") as unpacked:
            _pack(unpacked, whole.stat().st_size, part)
        part.replace(out / TASK_3)


def count_splits(numbers: Sequence[int]) -> dict[str, int]:
    """Count the questions of each split of each config, from upstream's numbers of the splits."""
    counts = {split: numbers.count(number) for number, split in enumerate(_SPLITS)}
    configs = ("qa", "task_1_2", "task_3")
    return {f"{config}/{split}": n for config in configs for split, n in counts.items() if n}


def _pack(unpacked: BinaryIO, size: int, part: Path) -> None:
    name = Path(TASK_3).name.partition(".")[0]
    member = tarfile.TarInfo(f"{name}/{name}.jsonl")
    member.size = size
    with tarfile.open(part, "w:bz2", format=tarfile.GNU_FORMAT) as archive:
        archive.addfile(member, unpacked)


def _line(row: Row, pages: list[dict[str, str]]) -> dict[str, Any]:
    return {
        "interaction_id": row["id"],
        "query_time": row["query_time"],
        "domain": row["domain"],
        "question_type": row["type"],
        "static_or_dynamic": row["dynamism"],
        "query": row["query"],
        "answer": row["answer"],
        "alt_ans": row["alternatives"],
        "split": row["split"],
        "popularity": row["popularity"],
        "search_results": pages,
    }


def _page(document: Row, page: Row) -> dict[str, str]:
    """Return a document as a page, with upstream's fields; when it was last changed is not known."""
    title = document["title"] or document["id"]
    paragraphs = "\n".join(f"<p>{html.escape(line)}</p>" for line in document["text"].splitlines() if line.strip())
    head = f'<head>\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n</head>'
    return {
        "page_name": title,
        "page_url": f"document:{quote(document['id'], errors='replace')}",
        "page_snippet": page["snippet"],
        "page_result": f"<!DOCTYPE html>\n<html>\n{head}\n<body>\n{paragraphs}\n</body>\n</html>\n",
        "page_last_modified": "",
    }


RECIPE = Recipe(
    languages=("en",),
    least=LEAST,
    most=MOST,
    steps=steps,
    write=write,
    begin=begin,
    takes=("table", "templates"),
    by_rule="each answer computed from the table",
)
