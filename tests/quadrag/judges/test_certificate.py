"""A certificate beside a run's scores: for the judge and prompt it is of, and for no other; none that was altered."""

import json
import re
import shutil
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule

import quadrag

pytestmark = pytest.mark.plugins

LABELS = "id,question,answer,gold,label\n" + "".join(
    f"{n},What is number {n}?,It is {n + 1},{n},{'right' if n % 4 else 'wrong'}\n" for n in range(40)
)
RUN = ("crag", "qa", "--retriever", "none", "--data-dir", "sample", "--ledger", "ledger")
CHANCE = "no better than chance, 73% (95% 57–84) on labels, kappa -0.05"


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
    marked = {name for name, value in re.findall(r"(?m)^(\w+) +(-?\d+\.\d!?)", certified.out) if value.endswith("!")}
    assert marked == {"truthfulness", "accuracy", "hallucination"}, "what rests on a worthless judge"
    page = Path("runs/a/report.html").read_text(encoding="utf-8")
    # It is kept with the run.
    for shown in (certified.out, page, cli("report", "runs/a").out, str(quadrag.result("runs/a"))):
        assert CHANCE in flat(shown)
    both = flat(cli("report", "runs/a", "runs/other", "--certificate", "c.json").out)
    assert both.index(CHANCE) < both.index(" verdict ─")


def test_any_other_judge_is_not_certified(cli, certified):
    unused = "The certificate of j (labels) is not used"
    for options in ((), ("--certificate", "c.json")):
        shown = flat(cli("report", "runs/unsure", *options).out)
        assert "against people: judge unsure" in shown and (unused in shown) == bool(options)
    assert unused not in flat(cli("report", "runs/a", "runs/other", "--certificate", "c.json").out), "it is of one"
    assert "against people" not in cli("report", "runs/other").out, "all its verdicts are the same, which says more"


def test_an_altered_certificate_is_refused(cli, certified):
    whole = json.loads(Path("c.json").read_text(encoding="utf-8"))
    whole["figures"]["agreement"] = 0.99
    Path("altered.json").write_text(json.dumps(whole), encoding="utf-8")
    Path("other.json").write_text("{}", encoding="utf-8")
    for name in ("altered", "other", "no"):
        done = cli("report", "runs/a", "--certificate", f"{name}.json")
        assert done.code == 2 and f"{name}.json" in done.err and done.err.count("\n") == 1


def test_a_certificate_is_of_one_prompt(cli, tmp_path):
    (tmp_path / "labels.csv").write_text(LABELS, encoding="utf-8")
    (tmp_path / "j.yaml").write_text("judges: [{prompt: plain}]", encoding="utf-8")
    with ChatServer(models=["j"], text='{"score": 1}') as server:
        server.rules.append(Rule("reply", match="Verdict:", message={"content": "The same.\nVerdict: yes"}))
        server.rules.insert(0, Rule("reply", match='"What is number 7?"', message={"content": "Verdict: no"}))
        asked = ("--judge", f"{server.url}#j", "--ledger", "l")
        assert cli("certify-judge", "labels.csv", *asked, "--judge-prompt", "plain", "--out", "p.json").code == 0
        for how, fits in ((("--judge-prompt", "plain"), True), (("--spec", "j.yaml"), True), ((), False)):
            out = f"runs/{len(how)}{'-'.join(how[:1])}"
            done = cli("run", *RUN[:-2], *asked, *how, "--certificate", "p.json", "--out", out)
            assert done.code == 0 and ("is not used" not in flat(done.out)) == fits, done.err + done.out
        refused = cli("run", *RUN[:-2], *asked, "--judge-prompt", "plain", "--judge-format", "json")
        assert refused.code == 2 and refused.err.count("\n") == 1 and "--judge-format" in refused.err
