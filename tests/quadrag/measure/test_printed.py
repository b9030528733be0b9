"""What is shown goes to any stream: of a narrow encoding, without attributes, closed, or whose reader has gone."""

from __future__ import annotations

import codecs
import csv
import io
import os
import sys
from pathlib import Path

import pytest
from own_system import measure

import quadrag
from quadrag.printing import write

RGB = ("rgb", "noise_robustness_zh")
HALF = "巴黎 \ud83d"


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


class Unlike(Narrow):
    """A console that says another encoding than it has."""

    encoding = "no such one"

    def read(self):
        self.flush()
        return self.buffer.getvalue().decode("ascii")


class Text(io.StringIO):
    read = io.StringIO.getvalue


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
    "utf-8": lambda: Narrow("utf-8"),
    "utf-16": lambda: Narrow("utf-16"),
    "unknown": lambda: Unlike("ascii"),
    "python 2": lambda: codecs.getwriter("ascii")(io.BytesIO()),
    "bare": Bare,
    "text": Text,
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
        if hasattr(stream, "texts") or isinstance(stream, (Narrow, Text)):
            shown = stream.read()
            assert "accuracy" in shown or "noise" in shown
            assert set("巴我?") & set(shown) and not set("\ud83d\udc00") & set(shown)


def test_what_a_stream_shows_stays_and_lines_stay_lines():
    for encoding, text, shown in (
        ("utf-8", "巴黎 😀 – ─ \ud83d", "巴黎 😀 – ─ \ufffd"),
        ("utf-8", "\ud83d\ude00", "😀"),
        ("gbk", "巴黎 – ── \ud83d", "巴黎 – ── ?"),
        ("cp1252", "café – 巴黎 ──", "café – ?? --"),
        ("ascii", "32.0–80.7, 6 × 5", "32.0-80.7, 6 x 5"),
    ):
        stream = Narrow(encoding)
        write(text, file=stream)
        assert stream.read() == f"{shown}\n", encoding


def test_frames_and_pages_hold_texts_alone(runs, tmp_path):
    both, three = quadrag.compare(*runs[:2]), quadrag.compare(*runs)
    frames = [runs[0].to_pandas(), runs[0].to_pandas(by="metric"), both.to_pandas(), three.to_pandas()]
    for at, frame in enumerate(frames):
        frame.to_csv(tmp_path / f"{at}.csv")
        frame.to_json(tmp_path / f"{at}.json")
    with Path(tmp_path / "0.csv").open(encoding="utf-8", newline="") as text:
        assert {row["answer"].partition(" ")[2][:1] for row in csv.DictReader(text)} == {"\ufffd"}
    for text in (repr(runs[0]), repr(both), runs[0]._repr_html_(), both._repr_html_(), three._repr_html_()):
        assert text.encode()
    assert runs[0].report(tmp_path / "page.html").read_text(encoding="utf-8").count("巴黎")
