"""A bar has the place of each of its numbers, and no bar stands for what is no number of its scale."""

import re

from quadrag.baselines.charts.bar import draw_bars
from quadrag.baselines.tables.grid import Cell, Figure, Grid, Line


def bars(form, *cells):
    return draw_bars(Grid("", "", [], [Line("", list(line)) for line in cells], [], form))


def figure(*given):
    return Cell("", figure=Figure(*given))


def test_a_share_its_interval_and_the_published_value_stand_at_their_places():
    drawn, plain, none = bars("", [figure(40.0, (25.0, 60.0)), Cell(""), figure(75.0)], [figure(0.0)], [Cell("–")])
    assert '<rect x="0.0%" y="3" width="40.0%"' in drawn
    assert re.findall('<line x1="(.*?)%" y1=".*?" x2="(.*?)%"', drawn) == [("25.0", "60.0"), ("75.0", "75.0")]
    assert "<line" not in plain and none == ""
    assert "style=" not in drawn, "a page's policy forbids it"


def test_runs_are_dots_on_one_scale_which_begins_below_0_where_a_value_does():
    first, second = bars("runs", [figure(50.0, (40.0, 60.0))], [figure(20.0)])
    assert 'cx="50.0%"' in first and 'x1="40.0%"' in first and 'cx="20.0%"' in second
    first, second = bars("runs", [figure(50.0)], [figure(0.0, (-20.0, 20.0))])
    assert 'cx="75.0%"' in first and 'cx="50.0%"' in second and 'x1="40.0%" y1="6" x2="60.0%"' in second


def test_differences_of_one_unit_have_one_scale_with_0_in_its_middle():
    up, down, longer = bars(
        "forest",
        [figure(10.0, (-20.0, 40.0), 9, False, "points")],
        [figure(-20.0, (-30.0, -10.0), 9, True, "points")],
        [figure(300.0, (200.0, 400.0), 9, True, "characters")],
    )
    assert '<rect x="50.0%" y="3" width="12.5%"' in up and 'x1="25.0%" y1="6" x2="100.0%"' in up
    assert '<rect x="25.0%" y="3" width="25.0%"' in down
    assert '<rect x="50.0%" y="3" width="37.5%"' in longer
    assert bars("forest", [figure(0.0)]) == [""], "nothing to draw"
