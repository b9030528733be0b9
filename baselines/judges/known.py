"""Known label sets: their authors' files at pinned commits (``label_files.csv``), and what these files mean.

Files are fetched and verified, or found in a folder. Rows that nobody labelled, or that their authors call improper,
are left out, and a note says how many.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.data.download import RemoteFile, fault, fetch, sha256
from quadrag.errors import QuadragError, unknown_name
from quadrag.paths import cache_dir
from quadrag.reading import parse_json
from quadrag.records import read_jsonl

from .labels import Item, LabelSet, check_classes, find_graded, read_labels

_HOST = "https://raw.githubusercontent.com"
_RIGHT = {"Yes": "right", "No": "wrong"}
_BEM = 0.5  # the probability at which its authors take an answer for right
Files = Mapping[str, Path]  # by name


class Known(NamedTuple):
    """A label set: whose files, the values that people graded (the first by default), what reads it, its language."""

    files: str
    graded: tuple[str, ...]
    read: Callable[[LabelSet, Files], Iterator[Item]]
    language: str = "en"


class Source(NamedTuple):
    """A file of a label set, where it is fetched, and its licence."""

    name: str
    remote: RemoteFile
    origin: str  # repository and commit
    licence: str


@cache
def _sources() -> dict[str, list[Source]]:
    found: dict[str, list[Source]] = {}
    with Path(__file__).with_name("label_files.csv").open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            url = f"{_HOST}/{row['repository']}/{row['commit']}/{row['path']}"
            remote = RemoteFile(row["path"], url, int(row["bytes"]), row["sha256"], row["git_blob_sha1"])
            name, origin = row["path"].rpartition("/")[2], f"{row['repository']} at {row['commit'][:8]}"
            found.setdefault(row["set"], []).append(Source(name, remote, origin, row["licence"]))
    return found


def open_labels(named: str, metric: str | None = None, data_dir: str | Path | None = None) -> LabelSet:
    """Open a label set by its name, or read a file of the user's own.

    `metric`: what is graded; the set's own, and of a file truthfulness, when None.
    `data_dir`: a folder with the files of a known set; they are fetched when None.
    """
    name = next((known for known in SETS if _plain(known) == _plain(named)), None)
    path = Path(named)
    if path.is_file():
        return read_labels(path, find_graded(metric or "truthfulness"))
    if name is None:
        if path.suffix or "/" in named:
            raise QuadragError(f"no file {named}; expected a CSV file with id and label, or {', '.join(SETS)}")
        raise unknown_name("label set", named, SETS)
    about = SETS[name]
    graded = find_graded(metric or about.graded[0])
    if graded.name not in about.graded:
        raise QuadragError(f"{name} has no labels for {graded.name}; expected --metric {' or '.join(about.graded)}")
    files = _fetch(about.files) if data_dir is None else _locate(about.files, Path(data_dir).expanduser())
    labels = LabelSet(name, graded, [], {path.name: sha256(path) for path in files.values()})
    labels.source = _describe(about.files, files)
    try:
        labels.items = list(about.read(labels, files))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        where = ", ".join(map(str, files.values()))
        raise QuadragError(f"{where}: not in the form of {name} ({error!r}); expected its authors' files") from None
    if not labels.ranked:
        check_classes(labels, name)
    return labels


def _plain(name: str) -> str:
    return re.sub(r"[-_ ]", "", name).casefold()


def _fetch(name: str) -> Files:
    folder = cache_dir() / "labels" / name
    fetch([source.remote for source in _sources()[name]], folder)
    return {source.name: folder / source.remote.name for source in _sources()[name]}


def _locate(name: str, root: Path) -> Files:
    """Find the files of a set in a folder or below it, by their names or by their last folder's and theirs."""
    if not root.is_dir():
        raise QuadragError(f"no folder {str(root)!r}; expected the label files of {name}")
    found = {}
    for source in _sources()[name]:
        names = (source.name, "_".join(source.remote.name.split("/")[-2:]))
        if places := [path for each in names for path in sorted(root.rglob(each)) if path.is_file()]:
            found[source.name] = places[0]
    if not found:
        wanted = ", ".join(source.remote.name for source in _sources()[name])
        raise QuadragError(f"{root} has no file of {name}; expected {wanted}, or leave out --data-dir to fetch them")
    return found


