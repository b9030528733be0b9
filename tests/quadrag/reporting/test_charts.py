"""Charts: what stands in them, where, that it can be read on light and dark pages, and that data stay text."""

import re
from xml.etree import ElementTree

import pytest

from quadrag.reporting.charts import cut_text, draw_table
from quadrag.reporting.page.page import HERE, render_page
from quadrag.reporting.table import Cell, Figure, Row, Table

EVIL = "<b onclick='x'>\"&amp;</b>{{1}}\x01\ud83d\u202e"


def cell(value, half=4.0, n=12, sure=False):
    return Cell(f"{value}", f"{value - half} to {value + half}", Figure(value, (value - half, value + half), n, sure))


def printed(value):
    return Cell(f"{value}", figure=Figure(value))


def heading(label):
    return Row(label, [Cell(""), Cell("")], rule=True)


def make(form, name="", columns=("noise_0", "noise_80")):
    """A grid of two columns whose texts all hold `name`; of every form."""
    lines = [Row(f"ours {name}", [cell(50.0), cell(30.5)]), Row(f"other {name}", [cell(61.0), cell(20.0)])]
    if form == "heat":
        lines = [heading(f"field {name}"), Row(f" topic {name}", [cell(-9.0), cell(90.0)])]
        lines.append(Row(f"all {name}", [cell(0.0), cell(50.0)], rule=True))
    elif form == "forest":
        lines = [heading(f"task {name}"), Row(" a", [Cell("1"), cell(3.0, 1.0, sure=True)])]
        lines.append(Row(" b", [Cell("1"), cell(-2.0, 5.0)]))
    else:
        lines.append(Row(f"paper {name}", [printed(70.0), printed(10.0)], "published"))
    return Table(f"Title {name}", "", [f"{name}{column}" for column in columns], lines, [], form)


def draw(form, *names, **options):
    """What is drawn of a form: the images, by title."""
    return [(title, ElementTree.fromstring(drawn)) for title, drawn in draw_table(make(form, *names, **options))]


def texts(image):
    return [element.text for element in image.iter("text")]


FORMS = ("points", "curves", "heat", "forest")


@pytest.mark.parametrize("form", FORMS)
def test_no_text_of_data_is_markup_and_nothing_is_named_or_fetched(form):
    clean = EVIL.translate(dict.fromkeys(map(ord, "\x01\ud83d\u202e"), " "))
    images = draw(form, EVIL)
    found = [element for _, image in images for element in image.iter()]
    assert {element.tag for element in found} <= {"svg", "rect", "path", "line", "text"}
    names = {name for element in found for name in element.attrib}
    assert names.isdisjoint({"id", "style", "href", "clip-path", "onclick"}), "other charts of a page have the same"
    if form != "curves":  # whose texts are cut to their room, or are the columns'
        whole = "".join(text for _, image in images for text in texts(image) if text)
        assert clean[:6] in whole or any(clean[:6] in title for title, _ in images)


@pytest.mark.parametrize("form", FORMS)
def test_each_chart_is_an_image_with_a_name_and_its_table(form):
    for _, image in draw(form):
        assert image.attrib["role"] == "img" and image.attrib["aria-label"].startswith("Title ")
    page = render_page("t", [make(form)])
    assert page.index("<figure") < page.index('<details class="table"') < page.index("<table")


def test_a_table_of_no_form_or_without_values_has_no_chart():
    assert draw_table(make("")) == []
    empty = Table("t", "", ["a"], [Row("x", [Cell("–")])], [], "points")
    assert draw_table(empty) == []
    assert "<figure" not in render_page("t", [empty])


def marks(image, colour):
    found = []
    for element in image.iter("path"):
        if colour in (element.attrib.get("fill"), element.attrib.get("stroke")) and "transform" in element.attrib:
            found.append(tuple(map(float, re.findall(r"-?[\d.]+", element.attrib["transform"])[:2])))
    return found


