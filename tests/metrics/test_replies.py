"""A judge's replies as metrics read them."""

import pytest


@pytest.mark.parametrize("module", ["rejection_rate", "error_detection"])
def test_a_judge_that_repeats_its_instructions_has_given_no_verdict(module, load_metric):
    asked = {"predictions": ["an answer"] * 2, "questions": ["who?"] * 2, "language": "en"}
    asked |= {"references": [[["gold"]]] * 2}

    def parrot(batch):
        return [f"Yes. {chat[-1]['content']}" for chat in batch]

    key = {"rejection_rate": "rejection_rate_judged", "error_detection": "error_detection_judged"}[module]
    found = {p: load_metric(module).compute(**asked, judge=parrot, profile=p) for p in ("official", "corrected")}
    assert [row["reasons"].get(key) for row in found["corrected"]["per_item"]] == ["unparsable"] * 2
    assert [row["reasons"].get(key) for row in found["official"]["per_item"]] != ["unparsable"] * 2
