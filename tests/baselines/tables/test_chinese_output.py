"""What commands print and what pages say with `--labels zh`: no English but names, options, paths and texts of data."""

from __future__ import annotations

import html.parser
import re
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule
from rag_server import RagServer

from quadrag import catalogue

SAMPLE = ("--data-dir", "sample")
CORPUS = Path(__file__).parents[3] / "datasets_scripts/crud_rag/sample/data/80000_docs/documents_dup_part_1_part_1"
DOCUMENTS = [("d1", "", "沛溪县第七届龙舟公开赛22日在石鹭湖落下帷幕。")]
# Two words and more.
WORDS = re.compile(r"[A-Za-z][A-Za-z'’-]+(?: [A-Za-z][A-Za-z'’-]*)+")
# What a user types or reads in a file: commands, options, paths, names with a point, an underscore or a figure.
TYPED = re.compile(
    r"`[^`]*`|quadrag (?:run|score|show|report|label) .*|--[a-z-]+(?: [A-Z]+)?"
    r"|[\w.:@-]*(?:[/_.@\d]|-(?=zh|en))[\w./:@-]*"
)
# A mark of English after Chinese, or before it, or brackets of English around it.
LATIN = re.compile(
    r"[\u4e00-\u9fff”）] ?[,;:!?]|[\u4e00-\u9fff”）]\.(?!\S)"
    r"|[\w)][,;:] ?[\u4e00-\u9fff]|\([^()]*[\u4e00-\u9fff][^()]*\)"
)
# Names of benchmarks' parts and metrics, of which a table's head or a folder has several, and a form that judges keep.
NAMES = (
    *("RAGQuestEval precision", "RAGQuestEval recall", "test accuracy", "omnieval all", "all auto", "all test"),
    *("Llama B", "summary test", "No, the question is not addressed by the documents."),
)


