"""quadrag beside its peers: the same work, in one run, each peer in an environment of its own.

Works: passages found by BM25, HTML to text, exact match and F1, BLEU and ROUGE-L of Chinese, calls to a server,
verdicts of a judge, a task inside a harness. For each: seconds, peak memory of the process, and how far the peer's
results are from quadrag's. The server sleeps and gives one reply, so that what is measured is what each adds. A peer is
installed at its first use, below ``--environments``, on the packages of the environment that this runs in; RAGChecker
(6.5 GB) is left out. Rounds are interleaved, medians shown. What a peer's values mean is not compared.

    python benchmarks/peers REAL                        # prints the table
    python benchmarks/peers REAL --page docs/peers.md   # and puts it into the page
    python benchmarks/peers REAL --work calls verdicts --rounds 1
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from measuring import ROOT, machine, options_of, peak, put, table, timed
from works import OURS, WORKS, Peer, read

LATENCY = 0.05
QUIET = {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "RAGAS_DO_NOT_TRACK": "true", "HF_HUB_OFFLINE": "1"}
Took = dict[tuple[str, str], list[dict[str, Any]]]  # of a work and a peer, of each round


def do_work(work: str, name: str, given: Path, result: Path) -> None:
    """Do a work as one peer does it in this process, and write what it took and came to."""
    peer = next(peer for peer in WORKS[work] if peer.name == name)
    asked = json.loads(given.read_text(encoding="utf-8"))
    asked["chats"] = asked["chats"][: round(len(asked["chats"]) * peer.part)]
    do = peer.prepare(asked)
    os.chdir(tempfile.mkdtemp())
    seconds, made = timed(do)
    memory = max(peak() * 1024, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
    result.write_text(json.dumps({"seconds": seconds / peer.part, "mb": memory, "made": made}), encoding="utf-8")


def environment(peer: Peer, below: Path) -> str:
    """Return the Python of a peer's environment, which is made where there is none."""
    if not peer.packages:
        return sys.executable
    place = below / "".join(sign if sign.isalnum() else "-" for sign in peer.name)
    python = place / "bin" / "python"
    if not (place / "done").exists():
        print(f"installing {', '.join(peer.packages)} into {place}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
        purelib = place / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
        here = sysconfig.get_path("purelib")
        (purelib / "below.pth").write_text(f"import site; site.addsitedir({here!r})\n")
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", *["--no-deps"][: peer.bare]]
        subprocess.run([*pip, *peer.packages], check=True)
        (place / "done").touch()
    return str(python)


def likeness(mine: Any, theirs: Any) -> str:
    """Say how far a peer's results are from quadrag's."""
    if isinstance(mine[0], list):  # rows that were found
        pairs = list(zip(mine, theirs, strict=False))
        same = sum(len(set(one) & set(other)) for one, other in pairs) / sum(len(one) for one, _ in pairs)
        return f"{same:.1%} of the passages are the same"
    if isinstance(mine[0], str) and len(mine[0]) > 500:  # texts of pages
        words = [Counter(" ".join(texts).lower().split()) for texts in (mine, theirs)]
        return f"{(words[0] & words[1]).total() / words[1].total():.1%} of its words"
    if isinstance(mine[0], str):
        return f"{sum(a == b for a, b in zip(mine, theirs, strict=False))} of {len(theirs)} replies are the same"
    return f"values differ by {max(abs(a - b) for a, b in zip(mine, theirs, strict=True)):.1g} at most"


def measure(works: list[str], rounds: int, real: Path, environments: Path) -> Took:
    """Do the works as each peer does them, in processes of their own, beside a server whose reply every judge reads."""
    from chat_server import server_process

    entries = [(work, peer) for work in works for peer in WORKS[work]]
    pythons = {peer.name: environment(peer, environments) for _, peer in entries}
    verdict = json.dumps({"verdict": 1, "score": 1, "reason": "It is."})
    took: Took = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        server_process("--latency", str(LATENCY), "--text", verdict) as url,
    ):
        given, result = Path(folder, "given.json"), Path(folder, "result.json")
        given.write_text(json.dumps(read(real.resolve(), url)), encoding="utf-8")
        for _ in range(rounds):
            for work, peer in entries:
                env = {**os.environ, **QUIET, "PYTHONPATH": str(ROOT), "QUADRAG_CACHE": folder}
                command = [pythons[peer.name], str(Path(__file__).parent), "--do", work, peer.name]
                ran = subprocess.run([*command, str(given), str(result)], env=env, capture_output=True, text=True)
                if ran.returncode:
                    raise SystemExit(f"{work}, {peer.name}: {ran.stderr[-1500:]}")
                took.setdefault((work, peer.name), []).append(json.loads(result.read_text(encoding="utf-8")))
    return took


def tabulate(works: list[str], took: Took) -> str:
    body = []
    for work in works:
        ours = took[work, OURS]
        for peer in WORKS[work]:
            rounds = took[work, peer.name]
            seconds, memory = (statistics.median(each[name] for each in rounds) for name in ("seconds", "mb"))
            ratio = statistics.median(t["seconds"] / o["seconds"] for t, o in zip(rounds, ours, strict=True))
            same = "" if peer.name == OURS else likeness(ours[0]["made"], rounds[0]["made"])
            scaled = f" (from {peer.part:.0%})" if peer.part < 1 else ""
            body.append([work, peer.name, f"{seconds:.2f}{scaled}", f"{ratio:.1f}", f"{memory:.0f}", same])
    return table("work | | seconds | to quadrag | peak, MB | beside quadrag's results", body)


def main() -> None:
    if sys.argv[1:2] == ["--do"]:
        do_work(sys.argv[2], sys.argv[3], Path(sys.argv[4]), Path(sys.argv[5]))
        return
    parser = options_of(__doc__, rounds=3)
    parser.add_argument("real", type=Path, help="folder of the real upstream files: CRUD_RAG, CRAG, RGB")
    parser.add_argument("--work", nargs="*", choices=WORKS, default=list(WORKS))
    parser.add_argument("--environments", type=Path, default=Path.home() / ".cache" / "quadrag-peers")
    parser.add_argument("--page", type=Path, help="a page that holds the table between its two marks")
    options = parser.parse_args()
    took = measure(options.work, options.rounds, options.real, options.environments)
    tables = f"{tabulate(options.work, took)}\n\n{machine()}; medians of {options.rounds}."
    put(tables, "benchmarks/peers", options.page)


if __name__ == "__main__":
    main()
