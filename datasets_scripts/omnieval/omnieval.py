# Licensed under the Apache License, Version 2.0. OmniEval's data are CC BY-SA 4.0 and GFDL, its code MIT.
"""OmniEval: Chinese questions on finance, five tasks by sixteen topics, and the corpus they were made from.

Upstream's data lie in gated repositories whose files nobody can pin, so no name, size or sum of a file is known here:
what a file is, its keys decide; of which split it is, its place or an option. Three layouts are read: a file per topic
and task (`gen_datas_<suffix>/<L1>/<L2>/<task>.jsonl`), one file whose fields tell topic and task
(`human_annotated/v1022/v1022.jsonl`), and whatever JSON Lines, JSON or Parquet the Hub's repositories hold. One file,
since a Hub script is published as one.
"""

import ast
import functools
import hashlib
import itertools
import json
import logging
import os
import re
import unicodedata
from collections import Counter
from pathlib import Path

import datasets

_CITATION = """\
@misc{wang2024omnieval,
  title  = {{OmniEval}: An Omnidirectional and Automatic {RAG} Evaluation Benchmark in Financial Domain},
  author = {Wang, Shuting and Tan, Jiejun and Dou, Zhicheng and Wen, Ji-Rong},
  year   = {2024},
  eprint = {2412.13018},
}
"""

_DESCRIPTION = """\
OmniEval measures retrieval-augmented generation in Chinese finance: five tasks (extractive, multi-hop, contrast,
long-form and conversational questions) by sixteen topics from banking to regulation, generated from the corpus and
inspected, or annotated by people, over 362,558 passages of financial texts.
"""

_HOMEPAGE = "https://github.com/RUC-NLPIR/OmniEval"
_LICENSE = "CC BY-SA 4.0 and GFDL"
_HUB = "https://huggingface.co/datasets/RUC-NLPIR/"

# Of each split: the repository on the Hub, the option that names a place instead, where a checkout has it.
_GENERATED, _HUMAN, _CORPUS = "OmniEval-AutoGen-Dataset", "OmniEval-Human-Questions", "OmniEval-KnowledgeCorpus"
_SPLITS = {
    "train": (_GENERATED, "train_dir", "a folder gen_datas_* with `train` in its name"),
    "auto": (_GENERATED, "auto_dir", "a folder gen_datas_*"),
    "human": (_HUMAN, "human_file", "human_annotated/*/*.jsonl; the Hub's repository of them is listed empty"),
    "corpus": (_CORPUS, "corpus_file", "a folder *_nodes with corpus.jsonl"),
}

# Upstream's name of each task, which is also its file's.
_TASKS = {
    "extractive_qa": "抽取类问答",
    "multi_hop_qa": "多跳推理类问答",
    "contrast_qa": "对比类问答",
    "long_form_qa": "长答案形式问答",
    "conversational_qa": "多轮对话能力",
}
_TOPICS = {
    "banking/retail": ("银行业务 - 零售银行", "Banking - Retail banking"),
    "banking/commercial": ("银行业务 - 商业银行", "Banking - Commercial banking"),
    "banking/investment_banking": ("银行业务 - 投资银行", "Banking - Investment banking"),
    "investment/stocks": ("投资 - 股票市场", "Investment - Stocks"),
    "investment/bonds": ("投资 - 债券市场", "Investment - Bonds"),
    "investment/funds": ("投资 - 基金", "Investment - Funds"),
    "investment/derivatives": ("投资 - 衍生品市场", "Investment - Derivatives"),
    "insurance/life": ("保险 - 人寿保险", "Insurance - Life insurance"),
    "insurance/property": ("保险 - 财产保险", "Insurance - Property insurance"),
    "insurance/health": ("保险 - 健康保险", "Insurance - Health insurance"),
    "fintech/blockchain": ("金融科技 - 区块链", "FinTech - Blockchain"),
    "fintech/ai": ("金融科技 - 人工智能", "FinTech - Artificial intelligence"),
    "fintech/big_data": ("金融科技 - 大数据", "FinTech - Big data"),
    "regulation/anti_money_laundering": ("监管与合规 - 反洗钱（AML）", "Regulation - Anti-money laundering"),
    "regulation/compliance_audit": ("监管与合规 - 合规审计", "Regulation - Compliance audit"),
    "regulation/regulatory_reporting": ("监管与合规 - 监管报告", "Regulation - Regulatory reporting"),
}
_ROOT = "金融"
# What upstream once had and its own code passes over.
_LEGACY = "legacy"
_LEGACY_TASKS = ("结构化知识问答",)
_LEGACY_TOPICS = ("金融科技 - 移动支付", "保险 - 责任保险", "监管与合规 - 客户知识产权（KYC）")

