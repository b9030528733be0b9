"""Known label sets: their authors' files at pinned commits (``label_files.csv``), and what these files mean.

Files are fetched and verified, or found in a folder. Rows that nobody labelled, or that their authors call improper,
are left out.
"""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.data.download import RemoteFile, fault, fetch, sha256
from quadrag.errors import QuadragError, unknown_name
from quadrag.paths import cache_dir
from quadrag.reading import parse_json
from quadrag.records import read_jsonl

from .labels import Graded, Item, LabelSet, check_classes, find_graded, read_labels

_HOST = "https://raw.githubusercontent.com"
_RIGHT = {"Yes": "right", "No": "wrong"}
_BEM = 0.5  # the probability at which its authors take an answer for right
# What no prompt here asks for.
_FELT = Graded("usefulness", "How useful is the answer? 1: not at all, 5: very.", {str(n): n for n in range(1, 6)})
_BETTER: Mapping[str, float | None] = {"-1": -1, "0": 0, "1": 1}  # of two answers: the first, neither, the second
Files = Mapping[str, Path]  # by name


class Known(NamedTuple):
    """A label set: the values that people graded (the first by default), what reads its files, what to know of it."""

    graded: tuple[str, ...]
    read: Callable[[LabelSet, Files], Iterator[Item]]
    note: str = ""


@cache
def _sources(name: str) -> dict[RemoteFile, Mapping[str, str]]:
    """Return the files of a set, with what ``label_files.csv`` says of each."""
    sources: dict[RemoteFile, Mapping[str, str]] = {}
    with Path(__file__).with_name("label_files.csv").open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            if row["set"] == name.casefold():
                url = f"{_HOST}/{row['repository']}/{row['commit']}/{row['path']}"
                own = row["path"].rpartition("/")[2]
                sources[RemoteFile(own, url, int(row["bytes"]), row["sha256"], row["git_blob_sha1"])] = row
    return sources


def open_labels(named: str, metric: str | None = None, data_dir: str | Path | None = None) -> LabelSet:
    """Open a label set by its name, or read a file of the user's own.

    `metric`: what is graded; the set's own, and of a file truthfulness, when None.
    `data_dir`: a folder with the files of a known set; they are fetched when None.
    """
    name = next((known for known in SETS if known.casefold() == named.casefold()), None)
    if Path(named).is_file():
        labels = read_labels(Path(named), find_graded(metric or "truthfulness"))
    elif name is None:
        raise unknown_name("label set, or CSV file with id and label,", named, SETS)
    else:
        labels = _open_known(name, metric, data_dir)
    check_classes(labels.items, named, labels.graded)
    return labels


def _open_known(name: str, metric: str | None, data_dir: str | Path | None) -> LabelSet:
    about = SETS[name]
    asked = metric or about.graded[0]
    graded = _FELT if asked == _FELT.name else find_graded(asked)
    if graded.name not in about.graded:
        raise QuadragError(f"{name} has no labels for {graded.name}; expected --metric {' or '.join(about.graded)}")
    if data_dir is None:
        root = fetch([*_sources(name)], cache_dir() / "labels" / name.casefold())
    else:
        root = Path(data_dir).expanduser()
    files = _locate(name, root)
    labels = LabelSet(name, graded, [], {path.name: sha256(path) for path in files.values()})
    sources = _sources(name)
    theirs = all(each.name in files and fault(files[each.name], each) is None for each in sources)
    row = next(iter(sources.values()))
    labels.source = f"{row['repository']} at {row['commit'][:8]}, {row['licence']}"
    labels.source += f" ({'' if theirs else 'not all '}the authors' own files)"
    labels.notes = [about.note] if about.note else []
    try:
        labels.items = list(about.read(labels, files))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        where = ", ".join(map(str, files.values()))
        raise QuadragError(f"{where}: not in the form of {name} ({error!r}); expected its authors' files") from None
    return labels


def _locate(name: str, root: Path) -> Files:
    """Find the files of a set in a folder or below it, by their names or by their last folder's and theirs."""
    files = {}
    for source in _sources(name):
        names = (source.name, "_".join(source.url.split("/")[-2:]))
        if places := [path for each in names for path in sorted(root.rglob(each)) if path.is_file()]:
            files[source.name] = places[0]
    if not files:
        wanted = ", ".join(source.name for source in _sources(name))
        raise QuadragError(f"{root} has no file of {name}; expected {wanted}, or leave out --data-dir to fetch them")
    return files


def list_sets() -> Iterator[str]:
    """Yield a line for every known set: what it grades, where it comes from, its licence."""
    width = max(map(len, SETS))
    yield f"{'LABELS':{width}}  what is graded; source, licence"
    for name, about in SETS.items():
        row = next(iter(_sources(name).values()))
        yield f"{name:{width}}  {', '.join(about.graded)}; {row['repository']}, {row['licence']}"


def _json(path: Path) -> Any:
    return parse_json(path.read_bytes(), path)


def _rows(path: Path) -> list[list[str]]:
    csv.field_size_limit(1 << 27)
    with path.open(encoding="utf-8", newline="") as text:
        return list(csv.reader(text, delimiter="\t"))[1:]


