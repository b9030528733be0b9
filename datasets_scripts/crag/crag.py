# Licensed under the Apache License, Version 2.0. CRAG's data are CC BY-NC 4.0, the web pages in them their owners'.
"""CRAG: English questions of five domains, each with web pages that were found for it.

Reads the upstream files as they are: JSON Lines or tar archives, packed with bzip2 or not, an archive in its split
parts, as one stream and never unpacked to disk. It reads no HTML, and leaves the mock knowledge graph to `quadrag kg`.
One file, since a Hub script is published as one.
"""

import ast
import bz2
import contextlib
import hashlib
import io
import itertools
import json
import tarfile
import warnings
from pathlib import Path

import datasets

_CITATION = """\
@inproceedings{yang2024crag,
  title     = {{CRAG} -- Comprehensive {RAG} Benchmark},
  author    = {Yang, Xiao and Sun, Kai and Xin, Hao and Sun, Yushi and Bhalla, Nikita and Chen, Xiangsen and Choudhary,
               Sajal and Gui, Rongze Daniel and Jiang, Ziran Will and Jiang, Ziyu and others},
  booktitle = {Advances in Neural Information Processing Systems 37, Datasets and Benchmarks Track},
  year      = {2024},
  eprint    = {2406.04744},
}
"""

_DESCRIPTION = """\
CRAG measures factual question answering with retrieval: 4,409 questions on finance, sports, music, movies and open
topics, of eight types, about entities from popular to rare and facts from static to changing within the second, each
with the web pages that a search engine gave for it at the time of asking.
"""

_HOMEPAGE = "https://github.com/facebookresearch/CRAG"
_LICENSE = "CC BY-NC 4.0; the web pages keep their owners' copyright"
# All files of a release lie in Git LFS, which this host serves.
_URL = "https://media.githubusercontent.com/media/facebookresearch/CRAG/ad1518887dd4d9ebcd7de95388c7a62751e7705c/"

# Of the first two tasks, by release.
_PAGES_5 = {release: f"data/crag_task_1_and_2_dev_{release}.jsonl.bz2" for release in ("v5", "v4")}
# Upstream counts the parts of v4 from 1.
_PAGES_50 = {
    "v5": [f"data/crag_task_3_dev_v5.tar.bz2.part{number}" for number in (0, 1, 2, 3)],
    "v4": [f"data/crag_task_3_dev_v4.tar.bz2.part{number}" for number in (1, 2, 3, 4)],
}
_EXAMPLE = "example_data/dev_data.jsonl.bz2"

# name: (bytes, sha256, git blob sha1); Git LFS knows no blob of the content.
_FILES = {
    _PAGES_5["v5"]: (739310088, "d4c14897d8ea2f450a24e098b595d8247c6575f996f9869d6f27a020fe020618", None),
    _PAGES_5["v4"]: (739384484, "afa29f2b3facfb5d15aa9cded00d5ec90ff76f3e67279e7b99cfe86659a641ca", None),
    _PAGES_50["v5"][0]: (2147483648, "0220e4b43356ff32a00f35647a4cb375301773c7e66a48daf9329781fdfec3d7", None),
    _PAGES_50["v5"][1]: (2147483648, "9628e5f24bb4273afbdc380c13c68533fc5e5e788e00a973a7e2765566161330", None),
    _PAGES_50["v5"][2]: (2147483648, "533bb48a5bed3818262edd02219eff351493a2f35a276958d62b9614257471f5", None),
    _PAGES_50["v5"][3]: (1283117287, "cc8c4b0224a3d1512283433ed6418c2a4f633dfab98f76ef4acd38fd63b26464", None),
    _PAGES_50["v4"][0]: (2097152000, "3a3f642643adc427b356b34fd078ba867c3905aa4341fc181457197aee9a55cf", None),
    _PAGES_50["v4"][1]: (2097152000, "abd76c029079b93065aba7fb4fc0e129a803de7ee0e1511432d0037d1782aa7c", None),
    _PAGES_50["v4"][2]: (2097152000, "d82e3c94e29a361635ed6b56797747b77ef3cf07dc454736d661461f32c23dab", None),
    _PAGES_50["v4"][3]: (1432877269, "ed48b1ca55606a7d22be4809b10d7de0251d429f01e689a066c6def2428995ad", None),
    _EXAMPLE: (
        2032693,
        "81b1902691625e3837346a4d3e446d74add4e8bf837db520df833b19e5a1de07",
        "239117eed88031f23880c3376405579cc02541ec",
    ),
}

# Upstream's number of each split that it releases.
_SPLITS = {"validation": 0, "public": 1}
_PRIVATE = "private_file"
_PAGE_KEYS = ("page_name", "page_url", "page_snippet", "page_last_modified")
_CHUNK = 1 << 20


