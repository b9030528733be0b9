"""Lines of several runs that are told once."""

from quadrag.baselines.tables.folded import fold_lines, fold_names


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


def test_names_that_begin_alike_are_one_where_none_is_left_out():
    names = [f"noise_{language} noise_{ratio}" for language in ("en", "zh") for ratio in (0, 20)]
    names += ["rejection_en", "rejection_zh", "facts_en", "facts_zh"]
    assert fold_names(names[2:4], names) == "noise_zh (2)", "a config with all its splits"
    assert fold_names(names[1:4], names) == "noise_en noise_20, noise_zh (2)"
    assert fold_names(["a x", "a y", "b y"], ["a x", "a y", "a z", "b y", "b z"]) == "a x, y, b y"
    assert fold_names(names[:6], names) == "all but facts_* (2)"
    assert fold_names(names[:4], names) == "noise_* (4)"
    assert fold_names(["qa"], ["qa", "counterfactual_en"]) == "qa"
