"""CRAG's recipe (Yang et al. 2024, sections 2 and 3, appendix A.1): questions from templates over a table.

What a template asks about is drawn equally from head, torso and tail of popularity, the answer is computed, and what is
not crisp is let go. Pages are one's own documents, found with the question. No model has a part in it.

The paper's people write further questions from the web, which is not done here. Popularity is cut into thirds by rank;
the paper says top, middle and bottom. The pages of task 1 and 2 are five of the best ten, drawn, as in the challenge.
"""

import bz2
import html
import itertools
import tarfile
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from quadrag.construct.documents import Corpus
from quadrag.construct.recipe import (
    Item,
    Order,
    Recipe,
    Rejected,
    Row,
    Step,
    Value,
    check_question,
    load_prompts,
    reject,
    stands_in,
)
from quadrag.errors import QuadragError, parse_json
from quadrag.records import Passage, dumps, scratch
from quadrag.systems.extractive import best_sentence

from ..kg.clock import parse as parse_query_time
from .templates import (
    DYNAMISM,
    NAME,
    POPULARITY,
    Cell,
    Table,
    Template,
    Templates,
    Thing,
    read_table,
    read_templates,
    write_forms,
)

BUCKETS = ("head", "torso", "tail")
LARGEST = 10  # values of a set


class Group(NamedTuple):
    shown: Mapping[str, str]  # the values that they have in common, as a question shows them, by column
    things: Sequence[Thing]


