"""`quadrag show`: single questions of a run or of two, as the terminal, Python and the page select and write them."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from chat_server import ChatServer, Rule

import quadrag
from quadrag.cli import main
from quadrag.loading import load_rows
from quadrag.records import Passage, Question, read_jsonl, write_jsonl
from quadrag.reporting.page.page import collect_answers, read_words
from quadrag.reporting.questions import RunReader, find_phrase, note_gold, place_gold
from quadrag.results import read_run
from quadrag.results.record import sha256
from quadrag.run.folder import read_runs

pytestmark = pytest.mark.plugins

SAMPLE = ("--data-dir", "sample")
CRAG = ("run", "crag", "task_1_2", "--split", "public", *SAMPLE)
PLACE = ("rgb", "information_integration_en")
ROBUST = ("rgb", "noise_robustness_en")
FAILED = ("3", "9")
CASES = yaml.safe_load(Path(__file__).with_name("gold.yaml").read_text(encoding="utf-8"))


def ids(ran: Any) -> list[str]:
    """The ids of the questions that were shown, in order."""
    assert ran.code == 0, ran.err
    return re.findall(r"^\w+ (?:noise_\d+|public|test) (\S+)$", ran.out, re.MULTILINE)


def ask(cli: Any, *place: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in cli("questions", *place, *SAMPLE).out.splitlines()]


def score(cli: Any, name: str, rows: Any, *more: str) -> None:
    write_jsonl(Path(f"{name}.jsonl"), rows)
    assert cli("score", f"{name}.jsonl", *more, *SAMPLE, "--out", name).code == 0


@pytest.fixture
def two(cli: Any) -> tuple[Any, Any]:
    """The runs `a` and `b`: questions 0 and 1 are right in `a` alone, 2 in both, 3 in `b` alone."""

    def measure(folder: str, right: tuple[str, ...]) -> Any:
        def answer(question: Any) -> str:
            found = " ".join(one.text for one in question.passages)
            return found if question.id in right else f"no idea of {question.id}"

        return quadrag.evaluate(*PLACE, answer, split="noise_40", data_dir="sample", out=folder, name="mine")

    return measure("a", ("0", "1", "2")), measure("b", ("2", "3"))


def test_what_became_worse_or_better_is_selected(two, cli, capsys):
    worse = cli("show", "a", "b", "--worse")
    assert ids(worse) == ["0", "1"] and worse.out == cli("show", "a", "b").out
    heads = re.findall(r"^  (\w+)", worse.out.split("\n\n")[0], re.MULTILINE)
    assert heads == ["question", "a", "b", "gold", "found", "a", "b"] + ["passage"] * 5, "passages of both stand once"
    assert ids(cli("show", "a", "b", "--better")) == ["3"] == ids(cli("show", "b", "a", "--worse"))
    assert ids(cli("show", "a", "b", "--worse", "--limit", "1")) == ["0"]
    shutil.copytree("a", "c")
    assert ids(cli("show", "a", "c", "--worse")) == []
    capsys.readouterr()
    quadrag.compare(*two).show(better=True)
    assert "  a answer: no idea of 3" in capsys.readouterr().out
    Path("one").mkdir()
    shutil.copytree("a", "one/a")
    assert ids(cli("show", "one", "b", "--worse")) == ["0", "1"], "a folder of one run is that run"


def test_terminal_python_and_page_go_by_one_metric(cli, capsys):
    def search(found: list[Any], name: str) -> Any:
        given = {"data_dir": "sample", "limit": 3, "name": name, "out": name}
        return quadrag.evaluate("crud_rag", "qa_1doc", lambda question: (question.query, found), **given)

    gold = RunReader(Path("a"), search([], "a").result).questions.values()
    every = [{"id": ident, "text": "t"} for question in gold for ident in question.relevant]
    both = [search([every[0]], "b"), search(every, "c")]
    assert ids(cli("show", "b", "c", "--worse", "--metric", "rouge_l")) == []
    better = ids(cli("show", "b", "c", "--better"))
    assert len(better) == 2, "by the headlines before it all answers are alike"
    capsys.readouterr()
    quadrag.compare(*both).show(better=True)
    assert "better by recall@8" in capsys.readouterr().out
    index = collect_answers(read_runs(["b", "c"]), read_words("en")).index
    assert index["metrics"][0]["label"] == "recall@8"
    changed = [item["texts"] for item in index["items"] if item["values"][0][0] != item["values"][1][0]]
    assert [(before[0], after[0]) for before, after in changed] == [("0.0", "100.0")] * 2, "in percent"


def measure_failing(name: str, failed: tuple[str, ...] = (), **more: Any) -> Any:
    """A run in which all passages are the answer; the function raises at the questions of these ids."""

    def answer(question: Any) -> str:
        if question.id in failed:
            raise ValueError("no luck")
        return " ".join(one.text for one in question.passages)

    given = {"split": "noise_60", "data_dir": "sample", "out": name, "name": name}
    return quadrag.evaluate(*ROBUST, answer, **{**given, **more})


@pytest.fixture
def failing(cli: Any) -> tuple[Any, Any]:
    """Runs `a` and `b`, made with the corrected profile: two questions failed in `b`, else they are the same."""
    return measure_failing("a", profile="corrected"), measure_failing("b", FAILED, profile="corrected")


@pytest.mark.parametrize("profile", ["official", "corrected"])
def test_the_mean_of_a_column_is_the_score(failing, profile):
    one = quadrag.result("b", profile)
    frame = one.to_pandas(texts=False)
    assert frame["accuracy"].mean() == pytest.approx(one["accuracy"].value)
    assert frame["accuracy"].isna().sum() == (2 if profile == "official" else 0)
    assert list(frame[frame["unscored"].str.startswith("raised: ", na=False)]["id"]) == list(FAILED)
    both = quadrag.compare("a", "b", profile=profile)
    difference = both.to_pandas(texts=False)["accuracy_difference"]
    assert difference.mean() == pytest.approx(both["accuracy"].difference)
    assert difference.count() == both["accuracy"].n == (10 if profile == "official" else 12)
    listed = collect_answers(read_runs(["a", "b"]), read_words("en"), profile).index["items"]
    values = {item["place"].split("/")[3]: [run[0] for run in item["values"]] for item in listed}
    lost = [name for name, (before, after) in values.items() if after is not None and after < before]
    assert lost == (list(FAILED) if profile == "corrected" else [])


def test_what_failed_is_worse_under_the_profile_that_counts_it(failing, cli):
    assert ids(cli("show", "a", "b", "--worse")) == list(FAILED), "the runs' own profile"
    assert ids(cli("show", "a", "b", "--worse", "--profile", "official")) == []
    ran = cli("show", "a", "b", "--worse", "--profile", "corrected", "--limit", "1")
    assert "ValueError: no luck" in ran.out
    assert "  b accuracy: official –, corrected 0.0 (raised)\n" in ran.out
    assert ids(cli("show", "b", "--wrong")) == list(FAILED)
    measure_failing("c")
    assert "official profile" in cli("report", "c", "b").out, "of runs with two profiles"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judged")
    with ChatServer(models=["j"], text='{"score": 0} it is wrong') as judge:
        judge.rules.append(Rule("reply", times=1, message={"content": "who knows"}))
        (folder / "s.yaml").write_text("judges: [{name: j}]\ncalls: {concurrency: 1}")
        more = ("--judge", f"{judge.url}#j", "--spec", str(folder / "s.yaml"), "--ledger", str(folder / "L"))
        assert main([*CRAG, *more, "--out", str(folder / "run")]) == 0
    return folder


@pytest.fixture
def judged(once: Path, cli: Any) -> Any:
    """A function that shows a run in which the judge said something of its own about every question."""
    shutil.copytree(once, ".", dirs_exist_ok=True)
    return lambda *more: cli("show", "run", *more)


def test_the_judges_words_stand_beside_the_question_they_are_about(judged, cli):
    out = judged("--limit", "100").out
    assert out.count("the judge: who knows") == 1 and 'the judge: {"score": 0} it is wrong' in out
    asked = re.findall(r"^  truthfulness.*, asked: (.*)$", judged("--limit", "100", "--verbose").out, re.MULTILINE)
    assert len(asked) == out.count(", the judge: ") and ", asked: " not in out
    odd = next(part for part in out.split("\n\n") if "who knows" in part)
    unscored = judged("--unscored").out
    assert odd.split("\n")[0] in unscored and "unparsable" in unscored
    shown = collect_answers(read_runs(["run"]), read_words("en")).items
    said = {reply for item in shown for _, reply in item["runs"][0]["verdicts"]}
    assert said == {"who knows", '{"score": 0} it is wrong'}
    _, row = next(read_jsonl(Path("run/verdicts.jsonl")))
    assert {*row} == {"benchmark", "config", "split", "id", "sample", "metric", "about", "request", "reply"}
    Path("run/verdicts.jsonl").unlink()
    assert judged("--limit", "100").code == 0, "without them all else is shown"


def test_questions_that_have_changed_are_not_shown_beside_the_old_answers(judged):
    path = Path("run/questions.jsonl")
    first, *others = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | {"sha256": "0"}), *others]), encoding="utf-8")
    run = read_run(path.parent)
    run.files[path.name] = sha256(path)
    run.write(path.parent)
    ran = judged()
    assert ran.code == 2 and ran.err.count("\n") == 1


def test_each_search_and_each_sample_is_shown_with_its_own(cli):
    def search(number: int) -> None:
        given = {"data_dir": "sample", "limit": 1, "name": f"v{number}", "out": f"v{number}"}
        found = [{"id": f"{number}" * 64, "text": f"text {number}"}]
        quadrag.evaluate("crud_rag", "qa_1doc", lambda one: ("甲" if number else one.query, found), **given)

    search(0)
    search(1)
    out = cli("show", "v0", "v1", "--worse").out
    assert f"  v0 passage 1 [{'0' * 64}]: text 0" in out and f"  v1 passage 1 [{'1' * 64}]: text 1" in out
    assert len(re.findall(r"(?m)^  v[01] missed \(gold\) \[\w+\]: \d+-\d\d-.*，正文：", out)) == 2
    lines = [{"id": 0, "sample": number, "answer": f"answer {number}"} for number in (0, 1)]
    score(cli, "two", lines, "--benchmark", "rgb", "--config", "negative_rejection_en")
    assert re.findall("  answer: (.*)", cli("show", "two", "--id", "0").out) == ["answer 0", "answer 1"]


def test_right_and_idle_questions_are_no_wrong_or_unscored_ones(cli):
    asked = ask(cli, *PLACE)
    right = [row | {"answer": " ".join(one["text"] for one in row["passages"])} for row in asked]
    score(cli, "right", right)
    score(cli, "wrong", [row | {"answer": "?"} if row["id"] in ("3", "5", "11") else row for row in right])
    assert {*ids(cli("show", "right", "wrong"))} == {*ids(cli("show", "wrong", "--wrong"))} == {"3", "5", "11"}
    assert not ids(cli("show", "right", "--wrong")) and not ids(cli("show", "right", "--unscored"))
    assert {*ids(cli("show", "wrong", "--wrong", "--split", "noise_20"))} == {"3", "5", "11"}
    named = {"benchmark": "rgb", "config": "counterfactual_robustness_en"}
    lines = [{**named, "id": str(at), "answer": "x" if at else None} for at in range(12)]
    score(cli, "null", lines, "--max-failed", "1")
    assert ids(cli("show", "null", "--unscored")) == ["0"], "a metric that does not apply hides no failure"


def where(question: Question, passages: Any, documents: Any = None) -> Any:
    """What is noted of the gold: how, in which passages, and how much of it is missed."""
    note = note_gold(question, passages, documents)
    missed = note and note.params.get("missed")
    return note and [note.params["kind"], note.params.get("places", []), missed.params["count"] if missed else 0]


TEXTS = ("The bridge opened on May 6.", "It has 170 lamps.", "Nobody knows.")


@pytest.mark.parametrize(("references", "told"), CASES["words"])
def test_words_are_looked_for_where_no_document_is_known(references, told):
    passages = [Passage(str(at), "", text) for at, text in enumerate(TEXTS)]
    question = Question("rgb", "c", "s", "1", "?", references, "en")
    assert where(question, passages) == told
    assert where(question, ()) == (told and ["none", [], 0])
    for accepted in (["invalid question"], ["Yes."]):  # which no page can hold
        question = Question("crag", "c", "s", "1", "?", accepted, "en")
        assert where(question, [Passage("1", "", "Yes, an invalid question.")]) is None


@pytest.mark.parametrize(("language", "gold", "text", "shown"), CASES["places"])
def test_places_are_those_of_whole_words_and_numbers_in_the_text_as_it_is_written(language, gold, text, shown):
    question = Question("rgb", "c", "s", "1", "?", gold, language)
    assert [text[begin:end] for begin, end in place_gold(question, text)] == shown
    assert place_gold(replace(question, relevant=("a",)), text) == [], "known by its documents"


def test_documents_are_known_by_their_ids_and_those_missed_are_counted():
    question = Question("crud_rag", "c", "s", "1", "?", "甲", "zh", relevant=("a", "b"))
    passages = [Passage(name, "", "甲") for name in ("x#0", "a#1", "a#2")]
    assert where(question, passages, ["x", "a", "a"]) == ["found_documents", ["2", "3"], 1]
    assert where(question, passages[:1], ["x"]) == ["nowhere_documents", [], 0]
    assert where(question, passages) is None, "the search was not measured"


def test_texts_of_ones_own_are_known_as_the_scores_know_them(cli):
    """Of passages without ids the one that is a gold document counts, in the shell and on the page."""
    rows, *_ = load_rows("crud_rag", "qa_1doc", "sample", {}, "test")
    texts = {row["query"]: row["documents"][0] for row in rows}

    def answer(question):
        return "甲", [{"text": "另一篇文章，与问题无关。" * 5}, {"text": texts[question.query]}]

    quadrag.evaluate("crud_rag", "qa_1doc", answer, data_dir="sample", limit=2, out="own")
    shown = cli("show", "own", "--limit", "1").out
    assert "  found: gold in passage 2\n" in shown and "  passage 2 (gold) [" in shown and "missed" not in shown
    [run] = collect_answers(read_runs(["own"]), read_words("en")).items[0]["runs"]
    assert run["found"] == "gold in passage 2" and [head.endswith(" · gold") for _, head, _ in run["passages"]] == [
        False,
        True,
    ]
    assert "检索：片段 2 含标准答案\n" in cli("show", "own", "--labels", "zh").out


@pytest.mark.parametrize(("metrics", "wanted"), CASES["phrases"])
def test_a_phrase_is_wanted_by_its_metric_and_the_gold_by_others(metrics, wanted):
    assert find_phrase(metrics, "zh") == (wanted and tuple(wanted))