# In a folder of questions on other topics: a list of their names, each `field - topic`.
_OWN_TOPICS = "topics.json"
_SUFFIXES = (".jsonl", ".json", ".parquet")
# The authors' inference writes copies of the questions into it.
_PREDICTED = "pred_results"
# From upstream's steps of cleaning and inspection, the later the better.
_STAGES = ("clean", "filter", "final")
_LOG = logging.getLogger(__name__)


def _fold(text):
    """A name as names are compared: parentheses, dashes and letters of either width and case, no white space."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


_TASK_NAMES = {
    **{_fold(name): task for task, name in _TASKS.items()},
    **dict.fromkeys(map(_fold, _LEGACY_TASKS), _LEGACY),
}
_TOPIC_NAMES = {
    **{_fold(name): topic for topic, (name, _) in _TOPICS.items()},
    **dict.fromkeys(map(_fold, _LEGACY_TOPICS), _LEGACY),
}


class OmniEvalConfig(datasets.BuilderConfig):
    """All tasks, one task, or the corpus.

    Args:
        train_dir: the folder or file of the split `train`. This and the next three go before what `data_dir` holds;
            with any of them and no `data_dir`, nothing is fetched.
        auto_dir: the folder or file of the split `auto`.
        human_file: the file or folder of the split `human`.
        corpus_file: the file or folder of the corpus.
        min_evaluation: leave out questions whose verdict in upstream's inspection (-1 unreadable, 1 mended, 2 good) is
            lower; those without a verdict stay.
    """

    # Set by a reader who wants one split: no other split's files are asked for.
    only = None
    partial = False

    def __init__(
        self, *, train_dir=None, auto_dir=None, human_file=None, corpus_file=None, min_evaluation=None, **kwargs
    ):
        super().__init__(version=datasets.Version("1.0.0"), **kwargs)
        self.train_dir, self.auto_dir = train_dir, auto_dir
        self.human_file, self.corpus_file = human_file, corpus_file
        self.min_evaluation = min_evaluation

    def validate(self):
        """Raise ValueError where the options are none; `load_dataset` sets them on a copy, past the constructor."""
        own = [_SPLITS[split][1] for split in self.splits]
        takes = own if self.name == "corpus" else [*own, "min_evaluation"]
        for option in (*(option for _, option, _ in _SPLITS.values()), "min_evaluation"):
            value = getattr(self, option)
            if value is None:
                continue
            if option not in takes:
                raise ValueError(f"{self.name} takes no {option}; its own are {', '.join(own)}")
            if option == "min_evaluation":
                if isinstance(value, bool) or value not in (-1, 0, 1, 2):
                    raise ValueError(f"{option} is {value!r}; expected -1, 0, 1, 2 or None")
            elif not str(value) or not Path(str(value)).expanduser().exists():
                raise ValueError(f"{option} is {value!r}, which is not there; expected a folder or a file")

    @property
    def splits(self):
        """Names of the splits."""
        return ["corpus"] if self.name == "corpus" else [split for split in _SPLITS if split != "corpus"]

    @property
    def tasks(self):
        """Names of the tasks of the config."""
        return list(_TASKS) if self.name == "all" else [self.name]

    @property
    def given(self):
        """The places that the user names by an option: its name to the path."""
        named = {option: getattr(self, option) for option in (_SPLITS[split][1] for split in self.splits)}
        return {option: Path(str(value)).expanduser() for option, value in named.items() if value is not None}

    @property
    def files(self):
        """Names of the repositories of all splits; a place of the user's bears its option's name."""
        return list(dict.fromkeys(name for split in self.splits for name in self.files_of(split)))

    def files_of(self, split):
        """Name of the repository of one split, in a list: its files have no names that are known before."""
        repository, option, _ = _SPLITS[split]
        return [option if option in self.given else repository]


class OmniEval(datasets.GeneratorBasedBuilder):
    """The OmniEval benchmark: all tasks, each task, and the corpus."""

    BUILDER_CONFIG_CLASS = OmniEvalConfig
    BUILDER_CONFIGS = [
        OmniEvalConfig(name="all", description="the questions of all five tasks"),
        *(OmniEvalConfig(name=task, description=f"{name} in the authors' files") for task, name in _TASKS.items()),
        OmniEvalConfig(name="corpus", description="passages to retrieve from, one row a node"),
    ]
    # Gated: what is in the repositories is not known, and nothing can be pinned.
    FILES = {}
    URL = _HUB
    UPSTREAM_FOLDER = ""

    @classmethod
    def search(cls, root, config, split, label=""):
        """Find the files of a split in a folder of any layout; None where only the options name places.

        Returns a dict of the files that decide the rows, in reading order (`SPLIT/L1/L2/TASK`, `SPLIT/part-NUMBER`,
        `SPLIT/legacy-NUMBER`), and what keeps the split from being built. ValueError names a broken file, or two of one
        topic and task.
        """
        return _search(root, config, split, label)

    @classmethod
    def fetch(cls, config, split=None):
        """Bring the Hub's repositories of a config, or of one split, into the Hub's cache; return folders by name.

        None where an option names a place and no split is asked for; one that is refused beside others is logged and
        left out.
        """
        splits = [split] if split else [] if config.given else config.splits
        names = dict.fromkeys(name for each in splits for name in config.files_of(each) if name not in config.given)
        folders, refused = {}, []
        for name in names:
            try:
                folders[name] = _snapshot(name)
            except ValueError as error:
                refused.append(str(error))
        if refused and not folders:
            raise ValueError(refused[0])
        for reason in refused:
            _warn(reason, None)
        return folders

    def _info(self):
        self.config.validate()
        text = datasets.Value("string")
        if self.config.name == "corpus":
            features = dict.fromkeys(("id", "title", "contents"), text)
        else:
            features = {
                **dict.fromkeys(("id", "topic", "topic_zh", "topic_en", "task", "task_zh", "question"), text),
                **{key: [text] for key in ("answers", "relevant_node_ids", "relevant_passages")},
                "history": [{"question": text, "answer": text}],
                "evaluation": datasets.Value("int32"),
            }
        return datasets.DatasetInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            homepage=_HOMEPAGE,
            license=_LICENSE,
            features=datasets.Features(features),
        )

    def _split_generators(self, dl_manager):
        config, root = self.config, self.config.data_dir
        splits = [config.only] if config.only else config.splits
        folders = {} if root else self.fetch(config, config.only)
        found = {}
        for split in splits:
            name = _SPLITS[split][0]
            found[split] = self.search(root or folders.get(name), config, split, "" if root else name)
        if all(lacking for _, lacking in found.values()):
            reasons = dict.fromkeys(reason for _, lacking in found.values() for reason in lacking)
            raise FileNotFoundError(f"{root or config.name} lacks {', '.join(reasons)}")
        return [
            datasets.SplitGenerator(
                name=split,
                # Not a list: `datasets` would cut it into shards, and lines are numbered through.
                gen_kwargs={"split": split, "files": {name: str(path) for name, path in files.items()}},
            )
            for split, (files, lacking) in found.items()
            if not lacking
        ]

    def _generate_examples(self, split, files):
        rows = _nodes(list(files.values())) if split == "corpus" else _questions(self.config, split, files)
        for row in rows:
            yield row["id"], row


@functools.cache
def _warn(message, path):
    _LOG.warning("%s", message)


# --- from a folder to the files of a split ---------------------------------------------------------------------------


def _snapshot(name):
    from huggingface_hub import snapshot_download

    try:
        return Path(
            snapshot_download(
                _HUB.rstrip("/").rpartition("/")[2] + f"/{name}",
                repo_type="dataset",
                allow_patterns=[f"*{suffix}" for suffix in _SUFFIXES],
            )
        )
    # Of the Hub's client, of what it connects with, of the disk: they have no class in common.
    except Exception as error:
        status = getattr(getattr(error, "response", None), "status_code", None)
        if status in (401, 403):
            raise ValueError(
                f"{_HUB}{name} is gated and answered {status}; ask for access on that page and log in "
                "(`hf auth login`, or HF_TOKEN), or name a folder of its files by --data-dir (data_dir)"
            ) from None
        reason = f"it answered {status}" if status else f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ValueError(
            f"{_HUB}{name} cannot be fetched ({reason[:200]}); run again later, or name a folder of its files by "
            "--data-dir (data_dir)"
        ) from None


def _search(root, config, split, label):
    _, option, place = _SPLITS[split]
    own, corpus = config.given.get(option), split == "corpus"
    if own is None and root is None:
        return {}, [f"the split {split} (name it by {option}, or a folder of all by data_dir)"]
    wanted = "nodes" if corpus else "questions"
    top = own or Path(root).absolute()
    sets = {}
    for below, path in _walk(top):
        parts = (top.name if own or not label else label, *below)
        if own is None and not _may_hold(split, parts):
            continue
        kind = _kind(path)
        if kind == wanted:
            sets.setdefault(_set_of(parts, split), []).append(path)
        elif own is not None and own.is_file() and kind != "empty":
            raise ValueError(f"{own}, named by {option}, holds no {wanted}")
    # Files outside of any set are sources, examples and the like, unless there is nothing else.
    rivals = [each for each in sets if each] or list(sets)
    if corpus:
        # Sources cut alike are one corpus.
        several = len({re.search(r"(-\d+-\d+)?_nodes$", each[-1])[1] if each else "" for each in rivals}) > 1
    else:
        rivals = _last_stage(rivals)
        several = len(rivals) > 1
    if several:
        found = " and ".join("/".join(each[1:] or each) for each in rivals)
        return {}, [f"one set of {split} (it holds {found}; name one by {option})"]
    paths = [path for each in rivals for path in sets[each]]
    forms = sorted({path.suffix.lower() for path in paths})
    if not corpus and len(forms) > 1:
        return {}, [f"one set of {split} (it holds files of several forms, {', '.join(forms)}; name one by {option})"]
    files = _name_files(config, split, paths)
    if all(name.startswith(f"{split}/legacy-") for name in files):
        task = "" if config.name in ("all", "corpus") else f" {config.name}"
        reason = f"{option} {own} holds none" if own else f"{place}, or name it by {option}"
        return {}, [f"{wanted} of {split}{task} ({reason})"]
    return files, []


def _may_hold(split, parts):
    """Whether a file may be of a split by its place; the first part is a folder's name, often the user's own."""
    nodes = any(part.endswith("_nodes") for part in parts[:-1])
    if split == "corpus" or nodes:
        # A set of questions may be broken, and the corpus be read.
        return split == "corpus" and (nodes or not (_set_of(parts, "human") or _set_of(parts, "auto")))
    named = parts if parts[0].startswith(("human_annotated", "OmniEval-")) else parts[1:]
    # A set's own name goes before those of the folders around it.
    words = re.findall("[a-z]+", " ".join(_set_of(parts, "auto")[-1:] or named).lower())
    if "human" in words or re.fullmatch(r"v\d{4}\.\w+", parts[-1]):
        return split == "human"
    return split == ("train" if any(word.startswith("train") for word in words) else "auto")


def _set_of(parts, split):
    """The folder of the set that a file is of, as its parts; empty where nothing tells."""
    for at, part in enumerate(parts[:-1]):
        nodes = part.endswith("_nodes")
        if split == "human" and part == "human_annotated":
            return parts[: min(at + 2, len(parts) - 1)]
        if nodes if split == "corpus" else split != "human" and part.startswith("gen_datas_") and not nodes:
            return parts[: at + 1]
    return ()


def _last_stage(sets):
    """The sets of the last of upstream's stages, where all are stages of one: gen_datas_a_final is of gen_datas_a."""
    stages = {}
    for parts in sets:
        base, rank = "/".join(parts), 0
        while base.rpartition("_")[2] in _STAGES:
            base, _, stage = base.rpartition("_")
            rank = rank or 1 + _STAGES.index(stage)
        stages[parts] = base, rank
    if len({base for base, _ in stages.values()}) > 1:
        return sets
    last = max((rank for _, rank in stages.values()), default=0)
    return [parts for parts, (_, rank) in stages.items() if rank == last]


