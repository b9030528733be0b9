"""`python tests/soak`: the soak with caches of its own and no network but this machine's own servers."""

import os
import shutil
import sys
import tempfile
from pathlib import Path


def _soak(root: Path) -> int:
    # Before anything reads it.
    for name in [name for name in os.environ if name.startswith(("HF_", "QUADRAG_", "OPENAI_"))]:
        del os.environ[name]
    os.environ.update(HF_HOME=f"{root}/huggingface", QUADRAG_CACHE=f"{root}/cache")
    os.environ.update(HF_HUB_OFFLINE="1", HF_EVALUATE_OFFLINE="1", NO_PROXY="127.0.0.1,localhost")
    os.environ["no_proxy"] = os.environ["NO_PROXY"]
    sys.path.append(str(Path(__file__).resolve().parents[1] / "servers"))
    import soak

    try:
        return soak.main(root / "world")
    finally:
        shutil.rmtree(root, ignore_errors=True)


sys.exit(_soak(Path(tempfile.mkdtemp(prefix="quadrag-soak-"))))
