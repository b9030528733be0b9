"""The page is one file whose own script and style alone are run; texts of data and models are text there."""

import base64
import gzip
import hashlib
import html.parser
import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from altered_runs import alter
from chat_server import ChatServer, asked_of
from compared_runs import lose
from exported import copy_as_authors
from specs import name_llm

import quadrag
from quadrag.baselines.page.answers import collect_answers
from quadrag.baselines.page.packed import ONE, TWO, pack_all, pack_answers
from quadrag.baselines.page.page import name_runs, write_page
from quadrag.baselines.page.render import LINES, _group_lines, _shorten, render_page
from quadrag.baselines.report.questions import spell_gold
from quadrag.baselines.runs.finished import read_runs
from quadrag.baselines.tables.grid import Cell, Detail, Grid, Line

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
    return read(blocks, name)


def read(blocks, name):
    """What a block holds, read byte by byte."""
    known, packed = (gzip.decompress(base64.b64decode(blocks[one])) for one in ("characters", name))
    text, rest = b"", iter(packed)
    for first in rest:
        rank = first if first < ONE else ONE + (first - ONE) * 256 + next(rest) if first < 255 else None
        rank = next(rest) * 256 + next(rest) if rank is None else rank
        text += known[2 * rank : 2 * rank + 2]
    return json.loads(text.decode("utf-16-le"))


def collect(*folders, **options):
    return collect_answers(read_runs(folders), **options)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """The sample campaign's folder."""
    from quadrag.cli import main

    folder = tmp_path_factory.mktemp("campaign")
    assert main(["run", "rgb", "--all", "--data-dir", "sample", "--out", str(folder / "all")]) == 0
    return folder / "all"


def test_a_page_holds_no_markup_of_the_datas():
    evil = "<script>alert('x')</script>&amp;\""
    grid = Grid(evil, evil, [evil], [Line(evil, [Cell(evil, evil)])], [evil])
    page = render_page(evil, [(evil, evil)], [grid], [evil], [("index", "utf-8 x")])
    parser = parse(page)
    assert parser.tags.count("script") == 3, "the words, a block and the page's own"
    assert "".join(parser.text).count(evil) == 11


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
    assert re.findall("<title>(.*)</title>", page) == [f"quadrag: rgb 8 configs, extractive, {date}"]
    lead = page.split("</header>")[1].split("<nav>")[0]
    assert "These numbers measure nothing: the questions are made-up" in lead
    links = re.findall('<a href="#(t.*?)">(.*?)</a>', page)
    assert len(links) == 4 and all(f'<h2 id="{place}">{title}</h2>' in page for place, title in links)
    assert re.search(r'<th scope="row" class="d[1-9]">\S', page), "style sets labels in, not blanks"
    items = [path.read_text(encoding="utf-8").count("\n") for path in campaign.glob("*/items.jsonl")]
    assert len(unpack(page, "index")["items"]) == sum(items) > 200


def cards(page):
    return re.findall(r"<div><dt>(.*?)</dt><dd><b>(.*?)</b>", page)


def test_titles_of_charts_do_not_say_twice_what_all_say():
    assert _shorten(["CRAG, public, by domain", "CRAG, public, by type"]) == ["by domain", "by type"]
    assert _shorten(["CRAG, public"] * 2) == ["CRAG, public"] * 2 and _shorten([]) == []


def test_a_title_counts_runs_and_systems_apart(campaign):
    [(_, [result])] = read_runs([campaign / "noise_robustness_en"])

    def named(*models):
        records = [name_llm(result.run, model) for model in models]
        runs = [(f"f{n}", [replace(result, run=one)]) for n, one in enumerate(records)]
        return name_runs(runs).split("noise_robustness_en, ")[1].rpartition(", ")[0]

    assert named(*(f"m{n % 6}" for n in range(24))) == "6 systems (24 runs)"
    assert named(*(f"m{n}" for n in range(24))) == "24 systems"
    assert named("m0", "m1", "m0", "m1", "m0") == "m0, m1 (5 runs)" and named("m0", "m1", "m0") == "f0, f1, f2"
    assert named("m", "m") == "m (f0, f1)" and named("m") == "m"


