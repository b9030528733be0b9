"""What the tests of `quadrag certify-judge` share: sheets that are written, and the command run on them."""

from __future__ import annotations

import pytest
from graded_sheets import LABELS, VERDICTS


@pytest.fixture
def sheets(cli, tmp_path):
    """A function that writes the sheets, with changes, and runs the command on them."""

    def run(*options, labels=LABELS, verdicts=VERDICTS):
        (tmp_path / "labels.csv").write_text(labels, encoding="utf-8")
        (tmp_path / "verdicts.csv").write_text(verdicts, encoding="utf-8")
        return cli("certify-judge", "labels.csv", *(options or ("--verdicts", "verdicts.csv")))

    return run
