"""The known label sets: genuine labels of other authors, with figures as they were measured by hand."""

import csv
import re
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from chat_server import ChatServer
from small_servers import Quiet, serving

from quadrag.judges.certificate import Verdicts, certify, find_verdicts, measure_ceiling
from quadrag.judges.labels import open_labels
from quadrag.stats import wilson
from quadrag.stats.agreement import ppi_mean


@pytest.fixture
def real(real_data):
    return lambda name, metric=None: open_labels(name, metric, real_data("real_labels"))


def test_gpt4_on_openqa_eval(real):
    labels = real("openqa-eval")
    found = certify(labels, find_verdicts(labels, "recorded:gpt-4")).figures
    assert (len(labels.items), found["n"], found["groups"]) == (985, 982, 200)
    assert [round(found[name], 4) for name in ("agreement", "kappa", "ac1")] == [0.8564, 0.7105, 0.7156]
    assert [round(bound, 3) for bound in found["agreement_interval"]] == [0.825, 0.886]
    assert found["unreadable"] == {"unreadable": 3}
    ceiling = found["ceiling"]
    assert (ceiling["n"], round(ceiling["accuracy"], 4), round(ceiling["kappa"], 4)) == (978, 0.865, 0.7261)


def test_200_labels_correct_gpt4s_score_more_narrowly_than_they_do_alone(real):
    labels = real("openqa-eval")
    given = find_verdicts(labels, "recorded:gpt-4").grades
    both = [(item.label == "right", given[item.id] == "right") for item in labels.items if given[item.id]]
    truth, said = (np.array(column, dtype=float) for column in zip(*both, strict=True))
    draw, widths = np.random.RandomState(7), []
    for _ in range(300):
        here, rest = draw.randint(0, 982, 200), draw.randint(0, 982, 982)
        found = ppi_mean(truth[here], said[here], said[rest]).interval, wilson(truth[here].sum(), 200)
        widths.append([one.high - one.low for one in found])
    assert np.mean(widths, axis=0) == pytest.approx([0.104, 0.137], abs=0.002)


def test_bems_rule_gives_all_of_its_verdicts(real, real_data):
    labels = real("openqa-eval")
    ours = find_verdicts(labels, "recorded:bem").grades
    with (real_data("real_labels") / "openqa_eval" / "NQ301_BEM.tsv").open(encoding="utf-8", newline="") as text:
        theirs = {row["id"]: row["Acceptable?"] for row in csv.DictReader(text, delimiter="\t")}
    assert len(theirs) == 985
    assert {name: {"Yes": "right", "No": "wrong"}[said] for name, said in theirs.items()} == ours


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("uhgeval", {"1": 1291, "0": 3702}),
        ("wice", {"1": 43 + 191, "0": 115}),
        ("ragchecker", {"-1": 102, "0": 85, "1": 93}),
        ("evouna", {"right": 11_058, "wrong": 4041}),
        ("alce", {"1": 102, "2": 74, "3": 88, "4": 233, "5": 303}),
    ],
)
def test_what_other_sets_hold(real, name, counts):
    labels = real(name)
    assert {label: sum(item.label == label for item in labels.items) for label in labels.graded.grades} == counts
    assert len({item.id for item in labels.items}) == len(labels.items)
    assert all(item.question and (item.golds or item.passages or name == "alce") for item in labels.items)


def test_ragcheckers_annotators(real):
    for metric, share in (("omnieval.acc", 0.6), ("omnieval.com", 0.714)):
        found = measure_ceiling(real("ragchecker", metric))
        assert found.n == 280 and round(found.accuracy, 3) == share


def test_usefulness_is_held_against_a_file_of_grades(real):
    labels = real("alce")
    said = {item.id: "5" if len(item.answer) > 500 else "4" for item in labels.items}
    figures = certify(labels, Verdicts("length", said)).figures
    assert figures["n"] == 800 and figures["groups"] < 800
    assert figures["agreement"] == sum(said[item.id] == item.label for item in labels.items) / 800
    assert figures["kappa_interval"][0] < figures["kappa"] < figures["kappa_interval"][1]


def test_a_set_is_fetched_verified_and_kept(cli, monkeypatch, real_data):
    content = (real_data("real_labels") / "wice" / "claim_dev.jsonl").read_bytes()

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
        short = cli("certify-judge", "wice")
        sizes = [len(open_labels(name).items) for name in ("wice", "WiCE")]
    assert short.code == 2 and "3490478 bytes" in short.err
    assert sizes == [349, 349]
    assert len(Mirror.asked) == 2, "kept for the next time"


def test_pairs_are_the_sign_of_two_values(cli, real_data):
    with ChatServer(models=["j"], text='{"prediction": 1}') as server:
        given = ("--data-dir", real_data("real_labels"), "--judge", f"{server.url}#j", "--ledger", "L")
        done = cli("certify-judge", "ragchecker", *given)
    # It gives every answer the same, so it calls every pair even: right on the 85 that people do.
    assert re.search(rf"^j +{8500 / 280:.1f}! +0\.00! ", done.out, flags=re.MULTILINE), done.err
    assert re.search(r"^people \(ceiling\) +60\.0", done.out, flags=re.MULTILINE)
