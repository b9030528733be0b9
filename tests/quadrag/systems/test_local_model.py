"""A model loaded here: the genuine SmolLM2, as a GGUF file and as a folder, by the class and by the command line."""

import json
import os
import shutil
from pathlib import Path

import pytest

from quadrag.chat.ledger import Ledger
from quadrag.chat.reply import Failure
from quadrag.errors import QuadragError

pytestmark = pytest.mark.serve

torch = pytest.importorskip("torch", reason="torch is not installed (extra: local)")
transformers = pytest.importorskip("transformers", reason="transformers is not installed (extra: local)")
pytest.importorskip("accelerate", reason="accelerate is not installed (extra: local)")

from quadrag.systems.local import LocalModel  # noqa: E402  # after the skips

CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is the capital of France?"}]
OTHER = [{"role": "user", "content": "Tell me of the sea."}]
# What a model without a template is given: the system message, a blank line, the user's.
BARE = "Be brief.\n\nWhat is the capital of France?"
FILLERS = ["", "in one word ", "please, and kindly, with no more words than it takes ", "now " * 40]
MANY = [
    [{"role": "user", "content": f"Say {filler}what the capital of {country} is."}]
    for country in ("France", "Japan")
    for filler in FILLERS
]


@pytest.fixture
def folder(smollm2_folder):
    return smollm2_folder


def local(folder, batch_size=16, ledger=None, **parameters):
    return LocalModel(str(folder), ledger=ledger, batch_size=batch_size, parameters={"max_tokens": 4, **parameters})


def copy(folder, to, **changed):
    """Copy a model by links, some of its files with another text, or left out."""
    shutil.copytree(folder, to, copy_function=os.link)
    for name, text in changed.items():
        file = to / f"{name}.jinja"
        file.unlink()
        if text is not None:
            file.write_text(text)
    return to


def test_replies_are_the_same_every_time(folder):
    first = local(folder).complete([CHAT, OTHER, CHAT])
    model = local(folder)
    assert [reply.text for reply in model.complete([OTHER])] == [first[1].text], "whatever else is in the batch"
    assert first[0].text == first[2].text and first[0].finish_reason == "length"
    assert first[0].usage["completion_tokens"] == 4
    assert model.spent["calls"] == 1 and model.spent["completion_tokens"] == 4
    assert model.model == folder.name
    whole = local(folder, max_tokens=24).complete([CHAT])[0]
    assert "Paris" in whole.text and whole.finish_reason == "stop" and whole.usage["completion_tokens"] < 24


def test_sampled_replies_are_the_same_every_time_in_whatever_order_they_are_asked_for(folder):
    runs = []
    for order in ((0, 1, 2), (2, 1, 0)):
        replies = local(folder, temperature=1.5).complete([OTHER] * 3, samples=order)
        runs.append({sample: reply.text for sample, reply in zip(order, replies, strict=True)})
    assert runs[0] == runs[1]
    assert len(set(runs[0].values())) == 3, "samples differ"
    first, other = (local(folder, temperature=1.5, seed=seed).complete([OTHER])[0].text for seed in (1, 2))
    assert first != other


@pytest.mark.parametrize("how", [{}, {"repetition_penalty": 1.3}])
def test_batches_give_what_single_calls_give(folder, how):
    single, batched = (local(folder, batch_size=size, max_tokens=6, **how).complete(MANY[:5]) for size in (1, 4))
    assert [(one.text, one.usage, one.finish_reason) for one in batched] == [
        (one.text, one.usage, one.finish_reason) for one in single
    ]
    assert len({one.text for one in single}) > 1


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("can't allocate memory"), MemoryError()]
)
def test_where_memory_ends_a_batch_is_halved_and_what_needs_too_much_alone_fails_alone(folder, monkeypatch, error):
    wanted = local(folder, max_tokens=1).complete(MANY)
    sizes, generate = [], transformers.LlamaForCausalLM.generate

    def bounded(self, input_ids, **more):
        sizes.append(len(input_ids))
        if len(input_ids) > 3 or input_ids.shape[1] > 70:
            raise error
        return generate(self, input_ids=input_ids, **more)

    monkeypatch.setattr(transformers.LlamaForCausalLM, "generate", bounded)
    found = local(folder, max_tokens=1).complete(MANY)
    failed = [place for place, reply in enumerate(found) if isinstance(reply, Failure)]
    assert failed == [place for place, reply in enumerate(wanted) if reply.usage["prompt_tokens"] > 70]
    assert len(failed) == 2 and found[failed[0]].reason == "api_error"
    for place, reply in enumerate(found):
        assert place in failed or (reply.text, reply.usage) == (wanted[place].text, wanted[place].usage)
    assert sizes == [8, 4, 2, 1, 1, 2, 4, 2, 2]
    with pytest.raises(QuadragError):
        local(folder, max_tokens=1).complete([MANY[failed[0]]])


