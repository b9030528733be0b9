# Licensed under the Apache License, Version 2.0. The data it reads are CC BY-NC-SA 4.0.
"""RGB: robustness of retrieval-augmented generation to noise, missing, scattered and false documents.

Reads the eight upstream JSON Lines files and composes the documents of every question as section 4 of the paper and the
authors' released evaluation do (`compose`). The generator is seeded with 2333 again before each question, as upstream;
`order="per_item"` seeds by question instead.
"""

import math
import random
from pathlib import Path

import datasets

from .reading import Builder, Config, check_object, json_lines, need, read_facts, unique

_CITATION = """\
@inproceedings{chen2024benchmarking,
  title     = {Benchmarking Large Language Models in Retrieval-Augmented Generation},
  author    = {Chen, Jiawei and Lin, Hongyu and Han, Xianpei and Sun, Le},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  volume    = {38},
  year      = {2024},
  doi       = {10.1609/aaai.v38i16.29728},
  eprint    = {2309.01431},
}
"""

_DESCRIPTION = """\
RGB measures four abilities that retrieval-augmented generation asks of a language model: noise robustness,
negative rejection, information integration and counterfactual robustness, in English and Chinese, on news questions
with relevant, irrelevant and counterfactual documents.
"""

_HOMEPAGE = "https://github.com/chen700564/RGB"
_LICENSE = "CC BY-NC-SA 4.0"
_URL = "https://raw.githubusercontent.com/chen700564/RGB/65ec39e40e7dc9abb50e9bf1b4f32be3f6f16615/data/"

# name, bytes, sha256 and git blob sha1 of each file; - is unknown.
_FILES = read_facts("""
en.json - - 4938252230bb4ccfb7f43662e43c7f84f4c38e78
en_fact.json 241320 92f4b2330ee407f74fbd923197028ef5140cfbc1f4b4092efec2d4d10ae6c9e5 ffa989031e0d7d4e68b6c4bcab4820c74ffc4902
en_int.json - - 826c357bfa7df0264951e7787d248efcca4b6b60
en_refine.json - - de75ccaedd1c47249315002e7713d2f0a94cc2de
zh.json - - 2d3406d3eb5a7d9c885196bb17fa6ac6f1483b4d
zh_fact.json 320481 171c4bc97860635092ce099f2da095c6ba8d07f0c6f7a19d0231373192f07da0 be725d61d5360bcb1afc0bab7f2238f6ba9942a7
zh_int.json 3024012 e2ddb0461e2130f4b006996a574a89d5898989ff8b15f51d900c17162c7d1b17 6e66066b0490cb8618fd5810e21134eadd8e3094
zh_refine.json 3893494 7a5c7547dcfa1b83429b53a41644453508f820f502d3817312cbf8051afb4563 6003c458bd6217636798e1810610432900ffdd21
""")  # noqa: E501  # a line for each file

_SEED = 2333
# ability: (suffix of the file, noise ratios of its splits; one ratio means the only split is `test`)
_ABILITIES = {
    "noise_robustness": ("_refine", (0.0, 0.2, 0.4, 0.6, 0.8)),
    "negative_rejection": ("_refine", (1.0,)),
    "information_integration": ("_int", (0.0, 0.2, 0.4)),
    "counterfactual_robustness": ("_fact", (0.0,)),
}
_KEYS = ("positive", "negative", "positive_wrong", "fakeanswer")


def normalize_answer(answer):
    """Bring an answer into one shape: a list of lists of str, all outer needed, of each inner any one suffices.

    It is a string, a list of strings (each needed), a list of lists (any one of each), or a mixture; else ValueError.
    """
    parts = answer if isinstance(answer, list) else [answer]
    groups = [part if isinstance(part, list) else [part] for part in parts]
    if not groups or not all(group and all(isinstance(text, str) for text in group) for group in groups):
        raise ValueError(f"answer is {answer!r}; expected a string, or a list of strings and lists of strings")
    return groups


