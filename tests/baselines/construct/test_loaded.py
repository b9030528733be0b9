"""A dataset of one's own, prepared and exported: under each version of `datasets` its rows are those made."""

import json
import os
import sys
from pathlib import Path

import pytest

from quadrag import catalogue
from quadrag.data.builders import open_builder, rows
from quadrag.hub.export import split_card

WRITE = """
import sys
from quadrag import cli
recipe, own, there = sys.argv[1:]
given = ["--benchmark", recipe, "--data-dir", own]
for line in (["prepare", recipe, "--data-dir", own], ["export", there, *given]):
    assert cli.main(line) == 0, line
"""
LOAD = """
import json, sys
from datasets import disable_progress_bars, load_dataset
disable_progress_bars()
routes, splits = map(json.loads, sys.argv[1:])
for split in splits:
    config, _, name = split.partition("/")
    print(json.dumps([list(load_dataset(route, config, split=name)) for route in routes]))
"""


OTHER = os.environ.get("QUADRAG_OTHER_PYTHON")


@pytest.mark.slow
@pytest.mark.parametrize(
    "recipe", catalogue.names() if OTHER else ["rgb"]
)  # of one recipe where there is one version alone
@pytest.mark.timeout(300)
def test_its_rows_come_by_every_route_under_each_version(
    recipe,
    made,
    forked_python,
    environment,
    tmp_path,
):
    own, there = made(recipe), tmp_path / "there"
    done = forked_python(WRITE, recipe, str(own), str(there), env=environment())
    assert done.returncode == 0, done.stderr
    splits = list(json.loads((own / "construct.json").read_text(encoding="utf-8"))["splits"])
    expected = []
    for split in splits:
        config, _, name = split.partition("/")
        builder, _ = open_builder(recipe, config, str(own), None, name)
        expected.append(list(rows(builder, name)))
    assert all(expected)
    # What a version makes of a folder named as the benchmark it would find again by the name: by name first.
    for routes in ([recipe], [str(there / recipe)]):
        for executable in [sys.executable, *([OTHER] if OTHER else [])]:
            home = None if routes == [recipe] else tmp_path / f"home of {Path(executable).parent.parent.name}"
            asked = (json.dumps(routes), json.dumps(splits))
            loaded = forked_python(LOAD, *asked, env=environment(home), executable=executable)
            assert loaded.returncode == 0, loaded.stderr
            for split, line, right in zip(splits, loaded.stdout.splitlines(), expected, strict=True):
                assert all(found == right for found in json.loads(line)), split
    header, text = split_card((there / recipe / "README.md").read_text(encoding="utf-8"))
    language = "en" if recipe == "crag" else "zh"
    assert (header["license"], header["license_name"], header["language"]) == ("other", "CC BY 4.0", [language])
    assert f"By `quadrag construct {recipe}`" in text and "Licence of the documents: CC BY 4.0." in text
