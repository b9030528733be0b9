"""A certificate beside a run's scores: for the judge and prompt it is of, and for no other; none that was altered."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from chat_server import ChatServer

import quadrag
from quadrag.baselines.certify.beside import lay_beside
from quadrag.baselines.certify.certificate import Certificate, read_certificate
from quadrag.baselines.report.compared.pairs import doubt_verdicts
from quadrag.baselines.report.summary import summarise_run
from quadrag.baselines.runs.finished import read_runs
from quadrag.baselines.tables.language import speak

LABELS = "id,question,answer,gold,label\n" + "".join(
    f"{n},What is number {n}?,It is {n + 1},{n},{'right' if n % 4 else 'wrong'}\n" for n in range(40)
)
RUN = ("crag", "qa", "--retriever", "none", "--data-dir", "sample", "--ledger", "ledger")


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
        (shared_cli.folder / "own.yaml").write_text(
            'llm_only: {user: "{query} {query_time}"}\njudge: {user: Reply with a score.}\n'
            'web: {user: "{references} {query} {query_time}"}\nentities: {user: Say in JSON what it is about.}\n'
            'web_kg: {user: "{web_results} {kg_response} {query} {query_time}"}\n',
            encoding="utf-8",
        )
        own = shared_cli("run", *RUN, "--judge", f"{server.url}#j", "--prompts", "own.yaml", "--out", "runs/own")
        assert own.code == 0, own.err
    return first


@pytest.fixture
def certified(first, shared_cli, cli, tmp_path):
    """A judge that finds all but ten of forty right, its certificate, and a run that it judged."""
    shutil.copytree(shared_cli.folder, tmp_path, dirs_exist_ok=True)
    return first


def _reply(match, score):
    from chat_server import Rule

    return Rule("reply", match=match, message={"content": f'{{"score": {score}}}'})


@pytest.mark.parametrize(
    ("of", "said"), [(9, "label more items"), (985, "ask it about all 985 labels, without --limit")]
)
def test_what_few_labels_leave_open_names_the_labels_that_there_are(of, said):
    rule = {"name": "the free rule plain", "agreement": 0.6, "beaten": False, "better": False}
    figures = {"agreement": 0.62, "agreement_interval": (0.48, 0.75), "kappa": 0.19, "kappa_interval": (-0.1, 0.5)}
    one = Certificate("", "", {"name": "L", "n": 9, "of": of}, "m", "k", "j", "", [], "", {**figures, "free": rule})
    free = "the free rule plain agrees 60%, so the judge adds little"
    assert one.sentence.endswith(f", kappa 0.19; {free}; its kappa may be chance alone, so {said}")
    chinese = speak(f"{one.sentence}.", "zh")
    assert "（95% 区间 48–75）" in chinese
    worse = replace(one, figures={**figures, "free": {**rule, "agreement": 0.9, "better": True}})
    assert worse.sentence.endswith("the free rule plain agrees more often, 90%, so do not use the judge")


def flat(text):
    return " ".join(text.split())


def test_a_run_says_how_far_its_judge_agrees_with_people(cli, certified):
    sentence = (
        "Judge j agrees with people no better than chance, 73% (95% 57–84) on labels, kappa -0.05; do not use it "
        "(truthfulness, accuracy, hallucination); ! marks what rests on them."
    )
    assert sentence in flat(certified.out)
    assert "orrected by the certificate" not in flat(certified.out), "it is not to be used"
    assert sentence in flat(Path("runs/a/report.html").read_text(encoding="utf-8"))
    assert sentence in flat(cli("report", "runs/a").out), "it is kept with the run"
    cli("view", "runs/a", "--html", "page.html", "--no-browser")
    assert sentence in flat(Path("page.html").read_text(encoding="utf-8"))
    assert sentence in flat(str(quadrag.result("runs/a")))
    assert sentence in flat(cli("report", "runs/a", "--certificate", "c.json", "--verbose").out)
    both = flat(cli("report", "runs/a", "runs/other", "--certificate", "c.json").out)
    assert sentence in both and both.index(sentence) < both.index(" verdict ─")


def test_what_a_worthless_judge_said_is_not_compared(certified):
    (mine,), (others,) = (parts for _, parts in read_runs(["runs/a", "runs/other"]))
    for one in (mine, others):
        one.run.constant_verdicts = {}
    name = "truthfulness.accuracy"
    assert doubt_verdicts(mine, others, name) == ""
    for one in (mine, others):
        one.scores = [{name: value for name, value in row.items() if name != "alike"} for row in one.scores]
    lay_beside([mine, others], [read_certificate(Path("c.json"))])
    shown = {line.label: line.cells[0].text for line in summarise_run(mine, "official").lines}
    marked = {label for label, text in shown.items() if text.endswith("!")}
    assert marked == {"truthfulness", "accuracy", "hallucination"} < {*shown}
    assert not any(line.cells[0].text.endswith("!") for line in summarise_run(others, "official").lines)
    assert doubt_verdicts(mine, others, name) == "the judge agrees with people no better than chance"
    assert doubt_verdicts(others, others, name) == "", "its judge has no certificate"
    assert doubt_verdicts(mine, others, "truthfulness.missing") == ""


def test_any_other_judge_is_not_certified(cli, certified):
    first = "to begin with, label what it judged: `quadrag label runs/unsure --out sheet.csv`."
    unchecked = "nor checked by words, which find 0 of 13 answers right"
    told = f"judge not certified: unsure (truthfulness, accuracy, hallucination), {unchecked}; {first}"
    assert told in flat(cli("report", "runs/unsure").out)
    assert "not certified" not in cli("report", "runs/other").out, "all its verdicts are the same, which says more"
    unused = "The certificate of j (accuracy) is not used:"
    whys = {"unsure": ("unsure", "the judge here is unsure"), "own": ("j", "it is of another metric or prompt")}
    for name, (judge, why) in whys.items():
        done = cli("report", f"runs/{name}", "--certificate", "c.json")
        assert f"judge not certified: {judge} (truthfulness, accuracy, hallucination)" in flat(done.out)
        assert f"{unused} {why}." in flat(done.out)
    cli("run", *RUN, "--out", "runs/unjudged")
    assert "certified" not in cli("report", "runs/unjudged").out
    assert f"{unused} nothing here is judged." in flat(cli("report", "runs/unjudged", "--certificate", "c.json").out)
    assert unused not in flat(cli("report", "runs/a", "runs/other", "--certificate", "c.json").out), "it is of one"


def test_the_page_tabulates_how_far_a_judge_agrees(cli, certified):
    page = Path("runs/a/report.html").read_text(encoding="utf-8")
    for part in (
        "Agreement of the judge with people",
        "73<small>57–84</small>",
        "Agreement in percent; kappa and AC1: 1 is the best",
        "j, labels",
    ):
        assert part in page
    cli("report", "runs/other", "--certificate", "c.json", "--html", "other.html")
    assert "Agreement of the judge" not in Path("other.html").read_text(encoding="utf-8"), "another judge"


def test_an_altered_certificate_is_refused(cli, certified):
    whole = json.loads(Path("c.json").read_text(encoding="utf-8"))
    whole["figures"]["agreement"] = 0.99
    Path("altered.json").write_text(json.dumps(whole), encoding="utf-8")
    Path("other.json").write_text("{}", encoding="utf-8")
    for name, said in (
        ("altered", "was altered after it was made"),
        ("other", "is no certificate"),
        ("no", "cannot read"),
    ):
        done = cli("report", "runs/a", "--certificate", f"{name}.json")
        assert done.code == 2
        assert re.fullmatch(f"quadrag: [^\n]*{said}[^\n]*\n", done.err), done.err


def test_a_good_judges_certificate_corrects_the_score_alone(cli, tmp_path):
    (tmp_path / "labels.csv").write_text(
        LABELS.replace("right", "r").replace("wrong", "right").replace(",r\n", ",wrong\n")
    )
    with ChatServer(models=["j"], text='{"score": 0}') as server:
        from chat_server import Rule

        for n in range(0, 36, 4):
            server.rules.append(Rule("reply", match=f'"What is number {n}?"', message={"content": '{"score": 1}'}))
        judge = ("--judge", f"{server.url}#j")
        done = cli("certify-judge", "labels.csv", *judge, "--ledger", "ledger", "--out", "c.json")
        assert "kappa 0.93" in done.out, done.out + done.err
        run = cli("run", *RUN, *judge, "--certificate", "c.json", "--out", "runs/a")
        given = ("--data-dir", "sample", "--ledger", "ledger", *judge, "--certificate", "c.json")
        every = flat(cli("run", "crag", "--all", *given, "--out", "runs/all").out)
        few = cli("run", *RUN, *judge, "--certificate", "c.json", "--limit", "4", "--out", "runs/few")
    # 0 of 15, with 9 of 10 found and none of 30 taken: 0 again, with the certificate's doubt.
    assert re.search(r"Corrected by the certificate alone \(Rogan–Gladen\), public accuracy: \d+\.\d", flat(run.out))
    assert "if the judge errs here as often as on labels" in flat(run.out)
    places = re.findall(r"alone \(Rogan–Gladen\), (.*?): \d", every)
    assert places == [f"{block}, public accuracy" for block in ("LLM only", "Task 1", "Task 2")]
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
    assert "No item is labelled 0." in done.out
    assert read_certificate(tmp_path / "d.json").rates is None, "three grades are no rate"