def alternatives_of(value):
    """Return the further accepted answers (a list, one as JSON or Python writes it, one answer, None) as a list of str.

    Lists in lists are laid flat; null and blank answers, and repetitions, left out. A text that only looks like a list
    is one answer.
    """
    flat, waiting = [], [_parse_list(value) if isinstance(value, str) else value]
    while waiting and value == value:  # NaN for the whole: there are none
        one = waiting.pop()
        if isinstance(one, list):
            waiting += reversed(one)
        elif (text := _text(one, nan="nan")) is not None and text.strip():
            flat.append(text)
    return list(dict.fromkeys(flat))


def _parse_list(text):
    """The list that a text is in JSON or in Python, numbers as they are written; else the text."""
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return text
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text, parse_int=str, parse_float=str, parse_constant=str.lower)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that Python does not know
            return _items(ast.parse(text, mode="eval").body, text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


def _items(node, text):
    """What a node of a Python literal stands for; ValueError where it is more than lists of texts and numbers."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_items(item, text) for item in node.elts]
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, (str, type(None))) else ast.get_source_segment(text, node)
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return ast.get_source_segment(text, node)
    # What str() makes of a missing value in a list.
    if isinstance(node, ast.Name) and node.id == "nan":
        return node.id
    raise ValueError(f"{type(node).__name__} in a list of answers")


class CragConfig(datasets.BuilderConfig):
    """The questions alone, with five pages each, or with fifty.

    Args:
        release: "v5" or "v4" of upstream's files.
        private_file: the file of the split `private`, which upstream withholds: JSON Lines or a tar of them, packed
            with bzip2 or not. All its rows are taken; answers may be absent.
    """

    # Set by a reader who wants one split: no other split's files are asked for.
    only = None
    partial = False

    def __init__(self, *, release="v5", private_file=None, **kwargs):
        super().__init__(version=datasets.Version("1.0.0"), **kwargs)
        self.release = release
        self.private_file = private_file

    def validate(self):
        """Raise ValueError where the options are none; `load_dataset` sets them on a copy, past the constructor."""
        if self.release not in _PAGES_5:
            raise ValueError(f"release is {self.release!r}; expected 'v5' or 'v4'")
        for path in self.given.values():
            if not path.is_file():
                raise ValueError(f"{_PRIVATE} is {self.private_file!r}, which is no file; expected JSON Lines or a tar")

    @property
    def splits(self):
        """Names of the splits."""
        return [*_SPLITS, "private"]

    @property
    def given(self):
        """The files that the user names by an option: its name to the path."""
        named = self.private_file is not None
        return {_PRIVATE: Path(str(self.private_file)).expanduser()} if named else {}

    @property
    def files(self):
        """Names of the files of all splits, in reading order; a private file bears its option's name."""
        return list(dict.fromkeys(name for split in self.splits for name in self.files_of(split)))

    def files_of(self, split):
        """Names of the files of one split, in reading order: none for `private` where no file is given."""
        if split == "private":
            return list(self.given)
        return list(_PAGES_50[self.release]) if self.name == "task_3" else [_PAGES_5[self.release]]

    def lacking(self, split, found):
        """Say what keeps a split from being built, given the files there are by name; ValueError names a broken one."""
        names = self.files_of(split)
        if not names:
            return [f"the split {split} (withheld by the authors: name a file of yours by the option {_PRIVATE})"]
        missing = [name for name in names if name not in found]
        if missing or split == "private":
            return missing
        if [Path(found[name]).stat().st_size for name in names] == [_FILES[name][0] for name in names]:
            return []
        met = set()
        for where, record in _records(list(dict.fromkeys(str(found[name]) for name in names))):
            met.add(_split_of(record, where))
            if split in met:
                return []
        return [f"rows of {split} in {Path(found[names[0]]).name} (it holds {', '.join(sorted(met))})"]


class Crag(datasets.GeneratorBasedBuilder):
    """The CRAG benchmark: the questions in three sizes."""

    BUILDER_CONFIG_CLASS = CragConfig
    BUILDER_CONFIGS = [
        CragConfig(name="qa", description="questions and answers, no pages"),
        CragConfig(name="task_1_2", description="with five pages a question, for tasks 1 and 2"),
        CragConfig(name="task_3", description="with fifty pages a question, for task 3"),
    ]
    # A row of task_3 is some 15 MB of HTML, and four times that in Python where a page has an emoji.
    DEFAULT_WRITER_BATCH_SIZE = 1
    FILES = _FILES
    URL = _URL
    # The names in FILES are paths below the root of a checkout.
    UPSTREAM_FOLDER = ""
    # Files that `locate` takes in another's place, and what they are.
    STAND_INS = {_EXAMPLE: "the example file"}

    @classmethod
    def locate(cls, root, name):
        """Find one of FILES below a checkout's root, its data folder, or the folder of the files themselves; else None.

        Unpacked, a file will do as well; the joined archive stands for each of its parts, the example file for that of
        the first two tasks where neither release is there.
        """
        whole = name.rpartition(".part")[0]
        if whole:
            return _find(root, whole) or _find(root, name)
        path = _find(root, name) or _find(root, name.removesuffix(".bz2"))
        if path is None and name in _PAGES_5.values():
            others = (other for full in _PAGES_5.values() for other in (full, full.removesuffix(".bz2")))
            if not any(_find(root, other) for other in others):
                path = _find(root, _EXAMPLE)
        return path

    def _info(self):
        self.config.validate()
        text = datasets.Value("string")
        features = {
            **dict.fromkeys(("id", "query_time", "domain", "question_type", "static_or_dynamic", "popularity"), text),
            **dict.fromkeys(("query", "answer"), text),
            "alternatives": [text],
        }
        if self.config.name != "qa":
            features |= {"search_results": [dict.fromkeys(_PAGE_KEYS, text)], "page_result": [text]}
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
        names = list(dict.fromkeys(name for split in splits for name in config.files_of(split)))
        found = {name: path for name, path in config.given.items() if name in names}
        names = [name for name in names if name not in found]
        if root:
            found |= {name: path for name in names if (path := self.locate(root, name)) is not None}
            lacking = {split: config.lacking(split, found) for split in splits}
        else:
            lacking = {split: [] if config.files_of(split) else config.lacking(split, found) for split in splits}
            if names:
                found |= dl_manager.download({name: _URL + name for name in names})
                if not dl_manager.is_streaming:
                    for name in names:
                        _verify(Path(found[name]), name)
        if all(lacking.values()):
            reasons = ", ".join(dict.fromkeys(itertools.chain(*lacking.values())))
            raise FileNotFoundError(f"{root or config.name} lacks {reasons}")
        return [
            datasets.SplitGenerator(
                name=split,
                # Not a list: `datasets` would cut it into shards, and the parts are one stream.
                gen_kwargs={"split": split, "files": {name: str(found[name]) for name in config.files_of(split)}},
            )
            for split in splits
            if not lacking[split]
        ]

    def _generate_examples(self, split, files):
        # The joined archive was found for each of its parts.
        paths = list(dict.fromkeys(files.values()))
        seen = {}
        for where, record in _records(paths):
            if split == "private" or _split_of(record, where) == split:
                row = _row(record, where, pages=self.config.name != "qa", private=split == "private")
                if row["id"] in seen:
                    raise ValueError(f"{where}: {row['id']} stands in {seen[row['id']]} too; expected unique ids")
                seen[row["id"]] = where
                del record
                yield row["id"], row


def _find(root, name):
    parts = Path(name).parts
    places = (Path(root, *parts[start:]) for start in range(len(parts)))
    return next((place for place in places if place.is_file()), None)


def _verify(path, name):
    total, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            total.update(chunk)
            size += len(chunk)
    if (size, total.hexdigest()) != _FILES[name][:2]:
        path.unlink()
        found, expected = f"{size} bytes, sha256 {total.hexdigest()}", "{} bytes, sha256 {}".format(*_FILES[name][:2])
        raise ValueError(f"{_URL + name}: {found}, expected {expected}; removed, load it again")


# --- from files to records -------------------------------------------------------------------------------------------


class _Joined(io.RawIOBase):
    """Files one behind the other, as one stream."""

    def __init__(self, paths):
        self._rest = [Path(path) for path in reversed(paths)]
        self._file = self._rest.pop().open("rb")

    def readable(self):
        return True

    def readinto(self, buffer):
        while not (chunk := self._file.read(len(buffer))) and self._rest:
            self._file.close()
            self._file = self._rest.pop().open("rb")
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self):
        self._file.close()
        super().close()


