"""Harbour: questions on notices to mariners, and the notices."""

from pathlib import Path

import datasets

from quadrag.datasets_scripts._shared.reading import Builder, Config, json_lines, unique

_CITATION = ""
_DESCRIPTION = "Which port a ship sails to, asked of notices to mariners."
_HOMEPAGE = "https://harbour.example"
_LICENSE = "CC0-1.0"


class HarbourConfig(Config):
    """A file of JSON Lines, which is one split."""

    @property
    def splits(self):
        return ["corpus" if self.name == "corpus" else "test"]

    def files_of(self, split):
        return [f"{self.name}.jsonl"]


class Harbour(Builder):
    """Two configs over two files."""

    BUILDER_CONFIG_CLASS = HarbourConfig
    BUILDER_CONFIGS = [
        HarbourConfig(name="ships", description="questions"),
        HarbourConfig(name="corpus", description="notices"),
    ]
    FILES = dict.fromkeys(("ships.jsonl", "corpus.jsonl"), (None, None, None))
    URL = "https://harbour.example/files/"

    def _info(self):
        text = datasets.Value("string")
        questions = {"id": text, "question": text, "ports": [text], "notice": text, "kind": text}
        features = {"id": text, "text": text} if self.config.name == "corpus" else questions
        return datasets.DatasetInfo(
            description=_DESCRIPTION, homepage=_HOMEPAGE, license=_LICENSE, features=datasets.Features(features)
        )

    def _generate_examples(self, split, files):
        (path,) = files.values()
        with Path(path).open("rb") as lines:
            yield from unique((where, row) for _, where, row in json_lines(lines, path))
