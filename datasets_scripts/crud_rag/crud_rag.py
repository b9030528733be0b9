# Licensed under the Apache License, Version 2.0. CRUD-RAG's README says Apache-2.0 too; its news keep their owners.
"""CRUD-RAG: six tasks on Chinese news, the news to retrieve from, and the authors' questions for RAGQuestEval.

Reads the upstream files as they are, whole or in part. A document is known by the sha256 of its body without white
space (`split_document`, `document_id`), so that one article has one identity wherever it stands.
"""

import functools
import hashlib
import io
import itertools
import zipfile
import zlib
from collections import namedtuple
from pathlib import Path

import datasets

from .reading import Builder, Config, as_text, check_object, need, read_facts, read_json, unique

_CITATION = """\
@article{lyu2024crudrag,
  title   = {{CRUD-RAG}: A Comprehensive {Chinese} Benchmark for Retrieval-Augmented Generation of Large Language
             Models},
  author  = {Lyu, Yuanjie and Li, Zhiyu and Niu, Simin and Xiong, Feiyu and Tang, Bo and Wang, Wenjin and Wu, Hao and
             Liu, Huanyong and Xu, Tong and Chen, Enhong},
  journal = {ACM Transactions on Information Systems},
  year    = {2024},
  doi     = {10.1145/3701228},
  eprint  = {2401.17043},
}
"""

_DESCRIPTION = """\
CRUD-RAG measures retrieval-augmented generation in Chinese by what is done with the documents: creating text (news
continuation), reading (questions over one, two and three documents), updating (correcting hallucinated continuations)
and deleting (summaries of events), over a corpus of news published after July 2023.
"""

_HOMEPAGE = "https://github.com/IAAR-Shanghai/CRUD_RAG"
_LICENSE = "Apache-2.0 by the README's badge; the news texts keep their owners' copyright"
_URL = "https://raw.githubusercontent.com/IAAR-Shanghai/CRUD_RAG/1aace383994e1f68efa12cf2a8e2dadfb4102ceb/"


# Where upstream keeps a task: its key in the merged files, the keys of query and reference, its question file.
_Task = namedtuple("_Task", ("key", "query", "reference", "questions"))
_QUESTIONS = "src/quest_eval/{}_quest_gt_save.json"
_TASKS = {
    "continuation": _Task("continuing_writing", "beginning", "continuing", _QUESTIONS.format("ContinueWriting")),
    "qa_1doc": _Task("questanswer_1doc", "questions", "answers", _QUESTIONS.format("QuestAnswer1Doc")),
    "qa_2doc": _Task("questanswer_2docs", "questions", "answers", _QUESTIONS.format("QuestAnswer2Docs")),
    "qa_3doc": _Task("questanswer_3docs", "questions", "answers", _QUESTIONS.format("QuestAnswer3Docs")),
    "hallucination": _Task("hallu_modified", "newsBeginning", "hallucinatedMod", _QUESTIONS.format("HalluModified")),
    "summary": _Task("event_summary", "event", "summary", _QUESTIONS.format("Summary")),
}
_FULL = "data/crud/merged.zip"
_MERGED = {"test": "data/crud_split/split_merged.json", "full": _FULL}
# Unpacked, merged.zip may stand beside itself or in a folder of its own.
_UNPACKED = ("data/crud/merged.json", "data/crud/merged/merged.json")

