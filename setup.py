"""Refuses to build from a checkout that lacks links to shared files; all else that a build needs stands in setup.cfg.

git on Windows, and some archives of a checkout, hold a link as a small file with its target's name.
"""

import sys
from pathlib import Path

from setuptools import setup

for path in sorted([*Path("metrics").glob("*/*.py"), *Path("datasets_scripts").glob("*/*.py")]):
    if path.read_bytes().startswith(b"../_shared/"):
        sys.exit(
            f"{path.as_posix()} is a link in git and a text file here; run `git config core.symlinks true` and"
            " `git checkout -- metrics datasets_scripts`, or build from the source distribution"
        )
setup()
