"""A model loaded here: a tiny random Llama made on the spot, through the class and through the command line."""

import json
import shutil
from pathlib import Path

import pytest
from tiny_models import CHAT_TEMPLATE, make_chat_model

from quadrag.chat.ledger import Ledger
from quadrag.chat.reply import Failure
from quadrag.errors import QuadragError

pytestmark = pytest.mark.serve

torch = pytest.importorskip("torch", reason="torch is not installed (extra: local)")
transformers = pytest.importorskip("transformers", reason="transformers is not installed (extra: local)")
pytest.importorskip("accelerate", reason="accelerate is not installed (extra: local)")

from quadrag.systems.local import LocalModel  # noqa: E402  # after the skips

CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who? 谁？"}]
OTHER = [{"role": "user", "content": "When?"}]
# What a model without a template is given: the system message, a blank line, the user's.
BARE = "Be brief.\n\nWho? 谁？"


def make_model(folder, template=CHAT_TEMPLATE):
    """Write a random Llama, a token of which is a byte and which never ends by itself."""
    make_chat_model(folder, 8192, template)
    generation = transformers.GenerationConfig.from_pretrained(folder)
    generation.suppress_tokens = [0, 1]
    generation.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("model"))


def local(folder, batch_size=16, ledger=None, **parameters):
    return LocalModel(str(folder), ledger=ledger, batch_size=batch_size, parameters={"max_tokens": 6, **parameters})


def test_replies_are_the_same_every_time(folder):
    first = local(folder).complete([CHAT, OTHER, CHAT])
    model = local(folder)
    assert [reply.text for reply in model.complete([OTHER])] == [first[1].text], "whatever else is in the batch"
    assert first[0].text == first[2].text and first[0].text
    assert first[0].finish_reason == "length"
    assert first[0].usage["completion_tokens"] == 6
    assert model.spent["calls"] == 1 and model.spent["completion_tokens"] == 6
    assert model.model == str(folder)


def test_sampled_replies_are_the_same_every_time_in_whatever_order_they_are_asked_for(folder):
    runs = []
    for order in ((0, 1, 2), (2, 1, 0)):
        replies = local(folder, temperature=1.5).complete([CHAT] * 3, samples=order)
        runs.append({sample: reply.text for sample, reply in zip(order, replies, strict=True)})
    assert runs[0] == runs[1]
    assert len(set(runs[0].values())) == 3, "samples differ"
    first, other = (local(folder, temperature=1.5, seed=seed).complete([CHAT])[0].text for seed in (1, 2))
    assert first != other


MANY = [[{"role": "user", "content": f"{number} " + "谁 who? " * (number * 7 % 23)}] for number in range(21)]


@pytest.mark.parametrize("how", [{}, {"repetition_penalty": 1.3}])
def test_batches_give_what_single_calls_give(folder, how):
    single, batched = (local(folder, batch_size=size, max_tokens=24, **how).complete(MANY) for size in (1, 16))
    assert [(one.text, one.usage, one.finish_reason) for one in batched] == [
        (one.text, one.usage, one.finish_reason) for one in single
    ]
    assert len({one.text for one in single}) > 3


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("can't allocate memory"), MemoryError()]
)
def test_where_memory_ends_a_batch_is_halved_and_what_needs_too_much_alone_fails_alone(folder, monkeypatch, error):
    wanted = local(folder).complete(MANY)
    sizes, generate = [], transformers.LlamaForCausalLM.generate

    def bounded(self, input_ids, **more):
        sizes.append(len(input_ids))
        if len(input_ids) > 5 or input_ids.shape[1] > 190:
            raise error
        return generate(self, input_ids=input_ids, **more)

    monkeypatch.setattr(transformers.LlamaForCausalLM, "generate", bounded)
    model = local(folder)
    found = model.complete(MANY)
    failed = [place for place, reply in enumerate(found) if isinstance(reply, Failure)]
    assert failed == [place for place, reply in enumerate(wanted) if reply.usage["prompt_tokens"] > 190]
    assert len(failed) == 4 and found[failed[0]].reason == "api_error"
    for place, reply in enumerate(found):
        assert place in failed or (reply.text, reply.usage) == (wanted[place].text, wanted[place].usage)
    assert sizes[:5] == [16, 8, 4, 2, 1] and sizes.count(4) > 2
    with pytest.raises(QuadragError):
        local(folder).complete([MANY[failed[0]]])


