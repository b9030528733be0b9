"""The page is one file whose own script and style alone are run; texts of data and models are text there."""

import base64
import gzip
import hashlib
import html.parser
import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from altered_runs import alter
from chat_server import ChatServer, asked_of
from compared_runs import lose
from exported import copy_as_authors

from quadrag.reporting.page.page import collect_answers, read_words, render_page, write_page
from quadrag.reporting.table import Cell, Row, Table
from quadrag.results import Note, NoteCode
from quadrag.run.folder import read_runs

pytestmark = pytest.mark.plugins

RUN = ("run", "rgb", "noise_robustness_en", "--data-dir", "sample")


class Checked(html.parser.HTMLParser):
    """Collects what a page holds, and checks that its elements close."""

    VOID = ("meta", "br", "input")

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text, self.names = [], [], [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parse(page):
    parser = Checked()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


def unpack(page, name):
    """What a block of a page holds."""
    blocks = dict(re.findall(r'<script id="(\S+)" type="text/plain">(\S+)</script>', page))
    return json.loads(gzip.decompress(base64.b64decode(blocks[name])))


def collect(*folders, **options):
    return collect_answers(read_runs(folders), read_words("en"), **options)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """The sample campaign's folder."""
    from quadrag.cli import main

    folder = tmp_path_factory.mktemp("campaign")
    assert main(["run", "rgb", "--all", "--data-dir", "sample", "--out", str(folder / "all")]) == 0
    return folder / "all"


def test_a_page_holds_no_markup_of_the_datas():
    evil = "<script>alert('x')</script>&amp;\""
    grid = Table(evil, evil, [evil], [Row(evil, [Cell(evil, evil)])], [evil])
    page = render_page(evil, [grid], facts=[(evil, evil)], lead=[evil], blocks=[("index", "utf-8 x")])
    parser = parse(page)
    assert parser.tags.count("script") == 3, "the words, a block and the page's own"
    assert "".join(parser.text).count(evil) == 12


def test_only_the_pages_own_script_and_style_are_run(campaign):
    page = (campaign / "report.html").read_text(encoding="utf-8")
    [policy] = re.findall('http-equiv="Content-Security-Policy" content="(.*?)"', page)
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    for kind in ("style", "script"):
        [own] = re.findall(f"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    names = parse(page).names
    assert "style" not in names and not [name for name in names if name.startswith("on")]
    assert {"src", "srcset"}.isdisjoint(names) and not re.search(r'href="[^#]', page), "nothing is fetched"


def test_the_page_of_a_campaign(campaign):
    page = (campaign / "report.html").read_text(encoding="utf-8")
    parser = parse(page)
    assert parser.tags.count("table") == 4, "the papers' four"
    text = "".join(parser.text)
    assert "96.33" in text and "Chinese" in text and "bundled sample" in text
    date = json.loads((campaign / "noise_robustness_en" / "run.json").read_text())["started"][:10]
    assert re.findall("<title>(.*)</title>", page) == [f"quadrag: rgb, extractive, {date}"]
    assert '<p class="alarm">The data are the bundled sample' in page.split("<nav")[0]
    links = re.findall('<a href="#(t.*?)">(.*?)</a>', page)
    assert len(links) == 4 and all(f'<h2 id="{place}">{title}</h2>' in page for place, title in links)
    assert re.search(r'<th scope="row" class="d[1-9]">\S', page), "style sets labels in, not blanks"
    items = [path.read_text(encoding="utf-8").count("\n") for path in campaign.glob("*/items.jsonl")]
    assert len(unpack(page, "index")["items"]) == sum(items) > 200


@pytest.mark.parametrize(("key", "kind"), [("accuracy", "alarm loud"), ("accuracy_bounded", None)])
def test_what_is_invalid_stands_above_all_tables(campaign, tmp_path, key, kind):
    [(name, [result])] = read_runs([campaign / "noise_robustness_en"])
    result = lose(result, "noise_0", key)
    write_page(tmp_path / "page.html", [(name, [result])], [])
    above = (tmp_path / "page.html").read_text(encoding="utf-8").split("<h2")[0]
    assert (f'<p class="{kind}">INVALID, ' in above) == (kind is not None)


def test_a_page_begins_with_the_table_of_the_terminal(cli, monkeypatch):
    data = copy_as_authors("rgb", Path("RGB"), monkeypatch)
    assert cli(*RUN[:-1], data, "--out", "one").code == 0 and cli("report", "one", "--html", "one.html").code == 0
    page = Path("one.html").read_text(encoding="utf-8")
    first = page[page.index("<table") : page.index("</table>")]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall("<tr class.*", first)]
    assert [row[0] for row in rows] == [
        f"{split}/accuracy" for split in ("all 5 splits", *(f"noise_{noise}" for noise in range(0, 100, 20)))
    ]
    assert rows[1][1:] == ["91.7", "64.6–98.5", "12 of 12", "96.33 chatgpt"]
    assert " ".join(rows[0][:3]) in " ".join(cli("report", "one").out.split()), "as the terminal"
    assert cli(*RUN, "--limit", "3", "--out", "few").code == 0
    page = Path("few/report.html").read_text(encoding="utf-8")
    assert page.count("PARTIAL: the first 3 questions") == 1, "once, before all else"


def stopped(why, code=NoteCode.PARTIAL, **more):
    return Note(code, {"kind": "stopped", "why": why, **more})


def test_alarms_stand_above_all_once_the_loudest_first():
    invalid = Note(NoteCode.INVALID, {"kind": "judge_dead", "places": ["a"], "why": "gone"})
    grids = [Table(f"t{n}", "", ["a"], [Row("x", [Cell("1")])], [stopped("odd"), invalid]) for n in range(2)]
    page = render_page("title", grids, lead=["left out"])
    assert re.findall('<p class="(alarm.*?)">', page) == ["alarm loud", "alarm", "alarm"]
    assert page.count("INVALID, a: gone.") == page.count("PARTIAL: odd.") == 1


def test_the_page_of_a_comparison_has_both_answers_of_a_question(campaign, cli, tmp_path):
    for name in ("a", "b"):
        shutil.copytree(campaign / "noise_robustness_en", tmp_path / name)
    alter(tmp_path / "b", lambda info: info["digests"]["system"].update(model="other-model"))
    shown = cli("report", "a", "b", "--html", "deep/compare.html", "--labels", "zh")
    assert shown.code == 0
    page = Path("deep/compare.html").read_text(encoding="utf-8")
    text = "".join(parse(page).text)
    assert '<th scope="col">结论</th>' in page and "other-model" in text
    index = unpack(page, "index")
    assert index["runs"] == ["a", "b"]
    assert all(len(item["answers"]) == len(item["values"]) == 2 for item in index["items"])


def test_a_question_stands_whole_in_the_index_and_the_items(campaign):
    answers = collect(campaign / "noise_robustness_en")
    rows = [json.loads(line) for line in (campaign / "noise_robustness_en" / "answers.jsonl").open(encoding="utf-8")]
    assert len(answers.items) == len(rows)
    for row, listed, item in zip(rows, answers.index["items"], answers.items, strict=True):
        assert listed["place"].split("/")[3] == row["id"] and listed["groups"]["split"] == row["split"]
        assert item["runs"][0]["answer"] == row["answer"] and row["answer"].startswith(listed["answers"][0])
        assert len(item["runs"][0]["passages"]) == 5 and item["gold"]
    numbers = {number for item in answers.items for number, *_ in item["runs"][0]["passages"]}
    assert numbers == set(answers.passages.values()) == set(range(len(answers.passages)))
    assert len(answers.passages) < 5 * len(rows), "each distinct passage once"


def test_more_than_a_page_holds_is_told(campaign):
    answers = collect(campaign / "noise_robustness_en", most=7)
    assert len(answers.items) == len(answers.index["items"]) == 7
    assert [(note.params["shown"], note.params["total"]) for note in answers.notes] == [(7, 60)]
    parts = len(list(campaign.glob("*/items.jsonl")))
    several = collect(campaign, most=5 * parts + 1)
    places = (item["place"].split("/") for item in several.index["items"])
    counts = Counter((config, run) for _, config, *_, run in places)
    assert len(counts) == len(several.notes) == parts and set(counts.values()) == {5}, "each part has as many"


def test_without_the_data_a_page_has_its_tables_and_says_why(campaign, cli, tmp_path):
    shutil.copytree(campaign / "noise_robustness_en", tmp_path / "a")
    alter(tmp_path / "a", lambda info: info["spec"].update(data_dir=str(tmp_path / "gone")))
    assert cli("report", "a", "--html", "page.html").code == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "Single answers are not shown: " in page and "<table" in page and 'id="index"' not in page


def test_the_judges_words_stand_at_every_answer(cli):
    def quoted(body):
        question = re.findall("<question>(.*)</question>", asked_of(body))[-1]
        return f"On {question}: not addressed."

    with ChatServer(models=["j"], text=quoted) as judge:
        run = ("run", "rgb", "negative_rejection_en", "--data-dir", "sample", "--judge", judge.url, "--ledger", "L")
        assert cli(*run, "--max-failed", "1", "--out", "r").code == 0
    answers = collect("r")
    said = [item["runs"][0]["verdicts"] for item in answers.items]
    asked = [item["question"] for item in answers.index["items"]]
    assert len(said) == 12 and all(
        name == "rejection_rate" and question[:40] in words
        for question, [[name, words]] in zip(asked, said, strict=True)
    )
    assert answers.notes == []