# name, bytes, sha256 and git blob sha1 of each file; - is unknown.
_FILES = read_facts("""
data/crud_split/split_merged.json - - 2dd57307cc39efca886d8ed955d4cade84fe9887
data/crud/merged.zip - - 5168603af440cde4d4ef429e792740f9a1f23027
data/80000_docs/documents_dup_part_1_part_1 3984745 bea3ca0f1c140442655eaa25695f169499ac2fd115b5e5291d51c2c1467c9dd5 79cb18d187caecd382ca933efaeefa2c44068e0c
data/80000_docs/documents_dup_part_1_part_2 3912087 767fb7be743f7d2ee52e7c17c1b1bb88c22645552fb36fae5811b69e4b33ccf9 2231a7e01bcfb878f3118e10015971045b994ebc
data/80000_docs/documents_dup_part_1_part_3 3809481 dc733dbb701b3251bc6251ca8eba6f514cfdcac0ddcac6af703d7d00dfc6b217 7511fffee8fdc9058175cf3e262d8095bfcc878e
data/80000_docs/documents_dup_part_2_part_1 3726951 e34006825d0849ba764065512b04b1b49b5c0585b6a81605f2c9fb3a7614db47 8302cfc4ce68da59e6b99b964c79e014f10a6328
data/80000_docs/documents_dup_part_2_part_2 3789498 85d69bbce907f902b94e0ba0e85aadd1c3487019264ac21881c56dc4dc72af3c 1c934efa89fe06766196eda09c6f25271e5e3f81
data/80000_docs/documents_dup_part_2_part_3 3884283 44e94e8f8f845ccd83719d4e2c570dbbb1c05603031dd0af54e7e71cba67677e b57906fc3abef0af09862853a4181443697e0e65
data/80000_docs/documents_dup_part_3_part_1 3867707 022175013d620c04a2e4c54beb62cc44940f96609a1b93a244dbefc666062053 d6885a9b4a6f6948dfec6b7dd54614101303872f
data/80000_docs/documents_dup_part_3_part_2 3668043 5ce5d9959fb6664b770d7b89a70689727522fd8eb4278106c895f701dfa4b6c3 5f3c4ff3b125e1264b2bf674a18e4492efc09772
data/80000_docs/documents_dup_part_3_part_3 3714527 37719b4d0b02dcc934a23063ca87dde50a3633e0c7895ea9d923935e7f36964c 8434862480ea3890ae4013e1806afeafc84d234f
data/80000_docs/documents_dup_part_4_part_1 3739158 348a3e55da6bef3f585663b8cd9aa2c19da5dad43487b5f63ad692a7ea240246 1b9db92ae14b1ca3accfc316b16a9faf3d96e3e8
data/80000_docs/documents_dup_part_4_part_2 3703929 f92d2155b35af255d6666975f29fdc2d7b9819224d5e6079bccc5f51ba4dc61b 7af7eb1beda429ec1fdf3dfbac2a7bfa5aabc757
data/80000_docs/documents_dup_part_4_part_3 3793510 9479da7a0825871b710986d5a29b67d2e40c442b78722c868bc609f3efc6f0bb 2fb6be55af176f52463eb6ef7ad17edd50db06fd
data/80000_docs/documents_dup_part_5_part_1 3785944 cbb494cc40c156feb39db02e4dccb441f62510c5e0f4fef6a908a0f5d744d568 185ab0a8fa8ecf1c299b1043ed8996bf9fdc8cbf
data/80000_docs/documents_dup_part_5_part_2 3732345 613e2bc7fa8f92cad2e1d8329ef4cf71ca9767fedc0a9b21fa87c0055e1ec608 7ce32aeace3c9b206e70ea6bc93269d5979f9bb2
data/80000_docs/documents_dup_part_5_part_3 3890215 393b512e6722bd008a3941f19a98c69d92a45a4c20306cfdcc2a0a35039e38eb 22ffe642e885a4f3c145f156b50079c0748f022c
data/80000_docs/documents_dup_part_6_part_1 3850070 36a87485bb5711139c4b1505d779791dcb8c80e5c0ba11216f14bda74b273287 72fb8cdeae5c893450b0ff3010267ae1b353a651
data/80000_docs/documents_dup_part_6_part_2 3678379 6b459566493dbfb22fa03bd179ad0fdee68ee90d0fece11008e5a11c1b86bb71 ed76c5c5f4a7713b07a0a0683dbac9894dd5328e
data/80000_docs/documents_dup_part_6_part_3 3527876 ad4d9efd7134838a78f42ec79bd5d8b8e77f13d8a6fee99af440b85fa4717f66 83ba07a86bb4c1f38a42fb5cd46dca0e23c1f797
data/80000_docs/documents_dup_part_7_part_1 3592957 c63f93dbfab053e8392fd65acc2d1da7d4bb43733fa6ee65ed6c3a798f1cb00f a6f349d37c5b7293b0d5b6fed527a6c34022f3c2
data/80000_docs/documents_dup_part_7_part_2 3620370 34b1f0fe724fa8ef3aed58873528c924a01c4ebef09188b8b3533a39b00a6eb5 e1912c44f3e0ff9de04e5d65b60b03f31df017d2
data/80000_docs/documents_dup_part_7_part_3 3589771 4629304efbddb042bf047f55fe40deac5cc26a0f49344081172cb4a090833c89 05e4f4b962abf71126de1a48162ba50cbec936ad
data/80000_docs/documents_dup_part_8_part_1 3300069 a6b7560f5a81d1d3c782a671416fb5567284dc3c7c023fcd5a9443fd575ad395 e35fd9b031a59715b205c7ef51ef95c5ea037e5d
data/80000_docs/documents_dup_part_8_part_2 3450002 6b70e88ebd27062964b453503f5cae188ec26c8bae0c0f114b84d64022a5c105 bf1ebf30de39b6c9920f5f2c617a36c83fd90cbd
data/80000_docs/documents_dup_part_8_part_3 3597520 b24b3700728e398dbfb9f525d898c924fcc1c03be773fe556e9111c18931de8b 595ea695fcad346d841f7a218ec81ca8e78bc52b
data/80000_docs/documents_dup_part_9_part_1 3445923 672fb47368ffe252d4d26c0c9b458d35266da6181d15c9c00f4ee142023f9acb 575c35cbabbd5d053f2ca6a627d8cda1f6569a5b
data/80000_docs/documents_dup_part_9_part_2 3562504 09b722fc58549fd7d0c49e625327c71ee60557c271fd2314bdcb700fb7c6b3b8 9e9a5c93148ae7edc4eae3e133d2f30d32277c02
data/80000_docs/documents_dup_part_9_part_3 3561119 0ffe906249b54113008fe6ed4606c474821a1edc2bb9741a670ad5eba14ab41c 13f77e8ffb48482f11b29848967c8bd42789a9b6
data/80000_docs/documents_dup_part_10_part_1 3809486 6aad1181730ab30cc0494b42a8356a5fe7fb3a3dbcc1978c9d96f51f22ba4efd 94f85d87b6f58bc53bbaa08fea49c4842b73a5e2
data/80000_docs/documents_dup_part_10_part_2 3777288 f5a13c521f388b7d9ed2c1b104cc4cd3be7e65548ecb4713c732a750a1f806a8 7f6681c2ce946bc20ff4c02d0feffff1026ade69
data/80000_docs/documents_dup_part_10_part_3 3901614 04615d06818fdcf50d955c8e70982113474ca4565d6948b608513d41ae87f7c7 d4544b1743c50f206172ae997dd9c39fa4dbeed8
data/80000_docs/documents_dup_part_11_part_1 3932343 82b89ffaa2684d88cf0b8aa714991745f015784c136222c43a8272e842ecd737 b67732f20f3fb3de90812945a453df311421221c
data/80000_docs/documents_dup_part_11_part_2 3932495 44c2b7da784da09c2da4f390e698ca9d43cd175a969b73b50958ebd880cc2327 8f890e35d8770d5ab827582f12cd91a702ce0c16
data/80000_docs/documents_dup_part_11_part_3 3776357 046148960853e8bec91875af8d01e7d72ccf4abb1f360bad882b5c6a72965aa9 124fa84278e914fbb11dce34d3c99979d997c883
data/80000_docs/documents_dup_part_12_part_1 - - fdef596cd915825ce9d4c43e2608d12765588093
data/80000_docs/documents_dup_part_12_part_2 - - d05cabb2e81995f7fd433d44d8ef42fbebc3dbe2
data/80000_docs/documents_dup_part_12_part_3 - - 82cc55c1645a1cf6de98d394e25f2719e937c0b9
data/80000_docs/documents_dup_part_13_part_1 - - bca9b84dc8e0f78ef357310610bd4a5f107a754b
data/80000_docs/documents_dup_part_13_part_2 - - 9718bb88177ab5b1acff8ceae75abc183936d628
data/80000_docs/documents_dup_part_13_part_3 - - 3f81008fd405a9270f2abfe45887a30065e019fa
data/80000_docs/documents_dup_part_14_part_1 - - f580de1df4b0a373205ddd8e6b64048bbd24533f
data/80000_docs/documents_dup_part_14_part_2 - - 98547d5b62889981d5117d78a8dc088e7c0bb21f
data/80000_docs/documents_dup_part_14_part_3 - - 113dd4880af8954aa5bb185c0043c4264bbd43d1
data/80000_docs/documents_dup_part_15_part_1 - - 96361fe07abce9d130d7f76ea9d892351b8816db
data/80000_docs/documents_dup_part_15_part_2 - - 831217b2217ea446d2c0ffb486c410b64b066a0c
data/80000_docs/documents_dup_part_15_part_3 - - 21be446ce5c2fb75da9b6c33a0a590fbe01170bc
data/80000_docs/documents_hallu.txt_part_1 3007258 d31306ea6deeec24f4fdf0120cb3200b5a048150451f624e4ccd4c81948acf85 a732dabd443572fac3b84bae778404c4cd119740
data/80000_docs/documents_hallu.txt_part_2 2987609 c0990f42c13a5d0aaa6f28eda61c9b2f9bd98c0df2a68261e552994a7cad3744 3f9bcb3e2f5084184aa73615a8f96bf461b50e81
data/80000_docs/documents_hallu.txt_part_3 2994499 94e201744e04b4f63df3b72173919fd7316663c3405c635b904f2a68ce025a8b 084c9e0ff8589e01652da442bb293fc3f73a8568
src/quest_eval/ContinueWriting_quest_gt_save.json - - 01ef882fffeea232ded39b2dae737590be821799
src/quest_eval/QuestAnswer1Doc_quest_gt_save.json 552165 c466b5a7ac9544908dd962a4ec6568ad045dcf1f2cdf43c3b73463ba5fe91dba ceff706ac314bddc2bb092f86e1f90ef33eb10b7
src/quest_eval/QuestAnswer2Docs_quest_gt_save.json 891061 2ad90fbbe4092ab1ae3924747f22e4feb22af4a3200d652172f0611a6a7de5c1 ba1f8533a23c5077180a66fa8666fadfc60b774f
src/quest_eval/QuestAnswer3Docs_quest_gt_save.json 977940 9e12bce86aa97ff28b76bc528f87ee752959b7d0b75dd53f98d0938b921685dd d16d8541642e11d48122b2281381efc66b993757
src/quest_eval/HalluModified_quest_gt_save.json 886040 d067e1883d612dda42866b2bc7f09a5ea34a71daab8c67b603c9b6e4d1cbb12e 23b1ff792ca3903c30e8dff25d3735fa26765149
src/quest_eval/Summary_quest_gt_save.json - - 1eda55c2a0a5649f0a2b637f424efc1c742c726f
""")  # noqa: E501  # a line for each file
_CORPUS = [name for name in _FILES if name.startswith("data/80000_docs/")]

