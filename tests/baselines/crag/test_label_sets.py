"""The known figures of judges and rules on genuine labels of other authors, as they were measured by hand."""

import numpy as np
import pytest

from quadrag.judges.ask import Verdicts, find_verdicts
from quadrag.judges.certificate import certify, measure_ceiling
from quadrag.judges.known import open_labels
from quadrag.stats import wilson
from quadrag.stats.agreement import agreement, count_pairs
from quadrag.stats.ppi import ppi_mean

# Agreement and kappa of the bounded rule by system; shares of 3,020 answers.
BOUNDED = {
    "fid": (0.8897, 0.765),
    "gpt35": (0.8371, 0.6752),
    "chatgpt": (0.7974, 0.5679),
    "gpt4": (0.8146, 0.5784),
    "newbing": (0.7681, 0.4761),
}


WHOLE = ([0.8214, 0.6184], [0.8346, 0.6414])


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
    import csv

    labels = real("openqa-eval")
    ours = find_verdicts(labels, "recorded:bem").grades
    with (real_data("real_labels") / "openqa_eval" / "NQ301_BEM.tsv").open(encoding="utf-8", newline="") as text:
        theirs = {row["id"]: row["Acceptable?"] for row in csv.DictReader(text, delimiter="\t")}
    assert len(theirs) == 985
    assert {name: {"Yes": "right", "No": "wrong"}[said] for name, said in theirs.items()} == ours


@pytest.mark.slow
def test_rules_on_evouna_by_system(real):
    labels = real("evouna")
    classes = list(labels.graded.grades)
    assert len(labels.items) == 15_099
    whole = {}
    for name in ("bounded", "plain"):
        said = find_verdicts(labels, f"rule:{name}").grades
        table = count_pairs([item.label for item in labels.items], list(said.values()), classes)
        whole[name] = [round(value, 4) for value in agreement(table)[1:3]]
    bounded = find_verdicts(labels, "rule:bounded")
    for system, known in BOUNDED.items():
        items = [item for item in labels.items if item.id.endswith(f"-{system}")]
        table = count_pairs([item.label for item in items], [bounded.grades[item.id] for item in items], classes)
        assert tuple(round(value, 4) for value in agreement(table)[1:3]) == known
    found = certify(labels, bounded).figures
    assert found["ceiling"] is None
    assert (whole["bounded"], whole["plain"]) == WHOLE


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("uhgeval", {"1": 1291, "0": 3702}),
        ("wice", {"1": 43 + 191, "0": 115}),
        ("ragchecker", {"-1": 102, "0": 85, "1": 93}),
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
