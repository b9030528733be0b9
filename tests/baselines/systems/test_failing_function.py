"""A function of which nothing comes but failures is asked no further, batched or not."""

import pytest

import quadrag
from quadrag.errors import QuadragError


@pytest.mark.parametrize(("batch_size", "calls"), [(None, 8), (4, 2), (16, 1)])
def test_it_is_called_for_the_first_questions_alone(batch_size, calls, tmp_path):
    asked = []

    def broken(question):
        asked.append(question)
        raise ConnectionError("down")

    options = {"split": "noise_0", "data_dir": "sample", "batch_size": batch_size, "out": tmp_path / "r"}
    with pytest.raises(QuadragError, match="down"):
        quadrag.evaluate("rgb", "noise_robustness_en", broken, **options)
    assert len(asked) == calls