def test_a_run_that_goes_on_makes_the_batches_of_one_that_was_not_stopped(folder, tmp_path, monkeypatch):
    shapes, generate = [], transformers.LlamaForCausalLM.generate

    def noted(self, input_ids, **more):
        shapes.append(tuple(input_ids.shape))
        return generate(self, input_ids=input_ids, **more)

    monkeypatch.setattr(transformers.LlamaForCausalLM, "generate", noted)
    wanted = [reply.text for reply in local(folder, batch_size=3).complete(MANY)]
    whole = shapes.copy()
    shapes.clear()

    def stop(done, total):
        if done >= 3:
            raise KeyboardInterrupt

    with Ledger(tmp_path / "L") as ledger:
        model = local(folder, batch_size=3, ledger=ledger)
        model.on_progress = stop
        with pytest.raises(KeyboardInterrupt):
            model.complete(MANY)
        assert len(ledger) == 3
        again = local(folder, batch_size=3, ledger=ledger)
        assert [reply.text for reply in again.complete(MANY)] == wanted
    assert shapes == whole and again.spent["calls"] == 5
    assert again.spent["seconds"] > 0 and again.spent["completion_tokens"] == 5 * 4


def test_the_ledger_knows_weights_by_their_bytes(folder, tmp_path):
    moved = copy(folder, tmp_path / folder.name)
    with Ledger(tmp_path / "L") as ledger:
        first = local(folder, ledger=ledger).complete([CHAT, OTHER])
        assert len(ledger) == 2, "also into a ledger that was empty"
        again = local(moved, ledger=ledger)
        second = again.complete([OTHER, CHAT, CHAT])
        assert [reply.text for reply in second] == [first[1].text, first[0].text, first[0].text]
        assert again.spent["calls"] == 0
        assert [reply.latency for reply in second[:2]] == [first[1].latency, first[0].latency]
        replay = lambda place: LocalModel(str(place), ledger=ledger, parameters={"max_tokens": 4}, replay=True)  # noqa: E731
        new = [{"role": "user", "content": "never asked"}]
        known, unknown = replay(moved).complete([CHAT, new])
        assert known.text == first[0].text and not unknown.asked
        other = copy(folder, tmp_path / "other" / folder.name, chat_template="{{ messages[0].content }}")
        with pytest.raises(QuadragError):
            replay(other).complete([CHAT])


def test_a_model_without_a_template_is_given_the_text(folder, tmp_path):
    reply = local(copy(folder, tmp_path / "bare", chat_template=None)).complete([CHAT])[0]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert reply.usage == {"prompt_tokens": len(tokenizer(BARE)["input_ids"]), "completion_tokens": 4}


def test_a_template_that_takes_no_system_message_is_one_line(folder, tmp_path):
    strict = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role here') }}{% endif %}x"
    with pytest.raises(QuadragError, match="no system role here") as caught:
        local(copy(folder, tmp_path / "strict", chat_template=strict)).complete([CHAT])
    assert "\n" not in str(caught.value)


def test_what_cannot_be_loaded_is_one_line(smollm2, tmp_path):
    pytest.importorskip("gguf", reason="gguf is not installed (extra: local)")
    (tmp_path / "empty").mkdir()
    with smollm2.open("rb") as file:
        head = file.read(1_000_000)
    for name, held in {
        "void.gguf": b"",
        "text.gguf": b"no weights",
        "cut.gguf": head,
        "wrong.gguf": head[:4] * 99,
    }.items():
        (tmp_path / name).write_bytes(held)
    for name in (*tmp_path.iterdir(), tmp_path / "nowhere", tmp_path / "nowhere.gguf", "nowhere.gguf"):
        with pytest.raises(QuadragError, match="local:") as caught:
            local(name).complete([CHAT])
        assert "\n" not in str(caught.value)
    with pytest.raises(QuadragError, match="not min_p"):
        local(tmp_path, min_p=0.5)


def test_a_run_with_a_gguf_file(cli, smollm2, tmp_path, stages):
    pytest.importorskip("gguf", reason="gguf is not installed (extra: local)")
    asked = ("run", "rgb", "noise_robustness_en", "--split", "noise_0", "--data-dir", "sample", "--limit", 2)
    asked += ("--max-tokens", 32, "--temperature", 0, "--max-failed", 1)
    first = cli(*asked, "--llm", f"local:{smollm2}", "--ledger", "L", "--out", "a")
    assert first.code == 0 and smollm2.name in first.out and str(smollm2.parent) not in first.out, first.err
    answers = [json.loads(line) for line in Path("a/answers.jsonl").read_text(encoding="utf-8").splitlines()]
    assert "Ilse Varnholt" in answers[0]["answer"] and "38,650" in answers[1]["answer"]
    assert [row["finish_reason"] for row in answers] == ["stop", "length"]
    info = json.loads(Path("a/run.json").read_text(encoding="utf-8"))
    assert info["usage"]["llm"]["calls"] == 2 and info["digests"]["system"]["model"] == smollm2.name
    # The same file elsewhere is the same model.
    (tmp_path / smollm2.name).symlink_to(smollm2)
    for out, *replay in ("b",), ("c", "--replay"):
        again = cli(*asked, "--llm", f"local:{smollm2.name}", "--ledger", "L", *replay, "--out", out)
        assert again.code == 0 and json.loads(Path(out, "run.json").read_text())["usage"]["llm"]["cached"] == 2
        assert stages(Path(out)) == stages(Path("a"))
    lost = cli(*asked, "--llm", "local:nowhere", "--out", "e")
    assert lost.code == 2 and lost.err.count("\n") == 1 and "local:nowhere" in lost.err
