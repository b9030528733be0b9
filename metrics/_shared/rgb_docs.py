# SPDX-License-Identifier: Apache-2.0
"""What the documentation of RGB's three metrics shares."""

from typing import Any

import datasets

from .module import JUDGE, STATES, TEXTS, Option, info

_CITATION = """\
@inproceedings{chen2024benchmarking,
  title     = {Benchmarking Large Language Models in Retrieval-Augmented Generation},
  author    = {Chen, Jiawei and Lin, Hongyu and Han, Xianpei and Sun, Le},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  volume    = {38},
  number    = {16},
  pages     = {17754--17762},
  year      = {2024}
}
"""
LANGUAGE = Option('"en" (default) or "zh"; "zh" compares with spaces removed.', "en", ("en", "zh"))
COMMON = {"language": LANGUAGE, "states": STATES}
JUDGED = {
    "judge": Option(f"{JUDGE} Called once, for the items with an answer."),
    "questions": Option("list of n questions; required with judge."),
    "prompt": Option("the judge's instructions, a text with {answer} and {question}; default this module's own."),
}
# What a gold answer may be, for the documentation of each.
GOLDS = """
        a string;
        a list of strings, ALL of which are needed, as in RGB's files;
        a list of lists of strings: of the outer list all are needed, of an inner list any one."""


def rgb_info(description: str, documentation: str) -> Any:
    """Return what `_info` of RGB's metrics has to."""
    code, paper = "https://github.com/chen700564/RGB", "https://arxiv.org/abs/2309.01431"
    return info(description, _CITATION, documentation, datasets.Sequence(TEXTS), [code], [paper])
