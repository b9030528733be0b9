"""What is not whole yet stands aside, and goes with the next start once its process is dead."""

import os
import time
from pathlib import Path

import pytest

from quadrag.scratch import hold, is_held, scratch, sweep

LEAVE = """
import os, sys
from pathlib import Path
from quadrag.scratch import scratch
with scratch(Path(sys.argv[1])) as part:
    part.mkdir() if sys.argv[2] == "folder" else part.write_text("half")
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_process_left_goes_with_the_next(kind, tmp_path, forked_python, environment):
    place = tmp_path / "deep" / "it[1].bin"
    assert forked_python(LEAVE, place, kind, env=environment()).returncode != 0
    assert len(list(place.parent.iterdir())) == 2
    with scratch(place) as part:
        assert not part.exists()
        assert [path.suffix for path in place.parent.iterdir()] == [".lock"]
        part.write_text("whole")
        part.replace(place)
    assert list(place.parent.iterdir()) == [place] and place.read_text() == "whole"


def test_what_is_in_use_stays(tmp_path):
    place = tmp_path / "it"
    with scratch(place) as first:
        first.write_text("1")
        with scratch(place) as second:
            second.mkdir()
            sweep(place)
            assert first.read_text() == "1" and second.is_dir() and is_held(first.with_suffix(".lock"))
    assert not list(tmp_path.iterdir())


def test_an_error_leaves_nothing(tmp_path):
    with pytest.raises(KeyError), scratch(tmp_path / "it") as part:
        part.mkdir()
        (part / "inside").write_text("x")
        raise KeyError
    assert not list(tmp_path.iterdir())


def test_what_has_no_lock_goes_once_it_is_old(tmp_path):
    place = tmp_path / "it"
    names = (".it.new.part", ".it.old.part", ".it.old.lock", ".it.held.lock", ".item.old.part", "it.old.part")
    for name in names:
        (tmp_path / name).write_text("")
        if "new" not in name:
            os.utime(tmp_path / name, (time.time() - 7200,) * 2)
    (tmp_path / ".it.old.lock").rename(tmp_path / ".it.alone.lock")
    with hold(tmp_path / ".it.held.lock"):
        os.utime(tmp_path / ".it.held.lock", (time.time() - 7200,) * 2)
        sweep(place)
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted({names[0], *names[3:]})


def test_nobody_waits_for_a_lock_of_the_dead(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    assert not lock.exists()
    with hold(lock):
        assert is_held(lock)
    assert not lock.exists()
