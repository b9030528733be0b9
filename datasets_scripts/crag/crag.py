# Licensed under the Apache License, Version 2.0. CRAG's data are CC BY-NC 4.0, the web pages in them their owners'.
"""CRAG: English questions of five domains, each with web pages that were found for it.

Reads the upstream files as they are: JSON Lines or tar archives, packed with bzip2 or not, an archive in its split
parts, as one stream and never unpacked to disk. It reads no HTML, and leaves the mock knowledge graph to `quadrag kg`.
"""

import ast
import bz2
import contextlib
import io
import itertools
import json
import tarfile
import warnings
from pathlib import Path

import datasets

from .reading import Builder, Config, as_text, check_object, json_lines, mend, need, read_facts, unique

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

_FILES = read_facts("""
data/crag_task_1_and_2_dev_v5.jsonl.bz2 739310088 d4c14897d8ea2f450a24e098b595d8247c6575f996f9869d6f27a020fe020618 -
data/crag_task_1_and_2_dev_v4.jsonl.bz2 739384484 afa29f2b3facfb5d15aa9cded00d5ec90ff76f3e67279e7b99cfe86659a641ca -
data/crag_task_3_dev_v5.tar.bz2.part0 2147483648 0220e4b43356ff32a00f35647a4cb375301773c7e66a48daf9329781fdfec3d7 -
data/crag_task_3_dev_v5.tar.bz2.part1 2147483648 9628e5f24bb4273afbdc380c13c68533fc5e5e788e00a973a7e2765566161330 -
data/crag_task_3_dev_v5.tar.bz2.part2 2147483648 533bb48a5bed3818262edd02219eff351493a2f35a276958d62b9614257471f5 -
data/crag_task_3_dev_v5.tar.bz2.part3 1283117287 cc8c4b0224a3d1512283433ed6418c2a4f633dfab98f76ef4acd38fd63b26464 -
data/crag_task_3_dev_v4.tar.bz2.part1 2097152000 3a3f642643adc427b356b34fd078ba867c3905aa4341fc181457197aee9a55cf -
data/crag_task_3_dev_v4.tar.bz2.part2 2097152000 abd76c029079b93065aba7fb4fc0e129a803de7ee0e1511432d0037d1782aa7c -
data/crag_task_3_dev_v4.tar.bz2.part3 2097152000 d82e3c94e29a361635ed6b56797747b77ef3cf07dc454736d661461f32c23dab -
data/crag_task_3_dev_v4.tar.bz2.part4 1432877269 ed48b1ca55606a7d22be4809b10d7de0251d429f01e689a066c6def2428995ad -
example_data/dev_data.jsonl.bz2 2032693 81b1902691625e3837346a4d3e446d74add4e8bf837db520df833b19e5a1de07 239117eed88031f23880c3376405579cc02541ec
""")  # noqa: E501  # a line for each file; Git LFS knows no blob of the content

# The files of a release: with five pages a question, and in parts, with fifty.
_PAGES_5 = {release: f"data/crag_task_1_and_2_dev_{release}.jsonl.bz2" for release in ("v5", "v4")}
_PAGES_50 = {release: [name for name in _FILES if f"3_dev_{release}" in name] for release in _PAGES_5}
_EXAMPLE = "example_data/dev_data.jsonl.bz2"
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
        item = waiting.pop()
        if isinstance(item, list):
            waiting += reversed(item)
        elif (text := _text(item, nan="nan")) is not None and text.strip():
            flat.append(mend(text))
    return list(dict.fromkeys(flat))


def _parse_list(text):
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


class CragConfig(Config):
    """The questions alone, with five pages each, or with fifty.

    Args:
        release: "v5" or "v4" of upstream's files.
        private_file: the file of the split `private`, which upstream withholds: JSON Lines or a tar of them, packed
            with bzip2 or not. All its rows are taken; answers may be absent.
    """

    OPTIONS = {"release": "v5", "private_file": None}
    splits = [*_SPLITS, "private"]

    def check_options(self):
        self.expect(self.release in _PAGES_5, "release", "'v5' or 'v4'")
        for path in self.named.values():
            self.expect(path.is_file(), _PRIVATE, "a file of JSON Lines or a tar")

    @property
    def named(self):
        return {} if self.private_file is None else {_PRIVATE: Path(str(self.private_file)).expanduser()}

    def files_of(self, split):
        if split == "private":
            return list(self.named)
        return list(_PAGES_50[self.release]) if self.name == "task_3" else [_PAGES_5[self.release]]

    def lacking(self, split, files):
        names = self.files_of(split)
        if not names:
            return [f"the split {split} (withheld by the authors: name a file of yours by the option {_PRIVATE})"]
        missing = super().lacking(split, files)
        if missing or split == "private":
            return missing
        if [Path(files[name]).stat().st_size for name in names] == [_FILES[name][0] for name in names]:
            return []
        met = set()
        for where, record in _records(list(dict.fromkeys(str(files[name]) for name in names))):
            met.add(_split_of(record, where))
            if split in met:
                return []
        return [f"rows of {split} in {Path(files[names[0]]).name} (it holds {', '.join(sorted(met))})"]