_BODY_MARK = "，正文："
_PREFIX_LIMIT = 220
# Upstream's own keys of gold documents; a task has some of them.
_DOCUMENT_KEYS = ("text", "news1", "news2", "news3", "newsRemainder")
# Columns that are taken as they are, and the keys they have upstream.
_COLUMNS = (
    ("continuation", ("hallucinatedContinuation",)),
    ("event", ("event",)),
    ("title", ("title", "headLine")),
    ("time", ("time", "broadcastDate")),
    ("url", ("url",)),
    ("type", ("type",)),
    ("thoughts", ("thoughts",)),
    ("generated_by", ("generatedBy",)),
    ("real_continuation", ("realContinuation",)),
)
# What stands in place of a correction that upstream's model never gave.
_NO_REFERENCE = '","msg":"request openai failed"'


def split_document(text):
    """Split a line of the corpus, or a gold text, into what stands before its body (date, byline, source) and the body.

    They are parted by the first `，正文：` that begins within the first 220 characters; ("", text) where there is none.
    """
    at = text.find(_BODY_MARK, 0, _PREFIX_LIMIT + len(_BODY_MARK) - 1)
    return ("", text) if at < 0 else (text[:at], text[at + len(_BODY_MARK) :])


def document_id(body):
    r"""Return the sha256 of a body's UTF-8 form without U+FEFF and white space (`\s`), as 64 hexadecimal digits."""
    return hashlib.sha256("".join(body.split()).replace("\ufeff", "").encode()).hexdigest()