def _name_files(config, split, paths):
    """Name the files that decide the rows, in reading order, or nothing where they hold none of the config's."""
    cells, parts, legacy = {}, [], []
    for path in paths:
        topic, task = (None, None) if split == "corpus" else _place(path)
        if _LEGACY in (topic, task):
            legacy.append(path)
        elif not topic or not task:
            parts.append(path)
        elif (other := cells.setdefault((topic, task), path)) is not path:
            raise ValueError(f"{other} and {path} are both of {topic} {task}; expected one file")
    tasks = [] if split == "corpus" else config.tasks
    order = [(topic, task) for topic in _TOPICS for task in tasks if (topic, task) in cells]
    files = {f"{split}/{topic}/{task}": cells[topic, task] for topic, task in order}
    if split == "corpus" or files or any(not _tasks_in(path).isdisjoint(tasks) for path in parts):
        files |= {f"{split}/part-{number}": path for number, path in enumerate(parts, 1)}
    return files | {f"{split}/legacy-{number}": path for number, path in enumerate(legacy, 1)}


def _walk(place):
    if place.is_file():
        return [((), place)]
    found = []
    for folder, folders, names in os.walk(place, followlinks=True):
        # `_docs` holds the parents of the nodes.
        folders[:] = [each for each in folders if each[0] != "." and not each.endswith("_docs") and each != _PREDICTED]
        for name in names:
            if name.lower().endswith(_SUFFIXES) and name[0] != ".":
                path = Path(folder, name)
                found.append((path.relative_to(place).parts, path))
    return sorted(found)