@pytest.mark.parametrize(("key", "mark"), [("accuracy", "INVALID: "), ("accuracy_bounded", "")])
def test_a_title_is_invalid_where_the_first_headline_is(campaign, tmp_path, key, mark):
    [(name, [result])] = read_runs([campaign / "noise_robustness_en"])
    result = lose(result, "noise_0", key)
    write_page(tmp_path / "page.html", [(name, [result])], [])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"<title>{mark}quadrag: rgb" in page and '<p class="alarm loud">INVALID, ' in page


def test_a_page_begins_with_a_few_numbers(cli, monkeypatch):
    data = copy_as_authors("rgb", Path("RGB"), monkeypatch)
    assert cli(*RUN[:-1], data, "--out", "one").code == 0 and cli("report", "one", "--html", "one.html").code == 0
    page = Path("one.html").read_text(encoding="utf-8")
    splits = [f"{split}/accuracy" for split in ("all 5 splits", *(f"noise_{noise}" for noise in range(0, 100, 20)))]
    assert [label for label, _ in cards(page)] == splits and cards(page)[1][1] == "91.7"
    assert f"{cards(page)[0][0]} {cards(page)[0][1]}" in " ".join(cli("report", "one").out.split()), "as the terminal"
    first = page.split('<nav aria-label="On this page">')[0]
    assert "Some of the documents shown hold the answer" in first, "what is asked"
    for part in (
        "95% interval: <i>64.6–98.5</i>",
        "scored: 12 of 12",
        "best published: 96.33 chatgpt",
        "Published under: ",
    ):
        assert part in first


def test_of_many_numbers_some_stand_large_and_it_is_said_how_many():
    for count in (LINES, LINES + 1):
        lines = [Line(f"run {at}", [Cell("50.0"), Cell("40.0–60.0"), Cell("9 of 9"), Cell("")]) for at in range(count)]
        headline = Grid("", "", ["value", "95% interval", "n", "verdict"], lines, [], "runs")
        page = render_page("title", [], [replace(headline, form="")], headline=headline)
        assert len(cards(page)) == LINES and ('<details id="every">' in page) == (count > LINES)
    assert '<a href="#every">12 of 13; all 13 below</a>' in page


def test_the_page_of_a_folder_of_systems_names_who_answered(cli):
    config = ("rgb", "information_integration_zh")
    for count in (1, 2, 5):

        def join(question, count=count):
            return " ".join(passage.text for passage in question.passages[:count])

        quadrag.evaluate(*config, join, split="noise_40", data_dir="sample", name=f"of {count}", out=f"many/of_{count}")
    assert cli("report", "many", "--html", "many.html").code == 0
    items = unpack(Path("many.html").read_text(encoding="utf-8"), "index")["items"]
    assert Counter(item["groups"]["system"] for item in items) == {"of 1": 12, "of 2": 12, "of 5": 12}
    of_one = collect("many/of_1").index["items"] + collect("many/of_1", "many/of_2").index["items"]
    assert all("system" not in item["groups"] for item in of_one)
    assert cli("report", "many/of_1", "many/of_2", "many/of_5", "--html", "three.html").code == 0
    shown = cards(Path("three.html").read_text(encoding="utf-8"))
    assert [label for label, _ in shown] == ["of_5", "of_1", "of_2"]


def test_runs_of_one_system_are_told_apart_by_their_folders(cli):
    for retriever in ("bm25", "none"):
        run = ("run", "crud_rag", "summary", "--data-dir", "sample", "--retriever", retriever, "--limit", "2")
        assert cli(*run, "--out", f"two/{retriever}").code == 0
    results = [result for _, found in read_runs(["two"]) for result in found]
    assert [item["groups"]["system"] for item in collect("two").index["items"]] == ["bm25"] * 2 + ["none"] * 2
    other = replace(results[0], run=name_llm(results[0].run, "m"))
    named = Counter(item["groups"]["system"] for item in collect_answers([("", [*results, other])]).index["items"])
    assert named == {"extractive bm25": 2, "extractive none": 2, "m": 2}