_NOTHING = document_id("")


class CrudRagConfig(Config):
    """A task, the corpus or the question files.

    Args:
        gold: of the corpus alone: None (the corpus as it is, which leaves the gold documents out on purpose), or "test"
            or "full": the gold documents of all tasks of that split stand behind it, so that retrieval can be measured.
        whole: of the corpus alone: a row is a file as it stands, copies and prefixes too. `body` is its text, `aliases`
            has the id of the document that each of its lines is, "" for none. A gold document that is in no file is a
            file of its own.
    """

    OPTIONS = {"gold": None, "whole": False}

    def check_options(self):
        self.expect(self.gold in (None, *_MERGED), "gold", "None, 'test' or 'full'")
        self.expect(self.whole in (False, True), "whole", "True or False")
        for option in self.OPTIONS:
            self.expect(not getattr(self, option) or self.name == "corpus", option, f"none of {self.name}")

    @property
    def splits(self):
        if self.name in _TASKS:
            return list(_MERGED)
        return ["corpus"] if self.name == "corpus" else list(_TASKS)

    @property
    def partial(self):
        return self.name == "corpus"

    def files_of(self, split):
        if self.name in _TASKS:
            return [_MERGED[split]]
        if self.name == "corpus":
            return [*_CORPUS, *([_MERGED[self.gold]] if self.gold else [])]
        return [_TASKS[split].questions]

    def lacking(self, split, files):
        missing = super().lacking(split, files)
        if self.partial:
            first, *_, last = _CORPUS
            none = [] if any(name in files for name in _CORPUS) else [f"{first} to {last.split('/')[-1]}"]
            missing = [*none, *(name for name in missing if name not in _CORPUS)]
        if not missing and self.name in _TASKS:
            name, key = _MERGED[split], _TASKS[self.name].key
            keys = _keys(files[name], files[name].stat().st_mtime_ns)
            if key not in keys:
                missing = [f"{key} in {name} (it holds {', '.join(keys) or 'no keys'})"]
        return missing


