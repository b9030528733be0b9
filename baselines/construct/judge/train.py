"""LoRA (Hu et al. 2022) on what a judge is to say: transformers, peft and accelerate.

Loss is on the verdict alone. Of the passes over the lessons the one is kept after which the verdicts set aside are
likeliest. The adapter is saved, and beside it the model with the adapter merged, which ``local:`` and servers load.
OmniEval states neither rank nor rate nor passes: those here are common ones.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quadrag.errors import NotReady, QuadragError, tell_extra
from quadrag.progress import Progress

from .material import Lesson

Coded = tuple[list[int], list[int]]  # the tokens of a prompt, and those of the verdict
ADAPTER = "adapter"  # the folder of the adapter alone, beside the merged model


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
class Trained:
    """What training came to: steps taken, and the loss on the lessons set aside, before and after each pass."""

    steps: int
    losses: list[float]
    kept: int


def train(model: str, learn: Sequence[Lesson], choose: Sequence[Lesson], out: Path, settings: Settings) -> Trained:
    """Train a model, and write it with its adapter merged to a folder.

    `choose`: what decides which pass is kept; the last one where there is none.

    Raises:
        NotReady: the extra is lacking.
        QuadragError: there is nothing to learn from, or the model cannot be loaded.
    """
    if not learn:
        raise QuadragError("no label to learn from; a rule decides all of them, or there are too few")
    torch, accelerate, peft, transformers = _libraries()
    accelerator = accelerate.Accelerator()
    accelerate.utils.set_seed(settings.seed)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(model)
        base = transformers.AutoModelForCausalLM.from_pretrained(model, dtype="auto")
    except (OSError, ValueError) as error:
        raise QuadragError(f"cannot load {model} ({' '.join(str(error).split())[:300]})") from None
    adapted = peft.get_peft_model(base, _adapter(peft, settings.rank))
    weights = [weight for weight in adapted.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=settings.rate)
    adapted, optimizer = accelerator.prepare(adapted, optimizer)
    coded, aside = ([_encode(tokenizer, one, settings.longest) for one in lessons] for lessons in (learn, choose))
    steps, losses = 0, [_loss(torch, adapted, aside, settings.batch)]
    best: tuple[float, int, dict[str, Any]] | None = None
    total = settings.passes * math.ceil(len(coded) / settings.batch)
    with Progress("training", total) as progress:
        for at in range(1, settings.passes + 1):
            adapted.train()
            for batch in _batches(torch, adapted, coded, settings.batch, f"{settings.seed}:{at}"):
                accelerator.backward(adapted(**batch).loss)
                optimizer.step()
                optimizer.zero_grad()
                steps += 1
                progress.update(steps)
            losses.append(_loss(torch, adapted, aside, settings.batch))
            if best is None or not aside or losses[-1] < best[0]:
                best = losses[-1], at, {name: one.detach().clone() for name, one in _trained(adapted)}
    assert best is not None
    with torch.no_grad():
        for name, one in _trained(adapted):
            one.copy_(best[2][name])
    adapted = accelerator.unwrap_model(adapted)
    adapted.save_pretrained(out / ADAPTER)
    adapted.merge_and_unload().save_pretrained(out)
    tokenizer.save_pretrained(out)
    return Trained(steps, losses, best[1])


def _libraries() -> tuple[Any, Any, Any, Any]:
    try:
        import accelerate
        import peft
        import torch
        import transformers
    except ImportError as error:
        raise NotReady(f"training a judge needs {error.name}; {tell_extra('judge')}") from None
    return torch, accelerate, peft, transformers


def _adapter(peft: Any, rank: int) -> Any:
    return peft.LoraConfig(task_type="CAUSAL_LM", r=rank, lora_alpha=2 * rank, target_modules="all-linear")


def _trained(model: Any) -> Iterator[tuple[str, Any]]:
    return ((name, one) for name, one in model.named_parameters() if one.requires_grad)


def _encode(tokenizer: Any, lesson: Lesson, longest: int) -> Coded:
    """Return the tokens of a prompt, as a run sends it, and those of the verdict with its end."""
    if tokenizer.chat_template:
        found = tokenizer.apply_chat_template(lesson.chat, add_generation_prompt=True, return_dict=True)
        prompt = list(found["input_ids"])
    else:
        prompt = list(tokenizer("\n\n".join(turn["content"] for turn in lesson.chat))["input_ids"])
    verdict = [*tokenizer(lesson.verdict, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
    room = longest - len(verdict)
    if len(prompt) > room:
        prompt = prompt[: room // 2] + prompt[len(prompt) - (room - room // 2) :]
    return prompt, verdict


def _batches(torch: Any, model: Any, coded: Sequence[Coded], size: int, seed: str) -> Iterator[dict[str, Any]]:
    """Yield what a model takes of so many lessons, in an order of the seed; what is not learned has target -100."""
    order = list(range(len(coded)))
    random.Random(seed).shuffle(order)
    for start in range(0, len(order), size):
        some = [coded[at] for at in order[start : start + size]]
        width = max(len(prompt) + len(verdict) for prompt, verdict in some)
        ids = torch.zeros(len(some), width, dtype=torch.long)
        mask, targets = torch.zeros_like(ids), torch.full_like(ids, -100)
        for row, (prompt, verdict) in enumerate(some):
            end = len(prompt) + len(verdict)
            ids[row, :end] = torch.tensor(prompt + verdict)
            mask[row, :end] = 1
            targets[row, len(prompt) : end] = torch.tensor(verdict)
        found = {"input_ids": ids, "attention_mask": mask, "labels": targets}
        yield {name: one.to(model.device) for name, one in found.items()}


def _loss(torch: Any, model: Any, coded: Sequence[Coded], size: int) -> float:
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for batch in _batches(torch, model, coded, size, "0"):
            here = len(batch["input_ids"])
            total += float(model(**batch).loss) * here
            count += here
    return total / count if count else 0.0
