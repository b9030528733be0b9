"""A file that the script itself downloads is held against its size and sha256, and removed where it differs."""

import hashlib

import pytest

from quadrag import catalogue


def test_what_was_downloaded_is_verified(tmp_path, monkeypatch):
    script = catalogue.load_script(catalogue.benchmarks()["crag"])
    content = b"a part of a benchmark"
    name = next(iter(script._FILES))
    monkeypatch.setitem(script._FILES, name, (len(content), hashlib.sha256(content).hexdigest(), ""))
    for held, good in ((content, True), (content[:-1], False), (content[:-1] + b"?", False)):
        path = tmp_path / "file"
        path.write_bytes(held)
        if good:
            script._verify(path, name)
        else:
            with pytest.raises(ValueError, match="expected"):
                script._verify(path, name)
        assert path.exists() == good
