# Licensed under the Apache License, Version 2.0. OmniEval's data are CC BY-SA 4.0 and GFDL, its code MIT.
"""OmniEval: Chinese questions on finance, five tasks by sixteen topics, and the corpus they were made from.

Upstream's data lie in gated repositories whose files nobody can pin, so no name, size or sum of a file is known here:
of which split a file is, the folders around it tell, or an option does. Two layouts are read: a file per topic and task
(`gen_datas_<suffix>/<L1>/<L2>/<task>.jsonl`), and files whose fields tell topic and task, as JSON Lines, JSON or
Parquet. What upstream's own code passes over is passed over: topics and tasks it has given up, and empty records.
"""

import functools
import itertools
import logging
import os
import re
import unicodedata
from pathlib import Path

import datasets

from .reading import Builder, Config, as_text, check_object, json_lines, need, read_json, unique

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

_GENERATED, _HUMAN, _CORPUS = "OmniEval-AutoGen-Dataset", "OmniEval-Human-Questions", "OmniEval-KnowledgeCorpus"
# Of each split: the repository on the Hub, the option that names a place instead, where a checkout has it.
_SPLITS = {
    "train": (_GENERATED, "train_dir", "gen_datas_* with `train` in its name"),
    "auto": (_GENERATED, "auto_dir", "gen_datas_*"),
    "human": (_HUMAN, "human_file", "human_annotated; the Hub's repository is listed empty"),
    "corpus": (_CORPUS, "corpus_file", "*_nodes"),
}
_PLACES = [option for _, option, _ in _SPLITS.values()]

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


class OmniEvalConfig(Config):
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

    OPTIONS = dict.fromkeys((*_PLACES, "min_evaluation"))

    def check_options(self):
        takes = [_SPLITS[split][1] for split in self.splits] + ["min_evaluation"] * (self.name != "corpus")
        for option in self.OPTIONS:
            value = getattr(self, option)
            if value is None:
                continue
            self.expect(option in takes, option, f"none of {self.name}")
            if option == "min_evaluation":
                self.expect(type(value) is int and -1 <= value <= 2, option, "-1, 0, 1, 2 or None")
            else:
                self.expect(str(value) and self.named[option].exists(), option, "a folder or a file")

    @property
    def splits(self):
        return ["corpus"] if self.name == "corpus" else [split for split in _SPLITS if split != "corpus"]

    @property
    def tasks(self):
        return list(_TASKS) if self.name == "all" else [self.name]

    @property
    def named(self):
        places = {option: getattr(self, option) for option in _PLACES}
        return {option: Path(str(place)).expanduser() for option, place in places.items() if place is not None}

    def files_of(self, split):
        """Name of the repository of one split, or of the option: its files have no names that are known before."""
        repository, option, _ = _SPLITS[split]
        return [option if option in self.named else repository]


class OmniEval(Builder):
    """The OmniEval benchmark: all tasks, each task, and the corpus."""

    BUILDER_CONFIG_CLASS = OmniEvalConfig
    BUILDER_CONFIGS = [
        OmniEvalConfig(name="all", description="the questions of all five tasks"),
        *(OmniEvalConfig(name=task, description=f"{name} in the authors' files") for task, name in _TASKS.items()),
        OmniEvalConfig(name="corpus", description="passages to retrieve from, one row a node"),
    ]
    URL = _HUB

    @classmethod
    def find(cls, root, config, split):
        """Find the files of a split: `SPLIT/L1/L2/TASK` and `SPLIT/part-NUMBER`, in reading order."""
        _, option, place = _SPLITS[split]
        own = config.named.get(option)
        if own is None and root is None:
            return {}, [f"the split {split} (name it by {option}, or a folder of all by data_dir)"]
        top, sets = own or Path(root).absolute(), {}
        for path in _walk(top):
            of = (split, "") if own else _set_of((top.name, *path.relative_to(top).parts))
            if of[0] == split:
                sets.setdefault((of[1], path.suffix), []).append(path)
        if len(sets) > 1:
            there = " and ".join(f"{name}/*{suffix}" for name, suffix in sorted(sets))
            return {}, [f"one set of {split} (it holds {there}; name one by {option})"]
        files = _name_files(config, split, *sets.values())
        missing = f"{option} {own} holds none" if own else f"a folder {place}, or name it by {option}"
        return files, [] if files else [f"{config.name} of {split} ({missing})"]

    @classmethod
    def fetch(cls, names, folder):
        """Bring repositories of the Hub into a folder, each under its own name; one refused beside others is logged."""
        refused = []
        for name in names:
            try:
                _snapshot(name, folder)
            except ValueError as error:
                refused.append(str(error))
        if refused and len(refused) == len(names):
            raise ValueError(refused[0])
        for reason in refused:
            logging.getLogger(__name__).warning("%s", reason)

    def download(self, dl_manager):
        config, folder = self.config, None
        if not config.named:
            folder = Path(datasets.config.DOWNLOADED_DATASETS_PATH, "omnieval")
            self.fetch(config.files, folder)
        return {split: self.find(folder, config, split) for split in config.splits}

    def _info(self):
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
        return self.make_info(features, _DESCRIPTION, _CITATION, _HOMEPAGE, _LICENSE)

    def _generate_examples(self, split, files):
        if split == "corpus":
            yield from _nodes(list(files.values()))
        else:
            yield from unique(_questions(self.config, split, files))