def _describe(name: str, files: Files) -> str:
    known = _sources()[name]
    other = [one.name for one in known if one.name in files and fault(files[one.name], one.remote) is not None]
    said = f"{', '.join(other)}: not the authors' own file" if other else "the authors' own files"
    lacking = ", ".join(one.name for one in known if one.name not in files)
    return f"{known[0].origin}, {known[0].licence} ({said}{f'; without {lacking}' if lacking else ''})"


def list_sets() -> Iterator[str]:
    """Yield a line for every known set: what it grades, where it comes from, its licence; and which are Chinese."""
    width = max(map(len, SETS))
    yield f"{'LABELS':{width}}  what is graded; source, licence"
    for name, about in SETS.items():
        source = _sources()[about.files][0]
        yield f"{name:{width}}  {', '.join(about.graded)}; {source.origin.partition(' ')[0]}, {source.licence}"
    yield f"Chinese: {', '.join(name for name, one in SETS.items() if one.language == 'zh')}; the others are English."


def _need(files: Files, *names: str) -> list[Path]:
    if lacking := [name for name in names if name not in files]:
        raise QuadragError(f"{', '.join(lacking)} is not in the folder; expected it beside the set's other files")
    return [files[name] for name in names]


def _json(path: Path) -> Any:
    return parse_json(path.read_bytes(), path)


def _rows(path: Path) -> list[list[str]]:
    csv.field_size_limit(1 << 27)
    with path.open(encoding="utf-8", newline="") as text:
        return list(csv.reader(text, delimiter="\t"))[1:]


def _evouna(labels: LabelSet, files: Files) -> Iterator[Item]:
    improper = unlabelled = 0
    for name, path in files.items():
        part = name.partition(".")[0]
        for number, row in enumerate(_json(path)):
            if row["improper"]:
                improper += 1
                continue
            # As they stand, spaces too: the known figures of the rules are of these.
            golds = tuple(gold for gold in (row["golden_answer"] or "").split("/") if gold.strip())
            for system in [key.removeprefix("answer_") for key in row if key.startswith("answer_")]:
                if (is_right := row[f"judge_{system}"]) is None:
                    unlabelled += 1
                    continue
                yield Item(
                    f"{part}-{number}-{system}",
                    "right" if is_right else "wrong",
                    row["question"],
                    row[f"answer_{system}"] or "",
                    golds=golds,
                    group=f"{part}-{number}",
                    slices={"system": system},
                )
    labels.groups = "question"
    labels.notes.append(f"Left out: {improper} improper questions, {unlabelled} answers that nobody labelled.")


def _openqa_eval(labels: LabelSet, files: Files) -> Iterator[Item]:
    names = ("NQ301_human.tsv", "NQ301_BEM.tsv", "NQ301_gpt-4.tsv", "NQ301_text-davinci-003.tsv")
    human, bem, *judges = map(_rows, _need(files, *names))
    if {len(rows) for rows in (bem, *judges)} != {len(human)}:
        raise QuadragError("the files of openqa-eval have unlike numbers of rows; expected them of one commit")
    recorded: dict[str, dict[str, str | None]] = {"gpt-4": {}, "davinci-003": {}, "bem": {}}
    apart = decided = 0
    for number, (row, gold, gpt4, davinci) in enumerate(zip(human, bem, *judges, strict=True), 1):
        name, (group, question, answer, label, *votes) = str(number), row
        # The third person was asked where the first two were split.
        people = tuple(_RIGHT.get(vote) for vote in votes[:2])
        golds = tuple(gold[2].split(" | "))
        yield Item(name, _RIGHT[label], question, answer, golds=golds, group=group, votes=people)
        decided += bool(votes[2])
        # What was judged may be another answer than people saw.
        same = gpt4[2].split() == answer.split()
        apart += not same
        recorded["gpt-4"][name] = _RIGHT.get(gpt4[-2]) if same else None
        recorded["davinci-003"][name] = _RIGHT.get(davinci[-2]) if davinci[1].endswith(answer) else None
        # A pair of probabilities for each accepted answer: right from 0.5 for any of them.
        recorded["bem"][name] = "right" if max(pair[1] for pair in json.loads(gold[5])) >= _BEM else "wrong"
    labels.recorded, labels.groups = recorded, "question"
    labels.notes.append(f"A third annotator decided {decided} answers; the ceiling is the first two's agreement.")
    if apart:
        labels.notes.append(f"GPT-4 was shown another answer than people in {apart} row: no verdict there.")


