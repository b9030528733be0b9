"""Which class of a challenge's model file is meant, where its checkout is, and what its digest covers."""

from __future__ import annotations

import pytest
from challenge_models import CLASS, ask, records, texts, write

from quadrag.baselines.systems.challenge.model import ChallengeModel
from quadrag.baselines.systems.challenge.model_file import read_model_file
from quadrag.errors import QuadragError

# Which class, which checkout

TWO = CLASS.format("First", "one") + CLASS.format("Second", "two")


@pytest.mark.parametrize(
    ("code", "named", "name", "answer"),
    [
        (CLASS.format("Only", "one") + "class Helper: pass\n", "", "Only", "one"),
        (TWO, "#Second", "Second", "two"),
        (TWO + "UserModel = Second\n", "", "Second", "two"),
        (TWO + "if True:\n    UserModel = First\n", "", "First", "one"),
        (TWO + "try:\n    import nothing\nexcept ImportError:\n    UserModel = First\n", "", "First", "one"),
        (TWO + "UserModel = type('Made', (Second,), {})\n", "", "UserModel", "two"),
        (CLASS.format("UserModel", "own") + TWO, "", "UserModel", "own"),
        ("from beside import *\n", "#Third", "Third", "three"),
        ("from beside import Third as UserModel\n", "", "UserModel", "three"),
        (TWO + "from beside import Third\n", "#Third", "Third", "three"),
    ],
)
def test_the_class_that_is_meant(tmp_path, code, named, name, answer):
    write(tmp_path / "beside.py", CLASS.format("Third", "three"))
    path = write(tmp_path / "m.py", code)
    assert ChallengeModel(f"{path}{named}", ledger=None).model == f"challenge:m.py#{name}"
    assert texts(ask(f"{path}{named}", records("a"))) == [answer]


def test_a_user_config_beside_the_file_chooses_among_its_classes_alone(tmp_path):
    path = write(tmp_path / "models" / "m.py", TWO)
    config = write(tmp_path / "models" / "user_config.py", "from models.m import Second as Mine\nUserModel = Mine\n")
    assert read_model_file(str(path)).name == "Second"
    write(tmp_path / "models" / "other.py", TWO)
    config.write_text("from models.other import Second\nUserModel = Second\n")
    with pytest.raises(QuadragError, match="several models, First, Second"):
        read_model_file(str(path))


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ("nowhere.py", "no model file 'nowhere.py'; expected PATH.py#Class"),
        ("", "no model file ''"),
        (".", "no model file"),
        ("m.py#", "'' in the model spec 'm.py#' is no class name"),
        ("m.py#a b", "'a b' in the model spec"),
        ("m.py#Secnd", "unknown class in m.py 'Secnd'; nearest: Second"),
        ("m.py", r"m.py has several models, First, Second; name one as m.py#First"),
        ("inherits.py", "several models, First, Second, Mine"),
        ("none.py", "none.py has neither a UserModel nor a class with batch_generate_answer"),
        ("none.py#M", "unknown class in none.py 'M'; known: os"),
        ("empty.py#M", "neither a UserModel nor a class"),
        ("broken.py", "broken.py is no Python"),
        ("text.txt#M", "no model file 'text.txt'"),
    ],
)
def test_a_spec_that_means_no_model_is_named(tmp_path, monkeypatch, spec, found):
    for name, code in {
        "m.py": TWO,
        "inherits.py": TWO + "class Mine(First): pass\n",
        "none.py": "import os\ndef f():\n    class M:\n        def batch_generate_answer(self, batch): pass\n",
        "empty.py": "",
        "broken.py": "class M(:\n",
        "text.txt": "M",
    }.items():
        write(tmp_path / name, code)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(QuadragError, match=found):
        ChallengeModel(spec, ledger=None)


@pytest.mark.parametrize(
    ("place", "imports", "root"),
    [
        ("models/m.py", "", "."),
        ("models/m.py", "import beside", "models"),
        ("models/m.py", "from models.beside import value", "."),
        ("models/m.py", "import beside\nfrom models.beside import value", "."),
        ("models/deep/m.py", "from models.beside import value", "."),
        ("models/deep/m.py", "from ..beside import value", "."),
        ("solution/m.py", "import beside", "solution"),
        ("solution/m.py", "from .beside import value", "."),
        ("solution/m.py", "import json, math", "solution"),
        ("m.py", "from models.beside import value", "."),
    ],
)
def test_the_checkouts_root(tmp_path, place, imports, root):
    top = tmp_path / "top"
    for folder in ("models", "solution"):
        write(top / folder / "beside.py", "value = 1\n")
    code = imports + "\nimport os\n" + CLASS.format("M", "x").replace("['x']", "[os.getcwd()]")
    path = write(top / place, code)
    assert read_model_file(str(path)).root == top / root if root != "." else top
    assert texts(ask(path, records("a"))) == [str(top / root) if root != "." else str(top)]


def test_the_digest_covers_what_the_file_imports_from_its_checkout(tmp_path):
    helper = write(tmp_path / "models" / "utils.py", "from . import words\n")
    words = write(tmp_path / "models" / "words.py", "import models.utils\n")
    write(tmp_path / "models" / "unrelated.py", "")
    path = write(
        tmp_path / "models" / "m.py", "def f():\n    from models.utils import words\n" + CLASS.format("M", "x")
    )
    digest = read_model_file(str(path)).digest
    for file in (path, helper, words):
        before = file.read_text()
        file.write_text(before + "# another version\n")
        assert read_model_file(str(path)).digest != digest, file.name
        file.write_text(before)
    write(tmp_path / "models" / "unrelated.py", "# changed")
    assert read_model_file(str(path)).digest == digest
    (tmp_path / "models").rename(tmp_path / "elsewhere")
    (tmp_path / "copy").mkdir()
    (tmp_path / "elsewhere").rename(tmp_path / "copy" / "models")
    assert read_model_file(str(tmp_path / "copy" / "models" / "m.py")).digest == digest, "wherever the checkout lies"


def test_sets_have_one_order_and_workers_know_the_models_module(tmp_path):
    code = """
        import multiprocessing
        def work(word): return word + "!"
        class M:
            def get_batch_size(self): return 1
            def batch_generate_answer(self, batch):
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    return ["".join(pool.map(work, set("abcdefghijklmnop")))]
    """
    path = write(tmp_path / "models" / "m.py", code)
    first, second = (texts(ask(path, records("a"))) for _ in range(2))
    assert first == second and len(first[0]) == 32
