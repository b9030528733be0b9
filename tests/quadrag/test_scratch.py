"""What is not whole yet stands aside, and goes with the next start once its process is dead."""

import pytest

from quadrag.records import scratch, sweep

LEAVE = """
import os, sys
from pathlib import Path
from quadrag.records import scratch
with scratch(Path(sys.argv[1])) as part:
    part.mkdir() if sys.argv[2] == "folder" else part.write_text("half")
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_process_left_goes_with_the_next(kind, tmp_path, forked_python, environment):
    place = tmp_path / "deep" / "it[1].bin"
    assert forked_python(LEAVE, place, kind, env=environment()).returncode != 0
    assert list(place.parent.iterdir())
    with scratch(place) as part:
        assert not part.exists()
        assert list(place.parent.iterdir()) == [part.parent]
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
            assert first.read_text() == "1" and second.is_dir()
    assert not list(tmp_path.iterdir())


def test_an_error_leaves_nothing(tmp_path):
    with pytest.raises(KeyError), scratch(tmp_path / "it") as part:
        part.mkdir()
        (part / "inside").write_text("x")
        raise KeyError
    assert not list(tmp_path.iterdir())
