"""What became of the documents: as tables for a screen, and as the dataset's card."""

from collections.abc import Mapping, Sequence
from typing import Any

from quadrag.hub.card import join_card, size_category
from quadrag.reporting.table import Cell, Row, Table

RULES = "rules"  # in place of a model's name
_REASONS = 5  # of a step, the most frequent ones


def tabulate_steps(stages: Sequence[Mapping[str, Any]]) -> Table:
    """Make the table of what came into each step, what was kept, and what was dropped for which reasons."""
    lines, notes = [], []
    for stage in stages:
        counts = stage["rows"], stage["kept"], sum(stage["dropped"].values())
        lines.append(Row(stage["step"], [Cell(f"{count:,}") for count in counts]))
        reasons = [f"{count:,} {why}" for why, count in stage["dropped"].items()]
        if more := reasons[_REASONS:]:
            reasons[_REASONS:] = [f"{len(more):,} further reasons"]
        notes += [f"{stage['step']} dropped {'; '.join(reasons)}."] if reasons else []
    return Table("What became of the documents", "step", ["rows", "kept", "dropped"], lines, notes)


def tabulate_splits(splits: Mapping[str, int]) -> Table:
    """Make the table of how many questions each split of each config has."""
    lines = [Row(name, [Cell(f"{count:,}")]) for name, count in splits.items()]
    return Table("What was made", "config/split", ["questions"], lines)


def tabulate_requests(requests: Mapping[str, int]) -> Table:
    """Make the table of an estimate."""
    lines = [Row(name, [Cell(f"{count:,}")]) for name, count in requests.items()]
    lines.append(Row("all", [Cell(f"{sum(requests.values()):,}")], rule=True))
    return Table("Requests at most; no model was asked", "step", ["requests"], lines)


def format_calls(spent: Mapping[str, Any], currency: str) -> str:
    """Return how often a model was asked, and what it took, in a line."""
    tokens = f"{spent['prompt_tokens']:,} in, {spent['completion_tokens']:,} out"
    line = f"{spent['calls']:,} calls, {spent['cached']:,} kept replies; tokens: {tokens}"
    return line if spent.get("cost") is None else f"{line}; cost {spent['cost']:.4g} {currency}".rstrip()


def make_card(record: Mapping[str, Any], languages: Sequence[str], by_rule: str) -> str:
    """Return a dataset's README from ``construct.json``; `by_rule` is what its questions are without a model."""
    recipe, model, licence = record["recipe"], record["model"], record["licence"]
    header: dict[str, Any] = {
        "pretty_name": f"Documents of one's own, in the form of {recipe}",
        "language": list(languages),
        "license": "other" if licence else "unknown",
        **({"license_name": licence} if licence else {}),
        "size_categories": [size_category(max(record["splits"].values()))],
        "tags": ["rag", "quadrag", "synthetic"],
    }
    ruled = model == RULES
    made_by = f"**Made by rule:** {by_rule}" if ruled else f"Made by the model `{model.rpartition('#')[2]}`"
    checked = "" if ruled else " What the model wrote was held against its source by rule."
    read = "No person has read the questions, unless a review says so."
    if seen := record.get("reviewed"):
        read = (
            f"People have read the questions: of {seen['graded']:,} that were graded, by {seen['annotators']} of them, "
            f"the {seen['passed']:,} that passed are here, corrected where they had to be."
        )
    steps = ["| step | rows | kept | dropped |", "|---|---|---|---|"]
    for step in record["steps"]:
        dropped = "; ".join(f"{count:,} {why}" for why, count in step["dropped"].items())
        steps.append(f"| {step['step']} | {step['rows']:,} | {step['kept']:,} | {dropped} |")
    splits = [f"| `{name.replace('/', '` | `')}` | {count:,} |" for name, count in record["splits"].items()]
    run = f"quadrag run {recipe} {next(iter(record['splits'])).partition('/')[0]} --data-dir DATASET"
    body = [
        f"# {header['pretty_name']}",
        f"Questions of the kinds that {recipe} has, in its files, made of other documents: its published results say "
        "nothing about them.",
        "## How it was made",
        f"By `quadrag construct {recipe}` of quadrag {record['quadrag']}, seed {record['seed']}, from "
        f"{record['documents']['n']:,} documents (SHA-256 of what was read: `{record['documents']['sha256']}`). "
        f"{made_by}. Licence of the documents: {licence or 'not stated'}.",
        "Documents with personal data were left out, as far as rules find them; names of private persons they do not."
        f"{checked} {read}",
        f"It stopped early: {record['stopped']}." if record["stopped"] else "",
        "\n".join(steps),
        "## Questions",
        "\n".join(["| config | split | questions |", "|---|---|---|", *splits]),
        "## How to use it",
        f"```sh\n{run}\nquadrag prepare {recipe} --data-dir DATASET\n```",
        f"After `prepare`, `datasets.load_dataset` loads it as `{recipe}`. `quadrag export` and `quadrag push` with "
        "`--data-dir DATASET` make a repository of it.",
    ]
    return join_card(header, "\n" + "\n\n".join(part for part in body if part) + "\n")