class Shown(html.parser.HTMLParser):
    """Collects what a page shows: its text, and what it tells a screen reader."""

    def __init__(self, page):
        super().__init__()
        self.texts, self._hidden, self._typed = [], False, False
        self.feed(Path(page).read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self._hidden, self._typed = tag in ("script", "style"), tag == "code"
        self.texts += [value for name, value in attributes if name in ("aria-label", "title") and value]

    def handle_endtag(self, tag):
        self._hidden = self._typed = False

    def handle_data(self, data):
        if not self._hidden and data.strip():
            self.texts.append(f"`{data}`" if self._typed else data.strip())


def left_in_english(lines):
    """The runs of English words in lines, each with its line, but for names and what a user types."""
    found = {}
    for line in lines:
        plain = line
        for name in NAMES:
            plain = plain.replace(name, ";")
        for part in re.split(r"\s{2,}", TYPED.sub(";", plain)):
            found |= dict.fromkeys(WORDS.findall(part), line)
    return found


def punctuated_in_english(lines):
    """The lines of Chinese with marks of English, but for the command's name, texts of data and what others said."""
    said = re.compile("^quadrag: |“.*?”|'.*?'|`.*?`|标有 !")
    return [line for line in dict.fromkeys(lines) if LATIN.search(said.sub("x", line))]


@pytest.fixture
def said(cli, monkeypatch):
    """A function that runs a command in Chinese, and returns all that it says, the page that it writes included."""
    monkeypatch.setenv("COLUMNS", "1000")

    def run(*arguments, page=None):
        ran = cli(*arguments, "--labels", "zh")
        assert ran.code in (0, 3), ran.err
        return [*(ran.out + ran.err).splitlines(), *(Shown(page).texts if page else ())]

    return run


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_what_runs_say_is_in_chinese(said):
    with (
        ChatServer(models=["m", "j"]) as server,
        ChatServer(models=["j"], text='{"score": 0}') as judge,
        ChatServer(models=["j"], text="看不懂") as other,
        RagServer(DOCUMENTS) as rag,
    ):
        llm, judged, bad = ("--llm", f"{server.url}#m"), ("--judge", f"{judge.url}#j"), ("--judge", f"{other.url}#j")
        crag, crud = ("run", "crag", "task_1_2", *SAMPLE), ("run", "crud_rag", "qa_1doc", *SAMPLE)
        rgb, omni = ("run", "rgb", "noise_robustness_zh", *SAMPLE), ("run", "omnieval", "extractive_qa", *SAMPLE)
        lines = said("run", "rgb", "--all", *SAMPLE, *llm, "--limit", 3, "--out", "all", "-v", page="all/report.html")
        lines += said(*crag, *llm, *judged, "--out", "kept", "-v", page="kept/report.html")
        lines += said(*crag, *llm, *judged, "--out", "kept")
        lines += said(*crag, *llm, *judged, "--out", "later", "--estimate")
        lines += said(*crag, *bad, "--out", "unread", page="unread/report.html")
        lines += said(*crag, *llm, "--samples", 2, "--limit", 3, "--out", "twice", "-v")
        server.rules.append(Rule("status", times=1, status=400, body={"error": "过滤"}))
        lines += said(*rgb, *llm, "--out", "partly")
        server.rules.append(Rule("status", times=12, status=400, body={"error": "过滤"}))
        lines += said(*rgb, *llm, "--limit", 4, "--fresh", "--out", "failed", page="failed/report.html")
        server.rules[:] = [Rule("reply", times=4, message={"content": ""})]
        lines += said(*rgb, *llm, "--limit", 4, "--fresh", "--out", "empty")
        server.rules.clear()
        lines += said("run", "rgb", "counterfactual_robustness_zh", *SAMPLE, *llm, "--out", "errors", "-v")
        lines += said(*crud, "--out", "search", "-v", page="search/report.html")
        lines += said(*crud, "--rag", rag.url, "--rag-name", "mine", "--out", "rag", "-v", page="rag/report.html")
        lines += said(*crud, "--rag", f"{server.url}#m", "--out", "chat")
        lines += said(*omni, *llm, *judged, "--limit", 12, "--out", "money")
        lines += said(*omni, "--limit", 12, "--out", "free", "-v", page="free/report.html")
        lines += said("run", "--recipe", "rgb-table1-chatgpt", *SAMPLE, *llm, "--limit", 2, "--out", "recipe")
    lines += said("score", "search/answers.jsonl", "rag/answers.jsonl", *SAMPLE, "--out", "scored")
    left = left_in_english(lines)
    assert left == {}, left
    assert punctuated_in_english(lines) == []
    # The order of words is Chinese, where a sentence is made of parts.
    text = "\n".join(lines)
    for sentence in (
        "不完整：每个划分只问了前 3 题，共",
        "请求：发出 15 次，用了 0 条已存回复；裁判：发出 ",
        "没有发出请求：该运行早已完成，这里再次显示。",
        "接下来：quadrag show kept --wrong --labels zh",
        "无效（INVALID）：task_1_2 public：裁判“j”最初的 12 个判断都读不懂，不再请求它：truthfulness、accuracy、",
        "1 个回答失败，未评分（",
    ):
        assert sentence in text, sentence


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", catalogue.benchmarks())
def test_what_is_said_of_recipes_is_in_chinese(said, benchmark):
    lines = [re.sub('“.*?”|".*?"', ";", line) for line in said("list", "--recipe", benchmark)]
    assert len(lines) > 100 and left_in_english(lines) == {} and not [one for one in lines if "这一行还没有中文" in one]


@pytest.mark.slow
def test_what_the_demo_says_is_in_chinese(said):
    lines = said("demo", "--out", "demo")
    assert left_in_english(lines) == {} and punctuated_in_english(lines) == []
    assert any("没有标准答案" in line for line in lines)


@pytest.mark.slow
def test_what_comparisons_and_single_questions_say_is_in_chinese(said, cli):
    with ChatServer(models=["m"]) as server:
        for name, *more in (("a",), ("b", "--llm", server.url), ("c", "--limit", 6)):
            assert cli("run", "crud_rag", "qa_1doc", *SAMPLE, *more, "--out", name).code == 0
        server.rules.append(Rule("status", status=400, body={"error": "过滤"}, times=6))
        for name in ("x", "y"):
            out = ("--out", f"{name}/zh")
            assert cli("run", "rgb", "noise_robustness_zh", *SAMPLE, "--llm", server.url, "--limit", 3, *out).code in (
                0,
                3,
            )
    lines = said("report", "a", "b", "--html", "two.html", page="two.html") + said("report", "a", "b", "-v")
    assert '<option value="change" data-two>变化最大在前</option>' in Path("two.html").read_text(encoding="utf-8")
    lines += said("report", "a", "b", "c", "--html", "three.html", page="three.html") + said("report", "a", "c")
    lines += said("report", "x", "y", "--html", "failed.html", page="failed.html")
    shown = [("a", "--wrong"), ("a", "--unscored"), ("b", "--limit", 1), ("x", "--wrong"), ("x", "--unscored")]
    shown += [("a", "b"), ("a", "b", "--better")]
    for one in shown:
        lines += said("show", *one, "--characters", 20)
    left = left_in_english(lines)
    assert left == {}, left
    assert punctuated_in_english(lines) == []
    assert "全部回答并列：--html FILE" in lines and "接下来：quadrag show a b --worse --labels zh" in lines


@pytest.mark.slow
def test_what_is_said_of_a_dataset_that_is_made_is_in_chinese(said):
    Path("news").mkdir()
    articles = CORPUS.read_text(encoding="utf-8").splitlines()
    for at, article in enumerate(articles):
        Path(f"news/{at}.txt").write_text(article, encoding="utf-8")
    made = ("construct", "rgb", "--documents", "news", "--out")
    lines = said(*made, "mine")
    with ChatServer(models=["m"]) as server:
        lines += said(*made, "other", "--llm", f"{server.url}#m", "--estimate")
    left = left_in_english(lines)
    assert left == {} and punctuated_in_english(lines) == [], left
    assert f"用来出题的文档 {len(articles) - 1} 篇" in lines, "two are alike"


@pytest.mark.slow
def test_what_is_said_of_judges_held_against_people_is_in_chinese(said):
    rows = [f"{n},{'right' if n % 2 else 'wrong'},谁赢了 {n}?,{'赢的是' * (n > 2)}阿达,阿达" for n in range(8)]
    Path("labels.csv").write_text("\n".join(["id,label,question,answer,gold", *rows]), encoding="utf-8")
    rows = [f"{n},{'right' if n % 3 else 'wrong'}" for n in range(7)]
    Path("verdicts.csv").write_text("\n".join(["id,verdict", *rows]), encoding="utf-8")
    lines = said("certify-judge", "labels.csv", "--verdicts", "verdicts.csv", "--out", "c.json")
    lines += said("certify-judge", "labels.csv", "--verdicts", "verdicts.csv", "--against", "rule:exact")
    help_lines = [line for name in ("certify-judge", "label") for line in said(name, "--help")]
    assert not [line for line in help_lines if "quadrag " not in line and re.search(r"([a-z]{2,} ){2}[a-z]{2,}", line)]
    listed = said("certify-judge", "--list")
    assert listed[0].endswith("评什么；来源，许可证") and listed[-1].startswith("接下来：quadrag certify-judge LABELS")
    lines += listed[-2:-1]
    with ChatServer(models=["m", "j"], text='{"score": 1}') as server:
        judge = ("--judge", f"{server.url}#j")
        lines += said("certify-judge", "labels.csv", *judge, "--repeats", 2)
        run = ("run", "crag", "task_1_2", *SAMPLE, "--split", "public", *judge, "--out", "judged")
        said(*run)
        lines += said("label", "judged", "--n", 6, "--out", "sheet.csv")
        filled = Path("sheet.csv").read_text(encoding="utf-8-sig")
        Path("filled.csv").write_text(re.sub(r"(?m),$", ",correct", filled), encoding="utf-8")
        lines += said("label", "judged", "--n", 6, "--out", "sheet.html", page="sheet.html")
        assert {"回答是否正确？", "6 个待标注的回答"} <= {text.removeprefix("quadrag: ") for text in lines}
        assert "接下来：quadrag label judged --people sheet.csv --labels zh" in lines
        said("run", "rgb", "noise_robustness_zh", *SAMPLE, "--llm", f"{server.url}#m", "--out", "wrong")
        lines += said("errors", "wrong", "--sheet", "wrong.csv")
        lines += said("errors", "wrong", "--people", "wrong.csv")
        lines += said("errors", "wrong", *judge)
    left = left_in_english(lines)
    assert left == {} and punctuated_in_english(lines) == [], left