def _place(path):
    *_, upper, lower, name = ("", "", *Path(path).parts)
    return _TOPIC_NAMES.get(_fold(f"{upper}-{lower}")), _TASK_NAMES.get(_fold(Path(name).stem))


def _tasks_in(path):
    return frozenset(
        _cell(record, record, path, where)[1]
        for _, where, value in _records(path)
        for record in (value[:1] if isinstance(value, list) else [value])
    )


def _kind(path):
    """What a file holds by the keys of its first line: questions, nodes, other or empty."""
    if all(_place(path)):
        # In a place of its own a file is one of questions, whatever is wrong with it: its reader names that.
        with Path(path).open("rb") as file:
            return "questions" if any(line.strip() for line in file) else "empty"
    for _, _, value in _records(path):
        record = next(iter(value), None) if isinstance(value, list) else value
        if not isinstance(record, dict):
            return "other"
        if "contents" in record and "question" not in record:
            return "nodes"
        # What the authors' inference writes holds the question too, and its answer in `output`.
        asked = "question" in record or {"topic_name", "task_name"} <= set(record)
        return "questions" if asked and "output" not in record else "other"
    return "empty"


# --- from files to records -------------------------------------------------------------------------------------------


def _records(path):
    """Yield (number from 1, place, object or list) of every line, row or item; ValueError names what is wrong."""
    with Path(path).open("rb") as file:
        head = file.read(16)
    if head.startswith(b"version https://"):
        raise ValueError(f"{path} is a Git LFS pointer, not the file; run `git lfs pull` there")
    if head.startswith(b"PAR1"):
        yield from _parquet(path)
        return
    if str(path).lower().endswith(".json") and (items := _whole(path)) is not None:
        for number, value in enumerate(items, 1):
            yield number, f"{path} item {number}", value
        return
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.removeprefix(b"\xef\xbb\xbf").strip():
                where = f"{path}:{number}"
                yield number, where, _json(line, where)