def test_rows_have_their_sign_at_the_value_and_published_ones_another():
    [(_, image), _] = draw("points")
    (first, second), [paper] = marks(image, "var(--s1)"), marks(image, "var(--faint)")
    assert first[0] < second[0] < paper[0] and first[1] < second[1] < paper[1], "50, 61 and 70, from above"
    assert (second[0] - first[0]) / (paper[0] - first[0]) == pytest.approx(11 / 20, abs=0.01)
    assert {"ours", "other", "paper", "50.0", "61.0", "70.0"} <= set(texts(image))
    spans = [
        float(line.attrib["x2"]) - float(line.attrib["x1"])
        for line in image.iter("line")
        if line.attrib.get("stroke") == "var(--s1)"
    ]
    assert spans == pytest.approx([(paper[0] - first[0]) * 8 / 20] * 2, abs=0.2), "an interval of ±4"


def test_curves_stand_over_the_numbers_of_their_columns_and_have_their_names():
    [(_, image)] = draw("curves")
    assert {"0", "80", "noise", "ours", "other", "paper"} <= set(texts(image))
    assert len(marks(image, "var(--s1)")) == len(marks(image, "var(--s2)")) == 2
    assert len(draw("curves", columns=("auto", "human"))[0]) == 2, "splits that are no numbers are panels"


def test_a_matrix_has_value_and_count_in_every_cell():
    [(_, image)] = draw("heat")
    assert [text for text in texts(image) if text.startswith("n ")] == ["n 12"] * 4
    assert {"field", "topic", "all", "-9.0", "90.0"} <= {text.strip() for text in texts(image)}


def test_a_difference_that_is_more_than_chance_has_a_filled_sign():
    [(_, image)] = draw("forest")
    fills = [path.attrib["fill"] for path in image.iter("path") if "transform" in path.attrib]
    assert fills == ["var(--s1)", "var(--paper)"]
    assert {"task", "a", "b", "3.0 (2.0 to 4.0)"} <= {*texts(image)}


def test_a_text_is_cut_to_its_room_by_the_width_of_its_characters():
    assert cut_text("abc", 100) == ("abc", 20)
    assert cut_text("中文标签", 100) == ("中文标签", 48)
    assert cut_text("中文标签", 40)[0] == "中文…"


def theme(name):
    style = (HERE / "page.css").read_text(encoding="utf-8")
    pairs = re.findall(r"--(\w+): light-dark\((#\w{6}), (#\w{6})\)", style)
    return {of: (light, dark)[name == "dark"] for of, light, dark in pairs}


def contrast(first, second):
    """The contrast of two colours as WCAG 2 defines it, 1 to 21."""

    def luminance(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted(map(luminance, (first, second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", ["light", "dark"])
@pytest.mark.parametrize("form", FORMS)
def test_texts_and_marks_of_a_chart_can_be_read(form, name):
    known = theme(name)
    paper = known["paper"]

    def resolve(colour):
        return known[colour[6:-1]] if colour.startswith("var(") else colour

    judged = 0
    for _, image in draw(form):
        tiles = []
        for element in image.iter():
            place = element.attrib
            fill, line = (place.get(kind, "none") for kind in ("fill", "stroke"))
            if element.tag == "rect":  # a cell; its text is what has to be read
                x, y, width, height = (float(place[side]) for side in ("x", "y", "width", "height"))
                tiles.append((x, y, x + width, y + height, resolve(fill)))
            elif element.tag == "text" and element.text:
                x, y = float(place["x"]), float(place["y"])
                ground = [tile[4] for tile in tiles if tile[0] < x < tile[2] and tile[1] < y < tile[3]]
                assert contrast(resolve(fill), (ground or [paper])[-1]) >= 4.5, (element.text, fill, ground)
                judged += 1
            elif element.tag in ("path", "line") and line != "var(--rule)" and (fill, line) != ("none", "none"):
                assert max(contrast(resolve(one), paper) for one in (fill, line) if one != "none") >= 3, place
                judged += 1
    assert judged > 5


def test_every_colour_of_a_matrix_can_be_read():
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01), "as WCAG has it"
    lines = [Row(" topic", [cell(float(value)) for value in range(40)])]
    image = ElementTree.fromstring(draw_table(Table("t", "", ["c"] * 40, lines, [], "heat"))[0][1])
    fills = [place.attrib["fill"] for place in image.iter("rect")]
    inks = [text.attrib["fill"] for text in image.iter("text") if text.attrib.get("font-size") == "10"]
    assert len({*fills}) == 10 and min(map(contrast, fills, inks)) >= 4.5