def test_what_doubts_the_numbers_of_a_comparison_stands_above_them_once(campaign, cli):
    for name in ("a", "b"):
        assert cli(*RUN, "--limit", "6", "--out", name).code == 0
    told = {"en": "PARTIAL: the first 6 questions of each", "zh": "不完整：每个划分只问了前 6 题"}
    for labels, partial in told.items():
        assert cli("report", "a", "b", "--html", "page.html", "--labels", labels).code == 0
        page = Path("page.html").read_text(encoding="utf-8")
        assert page.count(partial) == 1 and page.index(partial) < page.index('class="cards"')


def test_lines_stand_under_what_their_labels_begin_with():
    def grouped(*labels):
        found = _group_lines(Grid("", "", [""], [Line(label, [Cell("1")]) for label in labels]))
        return [(line.label, line.cells[0].text, line.rule) for line in found.lines]

    under = [("a", "", False), ("  x", "1", False), ("  y: z", "1", False), ("b", "", True), ("  x", "1", False)]
    assert grouped("a: x", "b：x", "a: y: z") == under
    for labels in (["a: x", "b: x"], ["a: x", "a: y", "z"], []):
        assert grouped(*labels) == [(label, "1", False) for label in labels]


def test_the_page_of_a_comparison_has_both_answers_of_a_question(campaign, cli, tmp_path):
    for name in ("a", "b"):
        shutil.copytree(campaign / "noise_robustness_en", tmp_path / name)
    alter(tmp_path / "b", lambda info: info["digests"]["system"].update(model="other-model"))
    shown = cli("report", "a", "b", "--html", "deep/compare.html", "--labels", "zh")
    assert shown.code == 0
    page = Path("deep/compare.html").read_text(encoding="utf-8")
    text = "".join(parse(page).text)
    assert "extractive，other-model" in text and "各次运行不一致" in text
    assert '<th scope="col">结论</th>' in page and '<table class=" pair">' in page
    assert '<option value="won" data-two>b 更好</option>' in page
    index = unpack(page, "index")
    assert index["runs"] == ["a", "b"]
    assert all(len(item["answers"]) == len(item["values"]) == 2 for item in index["items"])


def test_a_question_stands_whole_in_the_index_and_the_items(campaign):
    answers = collect(campaign / "noise_robustness_en")
    rows = [json.loads(line) for line in (campaign / "noise_robustness_en" / "answers.jsonl").open(encoding="utf-8")]
    assert len(answers.items) == len(rows)
    for row, listed, item in zip(rows, answers.index["items"], answers.items, strict=True):
        assert listed["id"] == row["id"] and listed["groups"]["split"] == row["split"]
        assert listed["answers"][0] + item["runs"][0]["rest"] == row["answer"]
        assert len(item["runs"][0]["passages"]) == 5 and item["gold"]
    numbers = {number for item in answers.items for number, *_ in item["runs"][0]["passages"]}
    assert numbers == set(answers.passages.values()) == set(range(len(answers.passages)))
    assert len(answers.passages) < 5 * len(rows), "each distinct passage once"


def test_more_than_a_page_holds_is_told(campaign):
    answers = collect(campaign / "noise_robustness_en", most=7)
    assert len(answers.items) == len(answers.index["items"]) == 7
    assert answers.told == [
        f"The first 7 of 60 answers stand here; `quadrag show {campaign / 'noise_robustness_en'}` has them all."
    ]
    parts = len(list(campaign.glob("*/items.jsonl")))
    several = collect(campaign, most=5 * parts + 1)
    places = (item["place"].split("/") for item in several.index["items"])
    counts = Counter((config, turn) for _, config, *_, turn in places)
    assert len(counts) == len(several.told) == parts and set(counts.values()) == {5}, "each part has as many"


def test_without_the_data_a_page_has_its_tables_and_says_why(campaign, cli, tmp_path):
    shutil.copytree(campaign / "noise_robustness_en", tmp_path / "a")
    alter(tmp_path / "a", lambda info: info["spec"].update(data_dir=str(tmp_path / "gone")))
    assert cli("report", "a", "--html", "page.html").code == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "Single answers are not shown: " in page and "<table" in page and 'id="index"' not in page


