"""Every value as it was: each subject of `make.py` made again and compared with what is kept in ``data/``."""

import json

import pytest
from make import SUBJECTS, available, read


def differences(old, new, tolerance, place=""):
    """Yield where two values differ: numbers by more than the tolerance, all else at all."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            if name in old and name in new:
                yield from differences(old[name], new[name], tolerance, f"{place}/{name}")
            else:
                yield f"{place}/{name}: {'gone' if name in old else 'new'}"
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, pair in enumerate(zip(old, new, strict=True)):
            yield from differences(*pair, tolerance, f"{place}/{number}")
    elif isinstance(old, float) and isinstance(new, int | float):
        if not abs(old - new) <= tolerance * max(1, abs(old)):
            yield f"{place}: {old!r} became {new!r}"
    elif old != new:
        yield f"{place}: {str(old)[:200]} became {str(new)[:200]}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("subject", SUBJECTS)
def test_equal(subject):
    if not available(subject):
        pytest.skip("needs the packages of an extra")
    made = json.loads(json.dumps(SUBJECTS[subject]()))
    changed = list(differences(read(subject), made, 1e-5 if subject == "dense" else 1e-9))
    assert not changed, f"{len(changed)} values, the first: {changed[:5]}"