# --- from a folder to the files of a split ---------------------------------------------------------------------------


def _snapshot(name, folder):
    from huggingface_hub import snapshot_download

    owner, patterns = _HUB.rstrip("/").rpartition("/")[2], [f"*{suffix}" for suffix in _SUFFIXES]
    try:
        snapshot_download(f"{owner}/{name}", repo_type="dataset", allow_patterns=patterns, local_dir=Path(folder, name))
    # Of the Hub's client, of what it connects with, of the disk: they have no class in common.
    except Exception as error:
        status = getattr(getattr(error, "response", None), "status_code", None)
        why = f"it answered {status}" if status else f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        if status in (401, 403):
            why = f"gated, {why}: ask for access there and log in by `hf auth login` or HF_TOKEN"
        raise ValueError(
            f"{_HUB}{name} cannot be fetched ({why}); or name a folder of its files by --data-dir (data_dir)"
        ) from None


def _walk(top):
    """The files below a folder, or the one file, that may be data: no predictions, no parents of nodes, no record."""
    if top.is_file():
        return [top]
    paths = []
    for folder, folders, names in os.walk(top, followlinks=True):
        folders[:] = [name for name in folders if name[0] != "." and name != "pred_results" and name[-5:] != "_docs"]
        names = [name for name in names if name[0] != "." and name != "construct.json"]  # of how a set was made
        paths += [Path(folder, name) for name in names if name.endswith(_SUFFIXES)]
    return sorted(paths, key=lambda path: path.parts)


def _set_of(parts):
    """The split and the set that a file is of, by the folders it is in, the innermost first; two texts, or empty ones.

    All corpora whose passages are cut alike are one set.
    """
    for at in range(len(parts) - 2, -1, -1):
        part = parts[at]
        if part.endswith("_nodes"):
            return "corpus", re.search(r"(-\d+-\d+)?_nodes$", part)[0]
        if part.startswith("gen_datas_") or part == _GENERATED:
            trained = re.search("(?<![a-z])train", "/".join(parts[at:]).lower())
            return ("train" if trained else "auto"), part
        if part == "human_annotated":
            return "human", "/".join(parts[at:-1][:2])
        if part in (_HUMAN, _CORPUS):
            return ("human" if part == _HUMAN else "corpus"), part
    return "", ""


def _name_files(config, split, paths=()):
    """Name the files that decide the rows, in reading order, or nothing where they hold none of the config's."""
    if split == "corpus":
        return {f"{split}/part-{number}": path for number, path in enumerate(paths, 1)}
    cells, parts = {}, []
    for path in paths:
        topic, task = _place(path)
        if _LEGACY in (topic, task):
            continue
        if not topic or not task:
            parts.append(path)
        elif (other := cells.setdefault((topic, task), path)) is not path:
            raise ValueError(f"{other} and {path} are both of {topic} {task}; expected one file")
    order = [(topic, task) for topic in _TOPICS for task in config.tasks if (topic, task) in cells]
    files = {f"{split}/{topic}/{task}": cells[topic, task] for topic, task in order}
    if files or any(_tasks_in(path) & {*config.tasks} for path in parts):
        files |= {f"{split}/part-{number}": path for number, path in enumerate(parts, 1)}
    return files


def _place(path):
    """Topic and task of a file of the first layout; None where a name is of none."""
    *_, upper, lower, name = ("", "", *Path(path).parts)
    return _TOPIC_NAMES.get(_fold(f"{upper}-{lower}")), _TASK_NAMES.get(_fold(Path(name).stem))


def _tasks_in(path):
    lines = ((where, value if isinstance(value, list) else [value]) for _, where, value in _records(path))
    return {_cell(rounds[0], path, where)[1] for where, rounds in lines if rounds and rounds[0]}


def _records(path):
    with Path(path).open("rb") as file:
        if Path(path).suffix == ".parquet":
            values = _parquet(file, path)
        elif Path(path).suffix == ".json" and file.read(1) == b"[":
            file.seek(0)
            values = read_json(file.read(), path)
        else:
            file.seek(0)
            yield from json_lines(file, path)
            return
        for number, value in enumerate(values, 1):
            yield number, f"{path} item {number}", value


def _parquet(file, path):
    import pyarrow
    from pyarrow import parquet

    try:
        for batch in parquet.ParquetFile(file).iter_batches(batch_size=64):
            for record in batch.to_pylist():
                # A column that other rows have is null here.
                yield {key: value for key, value in record.items() if value is not None}
    except pyarrow.ArrowException as error:
        raise ValueError(f"{path} is no whole Parquet ({' '.join(str(error).split())}); fetch it again") from None


