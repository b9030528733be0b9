"""From labels to a judge with its figures: trained on one part, measured on another, beside the model before."""

import itertools
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quadrag.chat.ledger import Ledger
from quadrag.chat.reply import Failure
from quadrag.errors import NotReady, QuadragError, tell_extra
from quadrag.metric_record import metric_record
from quadrag.printing import is_terminal
from quadrag.records import scratch, write_text
from quadrag.results.certificates import Certificate
from quadrag.systems.local import LocalModel

from .certificate import ask_judge, certify, check_askable, judge_items, write_certificate
from .labels import Item, LabelSet

SHARES = (5, 1, 4)  # to learn from, to choose by, to be measured on (Wang et al. 2024, section 3.4)
CERTIFICATE = "certificate.json"
_VERDICT_TOKENS = 32


Lesson = list[dict[str, str]]  # what a judge is asked of an item, and last what it is to say


@dataclass(frozen=True, slots=True)
class Settings:
    rank: int = 8  # of the adapter
    rate: float = 2e-4  # of learning
    passes: int = 3  # over the lessons
    batch: int = 4  # lessons a step
    longest: int = 4096  # tokens of a lesson; longer prompts lose their middle
    seed: int = 2333  # of the order and of the adapter's first weights


def make_judge(
    labels: LabelSet, model: str, out: Path, settings: Settings, ledger: Ledger
) -> tuple[str, list[Certificate]]:
    """Train a judge, and measure it, and the model before where that gives verdicts, on labels that it has not seen.

    Returns a line on the training, and the certificates. `out`: a new folder for the judge, which ``local:OUT`` loads,
    its certificate and the ids of each part. `ledger` keeps the verdicts.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise QuadragError(f"{out} is there; give a new folder with --out")
    if Path(model).is_file():
        raise QuadragError(f"{model} is a file; expected a model's folder, or its name on the Hub")
    parts = split_by_case(labels.items, settings.seed)
    lessons, aside = (make_lessons(labels, part) for part in parts[:2])
    losses, kept = train(model, lessons, aside, out, settings)
    unseen = replace(labels, name=f"{labels.name} (unseen 40%)", items=parts[2], recorded={})
    after = _measure(unseen, str(out), ledger)
    if after is None:
        raise QuadragError(f"{out} gives no readable verdict; train it longer, with more --passes or a higher --rate")
    write_certificate(after, out / CERTIFICATE)
    names = ("learn", "choose", "unseen")
    ids = {name: [item.id for item in part] for name, part in zip(names, parts, strict=True)}
    write_text(out / "labels.json", json.dumps(ids, ensure_ascii=False, indent=1) + "\n")
    before = _measure(unseen, model, ledger)
    line = f"{len(lessons)} lessons; loss {' -> '.join(f'{loss:.3f}' for loss in losses)}; kept: pass {kept}"
    return line, [before, after] if before else [after]


def _measure(labels: LabelSet, model: str, ledger: Ledger) -> Certificate | None:
    judge = LocalModel(model, ledger=ledger, parameters={"temperature": 0, "max_tokens": _VERDICT_TOKENS})
    try:
        verdicts = ask_judge(labels, judge)
        return certify(labels, verdicts) if any(verdicts.grades.values()) else None
    finally:
        judge.close()


def split_by_case(items: Sequence[Item], seed: int) -> list[list[Item]]:
    """Part items 5:1:4, to learn from, to choose by and to be measured on, all of one case on one side.

    A case is a group, else a question, else the item alone.
    """
    cases = {item.id: item.group or item.question or item.id for item in items}
    order = sorted(set(cases.values()))
    random.Random(seed).shuffle(order)
    ends = [round(len(order) * sum(SHARES[:at]) / sum(SHARES)) for at in range(4)]
    sides = [set(order[start:end]) for start, end in itertools.pairwise(ends)]
    return [[item for item in items if cases[item.id] in side] for side in sides]


def make_lessons(labels: LabelSet, items: Sequence[Item]) -> list[Lesson]:
    """Return what is asked of items, by the prompt of a run, with the verdicts that people gave.

    Left out are items that a rule decides, about which nothing is asked, and those whose label is no value.
    """
    check_askable(labels)
    try:
        ((form, example),) = json.loads(metric_record(labels.graded.metric).verdict).items()
    except (ValueError, AttributeError):
        form, example = "", None
    if labels.pairs or not isinstance(example, (int, float)):
        raise QuadragError(f"{labels.name} has no label that is a number, of one answer, as a judge is trained on")
    lessons = []
    for item in items:
        value = labels.graded.grades[item.label]
        requests = _list_requests(replace(labels, items=[item])) if value is not None else []
        if len(requests) == 1 and value is not None:
            number = int(value) if value == int(value) else value
            lessons.append([*requests[0], {"role": "assistant", "content": json.dumps({form: number})}])
    return lessons


def _list_requests(labels: LabelSet) -> list[Any]:
    requests: list[Any] = []

    def record(batch: list[Any]) -> list[Any]:
        requests.extend(batch)
        return [Failure("api_error", "not asked")] * len(batch)

    judge_items(labels, record)
    return requests


def train(
    model: str, learn: Sequence[Lesson], choose: Sequence[Lesson], out: Path, settings: Settings
) -> tuple[list[float], int]:
    """Train an adapter of a model by LoRA, and write it, and the model with it merged, to a folder.

    Returns the loss on the lessons `choose` after each pass, and the pass that was kept: the one with the least, the
    last where there is none to choose by.
    """
    if not learn:
        raise QuadragError("no label to learn from; a rule decides all of them, or there are too few")
    try:
        import peft
        import transformers
    except ImportError as error:
        raise NotReady(f"training a judge needs {error.name}; {tell_extra('judge')}") from None
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(model)
        base = transformers.AutoModelForCausalLM.from_pretrained(model, dtype="auto")
    except (OSError, ValueError) as error:
        raise QuadragError(f"cannot load {model} ({' '.join(str(error).split())[:300]})") from None
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    transformers.set_seed(settings.seed)
    adapter = {"r": settings.rank, "lora_alpha": 2 * settings.rank, "target_modules": "all-linear"}
    adapted: Any = peft.get_peft_model(base, peft.LoraConfig(task_type="CAUSAL_LM", **adapter))
    coded, aside = ([_encode(tokenizer, lesson, settings.longest) for lesson in part] for part in (learn, choose))
    with scratch(out / "passes") as passes:
        each_pass = "epoch" if aside else "no"
        arguments = transformers.TrainingArguments(
            output_dir=str(passes),
            num_train_epochs=settings.passes,
            per_device_train_batch_size=settings.batch,
            per_device_eval_batch_size=settings.batch,
            learning_rate=settings.rate,
            lr_scheduler_type="constant",
            weight_decay=0.01,
            max_grad_norm=0,  # no clipping
            seed=settings.seed,
            eval_strategy=each_pass,
            save_strategy=each_pass,
            load_best_model_at_end=bool(aside),
            report_to=[],
            disable_tqdm=not is_terminal(sys.stderr),
            logging_strategy="no",
        )
        collate = transformers.DataCollatorForSeq2Seq(tokenizer)
        trainer = transformers.Trainer(adapted, arguments, collate, train_dataset=coded, eval_dataset=aside or None)
        trainer.remove_callback(transformers.PrinterCallback)
        trainer.train()
    losses = [line["eval_loss"] for line in trainer.state.log_history if "eval_loss" in line]
    adapted.save_pretrained(out / "adapter")  # alone, beside the merged model
    adapted.merge_and_unload().save_pretrained(out)
    tokenizer.save_pretrained(out)
    return losses, losses.index(min(losses)) + 1 if losses else settings.passes


def _encode(tokenizer: Any, lesson: Lesson, longest: int) -> dict[str, list[int]]:
    """Return the tokens of a prompt, as a run sends it, and of the verdict with its end, which alone is learned."""
    *chat, answer = lesson
    if tokenizer.chat_template:
        encoded = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True)
    else:
        encoded = tokenizer("\n\n".join(turn["content"] for turn in chat))
    prompt = list(encoded["input_ids"])
    verdict = [*tokenizer(answer["content"], add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
    room = longest - len(verdict)
    if len(prompt) > room:
        prompt = prompt[: room // 2] + prompt[len(prompt) - (room - room // 2) :]
    ids = prompt + verdict
    return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": [-100] * len(prompt) + verdict}
