"""The corpus of the dataset script omnieval: nodes, sources that are cut alike, copies, bad nodes, flat memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from omnieval_files import NODES, ids, node, put, rows

from quadrag import catalogue
from quadrag.errors import QuadragError

# --- the corpus ------------------------------------------------------------------------------------------------------


LONE = r'{"id": "n-4", "title": "题4", "contents": "\ud800"}'


def test_nodes(tmp_path: Path) -> None:
    put(tmp_path, NODES, node(1), node(2, title=None, extra=1), {"id": 3, "contents": ""}, LONE)
    assert rows("corpus", "corpus", tmp_path) == [
        node(1),
        node(2, title=""),
        {"id": "3", "title": "", "contents": ""},
        node(4, contents="\ufffd"),
    ]


def test_sources_cut_alike_are_one_corpus_and_copies_are_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    put(tmp_path, "a-2048-256_nodes/corpus.jsonl", node(1), node(2))
    put(tmp_path, "b-2048-256_nodes/corpus.jsonl", node(2), node(3), node(1))
    assert ids(rows("corpus", "corpus", tmp_path)) == ["n-1", "n-2", "n-3"]
    assert [entry.getMessage() for entry in caplog.records] == ["omnieval corpus: skipped 2 copies of nodes"]
    put(tmp_path, "b-2048-256_nodes/corpus.jsonl", node(2, contents="另一篇"))
    with pytest.raises(QuadragError) as caught:
        rows("corpus", "corpus", tmp_path)
    first, second = (f"{tmp_path}/{name}-2048-256_nodes/corpus.jsonl" for name in "ab")
    assert str(caught.value) == f"{second}:1: n-2 stands in {first}:2 too, with another text; expected unique ids"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([node(2)], ":2 is a list; expected a node with id, title and contents"),
        ({"title": "题", "contents": "文"}, ":2: no id, only the keys title, contents; expected a text"),
        (node(2, id=""), ":2: id is ''; expected a text"),
        (node(2, id=["a"]), ":2: id is ['a']; expected a text"),
        ({"id": "n-2", "text": "文"}, ":2: no contents, only id, text; expected a text"),
        (node(2, contents=None), ":2: contents is None; expected a text"),
        ("{", ":2 is not JSON (Expecting property name enclosed in double quotes at"),
    ],
)
def test_a_bad_node_is_named(tmp_path: Path, bad: Any, message: str) -> None:
    put(tmp_path, NODES, node(1), bad)
    with pytest.raises(QuadragError) as caught:
        rows("corpus", "corpus", tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / NODES}{message}")


def test_a_corpus_as_parquet(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "OmniEval-KnowledgeCorpus/data/train-00000-of-00001.parquet"
    path.parent.mkdir(parents=True)
    parquet.write_table(pa.Table.from_pylist([node(n) for n in range(200)]), path)
    assert rows("corpus", "corpus", tmp_path) == [node(n) for n in range(200)]


def test_no_two_of_many_ids_are_mistaken() -> None:
    seen = catalogue.load_script(catalogue.benchmarks()["omnieval"])._Seen()
    assert all(seen.add(7 * number, number) is None for number in range(30_000))
    assert all(seen.add(7 * number, 0) == number for number in range(0, 30_000, 97))
    # Zero marks what is free; as a key it is one.
    assert seen.add(1, 5) == 0


# In MiB; `ru_maxrss` would count what this process's parent had when it forked.
MEMORY = """
def peak():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024

import json, sys
from quadrag.data import builders
builder, _ = builders.open_builder("omnieval", "corpus", sys.argv[1])
seen = []
for number, row in enumerate(builders.rows(builder, "corpus"), 1):
    if number % 2_000 == 0:
        seen.append(peak())
print(json.dumps([number, seen]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_a_corpus_streams_in_flat_memory(tmp_path: Path, python: Any, environment: Any) -> None:
    """20,000 nodes of 2,000 characters are 120 MB; the last nine tenths of them take less than 8 more."""
    text = "金融监管与银行业务" * 222
    path = tmp_path / NODES
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(node(n, contents=f"{n}{text}"), ensure_ascii=False) + "\n" for n in range(20_000))
    assert path.stat().st_size > 110e6
    done = python(MEMORY, tmp_path, env=environment())
    assert done.returncode == 0, done.stderr
    count, seen = json.loads(done.stdout)
    assert (count, len(seen)) == (20_000, 10)
    assert seen[-1] - seen[0] < 8
