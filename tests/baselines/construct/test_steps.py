"""Steps: what they keep and let go, how works are driven side by side, and what a budget leaves."""

from __future__ import annotations

import json
from typing import Any

import pytest

from quadrag.baselines.construct.steps import BUDGET, WAVE, Ask, Drop, Each, Maker, Whole, run_steps
from quadrag.chat.prices import BudgetReached
from quadrag.chat.reply import NOT_ASKED, Failure, Reply


class Model:
    """A completer that says its own question again; from the `most`-th call on a budget stops it."""

    model = "m"

    def __init__(self, most: int = 10**9) -> None:
        self.batches: list[int] = []
        self.most = most

    def complete(self, batch: list[Any], *, samples: list[int]) -> list[Reply | Failure]:
        self.batches.append(len(batch))
        found: list[Reply | Failure] = []
        for chat, sample in zip(batch, samples, strict=True):
            if self.most <= 0:
                found.append(Failure("api_error", f"{NOT_ASKED}: the budget is reached"))
                continue
            self.most -= 1
            text = f"{chat[-1]['content']}/{sample}"
            found.append(
                Failure("truncated", "cut") if "cut" in text else Reply(text, "stop", None, None, False, 0.0, None)
            )
        if self.most <= 0:
            raise BudgetReached("the budget is reached", found)
        return found


def rows(*names: str) -> list[dict[str, Any]]:
    return [{"id": name} for name in names]


def say(row: dict[str, Any], times: int = 1) -> Any:
    said = []
    for sample in range(times):
        said.append((yield Ask([{"role": "user", "content": row["id"]}], sample)))
    return [{**row, "said": said}]


def test_works_are_asked_side_by_side_and_each_gets_its_own_replies(tmp_path: Any) -> None:
    model = Model()
    kept, stages = run_steps(
        [Each("say", lambda row: say(row, len(row["id"])))], rows("a", "bb", "ccc"), Maker(model), tmp_path
    )
    assert [row["said"] for row in kept] == [["a/0"], ["bb/0", "bb/1"], ["ccc/0", "ccc/1", "ccc/2"]]
    assert model.batches == [3, 2, 1]
    assert (stages[0].rows, stages[0].kept, stages[0].dropped) == (3, 3, {})


def test_every_step_writes_what_it_kept_and_let_go(tmp_path: Any) -> None:
    def odd(row: dict[str, Any]) -> list[dict[str, Any]]:
        if row["id"] == "b":
            raise Drop("is b")
        return [row, {"id": row["id"], "dropped": "a second one"}]

    def first(found: list[dict[str, Any]]) -> Any:
        return found[:1], [(row, "not the first") for row in found[1:]]

    kept, stages = run_steps([Each("odd", odd), Whole("first", first)], rows("a", "b", "c"), Maker(), tmp_path, first=4)
    assert kept == rows("a")
    assert [stage.as_row() for stage in stages] == [
        {"step": "odd", "rows": 3, "kept": 2, "dropped": {"a second one": 2, "is b": 1}},
        {"step": "first", "rows": 2, "kept": 1, "dropped": {"not the first": 1}},
    ]
    lines = [json.loads(line) for line in (tmp_path / "04-odd.jsonl").read_text().splitlines()]
    assert lines[:2] == rows("a", "c")
    assert sorted(line["dropped"] for line in lines[2:]) == ["a second one", "a second one", "is b"]
    assert (tmp_path / "05-first.jsonl").is_file()


def test_a_failed_call_lets_its_row_go_or_is_caught_by_the_step(tmp_path: Any) -> None:
    def catch(row: dict[str, Any]) -> Any:
        try:
            yield from say(row)
        except Drop as why:
            return [{**row, "why": str(why)}]
        return [row]

    steps = [Each("catch", catch), Each("say", say)]
    kept, stages = run_steps(steps, rows("a", "cut"), Maker(Model()), tmp_path)
    assert kept == [{"id": "a", "said": ["a/0"]}]
    assert stages[0].kept == 2
    assert stages[1].dropped == {"reply cut by length": 1}


def test_a_budget_ends_the_asking_and_keeps_what_went_through_every_step(tmp_path: Any) -> None:
    model = Model(most=2 * WAVE + 7)
    maker = Maker(model)
    steps = [Each("one", say), Each("two", say)]
    kept, stages = run_steps(steps, rows(*(str(n) for n in range(3 * WAVE))), maker, tmp_path)
    assert len(kept) == WAVE
    assert all(len(row["said"]) == 1 for row in kept)
    assert maker.stopped == "the budget is reached"
    assert stages[0].dropped == {BUDGET: 3 * WAVE - WAVE - 7}
    assert stages[1].dropped == {BUDGET: 7}


def test_a_step_that_asks_where_there_is_no_model_is_an_error_of_ours(tmp_path: Any) -> None:
    with pytest.raises(TypeError, match="there is none"):
        run_steps([Each("say", say)], rows("a"), Maker(), tmp_path)
