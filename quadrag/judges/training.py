"""From labels to a judge with its figures: trained on one part, measured on another, beside the model before."""

import itertools
import json
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.chat.ledger import Ledger
from quadrag.chat.reply import Failure
from quadrag.errors import NotReady, QuadragError, tell_extra
from quadrag.metric_record import metric_record
from quadrag.progress import Progress
from quadrag.records import write_text
from quadrag.systems.local import LocalModel

from .ask import ask_judge, check_askable, judge_items
from .certificate import Certificate, certify
from .labels import Item, LabelSet

SHARES = (5, 1, 4)  # to learn from, to choose by, to be measured on (Wang et al. 2024, section 3.4)
ADAPTER = "adapter"  # the folder of the adapter alone, beside the merged model
CERTIFICATE = "certificate.json"
_VERDICT_TOKENS = 32


class Lesson(NamedTuple):
    """What a judge is asked of an item, and what it is to say."""

    id: str
    chat: list[dict[str, str]]
    verdict: str


@dataclass(frozen=True, slots=True)
class Settings:
    """How a judge is trained."""

    rank: int = 8  # of the adapter
    rate: float = 2e-4  # of learning
    passes: int = 3  # over the lessons
    batch: int = 4  # lessons a step
    longest: int = 4096  # tokens of a lesson; longer prompts lose their middle
    seed: int = 2333  # of the order and of the adapter's first weights


@dataclass(frozen=True, slots=True)
class Judge:
    """A trained judge: the lessons, the loss on those set aside before and after each pass, and the pass that was kept.

    `before` is what was measured of the model before on unseen labels, None where no verdict of it could be read, and
    `after` what of the judge.
    """

    lessons: int
    losses: list[float]
    kept: int
    before: Certificate | None
    after: Certificate