class _Header(tarfile.TarInfo):
    """A tar header; one that is broken or missing is an error, where `tarfile` takes it for the archive's end."""

    @classmethod
    def fromtarfile(cls, archive):
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"{error} at byte {archive.offset}") from None


def _open(raw):
    stream = io.BufferedReader(raw, _CHUNK)
    return io.BufferedReader(bz2.BZ2File(stream), _CHUNK) if stream.peek()[:3] == b"BZh" else stream


def _is_tar(head):
    try:
        tarfile.TarInfo.frombuf(head[: tarfile.BLOCKSIZE], "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def _records(paths):
    """Yield place and object of every line in a file, or in the parts of one; ValueError names what is wrong."""
    label = str(paths[0]) if len(paths) == 1 else f"{paths[0]} to {str(paths[-1]).rpartition('.')[2]}"
    empty = True
    with contextlib.closing(_Joined(paths)) as raw:
        try:
            stream = _open(raw)
            head = stream.peek()
            if head.startswith(b"version https://git-lfs"):
                raise ValueError(f"{paths[0]} is a Git LFS pointer, not the file; run `git lfs pull` there")
            for place, line in _archive_lines(stream, label) if _is_tar(head) else _lines(stream, label):
                empty = False
                yield place, _object(line, place)
        except (EOFError, OSError, tarfile.TarError) as error:
            raise ValueError(f"{label} is damaged or cut short ({error}); fetch it again") from None
    if empty:
        raise ValueError(f"{label} holds no question; expected JSON Lines, one question a line")


def _archive_lines(stream, label):
    """Yield place and line of every JSON Lines member of a tar, packed or not, in the order of the archive."""
    found, names = False, []
    with tarfile.open(fileobj=stream, mode="r|", bufsize=_CHUNK, tarinfo=_Header) as archive:
        for member in archive:
            name = member.name.split("/")[-1]
            names.append(member.name)
            # macOS packs a shadow, ._NAME, of every file.
            if member.isfile() and name.endswith((".jsonl", ".jsonl.bz2")) and not name.startswith("._"):
                found = True
                # Its own buffer is small, and these lines are long.
                yield from _lines(_open(archive.extractfile(member).detach()), f"{label}: {member.name}")
    # Up to the checksum at the very end.
    while stream.read(_CHUNK):
        pass
    if not found:
        raise ValueError(f"{label} holds no .jsonl and no .jsonl.bz2; found {', '.join(names[:8]) or 'nothing'}")


def _lines(stream, label):
    head = stream.peek()[:16]
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] not in (b"", b"{"):
        raise ValueError(f"{label} begins with {head!r}; expected JSON Lines, packed with bzip2 or in a tar, or not")
    for number, line in enumerate(stream, 1):
        if not line.isspace():
            yield f"{label}:{number}", line


