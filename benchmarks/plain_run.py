"""What a plain run costs: files and functions of ours that it enters, seconds, memory; seconds to import, to help.

``python benchmarks/plain_run.py``: twelve questions of RGB's sample, answered by extraction, and answered and judged by
a scripted server on this machine. Each figure is of a process of its own, the least of three; the ratio is to a bare
``python -c pass`` of the same round.
"""

import inspect
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_NO_FUNCTIONS = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")
ROOMS = ("quadrag", "baselines", "metrics", "datasets_scripts")


def enter() -> None:
    """Run the command of the arguments under a profile, and print what was entered as JSON."""
    import threading

    import quadrag.cli

    entered: set[tuple[str, int]] = set()

    def note(frame: object, event: str, _: object) -> None:
        if event == "call":
            code = frame.f_code  # type: ignore[attr-defined]
            if code.co_flags & inspect.CO_OPTIMIZED and code.co_name not in _NO_FUNCTIONS:  # no module and no class
                entered.add((code.co_filename, code.co_firstlineno))

    threading.setprofile(note)
    sys.setprofile(note)
    code = quadrag.cli.main(sys.argv[2:])
    sys.setprofile(None)
    places = {(Path(os.path.realpath(file)), line) for file, line in entered if not file.startswith("<")}
    ours = {(file, line) for file, line in places if any(file.is_relative_to(ROOT / room) for room in ROOMS)}
    print(json.dumps({"code": code, "files": len({file for file, _ in ours}), "functions": len(ours)}))


def cost(*arguments: str) -> tuple[float, float]:
    """Run Python with arguments; return the seconds, the least of three, and the largest megabytes of any child yet."""
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        ended = subprocess.run([sys.executable, *arguments], capture_output=True, cwd=ROOT)
        if ended.returncode not in (0, 3):  # 3: a measurement that is invalid
            raise RuntimeError(ended.stderr.decode())
        seconds.append(time.perf_counter() - begin)
    return min(seconds), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def main() -> None:
    """Print a line a figure."""
    sys.path.insert(0, str(ROOT / "tests" / "golden"))
    from scripted import serve

    bare, _ = cost("-c", "pass")
    for name, arguments in (
        ("import quadrag", ("-c", "import quadrag")),
        ("quadrag --help", ("-m", "quadrag", "--help")),
    ):
        seconds, _ = cost(*arguments)
        print(f"{name}: {seconds:.2f} s, {seconds / bare:.1f} times a bare Python")
    with tempfile.TemporaryDirectory() as folder, serve() as url:
        plain = ("run", "rgb", "negative_rejection_en", "--data-dir", "sample", "--limit", "12")
        judged = ("--llm", f"{url}#scripted", "--judge", f"{url}#judge", "--ledger", f"{folder}/ledger")
        for name, command in (("extractive", plain), ("judged", (*plain, *judged))):
            out = ("--out", f"{folder}/{name}")
            line = [sys.executable, __file__, "enter", *command, *out]
            printed = subprocess.run(line, check=True, capture_output=True, text=True, cwd=ROOT).stdout
            entered = json.loads(printed.splitlines()[-1])
            seconds, memory = cost("-c", _REPEATED, folder, *command)
            print(
                f"{name}: {entered['files']} files and {entered['functions']} functions entered; "
                f"{seconds:.2f} s, {seconds / bare:.1f} times a bare Python; at most {memory:.0f} MB"
            )


_REPEATED = """
import sys, tempfile
from quadrag.cli import main
folder = tempfile.mkdtemp(dir=sys.argv[1])
sys.exit(main([*sys.argv[2:], "--out", folder + "/run"]))
"""

if __name__ == "__main__":
    enter() if sys.argv[1:2] == ["enter"] else main()