def _parquet(path):
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            batches = file.iter_batches(batch_size=64)
            for number, record in enumerate((row for batch in batches for row in batch.to_pylist()), 1):
                # A column that other rows have is null here.
                yield number, f"{path} row {number}", {key: value for key, value in record.items() if value is not None}
    except pyarrow.ArrowException as error:
        raise ValueError(f"{path} is no whole Parquet ({' '.join(str(error).split())}); fetch it again") from None


def _whole(path):
    """The items of a file that is one JSON value; None where it is JSON Lines after all."""
    content = Path(path).read_bytes()
    if not content.removeprefix(b"\xef\xbb\xbf").strip():
        return []
    try:
        value = _json(content, path)
    except ValueError as error:
        if "Extra data" in str(error):
            return None
        raise
    return value if isinstance(value, list) else [value]


def _json(content, where):
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is not JSON in UTF-8 ({error}); expected questions or nodes") from None


# --- from records to rows --------------------------------------------------------------------------------------------


def _questions(config, split, files):
    """Yield the rows of a split in the order of its files; what is passed over is counted and logged."""
    seen, skipped = {}, Counter()
    last = 0  # line of the parts, which are counted as one file
    for name, path in files.items():
        part, number = name.startswith(f"{split}/part-"), 0
        before = last if part else 0
        for number, where, value in _records(path):
            for row in _line(config, split, value, where, before + number, path, skipped):
                if row["id"] in seen:
                    raise ValueError(f"{where}: {row['id']} stands in {seen[row['id']]} too; expected one place")
                seen[row["id"]] = where
                yield row
        last = before + number if part else last
    for reason, count in skipped.items():
        _warn(f"omnieval {split}: skipped {count} {reason}", next(iter(files.values())))