class Crag(Builder):
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
    STAND_INS = {_EXAMPLE: "the example file"}

    @classmethod
    def locate(cls, root, name):
        """Find a file, or what does as well.

        Unpacked it will do; the joined archive stands for each of its parts, the example file for that of the first two
        tasks where neither release is there.
        """

        def find_first(*names):
            return next((path for each in names if (path := super(Crag, cls).locate(root, each))), None)

        if ".part" in name:
            return find_first(name.rpartition(".part")[0], name)
        path = find_first(name, name.removesuffix(".bz2"))
        if path is None and name in _PAGES_5.values():
            others = [form for other in _PAGES_5.values() for form in (other, other.removesuffix(".bz2"))]
            return None if find_first(*others) else find_first(_EXAMPLE)
        return path

    def _info(self):
        text = datasets.Value("string")
        features = {
            **dict.fromkeys(("id", "query_time", "domain", "question_type", "static_or_dynamic", "popularity"), text),
            **dict.fromkeys(("query", "answer"), text),
            "alternatives": [text],
        }
        if self.config.name != "qa":
            features |= {"search_results": [dict.fromkeys(_PAGE_KEYS, text)], "page_result": [text]}
        return self.make_info(features, _DESCRIPTION, _CITATION, _HOMEPAGE, _LICENSE)

    def _generate_examples(self, split, files):
        yield from unique(self._rows(split, files))

    def _rows(self, split, files):
        # The joined archive was found for each of its parts.
        for where, record in _records(list(dict.fromkeys(files.values()))):
            if split == "private" or _split_of(record, where) == split:
                yield where, _row(record, where, pages=self.config.name != "qa", private=split == "private")


# --- from files to records -------------------------------------------------------------------------------------------


class _JoinedFiles(io.RawIOBase):
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
    label = str(paths[0]) if len(paths) == 1 else f"{paths[0]} to {str(paths[-1]).rpartition('.')[2]}"
    empty = True
    with contextlib.closing(_JoinedFiles(paths)) as raw:
        try:
            stream = _open(raw)
            lines = _archive_lines(stream, label) if _is_tar(stream.peek()) else json_lines(stream, label)
            for _, where, value in lines:
                empty = False
                yield where, check_object(value, where)
        except (EOFError, OSError, tarfile.TarError) as error:
            raise ValueError(f"{label} is damaged or cut short ({error}); fetch it again") from None
    if empty:
        raise ValueError(f"{label} holds no question; expected JSON Lines, one question a line")


def _archive_lines(stream, label):
    """Yield what `json_lines` does of every JSON Lines member of a tar, packed or not, in the order of the archive."""
    any_lines, names = False, []
    with tarfile.open(fileobj=stream, mode="r|", bufsize=_CHUNK, tarinfo=_Header) as archive:
        for member in archive:
            name = member.name.split("/")[-1]
            names.append(member.name)
            # macOS packs a shadow, ._NAME, of every file.
            if member.isfile() and name.endswith((".jsonl", ".jsonl.bz2")) and not name.startswith("._"):
                any_lines = True
                # Its own buffer is small, and these lines are long.
                yield from json_lines(_open(archive.extractfile(member).detach()), f"{label}: {member.name}")
    # Up to the checksum at the very end.
    while stream.read(_CHUNK):
        pass
    if not any_lines:
        raise ValueError(f"{label} holds no .jsonl and no .jsonl.bz2; found {', '.join(names[:8]) or 'nothing'}")


# --- from records to rows --------------------------------------------------------------------------------------------


def _split_of(record, where):
    for name, number in _SPLITS.items():
        if record.get("split") in (number, str(number)) and not isinstance(record["split"], bool):
            return name
    raise ValueError(f"{where}: split is {record.get('split')!r}; expected 0 (validation) or 1 (public)")


def _text(value, nan=None):
    """An optional value as text; NaN, where a cell was empty, as `nan`."""
    return as_text(value) if value == value else nan


def _row(record, where, pages, private):
    answer, more = record.get("answer"), []
    if isinstance(answer, list):
        answer, *more = alternatives_of(answer) or [None]
    if "answer" not in record and not private:
        raise ValueError(f"{where} has no answer; found the keys {', '.join(record)}")
    popularity = _text(record.get("popularity"))
    named = [alternatives_of(record.get(key)) for key in ("alt_ans", "alternative_answers")]
    row = {
        "id": need(record, "interaction_id", where),
        **{key: _text(record.get(key)) for key in ("query_time", "domain", "question_type", "static_or_dynamic")},
        # Only questions made from the knowledge graph have one; v4 does not tell.
        "popularity": popularity if popularity is None or popularity.strip() else "web",
        "query": need(record, "query", where),
        # Upstream's own files have the answer `nan` as a text.
        "answer": _text(answer, nan="nan"),
        "alternatives": list(dict.fromkeys(itertools.chain(more, *named))),
    }
    if pages:
        results = record.get("search_results", "") or []
        if "search_results" not in record or not all(isinstance(page, dict) for page in results):
            raise ValueError(f"{where}: search_results is no list of pages; expected a list, each an object")
        row["search_results"] = [{key: _text(page.get(key)) or "" for key in _PAGE_KEYS} for page in results]
        row["page_result"] = [_text(page.get("page_result")) or "" for page in results]
    return row
