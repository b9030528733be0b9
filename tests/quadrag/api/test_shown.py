"""What is shown of results: as the command prints it, in two languages, on any stream, as a page and in a notebook."""

import codecs
import io
import os
import re
import sys
from pathlib import Path

import pytest
from own_system import measure

import quadrag
from quadrag.cli import main
from quadrag.printing import write

RGB = ("rgb", "noise_robustness_zh")
HALF = "巴黎 \ud83d"
pytestmark = [pytest.mark.filterwarnings("ignore:INVALID"), pytest.mark.plugins]


class Bare:
    """A stream that takes texts and has nothing else."""

    def __init__(self):
        self.texts = []

    def write(self, text):
        self.texts.append(text)

    def read(self):
        return "".join(self.texts)


class Narrow(io.TextIOWrapper):
    """A console of an encoding."""

    def __init__(self, encoding):
        super().__init__(io.BytesIO(), encoding=encoding, errors="strict", newline="")

    def read(self):
        self.flush()
        return self.buffer.getvalue().decode(self.encoding)


def shut():
    stream = io.StringIO()
    stream.close()
    return stream


def gone():
    read, written = os.pipe()
    os.close(read)
    return os.fdopen(written, "w", buffering=1)


STREAMS = {
    "cp1252": lambda: Narrow("cp1252"),
    "ascii": lambda: Narrow("ascii"),
    "gbk": lambda: Narrow("gbk"),
    "utf-16": lambda: Narrow("utf-16"),
    "python 2": lambda: codecs.getwriter("ascii")(io.BytesIO()),
    "bare": Bare,
    "closed": shut,
    "none": lambda: None,
    "no reader": gone,
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three runs of Chinese answers, in most of which is half of a surrogate pair."""
    out = tmp_path_factory.mktemp("runs")
    return [
        measure(lambda asked, said=said: f"{said} {asked.query}", *RGB, limit=3, labels=labels, out=out / said[:2])
        for said, labels in ((HALF, "zh"), ("我不知道\udc00", "en"), ("上海", "zh"))
    ]


@pytest.mark.parametrize("kind", STREAMS)
def test_a_result_is_shown_on_any_stream(runs, kind, monkeypatch):
    both = quadrag.compare(*runs[:2])
    shows = [runs[0].show, runs[1].show, both.show, quadrag.compare(*runs).show]
    shows += [lambda: runs[0].show(True), lambda: runs[0].show(wrong=True), lambda: both.show(worse=True)]
    for show in shows:
        stream = STREAMS[kind]()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", stream)
            show()
        if hasattr(stream, "texts") or isinstance(stream, Narrow):
            shown = stream.read()
            assert "accuracy" in shown or "noise" in shown
            assert set("巴我?") & set(shown) and not set("\ud83d\udc00") & set(shown)


@pytest.mark.parametrize(
    ("encoding", "text", "shown"),
    [
        ("utf-8", "巴黎 😀 – ─ \ud83d", "巴黎 😀 – ─ \ufffd"),
        ("utf-8", "\ud83d\ude00", "😀"),
        ("gbk", "巴黎 – ── \ud83d", "巴黎 - -- ?"),
        ("cp1252", "café – 巴黎 ──", "café - ?? --"),
        ("ascii", "32.0–80.7, 6 × 5", "32.0-80.7, 6 x 5"),
    ],
)
def test_what_a_stream_shows_stays_and_lines_stay_lines(encoding, text, shown):
    stream = Narrow(encoding)
    write(text, file=stream)
    assert stream.read() == f"{shown}\n"


def test_what_python_shows_is_what_the_commands_print(capsys):
    def printed(use):
        capsys.readouterr()
        assert use() in (0, None)
        return capsys.readouterr().out

    def answer(name):
        return lambda one: one.passages[0].text if name == "a" else 1 / 0 if one.id == "3" else one.query + one.id

    runs = [measure(answer(name), *RGB, split="noise_60", name=name, out=name) for name in "abc"]
    two, three = quadrag.compare(*runs[:2]), quadrag.compare(*runs)
    for use, command in (
        (lambda: runs[0].show(wrong=True, limit=2), ["show", "a", "--wrong", "--limit", "2"]),
        (lambda: runs[1].show(unscored=True), ["show", "b", "--unscored"]),
        (lambda: two.show(worse=True), ["show", "a", "b", "--worse"]),
        (two.show, ["report", "a", "b"]),
        (lambda: two.show(verbose=True), ["report", "a", "b", "--verbose"]),
        (three.show, ["report", "a", "b", "c"]),
        (lambda: three.show(verbose=True), ["report", "a", "b", "c", "--verbose"]),
    ):
        shown = printed(use)
        assert len(shown) > 100 and printed(lambda: main(command)).startswith(shown)  # noqa: B023
    page = Path("a/report.html").read_bytes()
    assert runs[0].report("again.html").read_bytes() == page
    for result in (two, three):
        assert result.report("pages/both.html").stat().st_size > 10_000


def test_a_language_is_that_of_the_result_else_of_the_environment(monkeypatch):
    def mine(question):
        return 1 / 0 if question.id == "3" else "x"

    measure(mine, "rgb", "noise_robustness_en", split="noise_0", out="a", labels="zh")
    measure(lambda question: "y", "rgb", "noise_robustness_en", split="noise_0", out="b")
    han = re.compile("[\u4e00-\u9fff]{4}")

    chinese = quadrag.result("a", labels="zh")
    both = quadrag.compare(chinese, "b")
    for result in (chinese, both, quadrag.compare("a", "b", labels="zh")):
        assert han.search(repr(result)) and "Percent" not in repr(result)
    assert all(map(han.search, chinese.notes))
    assert not han.search(repr(quadrag.result("a"))) and "Percent" in repr(quadrag.result("a"))
    monkeypatch.setenv("QUADRAG_LABELS", "zh")
    assert han.search(repr(quadrag.result("a"))) and not han.search(repr(quadrag.result("a", labels="en")))
    for labels in ("fr", "ZH"):
        with pytest.raises(quadrag.QuadragError, match=f"{labels}'; known: en, zh"):
            quadrag.result("a", labels=labels)


def test_a_notebook_shows_the_summary_and_a_link_to_the_page():
    found = measure(lambda question: question.query, name="<i>mine</i>")
    page = found._repr_html_()
    assert "<i>mine" not in page and f'<a href="{found.folder}/report.html">' in page
    both = quadrag.compare(found, measure(lambda question: "x", name="other"))
    assert "<i>" not in both._repr_html_() and "<table>" in both._repr_html_()
    broken = measure(lambda question: None if question.id < "8" else "x", name="broken")
    assert broken._repr_html_().index("INVALID") < broken._repr_html_().index("<table>")
