"""The index store: built once, found again, whole or not there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from quadrag.baselines.retrieval.store import KEY_FILE, IndexStore
from quadrag.errors import QuadragError

KEY = {"kind": "bm25", "chunking": {"size": 128}, "corpus": "新闻"}


class Builder:
    """Writes two files, and counts how often it was asked to."""

    def __init__(self):
        self.times = 0

    def __call__(self, folder):
        self.times += 1
        assert list(folder.iterdir()) == []
        (folder / "data").write_text("data")
        (folder / "sub").mkdir()
        (folder / "sub" / "more").write_text("more")


@pytest.fixture
def build():
    return Builder()


@pytest.fixture
def store(tmp_path):
    return IndexStore(tmp_path / "indexes")


def test_built_once_and_found_again(store, build):
    place = store.get(KEY, build)
    assert (place / "data").read_text() == "data"
    assert place == store.path(KEY) == store.get(dict(reversed(KEY.items())), build)
    assert IndexStore(store.root).get(KEY, build) == place
    assert build.times == 1


def test_the_name_and_the_key_are_for_people(store, build):
    place = store.get(KEY, build)
    assert place.parent == store.root
    kind, _, digest = place.name.partition("-")
    assert kind == "bm25"
    assert len(bytes.fromhex(digest)) == 8
    text = (place / KEY_FILE).read_text(encoding="utf-8")
    assert "新闻" in text
    sums = {"data": [4, zlib.crc32(b"data")], "sub/more": [4, zlib.crc32(b"more")]}
    assert json.loads(text) == {"key": KEY, "files": sums}


@pytest.mark.parametrize(
    "change",
    [{"kind": "dense"}, {"corpus": "其他"}, {"chunking": {"size": 64}}, {"chunking": {"size": 128, "b": None}}],
)
def test_another_key_is_another_folder(store, build, change):
    assert store.get(KEY, build) != store.get({**KEY, **change}, build)
    assert build.times == 2


def test_a_tuple_in_a_key_is_a_list(store, build):
    assert store.get({**KEY, "t": (1, 2)}, build) == store.get({**KEY, "t": [1, 2]}, build)
    assert build.times == 1


@pytest.mark.parametrize("key", [{"kind": "../x"}, {"kind": ""}, {"kind": 3}])
def test_a_kind_is_a_word(store, key):
    with pytest.raises(ValueError, match="plain word"):
        store.path(key)


def damage_cut(place):
    (place / "data").write_text("dat")


def damage_missing(place):
    (place / "sub" / "more").unlink()


def damage_more(place):
    (place / "stray").write_text("")


def damage_no_key(place):
    (place / KEY_FILE).unlink()


def damage_not_json(place):
    (place / KEY_FILE).write_text("{")


def damage_foreign_key(place):
    (place / KEY_FILE).write_text(json.dumps({"key": {**KEY, "corpus": "x"}, "files": {"data": 4, "sub/more": 4}}))


def damage_odd_key(place):
    (place / KEY_FILE).write_text("[]")


def damage_file_in_place(place):
    for path in [*place.rglob("*/*"), *place.glob("*")]:
        path.rmdir() if path.is_dir() else path.unlink()
    place.rmdir()
    place.write_text("a file")


def damage_flip(place):
    (place / "data").write_text("dat!")


def damage_sum(place):
    (place / KEY_FILE).write_text((place / KEY_FILE).read_text().replace(str(zlib.crc32(b"data")), "0"))


def damage_deep_key(place):
    (place / KEY_FILE).write_text("[" * 100_000)


@pytest.mark.parametrize("damage", [value for name, value in sorted(globals().items()) if name.startswith("damage_")])
def test_a_damaged_or_foreign_folder_is_told_and_built_again(store, build, damage, capsys):
    place = store.get(KEY, build)
    assert capsys.readouterr().err == ""
    damage(place)
    assert store.get(KEY, build) == place
    assert build.times == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and told.startswith(f"the index {place} is damaged (")
    assert store.get(KEY, build) == place
    assert build.times == 2
    assert sorted(path.name for path in place.iterdir()) == ["data", KEY_FILE, "sub"]
    assert [path.name for path in store.root.iterdir() if path.is_dir()] == [place.name]


def test_an_index_of_an_older_version_is_not_built_again(store, build, capsys):
    place = store.get(KEY, build)
    (place / KEY_FILE).write_text(json.dumps({"key": KEY, "files": {"data": 4, "sub/more": 4}}))
    assert store.get(KEY, build) == place and build.times == 1 and capsys.readouterr().err == ""
    damage_flip(place)
    assert store.get(KEY, build) == place and build.times == 2, "from then on it has sums"


def test_a_build_that_fails_leaves_nothing(store, build):
    def failing(folder):
        (folder / "half").write_text("half")
        raise KeyError("corpus")

    with pytest.raises(KeyError, match="corpus"):
        store.get(KEY, failing)
    assert [path for path in store.root.iterdir() if path.is_dir()] == []
    store.get(KEY, build)
    assert build.times == 1


def test_what_a_killed_build_left_is_recipes_of_table(store, build, tmp_path):
    code = """
import os, sys
from pathlib import Path
from quadrag.baselines.retrieval.store import IndexStore
def build(folder):
    (folder / "half").write_text("half")
    os._exit(9)
IndexStore(Path(sys.argv[1])).get({"kind": "bm25", "chunking": {"size": 128}, "corpus": "新闻"}, build)
"""
    # Not from the checkout, where `quadrag` would lack its mapped rooms.
    ran = subprocess.run([sys.executable, "-c", code, str(store.root)], cwd=tmp_path, check=False)
    assert ran.returncode == 9
    assert [path.name for path in store.root.iterdir() if path.is_dir()] != []
    place = store.get(KEY, build)
    assert [path.name for path in store.root.iterdir() if path.is_dir()] == [place.name]


def test_two_processes_build_once(store, tmp_path):
    code = """
import sys, time
from pathlib import Path
from quadrag.baselines.retrieval.store import IndexStore
def build(folder):
    with open(sys.argv[2], "a") as log:
        log.write("built\\n")
    time.sleep(0.5)
    (folder / "data").write_text("data")
print(IndexStore(Path(sys.argv[1])).get({"kind": "bm25"}, build))
"""
    log = tmp_path / "log"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(store.root), str(log)], cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    places = {process.communicate()[0].strip() for process in running}
    assert places == {str(store.path({"kind": "bm25"}))}
    assert log.read_text() == "built\n"


def test_a_root_that_cannot_be_is_named(tmp_path, build):
    (tmp_path / "file").write_text("")
    with pytest.raises(QuadragError, match=r"cannot build the index .*QUADRAG_CACHE"):
        IndexStore(tmp_path / "file" / "indexes").get(KEY, build)
    assert build.times == 0


def test_the_default_root_is_the_users_cache():
    assert IndexStore().root == Path(os.environ["QUADRAG_CACHE"]) / "indexes"
