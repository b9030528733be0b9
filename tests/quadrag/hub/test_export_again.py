"""An export where something stands already: left alone, gone on with, or refused by name."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from exported import contents, copy_sample, files_below
from filelock import FileLock

from quadrag.data import builders
from quadrag.errors import QuadragError
from quadrag.hub.export.manifest import MANIFEST
from quadrag.hub.export.repository import Exported, export

Process = Callable[..., "subprocess.CompletedProcess[str]"]
Environment = Callable[..., dict[str, str]]


def test_what_stands_there_is_left_alone(tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []
    (first,) = export(tmp_path, ["rgb"], builders.SAMPLE, progress=lambda *now: told.append(now))
    assert told[:2] == [("rgb noise_robustness_en noise_0", 0), ("rgb noise_robustness_en noise_0", 12)]
    before = files_below(tmp_path)
    (second,) = export(tmp_path, ["rgb", "rgb"], builders.SAMPLE, progress=lambda *now: told.append(now))
    assert len(told) == 2 * 32
    assert second == first._replace(made=False)
    assert files_below(tmp_path) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rgb"], "nothing else is left"


def test_an_interrupted_export_goes_on(samples: dict[str, Exported], tmp_path: Path) -> None:
    class Stop(Exception):
        """The process ends here."""

    def stop(label: str, rows: int) -> None:
        if label == "crag task_1_2 validation" and rows:
            raise Stop

    with pytest.raises(Stop):
        export(tmp_path, ["crag"], builders.SAMPLE, progress=stop)
    assert not (tmp_path / "crag").exists()
    (aside,) = (path for path in tmp_path.iterdir() if path.is_dir())
    kept = {name: found for name, found in files_below(aside).items() if name.startswith("qa/")}
    assert len(kept) == 2
    (aside / "qa" / "public-00000-of-00001.parquet").write_bytes(b"PAR1")  # a power cut may leave so much
    kept = {name: found for name, found in kept.items() if "validation" in name}
    told: dict[str, int] = {}
    (done,) = export(tmp_path, ["crag"], builders.SAMPLE, progress=lambda label, rows: told.update({label: rows}))
    assert list(told) == [
        "crag qa public",
        *(f"crag {config} {split}" for config in ("task_1_2", "task_3") for split in ("validation", "public")),
    ]
    assert done.made
    assert kept.items() <= files_below(done.folder).items()
    assert contents(done.folder) == contents(samples["crag"].folder), "as if never interrupted"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["crag"]
    assert not list(tmp_path.rglob("*.part"))
    # What was begun on other inputs is begun anew.
    done.folder.rename(tmp_path / ".crag.part")
    folder = copy_sample("crag", tmp_path / "mine")
    told.clear()
    (done,) = export(
        tmp_path, ["crag"], folder, accept_licence=True, progress=lambda label, rows: told.update({label: rows})
    )
    assert len(told) == 6
    assert done.kind == "data"


def test_a_full_disk_is_said_with_the_place(forked_python: Process, environment: Environment, tmp_path: Path) -> None:
    # A limit on the size of files fails a write as a full disk does.
    code = """
import resource, sys
from quadrag.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (9000, resource.RLIM_INFINITY))
sys.exit(main(["export", sys.argv[1], "--benchmark", "crag", "--data-dir", "sample"]))
"""
    done = forked_python(code, str(tmp_path / "out"), env=environment())
    assert done.returncode == 2
    *_, said = done.stderr.splitlines()
    assert said.startswith(f"quadrag: {tmp_path / 'out'}")
    assert said.endswith(": File too large")


def test_what_another_wrote_is_refused_by_name(tmp_path: Path) -> None:
    folder = copy_sample("rgb", tmp_path / "mine")
    out = tmp_path / "out"
    export(out, ["rgb"], builders.SAMPLE)
    before = files_below(out)
    with pytest.raises(QuadragError, match=rf"^{out}/rgb holds an export of other data or another version; remove it"):
        export(out, ["omnieval", "rgb"], folder, accept_licence=True)
    shard = out / "rgb" / "negative_rejection_en" / "test-00000-of-00001.parquet"
    content = shard.read_bytes()
    shard.write_bytes(content[:-1])
    with pytest.raises(QuadragError, match=r"/rgb is damaged: expected negative_rejection_en/test-\S+ with \d+ bytes"):
        export(out, ["rgb"], builders.SAMPLE)
    shard.write_bytes(content[:50] + bytes([content[50] ^ 1]) + content[51:])
    with pytest.raises(
        QuadragError, match=r"/rgb is damaged: expected negative_rejection_en/test-\S+ as it was written"
    ):
        export(out, ["rgb"], builders.SAMPLE)
    shard.write_bytes(content)
    (out / "rgb" / "README.md").rename(out / "card")
    with pytest.raises(QuadragError, match=r"/rgb is damaged: expected README\.md; remove the folder and export again"):
        export(out, ["rgb"], builders.SAMPLE)
    (out / "card").rename(out / "rgb" / "README.md")
    assert files_below(out).keys() == before.keys(), "and nothing was written beside it"
    (out / "rgb" / MANIFEST).write_text("[]", encoding="utf-8")
    with pytest.raises(QuadragError, match=r"/rgb is there and is no export of quadrag; remove it or name another"):
        export(out, ["rgb"], builders.SAMPLE)
    (out / "crag").mkdir()
    assert export(out, ["crag"], builders.SAMPLE)[0].made, "an empty folder is nobody's"
    with (
        FileLock(tmp_path / ".omnieval.lock"),
        pytest.raises(QuadragError, match=r"another process is writing .*/omni"),
    ):
        export(tmp_path, ["omnieval"], builders.SAMPLE)
    (tmp_path / "file").touch()
    with pytest.raises(QuadragError, match=r"/file is a file; expected a folder"):
        export(tmp_path / "file", ["rgb"], builders.SAMPLE)
    with pytest.raises(QuadragError, match=r"^unknown benchmark 'rgbb'; nearest: rgb"):
        export(tmp_path / "new", ["crag", "rgbb"], builders.SAMPLE)
    assert not (tmp_path / "new").exists()