def compose(positive, negative, positive_wrong=None, *, passage_num=5, noise_ratio=0.0, correct_ratio=0.0, seed=_SEED):
    """Compose the documents shown with one question, in the order shown.

    With n passages, `ceil(n * noise_ratio)` are negatives. Lists of strings are cut to prefixes, and where one side is
    short the other fills up, except at noise 1. With `positive` as a list of lists, one per aspect, (information
    integration) every aspect gives at least one document, even past n, and noise is a ceiling. With `positive_wrong`
    (counterfactual robustness; aligned with `positive`) the positives are shown in their edited form, `ceil(n *
    correct_ratio)` others in their true form, and a short list stays short. Ratios are in [0, 1].

    Raises ValueError where noise and correct documents together exceed n.

    Source: Chen et al. 2024, section 4 (Experimental Settings), and the released evaluation code.
    """
    rng = random.Random(seed)
    if passage_num == 0:
        return []
    noise = math.ceil(passage_num * noise_ratio)
    relevant = passage_num - noise
    if positive_wrong is not None:
        correct = math.ceil(passage_num * correct_ratio)
        wrong = relevant - correct
        if wrong < 0:
            raise ValueError(f"{noise} noise and {correct} correct documents do not fit into {passage_num} passages")
        shown = rng.sample(range(len(positive_wrong)), min(len(positive_wrong), wrong))
        documents = [positive_wrong[i] for i in shown]
        rest = [i for i in range(len(positive)) if i not in shown]
        documents += [positive[i] for i in rng.sample(rest, min(len(rest), correct))]
        documents += negative[:noise]
    elif positive and isinstance(positive[0], list):
        aspects = [list(aspect) for aspect in positive]
        for aspect in aspects:
            rng.shuffle(aspect)
        deepest = max(len(aspect) for aspect in aspects)
        by_depth = [aspect[depth] for depth in range(deepest) for aspect in aspects if depth < len(aspect)]
        firsts = sum(1 for aspect in aspects if aspect)
        documents = by_depth[: max(firsts, relevant)]
        documents += negative[: max(0, passage_num - len(documents))]
    else:
        if noise_ratio < 1 and noise > len(negative):
            relevant = passage_num - len(negative)
        elif noise_ratio < 1 and relevant > len(positive):
            noise = passage_num - len(positive)
        documents = positive[:relevant] + negative[:noise]
    rng.shuffle(documents)
    return documents


class RgbConfig(Config):
    """One testbed in one language, with the mix of documents shown.

    Args:
        passage_num: documents per question (the paper: 5).
        noise_ratio: share of negatives in [0, 1]; given, it replaces the splits of the paper by the one it names.
        correct_ratio: share of true positives in counterfactual robustness, in [0, 1].
        order: "fixed" (upstream: one seed for every question) or "per_item" (seeded by the question's id).
    """

    OPTIONS = {"passage_num": 5, "noise_ratio": None, "correct_ratio": 0.0, "order": "fixed"}

    def check_options(self):
        self.expect(type(self.passage_num) is int and self.passage_num >= 0, "passage_num", "a whole number from 0")
        for option in ("noise_ratio", "correct_ratio"):
            ratio = getattr(self, option)
            right = isinstance(ratio, (int, float)) and 0 <= ratio <= 1
            self.expect(right or (ratio is None and option == "noise_ratio"), option, "a number from 0 to 1")
        self.expect(self.order in ("fixed", "per_item"), "order", "'fixed' or 'per_item'")
        self.expect(not self.correct_ratio or self.kind == "_fact", "correct_ratio", f"none of {self.name}")
        if self.kind == "_fact":
            for ratio in self.split_noise.values():
                compose([], [], [], passage_num=self.passage_num, noise_ratio=ratio, correct_ratio=self.correct_ratio)

    @property
    def ability(self):
        return next(ability for ability in _ABILITIES if self.name.startswith(ability))

    @property
    def language(self):
        return self.name.removesuffix("_original")[-2:]

    @property
    def kind(self):
        """The suffix of the upstream file: "" (unrefined), `_refine`, `_int` or `_fact`."""
        return "" if self.name.endswith("_original") else _ABILITIES[self.ability][0]

    def files_of(self, split):
        return [f"{self.language}{self.kind}.json"]

    @property
    def splits(self):
        return list(self.split_noise)

    @property
    def split_noise(self):
        ratios = _ABILITIES[self.ability][1]
        if len(ratios) == 1:
            return {"test": ratios[0] if self.noise_ratio is None else self.noise_ratio}
        ratios = ratios if self.noise_ratio is None else (self.noise_ratio,)
        return {f"noise_{ratio * 100:.6g}".replace(".", "_"): ratio for ratio in ratios}


