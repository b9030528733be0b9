"""`quadrag certify-judge` reads verdicts in many forms: pairs, annotation tools, a row for every annotator."""

from __future__ import annotations

import csv
import json
import re
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from chat_server import ChatServer
from graded_sheets import LABELS
from small_servers import Quiet, serving

from quadrag.baselines.certify.labels import find_graded


@pytest.mark.parametrize(
    ("right", "wrong"), [("对", "错"), ("是", "否"), ("1", "0"), ("TRUE", "False"), ("yes", "no"), ("正确", "错误")]
)
def test_labels_and_columns_as_people_write_them(sheets, right, wrong):
    rows = LABELS.partition("\n")[2]
    rows = rows.replace(",right", f",{right}").replace(",wrong", f",{wrong}")
    done = sheets(labels=f"编号,问题,回答,标准答案,标签\n{rows}")
    assert done.code == 0 and done.out == sheets().out, done.err
    assert find_graded("rejection_rate").read("是") == "yes"
    assert find_graded("rejection_rate").read("对") is None, "right, or a refusal"


def test_a_set_is_fetched_verified_and_kept(cli, monkeypatch, real_data):
    genuine = real_data("real_labels") / "wice" / "claim_dev.jsonl"
    content = genuine.read_bytes()

    class Mirror(Quiet):
        asked: ClassVar[list[str]] = []

        def do_GET(self):
            self.asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(content if len(self.asked) > 1 else content[:-1])

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Mirror)) as address:
        monkeypatch.setenv("QUADRAG_MIRROR", address)
        monkeypatch.setenv("QUADRAG_CACHE", str(Path("cache").absolute()))
        short = cli("certify-judge", "wice", "--items", "items.csv")
        done = cli("certify-judge", "wice", "--items", "items.csv")
        again = cli("certify-judge", "WiCE-lenient", "--items", "more.csv")
    assert short.code == 2 and "3490478 bytes, expected 3490479" in short.err
    assert done.out == "items.csv: 349 items\n" and again.out == "more.csv: 349 items\n"
    path = "/ryokamoi/wice/ddeb6c183665e2a20c5f03c5aa07f03888b9870f/data/entailment_retrieval/claim/dev.jsonl"
    assert Mirror.asked == [path, path], "kept for the other set of the same file"


def test_pairs_are_the_sign_of_two_values(cli, tmp_path, real_data):
    folder = real_data("real_labels")
    with ChatServer(models=["j"], text='{"prediction": 1}') as server:
        done = cli(
            "certify-judge", "ragchecker", "--data-dir", folder, "--judge", f"{server.url}#j", "--ledger", "ledger"
        )
        assert done.code == 0, done.err
    # It gives every answer the same, so it calls every pair even: right on the 85 that people do.
    assert re.search(rf"^j +{8500 / 280:.1f}! +0\.00! ", done.out, flags=re.MULTILINE)
    assert re.search(r"^people \(ceiling\) +60\.0", done.out, flags=re.MULTILINE)


def test_items_go_out_and_come_back(cli, tmp_path, real_data):
    folder = real_data("real_labels")
    assert cli("certify-judge", "openqa-eval", "--data-dir", folder, "--items", "items.csv").code == 0
    with (tmp_path / "items.csv").open(encoding="utf-8-sig", newline="") as text:
        rows = list(csv.DictReader(text))
    with (tmp_path / "mine.csv").open("w", encoding="utf-8", newline="") as text:
        out = csv.writer(text)
        out.writerows([["id", "answer", "verdict"], *([row["id"], row["answer"], row["label"]] for row in rows)])
    for labels in (("openqa-eval", "--data-dir", folder), ("items.csv",)):
        done = cli("certify-judge", *labels, "--verdicts", "mine.csv")
        assert done.code == 0, done.err
        assert re.search(r"^mine +100\.0 +1\.00 ", done.out, flags=re.MULTILINE)


STUDIO = [
    {
        "id": 7,
        "data": {"question": "q", "answer": "a"},
        "annotations": [
            {"result": [{"value": {"choices": ["right"]}}]},
            {"result": [{"value": {"choices": ["right"]}}]},
        ],
    },
    {
        "id": 8,
        "data": {"question": "q", "answer": "b"},
        "annotations": [
            {"result": [{"value": {"choices": ["wrong"]}}]},
            {"result": [{"value": {"choices": ["right"]}}]},
        ],
    },
    {
        "id": 9,
        "data": {"question": "q", "answer": "c"},
        "annotations": [{"result": [{"value": {"choices": ["wrong"]}}]}],
    },
]

ARGILLA = [
    {
        "id": "7",
        "fields": {"question": "q", "answer": "a"},
        "responses": {"label": [{"value": "right"}, {"value": "right"}]},
    },
    {
        "id": "8",
        "fields": {"question": "q", "answer": "b"},
        "responses": {"label": [{"value": "wrong"}, {"value": "right"}]},
    },
    {"id": "9", "fields": {"question": "q", "answer": "c"}, "responses": [{"values": {"label": {"value": "wrong"}}}]},
]


@pytest.mark.parametrize("export", [STUDIO, ARGILLA], ids=["label studio", "argilla"])
def test_exports_of_annotation_tools(cli, tmp_path, export):
    (tmp_path / "export.json").write_text(json.dumps(export), encoding="utf-8")
    (tmp_path / "v.csv").write_text("id,verdict\n7,right\n9,wrong\n")
    done = cli("certify-judge", "export.json", "--verdicts", "v.csv")
    assert done.code == 0, done.err
    assert "export: 2 labels (right 1, wrong 1)" in done.out
    assert "1 items on which people split evenly are left out." in done.out


def test_a_row_for_every_annotator(cli, tmp_path):
    rows = "1,ann,right\n1,bob,right\n2,ann,wrong\n2,bob,right\n3,ann,wrong\n"
    (tmp_path / "labels.csv").write_text("id,annotator,label\n" + rows)
    (tmp_path / "v.csv").write_text("id,verdict\n1,right\n3,wrong\n")
    done = cli("certify-judge", "labels.csv", "--verdicts", "v.csv")
    assert done.code == 0, done.err
    assert "labels: 2 labels (right 1, wrong 1)" in done.out
    # The two agree on one of the two items that both labelled.
    assert re.search(r"^people \(ceiling\) +50\.0 +\S+ +\S+ +2$", done.out, flags=re.MULTILINE)
    (tmp_path / "labels.csv").write_text("id,annotator,label\n" + rows + "3,ann,right\n")
    twice = cli("certify-judge", "labels.csv", "--verdicts", "v.csv")
    assert twice.code == 2 and "labels.csv:7: annotator 'ann' labelled item '3' twice" in twice.err


def test_hallucination_needs_passages_and_no_gold(cli, tmp_path):
    (tmp_path / "labels.csv").write_text("id,question,answer,label\n1,q,a,0\n2,q,b,1\n")
    with ChatServer(models=["j"], text='{"prediction": 1}') as server:
        spec = ("--metric", "omnieval.hal", "--judge", f"{server.url}#j", "--ledger", "ledger")
        bare = cli("certify-judge", "labels.csv", *spec)
        (tmp_path / "labels.csv").write_text("id,question,answer,passages,label\n1,q,a,text of one,0\n2,q,b,other,1\n")
        done = cli("certify-judge", "labels.csv", *spec)
    assert bare.code == 2 and "labels has no passages to show a judge" in bare.err
    assert done.code == 0, done.err
    assert re.search(r"^j +50\.0! +0\.00! ", done.out, flags=re.MULTILINE)
    assert any("text of one" in body["messages"][-1]["content"] for body in server.bodies)