def make_judge(labels: LabelSet, model: str, out: Path, settings: Settings, ledger: Ledger) -> Judge:
    """Train a judge, and measure it; its verdicts are kept in `ledger`.

    `out`: a new folder for the judge, which ``local:OUT`` loads, its certificate and the ids of each part.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise QuadragError(f"{out} is there; give a new folder with --out")
    parts = split_by_case(labels.items, settings.seed)
    lessons, aside = (make_lessons(labels, part) for part in parts[:2])
    losses, kept = train(model, lessons, aside, out, settings)
    unseen = replace(labels, name=f"{labels.name} (unseen 40%)", items=parts[2], recorded={})
    after = _measure(unseen, str(out), ledger)
    if after is None:
        raise QuadragError(f"{out} gives no readable verdict; train it longer, with more --passes or a higher --rate")
    after.write(out / CERTIFICATE)
    names = ("learn", "choose", "unseen")
    ids = {name: [item.id for item in part] for name, part in zip(names, parts, strict=True)}
    write_text(out / "labels.json", json.dumps(ids, ensure_ascii=False, indent=1) + "\n")
    return Judge(len(lessons), losses, kept, _measure(unseen, model, ledger), after)


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
            lessons.append(Lesson(item.id, requests[0], json.dumps({form: number})))
    return lessons


def _list_requests(labels: LabelSet) -> list[Any]:
    """List what a judge would be asked of items; nothing of those that a rule decides."""
    requests: list[Any] = []

    def record(batch: list[Any]) -> list[Any]:
        requests.extend(batch)
        return [Failure("api_error", "not asked")] * len(batch)

    judge_items(labels, record)
    return requests


Coded = tuple[list[int], list[int]]  # the tokens of a prompt, and those of the verdict


def train(
    model: str, learn: Sequence[Lesson], choose: Sequence[Lesson], out: Path, settings: Settings
) -> tuple[list[float], int]:
    """Train an adapter of a model by LoRA, and write it, and the model with it merged, to a folder.

    Returns the loss on the lessons `choose`, before and after each pass, and the pass that was kept: the one with the
    least, the last where there is none to choose by.
    """
    if not learn:
        raise QuadragError("no label to learn from; a rule decides all of them, or there are too few")
    try:
        import peft
        import torch
        import transformers
    except ImportError as error:
        raise NotReady(f"training a judge needs {error.name}; {tell_extra('judge')}") from None
    torch.manual_seed(settings.seed)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(model)
        base = transformers.AutoModelForCausalLM.from_pretrained(model, dtype="auto")
    except (OSError, ValueError) as error:
        raise QuadragError(f"cannot load {model} ({' '.join(str(error).split())[:300]})") from None
    config = peft.LoraConfig(
        task_type="CAUSAL_LM", r=settings.rank, lora_alpha=2 * settings.rank, target_modules="all-linear"
    )
    adapted: Any = peft.get_peft_model(base.to("cuda" if torch.cuda.is_available() else "cpu"), config)
    weights = {name: weight for name, weight in adapted.named_parameters() if weight.requires_grad}
    optimizer = torch.optim.AdamW(weights.values(), lr=settings.rate)
    coded, aside = ([_encode(tokenizer, lesson, settings.longest) for lesson in part] for part in (learn, choose))
    losses, kept, best = [_measure_loss(adapted, aside, settings.batch)], 0, {}
    with Progress("training", settings.passes * math.ceil(len(coded) / settings.batch)) as progress:
        for number in range(1, settings.passes + 1):
            adapted.train()
            for step, batch in enumerate(_batches(adapted, coded, settings.batch, f"{settings.seed}:{number}"), 1):
                adapted(**batch).loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                progress.update((number - 1) * math.ceil(len(coded) / settings.batch) + step)
            losses.append(_measure_loss(adapted, aside, settings.batch))
            if not aside or losses[-1] == min(losses[1:]):
                kept, best = number, {name: weight.detach().clone() for name, weight in weights.items()}
    with torch.no_grad():
        for name, weight in weights.items():
            weight.copy_(best[name])
    adapted.save_pretrained(out / ADAPTER)
    adapted.merge_and_unload().save_pretrained(out)
    tokenizer.save_pretrained(out)
    return losses, kept


def _encode(tokenizer: Any, lesson: Lesson, longest: int) -> Coded:
    """Return the tokens of a prompt, as a run sends it, and those of the verdict with its end."""
    if tokenizer.chat_template:
        encoded = tokenizer.apply_chat_template(lesson.chat, add_generation_prompt=True, return_dict=True)
    else:
        encoded = tokenizer("\n\n".join(turn["content"] for turn in lesson.chat))
    prompt = list(encoded["input_ids"])
    verdict = [*tokenizer(lesson.verdict, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
    room = longest - len(verdict)
    if len(prompt) > room:
        prompt = prompt[: room // 2] + prompt[len(prompt) - (room - room // 2) :]
    return prompt, verdict


def _batches(model: Any, coded: Sequence[Coded], size: int, seed: str) -> Iterator[dict[str, Any]]:
    """Yield what a model takes of so many lessons, in an order of the seed; what is not learned has target -100."""
    import torch

    order = list(range(len(coded)))
    random.Random(seed).shuffle(order)
    for start in range(0, len(order), size):
        pairs = [coded[at] for at in order[start : start + size]]
        width = max(len(prompt) + len(verdict) for prompt, verdict in pairs)
        rows = [(prompt + verdict, [-100] * len(prompt) + verdict) for prompt, verdict in pairs]
        blank = [width - len(ids) for ids, _ in rows]
        batch = {
            "input_ids": [ids + [0] * n for (ids, _), n in zip(rows, blank, strict=True)],
            "attention_mask": [[1] * len(ids) + [0] * n for (ids, _), n in zip(rows, blank, strict=True)],
            "labels": [targets + [-100] * n for (_, targets), n in zip(rows, blank, strict=True)],
        }
        yield {name: torch.tensor(values, device=model.device) for name, values in batch.items()}


def _measure_loss(model: Any, coded: Sequence[Coded], size: int) -> float:
    import torch

    model.eval()
    with torch.no_grad():
        losses = [(float(model(**batch).loss), len(batch["input_ids"])) for batch in _batches(model, coded, size, "0")]
    return sum(loss * n for loss, n in losses) / len(coded) if coded else 0.0
