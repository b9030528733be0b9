"""Lines of several runs that are told once."""

from quadrag.baselines.core.result import Result
from quadrag.baselines.tables.failed import note_invalid
from quadrag.baselines.tables.folded import fold_lines, fold_names, fold_notes
from quadrag.baselines.tables.grid import Alarm, Detail
from quadrag.baselines.tables.names import join_runs, name_apart
from quadrag.baselines.tables.notes import note_judged, note_ruled
from quadrag.baselines.tables.replicas import PROMPTS, note_recipes
from quadrag.run_record import Inputs, RunRecord


def test_runs_of_many_models_are_named_by_what_they_share():
    def make(model: str, config: str, split: str = "test") -> Result:
        config = f"noise_robustness_{config}"
        inputs = Inputs(quadrag="0", benchmark="rgb", config=config, splits=[split], retriever="own", llm=model)
        return Result(RunRecord(inputs, row={"recipe": f"rgb-table1-{model}"}), [], [])

    results = [make(model, config) for config in ("en", "zh") for model in ("o/a", "o/b", "c", "d")]
    names = name_apart(results)
    assert names[0] == "a noise_robustness_en" and len({*names}) == 8
    assert join_runs(names, results) == "all 8 runs"
    assert join_runs(names[:4], results) == "noise_robustness_en of every model"
    assert join_runs([names[0], names[1], names[4], names[6]], results) == (
        "a, b (noise_robustness_en), c (noise_robustness_zh)"
    )
    assert join_runs(names[:2], results) == "a noise_robustness_en, b noise_robustness_en"
    alike = [make(model, config) for config in ("en", "zh") for model in ("o/a", "p/a")]
    assert name_apart(alike)[0] == "o/a noise_robustness_en", "two models of one name"
    logs = [make(model, "en", split) for model in "ab" for split in ("noise_0", "noise_20")]
    assert name_apart([*logs, make("b", "zh", "noise_0")])[1] == "a noise_robustness_en noise_20"
    again = name_apart([logs[0], *logs])
    assert again[0] == "a noise_robustness_en", "folders have the model's name before them"
    runs = [one.run for one in results]
    told = [[note for note in note_recipes(some) if not isinstance(note, Detail)] for some in (runs[:3], runs)]
    assert len(told[0]) == 3 and told[1] == [PROMPTS], "of many recipes whose the prompts are is said once"


def test_lines_alike_but_for_their_numbers_are_one_with_the_least_and_the_greatest():
    told = [("A", "9 of 40 answers are 'no 1'."), ("B", "Nothing."), ("C", "11 of 40 answers are 'no 1'.")]
    told += [("D", "9 of 40 answers are 'no 2'."), ("D", "1.5 times."), ("A", "12.0 times.")]
    assert fold_lines(told, numbers=True) == {
        "9–11 of 40 answers are 'no 1'.": ["A", "C"],
        "Nothing.": ["B"],
        "9 of 40 answers are 'no 2'.": ["D"],
        "1.5–12.0 times.": ["D", "A"],
    }


def test_of_few_runs_each_keeps_its_numbers():
    told = [("A", "9 of 40."), ("B", "11 of 40."), ("C", "9 of 40.")]
    assert fold_lines(told, numbers=False) == {"9 of 40.": ["A", "C"], "11 of 40.": ["B"]}


def make_failed(model, failed, cause="calls failed"):
    """A run of whose splits so many of so many items failed."""
    config = "noise_robustness_en"
    run = RunRecord(Inputs(quadrag="0", benchmark="rgb", config=config, splits=[*failed], retriever="given", llm=model))
    run.invalid = [f"{config} {split}: {count} items failed: accuracy; {cause}" for split, count in failed.items()]
    return Result(run, [], [])


def test_what_failed_is_told_once_with_its_places_and_neither_totals_nor_errors_become_a_range():
    counts = {"noise_0": "4 of 12", "noise_20": "5 of 12", "noise_40": "4 of 12"}
    assert note_invalid([make_failed("a", counts)]) == [
        "INVALID, all 3 splits: 4–5 of 12 items failed: accuracy; calls failed."
    ]
    assert note_invalid([make_failed("a", counts | {"noise_40": "90 of 300"})]) == [
        "INVALID, noise_0, noise_20: 4–5 of 12 items failed: accuracy; calls failed.",
        "INVALID, noise_40: 90 of 300 items failed: accuracy; calls failed.",
    ]
    one = {"noise_0": "4 of 12"}
    assert note_invalid([make_failed("a", one, "HTTP 429"), make_failed("b", one, "HTTP 503")]) == [
        "INVALID, a: 4 of 12 items failed: accuracy; HTTP 429.",
        "INVALID, b: 4 of 12 items failed: accuracy; HTTP 503.",
    ]