def test_every_sample_of_a_question_is_an_answer_of_its_own(cli, server):
    assert cli(*RUN, "--llm", f"{server.url}#m", "--samples", "2", "--limit", "2", "--out", "r").code == 0
    items = collect("r").index["items"]
    assert [(item["id"], item["sample"]) for item in items[:4]] == [("0", 0), ("0", 1), ("1", 0), ("1", 1)]


def test_packing_keeps_every_text_and_the_most_frequent_characters_take_one_byte():
    many = "".join(map(chr, range(0x3400, 0x3400 + TWO)))
    values = {"a": ["half of a pair \ud83d, a pair \U0001f600", "</script><!--", 1.5, None], "b": many, "c": "的" * 99}
    blocks = dict(pack_all(values.items()))
    assert {name: read(blocks, name) for name in values} == values and dict(pack_all(values.items())) == blocks
    assert len(gzip.decompress(base64.b64decode(blocks["c"]))) == 99 + 2
    assert pack_answers(collect()) == ()


def test_references_of_every_shape_are_texts():
    assert spell_gold("a") == ["a"] and spell_gold(None) == [] == spell_gold([])
    assert spell_gold(["a", "b", "a"]) == ["a / b"] and spell_gold([["a", "b"], ["c"]]) == ["a / b", "c"]
    assert spell_gold({"answer": "a", "wrong": ["b", 2]}) == ["answer: a", "wrong: b / 2"]


def test_the_judges_words_stand_at_every_answer(cli):
    def quoted(body):
        question = re.findall("<question>(.*)</question>", asked_of(body))[-1]
        return f"On {question}: not addressed."

    with ChatServer(models=["j"], text=quoted) as judge:
        run = ("run", "rgb", "negative_rejection_en", "--data-dir", "sample", "--judge", judge.url, "--ledger", "L")
        assert cli(*run, "--max-failed", "1", "--out", "r").code == 0
    answers = collect("r")
    said = [item["runs"][0]["verdicts"]["rejection_rate"] for item in answers.items]
    asked = [item["question"] for item in answers.index["items"]]
    assert len(said) == 12 and all(question[:40] in words for question, [words] in zip(asked, said, strict=True))
    assert answers.told == []


def test_each_judged_metric_of_a_module_has_its_own_words(cli):
    with ChatServer(models=["j"], text='{"prediction": 1}') as judge:
        run = ("run", "omnieval", "all", "--data-dir", "sample", "--limit", "2", "--judge", judge.url, "--ledger", "L")
        assert cli(*run, "--out", "r").code == 0
    [said, *_] = [item["runs"][0]["verdicts"] for item in collect("r").items]
    assert list(said) == ["acc", "hal", "com", "utl", "nac"]


def test_notes_for_specialists_are_folded_under_their_table():
    grid = Grid("t", "", ["a"], [Line("x", [Cell("1")])], ["for all", Detail("for a specialist")])
    before, fold = render_page("title", [], [grid]).split("<details><summary>More on settings and conditions")
    assert (
        "for all" in before and "for a specialist" not in before and "for a specialist" in fold.split("</details>")[0]
    )


def test_a_count_that_a_line_shares_stands_beside_its_label():
    values = [Cell("50.0", "20.0–80.0"), Cell("60.0", "30.0–90.0")]
    lines = [Line("c: x", values), Line("  n", [Cell("12"), Cell("12")]), Line("c: y", values)]
    page = render_page("title", [], [Grid("t", "", ["a", "b"], [*lines, Line("  n", [Cell("9"), Cell("8")])])])
    assert ">c: x<small>n 12</small></th>" in page and re.search(r'd2">n</th><td>9</td>', page)
    page = render_page("title", [], [Grid("t", "", ["a", "b"], lines)])
    assert 'colspan="3">c</th>' in page and ">x<small>n 12</small></th>" in page


def test_a_long_command_stands_without_its_middle_until_it_is_asked_for():
    command = f"quadrag score {' '.join(f'answers/{n}.jsonl' for n in range(99))} --out runs"
    page = render_page("title", [("command", command), ("signatures", "s " * 999)], [])
    [short, whole] = re.findall("<details><summary>(quadrag .*?)</summary>(.*?)</details>", page)[0]
    assert whole == command and short.startswith("quadrag score answers/0.jsonl ") and short.endswith(" --out runs")
    assert " … answers/" in short and len(short) < 300