class Sheet:
    def __init__(self, templates: Templates, table: Table) -> None:
        self.templates = templates
        self._table = table
        self._by_name = {kind: _group(things, (NAME,)) for kind, things in table.items()}
        self._today = parse_query_time(templates.query_time).date()

    def buckets(self, template: Template) -> dict[str, list[Group]]:
        """Part the groups that a template may ask about into three of equal size by popularity.

        That of a group is the sum of its things'; one with a thing of unknown popularity is in none of them.
        """
        groups = _group(self._table[template.of], template.given).values()
        known = [group for group in groups if all(thing[POPULARITY] for thing in group.things)]
        known.sort(
            key=lambda group: (-sum(thing[POPULARITY][0] for thing in group.things), tuple(group.shown.values()))
        )
        parts: dict[str, list[Group]] = {bucket: [] for bucket in BUCKETS}
        for place, group in enumerate(known):
            parts[BUCKETS[place * len(BUCKETS) // len(known)]].append(group)
        return parts

    def answer(self, template: Template, groups: Sequence[Group]) -> list[str]:
        """Compute every form of the answer about some groups, the one to show first; `Rejected` without a crisp one."""
        form = template.form
        if not (form.many and template.given != (NAME,)) and any(len(group.things) != 1 for group in groups):
            raise Rejected("several things of that description")
        things = [thing for group in groups for thing in group.things]
        if template.type == "false_premise":
            if things[0][template.column]:
                raise Rejected("the premise holds")
            return ["invalid question"]
        if template.type == "multi-hop":
            values, unit = self._follow(template, things[0])
        else:
            values = [value for thing in things for value in _values(thing, template.column, one=not form.many)]
            unit = self.templates.kinds[template.of].all_columns[template.column].unit
        if form.two and values[0] == values[1]:
            raise Rejected("a tie")
        if form.compute is None:
            better = groups[(values[0] < values[1]) == (template.wanted == "most")]
            return [better.shown[NAME]]
        if form.many:
            _check_many(template, values)
        forms = form.compute(values, unit, self._today)
        hidden = [] if template.type == "set" else list(forms)
        if template.type in ("set", "multi-hop"):
            hidden += [write_forms(value)[0] for value in values]
        asked = ask(template, groups)
        if any(stands_in(text, asked) for text in hidden):
            raise Rejected("the question gives the answer away")
        return forms

    def _follow(self, template: Template, thing: Thing) -> tuple[list[Any], str | None]:
        *links, last = self.templates.columns_along(template)
        values: list[Any] = []
        for name, column in zip(template.path, links, strict=False):
            values += _values(thing, name, one=True)
            group = self._by_name[str(column.link)].get((values[-1],))
            if group is None or len(group.things) != 1:
                raise Rejected("several things of that description" if group else f"no {column.link} of that name")
            thing = group.things[0]
        return [*values, *_values(thing, template.path[-1], one=True)], last.unit

    def dynamism(self, template: Template) -> str:
        """Return how fast the answer changes: as the template says, else as the fastest column that it rests on."""
        if template.dynamism is not None:
            return template.dynamism
        columns = self.templates.kinds[template.of].all_columns
        rests_on = [columns[name] for name in (*template.given, template.column)]
        rests_on += self.templates.columns_along(template)
        speeds: list[str] = [column.dynamism for column in rests_on]
        if template.compute == "years_since":
            speeds.append("slow-changing")
        return max(speeds, key=DYNAMISM.index)


def _group(things: Iterable[Thing], columns: Sequence[str]) -> dict[tuple[Cell, ...], Group]:
    by_values: dict[tuple[Cell, ...], list[Thing]] = {}
    for thing in things:
        for key in itertools.product(*(thing[column] for column in columns)):
            by_values.setdefault(key, []).append(thing)
    return {
        key: Group({name: write_forms(value)[0] for name, value in zip(columns, key, strict=True)}, same)
        for key, same in by_values.items()
    }


def ask(template: Template, groups: Sequence[Group]) -> str:
    slots = groups[0].shown
    if template.form.two:
        slots = {slot: group.shown[NAME] for slot, group in zip(("first", "second"), groups, strict=True)}
    return template.fill(slots)


def _values(thing: Thing, column: str, one: bool) -> Sequence[Any]:
    values = thing[column]
    if not values or (one and len(values) > 1):
        raise Rejected("several values" if values else "no value")
    return values


def _check_many(template: Template, values: list[Cell]) -> None:
    distinct = {*values}
    if template.type == "set" and not 2 <= len(distinct) <= LARGEST:
        raise Rejected(f"a set of fewer than 2 values or more than {LARGEST}")
    if len(values) < 2:
        raise Rejected("fewer than two values")
    if template.compute == "count" and template.column == NAME and len(distinct) < len(values):
        raise Rejected("several things of that description")


PAGES, BEST, SHOWN = 50, 10, 5  # of task 3; of these the first ones, of which those of tasks 1 and 2 are drawn
SNIPPET = 300  # characters
LEAST, MOST = 50, 200_000  # of a document
_SPLITS = ("validation", "public")  # upstream numbers them 0 and 1
# What a line of upstream's files holds, beside the id and the pages.
_KEYS = (
    *("query_time", "domain", "question_type", "static_or_dynamic"),
    *("query", "answer", "alt_ans", "split", "popularity"),
)
TASK_1_2 = "data/crag_task_1_and_2_dev_v5.jsonl.bz2"
TASK_3 = "data/crag_task_3_dev_v5.tar.bz2"  # its parts joined


def begin(order: Order) -> list[Row]:
    if order.table is None or order.templates is None:
        raise QuadragError("crag is made of a table; give --table FILE and --templates FILE")
    templates = read_templates(order.templates)
    sheet = Sheet(templates, read_table(order.table, templates.kinds))
    return [
        {"id": f"{number:02}-{template.type}", "number": number - 1, "template": template, "sheet": sheet}
        for number, template in enumerate(templates.templates, 1)
    ]


def steps(order: Order) -> Sequence[Step]:
    if not order.corpus:
        raise QuadragError(f"no document can be a page; expected English of {LEAST} to {MOST:,} characters")
    corpus = Corpus(order.corpus)
    return [
        Step("questions", lambda row: _questions(row, order)),
        Step("duplicates", _reject_duplicates, together=True),
        Step("pages", lambda row: _pages(row, corpus, order)),
    ]


def _questions(row: Row, order: Order) -> list[Row]:
    template, sheet = row["template"], row["sheet"]
    made: dict[str, list[Row]] = {bucket: [] for bucket in BUCKETS}
    dropped: list[Row] = []
    for bucket, groups in sheet.buckets(template).items():
        order.draw(f"{row['id']}:{bucket}").shuffle(groups)
        # A group, or two that nothing else is asked about with this template.
        about = zip(groups[::2], groups[1::2], strict=False) if template.form.two else zip(groups, strict=True)
        for drawn in about:
            if len(made[bucket]) == sheet.templates.each:
                break
            try:
                made[bucket].append(_row(row, bucket, drawn))
            except Rejected as why:
                dropped.append(reject(row, why))
    least = min(map(len, made.values()))
    extra = [question for questions in made.values() for question in questions[least:]]
    dropped += [reject(question, "too few in another third of popularity") for question in extra]
    if not least and not dropped:
        raise Rejected("nothing to ask about")
    # One of each third together, now to this split and now to that.
    kept = [{**made[bucket][at], "split": (at + row["number"]) % 2} for at in range(least) for bucket in BUCKETS]
    return [*kept, *dropped]


def _row(row: Row, bucket: str, drawn: Sequence[Group]) -> Row:
    template, sheet = row["template"], row["sheet"]
    answer, *others = sheet.answer(template, drawn)
    query = ask(template, drawn)
    return {
        "id": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{sheet.templates.query_time}: {query}")),
        "template": row["id"],
        "query_time": sheet.templates.query_time,
        "domain": sheet.templates.domain,
        "question_type": template.type,
        "static_or_dynamic": sheet.dynamism(template),
        "query": query,
        "answer": answer,
        "alt_ans": others,
        "popularity": bucket,
    }


def _reject_duplicates(rows: list[Row]) -> list[Row]:
    first: dict[str, Row] = {}
    return [row if first.setdefault(row["id"], row) is row else reject(row, "asked before") for row in rows]


def _pages(row: Row, corpus: Corpus, order: Order) -> list[Row]:
    pages = [
        {
            "document": document["id"],
            "snippet": best_sentence(row["query"], [Passage("", "", passage.text)], "en")[:SNIPPET],
        }
        for document, passage in corpus.find(row["query"], PAGES)
    ]
    places = range(min(BEST, len(pages)))
    drawn = sorted(order.draw(f"pages:{row['id']}").sample(places, min(SHOWN, len(places))))
    return [{**row, "pages": pages, "shown": drawn}]


def write(rows: Sequence[Row], order: Order, out: Path) -> dict[str, int]:
    if not rows:
        return {}
    documents = {document["id"]: document for document in order.corpus}

    def lines(all_pages: bool) -> Iterator[Row]:
        for row in rows:
            pages = row["pages"] if all_pages else [row["pages"][place] for place in row["shown"]]
            written = [_page(documents[page["document"]], page) for page in pages]
            yield {"interaction_id": row["id"], **{key: row[key] for key in _KEYS}, "search_results": written}

    return _write_files(out, lines(all_pages=False), lines(all_pages=True))


def _write_files(out: Path, shown: Iterable[Row], every: Iterable[Row]) -> dict[str, int]:
    numbers: list[int] = []
    with scratch(out / TASK_1_2) as part:
        with bz2.open(part, "wb") as packed:
            for line in shown:
                packed.write(f"{dumps(line)}\n".encode())
                numbers.append(line["split"])
        part.replace(out / TASK_1_2)
    with scratch(out / TASK_3) as part, scratch(out / f"{TASK_3}.unpacked") as whole:
        with whole.open("wb") as file:
            file.writelines(f"{dumps(line)}\n".encode() for line in every)
        name = Path(TASK_3).name.partition(".")[0]
        member = tarfile.TarInfo(f"{name}/{name}.jsonl")
        member.size = whole.stat().st_size
        with tarfile.open(part, "w:bz2", format=tarfile.GNU_FORMAT) as archive, whole.open("rb") as unpacked:
            archive.addfile(member, unpacked)
        part.replace(out / TASK_3)
    counts = {split: numbers.count(number) for number, split in enumerate(_SPLITS)}
    configs = ("qa", "task_1_2", "task_3")
    return {f"{config}/{split}": n for config in configs for split, n in counts.items() if n}


def _page(document: Row, page: Row) -> dict[str, str]:
    title = document["title"] or document["id"]
    paragraphs = "\n".join(f"<p>{html.escape(line)}</p>" for line in document["text"].splitlines() if line.strip())
    head = f'<head>\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n</head>'
    return {
        "page_name": title,
        "page_url": f"document:{quote(document['id'], errors='replace')}",
        "page_snippet": page["snippet"],
        "page_result": f"<!DOCTYPE html>\n<html>\n{head}\n<body>\n{paragraphs}\n</body>\n</html>\n",
        "page_last_modified": "",  # not known
    }


# Review: of wording and other accepted answers. The answer is computed, and stays.

_FIELDS = {"question": "query", "answer": "answer", "other_answers": "alt_ans"}


def items(dataset: Path) -> Iterator[Item]:
    path = dataset / TASK_1_2
    if not path.is_file():
        return
    with bz2.open(path) as lines:
        for number, text in enumerate(lines, 1):
            line = parse_json(text, f"{path}:{number}")
            fields: dict[str, Value] = {name: line[key] for name, key in _FIELDS.items()}
            pages = [f"{page['page_name']}\n{page['page_snippet']}" for page in line["search_results"]]
            source = f"{line['domain']}, {line['static_or_dynamic']}, {line['query_time']}"
            yield Item(line["question_type"], fields, [line["answer"], *line["alt_ans"]], pages, source, line)


def correct(item: Item, changed: Mapping[str, Value]) -> Row:
    if "answer" in changed:
        raise Rejected("the answer is computed; mend the table, and make the dataset again")
    line: dict[str, Any] = {**item.line, **{_FIELDS[name]: value for name, value in changed.items()}}
    if line["answer"] in line["alt_ans"]:
        raise Rejected("another answer is the answer itself")
    # Of a comparison the answer stands in the question.
    check_question(line["query"], [], [line["query"]], line["query"], "en")
    return line


def write_passed(passed: Sequence[tuple[Item, Row]], dataset: Path, out: Path) -> dict[str, int]:
    lines = {line["interaction_id"]: line for _, line in passed}

    def with_all_pages() -> Iterator[Row]:
        with tarfile.open(dataset / TASK_3) as archive:
            for member in archive:
                for text in archive.extractfile(member) or ():
                    found = parse_json(text, dataset / TASK_3)
                    if line := lines.get(found["interaction_id"]):
                        yield {**line, "search_results": found["search_results"]}

    return _write_files(out, lines.values(), with_all_pages())


RECIPE = Recipe(
    steps,
    write,
    items,
    correct,
    write_passed,
    load_prompts(Path(__file__).with_name("review.yaml"))["asks"],
    languages=("en",),
    least=LEAST,
    most=MOST,
    begin=begin,
    takes=("table", "templates"),
    by_rule="each answer computed from the table",
)