# --- from records to rows --------------------------------------------------------------------------------------------


def _questions(config, split, files):
    before = 0  # lines of the parts, which are counted as one file
    for name, path in files.items():
        number, part = 0, name.startswith(f"{split}/part-")
        for number, where, value in _records(path):
            yield from _line(config, split, value, where, before * part + number, path)
        before += number * part


def _line(config, split, value, where, line, path):
    """Yield place and row of a line's question, or of each round of a conversation up to one that was given up."""
    talk = isinstance(value, list)
    rounds = [*itertools.takewhile(lambda record: record != {}, value if talk else [value])]
    topic, task = _cell(rounds[0], path, where) if rounds else (_LEGACY, _LEGACY)
    if task not in config.tasks or topic == _LEGACY:
        return
    labels = _TOPICS.get(topic) or (topic.replace("/", " - "),) * 2
    history = []
    for turn, record in enumerate(rounds, 1):
        place = f"{where} round {turn}" if talk else where
        check_object(record, place)
        if "golden_answers" not in record and "answer" not in record:
            raise ValueError(f"{place} has neither answer nor golden_answers; found the keys {', '.join(record)}")
        answers = _texts(record, "golden_answers", place) or _texts(record, "answer", place)
        verdict = _verdict(record, place)
        row = {
            "id": f"{split}/{topic}/{task}/{line}" + (f".{turn}" if talk else ""),
            "topic": topic,
            "topic_zh": labels[0],
            "topic_en": labels[1],
            "task": task,
            "task_zh": _TASKS[task],
            "question": need(record, "question", place),
            "answers": answers,
            "relevant_node_ids": _texts(record, "relevant_node", place),
            "relevant_passages": _texts(record, "relevant_passage", place),
            "history": list(history),
            "evaluation": verdict,
        }
        history.append({"question": row["question"], "answer": next(iter(answers), None)})
        if config.min_evaluation is None or verdict is None or verdict >= config.min_evaluation:
            yield place, row


def _cell(record, path, where):
    """Topic and task of a record: what its file's place says, else its fields."""
    check_object(record, where)
    slugs = []
    fields = (("topic_name", _TOPIC_NAMES), ("task_name", _TASK_NAMES))
    for (key, names), slug in zip(fields, _place(path), strict=True):
        if slug is None:
            name = _fold(need(record, key, where))
            slug = names.get(name) or names.get(name.removeprefix(f"{_ROOT}-"))
            slug = slug or (names is _TOPIC_NAMES and _own_topics(Path(path).parent).get(name))
        if not slug:
            raise ValueError(f"{where}: unknown {key} {record[key]!r}; expected one of OmniEval's")
        slugs.append(slug)
    return tuple(slugs)


@functools.lru_cache(maxsize=64)
def _own_topics(folder):
    """The topics that `topics.json` names, in a folder or in the two above it: folded name to `field/topic`."""
    path = next((each / _OWN_TOPICS for each in (folder, *folder.parents[:2]) if (each / _OWN_TOPICS).is_file()), None)
    if path is None:
        return {}
    names = read_json(path.read_bytes(), path)
    if not isinstance(names, list) or not all(isinstance(name, str) and name.count(" - ") == 1 for name in names):
        raise ValueError(f"{path} is no list of topics; expected texts of the form `field - topic`")
    return {_fold(name): name.replace(" - ", "/") for name in names}


def _texts(record, key, where):
    """A text or a list of texts as a list; null or absent is none, as null, blank and NaN entries are."""
    value = record.get(key)
    values = [item for item in (value if isinstance(value, list) else [value]) if item is not None and item == item]
    for item in values:
        if isinstance(item, (list, dict, bool)):
            raise ValueError(f"{where}: {key} is or holds a {type(item).__name__}; expected a text or a list of texts")
    return [text for text in map(as_text, values) if text.strip()]


def _verdict(record, where):
    value = record.get("evaluation")
    if value is None or value != value:
        return None
    if isinstance(value, bool) or value not in (-1, 0, 1, 2):
        raise ValueError(f"{where}: evaluation is {value!r}; expected -1, 0, 1, 2 or nothing")
    return int(value)


def _nodes(paths):
    """Yield id and row of every node in file order; copies are passed over, an id of two texts is refused."""
    seen = {}
    for _, where, record in itertools.chain.from_iterable(map(_records, paths)):
        identity, contents, title = (check_object(record, where).get(key) for key in ("id", "contents", "title"))
        if identity in (None, "") or isinstance(identity, (bool, list, dict)):
            raise ValueError(f"{where}: id is {identity!r}; expected a text")
        if not isinstance(contents, str):
            raise ValueError(f"{where}: contents is {contents!r}; expected a text")
        row = {"id": as_text(identity), "title": as_text(title) or "", "contents": contents}
        text = hash((row["title"], contents))
        if row["id"] not in seen:
            yield row["id"], row
        elif seen[row["id"]] != text:
            raise ValueError(f"{where}: id {row['id']} stands twice, with two texts; expected unique ids")
        seen[row["id"]] = text