class CrudRag(Builder):
    """The CRUD-RAG benchmark: six tasks, the corpus and the question files."""

    BUILDER_CONFIG_CLASS = CrudRagConfig
    BUILDER_CONFIGS = [
        *(CrudRagConfig(name=name, description=f"{task.key} in the authors' files") for name, task in _TASKS.items()),
        CrudRagConfig(name="corpus", description="news to retrieve from, one row a document"),
        CrudRagConfig(name="ragquesteval", description="the authors' questions on the references, a split a task"),
    ]
    FILES = _FILES
    URL = _URL

    @classmethod
    def locate(cls, root, name):
        names = (name, *_UNPACKED) if name == _FULL else (name,)
        return next((path for each in names if (path := super(CrudRag, cls).locate(root, each))), None)

    def _info(self):
        text = datasets.Value("string")
        if self.config.name == "corpus":
            features = {
                "id": text,
                "file": text,
                "line": datasets.Value("int32"),
                "date": text,
                "body": text,
                "aliases": [text],
                "gold": datasets.Value("bool"),
            }
        elif self.config.name == "ragquesteval":
            features = {"id": text, "task": text, "key_info": [text], "questions": [text], "answers": [text]}
        else:
            features = {
                **dict.fromkeys(("id", "query", "reference", "continuation"), text),
                **dict.fromkeys(("event", "title", "time", "url", "type", "thoughts"), text),
                **dict.fromkeys(("generated_by", "real_continuation"), text),
                "appeared_keywords": [text],
                "all_keywords": [{"keyword": text, "label": text}],
                "documents": [text],
                "document_ids": [text],
            }
        return self.make_info(features, _DESCRIPTION, _CITATION, _HOMEPAGE, _LICENSE)

    def _generate_examples(self, split, files):
        if self.config.name == "corpus":
            gold = files.get(_MERGED[self.config.gold]) if self.config.gold else None
            corpus = {name: path for name, path in files.items() if name in _CORPUS}
            added = list(_gold(gold, _MERGED[self.config.gold])) if gold else []
            rows = _file_rows(corpus, added) if self.config.whole else _corpus_rows(corpus, added)
            yield from ((row["id"], row) for row in rows)
        elif self.config.name == "ragquesteval":
            yield from unique(_question_rows(files[_TASKS[split].questions], split))
        else:
            yield from unique(_task_rows(files[_MERGED[split]], _TASKS[self.config.name]))


