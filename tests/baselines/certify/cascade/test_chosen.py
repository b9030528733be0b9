"""A cascade of judges is chosen on labels, and measured on others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cascaded_judges import CASCADE, LABELS, both, flat


def test_what_each_judge_decides_is_chosen_on_labels(cli, certified, judges):
    assert re.search(r"^rule:bounded\[right\] > small\[wrong\] +100\.0% +50\.0% \*$", certified.out, re.MULTILINE)
    assert re.search(r"^nothing +100\.0% +0\.0%$", certified.out, re.MULTILINE)
    honest = "(5 parts by group, each judged as the others choose): agreement 100.0%, 50.0% of the calls saved."
    assert honest in flat(certified.out)
    assert re.search(r"^small +75\.0 ", certified.out, re.MULTILINE)
    row = json.loads(Path("c.json").read_text(encoding="utf-8"))
    assert (row["judge"], len(row["prompts"]), row["figures"]["agreement"]) == (CASCADE, 1, 1.0)
    assert row["figures"]["cascade"]["saved"] == 0.5
    again = cli("certify-judge", "labels.csv", "--judge", "rule:bounded", *both(judges), "--keep-agreement", "0.7")
    assert re.search(r"^rule:bounded\[right, wrong\] +75\.0% +100\.0% \*$", again.out, re.MULTILINE), "no call at all"
    assert not judges.bodies, "every reply is kept"


def test_figures_are_of_labels_that_were_not_chosen_on(cli, tmp_path):
    # Whether a judge is right is a throw of a coin, which a choice among its verdicts can only seem to know.
    import numpy as np

    draw = np.random.RandomState(5)
    coin = lambda: ("right", "wrong")[draw.randint(2)]  # noqa: E731
    ids = range(60)
    (tmp_path / "labels.csv").write_text("id,label\n" + "".join(f"{n},{coin()}\n" for n in ids))
    for name in ("one", "last"):
        (tmp_path / f"{name}.csv").write_text(
            "id,verdict,confidence\n" + "".join(f"{n},{coin()},{draw.uniform(0.5, 1):.3f}\n" for n in ids)
        )
    done = cli("certify-judge", "labels.csv", "--verdicts", "one.csv", "--judge-large", "last.csv", "--out", "c.json")
    chosen = float(re.search(r"([\d.]+)% +[\d.]+% \*$", done.out, re.MULTILINE)[1]) / 100
    honest = json.loads(Path("c.json").read_text(encoding="utf-8"))["figures"]["agreement"]
    assert f"agreement {honest:.1%}" in flat(done.out) and honest < chosen - 0.1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--judge-large", "v.csv"], "--judge-large is asked last; name what comes before it with --judge or --verd"),
        (["--verdicts", "v.csv", "--judge-large", "v.csv"], "v is named twice in one cascade; expected another"),
        (["--verdicts", "v.csv", "--keep-agreement", "0.9"], "--keep-agreement is of a cascade; name its last judge"),
        (["--judge", "rule:exact", "--judge-large", "v.csv", "--against", "v.csv"], "takes neither --against nor"),
        (["--judge", "rule:exact", "--judge-large", "v.csv", "--keep-agreement", "0.99"], r"v alone does on 0\.7500"),
        (["--judge", "rule:exact", "--judge-large", "unsure.csv"], "unsure.csv:2: confidence 'very'; expected a num"),
        (["--judge", "rule:exact", "--judge-large", "empty.csv"], "empty has no readable verdict on labels"),
        (["nothing.csv", "--judge", "rule:exact", "--judge-large", "v.csv"], "no file nothing.csv; expected a CSV"),
    ],
)
def test_one_line_for_a_cascade_that_cannot_be_chosen(cli, tmp_path, options, said):
    (tmp_path / "labels.csv").write_text(LABELS, encoding="utf-8")
    rows = "".join(f"{n},{'right' if n % 4 != 1 else 'wrong'}\n" for n in range(40))
    (tmp_path / "v.csv").write_text(f"id,verdict\n{rows}")
    (tmp_path / "unsure.csv").write_text("id,verdict,confidence\n1,right,very\n")
    (tmp_path / "empty.csv").write_text("id,verdict\n1,\n")
    options = options if options[0] == "nothing.csv" else ["labels.csv", *options]
    done = cli("certify-judge", *options)
    assert done.code == 2 and not done.out
    assert re.fullmatch(f"quadrag: [^\n]*{said}[^\n]*\n", done.err), done.err