def _line(config, split, value, where, line, path, skipped):
    """Yield the rows of one line: one, or one for each round of a conversation."""
    talk = isinstance(value, list)
    rounds = value if talk else [value]
    if {} in rounds:
        # Upstream's cleaning leaves an empty object for what it gave up; a conversation ends there.
        rounds = rounds[: rounds.index({})]
        skipped["empty records, with what follows them in a conversation"] += 1
        if not rounds:
            return
    if not rounds:
        skipped["empty conversations"] += 1
        return
    cells = {_cell(record, rounds[0], path, where) for record in rounds}
    if len(cells) > 1:
        raise ValueError(f"{where}: rounds of several topics or tasks; expected one conversation")
    ((topic, task),) = cells
    if _LEGACY in (topic, task):
        skipped["lines of topics and tasks that upstream has given up"] += 1
        return
    if talk and task != "conversational_qa":
        raise ValueError(f"{where} is a list, and its task is {_TASKS[task]}; expected one question")
    if task not in config.tasks:
        return
    labels = _TOPICS.get(topic) or (topic.replace("/", " - "),) * 2
    history = []
    for turn, record in enumerate(rounds, 1):
        place = f"{where} round {turn}" if talk else where
        row = {
            "id": f"{split}/{topic}/{task}/{line}" + (f".{turn}" if talk else ""),
            "topic": topic,
            "topic_zh": labels[0],
            "topic_en": labels[1],
            "task": task,
            "task_zh": _TASKS[task],
            "question": _question(record, place),
            "answers": _answers(record, place),
            "relevant_node_ids": _texts(record, "relevant_node", place),
            "relevant_passages": _texts(record, "relevant_passage", place),
            "history": list(history),
            "evaluation": _evaluation(record, place),
        }
        history.append({"question": row["question"], "answer": next(iter(row["answers"]), None)})
        least = config.min_evaluation
        if least is not None and row["evaluation"] is not None and row["evaluation"] < least:
            skipped[f"questions whose evaluation is below {least}"] += 1
        else:
            yield row


def _cell(record, first, path, where):
    """Topic and task of a record: what its fields or those of its conversation's first round say, and its place."""
    if not isinstance(record, dict):
        raise ValueError(f"{where} holds a {type(record).__name__}; expected a question, or a list of them")
    found = []
    fields = (("topic", "topic_name", _TOPIC_NAMES, _TOPICS), ("task", "task_name", _TASK_NAMES, _TASKS))
    for (what, key, names, known), placed in zip(fields, _place(path), strict=True):
        value = record.get(key) or first.get(key)
        if not value:
            if not placed:
                raise ValueError(f"{where} has no {key}, and its folder and name are of no {what} of OmniEval's")
            found.append(placed)
            continue
        name = _fold(value) if isinstance(value, str) else ""
        slug = names.get(name) or names.get(name.removeprefix(f"{_ROOT}-"))
        if slug is None and what == "topic":
            slug = _own_topics(Path(path).parent).get(name)
        if slug is None:
            raise ValueError(f"{where}: unknown {what} {value!r}; expected one of OmniEval's {len(known)}")
        # A file of what upstream has given up is passed over whole.
        if placed not in (None, slug, _LEGACY):
            raise ValueError(f"{where}: {key} is {value!r}, and the file is of {placed}; expected one {what}")
        found.append(placed or slug)
    return tuple(found)