def _read(path):
    """The JSON object in a file, or in the merged.json of a zip."""
    with Path(path).open("rb") as file:
        content = file.read()
    if content.startswith(b"PK"):
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                names = archive.namelist()
                # __MACOSX/ holds a shadow of every file that macOS packed.
                member = next((n for n in names if n.split("/")[-1] == "merged.json" and "__MACOSX" not in n), None)
                if member is None:
                    raise ValueError(f"{path} holds no merged.json; found {', '.join(names) or 'nothing'}")
                content = archive.read(member)
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
            raise ValueError(f"{path} is no whole zip ({error}); fetch it again") from None
    return check_object(read_json(content, path), str(path))


@functools.lru_cache(maxsize=8)
def _keys(path, moment):
    return tuple(_read(path))


def _records(content, key, path):
    rows = need(content, key, path, list)
    if not rows:
        raise ValueError(f"{path}: {key} is empty; expected a list of rows")
    for number, row in enumerate(rows, 1):
        where = f"{path}: {key} row {number}"
        yield where, number, check_object(row, where)


def _texts(value):
    """An optional list of texts: None is empty, a lone value is a list of one, null entries are left out."""
    values = value if isinstance(value, list) else [value]
    return [as_text(item) for item in values if item is not None]


def _text_of(row, key, where):
    """A text, alone or as a list of one; None where it is null or absent."""
    value = row.get(key)
    if isinstance(value, list) and len(value) == 1:
        (value,) = value
    if not isinstance(value, (str, type(None))):
        raise ValueError(f"{where}: {key} is {value!r}; expected a text or a list of one")
    return value


def _documents(row):
    texts = [row[key] for key in _DOCUMENT_KEYS if isinstance(row.get(key), str)]
    pairs = [(text, document_id(split_document(text)[1])) for text in texts]
    return [pair for pair in pairs if pair[1] != _NOTHING]


def _task_rows(path, task):
    for where, _, row in _records(_read(path), task.key, path):
        key, query = as_text(row.get("ID")), _text_of(row, task.query, where)
        for name, value in (("ID", key), (task.query, query)):
            if not value:
                raise ValueError(f"{where} has no {name}; found the keys {', '.join(row)}")
        reference = _text_of(row, task.reference, where)
        keywords = row.get("allKeywords")
        labels = keywords.items() if isinstance(keywords, dict) else [(word, None) for word in _texts(keywords)]
        documents = _documents(row)
        values = ((column, next((row[name] for name in names if name in row), None)) for column, names in _COLUMNS)
        yield (
            where,
            {
                "id": key,
                "query": query,
                "reference": None if reference == _NO_REFERENCE else reference,
                **{column: as_text(value) for column, value in values},
                "appeared_keywords": _texts(row.get("appearedKeywords")),
                "all_keywords": [{"keyword": word, "label": as_text(label)} for word, label in labels],
                "documents": [text for text, _ in documents],
                "document_ids": [identity for _, identity in documents],
            },
        )