class Rgb(Builder):
    """The RGB benchmark: twelve configs over eight files."""

    BUILDER_CONFIG_CLASS = RgbConfig
    BUILDER_CONFIGS = [
        RgbConfig(
            name=f"{ability}_{language}{suffix}",
            description=f"{ability.replace('_', ' ')} in {spelled}{', before the revision of 2024' if suffix else ''}",
        )
        for ability in _ABILITIES
        for language, spelled in (("en", "English"), ("zh", "Chinese"))
        for suffix in (("", "_original") if _ABILITIES[ability][0] == "_refine" else ("",))
    ]
    FILES = _FILES
    URL = _URL
    UPSTREAM_FOLDER = "data"

    def _info(self):
        text = datasets.Value("string")
        features = {
            "id": datasets.Value("int64"),
            "query": text,
            "answer": [[text]],
            "documents": [text],
            "positive": [[text]] if self.config.kind == "_int" else [text],
            **{key: [text] for key in _KEYS[1:]},
        }
        return self.make_info(features, _DESCRIPTION, _CITATION, _HOMEPAGE, _LICENSE)

    def _generate_examples(self, split, files):
        (path,) = files.values()
        yield from unique(self._rows(path, self.config.split_noise[split]))

    def _rows(self, path, noise_ratio):
        config, where = self.config, None
        with Path(path).open("rb") as lines:
            for _, where, value in json_lines(lines, path):
                row = _read(check_object(value, where), config.kind, where)
                row["documents"] = compose(
                    row["positive"],
                    row["negative"],
                    row["positive_wrong"] if config.kind == "_fact" else None,
                    passage_num=config.passage_num,
                    noise_ratio=noise_ratio,
                    correct_ratio=config.correct_ratio,
                    seed=_SEED if config.order == "fixed" else f"{_SEED}:{row['id']}",
                )
                yield where, row
        if where is None:
            raise ValueError(f"{path} is empty; expected JSON Lines, one question a line")


def _read(record, kind, where):
    """The row of a record but for its documents; what other files hold under keys of this one means nothing."""
    texts = {key: need(record, key, where, list) for key in _KEYS[: 3 if kind == "_fact" else 2]}
    if kind == "_fact":
        fake = record.get("fakeanswer")
        texts["fakeanswer"] = fake if isinstance(fake, list) else [fake]
    for key, values in texts.items():
        nested = kind == "_int" and key == "positive"
        lists = values if nested else [values]
        if not all(isinstance(each, list) and all(isinstance(text, str) for text in each) for each in lists):
            raise ValueError(f"{where}: {key} is not a list of {'lists of ' if nested else ''}texts")
    if kind == "_fact" and len(texts["positive"]) != len(texts["positive_wrong"]):
        raise ValueError(f"{where}: positive and positive_wrong are of two lengths; expected one for one")
    try:
        answer = normalize_answer(record.get("answer"))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    asked = {"id": need(record, "id", where, int), "query": need(record, "query", where), "answer": answer}
    return {**asked, **{key: [] for key in ("documents", *_KEYS)}, **texts}