@functools.lru_cache(maxsize=64)
def _own_topics(folder):
    """The topics that `topics.json` names, in a folder or in the two above it: folded name to `field/topic`."""
    path = next((each / _OWN_TOPICS for each in (folder, *folder.parents[:2]) if (each / _OWN_TOPICS).is_file()), None)
    if path is None:
        return {}
    names = _whole(path)
    if not names or not all(isinstance(name, str) and name.count(" - ") == 1 for name in names):
        raise ValueError(f"{path} is no list of topics; expected texts of the form `field - topic`")
    return {_fold(name): name.replace(" - ", "/") for name in names}


def _text(value):
    """A value as text: a string as it is, but for halves of surrogate pairs, which are no text; else its JSON."""
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _texts(record, key, where):
    """A text or a list of texts as a list; null or absent is none, as null and blank entries are."""
    value = record.get(key)
    if isinstance(value, str):
        value = _literal(value)
    found = [
        inner
        for item in (value if isinstance(value, list) else [value])
        for inner in (item if isinstance(item, list) else [item])
    ]
    # NaN stands where a cell was empty.
    values = [item for item in found if item is not None and item == item]
    for item in values:
        if isinstance(item, (list, dict, bool)):
            raise ValueError(f"{where}: {key} is or holds a {type(item).__name__}; expected a text or a list of texts")
    return [text for text in map(_text, values) if text.strip()]


def _literal(text):
    """The list of texts that a text is a Python literal of, as a careless export has it; else the text."""
    if text.startswith("[") and text.endswith("]"):
        try:
            found = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return text
        if found and isinstance(found, list) and all(isinstance(item, str) for item in found):
            return found
    return text


def _question(record, where):
    value = record.get("question")
    if not isinstance(value, str) or not value.strip():
        held = f"question is {value!r}" if "question" in record else f"no question, only the keys {', '.join(record)}"
        raise ValueError(f"{where}: {held}; expected a text")
    return _text(value)


def _answers(record, where):
    """The accepted answers: those of `golden_answers`, or where it has none, of `answer`."""
    if "golden_answers" not in record and "answer" not in record:
        raise ValueError(f"{where} has neither answer nor golden_answers; found the keys {', '.join(record)}")
    return _texts(record, "golden_answers", where) or _texts(record, "answer", where)


def _evaluation(record, where):
    value = record.get("evaluation")
    if value is None or value != value:
        return None
    if isinstance(value, bool) or not re.fullmatch(r"-?\d{1,9}(\.0)?", str(value).strip()):
        raise ValueError(f"{where}: evaluation is {value!r}; expected -1, 0, 1, 2 or nothing")
    return int(float(value))


def _every(paths):
    return itertools.chain.from_iterable(map(_records, paths))


def _nodes(paths):
    """Yield the rows of the corpus in file order; copies are passed over and logged, an id of two texts is named."""
    seen, copies = {}, 0
    for _, where, record in _every(paths):
        row = _node(record, where)
        content = hashlib.blake2b(f"{row['title']}\0{row['contents']}".encode(), digest_size=8).digest()
        before = seen.setdefault(row["id"], content)
        if before is content:
            yield row
        elif before == content:
            copies += 1
        else:
            first = next(each for _, each, other in _every(paths) if _node(other, each)["id"] == row["id"])
            raise ValueError(f"{where}: {row['id']} stands in {first} too, with another text; expected unique ids")
    if copies:
        _warn(f"omnieval corpus: skipped {copies} copies of nodes", paths[0])


def _node(record, where):
    if not isinstance(record, dict):
        raise ValueError(f"{where} is a {type(record).__name__}; expected a node with id, title and contents")
    identity, contents = record.get("id"), record.get("contents")
    if identity in (None, "") or isinstance(identity, (bool, list, dict)):
        held = f"id is {identity!r}" if "id" in record else f"no id, only the keys {', '.join(record)}"
        raise ValueError(f"{where}: {held}; expected a text")
    if not isinstance(contents, str):
        held = f"contents is {contents!r}" if "contents" in record else f"no contents, only {', '.join(record)}"
        raise ValueError(f"{where}: {held}; expected a text")
    title = record.get("title")
    return {"id": _text(identity), "title": "" if title is None else _text(title), "contents": _text(contents)}