def _object(line, where):
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is not JSON in UTF-8 ({error}); expected one object a line") from None
    if not isinstance(record, dict):
        raise ValueError(f"{where} is a {type(record).__name__}; expected an object")
    return record


# --- from records to rows --------------------------------------------------------------------------------------------


def _split_of(record, where):
    if "split" not in record:
        raise ValueError(f"{where} has no split; found the keys {', '.join(record)}")
    for name, number in _SPLITS.items():
        if record["split"] in (number, str(number)) and not isinstance(record["split"], bool):
            return name
    raise ValueError(f"{where}: split is {record['split']!r}; expected 0 (validation) or 1 (public)")


def _text(value, nan=None):
    """An optional value as text, without halves of surrogate pairs; NaN, where a cell was empty, as `nan`."""
    if value is None or value != value:
        return None if value is None else nan
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _needed(record, key, where):
    value = record.get(key)
    if not isinstance(value, str) or not value:
        held = f"{key} is {value!r}" if key in record else f"no {key}, only the keys {', '.join(record)}"
        raise ValueError(f"{where}: {held}; expected a text")
    return _text(value)


def _row(record, where, pages, private):
    """The row of a record; ValueError names one without id, query, answer or pages, where these are needed."""
    answer, more = record.get("answer"), []
    if isinstance(answer, list):
        answer, *more = alternatives_of(answer) or [None]
    if "answer" not in record and not private:
        raise ValueError(f"{where} has no answer; found the keys {', '.join(record)}")
    popularity = _text(record.get("popularity"))
    named = [alternatives_of(record.get(key)) for key in ("alt_ans", "alternative_answers")]
    row = {
        "id": _needed(record, "interaction_id", where),
        **{key: _text(record.get(key)) for key in ("query_time", "domain", "question_type", "static_or_dynamic")},
        # Only questions made from the knowledge graph have one; v4 does not tell.
        "popularity": popularity if popularity is None or popularity.strip() else "web",
        "query": _needed(record, "query", where),
        # Upstream's own files have the answer `nan` as a text.
        "answer": _text(answer, nan="nan"),
        "alternatives": list(dict.fromkeys(itertools.chain(more, *named))),
    }
    if pages:
        found = record.get("search_results", ())
        if not isinstance(found, (list, type(None))) or not all(isinstance(page, dict) for page in found or []):
            held = "no search_results" if found == () else "search_results of another kind"
            raise ValueError(f"{where} has {held}; expected a list of pages, each an object")
        found = found or []
        row["search_results"] = [{key: _text(page.get(key)) or "" for key in _PAGE_KEYS} for page in found]
        row["page_result"] = [_text(page.get("page_result")) or "" for page in found]
    return row
