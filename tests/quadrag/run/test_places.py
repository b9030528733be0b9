"""A run is the same to the byte wherever its work is done, and no worker pays for a reply twice."""

import json

import pytest

RUN = ("run", "crud_rag", "summary", "--data-dir", "sample", "--samples", "6", "--seed", "7")


def asked(server, folder, name, place, *more):
    place = ("--ledger", folder / f"{name}.sqlite", "--out", folder / name, "--on", place)
    return [*RUN, "--llm", f"{server.url}#m", *place, *more]


@pytest.mark.slow
def test_two_processes_make_the_files_of_one(quadrag, environment, tmp_path, stages, server):
    for name, place in (("one", "1"), ("two", "2")):
        ran = quadrag(*asked(server, tmp_path, name, place), env=environment(tmp_path / f"home-{name}"))
        assert ran.returncode == 0, ran.stderr
    assert stages(tmp_path / "two") == stages(tmp_path / "one")
    bodies = [json.dumps(body, sort_keys=True) for body in server.bodies]
    assert len(bodies) == 2 * len(set(bodies)), "each call once in each run"
    one, two = (json.loads((tmp_path / name / "run.json").read_text())["usage"]["llm"] for name in ("one", "two"))
    assert one["calls"] > 0
    assert one == two
