"""Messages in Python name arguments of Python, and each of these arguments there is."""

import inspect

import pytest
from chat_server import ChatServer

import quadrag
from quadrag.cli import main
from quadrag.measure.words import _ARGUMENTS, _SWITCHES, in_python

CRAG = ("crag", "task_1_2")
PART = {"data_dir": "sample", "split": "public", "limit": 3}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def server():
    with ChatServer(models=["j"], any_model=True) as found:
        yield found


def paris(question):
    return "Paris"


@pytest.mark.parametrize(
    ("command", "python"),
    [
        (
            "try --judge-format json, or ask this one again with --retry unreadable",
            'try judge_format="json", or ask this one again with retry="unreadable"',
        ),
        ("--judge-served-as NAME is for a server", 'judge_served_as="NAME" is for a server'),
        ("leave out --judge-format", "leave out judge_format="),
        ("name a mirror, or use --data-dir", "name a mirror, or use data_dir="),
        ("3 items, see --unscored", "3 items, see unscored=True"),
        ("--retry cut,empty asks again", 'retry=["cut", "empty"] asks again'),
        ("--retry unreadable asks, --max-failed 1 asks on", 'retry="unreadable" asks, max_failed=1 asks on'),
        ("of others (3; --judge-service 'http://a:1/v1')", "of others (3; judge_service='http://a:1/v1')"),
        ("has them with --option gold=full", "has them with gold=full"),
        ("one of `quadrag certify-judge --out`", "one of `quadrag certify-judge --out`"),
        ("leave out --samples, a -- and --judges", "leave out --samples, a -- and --judges"),
    ],
)
def test_an_option_of_the_command_is_named_as_the_argument_that_it_is(command, python):
    assert in_python(command) == python


def test_every_argument_that_a_message_may_name_is_taken(server):
    shown = set(inspect.signature(quadrag.Evaluation.show).parameters) & set(_SWITCHES)
    assert shown == {"unscored", "wrong", "verbose"}
    values = {"judge_format": "json", "judge_max_tokens": 64, "judge_service": "here", "judge_served_as": "j"}
    values |= {"max_failed": 1.0, "timeout": 9.5, "max_reply_bytes": 10_000, "allow_redirect": "example.com"}
    values |= {"ledger": "L", "retry": "empty", "fresh": True, "bertscore": None}
    given = set(inspect.signature(quadrag.evaluate).parameters) | values.keys()
    assert _ARGUMENTS - shown <= given
    judge = f"{server.url}#other"
    result = quadrag.evaluate(*CRAG, paris, judge=judge, out="mine", **values, **PART)
    assert result.valid, "max_failed"
    (body, *_) = server.bodies
    assert body["response_format"] == {"type": "json_object"} and body["max_tokens"] == 64
    assert result.result.run.inputs.services == {"judge": "here"}
    assert result.result.run.inputs.served_as == {"judge": "j"}
    with pytest.raises(quadrag.QuadragError, match="unknown embedding 'm'"):
        quadrag.evaluate(*CRAG, paris, bertscore="m", **PART)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"judge_format": "yaml"}, "unknown judge_format 'yaml'; known: text, json, schema"),
        ({"judge_format": "json"}, "^judge_format= is for a judge, and there is none"),
        ({"judge_max_tokens": 0}, "judge_max_tokens is 0; expected a whole number from 1"),
        ({"max_failed": 2}, "max_failed is 2; expected a share from 0 to 1"),
        ({"retry": "emty"}, "unknown kind of reply in retry 'emty'; nearest: empty"),
        ({"judge_formt": "json"}, "unknown argument of evaluate 'judge_formt'; nearest: judge_format"),
    ],
)
def test_a_wrong_judging_argument_is_one_line_about_arguments(wrong, message):
    with pytest.raises(quadrag.QuadragError, match=message) as told:
        quadrag.evaluate(*CRAG, paris, **wrong, **PART)
    assert "\n" not in str(told.value) and "--" not in str(told.value)


def test_data_that_cannot_be_fetched_are_named_by_argument(monkeypatch):
    monkeypatch.setenv("QUADRAG_MIRROR", "http://127.0.0.1:9")
    for use in (
        lambda: quadrag.evaluate(*CRAG, paris),
        lambda: quadrag.questions(*CRAG),
        lambda: list(quadrag.corpus("crud_rag")),
    ):
        with pytest.raises(
            quadrag.QuadragError, match=r"cannot fetch .*, or use data_dir=; .*, the folder is called sample$"
        ):
            use()


def test_a_verdict_that_cannot_be_read_names_the_argument_that_may_help(server, capsys):
    short = r"^INVALID, truthfulness, .*: 3 of 3 items failed \(3 unparsable\): the judge's verdict could not be read;"
    with pytest.warns(UserWarning, match=short) as told:
        result = quadrag.evaluate(*CRAG, paris, judge=f"{server.url}#j", **PART)
    assert {one.filename for one in told} == {__file__}
    result.show()
    shown = " ".join(capsys.readouterr().out.split())
    result.show(unscored=True)
    single = capsys.readouterr().out
    for text in (*result.invalid, " ".join(repr(result).split()), shown, single):
        assert 'try judge_format="json"' in text and "--judge" not in text
    assert "try judge_format=&quot;json&quot;" in result._repr_html_()
    quadrag.evaluate(*CRAG, paris, **PART).show()
    assert "(judge=)" in capsys.readouterr().out


def test_questions_without_a_value_are_shown(capsys):
    def mine(question):
        if question.id == left.id:
            raise ValueError("no luck")
        return question.query

    place = ("crud_rag", "summary")
    left, *_ = quadrag.questions(*place, data_dir="sample")
    result = quadrag.evaluate(*place, mine, data_dir="sample", out="mine")
    capsys.readouterr()
    assert main(["show", "mine", "--unscored"]) in (0, None)
    shown = capsys.readouterr().out
    result.show(unscored=True)
    assert capsys.readouterr().out == shown
    assert "raised: ValueError: no luck" in shown and shown.endswith("\n1 of 1 items\n")
    assert "passage" not in shown and "rouge_l: " not in shown, "the question and what was raised alone"
    quadrag.evaluate(*place, paris, data_dir="sample", name="fine").show(unscored=True)
    assert capsys.readouterr().out == "Every item has a value of every metric\n"


def test_where_nothing_is_wrong_the_argument_that_shows_the_rest_is_named(capsys):
    def mine(question):
        if question.id == "3":
            raise ValueError("no luck")
        return " ".join(one.text for one in question.passages)

    result = quadrag.evaluate("rgb", "noise_robustness_en", mine, split="noise_0", data_dir="sample")
    capsys.readouterr()
    result.show(wrong=True)
    told = "No item is wrong: all 11 have the best accuracy; 1 items have no value, see unscored=True\n"
    out = capsys.readouterr().out
    assert out.startswith("noise_robustness_en noise_0: 1 of 12 items failed (1 raised)") and out.endswith(told)