def test_counts_that_are_ranges_make_one():
    told = [("a", "3–7 of 12 items failed"), ("b", "4–5 of 12 items failed"), ("c", "9 of 12 items failed")]
    assert fold_lines(told, numbers=True) == {"3–9 of 12 items failed": ["a", "b", "c"]}
    values = [("a", "0.0–24.2"), ("b", "0.0–25.9")]
    assert fold_lines(values, numbers=True) == {"0.0–24.2–25.9": ["a", "b"]}, "no two decimals are one count"


def test_a_few_splits_are_named_and_many_invalid_ones_counted():
    runs = [make_failed(name, {f"noise_{at}": f"{at} of 12" for at in (3, 5)}, name) for name in ("a", "b", "d")]
    for run in runs:
        run.run.invalid = [
            line.replace("items failed:", "items failed (1 api_error), more:") for line in run.run.invalid
        ]
    first, *notes = note_invalid([*runs, make_failed("c", {})])
    told = "3–5 of 12 items failed (api_error), more than --max-failed 0.2; each: --verbose."
    assert first == f"INVALID, a, b, d: {told}" and isinstance(first, Alarm)
    assert [type(note) for note in notes] == [Detail] * 3


def test_names_that_begin_alike_are_one_where_none_is_left_out():
    names = [f"noise_{language} noise_{ratio}" for language in ("en", "zh") for ratio in (0, 20)]
    names += ["rejection_en", "rejection_zh", "facts_en", "facts_zh"]
    assert fold_names(names[2:4], names) == "noise_zh (2)", "a config with all its splits"
    assert fold_names(names[1:4], names) == "noise_en noise_20, noise_zh (2)"
    assert fold_names(["a x", "a y", "b y"], ["a x", "a y", "a z", "b y", "b z"]) == "a x, y, b y"
    assert fold_names(names[:6], names) == "all but facts_* (2)"
    assert fold_names(names[:4], names) == "noise_* (4)"
    assert fold_names(["qa"], ["qa", "counterfactual_en"]) == "qa"
    assert [fold_names(some, some) for some in (["qa", "task_3"], names)] == ["qa, task_3", "all tasks"]


def test_values_are_told_of_each_task_and_so_are_few_tasks_counts_of_different_totals():
    values = {"a": 2.0, "b": 3.5}
    told = [(task, f"By the other: accuracy 1.5, missing {value}. See all.") for task, value in values.items()]
    assert fold_notes(told, numbers=True) == [
        ("By the other: accuracy 1.5, a: missing 2.0; b: missing 3.5. See all.", [])
    ]
    counts = {"a": 1, "b": 3, "c": 1, "d": 4}
    told = [(task, f"{n} of {n} failed ({n} cut, 0 null), more than 0.2: x.") for task, n in counts.items()]
    assert fold_notes(told[:3], numbers=True) == [
        ("a, c: 1 of 1 failed (1 cut, 0 null); b: 3 of 3 failed (3 cut, 0 null), more than 0.2: x.", [])
    ]
    assert fold_notes(told, numbers=True) == [
        ("all of their 1–4 failed (1–4 cut, 0 null), more than 0.2: x.", [*"abcd"])
    ]


def test_what_is_part_of_a_name_or_a_path_is_no_number():
    told = [("A", "1 of 2: bleu_1."), ("B", "2 of 2: bleu_2."), ("C", "1 of 2: bleu_2.")]
    assert fold_lines(told, numbers=True) == {"1 of 2: bleu_1.": ["A"], "1–2 of 2: bleu_2.": ["B", "C"]}


def test_counts_of_a_judge_are_one_line_with_the_rows_that_they_are_of():
    def row(of, profile, scored, ruled, key="accuracy"):
        named = {"config": "task_1_2", "split": "public", "of": of, "metric": "truthfulness", "key": key}
        return {**named, "profile": profile, "n_total": 15, "n_scored": scored, "n_ruled": ruled}

    rows = [row("LLM only", "official", 15, 11), row("LLM only", "corrected", 15, 14), row("Task 1", "official", 13, 0)]
    told = "Judged + decided by rule, accuracy: LLM only (4 + 11 of 15, corrected 1 + 14); Task 1 (13 + 0 of 15)."
    assert note_judged(rows) == [told]
    assert note_ruled(rows)[0] == told
    rows += [row(of, "official", 15, 11, "hallucination") for of in ("LLM only", "Task 1")]
    assert note_judged(rows) == [told, "4 of 15 judged, 11 decided by rule: hallucination."]
