"""What became of the documents, told: as a table for a screen, and as the dataset's card."""

from collections.abc import Mapping, Sequence
from typing import Any

from quadrag.hub.card import join_card, size_category
from quadrag.printing import wrap

from .steps import Stage

RULES = "rules"  # in place of a model's name
_WIDTH = 80
_REASONS = 5  # of a step, the most frequent ones


def tell_steps(stages: Sequence[Stage]) -> list[str]:
    """Return the lines of a table: what came into each step, what was kept, and what was dropped for which reasons."""
    *heads, why = "step", "rows", "kept", "dropped", "why"
    lines = ["".join(map(_push, heads, (-21, 6, 7, 9))) + f"   {why}"]
    for stage in stages:
        reasons = [f"{n:,} {why}" for why, n in stage.dropped.most_common(_REASONS)]
        if left := sum(stage.dropped.values()) - sum(n for _, n in stage.dropped.most_common(_REASONS)):
            reasons.append(f"{left:,} for other reasons")
        head = f"{stage.name:21}{stage.rows:>6,}{stage.kept:>7,}{sum(stage.dropped.values()):>9,}   "
        for reason in reasons or [""]:
            lines += [line.rstrip() for line in _fold(reason, head, "  ")]
            head = " " * len(head)
    return lines


def tell_splits(splits: Mapping[str, int]) -> list[str]:
    """Return the lines of a table: how many questions each split of each config has."""
    by_config: dict[str, list[str]] = {}
    for name, n in splits.items():
        config, _, split = name.partition("/")
        by_config.setdefault(config, []).append(f"{split}\N{NO-BREAK SPACE}{n:,}")
    width = max(map(len, by_config), default=0) + 3
    lines = [_push("config", -width) + "questions by split"]
    for config, found in by_config.items():
        lines += _fold(", ".join(found), f"{config:{width}}")
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def tell_calls(spent: Mapping[str, Any] | None, currency: str, by_rule: str) -> str:
    """Say how often a model was asked, and what it took; of a recipe that asks none, how it makes its questions."""
    if spent is None:
        return f"made by rule, {by_rule}"
    said = f"{spent['calls']:,} calls, {spent['cached']:,} kept replies; tokens: {spent['prompt_tokens']:,} in, "
    said += f"{spent['completion_tokens']:,} out"
    return said if spent.get("cost") is None else f"{said}; cost {spent['cost']:.4g} {currency}".rstrip()


def make_card(record: Mapping[str, Any], languages: Sequence[str], by_rule: str) -> str:
    """Return a dataset's README from ``construct.json``; `by_rule` is what its questions are without a model."""
    recipe, model, licence = record["recipe"], record["model"], record["licence"]
    most = max(record["splits"].values())
    header: dict[str, Any] = {
        "pretty_name": f"Documents of one's own, in the form of {recipe}",
        "language": list(languages),
        "license": "other" if licence else "unknown",
        **({"license_name": licence} if licence else {}),
        "size_categories": [size_category(most)],
        "tags": ["rag", "quadrag", "synthetic"],
    }
    ruled = model == RULES
    by = "" if ruled else f", by the model `{model.rpartition('#')[2]}`"
    rows = [(step["step"], step["rows"], step["kept"], step["dropped"]) for step in record["steps"]]
    steps = [
        f"| {name} | {n:,} | {kept:,} | {'; '.join(f'{count:,} {why}' for why, count in dropped.items())} |"
        for name, n, kept, dropped in rows
    ]
    read = "No person has read the questions, unless a review says so."
    if seen := record.get("reviewed"):
        read = (
            f"People have read the questions: of {seen['graded']:,} that were graded, by {seen['annotators']} of them, "
            f"the {seen['passed']:,} that passed are here, corrected where they had to be."
        )
    splits = [f"| `{name.replace('/', '` | `')}` | {n:,} |" for name, n in record["splits"].items()]
    run = f"quadrag run {recipe} {next(iter(record['splits'])).partition('/')[0]} --data-dir DATASET"
    body = [
        f"# {header['pretty_name']}",
        f"Questions of the kinds that {recipe} has, in its files, made of other documents: its published results say "
        "nothing about them.",
        f"**Made by rule:** {by_rule}." if ruled else "",
        "## How it was made",
        f"By `quadrag construct {recipe}` of quadrag {record['quadrag']}, seed {record['seed']}, from "
        f"{record['documents']['n']:,} documents (SHA-256 of what was read: `{record['documents']['sha256']}`)"
        f"{by}. Licence of the documents: {licence or 'not stated'}.",
        "Documents with personal data were left out, as far as rules find them; names of private persons they do not."
        f"{'' if ruled else ' What the model wrote was held against its source by rule.'} {read}",
        f"It stopped early: {record['stopped']}." if record["stopped"] else "",
        "\n".join(["| step | rows | kept | dropped |", "|---|---|---|---|", *steps]),
        "## Questions",
        "\n".join(["| config | split | questions |", "|---|---|---|", *splits]),
        "## How to use it",
        f"```sh\n{run}\nquadrag prepare {recipe} --data-dir DATASET\n```",
        f"After `prepare`, `datasets.load_dataset` loads it as `{recipe}`. `quadrag export` and `quadrag push` with "
        "`--data-dir DATASET` make a repository of it.",
    ]
    return join_card(header, "\n" + "\n\n".join(part for part in body if part) + "\n")


def _fold(text: str, head: str, more: str = "") -> list[str]:
    first, *_ = wrap(text, _WIDTH - len(head)) or [""]
    rest = wrap(text.removeprefix(first).strip(), _WIDTH - len(head + more))
    return [head + first, *(" " * len(head) + more + line for line in rest if line)]


def _push(text: str, width: int) -> str:
    from rich.cells import cell_len

    blanks = " " * (abs(width) - cell_len(text))
    return blanks + text if width > 0 else text + blanks
