"""Where the files lie that bring the benchmarks into evaluation harnesses, each of which is optional."""

from pathlib import Path

from quadrag.errors import unknown_name


def known() -> dict[str, Path]:
    """Map each harness's name, as ``lm-eval``, to the folder of its files."""
    folders = (path for path in sorted(Path(__file__).parent.iterdir()) if path.is_dir())
    return {path.name.replace("_", "-"): path for path in folders if not path.name.startswith("_")}


def path(name: str) -> Path:
    """Return the folder of a harness's files, for `lm_eval --include_path`, say."""
    found = known()
    if name not in found:
        raise unknown_name("harness", name, found)
    return found[name]
