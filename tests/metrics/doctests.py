"""Run the examples of metric modules by their bare names; started by test_common in a process of its own.

`evaluate` falls back to HF_MODULES_CACHE/evaluate_modules/metrics/evaluate-metric--NAME/<64 hex>/NAME.py
when the Hub has no such name or cannot be reached. The folders named on the command line are put there.
"""

import doctest
import importlib
import os
import shutil
import sys
from pathlib import Path

import evaluate


def main(folders: list[str]) -> int:
    failed = attempted = 0
    for folder in map(Path, folders):
        modules = Path(os.environ["HF_MODULES_CACHE"]) / "evaluate_modules" / "metrics"
        target = modules / f"evaluate-metric--{folder.name}" / ("0" * 64)
        shutil.copytree(folder, target, ignore=shutil.ignore_patterns("__pycache__"))
        metric = evaluate.load(folder.name)
        module = importlib.import_module(type(metric).__module__)
        assert Path(str(module.__file__)).parent == target, module.__file__
        for result in (
            doctest.testmod(module),
            doctest.testfile(str(folder / "README.md"), module_relative=False, encoding="utf-8"),
        ):
            assert result.attempted, f"{folder.name} has no examples"
            failed, attempted = failed + result.failed, attempted + result.attempted
    print(f"{attempted} examples")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