def _question_rows(path, task):
    """Yield place and row of every entry of a question file; one that upstream left empty has empty lists."""
    content = _read(path)
    if not content:
        raise ValueError(f"{path} is empty; expected an object of IDs and their questions")
    for key, entry in content.items():
        where = f"{path}: {key}"
        named = (("key_info", "key_info"), ("questions", "question"), ("answers", "answers"))
        lists = {column: _texts(check_object(entry, where).get(name)) for column, name in named}
        yield where, {"id": key, "task": task, **lists}


def _texts_of(files):
    """Yield name and text of every corpus file; the carriage returns of a checkout with Windows line ends are gone."""
    for name, path in files.items():
        with Path(path).open("rb") as file:
            content = file.read()
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            number = content.count(b"\n", 0, error.start) + 1
            raise ValueError(f"{path}:{number} is not UTF-8; expected one document a line, in UTF-8") from None
        yield name.split("/")[-1], text.replace("\r\n", "\n").removesuffix("\r")


def _lines(files):
    r"""Yield (file, line from 1, text) of every document in the corpus files; a line ends at "\n" and nowhere else."""
    for name, text in _texts_of(files):
        for number, line in enumerate(text.split("\n"), 1):
            yield name, number, line


def _gold(path, name):
    """Yield the gold documents of all tasks in a merged file as `_lines` does; the file's name bears the task's key."""
    content = _read(path)
    short = name.split("/")[-1]
    keys = [task.key for task in _TASKS.values() if task.key in content]
    if not keys:
        raise ValueError(f"{path} holds none of the tasks; found the keys {', '.join(content)}")
    for key in keys:
        for _, number, row in _records(content, key, path):
            for text, _ in _documents(row):
                yield f"{short}:{key}", number, text


def _corpus_rows(files, gold):
    """Yield one row per id, in file order, the gold documents last; further copies are aliases of the first.

    Files are read twice, since the last line may be a copy of the first. A line without a body is no document.
    """
    ids, seen, copies = [], {_NOTHING}, {}
    for name, number, text in itertools.chain(_lines(files), gold):
        key = document_id(split_document(text)[1])
        if key in seen:
            copies.setdefault(key, []).append(f"{name}:{number}")
        ids.append(None if key in seen else key)
        seen.add(key)
    if len(seen) == 1:
        raise ValueError(f"{', '.join(files.values())}: no document; expected one a line")
    golden = {document_id(split_document(text)[1]) for *_, text in gold}
    for key, (name, number, text) in zip(ids, itertools.chain(_lines(files), gold), strict=True):
        if key is not None:
            date, body = split_document(text)
            yield {
                "id": key,
                "file": name,
                "line": number,
                "date": date,
                "body": body,
                "aliases": copies.get(key, []),
                "gold": key in golden,
            }


def _file_rows(files, gold):
    """Yield one row a file, and one a gold document that is in none of them, all of whose lines are its own."""
    seen = set()
    for name, text in _texts_of(files):
        ids = [document_id(split_document(line)[1]) for line in text.split("\n")]
        seen.update(ids)
        yield _file_row(name, name, text, ["" if key == _NOTHING else key for key in ids], gold=False)
    for name, _, text in gold:
        key = document_id(split_document(text)[1])
        if key not in seen:
            seen.add(key)
            yield _file_row(key, name, text, [key] * len(text.split("\n")), gold=True)


def _file_row(key, name, text, ids, gold):
    return {"id": key, "file": name, "line": 1, "date": "", "body": text, "aliases": ids, "gold": gold}
