"""From labels to a judge with its figures: trained on one part, measured on another, beside the model before."""

import csv
import itertools
import json
import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.chat.ledger import Ledger
from quadrag.chat.reply import Failure
from quadrag.errors import NotReady, QuadragError, tell_extra
from quadrag.judges.ask import ask_judge, check_askable, judge_items
from quadrag.judges.certificate import Certificate, certify
from quadrag.judges.labels import Item, LabelSet
from quadrag.metric_record import metric_record
from quadrag.progress import Progress
from quadrag.records import write_text
from quadrag.reporting.table import Cell, Row, Table
from quadrag.systems.local import LocalModel

SHARES = (5, 1, 4)  # to learn from, to choose by, to be measured on (Wang et al. 2024, section 3.4)


class Lesson(NamedTuple):
    """What a judge is asked of an item, and what it is to say."""

    id: str
    chat: list[dict[str, str]]
    verdict: str


def split_by_case(items: Sequence[Item], seed: int) -> tuple[list[Item], list[Item], list[Item]]:
    """Part items 5:1:4, to learn from, to choose by and to be measured on, all of one case on one side.

    A case is a group, else a question, else the item alone.
    """
    cases = {item.id: item.group or item.question or item.id for item in items}
    order = sorted(set(cases.values()))
    random.Random(seed).shuffle(order)
    ends = [round(len(order) * sum(SHARES[:at]) / sum(SHARES)) for at in range(4)]
    sides = [set(order[start:end]) for start, end in itertools.pairwise(ends)]
    learn, choose, measure = ([item for item in items if cases[item.id] in side] for side in sides)
    return learn, choose, measure


def make_lessons(labels: LabelSet, items: Sequence[Item]) -> list[Lesson]:
    """Return what is asked of items, by the prompt of a run, with the verdicts that people gave.

    Left out are items that a rule decides, about which nothing is asked, and those whose label is no value.
    """
    check_askable(labels)
    if labels.pairs:
        raise QuadragError(f"{labels.name} labels pairs of answers; a judge is trained on labels of single ones")
    form = _form(labels)
    lessons = []
    with Progress(f"{labels.name}: prompts", len(items)) as progress:
        for done, item in enumerate(items, 1):
            value = labels.graded.grades[item.label]
            requests = _list_requests(replace(labels, items=[item])) if value is not None else []
            if len(requests) == 1 and value is not None:
                number = int(value) if value == int(value) else value
                lessons.append(Lesson(item.id, requests[0], json.dumps({form: number})))
            progress.update(done)
    return lessons


def _list_requests(labels: LabelSet) -> list[Any]:
    """List what a judge would be asked of items; nothing of those that a rule decides."""
    requests: list[Any] = []

    def record(batch: list[Any]) -> list[Any]:
        requests.extend(batch)
        return [Failure("api_error", "not asked")] * len(batch)

    judge_items(labels, record)
    return requests


def _form(labels: LabelSet) -> str:
    example = metric_record(labels.graded.metric).verdict or ""
    try:
        found = json.loads(example)
        ((name, value),) = found.items()
        if not isinstance(value, (int, float)):
            raise TypeError
    except (ValueError, AttributeError, TypeError):
        raise QuadragError(
            f"a verdict of {labels.graded.name} is no number; train on labels of another metric"
        ) from None
    return str(name)


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

    `choose` decides which pass is kept; the last one where there is none.
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


CERTIFICATE = "certificate.json"
_VERDICT_TOKENS = 32


@dataclass(frozen=True, slots=True)
class Judge:
    """A trained judge: how training went, and what was measured of it and of the model before, on unseen labels.

    `before` is None where no verdict of the model could be read.
    """

    trained: Trained
    lessons: int
    before: Certificate | None
    after: Certificate


def make_judge(labels: LabelSet, model: str, out: Path, settings: Settings, ledger: Ledger) -> Judge:
    """Train a judge, and measure it; its verdicts are kept in `ledger`.

    `out`: a new folder for the judge, which ``local:OUT`` loads, its certificate and the ids of each part.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise QuadragError(f"{out} is there; give a new folder with --out")
    learn, choose, unseen = split_by_case(labels.items, settings.seed)
    lessons = make_lessons(labels, learn)
    trained = train(model, lessons, make_lessons(labels, choose), out, settings)
    kept = replace(labels, name=f"{labels.name} (unseen 40%)", items=unseen, recorded={})
    after = _measure(kept, str(out), ledger)
    if after is None:
        raise QuadragError(f"{out} gives no readable verdict; train it longer, with more --passes or a higher --rate")
    after.write(out / CERTIFICATE)
    parts = {"learn": _ids(learn), "choose": _ids(choose), "unseen": _ids(unseen)}
    write_text(out / "labels.json", json.dumps(parts, ensure_ascii=False, indent=1) + "\n")
    return Judge(trained, len(lessons), _measure(kept, model, ledger), after)


def _measure(labels: LabelSet, model: str, ledger: Ledger) -> Certificate | None:
    judge = LocalModel(model, ledger=ledger, parameters={"temperature": 0, "max_tokens": _VERDICT_TOKENS})
    try:
        verdicts = ask_judge(labels, judge)
        return certify(labels, verdicts) if any(verdicts.grades.values()) else None
    finally:
        judge.close()


def _ids(items: Sequence[Item]) -> list[str]:
    return [item.id for item in items]


_METHODS = {"prompting": "as it is", "lora-ft": "trained"}
_NOTE = (
    "On the authors' own labels, 127 cases of five metrics, two fifths of them unseen: the percentages fit 250 labels, "
    "the stated split leaves 254. For other labels they are a mark to look at, and no comparison."
)


def tabulate_printed() -> Table:
    """Make the table of the printed judges, each with accuracy and kappa, in the paper's order."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    with (catalogue.plugin_folder("omnieval") / "published.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["table"] == "3"]
    for row in rows:
        made = dict(pair.split("=", 1) for pair in row["setting"].split(";"))
        found[f"{made['judge']}, {_METHODS[made['method']]}"][row["metric"]] = f"{float(row['value']) / 100:.4f}"
    lines = [Row(judge, [Cell(one["judge_accuracy"]), Cell(one["kappa"])]) for judge, one in found.items()]
    return Table("As printed by OmniEval, table 3", "judge", ["agreement", "kappa"], lines, [_NOTE])