def _evouna(labels: LabelSet, files: Files) -> Iterator[Item]:
    for name, path in files.items():
        part = name.partition(".")[0]
        for number, row in enumerate(_json(path)):
            # As they stand, spaces too: the known figures of the rules are of these.
            golds = tuple(gold for gold in (row["golden_answer"] or "").split("/") if gold.strip())
            for system in [key.removeprefix("answer_") for key in row if key.startswith("answer_")]:
                is_right = row[f"judge_{system}"]
                if row["improper"] or is_right is None:
                    continue
                yield Item(
                    f"{part}-{number}-{system}",
                    "right" if is_right else "wrong",
                    row["question"],
                    row[f"answer_{system}"] or "",
                    golds=golds,
                    group=f"{part}-{number}",
                )


def _openqa_eval(labels: LabelSet, files: Files) -> Iterator[Item]:
    names = ("NQ301_human.tsv", "NQ301_BEM.tsv", "NQ301_gpt-4.tsv", "NQ301_text-davinci-003.tsv")
    human, *judges = (_rows(files[name]) for name in names)
    recorded: dict[str, dict[str, str | None]] = {"gpt-4": {}, "davinci-003": {}, "bem": {}}
    for number, (row, gold, gpt4, davinci) in enumerate(zip(human, *judges, strict=True), 1):
        name, (group, question, answer, label, *votes) = str(number), row
        # The third person was asked where the first two were split.
        people = tuple(_RIGHT.get(vote) for vote in votes[:2])
        golds = tuple(gold[2].split(" | "))
        yield Item(name, _RIGHT[label], question, answer, golds=golds, group=group, votes=people)
        # What was judged may be another answer than people saw.
        same = gpt4[2].split() == answer.split()
        recorded["gpt-4"][name] = _RIGHT.get(gpt4[-2]) if same else None
        recorded["davinci-003"][name] = _RIGHT.get(davinci[-2]) if davinci[1].endswith(answer) else None
        # A pair of probabilities for each accepted answer: right from 0.5 for any of them.
        recorded["bem"][name] = "right" if max(pair[1] for pair in json.loads(gold[5])) >= _BEM else "wrong"
    labels.recorded = recorded


def _uhgeval(labels: LabelSet, files: Files) -> Iterator[Item]:
    (path,) = files.values()
    for _, row in read_jsonl(path):
        golds = (row["realContinuation"].strip(),)
        passages = (row["newsBeginning"].strip(), row["newsRemainder"].strip())
        for at, annotation in enumerate(row["annotations"]):
            keyword, _, said = annotation.partition("<sep>")
            label = "1" if said.startswith("不合理") else "0"
            yield Item(f"{row['id']}-{at}", label, row["headLine"], keyword, None, golds, passages, row["id"])


def _wice(labels: LabelSet, files: Files) -> Iterator[Item]:
    grades = {"supported": "0", "partially_supported": "1", "not_supported": "1"}
    (path,) = files.values()
    for _, row in read_jsonl(path):
        meta = row["meta"]
        asked = f"What is said of {meta['claim_title']}?"
        passages = tuple(row["evidence"])
        yield Item(meta["id"], grades[row["label"]], asked, row["claim"], passages=passages, group=meta["claim_title"])


def _ragchecker(labels: LabelSet, files: Files) -> Iterator[Item]:
    column = {"acc": "correctness_label", "com": "completeness_label"}[labels.graded.key]
    labels.graded = replace(labels.graded, grades=_BETTER)
    (path,) = files.values()
    pairs: dict[str, list[Mapping[str, Any]]] = {}
    for row in _json(path):
        pairs.setdefault(str(row["instance_id"]), []).append(row)
    for name, (row, *others) in pairs.items():
        signs = [_sign(each[column]) for each in (row, *others)]
        yield Item(
            name,
            str(_sign(sum(signs))),
            row["query"],
            row["model1"]["response"],
            row["model2"]["response"],
            golds=(row["gt_answer"],),
            group=f"{row['dataset']}-{row['query_id']}",
            votes=tuple(map(str, signs)),
        )


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _alce(labels: LabelSet, files: Files) -> Iterator[Item]:
    (path,) = files.values()
    for data, systems in _json(path).items():
        for system, rows in systems.items():
            for key, row in rows.items():
                if "utility_score" not in row:
                    continue  # a summary of the system
                label, group = str(row["utility_score"]), f"{data}-{key}"
                yield Item(f"{system}-{key}", label, row["question"], row["output"], group=group)


_VOTED = "The ceiling is the first two annotators' agreement; a third one decided where they differ."
_KEYWORDS = "Each item is a keyword of a model's text, not a whole answer."
_CLAIMS = "Nearly hallucination: a claim of people; one that is partly supported counts as a hallucination."
_PAIRS = "1: the second answer is the better one; -1: the first; 0: neither, or the two annotators differ."
_USEFUL = "Usefulness as felt, from 1 to 5, without passages: not OmniEval's utilization."

SETS = {
    "EVOUNA": Known(("truthfulness",), _evouna),
    "OpenQA-eval": Known(("truthfulness",), _openqa_eval, _VOTED),
    "UHGEval": Known(("omnieval.hal",), _uhgeval, _KEYWORDS),
    "WiCE": Known(("omnieval.hal",), _wice, _CLAIMS),
    "RAGChecker": Known(("omnieval.acc", "omnieval.com"), _ragchecker, _PAIRS),
    "ALCE": Known((_FELT.name,), _alce, _USEFUL),
}