def _uhgeval(labels: LabelSet, files: Files, whole: bool) -> Iterator[Item]:
    (path,) = _need(files, "dataset_uhgeval_concise.jsonl")
    for _, row in read_jsonl(path):
        real = row["realContinuation"].strip()
        passages = (row["newsBeginning"].strip(), row["newsRemainder"].strip())
        item = partial(Item, question=row["headLine"], golds=(real,), passages=passages, group=row["id"])
        slices = {"type": row["type"]}
        if whole:
            yield item(f"{row['id']}-model", "1", answer=row["hallucinatedContinuation"].strip(), slices=slices)
            yield item(f"{row['id']}-real", "0", answer=real, slices=slices)
            continue
        for at, annotation in enumerate(row["annotations"]):
            keyword, _, said = annotation.partition("<sep>")
            label = "1" if said.startswith("不合理") else "0"
            yield item(f"{row['id']}-{at}", label, answer=keyword, slices=slices | {"system": row["generatedBy"]})
    labels.groups = "article"
    constructed = "Constructed: every model's text holds a hallucination, the clean ones are the real articles."
    labels.notes.append(constructed if whole else "Each item is a keyword of a model's text, not a whole answer.")


def _wice(labels: LabelSet, files: Files, partly: str) -> Iterator[Item]:
    grades = {"supported": "0", "partially_supported": partly, "not_supported": "1"}
    (path,) = _need(files, "dev.jsonl")
    for _, row in read_jsonl(path):
        title = row["meta"]["claim_title"]
        yield Item(
            row["meta"]["id"],
            grades[row["label"]],
            f"What is said of {title}?",
            row["claim"],
            passages=tuple(row["evidence"]),
            group=title,
            slices={"support": row["label"]},
        )
    labels.groups = "article"
    said, other = ("a hallucination", "WiCE-lenient") if partly == "1" else ("none", "WiCE")
    labels.notes.append(
        f"Nearly hallucination: a claim of people. Partly supported counts as {said}; {other} has the other."
    )


def _ragchecker(labels: LabelSet, files: Files) -> Iterator[Item]:
    column = {"acc": "correctness_label", "com": "completeness_label"}[labels.graded.key]
    (path,) = _need(files, "human_labeled_data.json")
    pairs: dict[str, list[Mapping[str, Any]]] = {}
    for row in _json(path):
        pairs.setdefault(str(row["instance_id"]), []).append(row)
    for name, (row, *others) in pairs.items():
        signs = [_sign(one[column]) for one in (row, *others)]
        yield Item(
            name,
            str(_sign(sum(signs))),
            row["query"],
            row["model1"]["response"],
            row["model2"]["response"],
            golds=(row["gt_answer"],),
            group=f"{row['dataset']}-{row['query_id']}",
            slices={"data": row["dataset"]},
            votes=tuple(map(str, signs)),
        )
    labels.groups, labels.pairs = "question", True
    labels.notes.append(
        "1: the second answer is the better one; -1: the first; 0: neither, or the two annotators differ."
    )


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _alce(labels: LabelSet, files: Files) -> Iterator[Item]:
    (path,) = _need(files, "human_eval_utility_completed.json")
    blank = 0
    for data, systems in _json(path).items():
        for system, rows in systems.items():
            for key, row in rows.items():
                if "utility_score" not in row:
                    continue  # a summary of the system
                blank += not row["output"].strip()
                name, group = f"{system}-{key}", f"{data}-{key}"
                slices = {"system": system, "data": data}
                label = str(row["utility_score"])
                yield Item(name, label, row["question"], row["output"], group=group, slices=slices)
    labels.ranked, labels.groups = True, "question"
    labels.notes.append(
        f"Usefulness as felt, from 1 to 5, without passages: not OmniEval's utilization. {blank} are blank."
    )


SETS = {
    "EVOUNA": Known("evouna", ("truthfulness",), _evouna),
    "OpenQA-eval": Known("openqa-eval", ("truthfulness",), _openqa_eval),
    "UHGEval": Known("uhgeval", ("omnieval.hal",), partial(_uhgeval, whole=False), "zh"),
    "UHGEval-texts": Known("uhgeval", ("omnieval.hal",), partial(_uhgeval, whole=True), "zh"),
    "WiCE": Known("wice", ("omnieval.hal",), partial(_wice, partly="1")),
    "WiCE-lenient": Known("wice", ("omnieval.hal",), partial(_wice, partly="0")),
    "RAGChecker": Known("ragchecker", ("omnieval.acc", "omnieval.com"), _ragchecker),
    "ALCE": Known("alce", ("omnieval.utl",), _alce),
}
