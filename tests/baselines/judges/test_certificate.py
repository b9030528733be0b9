"""A certificate beside a run's scores: for the judge and prompt it is of, and for no other; none that was altered."""

import json
import re
import shutil
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule

import quadrag
from quadrag.baselines.judges.certificate import read_certificate

LABELS = "id,question,answer,gold,label\n" + "".join(
    f"{n},What is number {n}?,It is {n + 1},{n},{'right' if n % 4 else 'wrong'}\n" for n in range(40)
)
RUN = ("crag", "qa", "--retriever", "none", "--data-dir", "sample", "--ledger", "ledger")
CHANCE = "Judge j agrees with people no better than chance, 73% (95% 57–84) on labels, kappa -0.05; do not use it"


@pytest.fixture(scope="module")
def first(shared_cli):
    """What `certified` gives, made once, in the folder that the tests share."""
    (shared_cli.folder / "labels.csv").write_text(LABELS, encoding="utf-8")
    with ChatServer(models=["j", "other", "unsure"], text='{"score": 1}') as server:
        server.rules.append(_reply('"What is number 7?"', 0))
        spec = ("--judge", f"{server.url}#j", "--ledger", "ledger")
        done = shared_cli("certify-judge", "labels.csv", *spec, "--out", "c.json")
        assert done.code == 0, done.err
        first = shared_cli("run", *RUN, "--judge", f"{server.url}#j", "--certificate", "c.json", "--out", "runs/a")
        assert first.code == 0, first.err
        shared_cli("run", *RUN, "--judge", f"{server.url}#other", "--out", "runs/other")
        server.rules += [_reply("grammy", 1), _reply("latest closing price", 1), _reply("", 0)]
        shared_cli("run", *RUN, "--judge", f"{server.url}#unsure", "--out", "runs/unsure")
    return first


@pytest.fixture
def certified(first, shared_cli, cli, tmp_path):
    """A judge that finds all but ten of forty right, its certificate, and a run that it judged."""
    shutil.copytree(shared_cli.folder, tmp_path, dirs_exist_ok=True)
    return first


def _reply(match, score):
    return Rule("reply", match=match, message={"content": f'{{"score": {score}}}'})


def flat(text):
    return " ".join(text.split())


def test_a_run_says_how_far_its_judge_agrees_with_people(cli, certified):
    assert CHANCE in flat(certified.out)
    assert "orrected by the certificate" not in flat(certified.out), "it is not to be used"
    page = Path("runs/a/report.html").read_text(encoding="utf-8")
    assert CHANCE in flat(page) and "73<small>57–84</small>" in page
    assert CHANCE in flat(cli("report", "runs/a").out), "it is kept with the run"
    assert CHANCE in flat(str(quadrag.result("runs/a")))
    both = flat(cli("report", "runs/a", "runs/other", "--certificate", "c.json").out)
    assert both.index(CHANCE) < both.index(" verdict ─")


def test_what_a_worthless_judge_said_is_marked(cli, certified):
    shown = cli("report", "runs/a").out
    marked = {name for name, value in re.findall(r"(?m)^(\w+) +(-?\d+\.\d!?)", shown) if value.endswith("!")}
    assert marked == {"truthfulness", "accuracy", "hallucination"}
    assert re.search(r"(?m)^missing +\d+\.\d ", shown)


def test_any_other_judge_is_not_certified(cli, certified):
    unused = "The certificate of j (accuracy) is not used"
    assert "judge not certified: unsure" in flat(cli("report", "runs/unsure").out)
    assert "not certified" not in cli("report", "runs/other").out, "all its verdicts are the same, which says more"
    assert unused in flat(cli("report", "runs/unsure", "--certificate", "c.json").out)
    cli("run", *RUN, "--out", "runs/unjudged")
    assert "certified" not in cli("report", "runs/unjudged").out
    assert unused in flat(cli("report", "runs/unjudged", "--certificate", "c.json").out)
    assert unused not in flat(cli("report", "runs/a", "runs/other", "--certificate", "c.json").out), "it is of one"


def test_an_altered_certificate_is_refused(cli, certified):
    whole = json.loads(Path("c.json").read_text(encoding="utf-8"))
    whole["figures"]["agreement"] = 0.99
    Path("altered.json").write_text(json.dumps(whole), encoding="utf-8")
    Path("other.json").write_text("{}", encoding="utf-8")
    for name in ("altered", "other", "no"):
        done = cli("report", "runs/a", "--certificate", f"{name}.json")
        assert done.code == 2 and f"{name}.json" in done.err and done.err.count("\n") == 1


def test_a_good_judges_certificate_corrects_the_score_alone(cli, tmp_path):
    (tmp_path / "labels.csv").write_text(
        LABELS.replace("right", "r").replace("wrong", "right").replace(",r\n", ",wrong\n")
    )
    with ChatServer(models=["j"], text='{"score": 0}') as server:
        server.rules += [_reply(f'"What is number {n}?"', 1) for n in range(0, 36, 4)]
        judge = ("--judge", f"{server.url}#j")
        done = cli("certify-judge", "labels.csv", *judge, "--ledger", "ledger", "--out", "c.json")
        assert "kappa 0.93" in done.out, done.out + done.err
        run = cli("run", *RUN, *judge, "--certificate", "c.json", "--out", "runs/a")
        few = cli("run", *RUN, *judge, "--certificate", "c.json", "--limit", "4", "--out", "runs/few")
    # 0 of 15, with 9 of 10 found and none of 30 taken: 0 again, with the certificate's doubt.
    found = re.search(r"\(Rogan–Gladen\), public accuracy: (\d+\.\d) \((\d+\.\d)–(\d+\.\d)\)", flat(run.out))
    assert found, run.out
    value, low, high = map(float, found.groups())
    assert low <= value <= high and high - low < 90
    assert few.code == 0 and "orrected by the certificate" not in flat(few.out), "4 items are too few"


def test_rates_are_of_the_value_and_not_of_the_order_of_the_grades(cli, tmp_path):
    # Of four hallucinations (1) three are found, of six clean answers (0) one is taken for one.
    labels = "id,label\n" + "".join(f"{n},{int(n < 4)}\n" for n in range(10))
    (tmp_path / "labels.csv").write_text(labels)
    (tmp_path / "v.csv").write_text("id,verdict\n" + "".join(f"{n},{int(n in (1, 2, 3, 9))}\n" for n in range(10)))
    done = cli("certify-judge", "labels.csv", "--metric", "omnieval.hal", "--verdicts", "v.csv", "--out", "c.json")
    assert done.code == 0, done.err
    assert read_certificate(tmp_path / "c.json").rates == (3 / 4, 4, 5 / 6, 6)
    (tmp_path / "labels.csv").write_text(labels.replace(",0", ",2"))
    (tmp_path / "v.csv").write_text("id,verdict\n1,1\n" + "".join(f"{n},2\n" for n in range(5, 10)))
    done = cli("certify-judge", "labels.csv", "--metric", "omnieval.acc", "--verdicts", "v.csv", "--out", "d.json")
    assert done.code == 0, done.err
    assert read_certificate(tmp_path / "d.json").rates is None, "three grades are no rate"