def test_a_run_that_goes_on_makes_the_batches_of_one_that_was_not_stopped(folder, tmp_path, monkeypatch):
    shapes, generate = [], transformers.LlamaForCausalLM.generate

    def noted(self, input_ids, **more):
        shapes.append(tuple(input_ids.shape))
        return generate(self, input_ids=input_ids, **more)

    monkeypatch.setattr(transformers.LlamaForCausalLM, "generate", noted)
    wanted = [reply.text for reply in local(folder, batch_size=4).complete(MANY)]
    whole = shapes.copy()
    shapes.clear()

    def stop(done, total):
        if done >= 8:
            raise KeyboardInterrupt

    with Ledger(tmp_path / "L") as ledger:
        model = local(folder, batch_size=4, ledger=ledger)
        model.on_progress = stop
        with pytest.raises(KeyboardInterrupt):
            model.complete(MANY)
        assert len(ledger) == 8
        again = local(folder, batch_size=4, ledger=ledger)
        assert [reply.text for reply in again.complete(MANY)] == wanted
    assert shapes == whole and again.spent["calls"] == 13
    assert again.spent["seconds"] > 0 and again.spent["completion_tokens"] == 13 * 6


def test_the_ledger_answers_the_second_time(folder, tmp_path):
    moved = shutil.copytree(folder, tmp_path / "model")
    with Ledger(tmp_path / "L") as ledger:
        make = lambda **more: LocalModel(str(moved), ledger=ledger, parameters={"max_tokens": 6}, **more)  # noqa: E731
        first = make().complete([CHAT, OTHER])
        assert len(ledger) == 2, "also into a ledger that was empty"
        shutil.rmtree(moved)
        again = make()
        second = again.complete([OTHER, CHAT, CHAT])
        assert [reply.text for reply in second] == [first[1].text, first[0].text, first[0].text]
        assert again.spent["calls"] == 0
        assert [reply.latency for reply in second[:2]] == [first[1].latency, first[0].latency]
        assert make(replay=True).complete([CHAT])[0].text == first[0].text
        new = [{"role": "user", "content": "never asked"}]
        known, unknown = make(replay=True).complete([CHAT, new])
        assert known.text == first[0].text and not unknown.asked
        with pytest.raises(QuadragError):
            make(replay=True).complete([new])


def test_a_model_without_a_template_is_given_the_text(tmp_path):
    bare = make_model(tmp_path / "bare", template=None)
    reply = local(bare).complete([CHAT])[0]
    assert reply.usage == {"prompt_tokens": len(BARE.encode()), "completion_tokens": 6}


def test_a_template_that_takes_no_system_message_is_one_line(tmp_path):
    strict = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role here') }}{% endif %}x"
    folder = make_model(tmp_path / "strict", template=strict)
    with pytest.raises(QuadragError, match="no system role here") as caught:
        local(folder).complete([CHAT])
    assert "\n" not in str(caught.value)


def test_what_cannot_be_loaded_is_one_line(tmp_path):
    (tmp_path / "empty").mkdir()
    for name in (tmp_path / "empty", tmp_path / "nowhere"):
        with pytest.raises(QuadragError, match="local:") as caught:
            local(name).complete([CHAT])
        assert "\n" not in str(caught.value)
    with pytest.raises(QuadragError, match="not min_p"):
        local(tmp_path, min_p=0.5)


def test_a_run_with_a_local_model(cli, folder, stages):
    asked = ("run", "rgb", "negative_rejection_zh", "--data-dir", "sample", "--limit", 2, "--max-tokens", 5)
    asked += ("--max-failed", 1)  # it never ends by itself
    there = ("--llm", f"local:{folder}", "--temperature", 0.7)
    first = cli(*asked, *there, "--ledger", "L1", "--out", "a")
    assert first.code == 0, first.err
    answers = [json.loads(line) for line in Path("a/answers.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in answers] == ["0", "1"]
    assert {row["finish_reason"] for row in answers} == {"length"}
    assert {row["usage"]["completion_tokens"] for row in answers} == {5}
    info = json.loads(Path("a/run.json").read_text(encoding="utf-8"))
    sent = {"temperature": 0.7, "max_tokens": 5}
    assert info["usage"]["llm"]["calls"] == 2 and info["digests"]["system"]["parameters"] == sent
    second = cli(*asked, *there, "--ledger", "L1", "--out", "b")
    assert second.code == 0 and json.loads(Path("b/run.json").read_text())["usage"]["llm"]["cached"] == 2
    third = cli(*asked, *there, "--ledger", "fresh", "--out", "c")
    assert third.code == 0 and json.loads(Path("c/run.json").read_text())["usage"]["llm"]["calls"] == 2
    assert stages(Path("a")) == stages(Path("b")) == stages(Path("c"))
    replayed = cli(*asked, *there, "--ledger", "L1", "--replay", "--out", "d")
    assert replayed.code == 0 and stages(Path("d")) == stages(Path("a"))
    lost = cli(*asked, "--llm", "local:nowhere", "--out", "e")
    assert lost.code == 2 and lost.err.count("\n") == 1 and "local:nowhere" in lost.err
